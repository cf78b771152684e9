"""MovieLens-100K as RecBole packs it: User-RATED->Movie, with ages, genders, occupations, years and genres.

F. M. Harper and J. A. Konstan, "The MovieLens Datasets" (ACM TiiS 2015).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heat_neo4j.attributes.table import Attribute
from tests.benchmarks.shelf.dataset import DataSet, attributed, linked, truth_by_pattern, wheel_member

__all__ = ["movielens"]

SHARE = 0.75  # of training
SEED = 42  # of the published table
ATTRIBUTES = [
    Attribute("age", "User"),
    Attribute("gender", "User"),
    Attribute("occupation", "User"),
    Attribute("year", "Movie"),
    Attribute("genres", "Movie"),
]


def movielens(*, by_time: bool) -> DataSet:
    """Hold out a quarter of the ratings: of each movie at random, or the latest of all; the rest has times.

    The random split is that of the published table of Microsoft's Recommenders: seed 42, by movie
    (``filter_by="item"``).
    """
    ratings, users, movies = (_table(name) for name in ("inter", "user", "item"))
    movies = movies.unique("item_id", keep="first", maintain_order=True)
    random = pl.Series(np.random.RandomState(SEED).rand(len(ratings)))
    group = pl.lit(0) if by_time else pl.col("item_id")
    place = pl.col("timestamp" if by_time else "random").rank("ordinal").over(group)
    ratings = ratings.with_columns(random=random).with_columns(place=place, of=pl.len().over(group))
    row_of_user = {key: row for row, key in enumerate(users["user_id"])}
    row_of_movie = {key: len(users) + row for row, key in enumerate(movies["item_id"])}
    pairs = np.column_stack(
        (
            [row_of_user[key] for key in ratings["user_id"]],
            [row_of_movie[key] for key in ratings["item_id"]],
        )
    ).astype(np.int64)
    n = len(users) + len(movies)
    is_user: NDArray[np.bool_] = np.arange(n) < len(users)
    labels = {"User": is_user, "Movie": ~is_user}
    first: list[Any] = [None] * len(users)
    second: list[Any] = [None] * len(movies)
    values: dict[str, list[Any]] = {
        **{name: users[name].to_list() + second for name in ("age", "gender", "occupation")},
        "year": first + [int(year) if str(year).isdigit() else None for year in movies["release_year"]],
        "genres": first + [str(genres).split() for genres in movies["class"]],
    }
    titles = [f"{title} ({key})" for title, key in zip(movies["movie_title"], movies["item_id"], strict=True)]
    keys = [f"user {key}" for key in users["user_id"]] + titles
    is_train = (ratings["place"] <= SHARE * ratings["of"]).to_numpy()
    graph = linked(
        n,
        {"RATED": pairs[is_train]},
        labels=labels,
        keys=keys,
        attributes=attributed(ATTRIBUTES, values, n, labels),
    )
    if by_time:
        time_of = dict(zip(map(tuple, pairs.tolist()), ratings["timestamp"], strict=True))
        edges = zip(graph.edges.row.tolist(), graph.edges.col.tolist(), strict=True)
        graph = replace(graph, edge_times=np.array([time_of[edge] for edge in edges], dtype=np.float64))
    return DataSet(graph, truth_by_pattern(graph, {"RATED": pairs[~is_train]}))


def _table(name: str) -> pl.DataFrame:
    """Return a file of the data set, its columns by their names without types."""
    file = wheel_member("recbole", f"recbole/dataset_example/ml-100k/ml-100k.{name}")
    table = pl.read_csv(file, separator="\t", quote_char=None, infer_schema_length=None)
    return table.rename(lambda head: head.partition(":")[0])
