"""Run nodes: what they tell, how their status goes, what stays of a run that is over."""

import json
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from neo4j import exceptions as driver_errors

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import ConnectionFailed, ProjectionError, WriteFailed
from heat_neo4j.graph import Provenance
from tests.support.live_graph import (
    make_ring,
    open_store,
    published_node,
    random_links,
    random_points,
    ring_graph,
    runs_in_graph,
    snapshot,
)
from tests.support.slow import slow, slow_with_index

pytestmark = pytest.mark.live

N = 20
LABEL = "RingNode"
NAMES = WriteNames(model="ring test")


@pytest.fixture
def graph(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    for model in (NAMES.model, "another"):
        store.clear(model=model)
    cypher(f"MATCH (n) WHERE n:`{LABEL}` OR n:RunForeign DETACH DELETE n")


def fitted(seed):
    return SimpleNamespace(
        embedding_=random_points(N, seed),
        loss_curve_=np.array([2.5, 2.0, 1.5]),
        seed_=2**62 + seed,
        n_pairs_=12345,
        training_={"seconds": {"train": 1.5}, "exclusion": "exact"},
        get_params=lambda: {"n_components": 3, "alpha": 0.2, "random_state": None},
    )


def statuses(store):
    return {run.run_id: run.status for run in store.runs(NAMES.model)}


def published_runs(cypher):
    rows = cypher(
        "MATCH (:HeatModel {name: $m})-[:HEAT_PUBLISHED]->(r:HeatRun) RETURN r.runId AS r", m=NAMES.model
    )
    return sorted(row["r"] for row in rows)


@pytest.mark.vector_index
def test_a_run_node_tells_all_of_the_run(store, cypher, graph):
    recipe = [{"property": "year", "kind": "number", "mean": 3.5}]
    projection = {"labels": [LABEL], "relationships": ["NEXT"], "weight": "weight", "attributes": ["year"]}
    graph = replace(graph, provenance=Provenance(projection, {"nodes": N, "zero_weights": 2}, recipe))
    record = store.write_embedding(graph, fitted(1), names=NAMES, stage_seconds={"read": 0.5})
    (seen,) = store.runs(NAMES.model)
    assert seen == record
    assert (seen.model, seen.kind, seen.status, seen.stored) == (
        NAMES.model,
        "embedding",
        "complete",
        ("embedding",),
    )
    assert seen.parameters == {"n_components": 3, "alpha": 0.2, "random_state": None}
    assert (seen.seed, seen.pair_count, seen.final_loss) == (2**62 + 1, 12345, 1.5)
    assert seen.loss_curve == (2.5, 2.0, 1.5)
    assert seen.training == {"seconds": {"train": 1.5}, "exclusion": "exact"}
    assert (seen.projection, seen.attribute_recipe) == (projection, recipe)
    assert seen.counts == {"nodes": N, "zero_weights": 2}
    assert (seen.node_count, seen.edge_count, seen.attribute_count) == (N, N, 0)
    stages = {"read", "write coordinates", "index new version", "settle", "build index"}
    assert set(seen.stage_seconds) == stages
    assert {"heat_neo4j", "python", "numpy", "neo4j", "server"} <= set(seen.versions)
    assert store.server.version in seen.versions["server"]
    assert (seen.embedding_property, seen.radius_property) == ("ringTestEmbedding", "ringTestRadius")
    assert (seen.run_property, seen.link_type) == ("ringTestRun", "RING_TEST_PREDICTED")
    assert (seen.vector_property, seen.indexes) == ("ringTestVector", (f"ringTest_{LABEL}",))
    assert seen.names == NAMES
    assert seen.labels == (LABEL,)
    assert seen.started_at <= seen.finished_at
    assert (seen.links_written, seen.error) == (0, None)
    store.write_embedding(graph, fitted(2), names=NAMES)
    newest, kept = store.runs(NAMES.model)
    assert (newest.indexes, kept.indexes) == (seen.indexes, ())  # it is over what is published


def test_a_record_is_json_and_survives_the_way_to_a_node_and_back():
    record = RunRecord(
        **{
            **{
                part.name: part.default
                for part in fields(RunRecord)
                if isinstance(part.default, int | str | float)
            },
            "run_id": "a",
            "model": "b",
            "parts": ("embedding", "links"),
            "status": "complete",
            "parameters": {"alpha": 0.25, "nested": {"list": [1, None, True]}},
            "attribute_recipe": [{"property": "p"}],
            "loss_curve": (1.0, 0.5),
        }
    )
    assert RunRecord.from_node(record.to_node()) == record
    assert RunRecord.from_node({**record.to_node(), "addedLater": 1}) == record
    assert json.loads(json.dumps(record.to_dict()))["parts"] == ["embedding", "links"]
    assert record.kind == "embedding+links"


def test_scalars_of_numpy_are_recorded_as_numbers():
    parameters = {"n_components": np.int64(3), "alpha": np.float64(0.25), "nested": [np.bool_(True)]}
    record = RunRecord("a", "b", ("links",), "complete", parameters=parameters)
    plain = {"n_components": 3, "alpha": 0.25, "nested": [True]}
    assert json.loads(record.to_node()["parameters"]) == plain


def test_values_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        RunRecord("a", "b", ("links",), "complete", parameters={"alpha": float("nan")}).to_node()


def test_runs_are_listed_latest_first_and_only_ours(store, cypher, graph):
    cypher(
        "CREATE (:HeatRun:RunForeign {runId: 'mine', model: $model, status: 'complete'})"
        "CREATE (:HeatRun:RunForeign {title: 'Race in the heat'})",
        model=NAMES.model,
    )
    first = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    other = store.write_embedding(graph, random_points(N, 1), names=WriteNames(model="another"))
    last = store.write_links(graph, random_links(N, 1), names=NAMES)
    assert [run.run_id for run in store.runs(NAMES.model)] == [last.run_id, first.run_id]
    listed = [run.run_id for run in store.runs()]
    assert [run for run in listed if run in (first.run_id, other.run_id, last.run_id)] == [
        last.run_id,
        other.run_id,
        first.run_id,
    ]
    assert "mine" not in listed
    assert store.runs("nosuch") == []


def test_the_status_goes_from_incomplete_to_complete_to_superseded(store, cypher, graph):
    graph = replace(graph, provenance=Provenance({"labels": [LABEL]}, {}, [{"property": "year"}]))
    with store.start_run(graph, names=NAMES) as run:
        assert statuses(store) == {run.record.run_id: "incomplete"}
        begun = store.runs(NAMES.model)[0].heartbeat
        run.write_embedding(fitted(1))
        assert statuses(store) == {run.record.run_id: "incomplete"}
        assert begun is None or store.runs(NAMES.model)[0].heartbeat > begun
        assert published_runs(cypher) == []
        first = run.publish()
    assert statuses(store) == {first.run_id: "complete"}
    assert published_runs(cypher) == [first.run_id]
    second = store.write_embedding(graph, fitted(2), names=NAMES)
    assert statuses(store) == {second.run_id: "complete", first.run_id: "superseded"}
    assert published_runs(cypher) == [second.run_id]
    _, kept = store.runs(NAMES.model)
    assert (kept.stored, kept.attribute_recipe) == (("embedding",), [{"property": "year"}])
    cypher("MATCH (r:HeatRun {model: $m}) SET r.fingerprint = '{\"nodes\": 1}'", m=NAMES.model)
    third = store.write_embedding(graph, fitted(3), names=NAMES)
    assert statuses(store) == {
        third.run_id: "complete",
        second.run_id: "superseded",
        first.run_id: "superseded",
    }
    assert published_runs(cypher) == [third.run_id]
    old = store.runs(NAMES.model)[2]
    assert (old.run_id, old.stored, old.attribute_recipe, old.fingerprint) == (first.run_id, (), (), {})
    assert store.runs(NAMES.model)[1].fingerprint == {"nodes": 1}
    assert (old.seed, old.previous_run) == (2**62 + 1, None)
    assert [run.previous_run for run in store.runs(NAMES.model)[:2]] == [second.run_id, first.run_id]


def test_a_run_leads_to_the_one_that_was_published_when_it_began(store, cypher, graph):
    runs = [store.write_embedding(graph, fitted(seed), names=NAMES).run_id for seed in range(3)]
    rows = cypher(
        "MATCH (r:HeatRun {model: $m})-[:HEAT_PREVIOUS]->(p:HeatRun) RETURN r.runId AS r, p.runId AS p",
        m=NAMES.model,
    )
    assert {row["r"]: row["p"] for row in rows} == {runs[1]: runs[0], runs[2]: runs[1]}


def test_coordinates_and_links_can_be_published_in_one_flip(store, cypher, graph):
    with store.start_run(graph, names=NAMES, parts=["embedding", "links"]) as run:
        run.write_embedding(fitted(1))
        run.write_links(random_links(N, 1))
        both = run.publish()
    assert (both.kind, both.nodes_written, both.links_written) == ("embedding+links", N, 30)
    newer = store.write_embedding(graph, fitted(2), names=NAMES)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "plain": {newer.run_id: N},
        "previous": {both.run_id: N},
        "plain links": {both.run_id: 30},
    }
    assert statuses(store) == {newer.run_id: "complete", both.run_id: "complete"}
    assert published_runs(cypher) == sorted([newer.run_id, both.run_id])
    assert set(store.runs(NAMES.model)[1].stored) == {"embedding", "links"}
    links = store.write_links(graph, random_links(N, 2), names=NAMES)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "plain": {newer.run_id: N},
        "previous": {both.run_id: N},  # nobody's any more, until coordinates are published again
        "plain links": {links.run_id: 30},
        "previous links": {both.run_id: 30},
    }
    assert statuses(store)[both.run_id] == "superseded"
    assert published_runs(cypher) == sorted([newer.run_id, links.run_id])
    assert store.runs(NAMES.model)[2].stored == ("links",)
    last = store.write_links(graph, random_links(N, 3), names=NAMES)
    found = runs_in_graph(cypher, LABEL, NAMES)
    assert (found["plain links"], found["previous links"]) == ({last.run_id: 30}, {links.run_id: 30})
    assert store.runs(NAMES.model)[3].stored == ()


def test_a_run_that_stopped_says_why_and_the_next_one_removes_it(store, cypher, graph):
    first = store.write_embedding(graph, fitted(1), names=NAMES)

    def stop(stage, done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.write_embedding(graph, fitted(2), names=NAMES, batch_size=5, on_progress=stop)
    dead, kept = store.runs(NAMES.model)
    assert (dead.status, dead.error, kept.run_id) == ("incomplete", "KeyboardInterrupt", first.run_id)
    found = runs_in_graph(cypher, LABEL, NAMES)
    assert (found.pop("plain"), found.pop("staged")[dead.run_id] in (5, 10)) == ({first.run_id: N}, True)
    assert found == {}
    np.testing.assert_allclose(store.read_embedding(graph, NAMES.model), random_points(N, 1), atol=1e-12)
    links = store.write_links(graph, random_links(N, 1), names=NAMES)
    assert statuses(store) == {links.run_id: "complete", first.run_id: "complete"}
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "plain": {first.run_id: N},
        "plain links": {links.run_id: 30},
    }


def test_leaving_a_run_without_publishing_publishes_nothing(store, cypher, graph):
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(fitted(1))
    assert statuses(store) == {run.record.run_id: "incomplete"}
    assert published_runs(cypher) == []


UNKNOWN = "is published whole or not at all: `heat runs` shows which"
UNSETTLED = "is published, but some properties still hold values of the previous version: the next command"


@pytest.mark.parametrize(
    ("lost_at", "message"),
    [
        (2, UNKNOWN),  # the first makes the version's node
        (3, UNSETTLED),
        slow_with_index(2, UNKNOWN),
        slow_with_index(3, UNSETTLED),
    ],
)
def test_a_server_lost_during_or_after_the_switch_leaves_it_open_and_says_so(
    server, store, cypher, graph, indexed, lost_at, message
):
    first = store.write_embedding(graph, fitted(2), names=NAMES)
    published = []

    class Lossy(Connection):
        def write_transaction(self, work, *, doing="writing", **options):
            result = super().write_transaction(work, doing=doing, **options)
            if doing == "publishing":
                published.append(result)
                if len(published) >= lost_at:
                    raise ConnectionFailed("lost") from driver_errors.IncompleteCommit()
            return result

    with open_store(server, kind=Lossy, index=indexed) as lossy, pytest.raises(WriteFailed, match=message):
        lossy.write_embedding(graph, fitted(1), names=NAMES)
    assert list(statuses(store).values()) == ["complete", "superseded"]
    np.testing.assert_allclose(store.read_embedding(graph, NAMES.model), random_points(N, 1), atol=1e-12)
    with store.lease(NAMES.model):  # whoever writes next finishes it
        last = store.runs(NAMES.model)[0]
    found = {"plain": {last.run_id: N}, "previous": {first.run_id: N}}
    assert runs_in_graph(cypher, LABEL, NAMES) == found
    assert last.status == "complete"
    if indexed:
        assert store.index_status(NAMES.model).problems == ()
    np.testing.assert_allclose(store.read_embedding(graph, NAMES.model), random_points(N, 1), atol=1e-12)


def test_a_clear_that_was_cut_short_goes_on_where_it_stopped(store, cypher, graph):
    with store.start_run(graph, names=NAMES, parts=["embedding", "links"]) as run:
        run.write_embedding(fitted(1))
        run.write_links(random_links(N, 1))
        run.publish()

    def die(statement, parameters):
        if "UNWIND batch AS p" in statement:  # of the links; the coordinates went before
            raise KeyboardInterrupt

    store.tracer = die
    with pytest.raises(KeyboardInterrupt):
        store.clear(model=NAMES.model)
    store.tracer = None
    assert published_runs(cypher) == []
    assert list(runs_in_graph(cypher, LABEL, NAMES)) == ["plain links"]
    (half,) = store.runs(NAMES.model)  # so that it can be found
    report = store.clear(model=NAMES.model)
    assert (report.runs, report.nodes, report.links) == ((half.run_id,), 0, 30)
    assert runs_in_graph(cypher, LABEL, NAMES) == {}
    assert store.runs(NAMES.model) == []


def test_duplicate_model_nodes_are_made_one(store, cypher, graph):
    """Two first runs at the same moment can make two model nodes: only a constraint could prevent it."""
    cypher("UNWIND range(1, 3) AS i CREATE (:HeatModel {name: $m, createdBy: 'heat_neo4j'})", m=NAMES.model)
    record = store.write_embedding(graph, fitted(1), names=NAMES)
    cypher("CREATE (:HeatModel {name: $m, createdBy: 'heat_neo4j'})", m=NAMES.model)
    assert len(store.read_embedding(graph, NAMES.model)) == N
    store.write_links(graph, random_links(N, 1), names=NAMES)
    assert published_node(cypher, NAMES.model)["run"] == record.run_id


DAMAGE = {
    "projection": "{", "parameters": "[]", "stageSeconds": "x", "quality": "[1]", "drift": "3",
    "nodeCount": "many", "parts": "embedding", "labels": 3, "startedAt": "yesterday",
    "lossCurve": ["a"], "indexes": 5, "attributeRecipe": "[" * 100_000, "seed": [1],
    "runProperty": 5, "embeddingProperty": [1.5], "linkType": True, "versions": '{"python": 3}',
    "dimension": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("name", [*map(slow, DAMAGE), "all of them", "the model", "the version"])
def test_a_damaged_node_of_ours_never_stops_clear(store, cypher, graph, name):
    graph = replace(graph, provenance=Provenance({"labels": [LABEL]}, {}))
    with store.start_run(graph, names=NAMES, parts=("embedding", "links")) as run:
        run.write_embedding(fitted(1))
        run.write_links(random_links(N, 0))
        run_id = run.publish().run_id
    changed = DAMAGE if name == "all of them" else {key: DAMAGE[key] for key in (name,) if key in DAMAGE}
    cypher("MATCH (r:HeatRun {runId: $run}) SET r += $changed", run=run_id, changed=changed)
    if name == "the model":
        cypher("MATCH (m:HeatModel {name: $m}) SET m.version = 'x', m.leaseUntil = 3", m=NAMES.model)
        cypher(
            "CREATE (:HeatModel {createdBy: 'heat_neo4j', name: [1]}), (:HeatModel {createdBy: 'heat_neo4j'})"
        )
    if name == "the version":
        cypher(
            "MATCH (v:HeatVersion {model: $m}) SET v.previous = '[', v.run = 7, v.space = 'a'", m=NAMES.model
        )
    assert {each.run_id for each in store.runs(NAMES.model)} == {run_id}
    if changed:
        with pytest.raises(ProjectionError, match=f"the node of run {run_id} is damaged"):
            store.published_run(NAMES.model)
    store.clear(model=NAMES.model)
    assert store.runs(NAMES.model) == []
    cypher("MATCH (m:HeatModel) WHERE m.name IS NULL OR NOT m.name IS :: STRING NOT NULL DETACH DELETE m")


FORGED = (
    "CREATE (:HeatRun {createdBy: 'heat_neo4j', runId: 'nightly-42', model: 'etl', parts: ['links'], "
    "status: 'superseded', stored: [], linkType: 'EXECUTED'}), "
    "(:HeatRun {createdBy: 'heat_neo4j', runId: 'nightly-42', model: 'last', parts: ['embedding'], "
    "status: 'superseded', stored: ['embedding']}), "
    "(:HeatRun {createdBy: 'heat_neo4j', runId: '20260101T000000Z-0123456789ab', model: 'last', "
    "parts: ['embedding'], status: 'superseded', stored: ['embedding']}), "
    "(:HeatRun {createdBy: 'heat_neo4j', runId: '20260101T000000Z-0123456789ac', model: 'etl', "
    "parts: ['links'], status: 'superseded', stored: [], linkType: 'EXECUTED'})"
)


@pytest.mark.one_release
@pytest.mark.parametrize("stored", [5, True, "embedding", [], None])
def test_a_damaged_run_of_one_model_stops_no_other_one(store, cypher, graph, stored):
    other = WriteNames(model="another")
    damaged = store.write_embedding(graph, random_points(N, 1), names=other)
    cypher("MATCH (r:HeatRun {runId: $run}) SET r.stored = $stored", run=damaged.run_id, stored=stored)
    record = store.write_embedding(graph, random_points(N, 2), names=NAMES)
    assert store.published_run(NAMES.model).run_id == record.run_id
    assert store.prune(NAMES.model, records=0) == 0
    store.clear(model=other.model)
    assert [run.run_id for run in store.runs()] == [record.run_id]


def test_clear_removes_nothing_of_a_users_that_forged_nodes_name(server, store, cypher):
    if server.local is None:
        pytest.skip("would clear what others wrote on a server that is not ours")
    cypher(
        "CREATE (a:Machine {name: 'a', lastRun: 'nightly-42', lastRadius: 1.0, lastEmbedding: [1.0, 2.0]})"
        "-[:EXECUTED {run: 'nightly-42'}]->"
        "(:Machine:HeatModel {createdBy: 'heat_neo4j', name: 'mine'})"
        "-[:EXECUTED]->(:Machine:HeatVersion {lock: 7, message: 'mine'}), "
        "(a)-[:EXECUTED]->(:Machine:HeatRun {createdBy: 'heat_neo4j', runId: 'nightly-42', model: 'x'})"
    )
    cypher(
        "CREATE VECTOR INDEX last_Machine FOR (n:Machine) ON (n.lastEmbedding) OPTIONS {indexConfig: "
        "{`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}"
    )
    try:
        before = snapshot(cypher)
        cypher(FORGED)
        cypher("CREATE (:HeatModel {createdBy: 'heat_neo4j', name: 'last'})")
        store.clear(everything=True)
        cypher("MATCH (r:HeatRun {runId: 'nightly-42'}) WHERE size(labels(r)) = 1 DELETE r")
        cypher("MATCH (m:HeatModel) WHERE m.name IN ['etl', 'last'] DELETE m")
        assert snapshot(cypher) == before
    finally:
        cypher("DROP INDEX last_Machine IF EXISTS")
        cypher("MATCH (n:Machine) DETACH DELETE n")
