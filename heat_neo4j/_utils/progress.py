"""Progress callbacks."""

from collections.abc import Callable
from typing import Any

from heat_neo4j._utils.display import printable

_WIDTH = 22  # characters of a stage, before its bar

Progress = Callable[[str, int, int], None]
"""Called as ``on_progress(stage, done, total)``: the stage's name, units done so far, total units.

``done`` starts at 0, ends at ``total``, and never decreases within a stage.
"""


def no_progress(stage: str, done: int, total: int) -> None:
    """Do nothing."""


def prefixed(on_progress: Progress, prefix: str) -> Progress:
    """Return a callback that prepends `prefix` to the name of each stage."""
    return lambda stage, done, total: on_progress(prefix + stage, done, total)


class ProgressBars:
    """A callback that draws one bar per stage, in a terminal or a notebook; `options` are passed to tqdm."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Update the bar of this stage, and close that of the previous one."""
        from tqdm.auto import tqdm

        if self._bar is None or stage != self._stage or done < self._bar.n:
            self.close()
            # Stage names can contain names from the database.
            name = f"{printable(stage):<{_WIDTH}}"
            self._bar, self._stage = tqdm(total=total, desc=name, **self._options), stage
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done >= total:
            self.close()

    def close(self) -> None:
        """Close the current bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def as_progress(on_progress: Progress | bool) -> Progress:
    """Return the given callback, one that draws bars for True, or one that does nothing for False."""
    if isinstance(on_progress, bool):
        return ProgressBars() if on_progress else no_progress
    return on_progress
