"""Place points among their neighbours before training, and move them, and hubs to the origin, after it.

Training sees only samples of the relationships, and its noise shortens radii. Random negatives push frequent
nodes outwards like any other. In a hyperbolic graph, however, the radius falls with the logarithm of the
degree (Krioukov et al., "Hyperbolic geometry of complex networks", Phys. Rev. E 82, 2010, section IV). The
first three constants were tuned for link prediction on held-out edges of seven graphs.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import power
from heat_neo4j._utils.scratch import slices
from heat_neo4j.embedding.walks import Walks, draw_walks, walks_from
from heat_neo4j.geometry.hyperboloid import at_radius, centroids, radius
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]

_NEIGHBOURS = 0.1  # weight of a node's neighbours relative to its own point
_RADIUS_SCALE = 1.3
_DEGREE = 0.02  # a radius is divided by this power of the degree
_MEETINGS = 32  # walks of a node without neighbours to find similar nodes


def refine(points: Array, graph: Graph) -> Array:
    """Move points slightly towards their neighbours, and scale their radii by degree.

    A move towards neighbours shortens radii. Those of isolated nodes shrink equally: otherwise they would lie
    too far out, increasingly so in more dimensions.
    """
    refined, by_degree = np.empty_like(points), _by_degree(graph)
    before, moved_radii = radius(points), np.empty(graph.n_nodes)
    for rows in slices(graph.n_nodes, points.shape[1]):
        moved = centroids(with_neighbours(graph, _NEIGHBOURS, rows), points)
        moved_radii[rows] = radius(moved)
        refined[rows] = at_radius(moved, _RADIUS_SCALE * moved_radii[rows] / by_degree[rows])
    isolated = graph.degrees == 0
    if isolated.any() and not isolated.all():
        fewest = graph.degrees == graph.degrees[~isolated].min()
        shrunk = moved_radii[fewest].sum() / max(before[fewest].sum(), np.finfo(np.float64).tiny)
        refined[isolated] = at_radius(points[isolated], _RADIUS_SCALE * shrunk * before[isolated])
    return refined


def unrefined_radii(points: Array, graph: Graph) -> Array:
    """Undo the radius scaling of `refine`, approximately."""
    return at_radius(points, radius(points) * _by_degree(graph) / _RADIUS_SCALE)


def _by_degree(graph: Graph) -> Array:
    """Return the divisor of each node's radius."""
    return np.asarray(power(np.maximum(graph.degrees, 1), _DEGREE))


def with_neighbours(graph: Graph, weight: float, rows: slice = slice(None)) -> sparse.csr_array:
    """Return the matrix that adds `weight` times the weighted mean of the neighbours' rows to each row."""
    near = graph.adjacency[rows]
    total = np.asarray(near.sum(axis=1)).ravel()
    share = np.divide(weight, total, out=np.zeros_like(total), where=total > 0)
    begin, end, _ = rows.indices(graph.n_nodes)
    itself = sparse.eye_array(end - begin, graph.n_nodes, k=begin)
    return sparse.csr_array(itself + sparse.diags_array(share) @ near)


def place_among(
    points: NDArray[np.float64], has_point: NDArray[np.bool_], graph: Graph, walks: Walks
) -> NDArray[np.float64]:
    """Return `points`, shape (N, d + 1), with the nodes that have none moved to those that have.

    `has_point` is a mask of shape (N,). A node goes to the weighted Lorentz centroid of its neighbours with
    points. If all its neighbours have none, these are placed first, and so on. A node without neighbours goes
    to the centroid of the similar nodes that the first steps of `walks` reach. All others stay.
    """
    placed, has_point = points.copy(), has_point.copy()
    left = _by_neighbours(placed, has_point, np.flatnonzero(~has_point), graph.adjacency)
    if left.size and _by_neighbours(placed, has_point, left, _met(walks, left)).size < left.size:
        _by_neighbours(placed, has_point, np.flatnonzero(~has_point), graph.adjacency)
    return placed


def _by_neighbours(
    placed: NDArray[np.float64],
    has_point: NDArray[np.bool_],
    left: NDArray[np.int64],
    near: sparse.csr_array,
) -> NDArray[np.int64]:
    """Place nodes at the centroid of placed neighbours, repeatedly; return the nodes left over."""
    while left.size and has_point.any():
        weights = sparse.csr_array(near[left] @ sparse.diags_array(has_point.astype(np.float64)))
        is_near = np.asarray(weights.sum(axis=1)).ravel() > 0
        if not is_near.any():
            break
        placed[left[is_near]] = centroids(weights[is_near], placed)
        has_point[left[is_near]] = True
        left = left[~is_near]
    return left


def _met(walks: Walks, nodes: NDArray[np.int64]) -> sparse.csr_array:
    """Return how often the first step of each node's walks reaches each other node, shape (N, N)."""
    n = walks.n_nodes
    indices = walks_from(nodes, _MEETINGS, n)
    drawn, lengths = draw_walks(walks, indices)
    walked = lengths > 1
    ends = indices[walked] % n, drawn[walked, 1].astype(np.int64)
    return sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
