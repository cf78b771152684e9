"""No method sees held-out edges: tests of the splits and of all methods, with a leak planted as a check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.evaluation import evaluate_links, link_tasks
from heat_neo4j.evaluation.link_figures import measure_links
from heat_neo4j.evaluation.link_tasks import GENSIM_ROW, for_all_patterns, link_methods
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.baselines import poincare_embedding
from heat_neo4j.linkpred.scorers import DistanceScorer
from heat_neo4j.linkpred.splits import split_edges
from tests.support.gensim import needs_gensim
from tests.support.leaks import count_leaks


def a_graph(n: int = 40, n_edges: int = 120, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n, k=1)
    chosen = rng.choice(len(u), size=n_edges, replace=False)
    return Graph(
        sparse.csr_array((np.ones(n_edges), (u[chosen], v[chosen])), shape=(n, n)),
        attributes=rng.normal(size=(n, 3)),
    )


MODEL = HEAT(2, walks_per_node=1, walk_length=6, n_threads=1)


@pytest.mark.parametrize("typed", [False, True])
def test_a_split_leaves_no_direction_of_a_held_out_edge_in_training(typed: bool) -> None:
    graph = mirrored(0) if typed else a_graph()
    for seed in range(3):
        assert count_leaks(split_edges(graph, random_state=seed)) == 0


def test_the_check_of_a_split_finds_one_direction_of_one_edge() -> None:
    """Even where the matrix is altered behind the back of `Graph`, which would make it symmetric."""
    for turn in (1, -1):
        split = split_edges(a_graph(), random_state=0)
        (u, v) = split.test_edges[3][::turn]
        matrix = split.train.adjacency.tolil()
        matrix[u, v] = 1.0
        object.__setattr__(split.train, "adjacency", sparse.csr_array(matrix))
        assert count_leaks(split) == 1
    typed = mirrored(0)
    split = split_edges(typed, random_state=0)
    whole = replace(split.train, relationships=typed.relationships)
    assert count_leaks(replace(split, train=whole)) == len(split.test_edges)


def few_epochs(graph: Graph, seed: int) -> DistanceScorer:
    return DistanceScorer(poincare_embedding(graph, MODEL.n_components, seed, epochs=2))


@needs_gensim
def test_methods_depend_only_on_the_training_graph(monkeypatch) -> None:
    """Two worlds that differ in the held-out edges alone must look the same to every method."""
    split = split_edges(a_graph(40, 300), share=0.3, random_state=1)
    other = replace(split, test_edges=split.test_non_edges, test_non_edges=split.test_edges)
    seen: list[np.ndarray] = []

    def watch(scorer, held_out):
        if held_out.is_complete:  # not a trial of a baseline's parameters
            seen.append(scorer.rows(0, 40))
        return measure_links(scorer, held_out)

    monkeypatch.setattr(link_tasks, "measure_links", watch)
    methods = link_methods(MODEL.n_components) | {GENSIM_ROW: for_all_patterns(few_epochs)}
    for held_out in (split, other):
        u, v = held_out.test_edges.T
        added = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(40, 40))
        whole = replace(split.train, adjacency=split.train.adjacency + added + added.T)
        monkeypatch.setattr(link_tasks, "split_edges", lambda *given, cut=held_out, **more: cut)
        before = held_out.train.digest()
        evaluate_links(whole, MODEL, seeds=(0,), methods=methods)
        assert held_out.train.digest() == before, "a method changed the training graph"
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


def far_from_chance(graph: Graph, methods: Any = None) -> dict[str, float]:
    """Return what is not even odds, by more than four standard errors: AUROC and direction of each method.

    Ends are random, so given training a held-out link is a pair like any other that training does not have:
    each method is as likely to score it above another pair as below, and above itself turned round.
    """
    found = evaluate_links(graph, MODEL, share=0.2, seeds=(0,), methods=methods)
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
    found = far_from_chance(mirrored(0), methods={})
    assert "User-RATED->Movie HEAT, link score: auroc" in found
    assert "User-KNOWN_BY->User HEAT, link score: auroc" in found
