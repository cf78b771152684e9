"""From distances to link probabilities: a Fermi-Dirac curve fitted on edges that training did not see."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import draw_seed
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges

__all__ = [
    "CalibrationError",
    "HeldOut",
    "LinkProbability",
    "embed_without",
    "fit_link_probability",
    "link_probability",
]

_NON_EDGES_PER_EDGE = 5  # they cost little and steady the fit
_MIN_PAIRS = 10  # held-out edges, and non-edges; fewer say too little


class CalibrationError(ValueError):
    """No link probability can be fitted to this graph; the message says why."""


@dataclass(frozen=True)
class LinkProbability:
    """Fermi-Dirac probability that a pair at distance d is linked: 1 / (1 + exp((d - r) / t)).

    It holds at even odds: among pairs of which half are edges and half are not. Of all pairs of a sparse
    graph far fewer are edges, so it serves to compare and to cut, not to count.

    Parameters
    ----------
    radius : float
        r, the distance at which the probability is one half; finite.
    temperature : float
        t, how gradually the probability falls with distance; finite, above 0.
    n_edges, n_non_edges : int
        Held-out pairs it was fitted on.
    auroc : float
        How well the held-out distances tell edges from non-edges, in [0, 1].

    References
    ----------
    D. Krioukov et al., "Hyperbolic geometry of complex networks", Phys. Rev. E 82, 036106 (2010).
    """

    radius: float
    temperature: float
    n_edges: int
    n_non_edges: int
    auroc: float

    def __call__(self, distances: ArrayLike) -> NDArray[np.float64]:
        """Return the probability at each of `distances`."""
        return np.asarray(expit((self.radius - np.asarray(distances, dtype=np.float64)) / self.temperature))


def fit_link_probability(
    model: Embedder, graph: Graph, *, share: float = 0.1, on_progress: Progress = no_progress
) -> LinkProbability:
    """Fit the probability that a pair at a given distance is linked.

    A clone of `model` with the same parameters and seed is trained on the graph without `share` of its
    edges; a logistic regression then parts those edges from non-edges by their distance. `model`
    itself, fitted or not, is left as it is. The training takes as long as the first one.

    Parameters
    ----------
    model : HEAT
        The estimator whose distances are to be turned into probabilities.
    graph : Graph
        The graph it is, or will be, fitted on.
    share : float
        Share of the edges to hold out, in (0, 1); sparse graphs may allow fewer.
    on_progress : callable
        Given to `HEAT.fit`.

    Returns
    -------
    LinkProbability

    Raises
    ------
    CalibrationError
        If `share` is out of range, fewer than 10 edges can be held out, fewer than 10 pairs are no edges, or
        the held-out edges are not nearer than the non-edges.
    """
    return link_probability(embed_without(model, graph, share=share, on_progress=on_progress))


class HeldOut(NamedTuple):
    """Edges held out, with five non-edges for each, and an embedding (N, d + 1) that has not seen them."""

    split: EdgeSplit
    embedding: NDArray[np.float64]


def embed_without(
    model: Embedder, graph: Graph, *, share: float = 0.1, time: int = 0, on_progress: Progress = no_progress
) -> HeldOut:
    """Hold out a share of the edges and embed the rest by a clone of `model` with the same seed.

    Each `time`, from 0, holds out other edges.

    A CalibrationError if `share` is out of range, or fewer than 10 edges or 10 non-edges can be held out.
    """
    seed = getattr(model, "seed_", None)
    seed = draw_seed(model.random_state) if seed is None else seed
    try:
        split = split_edges(graph, share, random_state=seed + time, non_edges_per_edge=_NON_EDGES_PER_EDGE)
    except ValueError as error:
        raise CalibrationError(f"no link probability: {error}") from error
    edges, others = split.test_edges, split.test_non_edges
    if min(len(edges), len(others)) < _MIN_PAIRS:
        raise CalibrationError(
            f"no link probability: {plural(len(edges), 'edge')} can be held out against "
            f"{plural(len(others), 'non-edge')}; it takes {_MIN_PAIRS} of each"
        )
    trained = clone(model).set_params(random_state=seed).fit(split.train, on_progress=on_progress)
    return HeldOut(split, trained.embedding_)


@one_blas_thread()
def link_probability(held_out: HeldOut) -> LinkProbability:
    """Fit the probability of a link at a given distance to edges that are held out already.

    A CalibrationError if the held-out edges are not nearer than the non-edges.
    """
    split, points = held_out
    edges, others = pair_distances(points, split.test_edges), pair_distances(points, split.test_non_edges)
    quality = auroc(-edges, -others)
    distances = np.concatenate((edges, others))
    centre, width = distances.mean(), distances.std()
    slope = 0.0
    if quality > 0.5:
        is_edge = np.repeat((1, 0), (len(edges), len(others)))
        standard = (distances - centre)[:, None] / width
        # Balanced, so that the odds are even; the default penalty keeps the slope of perfect parts finite.
        fit = LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-10)
        fit.fit(standard, is_edge)
        slope, intercept = float(fit.coef_[0, 0]), float(fit.intercept_[0])
    if slope >= 0.0:
        raise CalibrationError(
            f"no link probability: held-out edges are not nearer than other pairs (AUROC {quality:.3f})"
        )
    radius = centre - intercept / slope * width
    return LinkProbability(float(radius), float(-width / slope), len(edges), len(others), quality)
