"""Graphs of the shapes that users have, at any size: hubs, trees, pieces, crowds, and attributes to match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph

__all__ = ["ATTRIBUTED", "SHAPES", "attributes_of", "make_shape"]

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Both ends of each relationship, shape (M,)."""

_DEGREE = 8
_CORE = 2_000
_COMPONENTS = 10_000
_TEXT_WORDS = 8


def make_shape(name: str, n_nodes: int, *, attributes: bool = False, seed: int = 0) -> Graph:
    """Return a graph of a shape of `SHAPES`.

    Parameters
    ----------
    name : str
        The shape.
    n_nodes : int
        Nodes N, at least 20; some shapes have a few fewer.
    attributes : bool
        Whether nodes have attributes: numbers, categories and words, and what the shape is named for.
    seed : int
        Of all that is random.
    """
    rng = np.random.default_rng(seed)
    source, target = SHAPES[name](n_nodes, rng)
    n = int(n_nodes if name != "grid" else max(source.max(), target.max()) + 1)
    graph = Graph(sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n)))
    if not attributes:
        return graph
    return replace(graph, attributes=ATTRIBUTED.get(name, attributes_of)(n, rng))


def star(n: int, rng: np.random.Generator) -> Ends:
    """One node joined to all others."""
    return np.zeros(n - 1, dtype=np.int64), np.arange(1, n)


def two_hubs(n: int, rng: np.random.Generator) -> Ends:
    """Two nodes joined to each other, and to half of the others each; a tenth is joined to both."""
    leaves = np.arange(2, n)
    hub = rng.integers(0, 2, len(leaves))
    both = rng.random(len(leaves)) < 0.1
    return np.concatenate(([0], hub, 1 - hub[both])), np.concatenate(([1], leaves, leaves[both]))


def power_law(n: int, rng: np.random.Generator) -> Ends:
    """Degrees that fall off as a power; no node is joined to more than a few per cent."""
    weights = np.arange(10, n + 10) ** -0.6
    ends = rng.choice(n, size=(2, n * _DEGREE // 2), p=weights / weights.sum())
    ring = np.arange(n)  # so that no node is alone
    return np.concatenate((ends[0], ring)), np.concatenate((ends[1], (ring + 1) % n))


def hubs(n: int, rng: np.random.Generator) -> Ends:
    """A power law, and two hubs joined to a third and to a tenth of all nodes."""
    source, target = power_law(n, rng)
    for hub, share in ((n - 1, 3), (n - 2, 10)):
        joined = rng.choice(n - 2, size=n // share, replace=False)
        source = np.concatenate((source, np.full(len(joined), hub)))
        target = np.concatenate((target, joined))
    return source, target


def bipartite(n: int, rng: np.random.Generator) -> Ends:
    """One node in a hundred on the one side; each of the others is joined to three of them."""
    few = max(n // 101, 3)
    return rng.integers(0, few, 3 * (n - few)), np.repeat(np.arange(few, n), 3)


def grid(n: int, rng: np.random.Generator) -> Ends:
    """A square grid."""
    side = int(n**0.5)
    node = np.arange(side * side).reshape(side, side)
    return (
        np.concatenate((node[:, :-1].ravel(), node[:-1].ravel())),
        np.concatenate((node[:, 1:].ravel(), node[1:].ravel())),
    )


def path(n: int, rng: np.random.Generator) -> Ends:
    """One long path."""
    return np.arange(n - 1), np.arange(1, n)


def caterpillar(n: int, rng: np.random.Generator) -> Ends:
    """A path, and nine leaves on each of its nodes."""
    spine = n // 10
    return (
        np.concatenate((np.arange(spine - 1), np.arange(spine, n) % spine)),
        np.concatenate((np.arange(1, spine), np.arange(spine, n))),
    )


def components(n: int, rng: np.random.Generator) -> Ends:
    """Ten thousand rings, or a fifth as many as nodes."""
    rings = min(_COMPONENTS, n // 5)
    node = np.arange(n)
    following = node + rings
    return node, np.where(following < n, following, node % rings)


def half_isolated(n: int, rng: np.random.Generator) -> Ends:
    """A power law on one half of the nodes; the other half has no relationship."""
    return power_law(n // 2, rng)


def parallel(n: int, rng: np.random.Generator) -> Ends:
    """Three relationships between a node and others, each of them up to a thousand times."""
    times = np.minimum(rng.zipf(1.8, 3 * n), 1000)
    return np.repeat(np.repeat(np.arange(n), 3), times), np.repeat(rng.integers(0, n, 3 * n), times)


def near_complete(n: int, rng: np.random.Generator) -> Ends:
    """Two thousand nodes, nine tenths of whose pairs are joined; of the others each hangs on one of them."""
    core = min(n, _CORE)
    u, v = np.triu_indices(core, 1)
    joined = rng.random(len(u)) < 0.9
    leaves = np.arange(core, n)
    hung = rng.integers(0, core, len(leaves))
    return np.concatenate((u[joined], hung)), np.concatenate((v[joined], leaves))


SHAPES: Mapping[str, Callable[[int, np.random.Generator], Ends]] = {
    "star": star,
    "two hubs": two_hubs,
    "power law": power_law,
    "hubs N/3, N/10": hubs,
    "bipartite 1:100": bipartite,
    "grid": grid,
    "path": path,
    "caterpillar": caterpillar,
    "components": components,
    "half isolated": half_isolated,
    "parallel edges": parallel,
    "near-complete": near_complete,
    "all the same": power_law,
    "nearly all share": power_law,
    "unique words": power_law,
}
"""Each shape's relationships, from the number of nodes."""


def attributes_of(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return two numbers, a category of ten, and some words by Zipf's law, of each node."""
    numbers = sparse.csr_array(np.column_stack((rng.normal(2000.0, 10.0, n), rng.lognormal(size=n))))
    categories = _marks(n, [(np.arange(n), rng.zipf(1.5, n) % 10)], 10)
    return sparse.csr_array(sparse.hstack((numbers, categories, _words(n, rng)), format="csr"))


def same_for_all(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return three values that all nodes have in common, but for the last, which one node lacks."""
    values = np.ones((n, 3))
    values[rng.integers(0, n), 2] = 0.0
    return sparse.csr_array(values)


def shared_by_nearly_all(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return an attribute that one node in a thousand lacks, beside a few words."""
    having = np.flatnonzero(rng.random(n) >= 0.001)
    return sparse.csr_array(
        sparse.hstack((_marks(n, [(having, np.zeros(len(having)))], 1), _words(n, rng)), format="csr")
    )


def unique_words(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return three categories of three, and up to seven words that no other node has."""
    categories = [(np.arange(n), 3 * i + rng.integers(0, 3, n)) for i in range(3)]
    words = np.repeat(np.arange(n), rng.integers(0, 8, n))
    return _marks(n, [*categories, (words, 9 + np.arange(len(words)))], 9 + len(words))


ATTRIBUTED: Mapping[str, Callable[[int, np.random.Generator], sparse.csr_array]] = {
    "all the same": same_for_all,
    "nearly all share": shared_by_nearly_all,
    "unique words": unique_words,
}
"""Attributes of the shapes that are named for them."""


def _words(n: int, rng: np.random.Generator) -> sparse.csr_array:
    words = np.repeat(np.arange(n), rng.poisson(_TEXT_WORDS, n))
    vocabulary = max(n // 2, 100)
    return _marks(n, [(words, rng.zipf(1.2, len(words)) % vocabulary)], vocabulary)


def _marks(n: int, parts: list[Ends], columns: int) -> sparse.csr_array:
    """Return a matrix with 1 at each (node, column)."""
    rows, places = (np.concatenate(each).astype(np.int64) for each in zip(*parts, strict=True))
    marks = sparse.csr_array((np.ones(len(rows)), (rows, places)), shape=(n, columns))
    marks.sum_duplicates()
    marks.data[:] = 1.0
    return marks
