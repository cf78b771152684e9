"""The hierarchy that one type of relationship makes: its closure, a start from it, and radii that follow it.

A node's cap is the ball of directions that its descendants get. Nested and nearly disjoint caps put each node
nearer to its ancestors than to others, as in hyperbolic space horospheres through the centre bound the caps.
R. Sarkar, "Low distortion Delaunay embedding of trees in hyperbolic plane" (Graph Drawing 2011), nests cones
of a tree in the same way; here caps follow numbers of descendants, which keeps radii short.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import log, power
from heat_neo4j._kernels.hierarchy import bounds, count_closure, fill_closure, place_caps
from heat_neo4j._utils.display import plural
from heat_neo4j.embedding.hierarchical_types import End, inspect_hierarchy
from heat_neo4j.geometry.hyperboloid import at_radius, lift, radius
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]

MOST_PAIRS = 2**28
"""Maximum size of a closure, in pairs of 4 bytes."""

# Radius in units of log(nodes / own descendants). Larger ones pack caps better, but training is less stable.
_LAW = 2.0 / 3.0
_SPREAD = 0.7  # angle from a node's parent to it, in units of the parent's cap
_BY_LAW = 0.02  # share of the law in the last radii, which tells apart those that are equal otherwise


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The order of nodes by generality, from one relationship type.

    Nodes that reach one another, as in a cycle, are equally general: relationships among them do not count,
    and each has the ancestors of all.

    Parameters
    ----------
    type : str
        The type.
    general_end : {"target", "source"}
        Which end of a relationship is more general.
    parents : csr_array of shape (N, N)
        Entries (node, more general node) of the relationships that count.
    ancestors : csr_array of shape (N, N)
        The same of the closure.
    descendants : int64 array of shape (N,)
        Number of descendants of each node.
    in_cycles : int
        Number of nodes that are in a cycle.
    evidence : str
        How hierarchical the type is, in words.
    """

    type: str
    general_end: End
    parents: sparse.csr_array
    ancestors: sparse.csr_array
    descendants: NDArray[np.int64]
    in_cycles: int
    evidence: str

    @property
    def belongs(self) -> NDArray[np.bool_]:
        """Mask of the nodes that have an ancestor or a descendant, shape (N,)."""
        return np.asarray((self.descendants > 0) | (np.diff(self.ancestors.indptr) > 0))

    @property
    def radii(self) -> Array:
        """Radii by number of descendants, shape (N,); NaN where a node does not belong."""
        inside = self.belongs
        shares = np.count_nonzero(inside) / (self.descendants + 1.0)
        return np.where(inside, _LAW * log(shares), np.nan)

    def facts(self) -> dict[str, Any]:
        """Return the entries of the training record."""
        return {
            "hierarchy": {
                "type": self.type,
                "general_end": self.general_end,
                "nodes": int(self.belongs.sum()),
                "pairs": int(self.ancestors.nnz),
                "in_cycles": self.in_cycles,
                "evidence": self.evidence,
            }
        }


def hierarchy_of(graph: Graph, name: str, most_pairs: int = MOST_PAIRS) -> Hierarchy:
    """Return the hierarchy of a type of relationship.

    Raises ValueError if the graph has no types or no such type, if the type has no order, or if its
    closure has more than `most_pairs` pairs.
    """
    evidence = inspect_hierarchy(graph, name)
    up, component = evidence.up, evidence.component
    up.sort_indices()
    ancestors, descendants = _closure(up, component, name, most_pairs)
    if not ancestors.nnz:
        raise ValueError(f"hierarchy {name!r} has no order: all its relationships are on cycles")
    edges = up.tocoo()
    counts = component[edges.row] != component[edges.col]
    return Hierarchy(
        type=name,
        general_end=evidence.general_end,
        parents=_matrix(edges.row[counts], edges.col[counts], graph.n_nodes),
        ancestors=ancestors,
        descendants=descendants,
        in_cycles=int((np.bincount(component)[component] > 1).sum()),
        evidence=str(evidence),
    )


def _closure(
    up: sparse.csr_array, component: NDArray[np.int32], name: str, most_pairs: int
) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return the closure of `up` between components, and each node's number of descendants."""
    n = up.shape[0]
    above, below = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    steps = up.indptr.astype(np.int64), up.indices.astype(np.int32)
    total = count_closure(*steps, component, most_pairs, above, below)
    if total > most_pairs:
        raise ValueError(
            f"hierarchy {name!r} is too large: it has more than {plural(most_pairs, 'pair')} "
            "of a node and one above it"
        )
    starts = np.concatenate(([0], np.cumsum(above)))
    indices = np.empty(total, dtype=np.int32)
    fill_closure(*steps, component, starts, indices)
    # Offsets of 4 bytes: longer ones would make SciPy widen the indices, too.
    entries = np.ones(total, dtype=np.int8), indices, starts.astype(np.int32)
    closure = sparse.csr_array(entries, shape=(n, n))
    closure.sort_indices()
    return closure, below


def start_by_caps(hierarchy: Hierarchy, points: Array, generator: np.random.Generator) -> Array:
    """Return `points`, shape (N, d + 1), with the hierarchy in caps and other nodes as far out as leaves."""
    n, d = points.shape[0], points.shape[1] - 1
    inside = hierarchy.belongs
    n_inside = np.count_nonzero(inside)
    placed = at_radius(points, np.full(n, _LAW * log(float(n_inside))))
    # Not `normal` or `uniform`, whose bits depend on the build of NumPy.
    directions = generator.random((n, d)) - 0.5
    directions /= np.sqrt((directions * directions).sum(axis=1))[:, None]
    parents = hierarchy.parents
    bare = (np.diff(parents.indptr) == 0) & (np.diff(hierarchy.ancestors.indptr) > 0)
    if bare.any():  # of a cycle that only others leave
        rows = sparse.coo_array(hierarchy.ancestors[np.flatnonzero(bare)])
        ends = np.flatnonzero(bare)[rows.row], rows.col
        parents = sparse.csr_array(parents + _matrix(*ends, n))
    caps = 2.0 * power((hierarchy.descendants + 1.0) / n_inside, _LAW / 2.0)
    below = np.flatnonzero(np.diff(parents.indptr))
    order = below[np.argsort(-hierarchy.descendants[below], kind="stable")]
    place_caps(order, parents.indptr.astype(np.int64), parents.indices, caps, _SPREAD, directions)
    placed[inside] = at_radius(lift(directions[inside]), hierarchy.radii[inside])
    return placed


def inside_descendants(hierarchy: Hierarchy, points: Array) -> Array:
    """Move points radially, as little as possible, so that each node is nearer the centre than those below.

    The mean of the largest radius at and above a node and of the smallest at and below it rises downwards,
    and no such radii have a smaller largest change (isotonic regression by the largest difference).
    """
    radii = radius(points)
    outer, inner = np.empty_like(radii), np.empty_like(radii)
    closure = hierarchy.ancestors
    bounds(closure.indptr, closure.indices, radii, outer, inner)
    law = hierarchy.radii
    nearly = (1.0 - _BY_LAW) * 0.5 * (outer + inner) + _BY_LAW * law
    return at_radius(points, np.where(np.isnan(law), radii, nearly))


def _matrix(row: NDArray[Any], column: NDArray[Any], n: int) -> sparse.csr_array:
    matrix = sparse.csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(n, n))
    matrix.sort_indices()
    return matrix
