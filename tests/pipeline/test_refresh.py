"""`heat refresh` on a live server: what it decides, computes, publishes, rejects and records."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from heat_neo4j import HEAT
from heat_neo4j.cli.settings import settings_of
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import LeaseHeld, ProjectionError, QualityRejected
from heat_neo4j.geometry.drift import measure_drift
from heat_neo4j.geometry.hyperboloid import from_poincare
from heat_neo4j.pipeline.embed import embed, predict, refresh
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.pipeline.job import Job, Limits, LinkOptions
from heat_neo4j.pipeline.published_model import read_published
from tests.support.commands import invoker
from tests.support.live_graph import before_first, runs_in_graph, snapshot
from tests.support.query_toy import ask
from tests.support.refresh_toy import (
    CONFIG,
    LABEL,
    MODEL,
    OPTIONS,
    TYPE,
    N,
    Papers,
    first_version,
    make_job,
    small_model,
)
from tests.support.slow import slow

pytestmark = pytest.mark.live

EASY = Gate(max_auroc_drop=1.0, max_below_degree=1.0, min_overlap=0.0)
"""Lets everything pass: on so small a graph chance decides much."""
ALL = frozenset(setting.key for setting in settings_of("projection", "heat", "links", "write"))
"""All settings, as of a refresh to which none is given."""


def easy(**changed):
    return make_job(gate=EASY, **changed)


@pytest.mark.parametrize(
    ("mode", "dry_run"),
    [
        ("auto", False),
        ("local", True),
        *(slow(mode, True) for mode in ("auto", "warm", "full")),
        *(slow(mode, False) for mode in ("local", "warm", "full")),
    ],
)
def test_a_model_that_was_never_embedded_is_not_refreshed(store, cypher, papers, mode, dry_run):
    before, sent = snapshot(cypher), []
    store.tracer = lambda statement, _: sent.append(statement)
    with pytest.raises(ProjectionError, match=r"'fresh' has no published coordinates .*: run `heat embed`"):
        refresh(store, easy(), mode=mode, dry_run=dry_run)
    store.tracer = None
    assert not any(word in statement for statement in sent for word in ("SET ", "CREATE ", "MERGE "))
    assert snapshot(cypher) == before


def test_an_unchanged_graph_is_not_trained_again(store, cypher, papers):
    first_version(store, easy())
    full = refresh(store, easy(), mode="full")
    assert (full.outcome, full.decision, full.reason) == ("published", "full", "asked for")
    assert full.report.run.nodes_written == N
    assert full.quality.held_out_edges > 10
    assert full.report.run.plan == store.runs(MODEL)[0].plan == full.plan.to_dict()
    before = snapshot(cypher)
    told, sent = [], []
    store.tracer = lambda statement, _: sent.append(statement)
    second = refresh(store, easy(), log=told.append)
    store.tracer = None
    assert (second.outcome, second.report, second.reason) == ("nothing", None, "the graph is unchanged")
    assert told == ["nothing: the graph is unchanged"]
    assert snapshot(cypher) == before  # no lease is left either
    assert not any("AS coordinates" in statement for statement in sent)  # counted, not read


@pytest.mark.parametrize("lost", ["freshEmbedding", slow("freshRadius")])
def test_a_node_that_lost_its_coordinates_gets_new_ones(store, cypher, papers, lost):
    first_version(store, easy())
    (row,) = cypher(f"MATCH (n:{LABEL}) WITH n LIMIT 1 REMOVE n.{lost} RETURN elementId(n) AS id")
    assert refresh(store, easy()).decision == "local"
    (row,) = cypher(f"MATCH (n:{LABEL}) WHERE elementId(n) = $id RETURN n.{lost} AS value", id=row["id"])
    assert row["value"] is not None


def test_an_embedding_of_the_same_settings_is_fresh(store, papers):
    job = easy()
    embed(store, job.projection, small_model(), model=job.names.model, links=job.links)
    assert refresh(store, job).outcome == "nothing"
    other = refresh(store, replace(job, model=small_model(walk_length=10)))
    assert (other.decision, other.reason) == ("full", "walk_length was 20 and is 10")
    assert (
        refresh(store, replace(job, model=small_model(walk_length=10, random_state=9))).outcome == "nothing"
    )


def test_new_nodes_are_trained_alone_and_all_others_keep_their_bits(store, papers):
    first_version(store, easy())
    before = papers.published()
    old = {name: papers.lists(before[f"{name}Property"]) for name in ("embedding", "radius", "vector")}
    keys = [papers.add(group=1), papers.add(group=2)]
    report = refresh(store, easy())
    assert (report.outcome, report.decision) == ("published", "local")
    assert report.changed.nodes_new == 2
    assert not report.changed.old_changed
    assert (report.drift.moved, report.drift.mean, report.drift.overlap) == (0, 0.0, 1.0)
    node = papers.published()
    assert node["run"] != before["run"]
    for name, values in old.items():
        now = papers.lists(node[f"{name}Property"])
        assert {key: now[key] for key in values} == values  # to the bit
        assert all(now[key] is not None for key in keys)
    # A new paper of a group lies nearer to its group than to the others.
    now = papers.lists(node["embeddingProperty"])
    for key, group in zip(keys, (1, 2), strict=True):
        near = store.neighbours(str(key), key="key", model=MODEL, k=4).nodes
        assert sum(each.properties["key"] % 4 == group for each in near) >= 3
    # Links by the law of the first run, and of the new nodes too.
    # Only the new ones were written, and of the others nothing is kept twice.
    record = report.report.run
    previous = papers.lists("freshRunPrevious")
    assert {key for key, run in previous.items() if run is not None} == set(keys)
    assert (node["run"], node["space"]) == (record.run_id, before["run"])
    first = store.runs(MODEL)[1]
    assert record.parameters["link_score"] == first.parameters["link_score"]
    _, _, links = papers.seen()
    assert any(set(link[:2]) & set(keys) for link in links)
    assert record.previous_run == first.run_id


def test_a_refresh_does_what_questions_about_a_changed_graph_advise(store, cypher, papers):
    first_version(store, easy())
    papers.delete(3)
    predict(store, MODEL)
    papers.add()
    with pytest.raises(ProjectionError, match=r"^1 of 80 nodes have no .*; `heat refresh` places new nodes$"):
        predict(store, MODEL)
    assert refresh(store, easy()).decision == "local"
    predict(store, MODEL)

    cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")
    Papers(cypher)
    with pytest.raises(
        ProjectionError, match=r"no node of run .* is left .*: `heat refresh` trains the new one$"
    ):
        read_published(store, MODEL)
    assert refresh(store, easy()).outcome == "published"
    assert read_published(store, MODEL).graph.n_nodes == N


def test_nodes_that_are_trained_alone_add_up_until_a_training_of_all(store, papers):
    job = easy(limits=Limits(local=0.03, warm=0.5))
    first_version(store, job)
    decisions = []
    for _ in range(3):
        papers.add()
        report = refresh(store, job)
        decisions.append((report.decision, report.changed.local))
    assert decisions == [("local", 1), ("local", 2), ("warm", 3)]
    papers.add()
    assert refresh(store, job).changed.local == 1  # counted anew since the training


def test_a_changed_graph_is_trained_on_from_the_published_points(store, papers):
    first_version(store, easy())
    points = papers.lists(papers.published()["embeddingProperty"])
    papers.rewire()
    papers.delete(7)
    key = papers.add()
    report = refresh(store, easy())
    assert (report.decision, report.changed.nodes_new, report.changed.nodes_gone) == ("warm", 1, 1)
    run, now, _ = papers.seen()
    assert set(now) == set(points) - {7} | {key}
    record = store.runs(MODEL)[0]
    assert record.run_id == run
    assert record.training["warm_start"]["walks_per_node"] == 2
    assert record.parameters["walks_per_node"] == 4  # what was asked for
    both = sorted(set(now) & set(points))
    old, new = (from_poincare(np.array([each[k] for k in both])) for each in (points, now))
    ids = papers.cypher(f"MATCH (n:{LABEL}) RETURN n.key AS key, elementId(n) AS id")
    names = {row["key"]: row["id"] for row in ids}
    expected = measure_drift(old, new, [names[k] for k in both])
    assert report.drift.mean == pytest.approx(expected.mean, rel=1e-9)
    assert record.drift["overlap"] == pytest.approx(expected.overlap, abs=0.02)


def test_a_warm_version_of_the_same_graph_is_judged_as_the_last(store, papers):
    job = easy(model=small_model(walks_per_node=10))
    first_version(store, job)
    last = refresh(store, job, mode="full").quality
    assert refresh(store, job, mode="warm").quality.auroc == last.auroc


def test_changes_add_up_until_a_full_run(store, papers):
    job = easy(limits=Limits(local=0.1, warm=0.2))
    first_version(store, job)
    decisions = []
    for _ in range(4):
        papers.rewire(10)
        decisions.append(refresh(store, job).decision)
    assert "full" in decisions[1:]
    assert decisions[0] == "warm"
    record = next(run for run in store.runs(MODEL) if run.decision == "full")
    assert record.changes["since_full"] == 0.0
    assert "since the last full run" in record.reason


def test_a_full_run_is_turned_to_where_the_last_one_lay(store, papers):
    first_version(store, easy())
    report = refresh(store, easy(model=small_model(random_state=11)), mode="full")
    assert report.reason == "asked for"
    record = report.report.run
    assert record.training["aligned_to"] == record.previous_run
    assert 0.0 < report.drift.mean < 2.0
    assert record.drift["most_moved"][0][1] == report.drift.quantiles["1.0"]


def test_another_dimension_cannot_be_compared(store, papers):
    first_version(store, easy())
    report = refresh(store, easy(model=small_model(n_components=2)))
    assert (report.reason, report.drift) == ("n_components was 3 and is 2", None)
    assert report.report.run.dimension == 2


@pytest.mark.parametrize("mode", ["local", slow("warm")])
def test_what_needs_a_version_of_the_same_settings_is_refused_without_one(store, cypher, papers, mode):
    first_version(store, easy())
    before = snapshot(cypher)
    with pytest.raises(
        ProjectionError, match=f"--mode {mode} needs a published version of the same settings"
    ):
        refresh(store, easy(model=small_model(walk_length=10)), mode=mode)
    assert snapshot(cypher) == before


def test_an_unknown_mode_is_refused_before_reading():
    with pytest.raises(ValueError, match="mode must be one of auto, local, warm, full, got 'embed'"):
        refresh(None, easy(), mode="embed")


def test_training_alone_where_nothing_changed_is_nothing(store, papers):
    first_version(store, easy())
    assert refresh(store, easy(), mode="local").outcome == "nothing"
    papers.rewire()
    assert refresh(store, easy(), mode="local").decision == "local"
    assert refresh(store, easy(), mode="warm").outcome == "published"


def test_a_small_change_moves_what_it_is_at_and_nothing_else(store, cypher, papers):
    first_version(store, easy())
    before = papers.published()
    old = {name: papers.lists(before[f"{name}Property"]) for name in ("embedding", "radius", "vector")}
    cypher(
        f"MATCH (a:{LABEL} {{key: 3}}) MATCH (b:{LABEL} {{key: 40}}) "
        f"CREATE (a)-[:{TYPE} {{weight: 1.0}}]->(b)"
    )
    papers.delete(50)
    around = {46, 42, 30, 54, 58, 70} | {3, 40}
    told = []
    report = refresh(store, easy(), log=told.append)
    assert (report.outcome, report.decision) == ("published", "local")
    assert (report.changed.nodes_gone, report.changed.local, report.drift.moved) == (1, 8, 8)
    assert any(line.startswith("drift: 8 of 79 nodes moved, all by 0.") for line in told)
    node = papers.published()
    for name, values in old.items():
        now = papers.lists(node[f"{name}Property"])
        assert {key for key in now if now[key] != values[key]} == around
    previous = papers.lists("freshRunPrevious")
    assert {key for key, run in previous.items() if run is not None} == around
    record = store.runs(MODEL)[0]
    assert (record.drift["moved"], record.training["changed_nodes"]) == (8, 8)


def test_points_that_nothing_can_go_on_from_are_computed_anew_in_full(store, cypher, papers):
    first_version(store, easy())
    name = papers.published()["embeddingProperty"]
    cypher(f"MATCH (n:{LABEL} {{key: 9}}) SET n[$name] = [1.0, 0.0, 0.0]", name=name)
    papers.add()
    told = []
    report = refresh(store, easy(), log=told.append)
    assert (report.outcome, report.decision) == ("published", "full")
    line = "full: the published points cannot start a local refresh: "
    assert told[1] == f"{line}Poincare coordinates must have norm below 1"
    assert store.runs(MODEL)[0].reason == told[1].removeprefix("full: ")
    assert refresh(store, easy()).outcome == "nothing"


# --- the gate ----------------------------------------------------------------------------------------------


def test_a_version_that_does_not_pass_is_recorded_and_the_old_one_stays(store, cypher, papers):
    first_version(store, easy())
    before = papers.seen()
    papers.rewire()
    strict = make_job(gate=Gate(max_auroc_drop=1.0, max_below_degree=1.0, min_overlap=0.0, max_move=1e-9))
    told = []
    report = refresh(store, strict, log=told.append)
    assert (report.outcome, report.decision) == ("rejected", "warm")
    assert told[-1].startswith("rejected: nodes moved by")
    assert papers.seen() == before
    record = store.runs(MODEL)[0]
    assert (record.status, record.stored, record.error) == (
        "rejected",
        (),
        told[-1].removeprefix("rejected: "),
    )
    assert record.previous_run == before[0]
    in_graph = runs_in_graph(cypher, LABEL, WriteNames(MODEL))
    assert in_graph == {"plain": {before[0]: N}, "plain links": {before[0]: len(before[2])}}
    # The next one is a full run, and of a full run that was rejected nothing is computed again.
    again = refresh(store, strict)
    assert (again.outcome, again.decision) == ("rejected", "full")
    assert again.reason == f"run {record.run_id} (warm) was rejected"
    runs = len(store.runs(MODEL))
    with pytest.raises(QualityRejected, match="the graph has not changed since: nothing was computed"):
        refresh(store, strict)
    assert len(store.runs(MODEL)) == runs
    assert papers.seen() == before
    papers.rewire()
    assert refresh(store, easy()).outcome == "published"


def test_a_fall_of_the_held_out_auroc_is_rejected(store, cypher, papers):
    first_version(store, easy())
    # As if the run before had been far better than can be.
    cypher(
        "MATCH (r:HeatRun {model: $model}) SET r.quality = $quality",
        model=MODEL,
        quality=json.dumps({"auroc": 1.9, "last_auroc": None}),
    )
    papers.rewire()
    report = refresh(store, make_job())
    assert report.outcome == "rejected"
    assert "below the last published run's, 1.900" in report.report.run.error


def test_the_history_in_cypher_is_that_of_the_records(store, papers):
    first_version(store, easy())
    refresh(store, easy(), mode="full")
    papers.rewire()
    refresh(store, easy())
    papers.rewire()
    refresh(store, make_job(gate=Gate(1.0, 1.0, 0.0, max_move=1e-9)))
    third, second, first, _ = store.runs(MODEL)
    rows = ask(store, "history", {"model": MODEL, "k": 3})
    assert [row["run"] for row in rows] == [third.run_id, second.run_id, first.run_id]
    assert [row["status"] for row in rows] == ["rejected", "complete", "superseded"]
    assert [row["published"] for row in rows] == [False, True, False]
    assert [row["decision"] for row in rows] == ["warm", "warm", "full"]
    assert [row["auroc"] for row in rows] == [run.quality["auroc"] for run in (third, second, first)]
    assert rows[0]["gained"] == pytest.approx(third.auroc - second.auroc)
    assert rows[1]["gained"] == pytest.approx(second.auroc - first.auroc)
    assert rows[2]["gained"] is None
    assert (rows[0]["error"], rows[1]["moved"]) == (third.error, second.drift["mean"])
    assert rows[1]["overlap"] == second.drift["overlap"]
    assert len(ask(store, "history", {"model": MODEL, "k": 1})) == 1


# --- one at a time -----------------------------------------------------------------------------------------


def test_two_refreshes_of_a_model_do_not_run_at_once(store, papers):
    first_version(store, easy())
    papers.rewire()
    seconds = []

    def second():
        try:
            refresh(store, easy())
        except LeaseHeld as error:
            seconds.append(str(error))

    with before_first(store, "AS weights", second) as acted:
        report = refresh(store, easy())
    assert acted or seconds == []
    if acted:
        assert "is being written by" in seconds[0]
    assert report.outcome == "published"
    assert "leaseHolder" not in papers.published()


def test_a_lease_that_was_lost_publishes_nothing(store, cypher, papers):
    first_version(store, easy())
    before = papers.seen()
    papers.rewire()

    def steal(line):
        if line.startswith("held-out"):
            cypher(
                "MATCH (m:HeatModel {name: $m}) "
                "SET m.leaseHolder = 'thief', m.leaseUntil = datetime() + duration('PT1M')",
                m=MODEL,
            )

    with pytest.raises(LeaseHeld, match="was taken over"):
        refresh(store, easy(), log=steal)
    assert papers.seen() == before
    assert papers.published()["leaseHolder"] == "thief"
    cypher("MATCH (m:HeatModel {name: $m}) SET m.leaseHolder = null, m.leaseUntil = null", m=MODEL)


# --- the command -------------------------------------------------------------------------------------------


def test_the_command_reports_in_json_and_by_its_exit_code(server, cypher, papers, tmp_path):
    strict = tmp_path / "strict.toml"
    strict.write_text(CONFIG.read_text().replace("[refresh]", "[refresh]\nmax_move = 1e-9"))
    run = invoker(server)
    assert "no published coordinates" in run("refresh", *OPTIONS, code=4).stderr
    run("embed", *OPTIONS)
    papers.rewire(N)
    before = snapshot(cypher)
    plan = json.loads(run("refresh", *OPTIONS, "--dry-run", "--json").stdout)
    assert (plan["outcome"], plan["decision"], plan["run"]) == ("dry run", "full", None)
    assert plan["plan"]["mode"] == "full"
    stages = ["read", "compare", "train", "calibrate", "align", "judge", "links", "publish"]
    assert [stage["stage"] for stage in plan["plan"]["stages"]] == stages
    lines = run("refresh", *OPTIONS, "--dry-run").stdout.splitlines()
    assert lines[0] == f"Plan          full: {plan['plan']['reason']}"
    assert lines[1].split() == ["read:", "80", "nodes,", "240", "edges,", "11", "attribute", "columns"]
    assert [line.split(":")[0].strip() for line in lines[1:]] == stages
    assert snapshot(cypher) == before
    report = json.loads(run("refresh", *OPTIONS, "--json").stdout)
    assert (report["outcome"], report["run"]["status"]) == ("published", "complete")
    assert report["quality"]["held_out_edges"] > 10
    result = run("refresh", *OPTIONS)
    assert result.stdout == "Done          nothing: the graph is unchanged\n"
    assert "nothing: the graph is unchanged" in result.stderr
    papers.rewire()
    published = papers.seen()
    failed = run("refresh", *OPTIONS, "--config", str(strict), code=10)
    assert failed.stderr.splitlines()[-1].startswith("heat: run ")
    assert "was rejected; the published version stays: nodes moved by" in failed.stderr
    assert papers.seen() == published
    assert "warm" in run("refresh", *OPTIONS).stdout
    rolled = run("rollback", "--model", MODEL)
    assert rolled.stdout == f"model {MODEL!r}: run {published[0]} is published again\n"
    assert papers.seen() == published
    listed = run("runs", "--model", MODEL).stdout
    assert all(word in listed for word in ("DECISION", "rejected", "warm", "full", "AUROC"))
    shown = run("runs", "show", published[0]).stdout
    assert f"Decision      full: {plan['plan']['reason']}" in shown
    assert "Quality       AUROC" in shown
    assert run("prune", "--model", MODEL, "--records", "0").stdout.startswith(f"model {MODEL!r}: pruned; ")
    assert {each["status"] for each in json.loads(run("runs", "--model", MODEL, "--json").stdout)} == {
        "complete",
        "superseded",
    }


def lease_end(cypher):
    ((end,),) = cypher("MATCH (m:HeatModel {name: $m}) RETURN m.leaseUntil", m=MODEL)
    return end


def test_the_command_says_that_another_is_at_it(server, store, cypher, papers):
    run = invoker(server)
    first_version(store, easy())
    with store.lease(MODEL):
        result = run("refresh", *OPTIONS, code=9)
        assert "is being written by" in result.stderr
        result = run("prune", "--model", MODEL, code=9)
    run("rollback", "--model", MODEL, code=4)
    with store.lease(MODEL, seconds=9):  # a busy machine may renew it seconds late
        first = lease_end(cypher)
        while lease_end(cypher) == first:
            time.sleep(0.2)
        run("prune", "--model", MODEL, code=9)


@pytest.mark.parametrize("times", [2, slow(10)])
def test_what_is_predicted_stays_so_over_refreshes_and_a_rollback(store, cypher, papers, times):
    cypher(
        f"MATCH (n:{LABEL}) WHERE n.key < 40 "
        f"MERGE (a:{LABEL}:RefreshAuthor {{key: 1000 + n.key / 4}}) CREATE (a)-[:REFRESH_WROTE]->(n)"
    )
    wanted = replace(
        easy().projection, relationships=[TYPE, "REFRESH_WROTE"], weight=None, attributes=["words"]
    )
    links = LinkOptions(k=2, min_probability=0.0, patterns=[f"RefreshAuthor-REFRESH_WROTE->{LABEL}"])
    embed(store, wanted, small_model(), model=MODEL, links=links)
    nothing_given = Job(
        Projection(),
        HEAT(),
        names=WriteNames(MODEL),
        gate=EASY,
        limits=Limits(local=0.9, warm=0.95),
        follows=ALL,
    )

    def check():
        rows = cypher(
            "MATCH (a)-[p:FRESH_PREDICTED]->(b) RETURN DISTINCT p.type AS type, a:RefreshAuthor AS by_author"
        )
        assert [dict(row) for row in rows] == [{"type": "REFRESH_WROTE", "by_author": True}]

    check()
    for _ in range(times):
        papers.add()
        report = refresh(store, nothing_given)
        assert (report.outcome, report.decision) == ("published", "local")
        assert report.report.run.projection == wanted.to_dict()
        check()
    store.rollback(MODEL)
    check()
    assert refresh(store, nothing_given).report.run.projection == wanted.to_dict()
    check()
    other = refresh(store, replace(nothing_given, links=LinkOptions(k=1), follows=ALL - {"links.k"}))
    assert (other.decision, other.reason) == ("links", "k was 2 and is 1")
    check()
