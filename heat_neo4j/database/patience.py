"""How long a server that does not answer is waited for, and what is said meanwhile.

A statement that runs is no silence: the server then sends a sign of life every minute, and tells the driver
after how long without one (two minutes, at Neo4j's defaults) it is to hold the connection for lost.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from neo4j.exceptions import DriverError, Neo4jError

__all__ = ["CONNECT_SECONDS", "PATIENCE_SECONDS", "Patience"]

T = TypeVar("T")

CONNECT_SECONDS = 15.0
"""How long one attempt to connect may take, with all that is said before the first statement."""

PATIENCE_SECONDS = 120.0
"""How long a server that was lost is waited for, from the last time that it was heard of."""

_SAY_SECONDS = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 10.0
_log = logging.getLogger(__name__)


class Patience:
    """Repeats transactions that a lost server cut off, until it has been silent for too long.

    What is tried after the patience has ended, such as giving a lease back, is tried once.

    Parameters
    ----------
    address : str
        How the log names the server.
    seconds : float
        How long a lost server is waited for; 0 repeats nothing.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self._address, self._seconds = address, seconds
        self._lost_since: float | None = None

    def repeated(self, attempt: Callable[[], T], doing: str) -> T:
        """Return what `attempt` returns; repeat it while its errors are such that this may help."""
        pause = _FIRST_PAUSE
        with self.watched(doing):
            while True:
                began = time.monotonic()
                try:
                    result = attempt()
                except (DriverError, Neo4jError) as error:
                    if not error.is_retryable():
                        raise
                    now = time.monotonic()
                    if self._lost_since is None:
                        self._lost_since = began if _is_silence(error) else now
                    if now - self._lost_since >= self._seconds:
                        raise
                    time.sleep(pause * random.uniform(0.8, 1.2))
                    pause = min(2.0 * pause, _LONGEST_PAUSE)
                else:
                    self._lost_since = None
                    return result

    @contextmanager
    def watched(self, doing: str) -> Iterator[None]:
        """Log every ten seconds that the block has not ended."""
        over = threading.Event()

        def say() -> None:
            began = time.monotonic()
            while not over.wait(_SAY_SECONDS):
                waited = time.monotonic() - began
                _log.info("waiting for Neo4j at %s: %s, %.0f s", self._address, doing, waited)

        watcher = threading.Thread(target=say, name="heat waiting", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()


def _is_silence(error: BaseException) -> bool:
    """Return whether a server was given up because nothing came from it, rather than because it hung up."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return True
        cause = cause.__cause__
    return False
