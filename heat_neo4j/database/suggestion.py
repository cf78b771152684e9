"""What a name that the database does not have was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean"]


def did_you_mean(name: str, there: Iterable[str]) -> str:
    """Return ``": did you mean 'year'?"`` for the nearest of the other names, case aside; "" if none is near.

    Examples
    --------
    >>> did_you_mean("YAER", ["title", "year"])
    ": did you mean 'year'?"
    >>> did_you_mean("year", ["title", "year"])
    ''
    """
    folded = {other.casefold(): other for other in sorted(there) if other != name}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f": did you mean {folded[close[0]]!r}?" if close else ""
