"""A lock between processes, let go by the system even when its holder is killed."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heat_neo4j.errors import LocalServerError

__all__ = ["held"]


@contextmanager
def held(path: Path, *, what: str, timeout: float) -> Iterator[None]:
    """Hold the lock file `path` during the block, waiting for whoever has it.

    Parameters
    ----------
    path : Path
        Created if missing, never removed: removing a lock file lets two processes in.
    what : str
        What the holder is doing, for the message: ``"starting this server"``.
    timeout : float
        How long to wait, in seconds.

    Raises
    ------
    LocalServerError
        If another process still has it after that time.
    """
    with path.open("a") as file:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LocalServerError(
                        f"another process has been {what} for {timeout:.0f} s (lock file {path}); "
                        "wait for it or end it, then try again"
                    ) from None
                time.sleep(0.1)
        yield
