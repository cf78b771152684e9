"""Leaks, planted: the run itself must notice each of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.evaluation import LeakError, evaluate_alpha, evaluate_classes, evaluate_links
from heat_neo4j.evaluation import link_tasks as pairs
from heat_neo4j.evaluation.guard import check_method, check_split, untouched
from heat_neo4j.evaluation.methods import link_methods
from heat_neo4j.evaluation.node_classes import NodeClasses
from heat_neo4j.evaluation.ranking import measure_links
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred import baselines
from heat_neo4j.linkpred.baselines import adamic_adar
from heat_neo4j.linkpred.scorers import NodeScorer
from heat_neo4j.linkpred.splits import split_edges
from tests.support.gensim import needs_gensim


def a_graph(n: int = 40, n_edges: int = 120, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n, k=1)
    chosen = rng.choice(len(u), size=n_edges, replace=False)
    return Graph(
        sparse.csr_array((np.ones(n_edges), (u[chosen], v[chosen])), shape=(n, n)),
        attributes=rng.normal(size=(n, 3)),
    )


GRAPH = a_graph()
MODEL = HEAT(2, walks_per_node=1, walk_length=6, n_threads=1)


def run(methods, model=MODEL, **more):
    return evaluate_links(a_graph(), model, seeds=(0,), methods=methods, **more)


class Peeking:
    """A scorer that looks links up in a graph of its own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.n_nodes = graph.n_nodes

    def pairs(self, pairs: np.ndarray) -> np.ndarray:
        return np.asarray(self.graph.adjacency[pairs[:, 0], pairs[:, 1]])

    def rows(self, begin: int, end: int) -> np.ndarray:
        return self.graph.adjacency[begin:end].toarray()


class PeekingModel(HEAT):
    """An estimator that trains on another graph than it is given."""

    def __init__(self, whole=None, n_components=2, random_state=None):
        super().__init__(n_components, walks_per_node=1, walk_length=6, random_state=random_state)
        self.whole = whole

    def fit(self, graph, y=None, **more):
        return super().fit(self.whole, **more)


def test_an_honest_run_passes() -> None:
    assert run({"Adamic-Adar": lambda graph, seed: adamic_adar(graph)}).row("Adamic-Adar").figures


@pytest.mark.parametrize("how", ["closure", "partial", "bound", "default", "global", "scorer", "nested"])
def test_a_method_with_a_graph_of_its_own_is_caught(how: str) -> None:
    whole = a_graph()

    class Holder:
        def __init__(self):
            self.graph = whole

        def method(self, graph, seed):
            return adamic_adar(self.graph)

    def inner():
        return adamic_adar(whole)

    methods = {
        "closure": lambda graph, seed: adamic_adar(whole),
        "partial": partial(lambda mine, graph, seed: adamic_adar(mine), whole),
        "bound": Holder().method,
        "default": lambda graph, seed, mine=whole: adamic_adar(mine),
        "global": lambda graph, seed: adamic_adar(GRAPH),
        "scorer": partial(lambda make, graph, seed: make(), partial(Peeking, whole)),
        "nested": lambda graph, seed: inner(),
    }
    with pytest.raises(LeakError, match=r"'peeking' holds Graph\(40 nodes, 120 edges, .*18 of 18 test edges"):
        run({"peeking": methods[how]})


def test_a_scorer_that_took_the_whole_graph_along_is_caught() -> None:
    """It comes from where nobody can see into; the scorer gives it away."""
    hidden = iter([a_graph()])
    with pytest.raises(LeakError, match="'peeking' holds Graph"):
        run({"peeking": lambda graph, seed: Peeking(next(hidden))})


def test_a_model_that_peeks_is_caught() -> None:
    with pytest.raises(LeakError, match="'HEAT' holds Graph"):
        run({}, PeekingModel(a_graph()))


def test_a_split_that_leaves_the_other_direction_in_training_is_caught() -> None:
    """As the HEAT authors' program does: (u, v) is held out, (v, u) is not."""

    def leaky(graph, share, random_state):
        split = split_edges(graph, share, random_state)
        u, v = split.test_edges.T
        back = sparse.csr_array((np.ones(len(u)), (v, u)), shape=graph.adjacency.shape)
        return replace(split, train=replace(split.train, adjacency=split.train.adjacency + back))

    with pytest.raises(LeakError, match="18 of 18 test edges are edges of the training graph"):
        run({}, splitter=leaky)
    with pytest.raises(LeakError, match="18 of 18 test edges"):
        evaluate_alpha(a_graph(), MODEL, (0.0, 0.5), seeds=(0,), splitter=leaky)


def test_one_direction_alone_is_enough_to_be_caught() -> None:
    """Even where the matrix is altered behind the back of `Graph`, which would make it symmetric."""
    for turn in (1, -1):
        split = split_edges(a_graph(), random_state=0)
        (u, v) = split.test_edges[3][::turn]
        matrix = split.train.adjacency.tolil()
        matrix[u, v] = 1.0
        object.__setattr__(split.train, "adjacency", sparse.csr_array(matrix))
        with pytest.raises(LeakError, match="1 of 18 test edges"):
            check_split(split)


def test_a_split_that_holds_nothing_back_is_caught() -> None:
    def leaky(graph, share, random_state):
        return replace(split_edges(graph, share, random_state), train=graph)

    with pytest.raises(LeakError, match="are edges of the training graph"):
        run({}, splitter=leaky)


@pytest.mark.parametrize("what", ["weights", "attributes", "labels"])
def test_a_method_that_changes_the_graph_is_caught(what: str) -> None:
    graph = replace(a_graph(), labels={"A": np.arange(40) % 2 == 0})

    def meddle(graph, seed):
        if what == "weights":
            graph.adjacency.data[0] += 1e-12
        elif what == "attributes":
            graph.attributes[5, 1] = 0.0
        else:
            graph.labels["A"][0] = False
        return NodeScorer(np.ones(40), np.multiply)

    with pytest.raises(LeakError, match="'meddling' changed the training graph"):
        evaluate_links(graph, MODEL, seeds=(0,), methods={"meddling": meddle})


def test_features_that_change_the_graph_are_caught() -> None:
    def meddle(graph, seed):
        graph.attributes[0, 0] = 7.0
        return np.zeros((40, 1))

    classes = NodeClasses(("a", "b"), np.eye(2, dtype=bool)[np.arange(40) % 2])
    with pytest.raises(LeakError, match="'meddling' changed"):
        evaluate_classes(a_graph(), MODEL, classes, seeds=(0,), methods={"meddling": meddle})


def test_the_guard_leaves_an_error_of_the_method_alone() -> None:
    graph = a_graph()
    with pytest.raises(ZeroDivisionError), untouched("x", graph):
        _spoil_and_fail(graph)


def _spoil_and_fail(graph: Graph) -> None:
    graph.adjacency.data[0] = 5.0
    raise ZeroDivisionError


def test_a_graph_of_another_size_is_no_leak() -> None:
    tiny = Graph(sparse.csr_array(np.ones((3, 3))))
    check_method("x", lambda graph, seed: tiny, split_edges(a_graph()).test_edges)


@needs_gensim
def test_what_methods_return_depends_on_nothing_but_the_training_graph(monkeypatch) -> None:
    """Two worlds that differ in the held-out edges alone must look the same to every method."""
    split = split_edges(a_graph(), share=0.3, random_state=1)
    other = replace(split, test_edges=split.test_non_edges, test_non_edges=split.test_edges)
    seen: list[np.ndarray] = []

    def watch(scorer, split, seed, limits):
        seen.append(scorer.rows(0, 40))
        return measure_links(scorer, split, seed, limits)

    monkeypatch.setattr(pairs, "measure_links", watch)
    monkeypatch.setattr(baselines, "_EPOCHS", 2)
    for held_out in (split, other):
        u, v = held_out.test_edges.T
        added = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(40, 40))
        whole = replace(split.train, adjacency=split.train.adjacency + added + added.T)
        evaluate_links(
            whole,
            MODEL,
            seeds=(0,),
            methods=link_methods(MODEL.n_components, gensim=True),
            splitter=lambda graph, share, random_state, cut=held_out: cut,
        )
    assert len(seen) == 12
    for first, second in zip(seen[:6], seen[6:], strict=True):
        np.testing.assert_array_equal(first, second)
