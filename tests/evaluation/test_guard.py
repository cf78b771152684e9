"""Leaks, planted: the run itself must notice each of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.evaluation import LeakError, evaluate_alpha, evaluate_classes, evaluate_links, link_tasks
from heat_neo4j.evaluation.guard import check_method, check_split, untouched
from heat_neo4j.evaluation.link_figures import measure_links
from heat_neo4j.evaluation.methods import link_methods
from heat_neo4j.evaluation.node_classes import NodeClasses
from heat_neo4j.graph import Graph, Relationships
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
    return evaluate_links(a_graph(), model, seeds=(0,), methods=methods, combined=False, **more)


def adamic_adar_of(graph: Graph, seed: int):
    return partial(adamic_adar, graph)


class Peeking:
    """A scorer that looks links up in a graph of its own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.n_nodes = graph.n_nodes

    def pairs(self, pairs: np.ndarray) -> np.ndarray:
        return np.asarray(self.graph.adjacency[pairs[:, 0], pairs[:, 1]])

    def between(self, first: np.ndarray, second: np.ndarray) -> NodeScorer:
        raise AssertionError("found too late")


class PeekingModel(HEAT):
    """An estimator that trains on another graph than it is given."""

    def __init__(self, whole=None, n_components=2, random_state=None):
        super().__init__(n_components, walks_per_node=1, walk_length=6, random_state=random_state)
        self.whole = whole

    def fit(self, graph, y=None, **more):
        return super().fit(self.whole, **more)


def test_an_honest_run_passes() -> None:
    assert run({"Adamic-Adar": adamic_adar_of}).row("Adamic-Adar").figures


@pytest.mark.parametrize("how", ["closure", "partial", "bound", "default", "global", "scorer", "nested"])
def test_a_method_with_a_graph_of_its_own_is_caught(how: str) -> None:
    whole = a_graph()

    class Holder:
        def __init__(self):
            self.graph = whole

        def method(self, graph, seed):
            return adamic_adar_of(self.graph, seed)

    def inner():
        return adamic_adar_of(whole, 0)

    methods = {
        "closure": lambda graph, seed: adamic_adar_of(whole, seed),
        "partial": partial(lambda mine, graph, seed: adamic_adar_of(mine, seed), whole),
        "bound": Holder().method,
        "default": lambda graph, seed, mine=whole: adamic_adar_of(mine, seed),
        "global": lambda graph, seed: adamic_adar_of(GRAPH, seed),
        "scorer": partial(lambda make, graph, seed: lambda pattern: make(), partial(Peeking, whole)),
        "nested": lambda graph, seed: inner(),
    }
    with pytest.raises(LeakError, match=r"'peeking' holds Graph\(40 nodes, 120 edges, .*18 of 18 test edges"):
        run({"peeking": methods[how]})


def test_a_scorer_that_took_the_whole_graph_along_is_caught() -> None:
    """It comes from where nobody can see into; the scorer gives it away."""
    hidden = iter([a_graph()])
    with pytest.raises(LeakError, match="'peeking' holds Graph"):
        run({"peeking": lambda graph, seed: lambda pattern: Peeking(next(hidden))})


def test_a_model_that_peeks_is_caught() -> None:
    with pytest.raises(LeakError, match="'HEAT' holds Graph"):
        run({}, PeekingModel(a_graph()))


def test_a_split_that_leaves_the_other_direction_in_training_is_caught(monkeypatch) -> None:
    """As the HEAT authors' program does: (u, v) is held out, (v, u) is not."""

    def leaky(graph, share, random_state, how):
        split = split_edges(graph, share, random_state)
        u, v = split.test_edges.T
        back = sparse.csr_array((np.ones(len(u)), (v, u)), shape=graph.adjacency.shape)
        return replace(split, train=replace(split.train, adjacency=split.train.adjacency + back))

    monkeypatch.setattr(link_tasks, "split_edges", leaky)
    with pytest.raises(LeakError, match="18 of 18 test edges are edges of the training graph"):
        run({})
    with pytest.raises(LeakError, match="18 of 18 test edges"):
        evaluate_alpha(a_graph(), MODEL, (0.0, 0.5), seeds=(0,))


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


def test_a_split_that_holds_nothing_back_is_caught(monkeypatch) -> None:
    def leaky(graph, share, random_state, how):
        return replace(split_edges(graph, share, random_state), train=graph)

    monkeypatch.setattr(link_tasks, "split_edges", leaky)
    with pytest.raises(LeakError, match="are edges of the training graph"):
        run({})


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
        return lambda pattern: NodeScorer(np.ones(40), np.multiply)

    with pytest.raises(LeakError, match="'meddling' changed the training graph"):
        evaluate_links(graph, MODEL, seeds=(0,), methods={"meddling": meddle}, combined=False)


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
    split = split_edges(a_graph(40, 300), share=0.3, random_state=1)
    other = replace(split, test_edges=split.test_non_edges, test_non_edges=split.test_edges)
    seen: list[np.ndarray] = []

    def watch(scorer, held_out):
        seen.append(scorer.rows(0, 40))
        return measure_links(scorer, held_out)

    monkeypatch.setattr(link_tasks, "measure_links", watch)
    monkeypatch.setattr(baselines, "_EPOCHS", 2)
    methods = link_methods(MODEL.n_components, gensim=True)
    for held_out in (split, other):
        u, v = held_out.test_edges.T
        added = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(40, 40))
        whole = replace(split.train, adjacency=split.train.adjacency + added + added.T)
        monkeypatch.setattr(link_tasks, "split_edges", lambda *given, cut=held_out, **more: cut)
        evaluate_links(whole, MODEL, seeds=(0,), methods=methods)
    assert len(seen) == 2 * (2 + len(methods))
    for first, second in zip(seen[: len(seen) // 2], seen[len(seen) // 2 :], strict=True):
        np.testing.assert_array_equal(first, second)


def mirrored(seed: int) -> Graph:
    """Return users who rate movies at random, and a mirror of each rating; and random friends."""
    rng, users, movies = np.random.default_rng(seed), 60, 50
    n = users + movies
    rated = rng.choice(users * movies, 900, replace=False)
    first, second = np.triu_indices(users, k=1)
    friends = rng.choice(len(first), 500, replace=False)
    user, movie = rated // movies, users + rated % movies
    u, v = rng.permuted((first[friends], second[friends]), axis=0)
    is_user = np.arange(n) < users
    ends = np.append(user, u), np.append(movie, v)
    return Graph(
        sparse.csr_array((np.ones(1400), ends), shape=(n, n)),
        attributes=rng.normal(size=(n, 3)),
        labels={"User": is_user, "Movie": ~is_user},
        relationships=Relationships.from_pairs(
            {"RATED": (user, movie), "RATED_BY": (movie, user), "KNOWS": (u, v), "KNOWN_BY": (v, u)}
        ),
    )


def far_from_chance(graph: Graph) -> dict[str, float]:
    """Return what is not even odds, by more than four standard errors: AUROC and direction of each method.

    Ends are random, so given training a held-out link is a pair like any other that training does not have:
    each method is as likely to score it above another pair as below, and above itself turned round.
    """
    found = evaluate_links(graph, MODEL, share=0.2, seeds=(0,))
    away: dict[str, float] = {}
    for row in found.rows:
        assert row.figures, row.missing
        links = 0.2 * (500 if not row.pattern or "KNOW" in row.pattern else 900)
        for figure, error in (
            ("auroc", np.sqrt(1 / (6 * links))),
            ("direction_accuracy", 0.5 / np.sqrt(links)),
        ):
            if figure in row.figures:
                away[f"{row.pattern} {row.method}: {figure}"] = (row.figures[figure].mean - 0.5) / error
    return {name: errors for name, errors in away.items() if abs(errors) > 4}


def test_no_method_learns_held_out_links_from_their_mirror_images() -> None:
    graph = mirrored(0)
    assert far_from_chance(graph) == {}
    users = np.arange(60)
    friends = graph.relationships.of("KNOWS")
    alike = Graph(
        sparse.csr_array((np.ones(500), friends), shape=(60, 60)), attributes=graph.attributes[users]
    )
    assert far_from_chance(alike) == {}


def test_the_check_by_mirror_images_finds_a_leak(monkeypatch) -> None:
    """A split that leaves the mirror images of held-out ratings in training."""

    def without(self, pairs, n_nodes):
        own = {"RATED": self.of("RATED"), "KNOWS": self.of("KNOWS")}
        left = Relationships.without.plain(Relationships.from_pairs(own), pairs, n_nodes)
        kept = {name: left.of(name) for name in left.types}
        return Relationships.from_pairs(kept | {name: self.of(name) for name in ("RATED_BY", "KNOWN_BY")})

    without.plain = Relationships.without
    monkeypatch.setattr(Relationships, "without", without)
    monkeypatch.setattr(link_tasks, "check_split", lambda split: None)
    monkeypatch.setattr(link_tasks, "check_method", lambda *given: None)
    found = far_from_chance(mirrored(0))
    assert "User-RATED->Movie HEAT, combined score: auroc" in found
    assert "User-KNOWN_BY->User HEAT, combined score: auroc" in found
