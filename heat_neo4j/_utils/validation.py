"""Argument checks: each error names the parameter, the value and the range.

A value of another type is a TypeError, one outside the range a ValueError. Ours and not scikit-learn's
`check_scalar`, whose import alone takes longer than ``heat --help``.
"""

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

LONGEST_LEASE = 86_400.0  # seconds; who finds a longer one takes it for damaged
MOST_COMPONENTS = 4096  # the most dimensions that a vector index of Neo4j takes
_LARGEST_COUNT = 2**31 - 1
_SMALLEST, _LARGEST = 1e-12, 1e12
_INT64_LIMIT = 1 << 63


def check_integer(name: str, value: Any, *, minimum: int, maximum: int | None = _LARGEST_COUNT) -> int:
    """Return `value` as an int from `minimum` to `maximum`; a boolean is no integer."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    if maximum is not None and int(value) > maximum:
        raise ValueError(f"{name} must be at most {maximum:,}, got {_check_real(name, value):.6g}")
    return int(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise ValueError unless `value` is one of some texts."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def is_integer(text: str) -> bool:
    """Return whether `text` is a 64-bit integer as Python prints it ("007" is a name, not the number 7)."""
    try:
        return str(int(text)) == text and -_INT64_LIMIT <= int(text) < _INT64_LIMIT
    except ValueError:
        return False


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a float from 1e-12 to 1e12, so that no result overflows."""
    number = _check_real(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value}")
    if not _SMALLEST <= number <= _LARGEST:
        raise ValueError(f"{name} must lie in [{_SMALLEST:g}, {_LARGEST:g}], got {number:g}")
    return number


def check_probability(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1]."""
    number = _check_real(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
    return number


def _check_real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return to_float(value)


def to_float(number: Any) -> float:
    """Return a number as a float, infinite if it is a whole number that no float can hold."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
