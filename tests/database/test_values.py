"""Tables of values, such as classes and clusters: published, rolled back and cleared as coordinates are."""

from functools import partial

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.versions import checked
from heat_neo4j.errors import ProjectionError, WriteFailed, WriteRefused
from tests.support.doomed import Statement, killed, write_table
from tests.support.killed import Killed, stop_at
from tests.support.live_graph import (
    IMPATIENT,
    before_first,
    make_ring,
    open_store,
    publish_random,
    published_node,
    ring_graph,
    snapshot,
)
from tests.support.slow import slow

LABEL, N = "RingNode", 12
MODEL = WriteNames(model="ring test")
CLASSES = WriteNames.of_classes(MODEL.model, "colour")
CLUSTERS = WriteNames.of_clusters(MODEL.model)
CLASS, PROBABILITY = CLASSES.values
live = pytest.mark.live


@pytest.fixture
def ring(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    for names in (MODEL, CLASSES, CLUSTERS):
        store.clear(model=names.model)
    cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")


def table(seed):
    """Return rows, and the class and probability of each: of two thirds of the nodes, others each time."""
    rows = np.flatnonzero(np.arange(N) % 3 != seed % 3)
    classes = [f"colour {(row + seed) % 4}" for row in rows.tolist()]
    return rows, {CLASS: classes, PROBABILITY: [0.5 + seed / 100] * len(rows)}


def write(store, graph, seed):
    return store.write_values(graph, *table(seed), names=CLASSES)


def expected(seed):
    rows, values = table(seed)
    return dict(zip(rows.tolist(), zip(*values.values(), strict=True), strict=True))


def plain(cypher):
    """Return what a reader sees who knows nothing of versions, by key."""
    rows = cypher(f"MATCH (n:{LABEL}) RETURN n.key AS key, n[$c] AS c, n[$p] AS p", c=CLASS, p=PROBABILITY)
    return {row["key"]: (row["c"], row["p"]) for row in rows if row["c"] is not None or row["p"] is not None}


def by_version(store, graph):
    """Return what a reader by version sees, by row."""
    found = store.read_values(graph, CLASSES.model)
    rows = enumerate(zip(found[CLASS], found[PROBABILITY], strict=True))
    return {row: values for row, values in rows if values != (None, None)}


def assert_at_rest(cypher, store, graph, seed):
    """See that both readers see a version, that nothing is staged, and return the runs of each copy."""
    assert plain(cypher) == by_version(store, graph) == expected(seed)
    node = published_node(cypher, CLASSES.model)
    assert not node.keys() & {"publishing", "staging", "stagedRun", "stagedValues", "leaseHolder"}
    assert node["valueProperties"] == list(CLASSES.values)
    of_copies = []
    for copy in ("plain", "staged", "previous"):
        own = CLASSES.copy(copy)
        held = {"names": list(own["value"]), "run": own["run"]}
        rows = cypher("MATCH (n) WHERE any(k IN $names WHERE n[k] IS NOT NULL) RETURN n[$run] AS run", **held)
        of_copies.append({row["run"] for row in rows})
    assert of_copies[:2] == [{node["run"]}, set()]
    assert of_copies[2] <= {node.get("previousRun")}
    return node


@live
def test_values_are_published_rolled_back_and_cleared(cypher, store, ring):
    publish_random(store, ring, 0, names=MODEL)
    clean = snapshot(cypher)
    runs = []
    for seed in range(3):
        record = write(store, ring, seed)
        assert (record.status, record.parts, record.nodes_written) == ("complete", ("values",), 8)
        assert assert_at_rest(cypher, store, ring, seed)["run"] == record.run_id
        runs.append(record.run_id)
    assert store.rollback(CLASSES.model) == (runs[1], None)
    assert_at_rest(cypher, store, ring, 1)
    store.rollback(CLASSES.model)
    assert_at_rest(cypher, store, ring, 2)
    assert store.prune(CLASSES.model, records=0, previous=True) == 2
    assert "previousRun" not in assert_at_rest(cypher, store, ring, 2)
    assert not cypher("MATCH (n) WHERE n[$p] IS NOT NULL RETURN n", p=CLASSES.copy("previous")["run"])
    cleared = store.clear(model=CLASSES.model)
    assert (cleared.runs, cleared.models, cleared.nodes) == ((runs[2],), (CLASSES.model,), 8)
    assert snapshot(cypher) == clean


@live
def test_tables_and_coordinates_leave_one_another_alone(cypher, store, ring):
    publish_random(store, ring, 0, names=MODEL)
    write(store, ring, 0)
    names = [f"node {row}" for row in range(N)]
    clusters = {CLUSTERS.values[0]: [1 + row % 2 for row in range(N)], CLUSTERS.values[1]: names}
    store.write_values(ring, np.arange(N), clusters, names=CLUSTERS)
    publish_random(store, ring, 1, names=MODEL)
    assert_at_rest(cypher, store, ring, 0)
    store.rollback(MODEL.model)
    assert_at_rest(cypher, store, ring, 0)
    found = store.read_values(ring, CLUSTERS.model)
    assert {name: found[name] for name in clusters} == clusters
    assert found[CLUSTERS.values[2]] == [None] * N
    store.clear(model=CLASSES.model)
    assert plain(cypher) == {}
    assert store.read_values(ring, CLUSTERS.model) == found
    assert store.read_values(ring, CLASSES.model) is None


@live
def test_a_model_with_tables_is_cleared_with_them(cypher, store, ring):
    clean = snapshot(cypher)
    publish_random(store, ring, 0, names=MODEL)
    write(store, ring, 0)
    assert store.clear(model=MODEL.model, dry_run=True).models == (MODEL.model, CLASSES.model)
    assert store.clear(model=MODEL.model).nodes == N + 8
    assert snapshot(cypher) == clean


@live
def test_a_table_has_no_coordinates(store, ring):
    write(store, ring, 0)
    assert store.read_stored(ring, CLASSES.model) is None
    assert store.published_run(CLASSES.model) is None
    for ask in (store.index_status, lambda model: store.neighbours("0", model=model)):
        with pytest.raises(ProjectionError, match="no published coordinates"):
            ask(CLASSES.model)


@live
@pytest.mark.parametrize("copy", ["plain", slow("staged"), slow("previous")])
def test_values_of_others_are_not_overwritten(cypher, store, ring, copy):
    name = CLASSES.copy(copy)["value"][0]
    cypher(f"MATCH (n:{LABEL} {{key: 3}}) SET n[$name] = 'mine'", name=name)
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match=f"{CLASS}, {PROBABILITY} or .* on 1 node .*rename or remove"):
        write(store, ring, 0)
    assert snapshot(cypher) == before


@live
def test_no_other_model_takes_the_names_of_a_table(store, ring):
    write(store, ring, 0)
    with pytest.raises(WriteRefused, match="is published as"):
        publish_random(store, ring, 0, names=WriteNames(model=CLASSES.model))


@live
@pytest.mark.parametrize("seed", [1, 3])
def test_a_reader_sees_whole_versions_while_they_are_settled(cypher, server, store, ring, seed):
    """Once versions are switched the new one is read, though plain names hold the one before."""
    write(store, ring, 0)
    with open_store(server, limits=IMPATIENT) as other:
        for words, seen in (("n += $values[i]", 0), ("$left", seed)):
            read = []
            with before_first(store, words, partial(lambda read: read.append(by_version(other, ring)), read)):
                write(store, ring, seed)
            assert read == [expected(seen)]
            store.rollback(CLASSES.model)


@live
@pytest.mark.parametrize("label", ["HeatRun", "HeatVersion"])
def test_names_of_values_that_only_the_database_records_are_not_written(cypher, store, ring, label):
    before = snapshot(cypher)
    for seed in range(2):
        write(store, ring, seed)
    cypher(f"MATCH (r:{label}) WHERE r.valueProperties IS NOT NULL SET r.valueProperties = ['key', 'tags']")
    if label == "HeatRun":
        store.rollback(CLASSES.model)
        assert_at_rest(cypher, store, ring, 0)
    store.clear(model=CLASSES.model)
    assert snapshot(cypher) == before


@live
@pytest.mark.parametrize(
    ("action", "step"), [("write", 5), slow("write", 1), ("rollback", 6), slow("rollback", 1)]
)
def test_whichever_statement_is_the_last_the_next_holder_puts_all_right(cypher, store, ring, action, step):
    versions = [0, 1]
    for seed in versions:
        write(store, ring, seed)
    outcomes, is_over = [], False
    while not is_over:
        seed, before = versions[::-1]
        coming = before if action == "rollback" else seed + 1
        stop_at(store, 1 + step * len(outcomes))
        try:
            store.rollback(CLASSES.model) if action == "rollback" else write(store, ring, coming)
            is_over = True
        except Killed:
            pass
        store.tracer = None
        with store.lease(CLASSES.model):
            pass
        outcomes.append(by_version(store, ring) == expected(coming))
        versions = [seed, coming] if outcomes[-1] else versions
        assert_at_rest(cypher, store, ring, versions[1])
    assert outcomes == sorted(outcomes)
    assert {False, True} == set(outcomes)
    store.rollback(CLASSES.model)
    assert_at_rest(cypher, store, ring, versions[0])


@live
@pytest.mark.parametrize(
    ("words", "is_published"),
    [
        (("n += $values[i]",), False),
        (("$left",), True),
        slow(("REMOVE n.`ringTestClassColourStaged`",), True),
    ],
)
def test_a_killed_process_loses_nothing(cypher, server, store, ring, words, is_published):
    for seed in range(2):
        write(store, ring, seed)
    killed(write_table, server.settings, ring, CLASSES, table(2), Statement(words))
    seed, before = (2, 1) if is_published else (1, 0)
    assert by_version(store, ring) == expected(seed)
    store.prune(CLASSES.model)
    assert_at_rest(cypher, store, ring, seed)
    store.rollback(CLASSES.model)
    assert_at_rest(cypher, store, ring, before)


@live
@pytest.mark.slow
@pytest.mark.constraint
@pytest.mark.parametrize(("versions", "name"), [(1, f"{CLASS}Previous"), (0, CLASS)])
def test_a_publication_that_meets_a_constraint_is_finished_without_it(cypher, store, ring, versions, name):
    """It is made after the first switch, when it is too late to look for it."""
    for seed in range(versions):
        write(store, ring, seed)
    acted = []

    def constrain(statement, parameters):
        if "$left" in statement and not acted:
            acted.append(True)
            cypher(f"CREATE CONSTRAINT heat_test FOR (n:{LABEL}) REQUIRE n.{name} IS UNIQUE")

    store.tracer = constrain
    try:
        with pytest.raises(WriteFailed, match=r"drop the constraint .* is published"):
            write(store, ring, 1)
    finally:
        store.tracer = None
        cypher("DROP CONSTRAINT heat_test IF EXISTS")
    store.prune(CLASSES.model)
    assert_at_rest(cypher, store, ring, 1)


def test_names_follow_from_model_and_property():
    assert WriteNames.of_classes("open papers", "full_name").own == (
        "openPapersClassFullName",
        "openPapersClassFullNameProbability",
        "openPapersClassFullNameRun",
    )
    assert WriteNames.of_clusters("heat").values[-2:] == ("heatCluster5", "heatCluster5Name")
    assert len(set(CLUSTERS.properties)) == 33


def test_a_version_of_values_needs_no_coordinates():
    run = "20260801T060000Z-0123456789ab"
    version = {"run": run, "space": run, "runProperty": "r", "valueProperties": ["a", "b"], "nodeCount": 3}
    assert checked(version) == (version, ())
    sound, damaged = checked({**version, "valueProperties": "a"})
    assert (sound, damaged) == ({}, ("valueProperties",))
