"""Ctrl-C that is not lost.

Python drops a KeyboardInterrupt that is raised while it runs inside a callback of compiled code or a
finaliser. A long run would then go on as if nothing had been pressed. So the interrupt is also remembered,
and raised again at the next report of progress.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["check", "remembered"]

_pressed = threading.Event()


@contextmanager
def remembered() -> Iterator[None]:
    """Remember Ctrl-C while the block runs, beside raising KeyboardInterrupt.

    Where somebody else handles the signal, or it is ignored (a job in the background), all stays as it is.
    """
    _pressed.clear()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed, once for one press."""
    if _pressed.is_set():
        _pressed.clear()
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _pressed.set()
    signal.default_int_handler(number, frame)
