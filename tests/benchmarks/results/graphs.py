"""Graphs unlike the three datasets: imports of the standard library, and made ones with known structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.demo.stdlib import read_import_graph
from heat_neo4j.graph import Graph

__all__ = ["GRAPHS"]

Array = NDArray[np.float64]


def friends() -> Graph:
    """Return a social graph: 2,000 people, 23 friends each, who live close in a space of 4 dimensions.

    Common neighbours tell nearly everything here. No attributes.
    """
    rng = np.random.default_rng(1)
    place = rng.random((2000, 4))
    gap = np.abs(place[:, None, :] - place[None, :, :])
    near = np.sqrt((np.minimum(gap, 1.0 - gap) ** 2).sum(axis=2))  # on a torus: nobody lives at a rim
    upper = np.triu(rng.random(near.shape) < 1.0 / (1.0 + np.exp((near - 0.21) / 0.02)), k=1)
    return Graph(adjacency=sparse.csr_array(upper.astype(np.float64)))


def hyperbolic() -> Graph:
    """Return a graph with a known hyperbolic geometry: 3,000 nodes, degree about 10, noisy attributes.

    Krioukov et al. (2010), curvature -1, power-law degrees. 30 attributes say roughly in which direction a
    node lies.
    """
    rng = np.random.default_rng(2)
    n, rim = 3000, 13.0
    radius = np.arccosh(1.0 + (np.cosh(0.75 * rim) - 1.0) * rng.random(n)) / 0.75
    angle = rng.uniform(0.0, 2.0 * np.pi, size=n)
    inner = np.cosh(radius)[:, None] * np.cosh(radius) - np.sinh(radius)[:, None] * np.sinh(radius) * np.cos(
        angle[:, None] - angle
    )
    far = np.arccosh(np.maximum(inner, 1.0))
    upper = np.triu(rng.random((n, n)) < 1.0 / (1.0 + np.exp((far - rim) / 0.4)), k=1)
    centres = rng.uniform(0.0, 2.0 * np.pi, size=30)
    facing = np.cos(angle[:, None] - centres)
    attributes = (facing + rng.normal(scale=0.4, size=facing.shape) > 0.8).astype(np.float64)
    return Graph(
        adjacency=sparse.csr_array(upper.astype(np.float64)), attributes=sparse.csr_array(attributes)
    )


def blocks() -> Graph:
    """Return 2,000 nodes in 20 communities, mean degree about 13, whose attributes say nothing."""
    rng = np.random.default_rng(3)
    community = rng.integers(0, 20, size=2000)
    chance = np.where(community[:, None] == community, 0.1, 0.0015)
    upper = np.triu(rng.random(chance.shape) < chance, k=1)
    attributes = rng.random((2000, 40)) < 0.1
    return Graph(
        adjacency=sparse.csr_array(upper.astype(np.float64)),
        attributes=sparse.csr_array(attributes.astype(np.float64)),
    )


def stdlib() -> Graph:
    """Return which module of this Python's standard library imports which, with words as attributes."""
    imports = read_import_graph()
    n = len(imports.keys)
    words = sorted({word for module in imports.modules for word in module["words"]})
    column = {word: place for place, word in enumerate(words)}
    rows = np.repeat(np.arange(n), [len(module["words"]) for module in imports.modules])
    columns = np.array([column[word] for module in imports.modules for word in module["words"]])
    return Graph(
        adjacency=sparse.csr_array((imports.weight, (imports.source, imports.target)), shape=(n, n)),
        attributes=sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, len(words))),
    )


GRAPHS: Mapping[str, Callable[[], Graph]] = {
    "stdlib": stdlib,
    "friends": friends,
    "hyperbolic": hyperbolic,
    "blocks": blocks,
}
