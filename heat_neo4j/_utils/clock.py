"""`Clock`: seconds of the stages of a run."""

from collections.abc import Mapping
from time import perf_counter


class Clock:
    """Seconds of each stage, in order."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = self._since = perf_counter()

    def lap(self, stage: str) -> None:
        """Add the time since the last stage ended to that of `stage`."""
        now = perf_counter()
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + now - self._since, 3)
        self._since = now

    def laps(self, stages: Mapping[str, float]) -> None:
        """Add the times of stages measured elsewhere."""
        self.seconds.update(stages)
        self._since = perf_counter()

    def left(self, limit: float | None) -> float | None:
        """Return the seconds left of `limit`, at least 0; None if there is no limit."""
        return None if limit is None else max(limit - (perf_counter() - self._began), 0.0)
