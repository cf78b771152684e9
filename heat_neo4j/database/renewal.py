"""A thread that renews, for as long as some work lasts, what would expire without it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from heat_neo4j.errors import HeatError

__all__ = ["Renewal"]

_log = logging.getLogger(__name__)


class Renewal:
    """Calls `renew` at intervals while the context lasts, or until it is told that there is nothing to renew.

    A server that is away is no matter here: the work itself will meet it.

    Parameters
    ----------
    renew : callable
        Renews; returns whether it is still ours.
    seconds : float
        Between two calls.
    """

    def __init__(self, renew: Callable[[], bool], seconds: float) -> None:
        self._renew, self._seconds = renew, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="heat renewal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._over.wait(self._seconds):
            try:
                if not self._renew():
                    return
            except HeatError as error:
                _log.debug("not renewed: %s", error)
