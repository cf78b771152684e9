"""A made graph of users and movies, of which is known how likely each user is to rate each movie.

What a user rates is drawn, without replacement, by a softmax over all movies. Its log odds add up from

- how widely the movie is known: a normal number, so that audiences are about log-normal in size;
- taste: the inner product of the user's and the movie's vector, both drawn near what their kind has in common
  (a movie: its genres, its director and cast, and itself; a user: the country and itself);
- how much the user likes the movie's genres as such;
- a few people whose movies the user follows;
- the years: users know best the movies of their youth.

The terms together are neither of low rank nor to be read off attributes or people, so no method is favoured.
The log odds are kept (`affinity`): in the mean, no method can rank better than they do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LABELS", "Films", "films"]

LABELS = ("User", "Movie", "Person", "Genre")
COUNTRIES = ("at", "br", "de", "fr", "in", "jp", "ke", "us")
TASTES = 8  # length of vectors of taste
WORDS = 120  # keywords of movies, each with a vector of its own
KNOWN, TASTE, GENRE, FOLLOWED, YEARS = 0.8, 1.7, 0.4, 1.0, 0.3  # weights of the terms


@dataclass(frozen=True, eq=False)
class Films:
    """Nodes in the order of `LABELS`: the rows of users, then of movies, persons and genres.

    Parameters
    ----------
    counts : dict of str to int
        Nodes of each label.
    relationships : dict of str to int64 array of shape (2, M)
        ``RATED``, ``ACTED_IN``, ``DIRECTED``, ``IN_GENRE``: rows of both ends among all nodes, from source to
        target.
    rating : int64 array
        Of each ``RATED``, 1 to 5.
    properties : dict
        Of each label its properties, a list each: ``age`` and ``country`` of users, ``year`` and ``keywords``
        of movies, ``born`` of persons, ``name`` of genres.
    affinity : float64 array of shape (users, movies)
        Log odds, but for a constant of each user, that the next movie which a user rates is this one.
    """

    counts: dict[str, int]
    relationships: dict[str, NDArray[np.int64]]
    rating: NDArray[np.int64]
    properties: dict[str, dict[str, list[object]]]
    affinity: NDArray[np.float64]


def films(
    seed: int = 0,
    *,
    users: int = 1500,
    movies: int = 1200,
    persons: int = 2200,
    genres: int = 18,
    ratings: int = 29,
) -> Films:
    """Draw a graph; `ratings` are those of a user in the mean."""
    random = np.random.default_rng(seed)
    counts = dict(zip(LABELS, (users, movies, persons, genres), strict=True))

    def vectors(n: int) -> NDArray[np.float64]:
        return random.normal(size=(n, TASTES)) / np.sqrt(TASTES) ** 0.5  # inner products of variance 1

    # Genres are unequally common; persons have one of their own, mostly work in it, and unequally often.
    common = 1.0 / np.arange(2, genres + 2)
    genre_vector, home = vectors(genres), random.choice(genres, persons, p=common / common.sum())
    busy = random.pareto(1.5, persons) + 0.2
    person_vector = 0.6 * genre_vector[home] + 0.8 * vectors(persons)
    directs = random.random(persons) < 0.2

    acted, directed, in_genre = [], [], []
    movie_vector = np.empty((movies, TASTES))
    for movie in range(movies):
        own = random.choice(genres, random.integers(1, 4), replace=False, p=common / common.sum())
        fit = busy * np.where(np.isin(home, own), 8.0, 1.0)
        can_direct, can_act = fit * directs, fit * ~directs
        director = random.choice(persons, p=can_direct / can_direct.sum())
        cast = random.choice(persons, random.integers(2, 9), replace=False, p=can_act / can_act.sum())
        in_genre += [(movie, genre) for genre in own]
        acted += [(person, movie) for person in cast]
        directed.append((director, movie))
        people = (2.0 * person_vector[director] + person_vector[cast].sum(axis=0)) / (2 + len(cast)) ** 0.5
        movie_vector[movie] = genre_vector[own].mean(axis=0) + 0.5 * people + 0.6 * vectors(1)[0]
    movie_vector /= np.sqrt((movie_vector**2).sum(axis=1).mean() / TASTES**0.5)

    country = random.choice(len(COUNTRIES), users, p=np.arange(8, 0, -1) / 36)
    age = np.clip(random.gamma(6.0, 6.0, users), 14, 90).astype(np.int64)
    user_vector = 0.5 * vectors(len(COUNTRIES))[country] + np.sqrt(0.75) * vectors(users)
    year = 2024 - np.minimum(random.exponential(18.0, movies), 90).astype(np.int64)

    genre_of, person_of = np.zeros((movies, genres)), np.zeros((movies, persons))
    genre_of[tuple(np.transpose(in_genre))] = 1.0
    for person, movie in acted + directed:
        person_of[movie, person] = 1.0
    liked = random.normal(size=(users, genres))
    followed = np.zeros((users, persons))
    for user in range(users):
        followed[user, random.choice(persons, 3, replace=False, p=busy / busy.sum())] = 1.0
    lag = year - (2024 - age + 20)[:, None]  # years between the user's twentieth and the movie
    affinity = (
        KNOWN * random.normal(size=movies)
        + TASTE * user_vector @ movie_vector.T
        + GENRE * liked @ (genre_of / np.sqrt(genre_of.sum(axis=1, keepdims=True))).T
        + FOLLOWED * np.minimum(followed @ person_of.T, 1.0)
        - YEARS * np.minimum(np.abs(lag) / 15.0, 2.0)
    )

    # The k largest of log odds + Gumbel noise are k draws without replacement.
    noisy = affinity + random.gumbel(size=affinity.shape)
    active = np.clip(random.lognormal(np.log(ratings) - 0.32, 0.8, users), 3, movies // 4).astype(np.int64)
    rated = np.argsort(np.argsort(-noisy, axis=1), axis=1) < active[:, None]
    users_rating, movies_rated = np.nonzero(rated)
    surprise = affinity - affinity.mean(axis=1, keepdims=True)
    opinion = 0.8 * surprise[rated] / affinity.std() + random.normal(size=len(users_rating))
    rating = np.clip(np.round(2.2 + opinion), 1, 5).astype(np.int64)

    word_vector, known_words = vectors(WORDS), [f"word{word}" for word in range(WORDS)]
    near = movie_vector @ word_vector.T + random.gumbel(size=(movies, WORDS))
    keywords: list[object] = [
        [known_words[word] for word in row] for row in np.argsort(-near, axis=1)[:, :5].tolist()
    ]

    movie_row, person_row, genre_row = users, users + movies, users + movies + persons
    return Films(
        counts,
        {
            "RATED": np.stack((users_rating, movie_row + movies_rated)),
            "ACTED_IN": np.add(np.transpose(acted), [[person_row], [movie_row]]),
            "DIRECTED": np.add(np.transpose(directed), [[person_row], [movie_row]]),
            "IN_GENRE": np.add(np.transpose(in_genre), [[movie_row], [genre_row]]),
        },
        rating,
        {
            "User": {"age": age.tolist(), "country": [COUNTRIES[place] for place in country]},
            "Movie": {"year": year.tolist(), "keywords": keywords},
            "Person": {"born": random.integers(1930, 2005, persons).tolist()},
            "Genre": {"name": [f"genre{genre}" for genre in range(genres)]},
        },
        affinity,
    )
