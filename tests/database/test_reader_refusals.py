"""What cannot be read is named in one line, and nothing in the graph changes."""

from __future__ import annotations

import re
from dataclasses import replace

import neo4j
import pytest

from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConnectionFailed, ProjectionError
from tests.support.live_graph import open_cypher, snapshot

pytestmark = pytest.mark.live

NODE, OTHER, LINK = "ReaderNode", "ReaderOther", "READER_LINK"


@pytest.fixture
def cypher(server):
    """Run any statement past the package; afterwards the test's nodes are gone."""
    with open_cypher(server) as run:
        yield run
        run(f"MATCH (n:{NODE}|{OTHER}) DETACH DELETE n")


TWO = (
    f"CREATE (a:{NODE} {{key: 1, x: 1, w: 'a'}}), (b:{NODE} {{key: 2, x: 2, w: 'b'}}) "
    f"CREATE (a)-[:{LINK} {{weight: $weight}}]->(b) "
)
PLAIN = TWO.replace("$weight", "1.0")


def weighted(value):
    return TWO.replace("$weight", value), {"labels": [NODE], "weight": "weight"}


def attributed(first, second):
    setup = f"CREATE (:{NODE} {{key: 1, x: {first}}}), (:{NODE} {{key: 2, x: {second}}})"
    return setup, {"labels": [NODE], "attributes": ["x"]}


def keyed(first, second):
    setup = f"CREATE (:{NODE} {{key: {first}, x: 1}}), (:{NODE} {{key: {second}, x: 1}})"
    return setup, {"labels": [NODE], "key": "key"}


BAD = {
    "unknown label": (
        PLAIN,
        {"labels": ["ReaderNodes"]},
        "no node label 'ReaderNodes' in database .*: did you mean 'ReaderNode'",
    ),
    "unknown label, other case": (PLAIN, {"labels": ["readernode"]}, "did you mean 'ReaderNode'"),
    "unknown label, nothing like it": (
        PLAIN,
        {"labels": ["Xyzzy 42"]},
        "no node label 'Xyzzy 42' in database .*: there are ",
    ),
    "unknown type": (
        PLAIN,
        {"relationships": ["READER_LINKS"]},
        "no relationship type 'READER_LINKS' .* 'READER_LINK'",
    ),
    "unknown weight": (PLAIN, {"weight": "wieght"}, "no weight property 'wieght' .* did you mean 'weight'"),
    "unknown weight, of a type that is rare": (
        f"UNWIND range(0, 1100) AS i CREATE (:{NODE} {{ratio: i}})-[:READER_OTHER {{ratin: i}}]->(:{NODE}) "
        f"WITH count(*) AS _ CREATE (:{NODE})-[:{LINK} {{rating: 1}}]->(:{NODE})",
        {"relationships": [LINK], "weight": "ratng"},
        "no weight property 'ratng' .* did you mean 'rating'",
    ),
    "unknown weight, of any type": (
        f"UNWIND range(0, 1100) AS i CREATE (:{NODE})-[:READER_OTHER {{since: i}}]->(:{NODE}) "
        f"WITH count(*) AS _ CREATE (:{NODE})-[:{LINK} {{rating: 1}}]->(:{NODE})",
        {"weight": "ratng"},
        "no weight property 'ratng' .* did you mean 'rating'",
    ),
    "unknown key, of a label that is rare": (
        f"UNWIND range(0, 1100) AS i CREATE (:{NODE} {{titel: i}}) "
        f"WITH count(*) AS _ CREATE (:{OTHER} {{title: 'a'}})",
        {"labels": [OTHER], "key": "tilte"},
        "no key property 'tilte' .* did you mean 'title'",
    ),
    "unknown attribute": (
        PLAIN,
        {"attributes": ["x", "no such thing"]},
        "no attribute property 'no such thing' in database",
    ),
    "unknown label of a key": (
        PLAIN,
        {"labels": [NODE], "key": {"ReaderNod": "key"}},
        "no node label 'ReaderNod' in database .*: did you mean 'ReaderNode'",
    ),
    "unknown key of a label": (
        PLAIN + f"CREATE (:{OTHER} {{title: 'a'}})",
        {"key": {NODE: "key", OTHER: "tilte"}},
        "no key property 'tilte' .* did you mean 'title'",
    ),
    "unknown key": (PLAIN, {"key": "no such thing"}, "no key property 'no such thing' in database"),
    "nothing matches": (
        PLAIN,
        {"labels": [NODE], "node_filter": "n.x > 5"},
        "there is no node of label 'ReaderNode' with 'n.x > 5'",
    ),
    "filter that does not parse": (
        PLAIN,
        {"relationship_filter": "r.weight >"},
        "`relationship_filter` 'r.weight >' is refused by the server: Invalid input",
    ),
    "filter on an unknown variable": (
        PLAIN,
        {"node_filter": "m.x > 1"},
        "`node_filter` 'm.x > 1' is refused by the server: Variable `m` not defined",
    ),
    "filter that lacks a parameter": (PLAIN, {"node_filter": "n.x > $least"}, "Expected parameter.*least"),
    "filter that writes": (
        PLAIN,
        {"node_filter": "true) SET n.x = 5 WITH n WHERE (true"},
        "`node_filter` .* is refused by the server: Writing in read access mode not allowed",
    ),
    "filter that deletes": (PLAIN, {"node_filter": "true) DETACH DELETE n //"}, "Invalid input"),
    "filter that fails on a value": (
        PLAIN,
        {"labels": [NODE], "node_filter": "1 / (n.x - n.x) > 0"},
        "refused a statement while reading nodes: / by zero",
    ),
    "negative weight": (
        *weighted("-1.5"),
        "weight 'weight' is not usable: 1 negative, e.g. -1.5 from node 4:.*:[0-9]+ to node 4:.*: weights",
    ),
    "negative weight between nodes with keys": (
        TWO.replace("$weight", "-1.5"),
        {"labels": [NODE], "weight": "weight", "key": {NODE: "w"}},
        "weight 'weight' is not usable: 1 negative, e.g. -1.5 from node 'a' to node 'b': weights",
    ),
    "weight that is NaN": (*weighted("0.0 / 0.0"), "weight 'weight' is not usable: 1 NaN, e.g. nan from"),
    "infinite weight": (*weighted("1.0 / 0.0"), "weight 'weight' is not usable: 1 infinite, e.g. inf from"),
    "weight that is a date": (
        *weighted("date('2024-05-17')"),
        r"1 not numbers \(Date\), e.g. 2024-05-17 from",
    ),
    "weight that is a string": (
        *weighted("'7'"),
        r"weight 'weight' is not usable: 1 not numbers \(str\), e.g. '7' from",
    ),
    "weight that is a boolean": (*weighted("true"), r"1 not numbers \(bool\), e.g. True from"),
    "weight that is a list": (*weighted("[1]"), r"1 not numbers \(list\), e.g. \[1\] from"),
    "weight that is nowhere": (
        PLAIN,
        {"labels": [NODE], "weight": "x"},
        "weight 'x' is not on the one relationship that matches",
    ),
    "weights that add up to infinity": (
        TWO.replace("$weight", "1.5e308") + f"CREATE (a)-[:{LINK} {{weight: 1.5e308}}]->(b)",
        {"labels": [NODE], "weight": "weight"},
        "weight 'weight' adds up to infinity",
    ),
    "mixed attribute": (
        *attributed("1", "'a'"),
        r"attribute 'x' mixes strings \('a'\) and numbers \(1\): make them one kind",
    ),
    "ragged lists": (
        *attributed("[1, 2]", "[1]"),
        "several lengths: 1 number on 1 node and 2 on 1, first on node 4:.*:[0-9]+: give all nodes",
    ),
    "NaN attribute": (
        attributed("1", "0.0 / 0.0")[0],
        {"labels": [NODE], "attributes": ["x"], "key": {NODE: "key"}},
        r"attribute 'x' has a value that is NaN, infinite or too large \(nan\) on node 2: set",
    ),
    "NaN in a list": (
        *attributed("[0.0 / 0.0]", "[0.0 / 0.0]"),
        "NaN, infinite .* on node 4:.* and 1 more: set",
    ),
    "dates and numbers": (
        *attributed("date('2001-02-03')", "1"),
        r"attribute 'x' mixes dates \(2001-02-03\) and numbers \(1\): make them one kind",
    ),
    "dates and times of day": (
        *attributed("date('2001-02-03')", "localtime('06:30')"),
        r"attribute 'x' mixes dates \(2001-02-03\) and times of day \(06:30\)",
    ),
    "points of two systems": (
        *attributed("point({x: 1, y: 2})", "point({longitude: 1, latitude: 2})"),
        "attribute 'x' mixes points of srid 4326 and 7203: give all nodes points of one coordinate system",
    ),
    "text that is a number": (
        attributed("1", "2")[0],
        {"labels": [NODE], "text": ["x"]},
        r"text 'x' holds numbers \(1\): it must hold strings; name it as an attribute",
    ),
    "text without words": (
        attributed("'a'", "'?'")[0],
        {"labels": [NODE], "text": ["x"]},
        "text 'x' has no word of two letters or more",
    ),
    "unknown label of attributes": (
        PLAIN,
        {"label_attributes": {"ReaderNodes": ["x"]}},
        "no node label 'ReaderNodes' in database .*: did you mean 'ReaderNode'",
    ),
    "unknown attribute of a label": (
        PLAIN,
        {"label_attributes": {NODE: ["no such thing"]}},
        "no attribute property 'no such thing' in database",
    ),
    "unknown text": (PLAIN, {"text": ["no such thing"]}, "no attribute property 'no such thing' in database"),
    "attribute that is on no node of its label": (
        f"CREATE (:{NODE} {{x: 1}}), (:{OTHER} {{key: 1}})",
        {"labels": [NODE, OTHER], "label_attributes": {OTHER: ["x"]}},
        "attribute 'ReaderOther.x' is on no matching node of label 'ReaderOther'",
    ),
    "unknown type with a factor": (
        PLAIN,
        {"type_weights": {"READER_LINKS": 2}},
        "no relationship type 'READER_LINKS' .* 'READER_LINK'",
    ),
    "factors that add up to infinity": (
        PLAIN + f"CREATE (a)-[:{LINK}]->(b)",
        {"labels": [NODE], "type_weights": {LINK: 1.5e308}},
        "`type_weights` add up to infinity",
    ),
    "list of dates": (*attributed("[date()]", "null"), "attribute 'x' holds lists of Date values"),
    "attribute that is nowhere": (
        PLAIN,
        {"labels": [NODE], "attributes": ["weight"]},
        "attribute 'weight' is on no matching node",
    ),
    "empty lists": (*attributed("[]", "[]"), "attribute 'x' holds nothing but empty lists"),
    "key missing": (*keyed("1", "null"), "key 'key' is missing on 1 of 2 nodes"),
    "key not unique": (*keyed("'a'", "'a'"), "key 'key' is not unique: several nodes have 'a'"),
    "key mixed": (
        *keyed("1", "'a'"),
        "key 'key' has int and str values: a key must be all whole numbers or all strings",
    ),
    "key fractional": (*keyed("1.5", "2.5"), "key 'key' has float values"),
    "key boolean": (*keyed("true", "false"), "key 'key' has bool values"),
}


@pytest.mark.parametrize(
    ("part", "near_ours", "near_theirs"),
    [
        ("labels", ["HeatModell", "HeatRunn", "HeatVersions"], (f"{NODE}x", NODE)),
        ("relationships", ["HEAT_WRITE_LOCKS", "READER_PREDICTEDD"], (f"{LINK}x", LINK)),
        ("attributes", ["createdBi", "tokens", "weights", "ours11", "ours33"], ("keyy", "key")),
        ("weight", ["numbers", "ranks", "keyy"], ("weigth", "weight")),
    ],
)
def test_names_of_our_bookkeeping_are_not_offered(store, cypher, part, near_ours, near_theirs):
    cypher(
        PLAIN + "SET a.ours1 = 1, a.ours2 = 1, a.ours3 = 1, a.ours3Previous = 1 "
        "CREATE (a)-[:READER_PREDICTED {rank: 1}]->(b)"
    )
    cypher(
        f"CREATE (:HeatRun:{OTHER} {{createdBy: 'heat_neo4j', linkType: 'READER_PREDICTED', "
        "embeddingProperty: 'ours1', runProperty: 'ours2', valueProperties: ['ours3']})"
    )
    ours = "{createdBy: 'heat_neo4j', previous: 'x', token: 'x', model: 'x', name: 'x'}"
    cypher(
        f"CREATE (a:HeatModel:{OTHER} {ours})-[:HEAT_PUBLISHED]->(b:HeatRun:{OTHER} {ours}) "
        f"CREATE (b)-[:HEAT_PREVIOUS]->(b)-[:HEAT_WRITE_LOCK {{number: 1}}]->(b) "
        f"CREATE (:HeatVersion:{OTHER} {ours})"
    )
    wrong, right = near_theirs
    for name in (wrong, *near_ours):
        with pytest.raises(ProjectionError, match=f"{name!r} in database") as caught:
            store.read_graph(Projection(**{part: name if part == "weight" else [name]}))
        assert ("did you mean" in str(caught.value)) is (name == wrong)
        assert (repr(right) in str(caught.value)) is (name == wrong)
        if part == "attributes":
            with pytest.raises(ProjectionError, match=f"has a property {name!r}") as caught:
                store.read_property(store.read_graph(Projection([NODE])), name)
            assert (": did you mean 'key'?" in str(caught.value)) is (name == wrong)
            assert "ours" not in str(caught.value).replace(name, "")


@pytest.mark.parametrize(("setup", "options", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named_in_one_line_and_nothing_changes(cypher, store, setup, options, message):
    cypher(setup)
    before = everything(cypher)
    with pytest.raises(ProjectionError, match=message) as caught:
        store.read_graph(Projection(**options))
    assert "\n" not in str(caught.value)
    if "up to infinity" not in message and "by zero" not in message:
        assert any(re.search(message, line) for line in store.check(Projection(**options)).problems)
    assert everything(cypher) == before


def everything(cypher):
    """The whole database as text, in which NaN equals itself."""
    return {
        part: sorted(map(repr, value.items())) if isinstance(value, dict) else value
        for part, value in snapshot(cypher).items()
    }


def test_check_lists_every_problem(cypher, store):
    cypher(
        f"CREATE (:{NODE} {{key: 1, x: 1, f: [1], g: true}})-[:{LINK} {{weight: -1}}]->"
        f"(:{NODE}:{OTHER} {{x: 'a', f: [1, 2]}})"
    )
    report = store.check(Projection([NODE], [LINK], weight="weight", attributes=["x", "f", "g"], key="key"))
    starts = (
        "weight 'weight' is not usable",
        "attribute 'x' mixes",
        "attribute 'f' has lists",
        "key 'key' is missing",
    )
    assert len(report.problems) == len(starts)
    for start in starts:
        assert any(line.startswith(start) for line in report.problems)
    assert (report.nodes, report.labels, report.types) == (2, {NODE: 2, OTHER: 1}, {LINK: 1})
    assert report.counts["relationships"] == 1
    assert report.attributes == (
        {"property": "g", "kind": "boolean", "columns": 2, "missing": 1, "holds": "mean 1"},
    )
    names = store.check(Projection(["Nope"], ["NOPE"], node_filter="n.", relationship_filter="r.weight > 0"))
    assert [line.split(" in ")[0].split(" refused")[0][:13] for line in names.problems[:2]] == [
        "no node label",
        "no relationsh",
    ]
    assert len(names.problems) == 3


@pytest.mark.parametrize(
    ("setup", "problem"),
    [
        (f"CREATE (:{NODE})", "only one node matches the projection: an embedding needs at least two"),
        (f"CREATE (:{NODE}), (:{NODE})", "no relationship joins the nodes and no attributes are named"),
    ],
)
def test_check_says_what_cannot_be_trained_on(cypher, store, setup, problem):
    cypher(setup)
    (found,) = store.check(Projection([NODE])).problems
    assert found.startswith(problem)


def test_counts(cypher, store, server):
    cypher(
        f"UNWIND range(0, 29) AS i CREATE (:{NODE} {{x: i + 1, w: CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END}})"
    )
    cypher(f"MATCH (a:{NODE} {{x: 1}}) MATCH (b:{NODE}) CREATE (a)-[:{LINK} {{weight: 1}}]->(b)")
    counts = store.count(Projection([NODE], [LINK], attributes=["x", "w"]))
    assert (counts.nodes, counts.relationships, counts.attribute_columns) == (30, 30, 3)
    assert counts.attribute_share == pytest.approx(2 / 3)
    assert counts.isolated_share == 0.0
    assert store.count(Projection([NODE], node_filter="n.x > 1")).isolated_share == 0.0  # all are reached
    assert store.count(Projection([NODE])).attribute_columns == 0
    light = store.count(Projection([NODE], relationship_filter="r.weight > 1"))
    assert (light.relationships, light.isolated_share) == (0, 1.0)
    with pytest.raises(ProjectionError, match="there is no node"):
        store.count(Projection([NODE], node_filter="n.x > 100"))


@pytest.mark.parametrize("kind", [LINK, "NONE"])
def test_the_closure_of_a_hierarchy_is_counted(cypher, store, kind):
    cypher(f"UNWIND range(0, 39) AS i CREATE (:{NODE} {{x: i}})")
    cypher(f"MATCH (a:{NODE}) MATCH (b:{NODE} {{x: a.x / 3}}) WHERE a.x > 0 CREATE (a)-[:{LINK}]->(b)")
    cypher(f"MATCH (a:{NODE} {{x: 5}}) MATCH (b:{NODE} {{x: 2}}) CREATE (b)-[:READER_OTHER]->(a)")
    counts = store.count(Projection([NODE], [LINK, "READER_OTHER"]), kind)
    above = sum(1 + (x >= 3) + (x >= 9) + (x >= 27) for x in range(1, 40))
    assert (counts.hierarchical, counts.closure) == ((39, above) if kind == LINK else (0, 0))


def test_nodes_are_sampled_whatever_the_numbers_in_their_element_ids(cypher, store):
    """Nodes that were created in turn with others have all odd numbers, or all even ones."""
    cypher(f"UNWIND range(1, 4800) AS i CREATE (:{NODE} {{x: i}})")
    for parity in (0, 1):
        cypher(
            f"MATCH (n:{NODE}) WHERE toInteger(split(elementId(n), ':')[2]) % 2 = $odd SET n:{OTHER}",
            odd=parity,
        )
        cypher(f"MATCH (a:{OTHER}) WITH collect(a) AS nodes UNWIND range(1, size(nodes) - 1) AS i "
               f"WITH nodes[i] AS a, nodes[0] AS b CREATE (a)-[:{LINK}]->(b)")  # fmt: skip
        counts = store.count(Projection([OTHER], [LINK], attributes=["x"]), LINK)
        assert (counts.attribute_columns, counts.hierarchical) == (1, counts.nodes - 1)
        assert counts.closure == pytest.approx(counts.nodes, rel=0.01)
        cypher(f"MATCH (n:{OTHER}) REMOVE n:{OTHER}")


def test_a_sample_of_labels_stands_for_all_relationships(cypher, store):
    cypher(f"UNWIND range(0, 39) AS i CREATE (:{NODE} {{x: i}})-[:{LINK}]->(:{OTHER})")
    schema, carriers = store.sample_schema(Projection([NODE, OTHER], [LINK]), limit=10)
    assert schema == {((NODE,), LINK, (OTHER,)): 40}
    assert carriers == {NODE: 40, OTHER: 40}


def test_full_sources_have_the_one_relationship_that_they_may_have(cypher, store):
    cypher(f"UNWIND range(0, 99) AS i CREATE (:{NODE} {{x: i}})")
    cypher(f"MATCH (a:{NODE}) WHERE a.x < 60 CREATE (a)-[:{LINK}]->(:{OTHER})")
    assert store.full_sources(NODE, LINK) == pytest.approx(0.6)
    assert store.full_sources(OTHER, LINK) == store.full_sources("", LINK) == 0.0
    cypher(f"MATCH (a:{NODE}) WHERE a.x < 10 CREATE (a)-[:{LINK}]->(:{OTHER})")
    assert store.full_sources(NODE, LINK) == 0.0


def test_counts_know_texts_and_attributes_of_labels(cypher, store):
    cypher(
        f"UNWIND range(0, 29) AS i CREATE (:{NODE} {{x: date('2001-01-01') + duration({{days: i}}), "
        "w: 'word other' + (i % 3)})"
    )
    cypher(f"CREATE (:{OTHER} {{x: 5}})")
    projection = Projection([NODE, OTHER], attributes=["x"], text=["w"], node_filter=f"n:{NODE}")
    counts = store.count(projection)
    assert (counts.nodes, counts.attribute_columns) == (30, 5)
    assert counts.attribute_share == pytest.approx((30 + 60) / 150)
    cypher(f"MATCH (n:{NODE}) SET n.e = [i IN range(1, 300) | sin(i * n.x.day)]")
    counts = store.count(replace(projection, attributes=["x", "e"]))
    assert (counts.attribute_columns, counts.vector_columns, counts.vector_width) == (5, 256, 300)
    of_labels = Projection([NODE, OTHER], label_attributes={NODE: ["x", "w"], OTHER: ["x", "w"]}, text=["w"])
    assert store.count(of_labels).attribute_columns == 6  # OTHER has no w: it takes no columns here


def test_wrong_password_and_database(server):
    with pytest.raises(ConnectionFailed, match="refused the login: check user name and password"):
        Neo4jStore.open(server.uri, auth=(server.user, "wrong"))
    with pytest.raises(
        ConnectionFailed, match="has no database 'no such database': SHOW DATABASES lists them"
    ):
        Neo4jStore.open(server.uri, auth=(server.user, server.password), database="no such database")


def test_a_driver_that_was_handed_in_stays_open(server):
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        with Neo4jStore(driver, database=server.database) as store:
            assert store.server.edition in ("community", "enterprise")
            assert re.fullmatch(r"\d+\.\d+\.\d+", store.server.version)
            assert store.server.address in server.uri or server.local is None
            assert server.password not in repr(store)
        driver.verify_connectivity()
