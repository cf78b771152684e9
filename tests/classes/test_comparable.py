"""What nodes with a class have and nodes without one lack is left out, and a note says so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.classes.comparable import (
    Telltale,
    has_attributes,
    note_on,
    telltale_types,
    without_telltale_words,
)
from heat_neo4j.classes.results import PredictedClasses
from heat_neo4j.classes.views import ATTRIBUTES, COORDINATES
from heat_neo4j.graph import Provenance, Relationships
from tests.classes.test_classes import predict_classes

CUSTOMERS, CITIES, PRODUCTS = 300, 6, 30


def customers(*, lose_the_city: bool) -> tuple[Graph, list[str | None]]:
    """Return customers who buy at random, and the city of each; some lack it, in both places or in one."""
    rng = np.random.default_rng(0)
    city = rng.integers(CITIES, size=CUSTOMERS)
    lacks = rng.random(CUSTOMERS) < 0.2
    first_city, first_product = CUSTOMERS, CUSTOMERS + CITIES
    lives = np.flatnonzero(~lacks if lose_the_city else np.ones(CUSTOMERS, np.bool_))
    buyers = np.repeat(np.arange(CUSTOMERS), 4)
    bought = first_product + rng.integers(PRODUCTS, size=len(buyers))
    pairs = {"LIVES_IN": (lives, first_city + city[lives]), "BOUGHT": (buyers, bought)}
    relationships = Relationships.from_pairs(pairs)
    n = first_product + PRODUCTS
    ends = (relationships.source, relationships.target)
    labels = {"Customer": np.arange(n) < CUSTOMERS}
    adjacency = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    graph = Graph(adjacency, labels=labels, relationships=relationships)
    values = [None if lack else f"city {place}" for place, lack in zip(city, lacks, strict=True)]
    return graph, [*values, *[None] * (n - CUSTOMERS)]


def predicted(graph: Graph, values: list[str | None]) -> PredictedClasses:
    model = HEAT(n_components=3, walks_per_node=2, random_state=0, n_threads=1).fit(graph)
    return predict_classes(graph, np.asarray(model.embedding_), values, label="Customer")


def test_a_relationship_that_is_missing_with_the_class_promises_nothing() -> None:
    found = predicted(*customers(lose_the_city=True))
    assert found.probability.max() < 0.6
    assert found.figures.f1_micro < 0.4
    assert COORDINATES not in found.weights
    assert found.notes == (
        "LIVES_IN and the coordinates are not used: 100% of the nodes with a value have LIVES_IN, 0% of "
        "those without",
        "on held-out nodes it is no better than always the most frequent value",
    )


def test_several_features_that_are_not_used_share_a_note() -> None:
    found = [Telltale("LIVES_IN", 1.0, 0.0), Telltale("age", 0.72, 0.04)]
    assert note_on(found) == (
        "LIVES_IN, age and the coordinates are not used: at least 72% of the nodes with a value have each, "
        "at most 4% without one"
    )


def test_a_relationship_of_all_nodes_is_used() -> None:
    found = predicted(*customers(lose_the_city=False))
    assert found.figures.f1_micro > 0.9
    assert np.median(found.probability) > 0.9
    assert COORDINATES in found.weights
    assert found.notes == ()


def test_a_few_nodes_may_lack_a_relationship_by_chance() -> None:
    graph, values = customers(lose_the_city=True)
    known = np.array([row for row in range(CUSTOMERS) if values[row] is not None])
    asked = np.setdiff1d(np.arange(CUSTOMERS), known)
    buying = np.arange(CUSTOMERS, graph.n_nodes)  # cities and products live nowhere
    some = np.concatenate((known[: len(buying)], buying))  # half live somewhere
    assert telltale_types(graph, known, asked[:1])  # all others live somewhere
    assert not telltale_types(graph, some, asked[:6])
    assert [each.name for each in telltale_types(graph, some, asked[:7])] == ["LIVES_IN"]


def tunes(*, read_from_the_title: bool, kind: str = "text") -> tuple[Graph, list[str | None]]:
    """Return tunes with words in their titles, and the dance of each; some titles name it."""
    rng = np.random.default_rng(0)
    n, dances = 400, 4
    dance = rng.integers(dances, size=n)
    named = rng.random(n) < 0.5
    words = rng.random((n, 20 + dances)) < 0.15
    words[:, 20:] = named[:, None] & (dance[:, None] == np.arange(dances))
    last_but_one = np.flatnonzero(~named)[0]
    words[last_but_one, 20:22] = True  # both a jig and a reel: nobody knows
    joined = np.triu(rng.random((n, n)) < 0.02, k=1).astype(float)
    recipe = [{"property": "title", "kind": kind, "n_columns": 20 + dances, "missing": False}]
    attributes = sparse.csr_array(words.astype(float))
    provenance = Provenance(attribute_recipe=recipe)
    graph = Graph(sparse.csr_array(joined), attributes, provenance=provenance)
    knows = named if read_from_the_title else rng.random(n) < 0.5
    return graph, [f"dance {own}" if know else None for own, know in zip(dance, knows, strict=True)]


@pytest.mark.parametrize(("kind", "what"), [("text", "words"), ("tags", "values")])
def test_words_that_classes_were_read_from_promise_nothing(kind: str, what: str) -> None:
    graph, values = tunes(read_from_the_title=True, kind=kind)
    found = predict_classes(graph, None, values)
    assert found.figures.f1_micro < 0.4
    assert found.probability.max() < 0.6
    assert ATTRIBUTES in found.weights
    note = f"4 {what} of title left out, as hardly any of the nodes without a value has them"
    assert found.notes[0] == note


def test_a_single_value_is_left_out_in_the_singular() -> None:
    n = 400
    has = np.column_stack((np.arange(n) < n // 4, np.arange(n) % 2 == 0)).astype(float)
    recipe = [{"property": "spin", "kind": "category", "n_columns": 2, "missing": False}]
    provenance = Provenance(attribute_recipe=recipe)
    graph = Graph(sparse.csr_array((n, n)), sparse.csr_array(has), provenance=provenance)
    known, asked = np.arange(n // 2), np.arange(n // 2, n)
    left, notes = without_telltale_words(graph, known, asked, set())
    assert notes == ("1 value of spin left out, as hardly any of the nodes without a value has it",)
    assert left.attributes.sum() == n // 2


def test_words_that_nodes_without_a_class_have_too_are_used() -> None:
    graph, values = tunes(read_from_the_title=False)
    found = predict_classes(graph, None, values)
    assert found.figures.f1_micro > 0.6
    assert found.notes == ()


def test_a_new_node_without_a_number_that_all_others_have_has_no_attributes() -> None:
    notes, rows = [float(row) for row in range(40)], np.arange(41)
    table, later = (AttributeTable([Attribute("notes")], n, max_categories=10) for n in (40, 41))
    table.add(rows[:40], {"notes": notes})
    later.add(rows, {"notes": [*notes, None]})
    recipe = table.finish(rows[:40]).recipe
    graph = Graph(
        sparse.csr_array((41, 41)),
        attributes=later.apply(recipe, rows).matrix,
        provenance=Provenance(attribute_recipe=recipe),
    )
    np.testing.assert_array_equal(has_attributes(graph, ()), rows < 40)
    assert not has_attributes(graph, {"notes"}).any()


def test_rare_words_and_the_graph_of_the_caller_stay() -> None:
    graph, values = tunes(read_from_the_title=True)
    before = graph.digest()
    known = np.array([row for row, value in enumerate(values) if value is not None])
    asked = np.setdiff1d(np.arange(len(values)), known)
    assert without_telltale_words(graph, known, asked[:9], ()) == (graph, ())
    assert without_telltale_words(graph, known, asked, {"title"}) == (graph, ())
    assert without_telltale_words(graph, known, asked[:0], ()) == (graph, ())
    kept, _ = without_telltale_words(graph, known, asked, ())
    left = np.asarray((kept.attributes != 0.0).sum(axis=0)).ravel()
    assert (left[:20] > 0).all()
    assert not left[20:].any()
    assert graph.digest() == before
