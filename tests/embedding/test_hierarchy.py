"""A hierarchy from one type of relationship: its closure, its start, its training and its radii."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j._kernels.hierarchy import MOST_ANCESTORS, draw_relatives
from heat_neo4j.embedding.hierarchical_types import inspect_hierarchy
from heat_neo4j.embedding.hierarchy import hierarchy_of, inside_descendants, start_by_caps
from heat_neo4j.embedding.hierarchy_training import _closure
from heat_neo4j.embedding.warm_start import fit_local, fit_warm
from heat_neo4j.geometry.hyperboloid import distance, lift, radius
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.splits import split_edges
from tests.support.link_auroc import link_auroc


def graph_of(n, **pairs):
    """Return a graph of n nodes with relationships of each type."""
    ends = {name: np.array(list(each)).reshape(-1, 2).T for name, each in pairs.items()}
    relationships = Relationships.from_pairs({name: (each[0], each[1]) for name, each in ends.items()})
    rows = relationships.source, relationships.target
    return Graph(sparse.csr_array((np.ones(len(rows[0])), rows), shape=(n, n)), relationships=relationships)


def tree(n, seed=0):
    """Return pairs (child, parent) of a random tree with root 0."""
    rng = np.random.default_rng(seed)
    return [(child, int(rng.integers(0, max(child // 2, 1)))) for child in range(1, n)]


def acyclic(n, seed=0):
    """Return pairs (child, parent) of a tree and as many relationships more, also upwards."""
    rng = np.random.default_rng(seed)
    more = [(child, int(rng.integers(0, child))) for child in rng.integers(1, n, size=n).tolist()]
    return tree(n, seed) + more


def mean_rank(points, ancestors):
    """Return the mean rank of each ancestor among all nodes that are none."""
    ranks = []
    for node in range(len(points)):
        own = ancestors[[node]].indices
        away = distance(points[[node]], points)
        others = np.setdiff1d(np.arange(len(points)), [*own, node])
        ranks += [1 + int((away[others] < away[above]).sum()) for above in own]
    return np.mean(ranks)


def rises(hierarchy, points):
    edges = hierarchy.parents.tocoo()
    radii = radius(points)
    return bool((radii[edges.col] < radii[edges.row]).all())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [tree, acyclic])
def test_closure_is_that_of_networkx(make, seed):
    pairs = make(60, seed)
    found = hierarchy_of(graph_of(60, UNDER=pairs), "UNDER")
    whole = nx.transitive_closure(nx.DiGraph(pairs))
    assert set(zip(*found.ancestors.nonzero(), strict=True)) == set(whole.edges)
    assert found.descendants.tolist() == [whole.in_degree(node) for node in range(60)]
    assert set(zip(*found.parents.nonzero(), strict=True)) == set(pairs)
    assert (found.general_end, found.in_cycles) == ("target", 0)


@pytest.mark.parametrize("seed", range(4))
def test_nodes_of_a_cycle_are_equally_general(seed):
    pairs = [*tree(40, seed), (3, 30), (30, 20), (20, 3), (7, 35), (35, 7)]
    found = hierarchy_of(graph_of(40, UNDER=pairs), "UNDER")
    whole = nx.DiGraph(pairs)
    component = {
        node: number for number, each in enumerate(nx.strongly_connected_components(whole)) for node in each
    }
    expected = {
        (node, above)
        for node in whole
        for above in nx.descendants(whole, node)
        if component[node] != component[above]
    }
    assert set(zip(*found.ancestors.nonzero(), strict=True)) == expected
    crowd = np.bincount(list(component.values()))
    assert found.in_cycles == crowd[crowd > 1].sum() >= 5
    model = HEAT(3, hierarchy="UNDER", random_state=0).fit(graph_of(40, UNDER=pairs))
    assert rises(found, model.embedding_)


def test_general_end_is_that_of_few_tops():
    down = [(parent, child) for child, parent in tree(50)]
    found = hierarchy_of(graph_of(50, HAS=down), "HAS")
    assert found.general_end == "source"
    assert found.descendants[0] == 49


def test_errors_name_what_is_wrong():
    graph = graph_of(50, UNDER=tree(50), KNOWS=[(1, 2), (2, 1)])
    with pytest.raises(ValueError, match="no relationships of type UNDR: the graph has KNOWS, UNDER"):
        HEAT(hierarchy="UNDR").fit(graph)
    with pytest.raises(ValueError, match="'KNOWS' has no order"):
        HEAT(hierarchy="KNOWS").fit(graph)
    with pytest.raises(ValueError, match="needs a graph with relationship types and directions"):
        HEAT(hierarchy="UNDER").fit(Graph(graph.adjacency))
    with pytest.raises(ValueError, match="trained in memory"):
        HEAT(hierarchy="UNDER", scratch="somewhere").fit(graph)
    with pytest.raises(ValueError, match="more than 100 pairs"):
        hierarchy_of(graph, "UNDER", most_pairs=100)


def test_start_puts_nodes_near_their_ancestors_and_others_as_far_out_as_leaves():
    graph = graph_of(420, UNDER=tree(400))
    found = hierarchy_of(graph, "UNDER")
    start = start_by_caps(found, lift(np.full((420, 10), 1e-3)), np.random.default_rng(0))
    assert rises(found, start)
    assert mean_rank(start[:400], found.ancestors[:400, :400]) < 8.0  # 200 at random
    assert np.allclose(radius(start)[400:], radius(start)[:400].max())
    assert radius(start)[0] == 0.0


def test_candidates_are_ancestors_and_then_near_nodes_that_are_none():
    graph = graph_of(300, UNDER=tree(300), LIKES=[(5, 200), (5, 201)])
    found = hierarchy_of(graph, "UNDER")
    likes = graph.relationships.matrix("LIKES", 300)
    closure = _closure(found, sparse.csr_array(likes + likes.T), 0.5)
    points = np.zeros((300, 4))
    points[:, :3] = start_by_caps(found, lift(np.zeros((300, 2))), np.random.default_rng(0))
    walks = np.array([[5, 200, 3], [9, found.parents[[9]].indices[0], 5], [250, 250, 250]], dtype=np.int32)
    room = 3 * (MOST_ANCESTORS + 22)
    sources, contexts, ends = (np.zeros(3, dtype=np.int64) for _ in range(3))
    candidates, tally = np.zeros(room, dtype=np.int32), np.zeros(2, dtype=np.int64)
    slots = draw_relatives(
        points, 2, walks, np.array([3, 3, 1]), 0, 3, closure, 20, 8, 200, np.uint64(1), sources, contexts,
        ends, candidates, tally,
    )  # fmt: skip
    assert sources[:slots].tolist() == [5, 9, 250]
    begin = 0
    for source, count, end, walked in zip(sources, contexts, ends, ([200, 3], [], []), strict=True):
        above = found.ancestors[[source]].indices.tolist()
        own = [node for node in candidates[begin : begin + count].tolist() if node not in above]
        assert own == [node for node in walked if node not in above]
        assert set(above) <= set(candidates[begin : begin + count].tolist())
        negatives = set(candidates[begin + count : end].tolist())
        assert 0 < len(negatives) <= 20
        assert negatives.isdisjoint({source, *above})
        begin = end
    assert negatives.isdisjoint({200, 201}) or sources[0] != 5
    assert tally.tolist() == [contexts.sum(), 0]


@pytest.mark.parametrize("make", [tree, acyclic])
def test_ancestors_are_nearest_and_further_inside(make):
    graph = graph_of(400, UNDER=make(400))
    found = hierarchy_of(graph, "UNDER")
    model = HEAT(hierarchy="UNDER", random_state=0).fit(graph)
    assert rises(found, model.embedding_)
    assert mean_rank(model.embedding_, found.ancestors) < (1.3 if make is tree else 12.0)  # 200 at random
    assert np.argmin(radius(model.embedding_)) == 0
    record = model.training_["hierarchy"]
    assert record == {
        "type": "UNDER", "general_end": "target", "nodes": 400, "pairs": found.ancestors.nnz, "in_cycles": 0,
        "evidence": str(inspect_hierarchy(graph, "UNDER")),
    }  # fmt: skip


def test_threads_change_no_bit():
    graph = graph_of(500, UNDER=acyclic(500), LIKES=[(node, (7 * node + 3) % 500) for node in range(500)])
    options = {"hierarchy": "UNDER", "walks_per_node": 1, "random_state": 3}
    one, two = (HEAT(5, n_threads=threads, **options).fit(graph) for threads in (1, 2))
    assert np.array_equal(one.embedding_, two.embedding_)
    assert np.array_equal(one.loss_curve_, two.loss_curve_)


def test_inside_descendants_moves_radii_least():
    pairs = acyclic(80)
    found = hierarchy_of(graph_of(80, UNDER=pairs), "UNDER")
    radii = 0.5 + 3.0 * np.random.default_rng(0).random(80)
    points = lift(np.sinh(radii)[:, None] * np.array([1.0, 0.0]))
    moved = inside_descendants(found, points)
    assert rises(found, moved)
    edges = found.ancestors.tocoo()
    least = max(float((radii[edges.col] - radii[edges.row]).max()) / 2, 0.0)  # half of the worst violation
    assert np.abs(radius(moved) - radii).max() < least + 0.02 * 4.0
    assert np.allclose(moved[:, 1], 0.0)


def test_other_relationships_count():
    rng = np.random.default_rng(0)
    likes = [(400 + i, int(j)) for i in range(100) for j in (i % 4) * 100 + rng.integers(0, 100, size=6)]
    graph = graph_of(500, UNDER=tree(400), LIKES=likes)
    split = split_edges(graph, 0.1)
    model = HEAT(hierarchy="UNDER", random_state=0).fit(split.train)
    assert link_auroc(model.embedding_, split) > 0.75


def test_nodes_outside_the_hierarchy_lie_near_their_neighbours():
    hierarchy = tree(400)
    likes = [(400 + i, hierarchy[4 * i][1]) for i in range(80)] + [(480 + i, 400 + i) for i in range(10)]
    graph = graph_of(500, UNDER=hierarchy, LIKES=likes)  # the last 10 have no relationship
    points = HEAT(hierarchy="UNDER", random_state=0).fit(graph).embedding_
    radii = radius(points)
    ends = np.array(likes)
    near = distance(points[ends[:, 0]], points[ends[:, 1]])
    assert near.mean() < 0.4 * distance(points[ends[:, 0]], points[ends[::-1, 1]]).mean()
    assert radii[490:].min() > np.quantile(radii[:400], 0.1)
    assert np.argmin(radii) == 0


def test_warm_starts_keep_the_hierarchy():
    graph = graph_of(400, UNDER=tree(400))
    found = hierarchy_of(graph, "UNDER")
    model = HEAT(hierarchy="UNDER", random_state=0).fit(graph)
    new = np.arange(400) >= 380
    warm = fit_warm(model, graph, model.embedding_, new)
    assert rises(found, warm.embedding_)
    assert mean_rank(warm.embedding_[:380], found.ancestors[:380, :380]) < 1.5
    local = fit_local(model, graph, model.embedding_, new)
    assert np.array_equal(local.embedding_[:380], model.embedding_[:380])


def test_saved_model_keeps_the_parameter(tmp_path):
    model = HEAT(2, hierarchy="UNDER", random_state=0).fit(graph_of(60, UNDER=tree(60)))
    model.save(tmp_path / "a.heat")
    again = HEAT.load(tmp_path / "a.heat")
    assert again.get_params()["hierarchy"] == "UNDER"
    assert np.array_equal(again.embedding_, model.embedding_)
