"""Links that are missing: the nearest pairs of nodes that no relationship joins, with a probability.

Pairs are unordered. The search is exact, in O(N k) memory and with the same bits for any number of threads.
By a combined score the best-scored pairs are searched instead: up to `SCORED_NODES` nodes by
looking at all pairs, beyond among those that are near each other or have much in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._kernels.sweeps import IS_SOURCE, IS_TARGET
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import Candidates, columns_of, nearest_pairs
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import adamic_adar
from heat_neo4j.linkpred.calibration import CalibrationError, LinkProbability, fit_link_probability
from heat_neo4j.linkpred.candidates import best_absent, best_of_shortlist
from heat_neo4j.linkpred.combined_score import LinkScore, fit_link_score

if TYPE_CHECKING:
    from heat_neo4j.embedding.estimator import HEAT

__all__ = [
    "CalibrationError",
    "LinkProbability",
    "LinkScore",
    "PredictedLinks",
    "fit_link_probability",
    "fit_link_score",
    "predict_links",
]

SCORED_NODES = 20_000  # up to so many a combined score is taken of all pairs; of more it would take hours
# A common neighbour that has more shortlists no pair: all pairs of a hub's neighbours are too many.
_COMMON_NEIGHBOURS = 1_000


@dataclass(frozen=True, eq=False)
class PredictedLinks:
    """Absent pairs, nearest first; or best-scored first, where a combined score ranked them.

    Parameters
    ----------
    source, target : int64 arrays of shape (L,)
        Rows of the graph, source < target; no pair comes twice.
    distance : float64 array of shape (L,)
        Hyperbolic distance; rising, with ties in order of source, then target, if distance ranked the pairs.
    probability : float64 array of shape (L,), optional
        What `calibration` or `score` gives; None without either.
    calibration : LinkProbability, optional
        What turned distances into probabilities.
    score : LinkScore, optional
        What ranked the pairs, and gave the probabilities, in place of the distance.
    shortlisted : bool
        Whether only pairs that are near, or have much in common, were scored.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    distance: NDArray[np.float64]
    probability: NDArray[np.float64] | None = None
    calibration: LinkProbability | None = None
    score: LinkScore | None = None
    shortlisted: bool = False

    @property
    def rank(self) -> NDArray[np.int64]:
        """1 for the first pair, 2 for the next, and so on; shape (L,)."""
        return np.arange(1, len(self) + 1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.source)


def predict_links(
    model: HEAT | NDArray[np.float64],
    graph: Graph,
    k: int | None = 10,
    *,
    top: int | None = None,
    source_label: str | None = None,
    target_label: str | None = None,
    min_degree: int = 0,
    max_degree: int | None = None,
    probability: LinkProbability | None = None,
    score: LinkScore | None = None,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> PredictedLinks:
    """Return the nearest, or best-scored, pairs of nodes that no relationship of `graph` joins.

    Parameters
    ----------
    model : HEAT or float64 array of shape (N, d + 1)
        A fitted estimator, or points on the hyperboloid (time last), one per node.
    graph : Graph
        The graph whose relationships are to be left out, as is each node with itself.
    k : int, optional
        Partners per node: a pair is kept if either end is among the k nearest of the other. None sets no
        limit per node; `top` must then be given.
    top : int, optional
        Keep only the nearest `top` pairs.
    source_label, target_label : str, optional
        Keep pairs one end of which carries `source_label` and the other `target_label`, either way round.
    min_degree, max_degree : int, optional
        Leave out nodes with fewer or with more neighbours in `graph`.
    probability : LinkProbability, optional
        From `fit_link_probability`; fills in the probabilities.
    score : LinkScore, optional
        From `fit_link_score`; ranks the pairs and fills in the probabilities. Not with `probability`. Between
        more than `SCORED_NODES` nodes only the 200 nearest partners of a node are scored, and the 200 with
        most neighbours in common, of those that have 1,000 neighbours at most.
    n_threads : int, optional
        Threads to use; all cores when None. The result is the same to the bit.
    on_progress : callable
        Called with ("links", nodes done, nodes considered).

    Returns
    -------
    PredictedLinks

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, a label is unknown, or the points do not fit the graph.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    """
    _check_limits(k, top, min_degree, max_degree)
    if probability is not None and score is not None:
        raise ValueError("give probability or score, not both: a score has probabilities of its own")
    threads = resolve_threads(n_threads)
    roles = _roles(graph, source_label, target_label)
    suited = (roles != 0) & (graph.degrees >= min_degree)
    if max_degree is not None:
        suited &= graph.degrees <= max_degree
    nodes = np.flatnonzero(suited)
    if not isinstance(model, np.ndarray):
        check_is_fitted(model, "embedding_")
        model = model.embedding_
    candidates = _candidates(model, graph, nodes, roles[nodes])
    with WorkerThreads(threads) as team:
        if score is None:
            pairs = nearest_pairs(candidates, k, top, team, on_progress)
            return PredictedLinks(
                source=nodes[pairs.source],
                target=nodes[pairs.target],
                distance=pairs.distance,
                probability=None if probability is None else probability(pairs.distance),
                calibration=probability,
            )
        scorer = score.scorer(model, graph)
        shortlisted = len(nodes) > SCORED_NODES
        if shortlisted:
            common = adamic_adar(graph, most_neighbours=_COMMON_NEIGHBOURS)
            best = best_of_shortlist(scorer, common, candidates, nodes, k, top, team, on_progress)
        else:
            best = best_absent(scorer, graph, nodes, candidates.roles, k, top, on_progress)
    return PredictedLinks(
        source=best.pairs[:, 0],
        target=best.pairs[:, 1],
        distance=pair_distances(model, best.pairs),
        probability=score.probability(best.scores),
        score=score,
        shortlisted=shortlisted,
    )


def _check_limits(k: int | None, top: int | None, min_degree: int, max_degree: int | None) -> None:
    if k is not None:
        check_integer("k", k, minimum=1)
    elif top is None:
        raise ValueError("k or top must be given: without either every absent pair would be returned")
    if top is not None:
        check_integer("top", top, minimum=1)
    check_integer("min_degree", min_degree, minimum=0)
    if max_degree is not None:
        check_integer("max_degree", max_degree, minimum=min_degree)


def _candidates(
    embedding: NDArray[np.float64], graph: Graph, nodes: NDArray[np.int64], roles: NDArray[np.uint8]
) -> Candidates:
    spatial, time = columns_of(embedding, graph.n_nodes)
    adjacency = graph.adjacency
    if len(nodes) < graph.n_nodes:
        adjacency = adjacency[nodes][:, nodes]
        spatial, time = np.ascontiguousarray(spatial[:, nodes]), time[nodes]
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32)
    return Candidates(spatial, time, indptr, indices, roles)


def _roles(graph: Graph, source_label: str | None, target_label: str | None) -> NDArray[np.uint8]:
    """Return, per node, which ends of a pair it may be; either, where no label is given."""
    roles = np.zeros(graph.n_nodes, dtype=np.uint8)
    for name, label, role in (
        ("source_label", source_label, IS_SOURCE),
        ("target_label", target_label, IS_TARGET),
    ):
        if label is None:
            roles |= role
        elif label in graph.labels:
            roles[graph.labels[label]] |= role
        else:
            labels = ", ".join(sorted(graph.labels)) or "none"
            raise ValueError(f"{name} {label!r} is not a label of the graph; it has: {labels}")
    return roles
