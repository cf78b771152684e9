"""One start of a server: settings, process, and the wait until it serves."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.folders import ServerFolder, ServerRecord
from heat_neo4j.local_server.java import argument_file, java_options, set_initial_password, write_settings
from heat_neo4j.local_server.process import end_process, find_process, listening, spawn
from heat_neo4j.local_server.releases import Release
from heat_neo4j.local_server.resources import ADDRESS, Memory, choose_ports

if TYPE_CHECKING:
    import psutil

__all__ = [
    "Answer",
    "LogMarks",
    "PortTaken",
    "arguments_path",
    "ask",
    "launch",
]

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


ANSWER_TIMEOUT = 30.0
"""Seconds for one answer: the first query compiles half of Neo4j, on a busy machine for several seconds."""


class Answer(Enum):
    """What the server said."""

    READY = "ready"
    NOT_YET = "not yet"
    WRONG_PASSWORD = "wrong password"


def ask(http_port: int, password: str) -> tuple[Answer, str]:
    """Run ``RETURN 1`` in database ``neo4j`` over HTTP, as user ``neo4j``.

    This is more than an open port: it says that the database is online and that the password fits. HTTP
    and not Bolt, because the driver belongs to another layer. To be called only after it is known that the
    port belongs to our process: the password is sent there.

    Parameters
    ----------
    http_port : int
        Port of 127.0.0.1.
    password : str
        Of user ``neo4j``.

    Returns
    -------
    tuple of (Answer, str)
        The answer, and the server's own words if it is not ready.
    """
    token = base64.b64encode(f"neo4j:{password}".encode()).decode("ascii")
    headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(ADDRESS, http_port, timeout=ANSWER_TIMEOUT)
    try:
        connection.request("POST", "/db/neo4j/query/v2", json.dumps({"statement": "RETURN 1"}), headers)
        response = connection.getresponse()
        body = response.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return Answer.NOT_YET, str(error)
    finally:
        connection.close()
    if response.status == http.client.UNAUTHORIZED:
        return Answer.WRONG_PASSWORD, _message(body)
    if response.status == http.client.ACCEPTED:
        return Answer.READY, ""
    return Answer.NOT_YET, _message(body)


def _message(body: str) -> str:
    try:
        return str(json.loads(body)["errors"][0]["message"])
    except (ValueError, LookupError, TypeError):
        return body[:200]


PORT_ATTEMPTS = 3
POLL = 0.25
STOP_AFTER_FAILURE = 20.0


def arguments_path(folder: ServerFolder) -> Path:
    """Return the argument file of a server's process; it is part of how the process is recognised."""
    return folder.path / "conf" / "java.args"


def launch(
    folder: ServerFolder,
    release: Release,
    java: Path,
    jars: Sequence[Path],
    memory: Memory,
    ports: tuple[int | None, int | None],
    timeout: float,
) -> ServerRecord:
    """Start a server that does not run, and return when it serves queries.

    Parameters
    ----------
    folder, release, java, jars, memory
        What to start and where.
    ports : pair of int or None
        Bolt and HTTP ports asked for; None to choose.
    timeout : float
        Seconds until it must serve.

    Raises
    ------
    LocalServerError
        If it does not come up; nothing is left running.
    """
    password = folder.ensure_password()
    # As Neo4j's own start script does: a plugin that extends the server must be on its class path too.
    class_path = [*jars, *sorted((folder.path / "plugins").glob("*.jar"))]
    before = folder.read_record()
    remembered = (before.bolt_port, before.http_port) if before else None
    for attempt in range(PORT_ATTEMPTS):
        bolt, http = choose_ports(ports, remembered if attempt == 0 else None)
        conf = write_settings(folder, release, memory, bolt, http)
        if not folder.has_data:
            set_initial_password(folder, java, jars, password)
        arguments = [
            *java_options(class_path, memory),
            release.main_class,
            f"--home-dir={folder.path}",
            f"--config-dir={conf}",
        ]
        argument_file(arguments_path(folder), arguments)
        try:
            return _run(folder, release, java, (bolt, http), password, timeout)
        except PortTaken:
            continue
    raise LocalServerError(
        f"Neo4j {release.version} did not start: another program took port {bolt} or {http} meanwhile; "
        "give free ones with --bolt-port and --http-port"
    )


def _run(
    folder: ServerFolder, release: Release, java: Path, ports: tuple[int, int], password: str, timeout: float
) -> ServerRecord:
    """Start the process, record it, and wait; on any failure end it again."""
    logs = LogMarks.of(folder)
    try:
        process = spawn(java, arguments_path(folder), folder.console_log)
    except OSError as error:
        raise LocalServerError(f"cannot start {java}: {error.strerror}") from error
    record = ServerRecord(process.pid, process.create_time(), release.version, *ports)
    try:
        folder.write_record(record)
        _wait(process, folder, record, logs, password, timeout)
    except BaseException:
        end_process(process, STOP_AFTER_FAILURE)
        folder.write_record(ServerRecord(None, 0.0, release.version, *ports))
        raise
    return record


def _wait(
    process: psutil.Process,
    folder: ServerFolder,
    record: ServerRecord,
    logs: LogMarks,
    password: str,
    timeout: float,
) -> None:
    """Return when the server has answered a query."""
    deadline = time.monotonic() + timeout
    said = ""
    while time.monotonic() < deadline:
        alive = find_process(process.pid, record.created, arguments_path(folder)) is not None
        if not alive and logs.port_taken():
            raise PortTaken
        if (name := logs.failed_database()) is not None or not alive:  # it may go on without that database
            raise _failure(folder, record, logs.known_cause() or _unknown_cause(folder, logs, name))
        if {record.bolt_port, record.http_port} <= listening(process).keys():
            answer, said = ask(record.http_port, password)
            if answer is Answer.READY:
                return
            if answer is Answer.WRONG_PASSWORD:
                wrong = f"{folder.password_file} does not hold the password of user neo4j; correct the file"
                raise _failure(folder, record, wrong)
        time.sleep(POLL)
    raise _failure(folder, record, f"not ready within {timeout:.0f} s: {said or logs.innermost_cause()}")


def _unknown_cause(folder: ServerFolder, logs: LogMarks, database: str | None) -> str:
    cause = logs.innermost_cause()
    if database is None:
        return cause
    return (
        f"database {database}: {cause}; its files may be damaged or of another release: "
        f"restore {folder.path / 'data'} from a copy, or delete it"
    )


def _failure(folder: ServerFolder, record: ServerRecord, reason: str) -> LocalServerError:
    return LocalServerError(
        f"Neo4j {record.version} did not start: {reason} (logs: {folder.server_log.parent})"
    )
