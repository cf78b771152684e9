"""Values of node properties, and sizes, as a person reads them."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["display_text", "format_bytes"]

_LONGEST_LIST = 12


def display_text(value: Any, longest: int = 240) -> str:
    """Return a property's value as one line, whatever its type; nothing for a missing one.

    Parameters
    ----------
    value : any
        As the driver gives it: a text, number, boolean, list, time, point, byte array or None.
    longest : int
        Most characters, at least 20; longer texts and lists of more than twelve end in an ellipsis.

    Examples
    --------
    >>> display_text(["a", True, 0.1 + 0.2])
    'a, yes, 0.3'
    >>> display_text(list(range(2000)), 20)
    '0, 1, 2,…, … (2,000)'
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return _cut(f"0x{value[:longest].hex()}", longest)
    if isinstance(value, list) or type(value) is tuple:  # points and durations are tuples too
        more = f", … ({len(value):,})" if len(value) > _LONGEST_LIST else ""
        shown = ", ".join(display_text(item, longest) for item in value[:_LONGEST_LIST])
        return _cut(shown, longest - len(more)) + more
    return _cut(" ".join(str(value).split()), longest)


def format_bytes(count: float) -> str:
    """Return a size for people, in powers of 1024: ``"3.2 GiB"``."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
