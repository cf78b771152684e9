"""Clusters: nested groups, names, telling values, and what they keep over refreshes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

from heat_neo4j import HEAT, Clusters, Graph
from heat_neo4j.cli.commands.clusters import show
from heat_neo4j.clusters.grouping import find_groups, smoothed_directions, updated_groups, usual_levels
from heat_neo4j.clusters.naming import centre_of, label_counts, telling_values
from heat_neo4j.clusters.result import Cluster
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import centroids, distance, lift
from heat_neo4j.pipeline import cluster_questions

BLOCKS, SIZE = 6, 25


@pytest.fixture(scope="module")
def planted() -> Graph:
    """Six groups of 25 nodes, three of them close to one another."""
    rates = np.full((BLOCKS, BLOCKS), 0.002)
    rates[:3, :3] = rates[3:, 3:] = 0.03
    np.fill_diagonal(rates, 0.5)
    net = nx.stochastic_block_model([SIZE] * BLOCKS, rates, seed=1)
    colours = sparse.csr_array(np.eye(BLOCKS)[np.repeat(np.arange(BLOCKS), SIZE)])
    return Graph(
        nx.to_scipy_sparse_array(net, dtype=np.float64),
        colours,
        keys=[f"n{node}" for node in net],
        attribute_names=[f"colour=c{block}" for block in range(BLOCKS)],
    )


@pytest.fixture(scope="module")
def model(planted: Graph) -> HEAT:
    return HEAT(n_components=5, alpha=0.0, random_state=0, n_threads=1).fit(planted)


def test_planted_groups_are_found_and_lie_within_those_above(model: HEAT) -> None:
    groups = model.clusters(levels=[2, BLOCKS]).groups
    block = np.repeat(np.arange(BLOCKS), SIZE)
    assert adjusted_mutual_info_score(block, groups[:, 1]) > 0.85
    assert adjusted_mutual_info_score(block // 3, groups[:, 0]) > 0.85
    assert len(np.unique(groups, axis=0)) == BLOCKS  # a group has one parent


def test_groups_are_numbered_by_size_on_each_level(model: HEAT) -> None:
    found = model.clusters(levels=[3, 5, 20])
    for level, column in enumerate(found.groups.T, start=1):
        sizes = np.bincount(column)[1:]
        assert (np.diff(sizes) <= 0).all()
        assert len(sizes) == (3, 5, 20)[level - 1]
        own = [each for each in found.clusters if each.level == level]
        assert [each.size for each in own] == sizes.tolist()
        assert [each.cluster for each in own] == list(range(1, len(sizes) + 1))
    for each in found.clusters:
        if each.level > 1:
            rows = found.groups[:, each.level - 1] == each.cluster
            assert set(found.groups[rows, each.level - 2]) == {each.parent}


def test_the_same_bits_for_any_number_of_threads(model: HEAT, planted: Graph) -> None:
    several = HEAT.from_points(planted, model.embedding_, random_state=0, n_threads=2)
    once, again = model.clusters(), several.clusters()
    np.testing.assert_array_equal(once.groups, again.groups)
    assert once.clusters == again.clusters


@pytest.mark.parametrize("n_nodes", [2, 5, 30, 500, 9_000, 1_000_000])
def test_usual_levels_ascend(n_nodes: int) -> None:
    levels = usual_levels(n_nodes)
    assert all(low < high for low, high in pairwise(levels))
    assert 2 <= levels[0] <= levels[-1] <= max(2, n_nodes)


def test_coinciding_points_make_fewer_groups() -> None:
    points = np.repeat(np.eye(3), 4, axis=0)
    groups = find_groups(points, (2, 8), 0)
    assert len(np.unique(groups[:, 1])) == 3
    assert len(np.unique(groups[:, 0])) == 2


def test_directions_are_of_repeated_steps_half_way_to_neighbours() -> None:
    rng = np.random.default_rng(3)
    points, n = lift(rng.normal(size=(40, 3))), 40
    adjacency = sparse.random_array((n, n), density=0.05, rng=rng)
    graph = Graph(sparse.csr_array(adjacency + adjacency.T))
    near = np.zeros((n, n))
    for row in range(n):
        apart = distance(points[row], points)
        apart[row] = np.inf
        near[row, np.argsort(apart)[:15]] = 1
    near += near.T
    towards = near / near.sum(axis=1, keepdims=True)
    joined = (graph.adjacency.toarray() > 0) * 1.0
    towards += joined / np.maximum(joined.sum(axis=1, keepdims=True), 1)
    towards /= towards.sum(axis=1, keepdims=True)
    plain = points
    for _ in range(4):
        plain = centroids(sparse.csr_array(np.eye(n) + towards), plain)
    expected = plain[:, :-1] / np.linalg.norm(plain[:, :-1], axis=1, keepdims=True)
    np.testing.assert_allclose(smoothed_directions(points, graph.adjacency, 1), expected, atol=1e-12)


def test_nothing_changes_where_the_graph_has_not(model: HEAT) -> None:
    found = model.clusters()
    again = model.clusters(previous=found)
    np.testing.assert_array_equal(found.groups, again.groups)
    assert found.clusters == again.clusters


def test_a_refresh_keeps_clusters_and_places_new_nodes(model: HEAT, planted: Graph) -> None:
    late = np.arange(0, planted.n_nodes, 30)
    nodes = np.setdiff1d(np.arange(planted.n_nodes), late)
    first = HEAT(n_components=5, alpha=0.0, random_state=0, n_threads=1).fit(planted.among(nodes))
    begun = first.clusters(levels=[2, BLOCKS])
    grown = HEAT.from_points(planted, first.transform(planted), n_threads=1)
    found = grown.clusters(previous=begun)
    assert (found.groups[nodes] == begun.groups).mean() > 0.98
    for row in late.tolist():
        block = slice(row // SIZE * SIZE, (row // SIZE + 1) * SIZE)
        assert found.groups[row, 1] == np.bincount(found.groups[block, 1]).argmax()


def test_a_node_leaves_its_group_only_for_a_much_nearer_centre() -> None:
    middle, before = np.array([0.0, 1.0]), np.array([[1, 7]] * 30 + [[1, 9]] * 30 + [[0, 0]])
    angles = np.concatenate((np.full(30, 0.0), np.full(30, 1.0), [0.9]))

    def update(angle: float) -> list[int]:
        angles[0] = angle
        points = np.column_stack((np.cos(angles), np.sin(angles)))
        return np.asarray(updated_groups(points, before))[[0, -1], 1].tolist()

    assert update(float(middle.mean()) + 0.04) == [7, 9]  # a little nearer to the other, and a new node
    assert update(0.9) == [9, 9]


def test_a_group_is_named_by_a_node_that_belongs_to_it() -> None:
    # "hub" is joined to all 20; "own" to five members and to nobody else; "far" to the same ones
    n = 20
    rows = [(0, other) for other in range(1, n)] + [(end, other) for end in (1, 2) for other in range(3, 8)]
    source, target = np.array(rows).T
    graph = Graph(sparse.csr_array((np.ones(len(rows)), (source, target)), shape=(n, n)))
    radii = np.full(n, 3.0)
    radii[1] = 4.0
    assert centre_of(graph, radii, np.arange(8)) == 2
    alone = Graph(sparse.csr_array((n, n)))
    radii[5] = 1.0
    assert centre_of(alone, radii, np.arange(3, 8)) == 5


def test_telling_values_are_those_that_others_lack() -> None:
    rng = np.random.default_rng(0)
    red = np.arange(40) < 10
    columns = {
        "Paper.topic=red": red * 1.0,
        "Paper.topic=blue": ~red * 1.0,
        "common": np.where(np.arange(40) == 39, 0.0, 1.0),
        "rare": (np.arange(40) == 3) * 1.0,
        "year": rng.normal(size=40),
        "text#12": rng.random(40),
        "year:missing": red * 1.0,
    }
    names, dense = tuple(columns), np.column_stack(list(columns.values()))
    for attributes in (dense, sparse.csr_array(dense)):
        graph = Graph(sparse.csr_array((40, 40)), attributes, attribute_names=names)
        found = telling_values(graph, [np.flatnonzero(red), np.arange(40)])
        assert found == [("red", "rare"), ()]
    bare, groups = Graph(sparse.csr_array((4, 4))), [np.arange(2), np.arange(2, 4)]
    assert telling_values(bare, groups) == [(), ()]
    texts = ["The red fox", "a red foxes' den", "this is a blue sky", "12 x"]
    assert telling_values(bare, groups, k=1, texts=texts) == [("red",), ("blue",)]
    assert telling_values(bare, groups, texts=["12", "", "", "the"]) == [(), ()]


def test_results_are_frames_and_json(model: HEAT) -> None:
    found = model.clusters(levels=[2, BLOCKS])
    assert repr(found) == f"Clusters({BLOCKS * SIZE} nodes in 2 and {BLOCKS} clusters)"
    frame, summary = found.to_frame("pandas"), found.summary("pandas")
    assert list(frame) == ["node", "cluster1", "cluster2"]
    assert frame["node"].tolist() == list(model.graph_.keys)
    assert len(summary) == 2 + BLOCKS
    assert summary["words"].str.match(r"c\d").all()
    assert summary["name"].isin(frame["node"]).all()
    document = json.loads(json.dumps(found.to_dict()))
    assert document["nodes"][3]["clusters"] == found.groups[3].tolist()
    assert document["clusters"][0]["parent"] is None


def test_saved_clusters_are_read_again(model: HEAT, tmp_path: Path) -> None:
    found, file = model.clusters(), tmp_path / "clusters.json"
    found.save(file)
    again = Clusters.read(file)
    np.testing.assert_array_equal(again.groups, found.groups)
    assert (again.names, again.clusters) == (list(found.names), found.clusters)
    assert model.clusters(previous=again).clusters == found.clusters
    for text in ("", "[]", '{"nodes": [], "clusters": []}', '{"nodes": [{"node": 1}], "clusters": []}'):
        file.write_text(text)
        with pytest.raises(ConfigError, match="is not what"):
            Clusters.read(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        Clusters.read(tmp_path / "absent.json")


def test_names_of_the_database_are_printed_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b[2J\nb"
    each = Cluster(1, 1, None, 2, hostile, {hostile: 2}, (hostile,))
    show(Clusters(np.ones((2, 1), dtype=np.int64), ["u", "v"], (each,)))
    head, titles, row = capsys.readouterr().out.splitlines()
    assert head == "Level 1: 1 cluster of 2 nodes"
    assert titles.split() == ["CLUSTER", "NODES", "NAME", "LABELS", "TELLING", "VALUES"]
    assert "\x1b" not in row


def test_labels_of_a_cluster_are_counted_each_node_once() -> None:
    film, person, user = (np.isin(np.arange(10), rows) for rows in ([0, 1, 2, 3], [4, 5, 6, 7], [6, 7]))
    graph = Graph(sparse.csr_array((10, 10)), labels={"Film": film, "Person": person, "User": user})
    groups = [np.arange(8), np.array([4, 6, 7]), np.array([9])]
    assert label_counts(graph, groups) == [{"Film": 4, "User": 2, "Person": 2}, {"User": 2, "Person": 1}, {}]
    same = Graph(sparse.csr_array((4, 4)), labels={"Film": np.ones(4, np.bool_)})
    assert label_counts(same, [np.arange(4)]) == [{}]


def test_a_rare_value_of_few_members_does_not_name_a_cluster() -> None:
    has = np.zeros((200, 2))
    has[:4, 0] = 1.0  # 4 % of the members, and no one else
    has[:6, 1] = 1.0
    graph = Graph(sparse.csr_array((200, 200)), sparse.csr_array(has), attribute_names=("a=few", "a=some"))
    assert telling_values(graph, [np.arange(100)]) == [("some",)]


def test_a_value_without_letters_is_shown_with_its_property() -> None:
    has = sparse.csr_array(np.repeat(np.eye(4), 5, axis=0))
    names = ("Isotope.spin=5/2", "Isotope.parity=-", "block=f", "stable")
    graph = Graph(sparse.csr_array((20, 20)), has, attribute_names=names)
    groups = [np.arange(5) + 5 * place for place in range(4)]
    shown = [("Isotope.spin=5/2",), ("Isotope.parity=-",), ("f",), ("stable",)]
    assert telling_values(graph, groups) == shown


def test_mistaken_levels_are_an_error_of_the_options(model: HEAT, monkeypatch: pytest.MonkeyPatch) -> None:
    published = SimpleNamespace(embedding=model.embedding_, graph=model.graph_, run=SimpleNamespace(seed=0))
    monkeypatch.setattr(cluster_questions, "read_published", lambda *_, **__: published)
    monkeypatch.setattr(cluster_questions, "node_names", lambda *_: list(model.graph_.names))
    store: Any = None
    for levels, message in (([151], "to the 150 nodes at most, got 151"), ([5, 2], "must ascend")):
        with pytest.raises(ConfigError, match=message):
            cluster_questions.clusters(store, levels=levels)
    with pytest.raises(ConfigError, match="at most 5 levels"):
        cluster_questions.clusters(store, levels=range(1, 8), write=True)


def test_levels_and_previous_clusters_are_checked(model: HEAT) -> None:
    found = model.clusters()
    with pytest.raises(ValueError, match="levels must ascend"):
        model.clusters(levels=[5, 5])
    with pytest.raises(TypeError, match="whole numbers"):
        model.clusters(levels=[2.5])
    with pytest.raises(ValueError, match="give either `levels` or `previous`"):
        model.clusters(levels=[2], previous=found)
    other = HEAT(n_components=2, random_state=0).fit(nx.karate_club_graph()).clusters()
    with pytest.raises(ValueError, match="no node of the graph"):
        model.clusters(previous=other)
