"""The nodes of a projection, and the order of their rows."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import neo4j
import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.scratch import IN_MEMORY, Scratch
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.keys import NodeKeys
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.read.cursors import prefetch_parts
from heat_neo4j.database.read.element_ids import ElementIds, StoredKeys
from heat_neo4j.database.read.scope import Scope
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

Positions = NDArray[np.int64]

_OTHER_KEY = "choose another property, or leave this key out"
_ELEMENT_ID = re.compile(r"(\d+:[^:]*:)\d+")


@dataclass(frozen=True)
class NodeTable:
    """N nodes sorted by the number in their element ids; a node's place among them is its *position*."""

    prefix: str  # what element ids begin with; the number follows
    numbers: Positions  # (N,), ascending
    degrees: Positions  # (N,): upper bound of the relationships that leave each node
    label_sets: tuple[tuple[str, ...], ...]  # those met
    label_codes: NDArray[np.int32]  # (N,): which of them each node has

    @classmethod
    def read(
        cls,
        connection: Connection,
        scope: Scope,
        on_progress: Progress = no_progress,
        scratch: Scratch = IN_MEMORY,
    ) -> Self:
        """Read the nodes of `scope`, range by range of their numbers; a ProjectionError if there are none."""
        prefix = id_prefix(connection, scope)
        ours = {"beginning": prefix, "prefix": len(prefix), "block": connection.limits.numbers}
        span = load_statement("read/node_span", **scope.nodes())
        there = connection.read(span, scope.parameters(**ours), doing="reading nodes")[0]
        if not there["nodes"]:
            raise scope.nothing_matches()
        name, step = _way(connection.limits, there["nodes"], there["last"] - there["first"] + 1)
        statement = load_statement(name, bound=scope.bound(), **scope.nodes())

        def fetch(numbers: range) -> list[neo4j.Record]:
            parameters = scope.parameters(first=numbers[0], last=numbers[-1], **ours)
            return connection.read(statement, parameters, doing="reading nodes", divisible=True)

        codes: dict[tuple[str, ...], int] = {}
        columns = [scratch.growing(dtype) for dtype in (np.int64, np.int64, np.int32)]
        on_progress("reading nodes", 0, there["nodes"])
        end = there["last"] + 1
        ranges = (range(first, min(first + step, end)) for first in range(there["first"], end, step))
        for _, records in prefetch_parts(fetch, ranges):
            blocks = []
            for record in records:
                code = codes.setdefault(tuple(record["labels"]), len(codes))
                numbers = record["numbers"]
                blocks.append(np.array([numbers, record["degrees"], [code] * len(numbers)], dtype=np.int64))
            if blocks:
                found = np.concatenate(blocks, axis=1)
                order = np.argsort(found[0])
                for column, values in zip(columns, found, strict=True):
                    column.append(values[order])
            on_progress("reading nodes", columns[0].size, max(there["nodes"], columns[0].size + 1))
        if not columns[0].size:
            raise scope.nothing_matches()
        on_progress("reading nodes", columns[0].size, columns[0].size)
        numbers, degrees, label_codes = (column.finish() for column in columns)
        return cls(prefix, numbers, degrees, tuple(codes), label_codes)

    @property
    def size(self) -> int:
        """Number of nodes N."""
        return int(self.numbers.size)

    def element_ids(
        self, positions: Positions | slice = slice(None), keys: StoredKeys | None = None
    ) -> ElementIds:
        """Return the element ids at `positions`, or all; `keys` are those of the same nodes."""
        return ElementIds(self.prefix, self.numbers[positions], keys)

    def positions_of(self, numbers: Positions) -> Positions:
        """Return the positions of nodes given by number, -1 for nodes that are not in the table."""
        places = np.minimum(np.searchsorted(self.numbers, numbers), self.size - 1)
        return np.where(self.numbers[places] == numbers, places, -1)

    def label_masks(self, positions: Positions | slice = slice(None)) -> dict[str, NDArray[np.bool_]]:
        """Return, for every label met, which of the nodes at `positions`, or of all, carry it."""
        codes = self.label_codes[positions]
        masks = {}
        for label in sorted({label for labels in self.label_sets for label in labels}):
            carries = np.array([label in labels for labels in self.label_sets])
            masks[label] = carries[codes]
        return masks

    def chunks(self, most_nodes: int, most_relationships: int) -> Iterator[Positions]:
        """Yield the positions of nodes with relationships, within both bounds (one node may exceed one)."""
        positions = np.flatnonzero(self.degrees)
        ends = np.cumsum(self.degrees[positions])
        start = read = 0
        while start < positions.size:
            stop = int(np.searchsorted(ends, read + most_relationships, side="right"))
            stop = min(max(stop, start + 1), start + most_nodes)
            yield positions[start:stop]
            start, read = stop, int(ends[stop - 1])


def _way(limits: Limits, nodes: int, numbers: int) -> tuple[str, int]:
    """Return the statement that reads nodes, and the range of element id numbers per request."""
    if numbers <= limits.numbers_per_node * nodes:
        return "read/nodes_by_id", limits.numbers
    scans = -(-nodes // limits.nodes_per_scan)
    return "read/nodes", -(-numbers // scans)


def rows_by_key(keys: NodeKeys, places: Positions, values: Sequence[Any]) -> Positions:
    """Return the indices of nodes in row order: grouped by label, and sorted by key within each.

    `places` and `values` are those of `NodeKeys`; nodes without a key come last, in the given order. Raises
    ProjectionError if key values are missing, have several types, are neither integers nor strings, or are
    not unique.
    """
    rows = []
    for place, label in enumerate(keys.by_label):
        own = np.flatnonzero(places == place)
        rows.append(own[_order(keys, label, [values[row] for row in own.tolist()])])
    return np.concatenate([*rows, np.flatnonzero(places < 0)])


def key_problems(keys: NodeKeys, places: Positions, values: Sequence[Any]) -> Iterator[str]:
    """Yield the problems of the values of each key; `rows_by_key` raises the first."""
    for place, label in enumerate(keys.by_label):
        try:
            _order(keys, label, [values[row] for row in np.flatnonzero(places == place).tolist()])
        except ProjectionError as error:
            yield str(error)


def _order(keys: NodeKeys, label: str, values: Sequence[Any]) -> Positions:
    """Return the indices of values of the key of `label`, sorted."""
    which = f"key {keys.by_label[label]!r}" + (f" of label {label!r}" if label else "")
    advice = _OTHER_KEY if label else f"use LABEL=PROPERTY, {_OTHER_KEY}"
    missing = sum(value is None for value in values)
    if missing:
        must = "a key must be on all" + (" of its label" if label else "")
        raise ProjectionError(f"{which} is missing on {missing:,} of {len(values):,} nodes: {must}; {advice}")
    kinds = set(map(type, values))
    if kinds not in ({int}, {str}, set()):
        mixed = " and ".join(sorted(kind.__name__ for kind in kinds))
        problem = f"{which} has {mixed} values: a key must be all whole numbers or all strings"
        if len(kinds) > 1:
            counts = Counter(map(type, values))
            rare = min(kinds, key=lambda kind: (counts[kind], kind.__name__))
            example = display_text(repr(next(value for value in values if type(value) is rare)), 60)
            problem += f"; {counts[rare]:,} of {len(values):,} are {rare.__name__}, such as {example}"
            problem += ": store all as strings (toString)" if kinds == {int, str} else ""
        raise ProjectionError(problem)
    order = sorted(range(len(values)), key=values.__getitem__)
    twice = {values[one]: None for one, next_one in pairwise(order) if values[one] == values[next_one]}
    if twice:
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        several = f"several nodes have {next(iter(twice))!r}{more}"
        raise ProjectionError(f"{which} is not unique: {several}; {advice}")
    return np.array(order, dtype=np.int64)


def id_prefix(connection: Connection, scope: Scope) -> str:
    """Return the common prefix of all element ids of the database.

    Raises ProjectionError if the database is empty, or its element ids do not end in a number.
    """
    if scope.any_id is None:
        raise ProjectionError(f"database {connection.server.database!r} has no nodes: load a graph first")
    parts = _ELEMENT_ID.fullmatch(scope.any_id)
    if parts is None:
        raise ProjectionError(
            f"element ids such as {scope.any_id!r} do not end in a number: this server cannot be read"
        )
    return parts[1]
