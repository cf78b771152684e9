"""The health file, which shows that the worker is alive."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from heat_neo4j._utils.output_file import write_output
from heat_neo4j.errors import ConfigError

__all__ = ["HealthFile"]


class HealthFile:
    """A JSON file that the worker writes again and again, and removes when it ends; none without a path.

    The thread that does the work writes it at each report of progress: the file of a worker that hangs grows
    old. The same state is written again after `seconds` at the earliest.
    """

    def __init__(self, path: Path | None = None, seconds: float = 5.0) -> None:
        self._path, self._seconds = path, seconds
        self._state: dict[str, Any] = {}
        self._written = -seconds

    def open(self) -> None:
        """Write the file for the first time; a ConfigError if it cannot be written."""
        self._write()

    def now(self, **state: Any) -> None:
        """Update the state, and write it if it changed or the file is old; failures only let the file age."""
        changed = any(self._state.get(name, self) != value for name, value in state.items())
        self._state.update(state)
        if changed or time.monotonic() - self._written >= self._seconds:
            with suppress(ConfigError):
                self._write()

    def close(self) -> None:
        """Remove the file."""
        if self._path is not None:
            with suppress(OSError):
                self._path.resolve().unlink(missing_ok=True)

    def _write(self) -> None:
        if self._path is None:
            return
        self._written = time.monotonic()
        content = {"pid": os.getpid(), "written": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **self._state}
        write_output(self._path, f"{json.dumps(content, indent=2)}\n".encode(), "--health-file")
