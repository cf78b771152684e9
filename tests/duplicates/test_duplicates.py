"""Duplicates: names, candidates, contradictions, probabilities, and the pairs that are found."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from neo4j.spatial import CartesianPoint
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j.duplicates.blocking import K, candidate_pairs
from heat_neo4j.duplicates.comparisons import Compared, only_neighbours, surroundings
from heat_neo4j.duplicates.fellegi_sunter import MISSING, Comparison, count_once, fit_weights
from heat_neo4j.duplicates.names import Names, row_products
from heat_neo4j.duplicates.search import _reason, find_duplicates
from heat_neo4j.geometry.hyperboloid import from_poincare
from heat_neo4j.graph import Graph, Relationships

ONE = np.array([[0, 1]])
WORDS = [
    "amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron",
    "islet", "jasper", "knoll", "larch", "maple", "north", "otter", "pearl",
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("National Weather Service", "Natoinal Weather Servic", True),
        ("National Weather Service", "National Postal Service", False),
        ("National Weather Team 1", "National Wealth Team 1", False),
        ("Debian Mutt Maintainers", "Debian Rust Maintainers", False),
        ("Metadata and metadata tools", "Meatdata and metadata tools", True),
        ("Release 41 of the library", "Release 42 of the library", False),
        ("Jon", "Jan", False),
    ],
)
def test_names_with_few_errors_are_spelled_alike(first: str, second: str, alike: bool) -> None:
    assert Names([first, second]).spelled_alike(ONE).item() == alike


@pytest.mark.parametrize(
    ("first", "second", "matches"),
    [
        ("DGIA", "Delegation Generale Intelligence Artificielle", True),
        ("D.G.I.A.", "Délégation Générale à l'Intelligence Artificielle", False),
        ("F.B.I.", "Federal Bureau of Investigation", True),
        ("FBOI", "Federal Bureau of Investigation", True),
        ("R&D", "Research and Development", True),
        ("IBM Corp.", "International Business Machines Corp.", True),
        ("IBM", "International Business Machines Corp.", True),
        ("I. Corp.", "International Corp.", False),
        ("CIA", "Federal Bureau of Investigation", False),
        ("", "Federal Bureau", False),
    ],
)
def test_an_acronym_matches_the_initials(first: str, second: str, matches: bool) -> None:
    others = ["Acme Corp.", "Zenith Corp.", "Apex Corp."]
    assert np.isfinite(Names([first, second, *others]).acronym_chance(ONE).item()) == matches
    assert np.isfinite(Names([second, first, *others]).acronym_chance(ONE).item()) == matches


def test_chance_brings_short_acronyms_more_often_than_long_ones() -> None:
    names = Names(
        ["ab", "abcd", "Alder Birch", "Alder Birch Cedar Delta", "Ember Flint", "Grove Heron Islet Oak"]
    )
    short, long = names.acronym_chance(np.array([[0, 2], [1, 3]])).tolist()
    assert 0.0 < long < short
    several = Names([*names.texts, "Amber Birch", "Ash Beech"]).acronym_chance(np.array([[0, 2]])).item()
    assert several == 2 / 8


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Smith & Sons", "Smith and Sons", True),
        ("Meier und Söhne", "MEIER & SOEHNE", True),
        ("Müller", "Mueller", True),
        ("Straße", "Strasse", True),
        ("Łukasz Café", "Lukasz Cafe", True),
        ("NumPy", "Numpy", True),
        ("BSD 3-Clause", "BSD-3-clause", True),
        ("Version 1.23", "Version 12.3", False),
        ("GPL-2", "GPL-2+", False),
        ("C++", "C#", False),
        ("Blue Dot", "Blu Dot", False),
        ("", "", False),
    ],
)
def test_names_are_the_same_however_they_are_written(first: str, second: str, same: bool) -> None:
    assert Names([first, second]).same_letters(ONE).item() == same


def test_generic_words_of_many_names_that_differ_in_nothing_else_tell_these_apart() -> None:
    scripts = [f"{letter}script" for letter in "abcdefghijk"]
    names = Names(
        ["digit seven", *(f"{script} digit seven" for script in scripts)]
        + [f"{script} {word}" for script in scripts for word in ("sign", "vowel", "mark")]
        + ["virama", "ascript virama"]
    )
    assert names.generic.issuperset(scripts)
    pairs = np.array([(0, 1), (0, 3), (len(names.texts) - 2, len(names.texts) - 1)])
    assert names.same_core(pairs).tolist() == [False, False, True]
    fewer = Names(
        [text for text in names.texts if text not in ("cscript digit seven", "dscript digit seven")]
    )
    assert fewer.same_core(pairs[:1]).tolist() == [True]


def test_words_that_many_names_end_with_are_generic() -> None:
    names = Names(
        ["MIT", "MIT License", "Zlib License", "ISC License", "License 9", "MIT X11", "Zlib OR MIT"]
    )
    assert names.generic == {"license"}
    pairs = np.array([[0, 1], [0, 5], [1, 2], [0, 6]])
    assert names.same_core(pairs).tolist() == [True, False, False, False]
    assert Names(names.texts[:3]).same_core(pairs[:1]).tolist() == [False]


def test_words_inside_names_tell_things_apart() -> None:
    inside = [f"Omelette with Tomato and {other}" for other in ("Egg", "Rice", "Corn", "Kale")]
    names = Names(
        [
            *["Omelette with Ham", "Omelette with Tomato and Ham", "Plain Omelette with Ham"],
            *["Rice and Tomato", "Kale Tomato", "Corn in Tomato", *inside],
            *["Plain Rice", "Plain Corn", "Rye Plain Toast", "Rye Toast"],
        ]
    )
    assert "plain" in names.generic
    assert "tomato" not in names.generic
    pairs = np.array([[0, 1], [0, 2], [12, 13]])
    assert names.same_core(pairs).tolist() == [False, True, False]


def test_the_same_words_in_another_order_are_the_same_name() -> None:
    names = Names(["Peña, José", "jose pena", "Jose Pina", "", ""])
    pairs = np.array([[0, 1], [0, 2], [3, 4]])
    assert names.same_words(pairs).tolist() == [True, False, False]
    assert names.cosine(pairs)[0] == pytest.approx(1.0)


def _points(n: int, seed: int = 0) -> NDArray[np.float64]:
    return from_poincare(np.random.default_rng(seed).uniform(-0.6, 0.6, size=(n, 2)))


def test_candidates_grow_with_the_nodes_not_with_the_pairs() -> None:
    n = 400
    names = Names(["the very same name"] * n)
    around = sparse.csr_array(np.ones((n, 3)))
    pairs = candidate_pairs(names, around, _points(n), n_threads=1)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(pairs) <= 4 * K * n
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_a_rare_value_in_common_weighs_more_and_missing_values_nothing() -> None:
    candidates = np.array([[0, 1], [2, 3], [0, 2], [0, 4]])
    compared = Compared(candidates, candidates, 1000)
    values = ["rare", "Rare", "common", "common", None, *["common"] * 20]
    comparison = compared.by_values("colour", values)
    assert comparison.levels.tolist() == [2, 2, 0, MISSING]
    weights = fit_weights([comparison]).weights[:, 0]
    assert weights[0] > weights[1] == 0.0 > weights[2]  # nearly all have the common one
    assert weights[3] == 0.0


def test_a_value_that_all_nodes_have_says_nothing() -> None:
    compared = Compared(ONE, np.array([[0, 2], [1, 3]]), 6)
    for values in ([0] * 4, ["x"] * 4, [["x", "y"]] * 4):
        assert fit_weights([compared.by_values("alt", values)]).weights.tolist() == [[0.0]]


def test_what_follows_from_a_rarer_value_counts_once() -> None:
    """Cities tell the country, and are near in longitude; the year is independent of both."""
    random = np.random.default_rng(0)
    n, candidates = 4000, np.array([[0, 1], [0, 2], [3, 4]])
    city = random.integers(200, size=n)
    city[:5] = 7, 7, 27, 3, 3
    year = random.integers(20, size=n)
    year[3:5] = 1, 1
    values = {
        "country": (city % 20).tolist(), "city": city.tolist(), "year": year.tolist(),
        "longitude": (city + random.random(n) / 100).tolist(),
    }  # fmt: skip
    values["city"] = [f"city {each}" for each in values["city"]]
    pairs = random.integers(n, size=(200_000, 2))
    compared = Compared(candidates, pairs[pairs[:, 0] != pairs[:, 1]], n * (n - 1) // 2)
    comparisons = [compared.by_values(name, each) for name, each in values.items()]
    alone = np.array([each.weights(np.zeros(3)) for each in comparisons])
    once = np.array([each.weights(np.zeros(3)) for each in count_once(comparisons, compared.n_pairs)])
    np.testing.assert_array_equal(once[1], alone[1])  # the city, the rarest
    assert (alone[[0, 3], 0] > 2.0).all()
    assert (np.abs(once[[0, 3], 0]) < 0.3).all()
    assert once[0, 1] == alone[0, 1] > 2.0  # another city of the country
    assert once[2, 2] == alone[2, 2]
    assert alone[2, 2] > 2.0
    few = count_once(comparisons, 3)  # whose agreeing pairs may be duplicates
    assert few[0].weights(np.zeros(3))[0] > 1.5


def test_a_node_without_a_vector_is_not_compared_by_it() -> None:
    directions = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    compared = Compared(np.array([[0, 1], [0, 2], [0, 3]]), np.array([[0, 1], [0, 2], [1, 2]]), 10)
    same, other, missing = compared.by_vectors("vector", directions).levels.tolist()
    assert same > other > missing == MISSING


def test_lists_agree_in_a_value_that_both_have() -> None:
    compared = Compared(np.array([[0, 1], [0, 2], [0, 3]]), ONE, 10)
    emails = [["a@x", "b@x"], ["B@x"], "c@x", []]
    assert compared.by_values("email", emails).levels.tolist() == [2, 0, MISSING]


@pytest.mark.parametrize("width", [1, 2])
def test_near_numbers_and_points_agree_to_a_degree(width: int) -> None:
    random = np.random.default_rng(0)
    places = [tuple(each) for each in random.random((200, width)).tolist()]
    places[1], places[2] = places[0], (places[0][0] + 1e-4, *places[0][1:])
    places[3] = (places[0][0] + 0.4, *places[0][1:])
    candidates = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    compared = Compared(candidates, random.integers(5, 200, size=(5000, 2)), 20_000)
    values = [CartesianPoint(each) if width > 1 else each[0] for each in places]
    comparison = compared.by_values("place", [*values[:4], None, *values[5:]])
    assert comparison.levels.tolist() == [2, 1, 0, MISSING]
    same, near, other, missing = fit_weights([comparison]).weights[:, 0]
    assert same > near > 2.0 > missing == 0.0 > other


def test_neighbours_count_by_type_direction_and_rarity() -> None:
    pairs = (np.array([0, 1, 2, 3, 4, 5, 8, 8]), np.array([6, 6, 7, 7, 7, 7, 0, 9]))
    graph = Graph(
        sparse.csr_array((np.ones(8), pairs), shape=(10, 10)),
        relationships=Relationships.from_pairs({"T": pairs}),
    )
    around = surroundings(graph, np.arange(10))
    shared = (around @ around.T).toarray()
    assert shared[0, 1] > shared[2, 3] > 0.0
    assert shared[0, 9] > 0.0, "8 leads to both"
    assert shared[6, 8] == 0.0, "0 leads to one, and the other leads to 0"


def test_another_only_neighbour_speaks_against_a_pair() -> None:
    """Each city is in one country; cities also have friends, mostly one, as chance brings it."""
    random, cities, countries = np.random.default_rng(0), 100, 5
    n = cities + countries
    country = cities + np.arange(cities) % countries
    kinds = {"IN": (np.arange(cities), country), "FRIEND": random.integers(cities, size=(2, 20))}
    graph = Graph(
        sparse.csr_array((np.ones(cities), kinds["IN"]), shape=(n, n)),
        labels={"City": np.arange(n) < cities, "Country": np.arange(n) >= cities},
        relationships=Relationships.from_pairs(kinds),
    )
    rows = np.arange(cities)
    (only,) = only_neighbours(graph, rows)
    assert only[0] == "IN"
    assert only[1].tolist() == country.tolist()
    only[1][3] = -1
    names = [f"{row:x}" for row in range(n)]
    names[cities + 2] = "64"  # that of the first country, 100, in hexadecimal
    compared = Compared(np.array([[0, 1], [0, 2], [0, 3], [0, 5]]), ONE, 1000).by_only_neighbours(
        [only], names
    )
    assert compared.levels.tolist() == [0, MISSING, MISSING, MISSING]
    assert fit_weights([compared]).weights[0, 0] < -1.5
    texts = ["Santa Ana" if row in (0, 1) else f"{row:x}" for row in range(n)]
    with_country = find_duplicates(_points(n), graph, texts, label="City", k=1, n_threads=1)
    assert "against: other IN (-2.1)" in with_country.reasons[0]


def test_row_products_with_a_hub_equal_the_matrix_product() -> None:
    rows = sparse.random_array((40, 200), density=0.1, rng=np.random.default_rng(1), format="lil")
    rows[3] = 0.5
    rows = sparse.csr_array(rows)
    pairs = np.array([(a, b) for a in range(40) for b in range(40) if a != b])
    expected = (rows @ rows.T).toarray()[tuple(pairs.T)]
    np.testing.assert_allclose(row_products(rows, pairs), expected)


def test_duplicates_are_not_counted_as_other_pairs() -> None:
    """Otherwise many duplicates would make what they agree in look frequent."""
    levels = [np.repeat([0, 1], [900, 100])] * 3
    comparisons = [
        Comparison(f"value {i}", ("no", "yes"), each, np.array([0.1, 0.9])) for i, each in enumerate(levels)
    ]
    fitted = fit_weights(comparisons)
    assert fitted.weights[-1, 0] > np.log(0.9 * 1000 / 10)
    assert 1.0 / (1.0 + np.exp(-fitted.log_odds[-1])) > 0.99


def test_deliberate_differences_are_not_taken_for_typos() -> None:
    texts = ["mutable map", "immutable map", "immutable list", "mutable list", "mutible map", "int long map"]
    names = Names([*texts, "long int map", "long int list", "map int long", "list int long"])
    unknown = names.have_unknown_words(np.array([[0, 1], [0, 4], [1, 4]]))
    assert unknown.tolist() == [False, True, True]
    assert not Names(["massage", "message"]).have_unknown_words(np.array([[0, 1]])).any()
    assert names.have_unknown_order(np.array([[5, 6]])).tolist() == [True]
    names = Names([*names.texts, "the int long map", "a long int map"])
    assert names.have_unknown_order(np.array([[5, 6]])).tolist() == [False]


def test_the_same_words_weigh_more_if_chance_brings_them_rarely() -> None:
    """Other names contain "tree" and "map", and most nodes are called "list"."""
    names = Names(
        ["Kenneth Reitz"] * 2 + ["tree map"] * 2 + ["list map", "tree list", "hash map"] * 5 + ["list"] * 60
    )
    candidates = np.array([[0, 1], [2, 3], [19, 20], [0, 2]])
    weights = fit_weights([Compared(candidates, candidates, 300).by_names(names)]).weights[:, 0]
    assert (np.diff(weights) < 0.0).all()


def test_the_same_word_weighs_more_where_each_name_comes_once() -> None:
    words = [f"{a}{b}" for a in WORDS for b in WORDS]
    texts = [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words)), words[0].upper()]
    names = Names(texts)
    assert names.chance[0] * len(texts) < 0.01
    assert Names([*texts, *words]).chance[0] > 10.0 * names.chance[0]


def test_some_candidates_are_duplicates_even_where_names_alone_speak_for_them() -> None:
    levels = np.array([1] * 100 + [0] * 199_900)
    chance = np.where(levels == 1, 2e-3, np.nan)
    comparison = Comparison("name", ("other", "same"), levels, np.array([0.8, 0.2]), chance=chance)
    assert 0.01 < 1.0 / (1.0 + np.exp(-fit_weights([comparison]).log_odds[0])) < 0.5


def test_doubles_without_common_neighbours_are_found_by_their_names() -> None:
    random, n = np.random.default_rng(0), 300
    names = [f"{random.choice(WORDS)} {row * 7919 % 5003:x}" for row in range(n - 20)]
    names += names[:20]
    ends = (np.arange(n), n + random.integers(n, size=n))
    graph = Graph(
        sparse.csr_array((np.ones(n), ends), shape=(2 * n, 2 * n)),
        labels={"Person": np.arange(2 * n) < n, "Paper": np.arange(2 * n) >= n},
    )
    found = find_duplicates(_points(2 * n), graph, [*names, *[""] * n], label="Person", k=20, n_threads=1)
    assert (found.second - found.first == n - 20).all()
    assert np.median(found.probability) > 0.5


def test_no_common_neighbour_never_counts_for_a_pair_and_some_never_more_against_it() -> None:
    """All duplicates that are found have none, and many other candidates have some."""
    name = np.repeat([1, 0, 1], [50, 900, 1])
    shared = np.repeat([0, 1, 0, 1], [50, 500, 400, 1])
    fitted = fit_weights(
        [
            Comparison("name", ("no", "yes"), name, np.array([0.1, 0.9]), np.array([0.9999, 0.0001])),
            Comparison("structure", ("none", "some"), shared, np.array([0.15, 0.85]), grid=(2, 1)),
        ]
    )
    assert fitted.weights[[0, -1], 1] == pytest.approx(0.0)


def test_the_share_of_duplicates_follows_the_candidates() -> None:
    levels = np.repeat([0, 1], [9_900, 100])
    comparison = Comparison("name", ("no", "yes"), levels, np.array([0.1, 0.9]), np.array([0.999, 0.001]))
    log_odds = fit_weights([comparison]).log_odds
    chance = 1.0 / (1.0 + np.exp(-log_odds))
    assert chance.sum() == pytest.approx(100, rel=0.2)
    assert chance[-1] > 0.8
    assert chance[0] < 0.01


class Case:
    """120 clubs with three-word names and members of their own; three of them are doubled."""

    def __init__(self) -> None:
        random = np.random.default_rng(3)
        clubs, members = 120, 180
        self.names = [" ".join(random.choice(WORDS, 3, replace=False)) for _ in range(clubs)]
        self.names = [f"{name} {'abcdefghijklmno'[row % 15] * 3}{row}" for row, name in enumerate(self.names)]
        ends = [
            (row, clubs + int(member)) for row in range(clubs) for member in random.integers(members, size=8)
        ]
        first = clubs + members
        words = self.names[1].split()
        self.doubles = [" ".join(self.names[0].split()[::-1]), "".join(word[0] for word in words).upper()]
        self.doubles += [self.names[2].replace("a", "e", 1)]
        for place in range(3):
            own = [member for row, member in ends if row == place]
            ends += [(first + place, member) for member in own[::2]]
        n = first + 3
        self.names += [""] * members + self.doubles
        pairs = np.array(sorted(set(ends))).T
        is_club = (np.arange(n) < clubs) | (np.arange(n) >= first)
        self.graph = Graph(
            sparse.csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(n, n)),
            labels={"Club": is_club, "Member": ~is_club},
            relationships=Relationships.from_pairs({"HAS": (pairs[0], pairs[1])}),
        )
        self.pairs = {(0, first), (1, first + 1), (2, first + 2)}
        self.founded = [1900 + row if is_club[row] else None for row in range(n)]
        self.model = HEAT(3, alpha=0.0, walks_per_node=4, random_state=0, n_threads=1).fit(self.graph)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


def test_duplicates_come_first_with_reasons(case: Case) -> None:
    found = case.model.duplicates(case.names, label="Club", k=3)
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == case.pairs
    assert (np.diff(found.probability) <= 0.0).all()
    assert any("same words" in reason for reason in found.reasons)
    assert any("acronym" in reason for reason in found.reasons)
    assert all("apart in the embedding (+" in reason for reason in found.reasons)
    assert repr(found).startswith("Duplicates(3 pairs of ")
    frame = found.to_frame("pandas")
    assert list(frame) == [
        "first", "second", "first_name", "second_name", "probability", "distance", "reason", "rank",
    ]  # fmt: skip
    assert len(found.to_dict()["pairs"]) == 3


def test_a_pair_with_two_unique_values_is_left_out(case: Case) -> None:
    founded = list(case.founded)
    founded[-1] = founded[2]
    differ = {(0, 300), (1, 301)}
    found = case.model.duplicates(case.names, {"founded": founded}, label="Club", unique=["founded"], k=10)
    pairs = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert not pairs & differ
    assert found.second[0] == 302
    assert "founded identifies nodes" in found.notes[0]


def test_a_property_that_repeats_the_name_counts_once(case: Case) -> None:
    plain = case.model.duplicates(case.names, label="Club", k=10)
    repeated = case.model.duplicates(case.names, {"title": case.names}, label="Club", k=10)
    np.testing.assert_allclose(repeated.log_odds, plain.log_odds, rtol=1e-3)


def test_a_property_leaves_no_pair_out_unless_it_is_named_unique(case: Case) -> None:
    mail = [f"mail {row}" for row in range(len(case.names))]
    for row in range(50, 90, 2):
        mail[row] = mail[row + 1]  # agrees far beyond chance
    plain = case.model.duplicates(case.names, label="Club", k=3)
    found = case.model.duplicates(case.names, {"mail": mail}, label="Club", k=10**6)
    assert found.n_candidates == plain.n_candidates
    pairs = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert case.pairs <= pairs
    assert "other mail" in found.reasons[list(zip(found.first, found.second, strict=True)).index((0, 300))]
    assert not found.notes


def test_a_list_without_a_likely_pair_says_how_likely_the_likeliest_is(case: Case) -> None:
    best = case.model.duplicates(case.names, label="Club", k=1).probability[0]
    found = case.model.duplicates(case.names, label="Club", min_probability=1.0)
    assert len(found) == 0
    assert found.notes == (f"no pair is likelier than {best:.4g}, and `min_probability` is 1",)


def test_a_list_says_how_many_likely_pairs_are_beyond_k(case: Case) -> None:
    every = case.model.duplicates(case.names, label="Club", min_probability=0.5, k=3)
    found = case.model.duplicates(case.names, label="Club", min_probability=0.5, k=1)
    assert (len(every), every.notes) == (3, ())
    assert found.notes == ("2 more have a probability of 0.5 or more: raise k",)
    found = case.model.duplicates(case.names, label="Club", min_probability=0.5, k=2)
    assert found.notes == ("1 more has a probability of 0.5 or more: raise k",)


def test_names_of_kinds_of_things_are_noted(case: Case) -> None:
    kinds = [f"Club of kind {row % 40}" for row in range(len(case.names))]
    found = case.model.duplicates(kinds, label="Club", min_probability=0.5)
    assert found.notes[0] == (
        "123 of 123 nodes share their name with at least two others: choose a `caption` that tells things "
        "apart, or a `unique` property"
    )
    numbers = {"number": list(range(len(kinds)))}
    found = case.model.duplicates(kinds, numbers, label="Club", unique=["number"])
    assert "share their name" not in "".join(found.notes)
    twice = [f"Club {row // 2}" for row in range(len(case.names))]
    assert "share their name" not in "".join(case.model.duplicates(twice, label="Club").notes)


def test_a_list_without_a_likely_pair_counts_pairs_of_the_same_name(case: Case) -> None:
    names = [*case.names]
    names[50] = names[90]
    found = case.model.duplicates(names, label="Club", min_probability=1.0)
    every = case.model.duplicates(names, label="Club", k=10**6)
    pairs = zip(every.first.tolist(), every.second.tolist(), strict=True)
    chance = dict(zip(pairs, every.probability.tolist(), strict=True))
    assert found.notes[0].endswith(f"; 1 pair has the same name, least likely {chance[50, 90]:.2g}")
    assert all(not each.startswith(";") for each in every.reasons)


def test_a_reason_that_adds_nothing_is_not_given() -> None:
    levels = np.array([0])
    three = [Comparison(name, (name,), levels, np.ones(1)) for name in ("name", "place", "mail")]
    assert _reason(three, np.array([[4.0, -0.04, -2.0]]), 0) == "name (+4.0); against: mail (-2.0)"


def test_pairs_have_the_same_labels_and_no_relationship() -> None:
    ends = (np.array([0, 0, 1, 2]), np.array([1, 4, 4, 4]))
    is_club = np.arange(5) < 4
    graph = Graph(sparse.csr_array((np.ones(4), ends), shape=(5, 5)), labels={"A": is_club, "B": ~is_club})
    found = find_duplicates(_points(5), graph, ["one name"] * 5, n_threads=1)
    pairs = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert pairs == {(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_nodes_of_a_label_are_compared_whatever_their_other_labels() -> None:
    labels = {"A": np.ones(3, dtype=np.bool_), "B": np.arange(3) == 0}
    graph = Graph(sparse.csr_array((3, 3)), labels=labels)
    every, own = (find_duplicates(_points(3), graph, ["one name"] * 3, label=each) for each in (None, "A"))
    assert (len(every), len(own)) == (1, 3)


def test_the_same_bits_for_any_number_of_threads(case: Case) -> None:
    one, two = (
        find_duplicates(case.model.embedding_, case.graph, case.names, label="Club", n_threads=threads)
        for threads in (1, 2)
    )
    assert one.log_odds.tobytes() == two.log_odds.tobytes()
    assert one.first.tobytes() == two.first.tobytes()


def test_mistakes_are_named(case: Case) -> None:
    with pytest.raises(ValueError, match="no node has the label 'Clubs': did you mean"):
        case.model.duplicates(case.names, label="Clubs")
    with pytest.raises(ValueError, match="names has 1 value for 303 nodes"):
        case.model.duplicates(["one"])
    with pytest.raises(ValueError, match="unique: 'born' is not a property"):
        case.model.duplicates(case.names, unique=["born"])
    with pytest.raises(ValueError, match="k must be"):
        case.model.duplicates(case.names, k=0)


def test_nodes_that_are_all_of_another_kind_have_no_duplicates() -> None:
    graph = Graph(
        sparse.csr_array(np.eye(3, k=1)),
        labels={name: np.arange(3) == row for row, name in enumerate("ABC")},
    )
    found = HEAT(n_components=2, random_state=0).fit(graph).duplicates(["same", "same", "same"])
    assert len(found) == found.n_candidates == 0


def test_the_order_of_labels_changes_no_bit() -> None:
    rng = np.random.default_rng(0)
    joined, is_person = rng.integers(400, size=(2, 3_000)), rng.random(400) < 0.6
    names = [str(row) for row in range(400)]
    found = []
    for labels in ({"Person": is_person, "Firm": ~is_person}, {"Firm": ~is_person, "Person": is_person}):
        graph = Graph(sparse.csr_array((np.ones(3_000), tuple(joined)), shape=(400, 400)), labels=labels)
        model = HEAT(n_components=2, walks_per_node=2, random_state=0, n_threads=1).fit(graph)
        found.append(model.duplicates(names, k=50))
    assert found[0].log_odds.tobytes() == found[1].log_odds.tobytes()
    assert found[0].first.tobytes() == found[1].first.tobytes()
