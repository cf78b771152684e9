"""The nodes of a projection: which there are, and in which order they become rows."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.keys import NodeKeys
from heat_neo4j.database.read.scope import Scope
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

__all__ = ["NodeTable", "Positions", "id_prefix", "key_problems", "rows_by_key"]

Positions = NDArray[np.int64]

_NUMBERS_PER_BLOCK = 50_000
_ELEMENT_ID = re.compile(r"(\d+:[^:]*:)\d+")


@dataclass(frozen=True)
class NodeTable:
    """N nodes sorted by the number in their element ids; a node's place among them is its *position*."""

    prefix: str  # what element ids begin with; the number follows
    numbers: Positions  # (N,), ascending
    degrees: Positions  # (N,): relationships that leave each node, or more than that
    label_sets: tuple[tuple[str, ...], ...]  # those met
    label_codes: NDArray[np.int32]  # (N,): which of them each node has

    @classmethod
    def read(cls, connection: Connection, scope: Scope) -> Self:
        """Read the nodes of `scope`; a ProjectionError if there are none."""
        prefix = id_prefix(connection, scope)
        statement = load_statement("read/nodes", bound=scope.bound(), **scope.nodes())
        parameters = scope.parameters(prefix=len(prefix), block=_NUMBERS_PER_BLOCK)
        codes: dict[tuple[str, ...], int] = {}

        def collect(transaction: Transaction) -> list[Positions]:
            codes.clear()
            blocks = []
            for record in transaction.stream(statement, parameters):
                code = codes.setdefault(tuple(record["labels"]), len(codes))
                numbers = record["numbers"]
                blocks.append(np.array([numbers, record["degrees"], [code] * len(numbers)], dtype=np.int64))
            return blocks

        blocks = connection.read_transaction(collect, doing="reading nodes")
        if not blocks:
            raise scope.nothing_matches()
        numbers, degrees, label_codes = np.concatenate(blocks, axis=1)
        order = np.argsort(numbers)
        return cls(prefix, numbers[order], degrees[order], tuple(codes), label_codes[order].astype(np.int32))

    @property
    def size(self) -> int:
        """Number of nodes N."""
        return int(self.numbers.size)

    def element_ids(self, positions: Positions) -> list[str]:
        """Return the element ids at `positions`."""
        return [f"{self.prefix}{number}" for number in self.numbers[positions].tolist()]

    def element_id(self, position: int) -> str:
        """Return the element id at one position."""
        return f"{self.prefix}{self.numbers[position]}"

    def positions_of(self, numbers: Positions) -> Positions:
        """Return the positions of nodes given by number, -1 for nodes that are not in the table."""
        places = np.minimum(np.searchsorted(self.numbers, numbers), self.size - 1)
        return np.where(self.numbers[places] == numbers, places, -1)

    def label_masks(self, positions: Positions) -> dict[str, NDArray[np.bool_]]:
        """Return, for every label met, which of the nodes at `positions` carry it."""
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


def rows_by_key(keys: NodeKeys, places: Positions, values: Sequence[Any]) -> Positions:
    """Return the indices of nodes in the order of the rows: label by label, each sorted by its key.

    `places` and `values` are those of `NodeKeys`; nodes without a key come last, in the order given. A
    ProjectionError if the values of a key are missing, of several kinds, neither whole numbers nor strings,
    or not unique.
    """
    rows = []
    for place, label in enumerate(keys.by_label):
        own = np.flatnonzero(places == place)
        rows.append(own[_order(keys, label, [values[row] for row in own.tolist()])])
    return np.concatenate([*rows, np.flatnonzero(places < 0)])


def key_problems(keys: NodeKeys, places: Positions, values: Sequence[Any]) -> Iterator[str]:
    """Yield what is wrong with the values of each key, where `rows_by_key` raises the first."""
    for place, label in enumerate(keys.by_label):
        try:
            _order(keys, label, [values[row] for row in np.flatnonzero(places == place).tolist()])
        except ProjectionError as error:
            yield str(error)


def _order(keys: NodeKeys, label: str, values: Sequence[Any]) -> Positions:
    """Return the indices of values of the key of `label`, sorted."""
    which = f"key {keys.by_label[label]!r}" + (f" of label {label!r}" if label else "")
    missing = sum(value is None for value in values)
    if missing:
        must = "a key must be on all" + (" of its label" if label else ", or be of a label: LABEL=PROPERTY")
        raise ProjectionError(f"{which} is missing on {missing} of {len(values)} nodes: {must}")
    kinds = set(map(type, values))
    if kinds not in ({int}, {str}, set()):
        mixed = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ProjectionError(f"{which} has {mixed} values: a key must be all whole numbers or all strings")
    order = sorted(range(len(values)), key=values.__getitem__)
    twice = {values[one]: None for one, next_one in pairwise(order) if values[one] == values[next_one]}
    if twice:
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        raise ProjectionError(f"{which} is not unique: several nodes have {next(iter(twice))!r}{more}")
    return np.array(order, dtype=np.int64)


def id_prefix(connection: Connection, scope: Scope) -> str:
    """Return what all element ids of the database begin with.

    A ProjectionError if the database is empty, or its element ids do not end in a number.
    """
    if scope.any_id is None:
        raise ProjectionError(f"database {connection.server.database!r} has no nodes: load a graph first")
    parts = _ELEMENT_ID.fullmatch(scope.any_id)
    if parts is None:
        raise ProjectionError(
            f"element ids such as {scope.any_id!r} do not end in a number: this server cannot be read"
        )
    return parts[1]
