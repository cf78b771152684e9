"""Random hyperbolic graphs of any size, with attributes that tell roughly where a node lies.

Krioukov et al., "Hyperbolic geometry of complex networks", Phys. Rev. E 82 (2010): points in a disk of the
hyperbolic plane, an edge where two are nearer than the disk's radius. Found band by band of radii within the
angle that a band allows (von Looz, Meyerhenke, Prutkin, 2015), in about N times the mean degree steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph

__all__ = ["edges_of", "hyperbolic_graph", "radii_of"]

DENSITY = 0.8
"""Of radii: a node's degree exceeds k with a probability that falls as k^-1.6."""

ATTRIBUTES = 50
DRAWS = 4
"""Attributes of a node, some of which may be the same."""
BLUR = 0.3
"""Standard deviation, in radians, of the direction that an attribute tells."""

_BANDS = 24
_TURN = 2.0 * np.pi


def hyperbolic_graph(n_nodes: int, *, degree: float = 10.0, seed: int = 0) -> Graph:
    """Return a graph of about `degree` edges per node whose attributes follow the angle of a node.

    Parameters
    ----------
    n_nodes : int
        Nodes N, in random order.
    degree : float
        Mean degree aimed at.
    seed : int
        Of all that is random.

    Returns
    -------
    Graph
        Unweighted, with `ATTRIBUTES` sparse attributes.
    """
    rng = np.random.default_rng(seed)
    radius, rim = radii_of(n_nodes, degree, rng)
    angle = rng.uniform(0.0, _TURN, size=n_nodes)
    ends = edges_of(radius, angle, rim)
    adjacency = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    return Graph(adjacency=adjacency, attributes=_attributes(angle, rng))


def radii_of(n_nodes: int, degree: float, rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    """Return the radii of random points, and of the disk in which each has about `degree` edges."""
    shape = DENSITY / (DENSITY - 0.5)
    rim = 2.0 * np.log(n_nodes * 2.0 * shape * shape / (np.pi * degree))
    return np.arccosh(1.0 + (np.cosh(DENSITY * rim) - 1.0) * rng.random(n_nodes)) / DENSITY, rim


def edges_of(
    radius: NDArray[np.float64], angle: NDArray[np.float64], rim: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of points in a disk that are nearer to each other than its radius, each once.

    Parameters
    ----------
    radius, angle : float64 arrays of shape (N,)
        Polar coordinates in the hyperbolic plane, angles in [0, 2 pi).
    rim : float
        Radius of the disk.
    """
    bounds = np.concatenate(([0.0], np.linspace(rim / 2, rim, _BANDS)))
    band = np.searchsorted(bounds, radius, side="right") - 1
    order = np.lexsort((angle, band))
    starts = np.searchsorted(band[order], np.arange(_BANDS + 1))
    arguments = radius[order], angle[order], band[order], starts, bounds, rim
    n_edges = _edges(*arguments, np.empty(0, np.int64), np.empty(0, np.int64))
    source, target = np.empty(n_edges, np.int64), np.empty(n_edges, np.int64)
    _edges(*arguments, source, target)
    return order[source], order[target]


def _attributes(angle: NDArray[np.float64], rng: np.random.Generator) -> sparse.csr_array:
    told = angle[:, None] + rng.normal(scale=BLUR, size=(len(angle), DRAWS))
    columns = (told % _TURN / _TURN * ATTRIBUTES).astype(np.int64) % ATTRIBUTES
    rows = np.repeat(np.arange(len(angle)), DRAWS)
    facts = sparse.csr_array((np.ones(rows.size), (rows, columns.ravel())), shape=(len(angle), ATTRIBUTES))
    facts.sum_duplicates()
    facts.data[:] = 1.0
    return facts


@njit(cache=True)
def _edges(
    radius: Any, angle: Any, band: Any, starts: Any, bounds: Any, rim: float, source: Any, target: Any
) -> int:
    """Write all edges, as far as there is room; return how many. Nodes are sorted by band and angle."""
    found = 0
    for u in range(radius.shape[0]):
        for b in range(band[u], starts.shape[0] - 1):
            reach = _widest(radius[u], bounds[b], rim)
            first, last = starts[b], starts[b + 1]
            for turn in range(-1, 2):  # the angle's circle is cut open: a window may lie over the cut
                low = first
                centre = angle[u] + turn * _TURN
                if reach < np.pi:
                    low += np.searchsorted(angle[first:last], centre - reach)
                elif turn != 0:
                    continue
                for v in range(low, last):
                    if reach < np.pi and angle[v] > centre + reach:
                        break
                    if v > u and _near(radius[u], radius[v], angle[u] - angle[v], rim):
                        if found < source.shape[0]:
                            source[found], target[found] = u, v
                        found += 1
    return found


@njit(cache=True)
def _widest(radius: float, other: float, rim: float) -> float:
    """Return the largest angle at which a node at `radius` can reach one at `other` or farther out."""
    if radius + other <= rim:
        return np.pi
    cosine = (np.cosh(radius) * np.cosh(other) - np.cosh(rim)) / (np.sinh(radius) * np.sinh(other))
    return np.arccos(min(max(cosine, -1.0), 1.0))


@njit(cache=True)
def _near(radius: float, other: float, between: float, rim: float) -> bool:
    inner = np.cosh(radius) * np.cosh(other) - np.sinh(radius) * np.sinh(other) * np.cos(between)
    return inner < np.cosh(rim)
