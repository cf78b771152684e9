"""How long to wait for a server that is away."""

from __future__ import annotations

__all__ = ["Backoff"]

_FIRST, _MOST = 1.0, 300.0


class Backoff:
    """Waits of 1, 2, 4, ... seconds, at most five minutes, up to a time after which to give up.

    Parameters
    ----------
    limit : float
        Seconds from the first failure in a row to the last attempt.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._since: float | None = None
        self._wait = _FIRST

    def succeeded(self) -> bool:
        """Take note that the server answers; return whether it was away."""
        was_away = self._since is not None
        self._since, self._wait = None, _FIRST
        return was_away

    def failed(self, now: float) -> float | None:
        """Return the seconds to wait after a failure at `now` (of a clock, in seconds), None to give up."""
        if self._since is None:
            self._since = now
        left = self._since + self._limit - now
        if left <= 0.0:
            return None
        wait, self._wait = self._wait, min(2.0 * self._wait, _MOST)
        return min(wait, left)
