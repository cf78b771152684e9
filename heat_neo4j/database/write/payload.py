"""Coordinates and predicted links as columns, checked before anything is sent to the server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.validation import check_choice
from heat_neo4j.errors import WriteRefused
from heat_neo4j.geometry.hyperboloid import COORDINATES, check_points, radius, to_coordinates

Array = NDArray[np.float64]

_TO_BALL: dict[str, Callable[[Array], Array]] = {
    "hyperboloid": lambda values: 1.0 / (1.0 + values[:, -1]),
    "klein": lambda values: 1.0 / (1.0 + np.sqrt(1.0 - np.sum(values * values, axis=1))),
}


class Links(Protocol):
    """Predicted links as `predict_links` gives them; they may also have `reasons`, a text for each."""

    @property
    def source(self) -> NDArray[np.int64]:
        """Row of the graph from which each leads, shape (L,)."""

    @property
    def target(self) -> NDArray[np.int64]:
        """Row to which it leads, shape (L,)."""

    @property
    def types(self) -> Sequence[str]:
        """Type of the relationship that is predicted, of length L."""

    @property
    def distance(self) -> NDArray[np.float64]:
        """Hyperbolic distance, shape (L,)."""

    @property
    def probability(self) -> NDArray[np.float64] | None:
        """Probability in [0, 1], shape (L,), or None."""

    @property
    def rank(self) -> NDArray[np.int64]:
        """Rank from 1, shape (L,)."""

    @property
    def pattern_rank(self) -> NDArray[np.int64]:
        """Rank from 1 among the links of one pattern, shape (L,)."""


@dataclass(frozen=True)
class Coordinates:
    """Checked coordinates, one row for each of the N nodes of the graph."""

    kind: str  # one of `COORDINATES`
    values: Array  # (N, width), finite
    radii: Array  # (N,): hyperbolic distance from the origin
    # (N,): what the first `dimension` values are multiplied by to be a point of the Poincare ball; None if
    # they are one.
    factors: Array | None

    @property
    def dimension(self) -> int:
        """Dimension d of the space."""
        return int(self.values.shape[1]) - (self.kind == "hyperboloid")


@dataclass(frozen=True)
class LinkColumns:
    """Checked predicted links, sorted by source, then target; columns of shape (L,)."""

    source: NDArray[np.int64]  # rows of the graph; no pair comes twice with the same type
    target: NDArray[np.int64]
    types: NDArray[np.object_]
    rank: NDArray[np.int64]  # from 1
    pattern_rank: NDArray[np.int64]  # from 1
    distance: Array  # finite, 0 or more
    probability: Array | None  # in [0, 1]
    reason: NDArray[np.object_] | None  # why a link was predicted, a text


def check_coordinates(model: Any, n_nodes: int, kind: str) -> Coordinates:
    """Return the embedding of `model`, a fitted one or points of the hyperboloid, in coordinates of `kind`.

    A ValueError if the shape is wrong, the points are not on the hyperboloid, or there is no such kind; a
    WriteRefused if a value is NaN or infinite, or a point rounds to the border of the ball.
    """
    check_choice("coordinates", kind, COORDINATES)
    points = np.asarray(getattr(model, "embedding_", model), dtype=np.float64)
    if points.ndim != 2 or points.shape[0] != n_nodes or points.shape[1] < 2:
        raise ValueError(f"the embedding must have shape ({n_nodes}, d + 1) as the graph, got {points.shape}")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise WriteRefused(
            f"the embedding has NaN or infinity in {plural(bad.size, 'row')} (first: {bad[0]}): "
            "nothing was written"
        )
    check_points(points)
    values = np.ascontiguousarray(to_coordinates(points, kind))
    if kind != "hyperboloid":
        border = np.flatnonzero(~(np.sum(values * values, axis=1) < 1.0))
        if border.size:
            raise WriteRefused(
                f"{border.size} points (first: row {border[0]}) are so far out that their {kind} coordinates "
                "round to the border of the ball: write hyperboloid coordinates; nothing written"
            )
    return Coordinates(kind, values, radius(points), ball_factors(values, kind))


def ball_factors(values: Array, kind: str) -> Array | None:
    """Return the factors, shape (N,), that scale the first d stored coordinates into the Poincare ball."""
    return None if kind == "poincare" else _TO_BALL[kind](values)


def check_links(links: Links, n_nodes: int) -> LinkColumns:
    """Return `links` as checked columns, in an order that is good for the server's page cache.

    A ValueError if they are not links of such a graph, each once; a WriteRefused if a distance or probability
    is NaN, infinite or out of range.
    """
    source, target = (np.asarray(column, dtype=np.int64) for column in (links.source, links.target))
    rank, pattern_rank = (np.asarray(column, dtype=np.int64) for column in (links.rank, links.pattern_rank))
    types, distance = np.array(links.types, dtype=object), np.asarray(links.distance, dtype=np.float64)
    probability = None if links.probability is None else np.asarray(links.probability, dtype=np.float64)
    reasons = getattr(links, "reasons", None)
    reason = None if reasons is None else np.array(reasons, dtype=object)
    columns: list[NDArray[Any]] = [source, target, types, rank, pattern_rank, distance]
    columns += [each for each in (probability, reason) if each is not None]
    if any(column.shape != (len(source),) for column in columns):
        raise ValueError(f"the columns of the links differ in shape: {[column.shape for column in columns]}")
    if not ((source >= 0) & (target >= 0) & (np.maximum(source, target) < n_nodes)).all():
        raise ValueError(f"links must join rows 0 to {n_nodes - 1}")
    if (source == target).any():
        raise ValueError("a link joins a row to itself")
    if not all(isinstance(name, str) for name in types.tolist()):
        raise ValueError("types of links must be texts")
    _, code = np.unique(types.astype(str), return_inverse=True)
    order = np.lexsort((code, target, source))
    same = [np.diff(column[order]) == 0 for column in (source, target, code)]
    if np.logical_and.reduce(same).any():
        raise ValueError("links has a pair twice with the same type")
    if not (np.isfinite(distance) & (distance >= 0)).all():
        raise WriteRefused("links has a distance that is NaN, infinite or negative: nothing written")
    if probability is not None and not ((probability >= 0) & (probability <= 1)).all():
        raise WriteRefused("links has a probability that is NaN or outside [0, 1]: nothing written")
    return LinkColumns(
        source[order],
        target[order],
        types[order],
        rank[order],
        pattern_rank[order],
        distance[order],
        None if probability is None else probability[order],
        None if reason is None else reason[order],
    )
