"""Constraints of the user's on what a model writes: found before training, and never in the way of clear."""

from types import SimpleNamespace

import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.write.refusals import refuse_constraints
from heat_neo4j.errors import ProjectionError, WriteFailed, WriteRefused
from tests.database.test_publication_live import publish
from tests.support.killed import Killed
from tests.support.live_graph import assert_at_rest, make_ring, ring_graph, snapshot
from tests.support.slow import slow

LABEL, N = "RingNode", 12
NAMES = WriteNames(model="ring test")
UNIQUE = {
    "run": f"(n:{LABEL}) REQUIRE n.ringTestRun",
    "embedding": f"(n:{LABEL}) REQUIRE n.ringTestEmbedding",
    "staged": f"(n:{LABEL}) REQUIRE n.ringTestRunStaged",
    "previous": f"(n:{LABEL}) REQUIRE n.ringTestRunPrevious",
    "rank": "()-[n:RING_TEST_PREDICTED]-() REQUIRE n.rank",
    "version": "(n:HeatVersion) REQUIRE n.run",
    "creator": "(n:HeatVersion) REQUIRE n.createdBy",
    "run id": "(n:HeatRun) REQUIRE n.runId",
}


@pytest.fixture
def ring(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    cypher("DROP CONSTRAINT heat_test IF EXISTS")
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")


def constrain(cypher, what):
    cypher(f"CREATE CONSTRAINT heat_test FOR {UNIQUE[what]} IS UNIQUE")


@pytest.mark.live
@pytest.mark.constraint
@pytest.mark.parametrize("each", [["run", "rank"], slow([*UNIQUE])])
def test_a_constraint_on_our_names_is_found_before_anything_is_written(cypher, store, ring, each):
    for what in each:
        constrain(cypher, what)
        before = snapshot(cypher)
        with pytest.raises(WriteRefused, match=r"constraint 'heat_test' .*\(SHOW CONSTRAINTS lists it\)"):
            store.start_run(ring, parts=["embedding", "links"], names=NAMES).plan()
        with pytest.raises(WriteRefused, match="constraint 'heat_test'"):
            publish(store, ring, 0)
        assert {**snapshot(cypher), "nodes": {}} == {**before, "nodes": {}}
        cypher("DROP CONSTRAINT heat_test")


@pytest.mark.live
@pytest.mark.constraint
@pytest.mark.parametrize(
    ("what", "statement", "nth", "versions"),
    [
        slow("run", "$left", 1, 0),
        ("previous", "$left", 1, 1),
        slow("rank", "SET p = properties(s)", 1, 1),
        slow("version", "MERGE (v:HeatVersion", 2, 0),
    ],
)
def test_a_publication_that_meets_a_constraint_is_finished_without_it(
    cypher, store, ring, what, statement, nth, versions
):
    """It is made after the first switch, when it is too late to look for it."""
    for seed in range(versions):
        publish(store, ring, seed)

    left = iter(range(nth))

    def trace(text, parameters):
        if statement in text and next(left, None) == nth - 1:
            constrain(cypher, what)

    store.tracer = trace
    with pytest.raises(WriteFailed, match=r"already exists .*drop the constraint .* is published"):
        publish(store, ring, 7)
    store.tracer = None
    with pytest.raises(WriteRefused, match="drop the constraint"):
        store.prune(NAMES.model)
    cypher("DROP CONSTRAINT heat_test")
    store.prune(NAMES.model)
    assert assert_at_rest(cypher, LABEL, NAMES)["run"] == store.runs(NAMES.model)[0].run_id
    publish(store, ring, 8)
    assert_at_rest(cypher, LABEL, NAMES)


@pytest.mark.live
@pytest.mark.constraint
@pytest.mark.parametrize("what", ["previous", slow("creator")])
def test_clear_removes_a_model_whatever_constraint_there_is(cypher, store, ring, what):
    """A process died after its first switch; then somebody made a constraint."""
    clean = snapshot(cypher)
    if what == "previous":
        publish(store, ring, 0)

    def die(statement, parameters):
        if "$left" in statement:
            raise Killed

    store.tracer = die
    with pytest.raises(Killed):
        publish(store, ring, 1)
    store.tracer = None
    constrain(cypher, what)
    with pytest.raises(WriteRefused, match="drop the constraint"):
        publish(store, ring, 2)
    store.clear(model=NAMES.model)
    cypher("DROP CONSTRAINT heat_test")
    assert snapshot(cypher) == clean


ROWS = [
    ("NODE_PROPERTY_EXISTENCE", "NODE", "Paper", "heatEmbedding"),
    ("NODE_KEY", "NODE", "Paper", "heatRunPrevious"),
    ("NODE_PROPERTY_TYPE", "NODE", "Paper", "heatRadiusStaged"),
    ("RELATIONSHIP_PROPERTY_EXISTENCE", "RELATIONSHIP", "HEAT_PREDICTED_STAGED", "since"),
    ("NODE_PROPERTY_EXISTENCE", "NODE", "HeatRun", "owner"),
]


def connection_with(*rows):
    names = ("type", "entity", "label", "property")
    made = [dict(zip(names, row, strict=True)) for row in rows]
    records = [
        {**row, "name": "c", "labels": [row["label"]], "properties": [row["property"]]} for row in made
    ]
    return SimpleNamespace(read=lambda statement, parameters, doing: records)


@pytest.mark.parametrize("row", ROWS)
def test_constraints_that_only_enterprise_has_are_refused_too(row):
    kind, _, on, name = row
    words = f"constraint 'c' .{kind.replace('_', ' ').lower()} of {name} on {on}. covers data of model 'heat'"
    with pytest.raises(WriteRefused, match=words):
        refuse_constraints(connection_with(row), WriteNames(), ["embedding", "links"], ["Paper"])


def test_a_constraint_on_nodes_that_the_graph_has_not_is_no_obstacle():
    other = ("UNIQUENESS", "NODE", "Film", "heatRun")
    refuse_constraints(connection_with(other), WriteNames(), ["embedding"], ["Paper"])
    with pytest.raises(WriteRefused):
        refuse_constraints(connection_with(other), WriteNames(), ["embedding"], [])


def test_a_user_who_may_not_see_constraints_is_not_stopped():
    def read(statement, parameters, doing):
        raise ProjectionError("refused")

    refuse_constraints(SimpleNamespace(read=read), WriteNames(), ["embedding"], ["Paper"])
