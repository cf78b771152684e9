"""What a job plans to do: what a refresh decides, row by row of its table, and the lines of every plan."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph, Projection
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import ProjectionError, QualityRejected
from heat_neo4j.geometry.hyperboloid import NotHyperbolicError
from heat_neo4j.pipeline import driver
from heat_neo4j.pipeline.fingerprint import fingerprint
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.pipeline.job import Job, Limits, LinkOptions, difference
from heat_neo4j.pipeline.plan import GraphState, Plan, make_plan, plan_in_full

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


def job(projection=None, links=None, limits=None, **options):
    """Return a job; options of `HEAT` are those of its model."""
    projection = projection or Projection(["Paper"], ["CITES"])
    own = {name: options.pop(name) for name in ("choose", "coordinates") if name in options}
    return Job(projection, HEAT(**options), links=links, limits=limits or Limits(), **own)


def settings(*arguments, **options):
    return job(*arguments, **options).settings()


SETTINGS = settings()


def state_of(now, before=None, rejected=None, asked=SETTINGS, **changed):
    """Return what a refresh finds: a graph, and what is published of the one before."""
    if before is None:
        return GraphState(now, asked, 0.2, rejected=rejected)
    return GraphState(now, asked, 0.2, record_of(before, **changed), stored_for(now, before), rejected)


def decided(before, now, limits=None, rejected=None, asked=None, **changed):
    asked = asked or job()
    state = state_of(now, before, rejected, asked.settings(), **changed)
    return state.diff, make_plan(replace(asked, limits=limits or Limits()), "auto", state)


def test_nothing_published_is_a_full_run():
    decision = make_plan(job(), "auto", state_of(some_graph()))
    assert (decision.mode, decision.reason) == ("full", "nothing is published yet")


@pytest.mark.parametrize("unknown", [{"settings": {}}, {"fingerprint": {}}])
def test_a_run_that_did_not_record_what_it_was_of_is_followed_by_a_full_one(unknown):
    _, decision = decided(some_graph(), some_graph(), **unknown)
    assert (decision.mode, decision.reason) == ("full", "run run 1 did not record what it was computed from")


def test_the_same_graph_is_nothing_to_do():
    graph = some_graph()
    change, decision = decided(graph, part_of(graph, np.random.default_rng(0).permutation(N)))
    assert decision.mode == "nothing"
    assert (change.nodes_new, change.nodes_gone, change.old_changed, change.share) == (0, 0, False, 0.0)


def test_new_nodes_with_their_edges_are_trained_alone():
    now = some_graph()
    before = part_of(now, np.arange(N - 2))
    change, decision = decided(before, now)
    assert (decision.mode, change.nodes_new, change.nodes_gone, change.local) == ("local", 2, 0, 2)
    assert not change.old_changed
    assert decision.reason.startswith("2 new nodes, ")
    assert "attribute" not in decision.reason  # new nodes bring theirs


def test_changed_attributes_are_counted_apart_from_those_of_new_nodes():
    now = some_graph()
    before = part_of(now, np.arange(N - 2))
    attributes = now.attributes.copy()
    attributes[3, 1] = 77.0
    change, decision = decided(before, replace(now, attributes=attributes))
    assert (change.nodes_new, change.attributes) == (2, 1.0)
    assert decision.reason.endswith(" edges changed, 1 attribute row changed")


def test_each_changed_edge_or_row_counts_once():
    before = some_graph()
    assert str(decided(before, some_graph(weight=2.0))[0]) == "1 edge changed"
    gone = part_of(before, np.arange(N - 1))
    change, _ = decided(before, gone)
    assert str(change) == f"1 node gone, {before.n_edges - gone.n_edges} edges changed"
    assert decided(gone, before)[0].edges == change.edges


def test_more_new_nodes_than_the_limit_start_warm():
    now = some_graph()
    before = part_of(now, np.arange(N - 3))
    assert decided(before, now, Limits(local=3 / N))[1].mode == "local"
    assert decided(before, now, Limits(local=2.9 / N))[1].mode == "warm"
    assert decided(before, now, Limits(local=3 / N), changes={"local": 1})[1].mode == "warm"
    assert decided(before, now, Limits(local=2.9 / N, warm=0.01))[1].mode == "full"


def test_a_new_node_of_a_hierarchy_is_not_trained_alone():
    now = some_graph()
    before, asked = part_of(now, np.arange(N - 2)), job(hierarchy="CITES")
    assert decided(before, now, asked=asked, settings=asked.settings())[1].mode == "warm"
    state = state_of(now, before, asked=asked.settings(), settings=asked.settings())
    with pytest.raises(ProjectionError, match="--mode local: a hierarchy is trained as a whole"):
        make_plan(asked, "local", state)


def test_one_new_node_of_a_tiny_graph_is_trained_alone():
    now = some_graph(8)
    assert decided(part_of(now, np.arange(7)), now)[1].mode == "local"


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
    shares = state_of(now, before).shares
    assert {row: shares[row] for row in np.flatnonzero(shares)} == pytest.approx(expected)


def test_new_nodes_change_no_other():
    now = some_graph()
    before = part_of(now, np.arange(N - 2))
    shares = state_of(now, before).shares
    assert shares.tolist() == [0.0] * (N - 2) + [1.0] * 2


def test_a_node_that_is_alone_now_counts_in_full():
    before = some_graph(8)
    dense = before.adjacency.toarray()
    dense[2] = dense[:, 2] = 0.0
    now = replace(before, adjacency=sparse.csr_array(dense))
    shares = state_of(now, before).shares
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
    assert (change.local, decision.mode) == (None, "warm")


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
        assert decision.mode == "local", decision
        assert decided(before, now, Limits(local=0.01))[1].mode == ("warm" if change.local > 1 else "local")
    change, decision = decided(before, gone)
    assert (change.nodes_gone, change.nodes_new) == (1, 0)
    assert "1 node gone" in decision.reason


def test_changes_add_up_to_a_full_run():
    before = some_graph()
    now = part_of(before, np.arange(N), extra=[(0, 20)])
    few = Limits(local=0.01)
    change, decision = decided(before, now, few, changes={"since_full": 0.29})
    assert decision.mode == "full"
    assert change.since_full == pytest.approx(0.29 + change.share)
    assert decision.reason.endswith("since the last full run 30% of the graph has changed")
    assert change.recorded("full")["since_full"] == 0.0
    assert change.recorded("warm")["since_full"] == change.since_full
    assert decided(before, now, few, changes={"since_full": 0.2})[1].mode == "warm"
    assert decided(before, now, changes={"since_full": 0.9})[1].mode == "local"


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
    assert (decision.mode, decision.reason) == ("full", "run run 2 (warm) was rejected")
    assert decided(before, before, rejected=failed)[1].mode == "nothing"


def rejected_of(graph, **changed):
    """Return the record of a full run of a graph that the gate of `job()` rejected."""
    quality = {"gate": asdict(Gate())}
    known = {"settings": SETTINGS, "fingerprint": fingerprint(graph).to_dict(), "quality": quality}
    known = {**known, "parameters": {"random_state": None}, "error": "few stayed", **changed}
    return RunRecord("run 2", "heat", ("embedding",), "rejected", decision="full", **known)


def test_a_full_run_that_was_rejected_is_not_repeated_and_says_what_to_do():
    before = some_graph()
    now = part_of(before, np.arange(N), extra=[(0, 20)])
    with pytest.raises(QualityRejected, match=r"few stayed.*under \[refresh\] in heat\.toml, .*`heat embed`"):
        decided(before, now, rejected=rejected_of(now))


@pytest.mark.parametrize(
    "asked",
    [job(alpha=0.5), job(random_state=7), replace(job(), gate=Gate(min_overlap=0.01))],
    ids=["settings", "seed", "limits"],
)
def test_a_rejection_does_not_block_a_refresh_that_is_another(asked):
    before = some_graph()
    now = part_of(before, np.arange(N), extra=[(0, 20)])
    assert decided(before, now, rejected=rejected_of(now), asked=asked)[1].mode == "full"


@pytest.mark.parametrize(
    ("parameters", "training", "is_same"),
    [
        ({}, {}, True),
        ({}, {"trained_share": 1.0}, True),
        ({}, {"trained_share": 0.02}, False),
        ({"random_state": 1}, {}, False),
        ({"alpha": 0.3}, {}, False),
        ({"time_limit": 60.0, "n_threads": 7}, {}, True),
    ],
)
def test_drift_counts_only_between_versions_that_were_trained_alike(parameters, training, is_same):
    """A version cut short by a time limit is far from a whole one, and so is one of another seed."""
    model, graph = HEAT(), some_graph()
    model.training_ = {"trained_share": 1.0}
    run = record_of(graph, parameters={**model.get_params(), **parameters}, training=training)
    state = GraphState(graph, SETTINGS, 0.2, run, stored_for(graph, graph))
    assert state.same_training(model) is is_same
    model.training_ = {"trained_share": 0.5}
    assert not state.same_training(model)


def test_a_graph_of_which_no_node_is_known_is_a_full_run():
    now = some_graph()
    other = replace(now, node_ids=[f"4:y:{row}" for row in range(N)])
    assert decided(other, now)[1].reason == "no node of the graph has published coordinates"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (job(alpha=0.5), "alpha was auto and is 0.5"),
        (job(Projection(["Paper"], ["CITES"], weight="w")), "weight was off and is w"),
        (job(Projection(["Paper", "Book"], ["CITES"])), "labels was ['Paper'] and is ['Paper', 'Book']"),
        (job(Projection(["Paper"], ["CITES"], key={"Paper": "id"})), "key was off and is {'Paper': 'id'}"),
        (job(coordinates="klein"), "coordinates was poincare and is klein"),
    ],
)
def test_other_settings_are_a_full_run_that_says_which(asked, reason):
    decision = decided(some_graph(), some_graph(), asked=asked)[1]
    assert (decision.mode, decision.reason) == ("full", reason)


def test_other_links_of_the_same_graph_need_no_training():
    decision = decided(some_graph(), some_graph(), asked=job(links=LinkOptions(k=3)))[1]
    assert (decision.mode, decision.reason) == ("links", "no links are published")
    assert list(decision.stages) == ["read", "compare", "coordinates", "calibrate", "links", "publish"]


def test_threads_seed_and_time_are_no_settings():
    assert difference(SETTINGS, settings(n_threads=3, random_state=7, time_limit=9.0)) is None


def test_links_are_compared_in_full_and_the_default_score_is_the_link_score():
    known, other = settings(links=LinkOptions(k=3)), settings(links=LinkOptions(k=4))
    assert difference(known, other) == "k was 3 and is 4"
    assert difference(known, settings(links=LinkOptions(k=3, score="link"))) is None
    assert difference(known, settings(links=LinkOptions(k=3, patterns=["A-R->B"]))) is not None
    assert difference(known, SETTINGS) == "links was on and is off"


def test_settings_are_as_they_are_read_back():
    told = settings(alpha=np.float64(0.25), walks_per_node=np.int64(7))
    assert json.loads(json.dumps(told)) == told
    assert difference(json.loads(json.dumps(told)), told) is None


@pytest.mark.parametrize("limits", [{"local": 0.0}, {"warm": -1.0}, {"local": float("nan")}])
def test_limits_are_above_zero(limits):
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        Limits(**limits)


# --- the stages ---------------------------------------------------------------------------------------------

READ = {"read": "40 nodes, 80 edges, 2 attribute columns"}
COMPARED = {**READ, "compare": "with the graph of run run 1"}
EDGES = "AUROC of edges held out against"
JUDGED = f"{EDGES} the last run's and that of degrees; how far nodes moved"
BY_SCORE = "by link score, of probability 0.05 or more"
TRAINED_AGAIN = "train again without a tenth of the edges, for the links'"
BY_ALL = {"link_score": {"features": ["distance", "chain", "direction"]}}
BOTH = {"publish": "coordinates and links of model 'heat'"}


def stages(mode, now, before=None, asked=None, **changed):
    asked = asked or job(links=LinkOptions())
    return make_plan(asked, mode, state_of(now, before, asked=asked.settings(), **changed)).stages


def test_an_embedding_reads_trains_calibrates_predicts_and_publishes():
    assert stages("embed", some_graph()) == {
        **READ,
        "train": "all nodes, from scratch: 10 walks per node",
        "calibrate": f"{TRAINED_AGAIN} score and probabilities",
        "links": f"predict 10 per node of each pattern of the graph, {BY_SCORE}",
        **BOTH,
    }
    plain = job(walks_per_node=1)
    assert stages("embed", some_graph(), asked=plain) == {
        **READ,
        "train": "all nodes, from scratch: 1 walk per node",
        "publish": "coordinates of model 'heat'",
    }


@pytest.mark.parametrize(
    ("links", "line"),
    [
        (
            LinkOptions(k=None, max_links=5000),
            f"predict at most 5,000 of each pattern of the graph, {BY_SCORE}",
        ),
        (
            LinkOptions(k=3, max_links=20, score="distance", patterns=["A-R->B"]),
            "predict 3 per node and at most 20 of A-R->B, by distance",
        ),
        (
            LinkOptions(patterns=["A-R->B", ("B", "S", "*")], score="distance"),
            "predict 10 per node of A-R->B, B-S->*, by distance",
        ),
        (
            LinkOptions(min_probability=0.1, rules=False),
            "predict 10 per node of each pattern of the graph, by link score, of probability 0.1 or "
            "more, without schema rules",
        ),
    ],
)
def test_the_links_of_a_plan(links, line):
    assert stages("embed", some_graph(), asked=job(links=links))["links"] == line


@pytest.mark.parametrize(
    ("links", "parameters", "line"),
    [
        (LinkOptions(), {}, f"{TRAINED_AGAIN} score and probabilities"),
        (LinkOptions(), BY_ALL, "keep the published score and probabilities"),
        (LinkOptions(score="distance"), {}, "none: links get no probability"),
    ],
)
def test_links_from_published_coordinates_train_only_if_the_run_fitted_nothing(links, parameters, line):
    graph = some_graph()
    asked, ranked_by = (
        job(links=links),
        BY_SCORE if links.has_probability else "by distance",
    )
    plan = make_plan(asked, "links", state_of(graph, graph, parameters=parameters))
    assert (plan.mode, plan.reason) == ("links", "asked for")
    assert plan.stages == {
        **READ,
        "coordinates": "read back those of run run 1",
        "calibrate": line,
        "links": f"predict 10 per node of each pattern of the graph, {ranked_by}",
        "publish": "links of model 'heat'",
    }


def test_a_first_refresh_has_nothing_to_compare_or_to_align_with():
    assert stages("auto", some_graph()) == {
        **READ,
        "compare": "nothing to compare with",
        "train": "all nodes, from scratch: 10 walks per node",
        "calibrate": f"{TRAINED_AGAIN} score and probabilities",
        "judge": f"{EDGES} that of degrees",
        "links": f"predict 10 per node of each pattern of the graph, {BY_SCORE}",
        **BOTH,
    }


def test_each_mode_of_a_refresh_says_what_it_trains_and_judges():
    before = some_graph()
    now = part_of(before, np.arange(N), extra=[(0, 20)])
    known = {"parameters": BY_ALL, "settings": settings(links=LinkOptions())}
    after = {
        "links": f"predict 10 per node of each pattern of the graph, {BY_SCORE}",
        **BOTH,
    }
    read = {"read": "40 nodes, 81 edges, 2 attribute columns", "compare": COMPARED["compare"]}
    assert stages("auto", now, before, **known) == {
        **read,
        "train": "2 new or changed nodes; all others stay as they are",
        "calibrate": "keep the published score and probabilities",
        "judge": JUDGED.replace("held out", "of new nodes"),
        **after,
    }
    assert stages("warm", now, before, **known) == {
        **read,
        "train": "all nodes, from the published coordinates: 4 walks per node",
        "calibrate": "keep the published score and probabilities",
        "judge": JUDGED,
        **after,
    }
    in_full = {
        **read,
        "train": "all nodes, from scratch: 10 walks per node",
        "calibrate": f"{TRAINED_AGAIN} score and probabilities",
        "align": "move all nodes by the isometry that best aligns them with the published points",
        "judge": JUDGED,
        **after,
    }
    assert stages("full", now, before, **known) == in_full
    asked, state = job(links=LinkOptions()), state_of(now, before, asked=known["settings"], **known)
    plan = plan_in_full(asked, make_plan(asked, "warm", state), state, "no point")
    reason = "the published points cannot start a warm refresh: no point"
    assert (plan.mode, plan.reason, plan.stages) == ("full", reason, in_full)


@pytest.mark.parametrize("mode", ["local", "warm"])
def test_only_unusable_points_lead_to_a_full_training(monkeypatch, mode):
    def fail(work):
        if work.plan.mode == "full":
            return work
        raise error

    now = some_graph()
    asked, state = job(), state_of(now, now)
    session = SimpleNamespace(log=lambda line: None)
    work = driver.Work(session, asked, state, Plan(mode, "asked for", {"train": ""}), None, asked.model, ())
    monkeypatch.setitem(driver._STAGES, "train", fail)
    for name in set(driver._STAGES) - {"train"}:
        monkeypatch.setitem(driver._STAGES, name, lambda work: work)
    error = NotHyperbolicError("row 3 is not on the hyperboloid")
    done = driver._carry_out(work)
    assert done.plan.mode == "full"
    assert done.plan.reason.endswith("row 3 is not on the hyperboloid")
    error = ValueError("points, new and changed must have 40 rows")
    with pytest.raises(ValueError, match="must have 40 rows"):
        driver._carry_out(work)


def test_a_graph_as_it_was_is_read_and_compared_only():
    graph = some_graph()
    plan = make_plan(job(), "auto", state_of(graph, graph))
    assert plan.stages == COMPARED
    assert json.loads(json.dumps(plan.to_dict())) == {
        "mode": "nothing",
        "reason": "the graph is unchanged",
        "stages": [{"stage": stage, "does": line} for stage, line in COMPARED.items()],
    }
