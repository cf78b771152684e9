"""The evaluation of a hierarchy beside a plain twin."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j.embedding.hierarchy import hierarchy_of
from heat_neo4j.evaluation import EvaluationError, evaluate_hierarchy
from heat_neo4j.evaluation.hierarchy import measure_hierarchy
from heat_neo4j.graph import Graph, Relationships


def graph(n=120):
    rng = np.random.default_rng(0)
    child = np.concatenate([np.arange(1, n), rng.integers(1, n, size=20)])
    parent = np.array([int(rng.integers(0, max(each // 2, 1))) for each in child])
    relationships = Relationships.from_pairs({"UNDER": (child, parent)})
    ends = relationships.source, relationships.target
    return Graph(sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n)), relationships=relationships)


def twin(ancestors, special, away):
    """Return the metrics by plain loops, from the set of ancestors of each node."""
    n = len(special)
    nodes = range(n)
    descendants = {node: {each for each in nodes if node in ancestors[each]} for node in nodes}
    ranks, precisions, ups, downs = [], [], [], []
    for node in nodes:
        nearest = sorted(set(nodes) - {node}, key=lambda each, node=node: away[node, each])
        if ancestors[node]:
            hits = [each in ancestors[node] for each in nearest]
            places = np.flatnonzero(hits) + 1
            ranks += (places - np.arange(len(places))).tolist()
            precisions.append(np.mean(np.arange(1, len(places) + 1) / places))
            general = [each for each in nearest if special[each] < special[node]]
            wanted = min(5, len(ancestors[node]))
            ups.append(len(set(general[:wanted]) & ancestors[node]) / wanted)
        if descendants[node]:
            below = [each for each in nearest if special[each] > special[node]]
            wanted = min(5, len(descendants[node]))
            downs.append(len(set(below[:wanted]) & descendants[node]) / wanted)
    return {
        "mean_rank": np.mean(ranks),
        "mean_average_precision": np.mean(precisions),
        "precision_up": np.mean(ups),
        "precision_down": np.mean(downs),
    }


@pytest.mark.parametrize("seed", range(3))
def test_metrics_are_those_of_plain_loops(seed):
    found = hierarchy_of(graph(), "UNDER")
    rng = np.random.default_rng(seed)
    points, special = rng.random((120, 2)), rng.random(120)
    away = np.linalg.norm(points[:, None] - points, axis=2)
    ancestors = {node: set(found.ancestors[[node]].indices.tolist()) for node in range(120)}
    measured = measure_hierarchy(found, special, lambda rows: away[rows])
    edges = found.parents.tocoo()
    order = np.mean([special[b] < special[a] for a, b in zip(edges.row, edges.col, strict=True)])
    assert measured == pytest.approx({"order_accuracy": order, **twin(ancestors, special, away)})


def test_ties_count_against_the_method():
    found = hierarchy_of(graph(), "UNDER")
    measured = measure_hierarchy(found, np.zeros(120), lambda rows: np.zeros((len(rows), 120)))
    assert measured["order_accuracy"] == measured["precision_up"] == measured["precision_down"] == 0.0
    assert measured["mean_rank"] > 100


def test_table_has_all_methods_and_a_sample_is_noted():
    found = evaluate_hierarchy(graph(), HEAT(5, hierarchy="UNDER"), nodes=50)
    assert [row.method for row in found.rows] == [
        "HEAT", "degree", "directed PageRank", "Euclidean 50", "Euclidean 100",
    ]  # fmt: skip
    ours = found.row("HEAT").figures
    assert ours["order_accuracy"].mean == 1.0
    assert ours["mean_average_precision"].mean > 0.7
    assert set(found.row("degree").figures) == {"order_accuracy"}
    assert found.row("directed PageRank").figures["order_accuracy"].mean > 0.9
    assert found.notes[0].startswith("UNDER: the target is more general")
    assert found.notes[1] == "ranks and precision: 50 nodes sampled from 119"
    assert found.settings["sampled_nodes"] == 50
    assert list(found.to_frame("pandas")["method"]) == [row.method for row in found.rows]
    again = evaluate_hierarchy(graph(), HEAT(5, hierarchy="UNDER"), nodes=50, baselines=False)
    assert again.row("HEAT").figures == ours


def test_errors_name_what_is_wrong():
    with pytest.raises(EvaluationError, match="no hierarchy is named"):
        evaluate_hierarchy(graph(), HEAT())
    with pytest.raises(EvaluationError, match="no relationships of type OVER"):
        evaluate_hierarchy(graph(), HEAT(hierarchy="OVER"))
