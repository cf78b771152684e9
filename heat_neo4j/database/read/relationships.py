"""Convert relationships from the server to records, with checks and counts."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.scratch import Scratch
from heat_neo4j.attributes.kinds import example
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.joining import ENTRIES, Joined, WeightOverflowError, join, record_type
from heat_neo4j.database.read.nodes import Positions
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Relationships


class RelationshipTable:
    """Collects relationships in chunks; the resulting arrays do not depend on order or size of the chunks.

    Nodes are given by position (0 to N - 1, in the order of element ids); `name_of` returns a node's name for
    messages. A relationship takes 12 bytes of `scratch`, plus 8 for a weight and 8 for a time.
    """

    def __init__(
        self, projection: Projection, n_nodes: int, name_of: Callable[[int], str], scratch: Scratch
    ) -> None:
        self._projection, self._scratch = projection, scratch
        self.piece, self.bucket = 2**19, ENTRIES  # the most records of one, and entries of the other
        self._weighted = projection.weight is not None or bool(projection.type_weights)
        self._record = record_type(weighted=self._weighted, timed=projection.time is not None)
        self._records = scratch.blocks(self._record)
        self._types: dict[str, int] = {}  # their numbers
        self._entries = np.zeros(n_nodes, dtype=np.int64)  # relationships that leave or reach each node
        self.kept = 0
        """Number of relationships that count: between nodes of the projection, with a nonzero weight."""
        self._bad_weights = _Faults(name_of)
        self._bad_times = _Faults(name_of)
        self._time_kinds = Counter({"dates": 0, "numbers": 0})
        counted = ["relationships", "relationships_to_outside", "relationships_to_itself"]
        if projection.weight is not None:
            counted += ["relationships_without_weight", "relationships_of_zero_weight"]
        if projection.time is not None:
            counted += ["relationships_without_time"]
        self.counts = Counter(dict.fromkeys(counted, 0))

    def add(
        self,
        kind: str,
        sources: Positions,
        targets: Positions,
        weights: Sequence[Any] | None = None,
        times: tuple[Sequence[float | None], Sequence[Any]] | None = None,
    ) -> None:
        """Take m relationships of one type; bad weights and times are noted and reported by `check`.

        A target of -1 is outside the projection. Weights are raw values, None where they are missing. Of the
        two sequences of `times` the first has seconds since 1970 for dates and datetimes, the second the raw
        value of any other time; both have None elsewhere.
        """
        self.counts["relationships"] += sources.size
        outside, to_itself = targets < 0, targets == sources
        self.counts["relationships_to_outside"] += int(outside.sum())
        self.counts["relationships_to_itself"] += int(to_itself.sum())
        keep = ~(outside | to_itself)
        numbers: NDArray[np.float64] | None = None
        if weights is not None:
            numbers = self._numbers(sources, targets, keep, weights)
            zero = keep & (numbers == 0)
            self.counts["relationships_of_zero_weight"] += int(zero.sum())
            keep &= ~zero
        records = np.empty(int(keep.sum()), dtype=self._record)
        records["source"], records["target"] = sources[keep], targets[keep]
        records["kind"] = self._types.setdefault(kind, len(self._types))
        if self._weighted:
            factor = self._projection.type_weights.get(kind, 1.0)
            with np.errstate(over="ignore"):  # found when they are summed
                records["weight"] = factor if numbers is None else factor * numbers[keep]
        if times is not None:
            records["time"] = self._as_times(sources, targets, keep, *times)[keep]
        np.add.at(self._entries, records["source"], 1)
        np.add.at(self._entries, records["target"], 1)
        self._records.add(self.kept // self.piece, records)
        self.kept += records.size

    @property
    def times_are_dates(self) -> bool:
        """Whether the times were dates or datetimes, and not numbers."""
        return self._time_kinds["dates"] > 0

    def check(self) -> None:
        """Raise a ProjectionError if weights or times cannot be used."""
        self.check_weights()
        self.check_times()

    def check_weights(self) -> None:
        """Raise ProjectionError if weights are not finite numbers of 0 or more, or all missing."""
        name = self._projection.weight
        if self._bad_weights:
            advice = "weights are finite numbers of 0 or more; fix them or use `relationship_filter`"
            raise ProjectionError(f"weight {name!r} is not usable: {self._bad_weights}: {advice}")
        inside = self.counts["relationships"] - self.counts["relationships_to_outside"]
        inside -= self.counts["relationships_to_itself"]
        if inside and self.counts["relationships_without_weight"] == inside:
            advice = "name another property, or leave the weight out"
            raise ProjectionError(f"weight {name!r} is {_on_none(inside)}: {advice}")

    def check_times(self) -> None:
        """Raise ProjectionError if times are neither all dates nor all finite numbers, or all missing."""
        name, kinds = self._projection.time, self._time_kinds
        if self._bad_times:
            advice = "times are numbers, dates or datetimes; set them in Neo4j, such as date('2024-03-01')"
            raise ProjectionError(f"time {name!r} is not usable: {self._bad_times}: {advice}")
        if all(kinds.values()):
            mixed = " and ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            raise ProjectionError(
                f"time {name!r} is not usable: it mixes {mixed}: make them one kind in Neo4j"
            )
        if self.kept and self.counts["relationships_without_time"] == self.kept:
            advice = "name another property, or leave the time out"
            raise ProjectionError(f"time {name!r} is {_on_none(self.kept)}: {advice}")

    def join(self, row_of: Positions, n_rows: int) -> Joined:
        """Return the undirected matrix, times and directions; the records are consumed.

        Parallel relationships are aggregated, then both directions summed. They are summed for every pair, so
        that one more relationship changes the weight of no other pair. `row_of` has the row of each position,
        -1 for a node that has gone, whose relationships are dropped. Raises ProjectionError if a weight is
        too small or too large.
        """
        weight = self._projection.weight
        try:
            joined = self._joined(row_of, n_rows, self._record)
        except WeightOverflowError as error:
            what = "`type_weights` add" if weight is None else f"weight {weight!r} adds"
            raise ProjectionError(f"{what} up to infinity: scale the weights down") from error
        except ValueError as error:
            raise ProjectionError(f"weight {weight!r} is not usable: {error}") from error
        self.counts["relationships_parallel"] = joined.parallel
        return joined

    def directed(self) -> Relationships:
        """Return which positions the relationships of each type join, in place of `join`."""
        n_nodes = self._entries.size
        plain = record_type(weighted=False, timed=False)
        return self._joined(np.arange(n_nodes), n_nodes, plain).relationships

    def _joined(self, row_of: Positions, n_rows: int, record: np.dtype[Any]) -> Joined:
        there = row_of >= 0
        entries = np.zeros(n_rows, dtype=np.int64)
        entries[row_of[there]] = self._entries[there]
        pieces = (self._in_rows(row_of, record, number) for number in range(self.kept // self.piece + 1))
        joined = join(pieces, record, entries, list(self._types), self._aggregate, self._scratch, self.bucket)
        self._records.close()
        return joined

    def _in_rows(self, row_of: Positions, record: np.dtype[Any], number: int) -> NDArray[Any]:
        """Return a piece of the records, with these fields, by rows, if both are still there."""
        positions = self._records.take(number)
        source, target = row_of[positions["source"]], row_of[positions["target"]]
        there = (source >= 0) & (target >= 0)
        rows = np.empty(int(there.sum()), record)
        for name in record.names or ():
            rows[name] = positions[name][there]
        rows["source"], rows["target"] = source[there], target[there]
        return rows

    def _aggregate(self, weights: NDArray[np.float64], starts: Positions) -> NDArray[np.float64]:
        if self._projection.aggregation == "single" or not starts.size:
            return np.ones(starts.size)
        combine = {"min": np.minimum, "max": np.maximum}.get(self._projection.aggregation, np.add)
        values: NDArray[np.float64] = combine.reduceat(weights, starts)
        return values

    def _numbers(
        self, sources: Positions, targets: Positions, keep: NDArray[np.bool_], weights: Sequence[Any]
    ) -> NDArray[np.float64]:
        """Convert weights to numbers, with the default for missing ones; record invalid values."""
        if not set(map(type, weights)) <= {int, float}:
            weights = self._replaced(sources, targets, keep, weights)
        numbers = np.array(weights, dtype=np.float64)
        for what, bad in (
            ("NaN", np.isnan(numbers)),
            ("infinite", np.isinf(numbers)),
            ("negative", numbers < 0),
        ):
            for place in np.flatnonzero(bad & keep):
                self._bad_weights.note(what, float(numbers[place]), sources[place], targets[place])
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
                what = f"not numbers ({type(value).__name__})"
                self._bad_weights.note(what, value, sources[place], targets[place])
        return numbers

    def _as_times(
        self,
        sources: Positions,
        targets: Positions,
        keep: NDArray[np.bool_],
        seconds: Sequence[float | None],
        others: Sequence[Any],
    ) -> NDArray[np.float64]:
        """Convert times to numbers, NaN if missing; record invalid values."""
        times = np.array(seconds, dtype=np.float64)  # None becomes NaN
        dates = ~np.isnan(times)
        given = np.array([value is not None for value in others], dtype=np.bool_)
        if given.any():
            plain = np.array([value if type(value) in (int, float) else None for value in others], np.float64)
            times = np.where(given, plain, times)
            for place in np.flatnonzero(given & keep & ~np.isfinite(plain)).tolist():
                value = others[place]
                what = f"not dates or numbers ({type(value).__name__})"
                if type(value) is float:
                    what = "NaN" if np.isnan(value) else "infinite"
                self._bad_times.note(what, value, sources[place], targets[place])
        self._time_kinds.update(dates=int((dates & keep).sum()), numbers=int((given & keep).sum()))
        self.counts["relationships_without_time"] += int((keep & ~dates & ~given).sum())
        return times


def _on_none(count: int) -> str:
    one = "not on the one relationship that matches"
    return one if count == 1 else f"on none of the {count:,} relationships that match"


class _Faults:
    """Counts of invalid values by kind, with the first as an example."""

    def __init__(self, name_of: Callable[[int], str]) -> None:
        self._name_of = name_of
        self._counts: Counter[str] = Counter()
        self._example: tuple[Any, int, int] | None = None  # the value, and the two nodes

    def note(self, what: str, value: Any, source: int, target: int) -> None:
        self._counts[what] += 1
        self._example = self._example or (value, int(source), int(target))

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self._counts.items()))
        assert self._example is not None
        value, source, target = self._example
        ends = f"from node {self._name_of(source)} to node {self._name_of(target)}"
        return f"{counts}, e.g. {example(value)} {ends}"
