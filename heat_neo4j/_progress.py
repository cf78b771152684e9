"""The one shape of a progress callback."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "no_progress", "prefixed"]

Progress = Callable[[str, int, int], None]
"""Called as ``on_progress(stage, done, total)``: the stage's name, units done so far, units in all.

``done`` starts at 0 and ends at ``total``; it never falls within a stage.
"""


def no_progress(stage: str, done: int, total: int) -> None:
    """Say nothing."""


def prefixed(on_progress: Progress, prefix: str) -> Progress:
    """Return a callback that tells `on_progress` every stage with a prefix before its name."""
    return lambda stage, done, total: on_progress(prefix + stage, done, total)
