"""Compact storage of element ids and keys of nodes: a few bytes each instead of a hundred."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.keys import NodeKeys

_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class StoredKeys:
    """The keys of N nodes, integers or strings, which identify a node in addition to its element id."""

    names: tuple[str, ...]  # of the properties
    are_texts: tuple[bool, ...]  # whether the values of each property are text
    places: NDArray[np.int16]  # (N,): which property holds a node's key, -1 if none does
    numbers: NDArray[np.int64]  # (N,): the key of a node, if it is a number
    bounds: NDArray[np.int64]  # (N + 1,): where the key of a node begins in `text`, if it is text
    text: bytes

    @classmethod
    def of(cls, keys: NodeKeys, places: NDArray[np.int64], values: Sequence[Any]) -> Self:
        """Return the keys of nodes; `places` and `values` are those of `NodeKeys`."""
        own = [value if place >= 0 else None for value, place in zip(values, places.tolist(), strict=True)]
        texts = [value.encode() if isinstance(value, str) else b"" for value in own]
        numbers = [int(value) if value is not None and not isinstance(value, str) else 0 for value in own]
        kinds = {place: isinstance(value, str) for value, place in zip(own, places.tolist(), strict=True)}
        names = tuple(keys.by_label.values())
        return cls(
            names,
            tuple(kinds.get(place, False) for place in range(len(names))),
            places.astype(np.int16),
            np.array(numbers, dtype=np.int64),
            np.cumsum([0, *map(len, texts)], dtype=np.int64),
            b"".join(texts),
        )

    def values(self, rows: NDArray[np.int64]) -> list[int | str | None]:
        """Return the keys of some nodes, None for a node without."""
        columns = (self.places[rows], self.numbers[rows], self.bounds[rows], self.bounds[rows + 1])
        return [
            None if place < 0 else self.text[begin:end].decode() if self.are_texts[place] else number
            for place, number, begin, end in zip(*(column.tolist() for column in columns), strict=True)
        ]


class ElementIds(Sequence[str]):
    """A sequence of element ids, formatted on demand; `keys` holds the keys of the same nodes, if any.

    >>> ids = ElementIds("4:59cf:", np.array([7, 12]))
    >>> ids[1], "4:59cf:7" in ids, list(ids[:1])
    ('4:59cf:12', True, ['4:59cf:7'])
    """

    def __init__(self, prefix: str, numbers: NDArray[np.int64], keys: StoredKeys | None = None) -> None:
        self._prefix, self._numbers, self.keys = prefix, numbers, keys

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "ElementIds": ...
    def __getitem__(self, place: int | slice) -> "str | ElementIds":
        if isinstance(place, slice):
            return ElementIds(self._prefix, self._numbers[place])
        return f"{self._prefix}{self._numbers[place]}"

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _AT_ONCE):
            for number in self._numbers[begin : begin + _AT_ONCE].tolist():
                yield f"{self._prefix}{number}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ElementIds):
            return self._prefix == other._prefix and np.array_equal(self._numbers, other._numbers)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ElementIds({len(self):,} of {self._prefix}...)"
