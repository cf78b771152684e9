"""Typed relationships that imply a link: the kernels, the hold-out, and which link comes first."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._kernels.chains import count_paths, path_pairs, path_rows
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.calibration import HeldOut
from heat_neo4j.linkpred.features import PairFeatures
from heat_neo4j.linkpred.implications import TypedSteps, repetitions
from heat_neo4j.linkpred.link_score import LinkScore, link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.splits import latest_or_random, partly_given_back
from heat_neo4j.patterns import Pattern

N = 24


def typed(n: int, triples: dict[str, np.ndarray]) -> Graph:
    """Return a graph of one label from (source, target) of each type."""
    relationships = Relationships.from_pairs({name: tuple(pairs.T) for name, pairs in triples.items()})
    ends = relationships.source, relationships.target
    return Graph(
        sparse.csr_array((np.ones(len(relationships)), ends), shape=(n, n)),
        labels={"A": np.ones(n, dtype=np.bool_)},
        relationships=relationships,
    )


def random_graph() -> Graph:
    rng = np.random.default_rng(4)
    return typed(N, {name: np.argwhere(rng.random((N, N)) < 0.12) for name in "ABC"})


def loops(graph: Graph) -> list[list[tuple[int, int]]]:
    """Return (neighbour, kind) of each node."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(graph.n_nodes)]
    assert graph.relationships is not None
    for kind, name in enumerate("ABC"):
        for source, target in zip(*graph.relationships.of(name), strict=True):
            found[source].append((int(target), kind))
            found[target].append((int(source), kind + 3))
    return found


def test_paths_add_up_as_in_loops() -> None:
    graph = random_graph()
    steps, near = TypedSteps.of(graph), loops(graph)
    rng = np.random.default_rng(0)
    weights, is_hub = rng.normal(size=(6, 6)), rng.random(N) < 0.2
    expected = np.zeros((N, N))
    for u in range(N):
        for w, first in near[u]:
            for v, second in [] if is_hub[w] else near[w]:
                expected[u, v] += weights[first, second]
    parts = steps.indptr, steps.neighbours, steps.kinds
    rows = path_rows(*parts, is_hub, weights, np.arange(3, 20))
    np.testing.assert_allclose(rows, expected[3:20], atol=1e-12)
    u, v = (ends.ravel().copy() for ends in np.indices((N, N)))
    sums = path_pairs(*parts, steps.turned, is_hub, weights, u, v)
    np.testing.assert_allclose(sums, expected.ravel(), atol=1e-12)


def test_paths_are_counted_as_in_loops() -> None:
    graph = random_graph()
    steps, near = TypedSteps.of(graph), loops(graph)
    rng = np.random.default_rng(1)
    is_hub, is_target, asked = rng.random(N) < 0.2, rng.random(N) < 0.7, rng.permutation(N)
    assert graph.relationships is not None
    own = graph.relationships.matrix("B", N)
    paths, closed, n_paths = np.zeros((6, 6)), np.zeros((6, 6)), []
    for u in asked[:9]:
        for w, first in near[u]:
            for v, second in [] if is_hub[w] else near[w]:
                if v != u and is_target[v]:
                    paths[first, second] += 1
                    closed[first, second] += own[u, v]
        n_paths.append(paths.sum())
    most = int(n_paths[-2]) + 1  # so that the last of them is looked at, and none after it
    found = count_paths(
        steps.indptr, steps.neighbours, steps.kinds, 6, is_hub, asked, own.indptr.astype(np.int64),
        own.indices.astype(np.int32), is_target, most,
    )  # fmt: skip
    np.testing.assert_array_equal(found[0], paths)
    np.testing.assert_array_equal(found[1], closed)
    assert found[2] == 9


def relationships_between(graph: Graph) -> dict[tuple[int, int], set[tuple[str, int, int]]]:
    found: dict[tuple[int, int], set[tuple[str, int, int]]] = {}
    assert graph.relationships is not None
    for name in graph.relationships.types:
        for u, v in zip(*map(np.ndarray.tolist, graph.relationships.of(name)), strict=True):
            found.setdefault((min(u, v), max(u, v)), set()).add((name, u, v))
    return found


def mirrored(n: int = 200, seed: int = 0) -> Graph:
    """Return random relationships A, a mirror B of half of them, and a C beside a third."""
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((n, n)) < 0.08, k=1))
    return typed(n, {"A": pairs, "B": pairs[::2, ::-1], "C": pairs[::3]})


def test_pairs_joined_several_times_lose_all_or_one_relationship() -> None:
    graph = mirrored()
    whole = latest_or_random(graph, 0.3, 5)
    split = partly_given_back(whole, graph, 5)
    before, after = relationships_between(graph), relationships_between(split.train)
    held_out = {tuple(pair) for pair in whole.test_edges.tolist()}
    all_gone = {tuple(pair) for pair in split.test_edges.tolist()}
    one_gone = {pair: before[pair] - after[pair] for pair in held_out - all_gone}
    assert all_gone < held_out
    assert {pair: after.get(pair) for pair in all_gone} == dict.fromkeys(all_gone)
    assert {len(gone) for gone in one_gone.values()} == {1}
    assert min(len(before[pair]) for pair in one_gone) == 2
    assert all(after[pair] == before[pair] for pair in before.keys() - held_out)
    edges = {tuple(sorted(pair)) for pair in np.argwhere(split.train.adjacency.toarray()).tolist()}
    assert edges == before.keys() - all_gone
    # As many links whose pair lost all as links that others are left beside, by 4 standard deviations.
    several = sum(len(before[pair]) for pair in all_gone if len(before[pair]) > 1)
    assert abs(several - len(one_gone)) < 4 * np.sqrt(several * 3)
    # Of pairs with A and B either is gone equally often.
    gone = [next(iter(each))[0] for pair, each in one_gone.items() if len(before[pair]) == 2]
    mirrors = [name for name in gone if name != "C"]
    assert abs(mirrors.count("B") - len(mirrors) / 3) < 4 * np.sqrt(len(mirrors))
    assert len(set(gone)) == 3


def test_the_seed_decides_what_is_given_back() -> None:
    graph = mirrored()
    whole = latest_or_random(graph, 0.3, 5)
    first, same, other = (partly_given_back(whole, graph, seed) for seed in (1, 1, 2))
    assert relationships_between(first.train) == relationships_between(same.train)
    assert relationships_between(first.train) != relationships_between(other.train)
    bare = Graph(graph.adjacency)
    split = latest_or_random(bare, 0.3, 5)
    assert partly_given_back(split, bare, 1) is split


def family(n: int = 240, seed: int = 3) -> dict[str, np.ndarray]:
    """Return siblings, who are so both ways; parents and, back, children; and grandparents."""
    rng = np.random.default_rng(seed)
    parent = np.array([[v, rng.integers(v // 4, v // 2 + 1)] for v in range(8, n)])
    of = dict(parent.tolist())
    grand = np.array([[v, of[of[v]]] for v in of if of[v] in of])
    drawn = rng.integers(0, n, (150, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    return {
        "SIBLING": np.unique(np.concatenate((drawn, drawn[:, ::-1])), axis=0),
        "PARENT": parent,
        "CHILD": parent[:, ::-1],
        "GRANDPARENT": grand,
    }


KINDS = ("SIBLING", "CHILD", "GRANDPARENT")


@cache
def fitted() -> tuple[Graph, dict[str, np.ndarray], LinkScore]:
    """Return a family without some relationships, these, and a score that has not seen them."""
    triples = family()
    missing = {kind: triples[kind][7::20] for kind in KINDS}
    kept = {kind: np.delete(pairs, np.s_[7::20], axis=0) for kind, pairs in triples.items() if kind in KINDS}
    graph = typed(240, {**triples, **kept})
    split = partly_given_back(latest_or_random(graph, 0.2, 0, non_edges_per_edge=5), graph, 0)
    return graph, missing, link_score([HeldOut(split, points(240))], graph)


def points(n: int) -> np.ndarray:
    """Return points that say nothing."""
    return lift(np.random.default_rng(0).normal(size=(n, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_implied_link_comes_first(kind: str) -> None:
    """By its own answer, by the relationship back of another type, and by a path of two others."""
    graph, missing, score = fitted()
    scorer = score.scorers(points(240), graph)(Pattern("A", kind, "A"))
    assert graph.relationships is not None
    joined = graph.relationships.matrix(kind, 240).toarray() > 0
    wanted = {tuple(pair) for pair in missing[kind].tolist()}
    for source, _ in wanted:
        row = scorer.rows(source, source + 1)[0]
        row[joined[source]], row[source] = -np.inf, -np.inf
        assert (source, int(np.argmax(row))) in wanted


def test_a_pattern_that_repeats_a_path_is_named() -> None:
    triples = family()
    graph = typed(240, triples)
    grand = Pattern("A", "GRANDPARENT", "A")
    n = len(triples["GRANDPARENT"])
    said = list(repetitions(graph, [Pattern("A", kind, "A") for kind in triples]))
    assert [each.split(":")[0] for each in said] == [
        f"A-GRANDPARENT->A repeats -PARENT-> -PARENT-> ({n} of {n} pairs)"
    ]
    links = predict_links(points(240), graph, score=fitted()[2], patterns=[grand])
    assert said[0] in links.notes
    without = typed(240, {**triples, "GRANDPARENT": triples["GRANDPARENT"][::2]})  # half of the paths
    assert not list(repetitions(without, [grand]))
    drawn = np.random.default_rng(5).integers(0, 240, (n, 2))  # half of the links
    more = typed(240, {**triples, "GRANDPARENT": np.concatenate((triples["GRANDPARENT"], drawn))})
    assert not list(repetitions(more, [grand]))


def test_many_types_are_few_kinds() -> None:
    rng = np.random.default_rng(2)
    rare = {f"R{place:03}": rng.permutation(60)[None, :2] for place in range(200)}
    graph = typed(60, {"B": np.argwhere(rng.random((60, 60)) < 0.1), **rare})
    steps = TypedSteps.of(graph)
    assert steps.n_kinds == 2 * 101
    assert len(steps.kinds) == 2 * len(graph.relationships)
    of_rare = {int(steps.of_type[place]) for place in range(1, 201)}
    assert of_rare == set(range(1, 101))
    features = PairFeatures(points(60), graph).of(Pattern("A", "R199", "A")).link
    assert np.isfinite(features["implied_by_joins"].rows(0, 60)).all()
