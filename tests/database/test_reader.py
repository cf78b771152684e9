from __future__ import annotations

import logging
import os
import random
import re
import signal
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from mmap import mmap
from urllib.parse import urlsplit

import neo4j
import numpy as np
import pytest
from neo4j import exceptions as driver_errors
from scipy import sparse

from heat_neo4j.attributes.columns import HASHED
from heat_neo4j.attributes.kinds import RecipeError
from heat_neo4j.database.connection import Transaction
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.reader import plain_values
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConnectionFailed, ProjectionError
from tests.support.cutting_proxy import CuttingProxy
from tests.support.encode import encode
from tests.support.live_graph import open_cypher, open_store
from tests.support.naive_attributes import day_slowly, days_slowly, on_sphere_slowly, texts_slowly
from tests.support.naive_reader import read_slowly
from tests.support.shuffling import shuffling_transaction
from tests.support.slow import slow

pytestmark = pytest.mark.live

NODE, OTHER, OUTSIDE = "ReaderNode", "ReaderOther", "ReaderOutside"
LINK, LINK2 = "READER_LINK", "READER_LINK_2"
ANY_NODE = f"{NODE}|{OTHER}|{OUTSIDE}"


@pytest.fixture
def cypher(server):
    """Run any statement past the package; afterwards the test's nodes are gone."""
    with open_cypher(server) as run:
        yield run
        run(f"MATCH (n:{ANY_NODE}) DETACH DELETE n")


SMALL = Limits(nodes=7, relationships=20, values=25, first_nodes=3, numbers=6, first_pause=0.0)


@pytest.fixture
def small_chunks(store):
    """Read in chunks so small that a little graph takes many."""
    store.limits = SMALL


def make_random(cypher, seed, n=40, m=150, order=None):
    """Create a graph with all that can happen: parallels, loops, zero and missing weights, isolated nodes.

    `order` seeds the order of insertion, which changes nothing else.
    """
    draw = random.Random(seed)
    labels = [draw.choice([NODE, OTHER, f"{NODE}:{OTHER}", OUTSIDE]) for _ in range(n)]
    nodes = [{"key": key, "x": draw.choice([None, key / 3]), "tag": draw.choice("abc")} for key in range(n)]
    links = []
    for _ in range(m):
        a, b, weight = (
            draw.randrange(n - 5),
            draw.randrange(n - 5),
            draw.choice([None, 0, 1, 2.5, draw.random()]),
        )
        for scale in draw.choice([[1], [1], [1, 0.1, 3e-9]]):
            links.append((draw.choice([LINK, LINK2]), a, b, None if weight is None else weight * scale))
    insertion = random.Random(order)
    places = insertion.sample(range(n), n) if order is not None else range(n)
    cypher(
        "UNWIND $nodes AS node CREATE (n:$(node.labels)) SET n = node.properties",
        nodes=[{"labels": labels[place].split(":"), "properties": nodes[place]} for place in places],
    )
    if order is not None:
        insertion.shuffle(links)
    cypher(
        f"UNWIND $links AS link MATCH (a:{ANY_NODE} {{key: link[1]}}), (b:{ANY_NODE} {{key: link[2]}}) "
        "CREATE (a)-[r:$(link[0])]->(b) SET r.weight = link[3]",
        links=links,
    )


def as_array(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def bits(graph):
    """Everything of a graph that training or a user sees, except the element ids."""
    w, directed = graph.adjacency, graph.relationships
    return {
        "w": (w.indptr.tobytes(), w.indices.tobytes(), w.data.tobytes()),
        "directed": (directed.types, *(each.tobytes() for each in (directed.source, directed.target))),
        "x": as_array(graph.attributes).tobytes(),
        "labels": {label: mask.tobytes() for label, mask in graph.labels.items()},
        "names": graph.attribute_names,
        "recipe": graph.provenance.attribute_recipe,
        "counts": graph.provenance.counts,
    }


TWINS = {
    "everything": ({}, f"MATCH (n:{NODE}|{OTHER}) RETURN n", f"MATCH ()-[r:{LINK}|{LINK2}]->() RETURN r"),
    "all types": (
        {"relationships": None, "weight": "weight", "aggregation": "min"},
        f"MATCH (n:{NODE}|{OTHER}) RETURN n",
        "MATCH ()-[r]->() RETURN r",
    ),
    "one label, one type": (
        {"labels": [NODE], "relationships": [LINK], "weight": "weight"},
        f"MATCH (n:{NODE}) RETURN n",
        f"MATCH ()-[r:{LINK}]->() RETURN r",
    ),
    "largest, default": (
        {"weight": "weight", "default_weight": 0.5, "aggregation": "max"},
        f"MATCH (n:{NODE}|{OTHER}) RETURN n",
        f"MATCH ()-[r:{LINK}|{LINK2}]->() RETURN r",
    ),
    "count": (
        {"labels": [OTHER], "aggregation": "count"},
        f"MATCH (n:{OTHER}) RETURN n",
        f"MATCH ()-[r:{LINK}|{LINK2}]->() RETURN r",
    ),
    "single": (
        {"aggregation": "single"},
        f"MATCH (n:{NODE}|{OTHER}) RETURN n",
        f"MATCH ()-[r:{LINK}|{LINK2}]->() RETURN r",
    ),
    "filters": (
        {
            "weight": "weight",
            "node_filter": "n.key < $most",
            "relationship_filter": "r.weight > $least // a comment",
            "filter_parameters": {"most": 25, "least": 0.2},
        },
        f"MATCH (n:{NODE}|{OTHER}) WHERE n.key < 25 RETURN n",
        f"MATCH ()-[r:{LINK}|{LINK2}]->() WHERE r.weight > 0.2 RETURN r",
    ),
}


@pytest.mark.both_releases
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", [1, slow(2)])
def test_it_reads_what_the_slow_twin_reads(cypher, store, server, seed):
    make_random(cypher, seed)
    for options, matched, relationships in TWINS.values():
        projection = Projection(**{"labels": [NODE, OTHER], "relationships": [LINK, LINK2]} | options)
        graph = store.read_graph(projection)
        ids, weights, counts = read_slowly(cypher.driver, server.database, matched, relationships, **options)
        expected = np.zeros((len(ids), len(ids)))
        for pair, weight in weights.items():
            expected[pair] = weight
        if (expected != expected.T).any():
            expected = expected + expected.T
        assert list(graph.node_ids) == ids
        np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-14)
        met = graph.provenance.counts
        assert met["relationships"] == counts["all"]
        assert met["relationships_to_outside"] == counts["outside"]
        assert met["relationships_to_itself"] == counts["itself"]
        assert met.get("relationships_of_zero_weight", 0) == counts["zero"]
        assert met.get("relationships_without_weight", 0) == counts["without"]
        between = counts["all"] - counts["outside"] - counts["itself"] - counts["zero"]
        assert met["relationships_parallel"] == between - len(weights)


def test_labels_ids_and_isolated_nodes(cypher, store):
    cypher(
        f"CREATE (:{NODE} {{key: 1}})-[:{LINK}]->(:{NODE}:{OTHER} {{key: 2}}), "
        f"(:{OTHER}:{OUTSIDE} {{key: 3}})"
    )
    projection = Projection([NODE, OTHER], [LINK], key="key")
    graph = store.read_graph(projection)
    assert graph.degrees.tolist() == [1, 1, 0]
    assert {label: mask.tolist() for label, mask in graph.labels.items()} == {
        NODE: [True, True, False],
        OTHER: [False, True, True],
        OUTSIDE: [False, False, True],
    }
    keys = cypher(
        "UNWIND $ids AS id MATCH (n) WHERE elementId(n) = id RETURN n.key AS key", ids=list(graph.node_ids)
    )
    assert [row["key"] for row in keys] == [1, 2, 3]
    assert graph.provenance.projection == projection.to_dict()
    assert graph.attributes is None


def test_attributes_become_columns(cypher, store):
    cypher(
        f"CREATE (:{NODE} {{key: 1, year: 2000, open: true, venue: 'KDD', words: ['b', 'a'], f: [1, 2]}}), "
        f"(:{NODE} {{key: 2, open: false, venue: '', words: [], f: [3.0, 4.0]}}), "
        f"(:{NODE} {{key: 3, year: 2001.5, open: true, words: ['a']}})"
    )
    graph = store.read_graph(
        Projection([NODE], attributes=["year", "open", "venue", "words", "f"], key="key")
    )
    assert graph.attribute_names == (
        "year", "year:missing", "open", "venue=", "venue=KDD", "words=a", "words=b",
        "f[0]", "f[1]", "f:missing",
    )  # fmt: skip
    assert as_array(graph.attributes).tolist() == [
        [2000.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 0.0],
        [2000.75, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0],
        [2001.5, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0, 3.0, 1.0],
    ]


def test_a_vector_is_one_attribute_however_it_is_read(cypher, store):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 5)) @ rng.normal(size=(5, 300)) + 1.0
    whole = rng.integers(-99, 100, (20, 40))
    for key, (row, numbers) in enumerate(zip(rows.tolist(), whole.tolist(), strict=True)):
        vector = {7: None, 8: []}.get(key, row)
        cypher(
            f"CREATE (:{NODE} {{key: $key, e: $vector, i: $numbers, size: [1.5, 2.0, 3.0]}})",
            key=key, vector=vector, numbers=numbers,
        )  # fmt: skip
    projection = Projection([NODE], attributes=["e", "i"], key="key")
    graph = store.read_graph(projection)
    assert as_array(graph.attributes).dtype == np.float32
    wide, short = graph.provenance.attribute_recipe
    assert (wide["width"], len(wide["columns"]), short["width"]) == (300, 256, 40)
    given = {"e": [{7: None, 8: []}.get(key, row) for key, row in enumerate(rows.tolist())]}
    given["i"] = whole.tolist()
    np.testing.assert_array_equal(as_array(graph.attributes), encode([wide, short], given))
    store.limits = SMALL
    in_chunks = store.read_graph(projection)
    np.testing.assert_array_equal(as_array(in_chunks.attributes), as_array(graph.attributes))
    again = store.read_graph(projection, graph.provenance.attribute_recipe)
    np.testing.assert_array_equal(as_array(again.attributes), as_array(graph.attributes))
    report = store.check(projection)
    facts = [(each["kind"], each["columns"], each["missing"], each["holds"]) for each in report.attributes]
    assert facts == [
        ("vector", 256, 2, "vectors of 300 numbers, projected to 256"),
        ("vector", 40, 0, "vectors of 40 numbers"),
    ]
    (size,) = store.check(Projection([NODE], attributes=["size"], key="key")).attributes
    assert (size["kind"], size["columns"]) == ("list of numbers", 3)


def test_vectors_of_the_driver_are_read_as_lists():
    vector = pytest.importorskip("neo4j.vector").Vector
    values = [vector([0.5, -1.0, 2.0], "f32"), None, vector([1, 2, 3], "i8")]
    assert plain_values(values) == [[0.5, -1.0, 2.0], None, [1, 2, 3]]


WEST = timezone(timedelta(hours=-3, minutes=-30))
MOMENTS = [
    date(2024, 2, 29),
    date(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(2001, 2, 3, 4, 5, 6, 789, tzinfo=WEST),
    datetime(1950, 6, 1, 12, tzinfo=UTC),
    None,
]
TIMES = [time(0, 0), time(23, 59, 59, 999_999), time(22, 0, tzinfo=WEST), time(6, 30), None, time(12, 0)]
PLACES = [(12.5, 41.9), (-180.0, 10.0), (180.0, -10.0), (0.0, 90.0), (77.0, -5.5), (0.0, 0.0)]
TEXTS = ["Graphs of graphs", "the HYPERBOLIC plane, the plane", None, "", "graphs 論文 2024", "plane"]


def test_dates_times_durations_points_and_texts_become_columns(cypher, store):
    for key, (moment, clock, place, text) in enumerate(zip(MOMENTS, TIMES, PLACES, TEXTS, strict=True)):
        # The driver cannot send a time with an offset.
        kind = "localtime" if clock is None or clock.tzinfo is None else "time"
        cypher(
            f"CREATE (:{NODE} {{key: $key, born: $moment, opens: {kind}($clock), text: $text, "
            "at: point({longitude: $place[0], latitude: $place[1]}), flat: point({x: $key, y: 1, z: 2}), "
            "took: duration({months: $key, days: 1, seconds: $key, nanoseconds: 250000000})})",
            key=key,
            moment=moment,
            clock=None if clock is None else clock.isoformat(),
            place=place,
            text=text,
        )
    projection = Projection(
        [NODE], attributes=["born", "opens", "at", "flat", "took"], text=["text"], key="key"
    )
    graph = store.read_graph(projection)
    columns = dict(zip(graph.attribute_names, as_array(graph.attributes).T.tolist(), strict=True))
    days = [days_slowly(moment) for moment in MOMENTS[:5]]
    assert columns["born"][:5] == days
    assert columns["born"][5] == pytest.approx(sum(days) / 5)
    assert columns["born:missing"] == [0, 0, 0, 0, 0, 1]
    for place, clock in enumerate(TIMES):
        if clock is not None:
            turn = 2 * np.pi * day_slowly(clock)
            found = (columns["opens:sin"][place], columns["opens:cos"][place])
            assert found == pytest.approx((np.sin(turn), np.cos(turn)), abs=1e-15)
    assert columns["opens:missing"] == [0, 0, 0, 0, 1, 0]
    found = np.array([columns[f"at:{axis}"] for axis in "xyz"]).T
    np.testing.assert_allclose(found, [on_sphere_slowly(*place) for place in PLACES], atol=1e-15)
    assert [columns[f"flat:{axis}"] for axis in "xyz"] == [[0, 1, 2, 3, 4, 5], [1] * 6, [2] * 6]
    assert columns["took"] == [key * 2_629_746 + 86400 + key + 0.25 for key in range(6)]
    names, rows = texts_slowly("text", TEXTS, HASHED)
    assert list(graph.attribute_names[-len(names) :]) == names
    np.testing.assert_allclose(np.array([columns[name] for name in names]).T, rows, rtol=1e-14)
    assert [entry.get("srid") for entry in graph.provenance.attribute_recipe] == [
        None, None, 4326, 9157, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns"])
def test_datetimes_of_named_zones_and_far_years_are_read(cypher, store, zone):
    cypher(
        f"CREATE (:{NODE} {{key: 1, x: datetime({{year: 2020, month: 7, timezone: $zone}})}}), "
        f"(:{NODE} {{key: 2, x: date({{year: 12000}})}})",
        zone=zone,
    )
    graph = store.read_graph(Projection([NODE], attributes=["x"], key="key"))
    hours = {"Europe/Berlin": -2.0, "America/St_Johns": 2.5}[zone]
    expected = days_slowly(datetime(2020, 7, 1) + timedelta(hours=hours))
    far = int((np.datetime64("12000-01-01") - np.datetime64("1970-01-01")).astype(int))
    assert as_array(graph.attributes).ravel().tolist() == [expected, far]


def test_attributes_of_labels(cypher, store):
    cypher(
        f"CREATE (:{NODE} {{key: 1, x: 2, w: 'one two'}}), (:{NODE} {{key: 2, w: 'two'}}), "
        f"(:{OTHER} {{key: 3, x: 'a', w: 'not text'}}), (:{NODE}:{OTHER} {{key: 4, x: 'b'}})"
    )
    labels = {NODE: ["x", "w"], OTHER: ["x"]}
    with pytest.raises(ProjectionError, match=rf"attribute '{NODE}.x' mixes strings \('b'\) and numbers"):
        store.read_graph(Projection([NODE, OTHER], label_attributes=labels, text=["w"], key="key"))
    cypher(f"MATCH (n:{NODE} {{key: 4}}) REMOVE n:{NODE}")
    graph = store.read_graph(Projection([NODE, OTHER], label_attributes=labels, text=["w"], key="key"))
    names, texts = texts_slowly(f"{NODE}.w", ["one two", "two", None, None], HASHED)
    assert graph.attribute_names == (
        f"{NODE}.x", f"{NODE}.x:missing", *names, f"{OTHER}.x=a", f"{OTHER}.x=b",
    )  # fmt: skip
    expected = [
        [2.0, 0.0, *texts[0], 0.0, 0.0],
        [2.0, 1.0, *texts[1], 0.0, 0.0],
        [2.0, 0.0, *texts[2], 1.0, 0.0],
        [2.0, 0.0, *texts[3], 0.0, 1.0],
    ]
    np.testing.assert_allclose(as_array(graph.attributes), expected, rtol=1e-14)
    assert [entry.get("label") for entry in graph.provenance.attribute_recipe] == [NODE, NODE, OTHER]


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("aggregation", ["sum", slow("min"), slow("max")])
def test_relationships_weigh_by_their_type(cypher, store, server, weight, aggregation):
    make_random(cypher, 9)
    factors = {LINK: 0.3, LINK2: 2.0}
    projection = Projection(
        [NODE, OTHER], [LINK, LINK2], weight=weight, aggregation=aggregation, type_weights=factors
    )
    graph = store.read_graph(projection)
    found: dict[tuple[str, str], list[float]] = {}
    for row in cypher(
        f"MATCH (a)-[r:{LINK}|{LINK2}]->(b) WHERE (a:{NODE} OR a:{OTHER}) AND (b:{NODE} OR b:{OTHER}) "
        "AND a <> b RETURN elementId(a) AS a, elementId(b) AS b, type(r) AS type, r.weight AS weight"
    ):
        value = 1.0 if weight is None or row["weight"] is None else row["weight"]
        if value:
            found.setdefault((row["a"], row["b"]), []).append(value * factors[row["type"]])
    row_of = {element_id: row for row, element_id in enumerate(graph.node_ids)}
    expected = np.zeros((graph.n_nodes, graph.n_nodes))
    for (a, b), values in found.items():
        expected[row_of[a], row_of[b]] = {"sum": sum, "min": min, "max": max}[aggregation](values)
    np.testing.assert_allclose(graph.adjacency.toarray(), expected + expected.T, rtol=1e-14)
    one = store.read_graph(Projection([NODE, OTHER], type_weights={LINK2: 2.0}))
    plain = store.read_graph(Projection([NODE, OTHER]))
    extra = store.read_graph(Projection([NODE, OTHER], [LINK2]))
    assert (one.adjacency - plain.adjacency - extra.adjacency).count_nonzero() == 0


def test_a_time_and_factors_are_read_together(cypher, store):
    cypher(
        f"CREATE (:{NODE} {{key: 1}})-[:{LINK} {{weight: 3, since: date('1970-01-02')}}]->"
        f"(:{NODE} {{key: 2}})-[:{LINK2} {{weight: 5}}]->(:{NODE} {{key: 3}})"
    )
    projection = Projection([NODE], weight="weight", time="since", type_weights={LINK2: 0.5}, key="key")
    graph = store.read_graph(projection)
    assert graph.edges.data.tolist() == [3.0, 2.5]
    assert graph.edge_times[0] == 86400.0
    assert np.isnan(graph.edge_times[1])


def test_a_recipe_encodes_what_is_read_later(cypher, store):
    cypher(f"CREATE (:{NODE} {{key: 1, x: 2, v: 'a'}}), (:{NODE} {{key: 2, x: 4, v: 'b'}})")
    projection = Projection([NODE], attributes=["x", "v"], key="key")
    first = store.read_graph(projection)
    recipe = first.provenance.attribute_recipe
    assert bits(store.read_graph(projection, recipe))["x"] == bits(first)["x"]
    cypher(f"CREATE (:{NODE} {{key: 3, v: 'c'}})")
    later = store.read_graph(projection, recipe)
    assert later.attribute_names == first.attribute_names
    assert as_array(later.attributes).tolist() == [[2.0, 1.0, 0.0], [4.0, 0.0, 1.0], [3.0, 0.0, 0.0]]
    assert later.provenance.counts["values_unknown_to_recipe"] == 1
    assert later.provenance.attribute_recipe == recipe
    report = store.check(projection, recipe)
    assert (report.recipe_problem, report.counts["values_unknown_to_recipe"]) == (None, 1)
    assert [(each["columns"], each["holds"]) for each in report.attributes] == [
        (1, "mean 3"), (2, "2 categories"),
    ]  # fmt: skip
    cypher(f"MATCH (n:{NODE}) SET n.x = 'text'")
    with pytest.raises(RecipeError, match="'x' has category values where its recipe has number"):
        store.read_graph(projection, recipe)
    report = store.check(projection, recipe)
    assert report.recipe_problem == "attribute 'x' has category values where its recipe has number"
    assert [(each["kind"], each["columns"]) for each in report.attributes] == [
        ("category", 1), ("category", 3),
    ]  # fmt: skip
    cypher(f"MATCH (n:{NODE}) REMOVE n.x")
    with pytest.raises(ProjectionError, match="attribute 'x' is on no matching node"):
        store.read_graph(projection, recipe)
    assert store.check(projection, recipe).problems[0].startswith("attribute 'x' is on no matching node")


ALL = Projection([NODE, OTHER], [LINK, LINK2], weight="weight", attributes=["x", "tag"], key="key")
RICH = Projection(
    [NODE, OTHER],
    [LINK, LINK2],
    weight="weight",
    attributes=["x", "born", "opens", "took"],
    text=["words", "title"],
    label_attributes={NODE: ["at", "title", "x"], OTHER: ["born", "tag"]},
    type_weights={LINK: 0.1, LINK2: 3e-7},
    key="key",
)


def enrich(cypher):
    """Give the nodes of `make_random` values of all other kinds, by their keys."""
    cypher(
        f"MATCH (n:{ANY_NODE}) WITH n, n.key AS k "
        "SET n.born = CASE k % 4 WHEN 0 THEN date('1970-01-01') + duration({days: k * 1000}) "
        "WHEN 1 THEN datetime({year: 1900 + k, timezone: 'Europe/Berlin'}) + duration({nanoseconds: k}) "
        "WHEN 2 THEN localdatetime({year: 2000 - k}) + duration({milliseconds: k}) END, "
        "n.opens = CASE WHEN k % 5 > 0 THEN time({hour: k % 24, minute: k, timezone: '+05:30'}) END, "
        "n.took = CASE WHEN k % 3 > 0 THEN duration({months: k, nanoseconds: k}) END, "
        "n.at = CASE WHEN k % 6 > 0 THEN point({longitude: k * 7.7 - 150, latitude: k * 1.3}) END, "
        "n.words = CASE WHEN k % 7 > 0 "
        "THEN reduce(t = '', i IN range(0, k) | t + ' word' + (i * k % 11)) END, "
        "n.title = 'Title ' + (k % 9) + ' of papers'"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
def test_the_order_of_the_answers_does_not_matter_to_any_kind(cypher, store):
    make_random(cypher, 3)
    enrich(cypher)
    plain = store.read_graph(RICH)
    assert plain.n_attributes > 30
    for seed in range(3):
        store.transaction = shuffling_transaction(seed)
        assert bits(store.read_graph(RICH)) == bits(plain)
        again = store.read_graph(RICH, plain.provenance.attribute_recipe)
        assert bits(again)["x"] == bits(plain)["x"]


@pytest.mark.slow
def test_any_kind_inserted_anew_and_read_in_other_chunks_gives_the_same_bits(cypher, store):
    make_random(cypher, 5)
    enrich(cypher)
    first = bits(store.read_graph(RICH))
    for sizes in ((1, 1, 1, 1), (3, 1000, 10, 2)):
        store.limits = Limits(
            **dict(zip(("nodes", "relationships", "values", "first_nodes"), sizes, strict=True))
        )
        assert bits(store.read_graph(RICH)) == first
    cypher(f"MATCH (n:{ANY_NODE}) DETACH DELETE n")
    make_random(cypher, 5, order=1)
    enrich(cypher)
    assert bits(store.read_graph(RICH)) == first


@pytest.mark.parametrize("key", [None, "key"])
@pytest.mark.usefixtures("small_chunks")
def test_the_order_of_the_answers_does_not_matter(cypher, store, key):
    make_random(cypher, 3)
    projection = Projection.from_dict(ALL.to_dict() | {"key": key})
    plain = store.read_graph(projection)
    for seed in range(3):
        store.transaction = shuffling_transaction(seed)
        shuffled = store.read_graph(projection)
        assert bits(shuffled) == bits(plain)
        assert shuffled.node_ids == plain.node_ids


def test_chunks_of_any_size_give_the_same_bits(cypher, store):
    make_random(cypher, 4)
    plain = bits(store.read_graph(ALL))
    for sizes in ((1, 1, 1, 1), (3, 1000, 10, 2), (1000, 5, 1, 1000)):
        store.limits = Limits(
            **dict(zip(("nodes", "relationships", "values", "first_nodes"), sizes, strict=True))
        )
        assert bits(store.read_graph(ALL)) == plain


@pytest.mark.both_releases
def test_nodes_found_by_scans_or_by_ids_in_ranges_of_any_size_give_the_same_bits(cypher, store):
    make_random(cypher, 4)
    cypher(f"MATCH (n:{NODE}) WHERE n.key % 3 = 0 DETACH DELETE n")
    projection, statements = Projection.from_dict(ALL.to_dict() | {"key": None}), []
    plain = store.read_graph(projection)
    store.tracer = lambda statement, parameters: statements.append(statement)
    for most, block, scanned in ((0, 50_000, 1), (0, 50_000, 7), (10**9, 1, 1), (10**9, 13, 1)):
        store.limits = Limits(numbers_per_node=most, numbers=block, nodes_per_scan=scanned)
        graph = store.read_graph(projection)
        assert bits(graph) == bits(plain)
        assert graph.node_ids == plain.node_ids
    by_id, scans = (
        [each for each in statements if words in each] for words in ("toString(number)", "<= number")
    )
    assert len(by_id) > 20
    assert len(scans) > 3
    plan = cypher.driver.execute_query(
        f"EXPLAIN {by_id[0]}",
        {"heat_first": 0, "heat_last": 9, "heat_beginning": "4:x:", **projection.filter_parameters},
    ).summary.plan
    assert "NodeByElementIdSeek" in str(plan)


@pytest.mark.parametrize("labels", [None, [NODE]])
def test_files_of_a_scratch_folder_hold_the_same_bits(cypher, store, tmp_path, labels):
    make_random(cypher, 5)
    enrich(cypher)
    for each in (ALL, RICH):
        projection = Projection.from_dict(each.to_dict() | ({} if labels is None else {"labels": labels}))
        plain = store.read_graph(projection)
        graph = store.read_graph(projection, scratch=tmp_path)
        assert bits(graph) == bits(plain)
        assert graph.node_ids == plain.node_ids
        assert isinstance(root(graph.adjacency.data), mmap)
        if isinstance(graph.attributes, np.ndarray):
            assert isinstance(root(graph.attributes), mmap)
        assert list(tmp_path.iterdir()) == []


def root(array):
    """Return what holds the memory of an array."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", [0, slow(1), slow(2)])
def test_connections_cut_at_any_moment_lose_nothing_and_repeat_nothing(cypher, store, server, tmp_path, seed):
    make_random(cypher, 9, n=120, m=600)
    plain = store.read_graph(ALL)
    address = urlsplit(server.uri)
    with CuttingProxy(address.hostname, address.port, seed=seed, most=12, octets=6_000) as wire:
        uri = f"bolt://127.0.0.1:{wire.port}"
        statements = []
        with open_store(server, uri=uri, limits=replace(SMALL, first_pause=0.05)) as other:
            other.tracer = lambda statement, parameters: statements.append((statement, repr(parameters)))
            graph = other.read_graph(ALL, scratch=tmp_path)
        assert wire.cuts >= 6
    assert bits(graph) == bits(plain)
    assert graph.node_ids == plain.node_ids
    # Only what was cut is read again.
    assert len(set(statements)) < len(statements) <= len(set(statements)) + wire.cuts


def test_a_graph_inserted_anew_in_another_order_gives_the_same_bits(cypher, store):
    make_random(cypher, 5)
    first = store.read_graph(ALL)
    cypher(f"MATCH (n:{ANY_NODE}) DETACH DELETE n")
    make_random(cypher, 5, order=1)
    second = store.read_graph(ALL)
    assert second.node_ids != first.node_ids
    assert bits(second) == bits(first)


def test_rows_are_sorted_by_keys_that_are_strings(cypher, store):
    cypher(f"UNWIND ['b', 'B', '', 'ä', 'a'] AS key CREATE (:{NODE} {{key: key, x: size(key)}})")
    graph = store.read_graph(Projection([NODE], key="key"))
    keys = cypher(
        "UNWIND $ids AS id MATCH (n) WHERE elementId(n) = id RETURN n.key AS key", ids=list(graph.node_ids)
    )
    assert [row["key"] for row in keys] == ["", "B", "a", "b", "ä"]


def test_rows_are_sorted_by_the_key_of_each_label(cypher, store, small_chunks):
    def make(order):
        nodes = [(NODE, "key", 2), (OTHER, "x", "b"), (NODE, "key", 1), (OTHER, "x", "a"), (OUTSIDE, "w", 1)]
        for label, key, value in nodes[::order]:
            cypher(f"CREATE (:{label} {{{key}: $value, v: $value}})", value=value)

    projection = Projection([NODE, OTHER, OUTSIDE], key={OTHER: "x", NODE: "key"})
    for order in (1, -1):
        make(order)
        graph = store.read_graph(projection)
        assert store.read_property(graph, "v") == [1, 2, "a", "b", 1]
        assert graph.provenance.counts["nodes_without_key"] == 1
        assert store.check(projection).counts["nodes_without_key"] == 1
        cypher(f"MATCH (n:{ANY_NODE}) DETACH DELETE n")


def test_predicted_links_and_bookkeeping_are_not_read_as_graph(cypher, store):
    cypher(
        f"CREATE (a:{NODE} {{x: 1}})-[:{LINK}]->(b:{NODE} {{x: 1}})-[:READER_PREDICTED]->(c:{NODE} {{x: 1}}) "
        f"CREATE (:HeatRun:{OUTSIDE} {{runId: 'r', linkType: 'READER_PREDICTED', createdBy: 'heat_neo4j'}}) "
        f"CREATE (:HeatModel:{OUTSIDE} {{name: 'm', createdBy: 'heat_neo4j'}}) "
        f"CREATE (:HeatVersion:{OUTSIDE} {{model: 'm', createdBy: 'heat_neo4j'}})"
    )
    only_ours = f"n:{NODE} OR n:{OUTSIDE}"
    assert store.read_graph(Projection(node_filter=only_ours)).n_nodes == 3
    assert store.read_graph(Projection(node_filter=only_ours)).n_edges == 1
    assert store.read_graph(Projection([NODE])).n_edges == 1
    assert store.read_graph(Projection([NODE], ["READER_PREDICTED"])).n_edges == 1
    assert store.check(Projection([NODE])).predicted_types == ("READER_PREDICTED",)


HOSTILE = [
    "a`b",
    slow("``"),
    "'; DROP",
    slow('quo"te'),
    slow("sp ace"),
    slow("ünï 論文"),
    "n) DETACH DELETE n //",
    slow("$x @y"),
    "C:\\data",
    slow("{}"),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(cypher, store, name):
    quoted = "`" + name.replace("`", "``") + "`"
    cypher(
        f"CREATE (:{NODE}:{quoted} {{{quoted}: 1}})-[:{quoted} {{{quoted}: 2.5}}]->"
        f"(:{NODE}:{quoted} {{{quoted}: 2}})"
    )
    graph = store.read_graph(Projection([name], [name], weight=name, attributes=[name], key=name))
    assert graph.adjacency.toarray().tolist() == [[0.0, 2.5], [2.5, 0.0]]
    assert graph.attribute_names == (name,)
    assert as_array(graph.attributes).tolist() == [[1.0], [2.0]]
    assert graph.labels[name].all()
    assert store.check(Projection([name], [name], weight=name)).problems == ()


def test_one_node_and_no_relationships_are_read(cypher, store):
    cypher(f"CREATE (:{NODE} {{x: 1}})")
    graph = store.read_graph(Projection([NODE], attributes=["x"]))
    assert (graph.n_nodes, graph.n_edges) == (1, 0)
    cypher(f"CREATE (:{NODE} {{x: 2}})")
    graph = store.read_graph(Projection([NODE]))
    assert (graph.n_nodes, graph.n_edges) == (2, 0)


def test_progress_rises_to_its_total(cypher, store, small_chunks):
    make_random(cypher, 6)
    cypher(f"MATCH (n:{NODE}) CREATE (n)-[:OF_ANOTHER_TYPE]->(n)")
    calls = []
    graph = store.read_graph(ALL, on_progress=lambda *call: calls.append(call))
    stages = list(dict.fromkeys(stage for stage, _, _ in calls))
    assert stages == ["reading nodes", "reading relationships", "reading attributes"]
    for stage in stages:
        done, totals = np.transpose([call[1:] for call in calls if call[0] == stage])
        assert done[0] == 0
        assert (np.diff(done) >= 0).all()
        assert (done[:-1] < totals[:-1]).all()
        assert done[-1] == totals[-1]
    assert graph.provenance.counts["relationships"] in [call[1] for call in calls]
    assert sum(stage == "reading relationships" for stage, _, _ in calls) > 3


class FailingOnce(Transaction):
    """Every statement is answered, then its transaction fails once, as after a lost leader or a deadlock."""

    failed: set[tuple[str, str]]
    error: Exception

    def run(self, statement, parameters=None):
        answer = super().run(statement, parameters)
        self._fail_once(statement, parameters)
        return answer

    def _fail_once(self, statement, parameters):
        call = (statement, repr(parameters))
        if call not in self.failed:
            self.failed.add(call)
            raise self.error


class Gone(driver_errors.ClientError):
    code = "Neo.ClientError.Statement.EntityNotFound"
    message = "Unable to load NODE"


@pytest.mark.parametrize("error", [driver_errors.ServiceUnavailable("a broken wire"), Gone("gone")], ids=repr)
def test_a_transaction_that_is_repeated_counts_once(cypher, store, server, error):
    make_random(cypher, 7)
    plain = bits(store.read_graph(ALL))
    faulty = {"failed": set(), "error": error}
    with open_store(server, limits=SMALL) as other:
        other.transaction = type("_", (FailingOnce,), faulty)
        assert bits(other.read_graph(ALL)) == plain
    assert len(faulty["failed"]) > 10


def test_nodes_deleted_while_reading_are_left_out_and_counted(cypher, store):
    cypher(f"UNWIND range(0, 9) AS i CREATE (:{NODE} {{key: i, x: i}})")
    cypher(f"MATCH (a:{NODE}) MATCH (b:{NODE} {{key: (a.key + 1) % 10}}) CREATE (a)-[:{LINK}]->(b)")

    def delete_some(stage, done, total):
        if stage == "reading relationships" and done == total:
            cypher(f"MATCH (n:{NODE}) WHERE n.key IN [0, 4, 5] DETACH DELETE n")

    graph = store.read_graph(Projection([NODE], [LINK], attributes=["x"]), on_progress=delete_some)
    # Without a key, nodes stand in the order of the server's ids, which need not be that of their creation.
    left = cypher(f"MATCH (n:{NODE}) RETURN elementId(n) AS id, toFloat(n.x) AS x")
    assert dict(zip(graph.node_ids, as_array(graph.attributes).ravel(), strict=True)) == {
        row["id"]: row["x"] for row in left
    }
    assert sorted(row["x"] for row in left) == [1, 2, 3, 6, 7, 8, 9]
    assert graph.provenance.counts["nodes"] == 7
    assert graph.provenance.counts["nodes_gone_while_reading"] == 3
    assert graph.n_edges == 5
    assert len(graph.node_ids) == 7
    assert graph.labels[NODE].shape == (7,)


def test_all_nodes_deleted_while_reading(cypher, store):
    cypher(f"CREATE (:{NODE})")

    def delete_all(stage, done, total):
        if stage == "reading nodes" and done == total:
            cypher(f"MATCH (n:{NODE}) DELETE n")

    with pytest.raises(ProjectionError, match="all nodes that matched were deleted while they were read"):
        store.read_graph(Projection([NODE]), on_progress=delete_all)


@pytest.mark.both_releases
def test_no_statement_is_deprecated_or_draws_a_notification(cypher, store, caplog):
    make_random(cypher, 8, n=20, m=30)
    statements = []
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    store.tracer = lambda statement, parameters: statements.append((statement, parameters))
    projection = Projection.from_dict(
        ALL.to_dict() | {"relationship_filter": "r.weight <> 5", "node_filter": "n.key >= 0"}
    )
    enrich(cypher)
    for each in (projection, RICH, Projection([NODE]), Projection(node_filter=f"n:{NODE}")):
        store.read_graph(each)
        store.check(each)
        store.count(each)
    assert len({statement for statement, _ in statements}) > 15
    assert caplog.records == []
    for statement, _ in statements:
        assert not re.search(r"(?<![A-Za-z])id\s*\(", statement)
    traced = len(statements)
    store.tracer = None
    store.read_graph(Projection([NODE]))
    assert len(statements) == traced


@pytest.mark.slow
def test_an_empty_database_and_a_server_killed_during_the_reading(throwaway_server):
    uri, user, password = throwaway_server.connection()
    with neo4j.GraphDatabase.driver(uri, auth=(user, password), max_transaction_retry_time=1.0) as driver:
        store = Neo4jStore(driver)
        with pytest.raises(ProjectionError, match="database 'neo4j' has no nodes: load a graph first"):
            store.read_graph(Projection())
        driver.execute_query(
            f"UNWIND range(0, 99) AS i CREATE (:{NODE} {{x: i}})-[:{LINK}]->(:{NODE} {{x: 0}})"
        )

        def kill(stage, done, total):
            if stage == "reading relationships" and done == 0:
                os.kill(throwaway_server.status().pid, signal.SIGKILL)

        with pytest.raises(
            ConnectionFailed, match=r"was lost while reading relationships.*: check that it runs, then retry"
        ) as caught:
            store.read_graph(Projection([NODE], [LINK]), on_progress=kill)
        assert "\n" not in str(caught.value)
