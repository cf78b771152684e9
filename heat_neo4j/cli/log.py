"""What the package logs while a command runs, as lines on stderr."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from heat_neo4j.cli.output import print_line

__all__ = ["log_lines", "print_log_line"]

_LOGGER = logging.getLogger("heat_neo4j")


class _Lines(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


def print_log_line(line: str) -> None:
    """Print one line of the log on stderr."""
    print_line(f"heat: {line}", err=True)


@contextmanager
def log_lines(say: Callable[[str], None] = print_log_line) -> Iterator[None]:
    """Say each line of the log of this package, and not in another way too, while the block runs.

    Parameters
    ----------
    say : callable
        Takes a line; called from whichever thread logs.
    """
    before, level = _LOGGER.handlers[:], _LOGGER.level
    _LOGGER.handlers = [handler for handler in before if not isinstance(handler, _Lines)] + [_Lines(say)]
    _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOGGER.handlers = before
        _LOGGER.setLevel(level)
