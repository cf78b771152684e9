"""The tree finds what looking at all pairs finds, to the bit."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import Graph, _link_search, predict_links
from heat_neo4j._poincare_tree import PoincareTree
from heat_neo4j.hyperboloid import distance, lift

N = 700


def points(seed=0, dimensions=3, scale=1.0):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(N, dimensions))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return lift(np.sinh(scale * rng.gamma(4.0, size=(N, 1))) * direction)


def graph(seed=0, hub=0):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, N, size=(2, 3 * N))
    adjacency = sparse.lil_array(sparse.csr_array((np.ones(3 * N), tuple(ends)), shape=(N, N)))
    adjacency[7, rng.permutation(N)[:hub]] = 1.0
    labels = {"A": rng.random(N) < 0.1, "B": rng.random(N) < 0.5}
    return Graph(adjacency=sparse.csr_array(adjacency), labels=labels)


def both_ways(monkeypatch, embedding, of, **limits):
    """Search by scan, then by tree; return the latter after they were found equal."""
    looked = predict_links(embedding, of, **limits)
    monkeypatch.setattr(_link_search, "_TREE_NODES", 0)
    asked = []
    near = PoincareTree.near
    monkeypatch.setattr(PoincareTree, "near", lambda *given: asked.append(1) or near(*given))
    found = predict_links(embedding, of, **limits)
    assert asked, "the tree was not asked"
    for part in ("source", "target", "distance"):
        np.testing.assert_array_equal(getattr(found, part), getattr(looked, part))
    return found


@pytest.mark.parametrize("k", [1, 5, 30])
@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0])  # mean radius 0.2, 2 and 4, largest 0.6, 6 and 12
def test_the_tree_finds_the_nearest(monkeypatch, k, scale):
    assert len(both_ways(monkeypatch, points(scale=scale), graph(), k=k)) > 0


@pytest.mark.parametrize("hub", [100, 650, 699])
def test_neighbours_of_hubs_are_left_out(monkeypatch, hub):
    monkeypatch.setattr(_link_search, "_MOST_ANSWERS", 256)  # the largest hub is looked through
    both_ways(monkeypatch, points(), graph(hub=hub), k=4)


@pytest.mark.parametrize(("source", "target"), [("A", "B"), ("A", None), ("A", "A")])
def test_labels_are_heeded(monkeypatch, source, target):
    both_ways(monkeypatch, points(), graph(), k=3, source_label=source, target_label=target)


@pytest.mark.parametrize("top", [1, 50, 5000, 10**6])
def test_the_nearest_pairs_of_all(monkeypatch, top):
    assert len(both_ways(monkeypatch, points(), graph(), k=None, top=top)) > 0


def test_points_that_coincide_are_ties(monkeypatch):
    embedding = points()
    embedding[:300] = embedding[0]
    both_ways(monkeypatch, embedding, graph(), k=5)
    both_ways(monkeypatch, embedding, graph(), k=None, top=500)


def test_the_tree_answers_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(_link_search, "_TREE_NODES", 0)
    one, three = (predict_links(points(), graph(), k=5, n_threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.distance, three.distance)
    np.testing.assert_array_equal(one.target, three.target)


def test_progress_never_falls(monkeypatch):
    monkeypatch.setattr(_link_search, "_TREE_NODES", 0)
    told = []
    predict_links(points(), graph(), k=None, top=3000, on_progress=lambda *call: told.append(call))
    done = [call[1] for call in told]
    assert done == sorted(done)
    assert told[-1] == ("links", N, N)


@pytest.mark.parametrize("scale", [0.1, 1.0, 2.5])
def test_a_certified_answer_holds_all_within_the_radius(scale):
    embedding = points(scale=scale)
    tree = PoincareTree(embedding[:, :-1].T, embedding[:, -1], np.arange(N), 1)
    rows, certified = np.arange(0, N, 7), 0
    for count in (8, 64, N):
        far = distance(embedding[rows][:, None], embedding[None])
        radii = np.sort(far, axis=1)[:, 5]
        members, complete = tree.within(rows, radii, count)
        for row, found, radius, sure in zip(far, members, radii, complete, strict=True):
            if sure:
                certified += 1
                assert set(np.flatnonzero(row <= radius)) <= set(found.tolist())
    assert complete.all()
    assert certified > 2 * len(rows)
