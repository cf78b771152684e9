"""Element ids of nodes of one database, which differ by a number alone: 8 bytes each, and not 100."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["ElementIds"]

_AT_ONCE = 10_000


class ElementIds(Sequence[str]):
    """A sequence of element ids, made when they are asked for.

    >>> ids = ElementIds("4:59cf:", np.array([7, 12]))
    >>> ids[1], "4:59cf:7" in ids, list(ids[:1])
    ('4:59cf:12', True, ['4:59cf:7'])
    """

    def __init__(self, prefix: str, numbers: NDArray[np.int64]) -> None:
        self._prefix, self._numbers = prefix, numbers

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

    def __contains__(self, value: object) -> bool:
        return bool(self._places(value).size)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return where an element id is; a ValueError if it is not there."""
        places = self._places(value)
        inside = places[(places >= start) & (places < (len(self) if stop is None else stop))]
        if not inside.size:
            raise ValueError(f"{value!r} is not among the element ids")
        return int(inside[0])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ElementIds):
            return self._prefix == other._prefix and np.array_equal(self._numbers, other._numbers)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ElementIds({len(self):,} of {self._prefix}...)"

    def _places(self, value: object) -> NDArray[np.int64]:
        number = value.removeprefix(self._prefix) if isinstance(value, str) else ""
        if not number.isdecimal() or value != f"{self._prefix}{int(number)}":
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._numbers == int(number))
