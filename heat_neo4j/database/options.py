"""Arguments that every way to write takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from heat_neo4j._progress import Progress
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.runs import EMBEDDING, LINKS

__all__ = ["WriteOptions", "check_parts"]


class WriteOptions(TypedDict, total=False):
    """Keyword arguments of `Run` that every way to write takes."""

    names: WriteNames
    parameters: Mapping[str, Any] | None
    stage_seconds: Mapping[str, float] | None
    facts: Mapping[str, Any] | None
    overwrite: bool
    index: bool
    batch_size: int
    on_progress: Progress


def check_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a run in their order.

    Raises
    ------
    ValueError
        If `parts` is not a list of "embedding", "links" or both.
    """
    chosen = tuple(part for part in (EMBEDDING, LINKS) if part in parts)
    if isinstance(parts, str) or not chosen or set(parts) - set(chosen):
        raise ValueError(f"parts must be a list of {EMBEDDING!r}, {LINKS!r} or both, got {parts!r}")
    return chosen
