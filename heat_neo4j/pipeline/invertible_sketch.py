"""An invertible Bloom lookup table: finds the items that only one of two sets has.

Each item is added to one cell of each of three tables, chosen by its key. Tables are linear: subtracting the
tables of two sets cancels common items. A cell with a single remaining item reveals its key; the item is then
removed from its other cells, and so on (Goodrich and Mitzenmacher, "Invertible Bloom lookup tables", 2011;
Eppstein et al., "What's the difference? Efficient set reconciliation without prior context", 2011).

Here keys are pairs of 62-bit numbers with one value each, and the result is the keys whose values differ.
Sums are modulo the prime 2^31 - 1, so every nonzero difference has an inverse. A cell holds the sums of the
value, of the value times each part of the key, and of the value times a checksum of the key.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.packing import pack, unpack

Hashes = NDArray[np.uint64]

_PRIME = np.uint64(2**31 - 1)
_TABLES, _CELLS = 3, 640  # cells per table; about 1,500 differences can be found
_FIELDS = 6
_31 = np.uint64(31)


def mixed(values: Hashes) -> Hashes:
    """Return each value mixed by the finaliser of SplitMix64: one bit changed changes half of the others."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> _31)


def shortened(hashes: Hashes) -> Hashes:
    """Convert 64-bit hashes to 62-bit numbers, the form of keys in sketches."""
    return (((hashes >> np.uint64(32)) % _PRIME) << _31) | ((hashes & np.uint64(0xFFFFFFFF)) % _PRIME)


@dataclass(frozen=True, eq=False)
class InvertibleSketch:
    """A set of keys with values."""

    cells: NDArray[np.uint64]  # sums modulo 2^31 - 1, shape (6, 1920)

    @classmethod
    def of(cls, first: Hashes, second: Hashes, values: Hashes) -> Self:
        """Return the sketch of keys with hashed values, all of shape (n,).

        A key consists of two halves from `shortened`; keys must be distinct.
        """
        places, fields = _entries(first, second, values % (_PRIME - np.uint64(1)) + np.uint64(1))
        return cls(_summed(places, fields) % _PRIME)

    def differences(self, other: Self) -> Hashes | None:
        """Return the keys, shape (2, n), whose values differ or that only one of the two has.

        Returns None if there are too many.
        """
        remaining = (self.cells + _PRIME - other.cells) % _PRIME
        keys = [np.zeros((2, 0), dtype=np.uint64)]
        for _ in range(_TABLES * _CELLS):
            filled = np.flatnonzero(remaining.any(axis=0))
            if not filled.size:
                return np.concatenate(keys, axis=1)
            values = remaining[0, filled]
            parts = remaining[1:5, filled] * _inverse(values) % _PRIME
            candidates = parts[1::2] << _31 | parts[::2]
            places, fields = _entries(candidates[0], candidates[1], values)
            alone = (places == filled).any(axis=0) & (fields == remaining[:, filled]).all(axis=0)
            _, first_places = np.unique(candidates[:, alone], axis=1, return_index=True)
            chosen = np.flatnonzero(alone)[first_places]
            if not chosen.size:
                return None
            removed = _summed(places[:, chosen], fields[:, chosen]) % _PRIME
            remaining = (remaining + _PRIME - removed) % _PRIME
            keys.append(candidates[:, chosen])
        return None

    def to_text(self) -> str:
        """Return the sketch as text."""
        return pack(self.cells, "<u4")

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Restore the sketch that `to_text` described; raises ValueError if it is damaged."""
        cells = unpack(text, "<u4", _FIELDS * _TABLES * _CELLS).astype(np.uint64)
        if (cells >= _PRIME).any():
            raise ValueError("cells of the sketch are out of range")
        return cls(cells.reshape(_FIELDS, -1))


def _entries(first: Hashes, second: Hashes, values: Hashes) -> tuple[NDArray[np.int64], Hashes]:
    """Return the cells of keys with values, shape (3, n), and their contributions, shape (6, n)."""
    key = mixed(mixed(first) + second)
    low = (np.uint64(1) << _31) - np.uint64(1)
    parts = np.stack((first & low, first >> _31, second & low, second >> _31, key % _PRIME))
    places = [
        table * _CELLS + (mixed(key ^ np.uint64(table + 1)) % np.uint64(_CELLS)).astype(np.int64)
        for table in range(_TABLES)
    ]
    return np.stack(places), np.concatenate((values[None], parts % _PRIME * values % _PRIME))


def _summed(places: NDArray[np.int64], fields: Hashes) -> Hashes:
    """Return the sums of the fields in each cell, shape (6, 1920); exact, as each is far below 2^53."""
    sums = np.zeros((_FIELDS, _TABLES * _CELLS))
    for row, field in enumerate(fields):
        weights = field.astype(np.float64)
        for cells in places:
            sums[row] += np.bincount(cells, weights=weights, minlength=_TABLES * _CELLS)
    return sums.astype(np.uint64)


def _inverse(values: Hashes) -> Hashes:
    """Return the inverse of each value modulo the prime, by Fermat's little theorem; 0 for 0."""
    result, power, exponent = np.ones_like(values), values.copy(), int(_PRIME) - 2
    while exponent:
        if exponent & 1:
            result = result * power % _PRIME
        power = power * power % _PRIME
        exponent >>= 1
    return result
