"""Argument checks: each names the parameter, the value received and the range allowed."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

__all__ = ["check_integer", "check_positive", "check_probability"]


def check_integer(name: str, value: Any, *, minimum: int) -> int:
    """Return `value` as an int that is at least `minimum`.

    Raises
    ------
    TypeError
        If `value` is not an integer (booleans are refused).
    ValueError
        If it is below `minimum`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a finite float above 0.

    Raises
    ------
    TypeError
        If `value` is not a real number.
    ValueError
        If it is 0, negative, NaN or infinite.
    """
    number = _check_real(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value}")
    return number


def check_probability(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1].

    Raises
    ------
    TypeError
        If `value` is not a real number.
    ValueError
        If it lies outside [0, 1] or is NaN.
    """
    number = _check_real(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
    return number


def _check_real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)
