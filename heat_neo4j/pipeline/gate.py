"""The quality gate for a new version: held-out edges, present edges, and drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.validation import check_probability
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.embedding.warm_start import fit_local
from heat_neo4j.geometry.drift import Drift
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.baselines import popularity
from heat_neo4j.linkpred.calibration import CalibrationError, HeldOut, embed_without
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges_of

Array = NDArray[np.float64]

_LOCAL_DROP = 0.1  # locally trained nodes predict links worse, by up to .06 on the benchmark graphs
CHANCE = 3.0
"""Standard errors by which an AUROC must be lower to count; rejects under 1 % of equal versions."""
_FEWEST_EDGES = 10
_PRESENT_EDGES = 20_000


@dataclass(frozen=True)
class Gate:
    """Requirements for publishing a new version; drift limits apply only to versions with the same settings.

    A drop counts only if it is significant: both AUROCs are estimated from samples, and a drop of less than
    `CHANCE` standard errors of their difference is ignored. `max_auroc_drop` also limits the drop, relative
    to the published coordinates, of the AUROC of present edges.

    Parameters
    ----------
    max_auroc_drop : float in [0, 1], default 0.02
        Reject a version if its held-out AUROC falls by more than this.
    max_below_degree : float in [0, 1], default 0.1
        Reject a version whose held-out AUROC is below that of degrees by more than this, unless the published
        one's is.
    min_overlap : float in [0, 1], default 0.05
        Reject a version if a smaller share of the 10 nearest nodes stayed the same.
    max_move : float above 0, default: none
        Reject a version if nodes moved farther than this on average.
    """

    max_auroc_drop: float = 0.02
    max_below_degree: float = 0.1
    min_overlap: float = 0.05
    max_move: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_auroc_drop", "max_below_degree", "min_overlap"):
            check_probability(name, getattr(self, name))

    def problems(self, quality: Quality, drift: Drift | None, *, local: bool) -> Iterator[str]:
        """Yield each failed requirement as one line.

        `drift` is None if the published version is not comparable. With `local`, only some nodes were
        trained, and quality is measured on their held-out edges alone.
        """
        drop = max(self.max_auroc_drop, _LOCAL_DROP) if local else self.max_auroc_drop
        if quality.auroc is not None:
            last, degree = quality.last_auroc, quality.degree_auroc
            last_error = quality.error if quality.last_error is None else quality.last_error
            bars = [(last, last_error, drop, "the last published run's")]
            # Trained for a hierarchy among other relationships, every version can be below the degrees.
            if last is None or degree is None or degree - last <= self.max_below_degree:
                bars.append((degree, 0.0, self.max_below_degree, "that of the degrees"))
            for other, its_error, limit, whose in bars:
                chance = CHANCE * float(np.hypot(quality.error, its_error))
                if other is not None and other - quality.auroc > max(limit, chance):
                    now = f"held-out AUROC {quality.auroc:.3f}"
                    yield f"{now} is more than {limit:g} below {whose}, {other:.3f}"
        old, new = quality.present_auroc_before, quality.present_auroc
        limit = max(self.max_auroc_drop, CHANCE * quality.present_error)
        if old is not None and new is not None and old - new > limit:
            yield (
                f"its AUROC of present edges is {new:.3f}, that of the published version "
                f"is {old:.3f}: more than {self.max_auroc_drop:g} worse"
            )
        if drift is None:
            return
        if drift.overlap is not None and drift.overlap < self.min_overlap:
            yield f"{drift.overlap:.0%} of the nearest nodes stayed the same, below {self.min_overlap:.0%}"
        if self.max_move is not None and drift.mean > self.max_move:
            yield f"nodes moved by {drift.mean:.3f} in the mean, more than {self.max_move:g}"


@dataclass(frozen=True)
class Quality:
    """Quality metrics of a version.

    The first AUROCs compare held-out edges with non-edges; None if too few can be held out. Present edges,
    which training has seen, join nodes with new and published coordinates, at least one of them trained.
    """

    auroc: float | None = None  # of the distance
    degree_auroc: float | None = None  # of the product of degrees
    held_out_edges: int = 0
    error: float = 0.0  # standard error of `auroc`
    last_auroc: float | None = None  # of the last published run
    last_error: float | None = None  # taken to be `error` if it is not recorded
    present_auroc: float | None = None  # of the new coordinates
    present_auroc_before: float | None = None  # of the published coordinates
    present_error: float = 0.0  # standard error of `present_auroc_before`


def last_quality(source: RunRecord | None) -> tuple[float | None, float | None]:
    """Return a run's held-out AUROC and its standard error, from its quality or its link score."""
    if source is None:
        return None, None
    quality = source.quality
    if source.decision != "local" and quality.get("auroc") is not None:
        return float(quality["auroc"]), quality.get("error")
    if quality.get("last_auroc") is not None:  # a local run measures only some nodes
        return float(quality["last_auroc"]), quality.get("last_error")
    link_model = source.parameters.get("link_score", {})
    area = link_model.get("distance_auroc")
    if area is None:
        return None, None
    return float(area), standard_error(float(area), link_model["n_edges"], link_model["n_non_edges"])


def held_out_quality(
    model: HEAT,
    graph: Graph,
    held_out: HeldOut | None,
    *,
    on_progress: Progress = no_progress,
) -> Quality:
    """Measure a version on held-out edges that a clone of its model was trained without.

    `held_out` reuses existing held-out edges and the embedding trained without them. The clone starts near
    the origin, because the published coordinates would leak the held-out edges, and takes as many walks for
    every kind of version: with fewer, a warm one would be judged worse than the last.
    """
    if held_out is None:
        copy = clone(model).set_params(random_state=model.seed_)
        try:
            held_out = embed_without(copy, graph, on_progress=prefixed(on_progress, "check: "))
        except CalibrationError:
            return Quality()
    return _quality(held_out.split, held_out.embedding)


def new_nodes_quality(model: HEAT, graph: Graph, points: Array, new: NDArray[np.bool_]) -> Quality:
    """Measure separately trained new nodes: place them again without a fifth of their edges, the test.

    `points` is the published embedding; rows of `new` nodes are ignored. If all nodes are new, nothing is
    measured. Scores of edges at the same node are correlated, so the standard error counts one edge per new
    node.
    """
    try:
        split = split_edges_of(graph, new, random_state=model.seed_)
    except ValueError:
        return Quality()
    if min(len(split.test_edges), len(split.test_non_edges)) < _FEWEST_EDGES or new.all():
        return Quality()
    copy = clone(model).set_params(random_state=model.seed_)
    quality = _quality(split, fit_local(copy, split.train, points, new).embedding_)
    nodes = np.unique(split.test_edges[new[split.test_edges]]).size
    others = nodes * len(split.test_non_edges) // len(split.test_edges)
    assert quality.auroc is not None
    return replace(quality, error=standard_error(quality.auroc, nodes, max(others, 1)))


def compared_on_present_edges(
    quality: Quality,
    graph: Graph,
    old: Array,
    now: Array,
    rows: NDArray[np.bool_],
    trained: NDArray[np.bool_],
    seed: int,
) -> Quality:
    """Add the AUROCs of two embeddings for present edges against other pairs.

    Both ends of each pair are in the mask `rows`, and at least one is in the mask `trained`. Uses at most
    20,000 edges, sampled by `seed`.
    """
    generator = np.random.default_rng(seed)
    upper = graph.edges
    inside = np.flatnonzero(rows[upper.row] & rows[upper.col] & (trained[upper.row] | trained[upper.col]))
    chosen = generator.permutation(inside)[:_PRESENT_EDGES]
    first, second = np.flatnonzero(rows & trained), np.flatnonzero(rows)
    if not chosen.size:
        return quality
    others = np.column_stack([generator.choice(ends, size=len(chosen)) for ends in (first, second)])
    joined = np.asarray(graph.adjacency[others[:, 0], others[:, 1]]).ravel() != 0
    others = others[~joined & (others[:, 0] != others[:, 1])]
    if not len(others):
        return quality
    edges = np.column_stack((upper.row[chosen], upper.col[chosen])).astype(np.int64)
    before, after = _distance_auroc(old, edges, others), _distance_auroc(now, edges, others)
    error = standard_error(before, len(edges), len(others))
    return replace(quality, present_auroc=after, present_auroc_before=before, present_error=error)


def _quality(split: EdgeSplit, points: Array) -> Quality:
    edges, others = split.test_edges, split.test_non_edges
    degrees = popularity(split.train)
    area = _distance_auroc(points, edges, others)
    return Quality(
        auroc=area,
        degree_auroc=auroc(degrees.pairs(edges), degrees.pairs(others)),
        held_out_edges=len(edges),
        error=standard_error(area, len(edges), len(others)),
    )


def _distance_auroc(points: Array, edges: NDArray[np.int64], others: NDArray[np.int64]) -> float:
    return auroc(-pair_distances(points, edges), -pair_distances(points, others))


def standard_error(area: float, edges: int, others: int) -> float:
    """Return the standard error of an AUROC, for exponential scores (Hanley, McNeil, Radiology 143, 1982)."""
    one, two = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    spread = area * (1.0 - area) + (edges - 1) * (one - area**2) + (others - 1) * (two - area**2)
    return float(np.sqrt(max(spread, 0.0) / (edges * others)))


def judgement_lines(quality: Quality, drift: Drift | None) -> Iterator[str]:
    """Yield log lines on the quality and the drift of a version."""
    if quality.auroc is None:
        yield "held-out AUROC: not measured, too few edges can be held out"
    else:
        last = "" if quality.last_auroc is None else f", last run {quality.last_auroc:.3f}"
        yield (
            f"held-out AUROC {quality.auroc:.3f}{last}, degrees {quality.degree_auroc:.3f} "
            f"({plural(quality.held_out_edges, 'edge')})"
        )
    if drift is not None:
        overlap = "" if drift.overlap is None else f", {drift.overlap:.0%} of the nearest nodes stayed"
        yield (
            f"drift: {drift.moved:,} of {drift.nodes:,} nodes moved, all by {drift.mean:.3f} in the mean, "
            f"the farthest by {drift.quantiles['1.0']:.3f}{overlap}"
        )
