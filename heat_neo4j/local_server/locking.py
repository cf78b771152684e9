"""A lock between processes, released by the system even when its holder is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from heat_neo4j.errors import LocalServerError

__all__ = ["hold_lock"]


@contextmanager
def hold_lock(path: Path, *, what: str, timeout: float) -> Iterator[None]:
    """Hold the lock file `path` during the block; wait for another holder.

    Parameters
    ----------
    path : Path
        Created if missing.
    what : str
        What the holder does, for the message: ``"starting this server"``.
    timeout : float
        How long to wait, in seconds.

    Raises
    ------
    LocalServerError
        If another process still holds it after that time.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout)
    except Timeout:
        raise LocalServerError(
            f"another process has been {what} for {timeout:.0f} s (lock file {path}); "
            "wait for it or end it, then try again"
        ) from None
    try:
        yield
    finally:
        lock.release()
