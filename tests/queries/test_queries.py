"""Every query of cypher/query runs as it is; those of nodes and runs give what slow Python computes."""

import logging
import re

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import load_query
from heat_neo4j.errors import ProjectionError
from tests.support.live_graph import open_cypher
from tests.support.query_toy import (
    FOLDER,
    NEW,
    QUERIES,
    SEARCHES,
    N,
    ask,
    chosen,
    declared,
    named,
    same,
    toys_on,
)
from tests.support.slow import slow

pytestmark = pytest.mark.live

FAR = 6  # nodes of the toy whose nodes lie far out
# Queries that say something of one embedded node without a relationship.
OF_ONE = (
    "cluster_members", "clusters", "compare_runs", "coverage", "groups", "history", "most_specific",
    "predicted_values", "published",
)  # fmt: skip
QUICK = ("ancestors", "explain_link", "groups", "links_of", "nearest", "recommend", "shortest_path")
OF_DELETED = ("compare_runs", "groups", "history", "nearest", "recommend")  # one of each kind
LANGUAGES = {"5.26": ("",), "2026": ("", "CYPHER 5 "), "outside": ("",)}  # 25 is the test server's default


@pytest.fixture(scope="module")
def emptied(server):
    """A model that is published, and of whose nodes none is left."""
    with toys_on(server, (2,)) as made, open_cypher(server) as cypher:
        cypher(f"MATCH (n:{made[2].label}) DETACH DELETE n")
        yield made[2]


@pytest.mark.parametrize("name", QUERIES + SEARCHES)
def test_parameters_stand_at_the_top_with_defaults(name):
    text = (FOLDER / f"{name}.cypher").read_text()
    comments = text[: re.search("^(CYPHER|MATCH|WITH)", text, re.MULTILINE).start()].splitlines()
    assert comments[0].startswith("// ")
    assert comments[0].rstrip(".:") != comments[0]
    assert all(line.startswith("//") for line in comments)
    used = set(re.findall(r"\$(\w+)", "\n".join(line for line in text.splitlines() if line[:2] != "//")))
    assert {parameter for parameter, _ in declared(name)} == used
    assert len(declared(name)) == text.count(":param")


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("n", [N, 1, 0])
def test_each_query_runs_without_a_notification_on_many_one_and_no_nodes(store, toys, caplog, name, n):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    try:
        rows = ask(store, name, values_for(name, toys[n], value="n00"))
    except ProjectionError:  # nothing is published there, and an unknown model is no empty answer
        if n:
            raise
        rows = []
    assert caplog.records == []
    ours = [row for row in rows if row.get("model", toys[n].model) == toys[n].model]
    if n == 0 or (n == 1 and name not in OF_ONE):
        assert ours == []
    else:
        assert ours


@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in QUERIES])
def test_each_file_is_the_same_query_in_every_version_of_cypher(server, store, toy, caplog, name):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    query = load_query(name)
    known = named(name, toy.values()) | toy.own_names
    text = query.copy({each: known[each] for each in query.names})
    values = chosen(name, values_for(name, toy))
    languages = ("",) if "\nCYPHER 5\n" in text else LANGUAGES[server.series]  # it says its own
    answers = [store.read(language + text, values, doing="querying") for language in languages]
    assert caplog.records == []
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(
    "name", [name if name in OF_DELETED else slow(name) for name in QUERIES if declared(name)]
)
def test_a_model_whose_nodes_were_deleted_gives_no_rows_or_names_the_node(store, emptied, name):
    given, query = values_for(name, emptied, value="n00"), load_query(name)
    if "label" in query.names and "value" in {each.name for each in query.parameters}:
        with pytest.raises(ProjectionError, match=f"there is no {emptied.label} with name 'n00' in database"):
            ask(store, name, given)
        return
    rows = ask(store, name, given)
    assert bool(rows) == (name in {"compare_runs", "history"})  # of runs, not of nodes


def test_distance(store, toy):
    same(
        ask(store, "distance", toy.values()),
        [("n03", "n05", toy.distance(3, 5), toy.radius(3), toy.radius(5))],
    )
    (row,) = ask(store, "distance", toy.values(other="n03"))
    assert row["distance"] == 0.0


@pytest.mark.slow
def test_distances_keep_their_digits_far_out(server, store):
    with toys_on(server, (FAR,), furthest=34.0) as made:
        toy = made[FAR]
        assert max(toy.radii) > 25  # 1 - |u|^2 would be good for 5 digits
        for i in range(FAR):
            others = [(toy.distance(i, j), j) for j in range(FAR) if toy.distance(i, j) > 1]
            for d, j in others:
                (row,) = ask(store, "distance", toy.values(value=toy.names[i], other=toy.names[j]))
                assert row["distance"] == pytest.approx(d, rel=1e-9)
            elsewhere = ask(store, "nearest_elsewhere", toy.values(value=toy.names[i], k=FAR))
            found = {row["node"]: row["distance"] for row in elsewhere}
            apart = {toy.names[j]: d for d, j in others if toy.names[j] in found}
            assert {name: found[name] for name in apart} == pytest.approx(apart, rel=1e-9)


def test_most_general_leaves_out_nodes_with_few_relationships(store, toy):
    found = sorted((toy.radius(i), name, toy.degree(name)) for i, name in enumerate(toy.names))
    expected = [(name, radius, degree) for radius, name, degree in found if degree >= 5]
    assert 0 < len(expected) < N  # predicted links do not count as relationships
    same(ask(store, "most_general", toy.values(minDegree=5, k=N)), expected)


def test_most_specific(store, toy):
    found = sorted((-toy.radius(i), name) for i, name in enumerate(toy.names))
    same(ask(store, "most_specific", toy.values()), [(name, -radius) for radius, name in found[:5]])


def test_published(store, toy):
    (row,) = (row for row in ask(store, "published", {}) if row["model"] == toy.model)
    (written,) = (run.run_id for run in store.runs(toy.model) if "embedding" in run.parts)
    assert (row["run"], row["dimension"], row["coordinates"]) == (written, 4, "poincare")
    assert row["linkType"] == WriteNames(model=toy.model).link_type


def test_predicted_classes_are_those_of_nodes_that_lack_the_property(server, store, toy):
    found = sorted((-toy.topic(row)[1], name, toy.topic(row)[0]) for row, name in enumerate(toy.names))
    expected = [(name, topic, -chance, None, None) for chance, name, topic in found if -chance >= 0.5]
    assert 5 < len(expected) < N
    same(ask(store, "predicted_values", toy.values(k=N)), expected)
    same(ask(store, "predicted_values", toy.values()), expected[:5])
    with open_cypher(server) as cypher:
        cypher(f"MATCH (n:{toy.label} {{name: $name}}) SET n.topic = 'known'", name=expected[0][0])
        try:
            same(ask(store, "predicted_values", toy.values(k=N)), expected[1:])
        finally:
            cypher(f"MATCH (n:{toy.label}) REMOVE n.topic")
    assert ask(store, "predicted_values", toy.values(missing="another")) == []


def test_predicted_numbers_are_those_with_the_narrowest_intervals(store, toy):
    rows = [(name, *toy.price(row)) for row, name in enumerate(toy.names)]
    rows = sorted(rows, key=lambda row: (row[3] - row[2], row[0]))
    expected = [(name, price, None, low, high) for name, price, low, high in rows]
    same(ask(store, "predicted_values", toy.values(missing="price", k=N)), expected)
    same(ask(store, "predicted_values", toy.values(missing="price")), expected[:5])


def test_clusters_and_their_members_by_level(store, toy):
    for level in (1, 2):
        members = {}
        for row, name in enumerate(toy.names):
            members.setdefault(toy.cluster(row, level), []).append(name)
        largest = sorted(members.items(), key=lambda each: (-len(each[1]), each[0]))
        same(
            ask(store, "clusters", toy.values(level=level)),
            [(*cluster, len(names), names[:5]) for cluster, names in largest],
        )
        for cluster, names in members.items():
            rows = ask(store, "cluster_members", toy.values(level=level, cluster=cluster[0], k=N))
            same(rows, [(name, *cluster) for name in names])
    assert ask(store, "clusters", toy.values(level=3)) == []


def test_coverage_counts_nodes_that_are_newer_than_the_run(store, toy):
    same(ask(store, "coverage", toy.values()), [(toy.label, N + 1, N, 1, [NEW])])
    same(ask(store, "coverage", toy.values(k=0)), [(toy.label, N + 1, N, 1, [])])


def test_coverage_of_a_run_that_took_any_label(server, store):
    with toys_on(server, (3,), index=False) as made, open_cypher(server) as cypher:
        toy = made[3]
        extra = f"Extra{toy.label}"
        cypher("MATCH (h:HeatRun {model: $model}) SET h.labels = []", model=toy.model)
        cypher(f"MATCH (n:{toy.label}) WHERE n.name IN ['n01', $new] SET n:{extra}", new=NEW)
        everywhere = {tuple(row.values())[:1]: row for row in ask(store, "coverage", toy.values())}
        assert tuple(everywhere[toy.label,].values()) == (toy.label, 4, 3, 1, [NEW])
        assert tuple(everywhere[extra,].values()) == (extra, 2, 1, 1, [NEW])
        assert not {("HeatModel",), ("HeatVersion",), ("HeatRun",)} & set(everywhere)
        cypher(f"MATCH (n:{toy.label} {{name: $new}}) REMOVE n:{extra}:{toy.label}", new=NEW)
        (bare,) = (row for row in ask(store, "coverage", toy.values()) if row["label"] == "")
        assert (bare["embedded"], bare["without"]) == (0, bare["nodes"])
        assert NEW in bare["sample"]
        cypher("MATCH (n {name: $new}) WHERE size(labels(n)) = 0 DETACH DELETE n", new=NEW)


def test_two_runs_are_compared_fact_by_fact(server, store):
    with toys_on(server, (3,), index=False) as made, open_cypher(server) as cypher:
        toy = made[3]
        first = one_run(store, toy.model, "complete")
        facts = {
            row["fact"]: (row["run"], row["other"])
            for row in ask(store, "compare_runs", values_for("compare_runs", toy))
        }
        assert facts["run"] == (first.run_id, None)
        points = toy.points[:, 1:] * 0 + unit(3)
        names = WriteNames(model=toy.model)
        second = store.write_embedding(toy.graph(cypher), points, names=names, index=False)
        cypher(
            "MATCH (h:HeatRun {runId: $run}) SET h.stageSeconds = $seconds, h.finalLoss = 0.25, h.seed = 7",
            run=second.run_id,
            seconds='{"reading": 1.5, "train": 2e-1}',
        )
        first = one_run(store, toy.model, "superseded")
        rows = ask(store, "compare_runs", values_for("compare_runs", toy))
        facts = {row["fact"]: (row["run"], row["other"]) for row in rows}
        assert all(isinstance(value, str) for row in rows for value in row.values() if value is not None)
        assert facts["run"] == (second.run_id, first.run_id)
        assert facts["status"] == ("complete", "superseded")
        assert facts["nodes"] == ("3", "3")
        assert facts["edges"] == facts["attributes"] == ("0", "0")
        assert facts["dimension"] == ("3", "4")
        assert facts["final loss"] == ("0.25", None)
        assert facts["seed"] == ("7", None)
        assert [float(seconds) for seconds in facts["seconds"]] == pytest.approx(
            [1.7, sum(first.stage_seconds.values())]
        )
        assert facts["started"][0] > facts["started"][1] > "2"
        swapped = ask(
            store, "compare_runs", values_for("compare_runs", toy, run=first.run_id, other=second.run_id)
        )
        assert [tuple(row.values()) for row in swapped] == [(fact, *facts[fact][::-1]) for fact in facts]
        assert ask(store, "compare_runs", values_for("compare_runs", toy, run="no such run")) == []


def values_for(query, toy, **changes):
    """Return the toy's usual values; `compare_runs` means a run where others mean a node."""
    usual = {"run": None, "other": None} if query == "compare_runs" else {}
    return toy.values(**(usual | changes))


def unit(n):
    """Return points of the hyperboloid, three coordinates in space, all in the centre."""
    return np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))


def one_run(store, model, status):
    (run,) = (run for run in store.runs(model) if run.status == status and "embedding" in run.parts)
    return run
