"""Relationships on their way from lists of the server to one weighted adjacency matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ProjectionError

__all__ = ["RelationshipTable"]

Positions = NDArray[np.int64]

_EXAMPLE_CHARACTERS = 40
_COUNTS = ("relationships", "relationships_to_outside", "relationships_to_itself")
_WEIGHT_COUNTS = ("relationships_without_weight", "relationships_of_zero_weight")


class RelationshipTable:
    """Takes relationships chunk by chunk in any order; ends in a matrix that depends on none of it.

    Nodes are named by position here (0 to N - 1, in the order of their element ids). It keeps 8 bytes for a
    relationship, and 8 more if they have weights.

    Parameters
    ----------
    projection : Projection
        Says how weights are taken and aggregated.
    name_of : callable
        Returns the element id of a position, for messages.
    """

    def __init__(self, projection: Projection, name_of: Callable[[int], str]) -> None:
        self._projection = projection
        self._name_of = name_of
        self._sources: list[NDArray[np.int32]] = []
        self._targets: list[NDArray[np.int32]] = []
        self._weights: list[NDArray[np.float64]] = []
        self._bad: Counter[str] = Counter()
        self._example = ""
        self.counts = Counter(
            dict.fromkeys(_COUNTS if projection.weight is None else _COUNTS + _WEIGHT_COUNTS, 0)
        )

    def add(self, sources: Positions, targets: Positions, weights: Sequence[Any] | None = None) -> None:
        """Take relationships; bad weights are noted and reported by `check`.

        Parameters
        ----------
        sources, targets : array of shape (m,)
            Positions of the nodes; a target of -1 is outside the projection.
        weights : sequence of length m, optional
            Raw values of the weight property, None where a relationship lacks it.
        """
        self.counts["relationships"] += sources.size
        outside, to_itself = targets < 0, targets == sources
        self.counts["relationships_to_outside"] += int(outside.sum())
        self.counts["relationships_to_itself"] += int(to_itself.sum())
        keep = ~(outside | to_itself)
        if weights is not None:
            numbers = self._numbers(sources, targets, keep, weights)
            zero = keep & (numbers == 0)
            self.counts["relationships_of_zero_weight"] += int(zero.sum())
            keep &= ~zero
            self._weights.append(numbers[keep])
        self._sources.append(sources[keep].astype(np.int32))
        self._targets.append(targets[keep].astype(np.int32))

    @property
    def kept(self) -> int:
        """How many relationships count: between two nodes of the projection, with a weight other than 0."""
        return sum(chunk.size for chunk in self._sources)

    def check(self) -> None:
        """See that the weights were numbers that can be used.

        Raises
        ------
        ProjectionError
            If some were negative, NaN, infinite or not numbers, or no relationship had the property at all.
        """
        name = self._projection.weight
        if self._bad:
            found = ", ".join(f"{count} {what}" for what, count in sorted(self._bad.items()))
            advice = "weights are finite numbers of 0 or more; mend them or use a relationship_filter"
            raise ProjectionError(f"weight {name!r} is not usable: {found}, e.g. {self._example}: {advice}")
        inside = self.counts["relationships"] - self.counts["relationships_to_outside"]
        inside -= self.counts["relationships_to_itself"]
        if inside and self.counts["relationships_without_weight"] == inside:
            advice = "name another property, or leave the weight out"
            raise ProjectionError(
                f"weight {name!r} is on none of the {inside} relationships that match: {advice}"
            )

    def matrix(self, row_of: Positions, n_rows: int) -> sparse.csr_array:
        """Return the directed matrix: what goes from row i to row j, parallel relationships aggregated.

        Parameters
        ----------
        row_of : array of shape (N,)
            Row of each position; -1 for a node that has gone, whose relationships are dropped.
        n_rows : int
            Number of rows.

        Returns
        -------
        csr_array of shape (n_rows, n_rows)
            float64. The same bits for any order of the relationships.
        """
        rows, columns = row_of[_joined(self._sources)], row_of[_joined(self._targets)]
        weights = np.concatenate(self._weights) if self._weights else np.ones(rows.size)
        if (rows < 0).any() or (columns < 0).any():
            kept = (rows >= 0) & (columns >= 0)
            rows, columns, weights = rows[kept], columns[kept], weights[kept]
        pairs = rows * n_rows + columns
        order = np.argsort(pairs)
        pairs, weights = pairs[order], weights[order]
        starts = np.flatnonzero(np.diff(pairs, prepend=-1))
        _sort_within(pairs, weights)
        values = self._aggregate(weights, starts)
        self.counts["relationships_parallel"] = pairs.size - starts.size
        rows, columns = np.divmod(pairs[starts], n_rows)
        return sparse.csr_array((values, (rows, columns)), shape=(n_rows, n_rows))

    def _aggregate(self, weights: NDArray[np.float64], starts: Positions) -> NDArray[np.float64]:
        if self._projection.aggregation == "single" or not starts.size:
            return np.ones(starts.size)
        combine = {"min": np.minimum, "max": np.maximum}.get(self._projection.aggregation, np.add)
        with np.errstate(over="ignore"):
            total = weights.sum()
            values: NDArray[np.float64] = combine.reduceat(weights, starts)
        if not np.isfinite(2 * total):
            raise ProjectionError(
                f"weight {self._projection.weight!r} adds up to infinity: scale the weights down"
            )
        return values

    def _numbers(
        self, sources: Positions, targets: Positions, keep: NDArray[np.bool_], weights: Sequence[Any]
    ) -> NDArray[np.float64]:
        """Return the weights as numbers, the default where they are missing; note those that cannot be."""
        if not set(map(type, weights)) <= {int, float}:
            weights = self._replaced(sources, targets, keep, weights)
        numbers = np.array(weights, dtype=np.float64)
        for what, bad in (
            ("NaN", np.isnan(numbers)),
            ("infinite", np.isinf(numbers)),
            ("negative", numbers < 0),
        ):
            for place in np.flatnonzero(bad & keep):
                self._note(what, float(numbers[place]), sources[place], targets[place])
        return numbers

    def _replaced(
        self, sources: Positions, targets: Positions, keep: NDArray[np.bool_], weights: Sequence[Any]
    ) -> list[float]:
        numbers = []
        for place, value in enumerate(weights):
            if type(value) in (int, float):
                numbers.append(value)
                continue
            numbers.append(self._projection.default_weight)
            if value is None:
                self.counts["relationships_without_weight"] += bool(keep[place])
            elif keep[place]:
                self._note(f"not numbers ({type(value).__name__})", value, sources[place], targets[place])
        return numbers

    def _note(self, what: str, value: Any, source: int, target: int) -> None:
        self._bad[what] += 1
        if not self._example:
            shown = (
                repr(value)
                if len(repr(value)) <= _EXAMPLE_CHARACTERS
                else f"{repr(value)[:_EXAMPLE_CHARACTERS]}..."
            )
            self._example = (
                f"{shown} from node {self._name_of(int(source))} to node {self._name_of(int(target))}"
            )


def _sort_within(pairs: Positions, weights: NDArray[np.float64]) -> None:
    """Sort the weights of each run of equal pairs: a floating-point sum depends on the order of its terms."""
    same = pairs[1:] == pairs[:-1]
    parallel = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    weights[parallel] = weights[parallel][np.lexsort((weights[parallel], pairs[parallel]))]


def _joined(chunks: Sequence[NDArray[np.int32]]) -> Positions:
    return np.concatenate(chunks).astype(np.int64) if chunks else np.empty(0, dtype=np.int64)
