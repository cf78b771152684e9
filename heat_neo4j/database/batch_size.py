"""`BatchSize`: the number of rows per transaction, reduced when a limit of the server is reached."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from heat_neo4j.database.limits import Limits
from heat_neo4j.database.server_errors import server_limit
from heat_neo4j.errors import HeatError

T = TypeVar("T")
_PAUSE = 1.0
_log = logging.getLogger(__name__)


class _Sliceable(Protocol):
    """Rows that can be divided: a sequence or an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Any: ...


Rows = TypeVar("Rows", bound=_Sliceable)


class BatchSize:
    """The number of rows per transaction, halved whenever a transaction reaches a limit of the server.

    If even one row does not fit, or nothing was written for `seconds` after the first failure, the limit's
    error is raised, which names the server's setting. Several lanes can run batches concurrently; each has
    its own deadline.
    """

    def __init__(
        self,
        rows: int,
        *,
        seconds: float = Limits.patience_seconds,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.rows = rows
        self._seconds, self._clock, self._sleep = seconds, clock, sleep
        self._failing_since: dict[int, float] = {}

    def succeeded(self, lane: int = 0) -> None:
        """Record that a transaction was committed."""
        self._failing_since.pop(lane, None)

    def shrink(self, error: HeatError, tried: int, lane: int = 0) -> None:
        """Halve the size after a transaction of `tried` rows failed; reraise if that cannot help."""
        limit = server_limit(error)
        if limit is None:
            raise error
        now = self._clock()
        is_over = now - self._failing_since.setdefault(lane, now) >= self._seconds
        is_smallest = tried <= 1
        if is_over or (is_smallest and not limit.is_shared):
            raise error
        if tried // 2 < self.rows:
            self.rows = max(tried // 2, 1)
            _log.info("the server's %s is reached: %d rows in a batch now", limit.setting, self.rows)
        if is_smallest:  # other transactions hold the memory
            self._sleep(_PAUSE)

    def until_done(self, attempt: Callable[[int], bool]) -> None:
        """Call `attempt` with the number of rows until it returns True: nothing is left."""
        is_done = False
        while not is_done:
            tried = self.rows
            try:
                is_done = attempt(tried)
            except HeatError as error:
                self.shrink(error, tried)
            else:
                self.succeeded()

    def parts(self, attempt: Callable[[Rows], T], rows: Rows) -> Iterator[tuple[Rows, T]]:
        """Yield consecutive parts of `rows`, each with the result of `attempt`."""
        begin = 0
        while begin < len(rows):
            part = rows[begin : begin + self.rows]
            try:
                result = attempt(part)
            except HeatError as error:
                self.shrink(error, len(part))
            else:
                self.succeeded()
                yield part, result
                begin += len(part)
