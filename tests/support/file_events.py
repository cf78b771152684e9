"""What a test does at the file operations of this process: Python calls audit hooks before each of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_watchers: list[Callable[[str, tuple[Any, ...]], None]] = []


@contextmanager
def before_each(event: str, act: Callable[..., None]) -> Iterator[None]:
    """Call ``act(path, mode)`` before each "open", ``act(path)`` before each "os.rename" to a path.

    The mode is None if a file is opened by `os.open`. What `act` raises prevents the operation.
    """

    def watch(happens: str, arguments: tuple[Any, ...]) -> None:
        if happens != event:
            return
        path, *mode = arguments[:2] if event == "open" else arguments[1:2]
        if isinstance(path, str | Path):
            act(Path(path), *mode)

    _install()
    _watchers.append(watch)
    try:
        yield
    finally:
        _watchers.remove(watch)


@cache
def _install() -> None:
    """Install the one hook: they cannot be removed."""
    sys.addaudithook(lambda event, arguments: [watch(event, arguments) for watch in _watchers] and None)
