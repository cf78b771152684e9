"""What a refresh decides to do, row by row of its table."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph, Projection
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.pipeline.embed import LinkOptions
from heat_neo4j.pipeline.fingerprint import fingerprint
from heat_neo4j.pipeline.plan import Limits, decide, what_changed
from heat_neo4j.pipeline.settings import difference, settings_of

N = 40


def some_graph(n=N, weight=1.0):
    """Return a ring of `n` nodes with shortcuts; the first edge has a weight."""
    dense = np.zeros((n, n))
    for row in range(n):
        dense[row, (row + 1) % n] = dense[row, (row + 5) % n] = 1.0
    dense[0, 1] = weight
    attributes = np.ones((n, 2))
    attributes[:, 1] = np.arange(n)
    return Graph(sparse.csr_array(dense), attributes=attributes, node_ids=[f"4:x:{row}" for row in range(n)])


def part_of(graph, rows, extra=()):
    """Return the graph between some rows, with further edges."""
    dense = graph.adjacency.toarray()[np.ix_(rows, rows)]
    for u, v in extra:
        dense[u, v] = dense[v, u] = 1.0
    return Graph(
        sparse.csr_array(np.triu(dense, 1)),
        attributes=graph.attributes[rows],
        node_ids=[graph.node_ids[row] for row in rows],
    )


def record_of(graph, **changed):
    known = {"settings": SETTINGS, "fingerprint": fingerprint(graph).to_dict(), "decision": "full"}
    return RunRecord("run 1", "heat", ("embedding",), "complete", **{**known, **changed})


def stored_for(now, before):
    """Return coordinates for those rows of a graph that were in another."""
    found = np.isin(now.node_ids, before.node_ids)
    return StoredCoordinates("run 1", "poincare", np.zeros((now.n_nodes, 2)), np.zeros(now.n_nodes), found)


def settings(projection=None, links=None, choose=(), coordinates="poincare", **parameters):
    projection = projection or Projection(["Paper"], ["CITES"])
    return settings_of(projection, HEAT(**parameters).get_params(), links, coordinates, choose)


SETTINGS = settings()


def decided(before, now, limits=None, rejected=None, asked=SETTINGS, **changed):
    source, stored = record_of(before, **changed), stored_for(now, before)
    change, _ = what_changed(source, stored, now, fingerprint(now), alpha=0.2)
    return change, decide(asked, source, stored, change, rejected, limits or Limits())


def test_nothing_published_is_a_full_run():
    decision = decide(SETTINGS, None, None, None, None, Limits())
    assert (decision.kind, decision.reason) == ("full", "nothing is published yet")


@pytest.mark.parametrize("unknown", [{"settings": {}}, {"fingerprint": {}}])
def test_a_run_that_did_not_record_what_it_was_of_is_followed_by_a_full_one(unknown):
    _, decision = decided(some_graph(), some_graph(), **unknown)
    assert (decision.kind, decision.reason) == ("full", "run run 1 did not record what it was computed from")


def test_the_same_graph_is_nothing_to_do():
    graph = some_graph()
    change, decision = decided(graph, part_of(graph, np.random.default_rng(0).permutation(N)))
    assert decision.kind == "nothing"
    assert (change.nodes_new, change.nodes_gone, change.old_changed, change.share) == (0, 0, False, 0.0)


def test_new_nodes_with_their_edges_are_trained_alone():
    now = some_graph()
    before = part_of(now, np.arange(N - 2))
    change, decision = decided(before, now)
    assert (decision.kind, change.nodes_new, change.nodes_gone, change.local) == ("local", 2, 0, 2)
    assert not change.old_changed
    assert decision.reason.startswith("2 new nodes, ")


def test_more_new_nodes_than_the_limit_start_warm():
    now = some_graph()
    before = part_of(now, np.arange(N - 3))
    assert decided(before, now, Limits(local=3 / N))[1].kind == "local"
    assert decided(before, now, Limits(local=2.9 / N))[1].kind == "warm"
    assert decided(before, now, Limits(local=3 / N), changes={"local": 1})[1].kind == "warm"
    assert decided(before, now, Limits(local=2.9 / N, warm=0.01))[1].kind == "full"


def test_one_new_node_of_a_tiny_graph_is_trained_alone():
    now = some_graph(8)
    assert decided(part_of(now, np.arange(7)), now)[1].kind == "local"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("edge", {0: 0.16, 20: 0.16}),
        ("weight", {0: 0.2, 1: 0.2}),
        ("node", dict.fromkeys((0, 34, 38, 4), 0.8 / 3)),
        ("attribute", {3: 0.2}),
    ],
)
def test_the_shares_tell_where_the_changes_are(change, expected):
    before = some_graph()
    attributes = before.attributes.copy()
    attributes[3, 1] = 77.0
    now = {
        "edge": part_of(before, np.arange(N), extra=[(0, 20)]),
        "weight": some_graph(weight=2.0),
        "node": part_of(before, np.arange(N - 1)),
        "attribute": replace(before, attributes=attributes),
    }[change]
    _, shares = what_changed(record_of(before), stored_for(now, before), now, fingerprint(now), alpha=0.2)
    assert {row: shares[row] for row in np.flatnonzero(shares)} == pytest.approx(expected)


def test_new_nodes_change_no_other():
    now = some_graph()
    before = part_of(now, np.arange(N - 2))
    _, shares = what_changed(record_of(before), stored_for(now, before), now, fingerprint(now), alpha=0.2)
    assert shares.tolist() == [0.0] * (N - 2) + [1.0] * 2


def test_a_node_that_is_alone_now_counts_in_full():
    before = some_graph(8)
    dense = before.adjacency.toarray()
    dense[2] = dense[:, 2] = 0.0
    now = replace(before, adjacency=sparse.csr_array(dense))
    _, shares = what_changed(record_of(before), stored_for(now, before), now, fingerprint(now), alpha=0.2)
    assert shares[2] == 1.0


def test_so_many_changes_that_they_cannot_be_told_start_warm():
    rng = np.random.default_rng(0)
    n, edges = 5000, rng.integers(0, 5000, (2, 20_000))
    ids = [f"4:x:{row}" for row in range(n)]
    graphs = [
        Graph(sparse.csr_array((np.ones(count), edges[:, :count]), shape=(n, n)), node_ids=ids)
        for count in (20_000, 18_000)
    ]
    change, decision = decided(*graphs, Limits(local=1.0))
    assert (change.local, decision.kind) == (None, "warm")


def test_changes_among_the_old_nodes_are_trained_alone_while_they_are_few():
    before = some_graph()
    edge = part_of(before, np.arange(N), extra=[(0, 20)])
    gone = part_of(before, np.arange(N - 1))
    attributes = before.attributes.copy()
    attributes[3, 1] = 77.0
    attribute = replace(before, attributes=attributes)
    for now in (edge, gone, some_graph(weight=2.0), attribute):
        change, decision = decided(before, now)
        assert change.old_changed
        assert decision.kind == "local", decision
        assert decided(before, now, Limits(local=0.01))[1].kind == ("warm" if change.local > 1 else "local")
    change, decision = decided(before, gone)
    assert (change.nodes_gone, change.nodes_new) == (1, 0)
    assert "1 node gone" in decision.reason


def test_changes_add_up_to_a_full_run():
    before = some_graph()
    now = part_of(before, np.arange(N), extra=[(0, 20)])
    few = Limits(local=0.01)
    change, decision = decided(before, now, few, changes={"since_full": 0.29})
    assert decision.kind == "full"
    assert change.since_full == pytest.approx(0.29 + change.share)
    assert decision.reason.endswith("since the last full run 30% of the graph have changed")
    assert change.recorded("full")["since_full"] == 0.0
    assert change.recorded("warm")["since_full"] == change.since_full
    assert decided(before, now, few, changes={"since_full": 0.2})[1].kind == "warm"
    assert decided(before, now, changes={"since_full": 0.9})[1].kind == "local"


def test_a_training_of_all_starts_the_count_of_nodes_anew():
    now = some_graph()
    change, _ = decided(part_of(now, np.arange(N - 1)), now, changes={"local": 2})
    assert change.local == 3
    assert [change.recorded(kind)["local"] for kind in ("local", "warm", "full")] == [3, 0, 0]


def test_after_a_rejection_comes_a_full_run():
    before = some_graph()
    now = part_of(before, np.arange(N), extra=[(0, 20)])
    failed = RunRecord("run 2", "heat", ("embedding",), "rejected", decision="warm")
    _, decision = decided(before, now, rejected=failed)
    assert (decision.kind, decision.reason) == ("full", "run run 2 (warm) was rejected")
    assert decided(before, before, rejected=failed)[1].kind == "nothing"


def test_a_graph_of_which_no_node_is_known_is_a_full_run():
    now = some_graph()
    other = replace(now, node_ids=[f"4:y:{row}" for row in range(N)])
    assert decided(other, now)[1].reason == "no node of the graph has published coordinates"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (settings(alpha=0.5), "alpha was 0.2 and is 0.5"),
        (settings(choose=["alpha"]), "alpha was 0.2 and is auto"),
        (settings(Projection(["Paper"], ["CITES"], weight="w")), "weight was off and is w"),
        (settings(Projection(["Paper", "Book"], ["CITES"])), "labels was ['Paper'] and is ['Paper', 'Book']"),
        (settings(links=LinkOptions(k=3)), "links was off and is on"),
        (settings(coordinates="klein"), "coordinates was poincare and is klein"),
    ],
)
def test_other_settings_are_a_full_run_that_says_which(asked, reason):
    decision = decided(some_graph(), some_graph(), asked=asked)[1]
    assert (decision.kind, decision.reason) == ("full", reason)


def test_threads_seed_and_time_are_no_settings():
    assert difference(SETTINGS, settings(n_threads=3, random_state=7, time_limit=9.0)) is None


def test_links_are_compared_in_full_and_the_default_score_is_the_distance():
    known, other = settings(links=LinkOptions(k=3)), settings(links=LinkOptions(k=4))
    assert difference(known, other) == "k was 3 and is 4"
    assert difference(known, settings(links=LinkOptions(k=3, score="distance"))) is None
    assert difference(known, SETTINGS) == "links was on and is off"


def test_settings_are_as_they_are_read_back():
    told = settings(alpha=np.float64(0.25), walks_per_node=np.int64(7))
    assert json.loads(json.dumps(told)) == told
    assert difference(json.loads(json.dumps(told)), told) is None


@pytest.mark.parametrize("limits", [{"local": 0.0}, {"warm": -1.0}, {"local": float("nan")}])
def test_limits_are_above_zero(limits):
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        Limits(**limits)
