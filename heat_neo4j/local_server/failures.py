"""Why a server did not come up, in one line, from what it logged."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from heat_neo4j.local_server.folders import ServerFolder

__all__ = ["LogMarks", "PortTaken"]

TAIL = 1 << 18
"""Bytes of each log that are looked at, from its end."""

PORT = re.compile(r"Address already in use|is already in use, cannot bind")
CAUSES = (
    (
        re.compile(
            r"java\.lang\.OutOfMemoryError|[Ii]nsufficient memory|Cannot allocate memory"
            r"|Could not reserve enough space|exceeds physical memory"
            r"|Invalid maximum heap size|exceeds the maximum representable size"
        ),
        "there is not enough memory for it; give less with --heap and --page-cache",
    ),
    (
        re.compile(r"locked by another process|database is already in use|FileLockException"),
        "another Neo4j already uses its data; end that one first",
    ),
    (re.compile(r"No space left on device"), "the disk is full; make room"),
)
DATABASE = re.compile(r"Failed to start DatabaseId\{\w+\[(?P<name>\w+)\]\}")
THROWN = re.compile(
    r"(?:Caused by: |Exception in thread \S+ )?(?:[a-z]\w*\.)+\w+(?:Exception|Error): (?P<text>.+)"
)
ERROR = re.compile(r"\d{4}-\d\d-\d\d \S+ ERROR\s+(?P<text>.+)")


class PortTaken(Exception):  # noqa: N818  (not an error yet: another port is tried)
    """Somebody took a port between our choice and the server's."""


@dataclass(frozen=True)
class LogMarks:
    """Where each log of a server ended before a start, so that only that start's lines are read.

    Parameters
    ----------
    marks : dict of Path to int
        Size in bytes of each log at that time; the console log is always new.
    """

    marks: dict[Path, int]

    @classmethod
    def of(cls, folder: ServerFolder) -> LogMarks:
        """Mark the present ends of the logs."""
        logs = (folder.server_log, folder.debug_log)
        marks = {log: log.stat().st_size if log.exists() else 0 for log in logs}
        return cls({folder.console_log: 0, **marks})

    def text(self) -> str:
        """Return what was written since to all logs, the console's first."""
        found = []
        for path, mark in self.marks.items():
            try:
                with path.open("rb") as file:
                    size = file.seek(0, 2)
                    file.seek(max(mark if mark <= size else 0, size - TAIL))  # smaller than before: rotated
                    found.append(file.read().decode("utf-8", "replace"))
            except FileNotFoundError:
                continue
        return "\n".join(found)

    def port_taken(self) -> bool:
        """Say whether the server found one of its ports taken."""
        return PORT.search(self.text()) is not None

    def failed_database(self) -> str | None:
        """Return the name of a database that did not start, which does not always end the server."""
        found = DATABASE.search(self.text())
        return found["name"] if found else None

    def known_cause(self) -> str | None:
        """Return what is wrong and what to do, if it is something that we know."""
        text = self.text()
        return next((meaning for pattern, meaning in CAUSES if pattern.search(text)), None)

    def innermost_cause(self) -> str:
        """Return the innermost cause that Neo4j or Java gives, in their words."""
        lines = _plain_lines(self.text())
        causes = [match["text"] for line in lines if (match := THROWN.match(line))]
        errors = [match["text"] for line in lines if (match := ERROR.match(line))]
        if said := causes or errors:
            return said[-1].strip()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        return f"it gave no reason; the last that it logged is: {last}"


def _plain_lines(text: str) -> list[str]:
    """Return the lines of logs; those that are JSON objects become message and stack trace."""
    lines: list[str] = []
    for line in text.splitlines():
        entry = None
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
        if isinstance(entry, dict):
            lines.append(f"{entry.get('time')} {entry.get('level')} {entry.get('message')}")
            lines += str(entry.get("stacktrace", "")).splitlines()
        else:
            lines.append(line)
    return lines
