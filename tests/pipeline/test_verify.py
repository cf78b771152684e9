"""A run trained again from its record: the same bits, or what differs, or why that cannot be told."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph, Projection
from heat_neo4j.database.publish.writer import model_facts, software_versions
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.database.trust import Trust
from heat_neo4j.database.write.payload import check_coordinates
from heat_neo4j.errors import ConfigError, MemoryExceeded, NotVerifiable, ProjectionError
from heat_neo4j.geometry.hyperboloid import COORDINATES, distance
from heat_neo4j.pipeline import verify as module
from heat_neo4j.pipeline.embed import embed, predict, refresh
from heat_neo4j.pipeline.fingerprint import fingerprint
from heat_neo4j.pipeline.job import LinkOptions
from heat_neo4j.pipeline.verify import verify
from tests.support.commands import invoker
from tests.support.live_graph import snapshot
from tests.support.refresh_checks import JOB
from tests.support.refresh_toy import LABEL, MODEL, N, first_version, small_model
from tests.support.slow import slow

PAPERS = Projection(["Paper"], ["CITES"], key="key")
NODES = 40


def some_graph(weight=1.0):
    """Return a ring with shortcuts, whose first edge has a weight."""
    dense = np.zeros((NODES, NODES))
    for row in range(NODES):
        dense[row, (row + 1) % NODES] = dense[row, (row + 5) % NODES] = 1.0
    dense[0, 1] = weight
    return Graph(sparse.csr_array(dense), node_ids=[f"4:x:{row}" for row in range(NODES)])


@pytest.fixture(scope="module")
def fitted():
    return small_model(random_state=2**63 + 5).fit(some_graph())  # a seed that Neo4j keeps as text


@pytest.fixture
def no_training(monkeypatch):
    """What is refused is refused before it is trained again."""
    monkeypatch.setattr(HEAT, "fit", None)


def record_of(fitted, **changed):
    """Return the record of a run, as its node gives it back."""
    known = {
        "fingerprint": fingerprint(some_graph()).to_dict(),
        "settings": {"model": {"alpha": 0.2}},
        "decision": "full",
        "projection": PAPERS.to_dict(),
        "versions": {**software_versions(), "server": "5.26.0 community"},
        **model_facts(fitted),
    }
    run = RunRecord("r1", "heat", ("embedding",), "complete", **{**known, **changed})
    return RunRecord.from_node(run.to_node())


class Store:
    """A database that holds one published run, and maybe others that are not published."""

    def __init__(self, run, points, *others, graph=None, kind="poincare"):
        coordinates = check_coordinates(points.copy(), NODES, kind)
        self.run, self.others, self.graph = run, others, graph or some_graph()
        self.trust = Trust()
        self.stored = StoredCoordinates(
            run.run_id, kind, coordinates.values, coordinates.radii, np.ones(NODES, dtype=bool)
        )

    def bookkeeping(self):
        return Bookkeeping([{"name": "heat", "run": self.run.run_id}], (self.run, *self.others))

    def read_graph(self, projection, recipe=None, **_):
        assert projection == PAPERS
        return self.graph

    def read_stored(self, graph, model):
        return self.stored


@pytest.mark.parametrize("kind", COORDINATES)
def test_the_same_bits_are_found_to_be_the_same(fitted, kind):
    found = verify(Store(record_of(fitted), fitted.embedding_, kind=kind), n_threads=2)
    assert found.equal
    assert (found.nodes, found.different, found.missing, found.largest_distance) == (NODES, 0, 0, 0.0)
    assert (found.coordinates, found.pairs, found.notes) == (kind, fitted.n_pairs_, ())
    assert json.loads(json.dumps(found.to_dict()))["equal"] is True


@pytest.mark.parametrize("kind", COORDINATES)
def test_one_unit_in_the_last_place_is_a_difference(fitted, kind):
    store = Store(record_of(fitted), fitted.embedding_, kind=kind)
    before, values = store.stored.points(), store.stored.values
    values[7, 1] = np.nextafter(values[7, 1], np.inf)
    found = verify(store)
    assert (found.equal, found.different, found.missing) == (False, 1, 0)
    assert found.largest_distance == pytest.approx(distance(before[7], store.stored.points()[7]), rel=1e-12)
    assert 0 < found.largest_distance < 1e-14


def test_a_changed_radius_the_sign_of_zero_and_lost_coordinates_are_differences(fitted):
    store = Store(record_of(fitted), fitted.embedding_)
    store.stored.radii[3] = np.nextafter(store.stored.radii[3], 0.0)
    store.stored.found[5] = False
    found = verify(store)
    assert (found.different, found.missing, found.largest_distance) == (2, 1, 0.0)
    zero = np.zeros((2, 2))
    assert not (module._bits(zero) == module._bits(-zero)).any()


def test_a_point_outside_of_the_ball_is_infinitely_far(fitted):
    store = Store(record_of(fitted), fitted.embedding_)
    store.stored.values[0] = 2.0
    assert verify(store).largest_distance == math.inf


def test_a_limit_that_was_not_reached_is_no_limit_for_the_verification(fitted):
    parameters = {**model_facts(fitted)["parameters"], "time_limit": 1e-9}
    assert verify(Store(record_of(fitted, parameters=parameters), fitted.embedding_)).equal


def test_other_versions_of_packages_are_noted(fitted):
    run = record_of(fitted)
    run = replace(run, versions={**run.versions, "heat_neo4j": "0.0.9", "server": "4.4.0 community"})
    (note,) = verify(Store(run, fitted.embedding_)).notes
    here = software_versions()["heat_neo4j"]
    assert note == (
        f"the run was made with heat_neo4j 0.0.9 (here {here}): other versions may give other bits"
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"training": {"trained_share": 0.25}}, "ended at its time limit, after 25.0% of its pairs"),
        ({"training": {}}, "published points that were not trained in one fit"),
        (
            {"training": {"start": "1f"}},
            r"was trained on from points that it does not record, by `fit\(start=.*`",
        ),
        ({"decision": None}, "run r1 did not record what it was computed from"),
        ({"fingerprint": {}}, "run r1 did not record what it was computed from"),
        (
            {"training": {"aligned_to": "r0"}},
            "was aligned with run r0, whose coordinates are not",
        ),
        ({"decision": "warm", "previous_run": "r0"}, "started from run r0, whose coordinates are not"),
        ({"decision": "local", "previous_run": None}, "started from run None, whose coordinates are not"),
    ],
)
def test_what_cannot_be_trained_again_is_told(fitted, changed, why, no_training):
    with pytest.raises(NotVerifiable, match=why):
        verify(Store(record_of(fitted, **changed), fitted.embedding_))


def test_a_graph_that_has_changed_is_told_before_training(fitted, no_training):
    with pytest.raises(NotVerifiable, match=r"the graph has changed since run r1, by about \d edges?: "):
        verify(Store(record_of(fitted), fitted.embedding_, graph=some_graph(weight=2.0)))


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"fingerprint": {"nodes": 1}}, "fingerprint"),
        ({"parameters": {"alpha": 7}}, "parameters"),
        ({"training": {"trained_share": "half"}}, "training"),
        ({"parameters": {**small_model().get_params(), "n_components": 5}}, "parameters"),
    ],
)
def test_a_damaged_record_is_told(fitted, changed, what):
    with pytest.raises(ProjectionError, match=rf"the node of run r1 is damaged \({what}\)"):
        verify(Store(record_of(fitted, **changed), fitted.embedding_))


@pytest.mark.parametrize(
    ("run_id", "kind", "why"),
    [
        ("r9", ConfigError, "there is no run 'r9' in this database"),
        ("of another", ConfigError, "run of another is one of model 'other', not of 'heat'"),
        ("links", NotVerifiable, "run links predicted links only; its coordinates are those of run r1"),
        ("old", NotVerifiable, "of run old are not in the graph: neither published nor kept for a rollback"),
    ],
)
def test_a_run_whose_coordinates_are_not_there_is_told(fitted, run_id, kind, why):
    run = record_of(fitted)
    others = (
        replace(run, run_id="of another", model="other"),
        replace(run, run_id="links", parts=("links",), parameters={"embedding_run": "r1"}),
        replace(run, run_id="old", status="superseded"),
    )
    with pytest.raises(kind, match=why):
        verify(Store(run, fitted.embedding_, *others), run_id)


def test_a_model_that_is_not_published_is_told(fitted):
    with pytest.raises(ProjectionError, match="model 'other' has no published coordinates"):
        verify(Store(record_of(fitted), fitted.embedding_), model="other")


def test_a_version_that_is_published_meanwhile_is_not_compared(fitted):
    store = Store(record_of(fitted), fitted.embedding_)
    store.stored = replace(store.stored, run="r2")
    with pytest.raises(ProjectionError, match="was republished while it was read: verify again"):
        verify(store)


# --- on a live server ---------------------------------------------------------------------------------------

ULP = (
    f"MATCH (n:{LABEL} {{key: 7}}) "
    "SET n.freshEmbedding = [n.freshEmbedding[0] + n.freshEmbedding[0] * 2.3e-16] + n.freshEmbedding[1..]"
)


@pytest.mark.live
@pytest.mark.parametrize("kind", ["poincare", slow("klein")])
def test_what_is_published_and_what_is_kept_are_verified(server, store, cypher, papers, kind):
    run = invoker(server)

    def published(seed):
        options = {"model": MODEL, "links": JOB.links, "coordinates": kind}
        return embed(store, JOB.projection, small_model(random_state=seed), **options).run.run_id

    first, second = published(4), published(5)
    before = snapshot(cypher)
    for run_id, expected in ((None, second), (first, first)):
        found = verify(store, run_id, model=MODEL, n_threads=2)
        assert (found.run.run_id, found.coordinates) == (expected, kind)
        assert (found.equal, found.nodes, found.different) == (True, N, 0)
    shown = run("verify", "--model", MODEL).stdout
    assert f"Run           {second} (full) of model {MODEL!r}\n" in shown
    assert f"Compared      {kind} coordinates and radii of {N} nodes\nResult        the same bits\n" in shown
    assert snapshot(cypher) == before  # not even the lease was taken
    with pytest.raises(MemoryExceeded):
        verify(store, model=MODEL, memory_limit=10_000_000)

    linked = predict(store, MODEL, links=LinkOptions(k=1, score="distance")).run.run_id
    assert verify(store, model=MODEL).equal
    assert "predicted links only" in run("verify", linked, "--model", MODEL, code=13).stderr
    assert "neither published nor kept" in run("verify", first, "--model", MODEL, code=13).stderr

    cypher(ULP)
    told = run("verify", "--model", MODEL, "--json", code=12)
    document = json.loads(told.stdout)
    assert (document["equal"], document["nodes"], document["different"]) == (False, N, 1)
    assert 0 < document["largest_distance"] < 1e-14
    distance_told = f"{document['largest_distance']:.3g}"
    assert told.stderr == (
        f"heat: run {second} differs from its training: 1 of {N} nodes differs, by a hyperbolic "
        f"distance of at most {distance_told}\n"
    )
    papers.rewire(1)
    assert f"the graph has changed since run {second}" in run("verify", "--model", MODEL, code=13).stderr


@pytest.mark.live
def test_what_refreshes_went_on_from_is_read_back(store, papers):
    """A local and a warm run, and a full one that was turned to where the last lay, published or kept."""

    def refreshed(mode):
        report = refresh(store, JOB, mode=mode)
        assert report.decision == mode
        return report.report.run.run_id

    def check(run_id):
        found = verify(store, run_id, model=MODEL)
        assert (found.run.run_id, found.different) == (run_id, 0)
        return found

    full = first_version(store, JOB).run_id
    papers.add()
    local = refreshed("local")
    (note,) = check(local).notes
    assert note == f"run {local} trained 1 node; all others are compared with run {full}"
    papers.add(group=1)
    again = refreshed("local")  # before which the node of `local` had values of its own, and none are kept
    check(again)
    papers.rewire()
    warm = refreshed("warm")
    assert check(warm).notes == (
        f"the training started, as the run's did, from the coordinates of run {again}",
    )
    turned = refreshed("full")
    assert check(turned).run.training["aligned_to"] == warm
    with pytest.raises(NotVerifiable, match=f"started from run {again}, whose coordinates are not"):
        verify(store, warm, model=MODEL)
    store.rollback(MODEL)
    check(turned)  # which is kept, and was turned to what is published again
    store.prune(MODEL, previous=True)
    with pytest.raises(NotVerifiable, match="neither published nor kept"):
        verify(store, turned, model=MODEL)
