"""Tables of Markdown pages."""

from __future__ import annotations

import re


def table(text: str, heading: str) -> dict[str, str]:
    """Return {first cell: second cell} of the first table that follows `heading`."""
    rows = re.search(r"^\|.*?(?=\n\n|\Z)", text[text.index(heading) :], re.MULTILINE | re.DOTALL)
    assert rows is not None
    cells = [re.findall(r"[^|]+", row) for row in rows[0].splitlines()[2:]]
    return {first.strip(): second.strip() for first, second, *_ in cells}


def first_column(text: str, heading: str) -> set[str]:
    """Return the names between backticks in the first column of the table that follows `heading`."""
    return set(re.findall(r"`(\w+)`", " ".join(table(text, heading))))
