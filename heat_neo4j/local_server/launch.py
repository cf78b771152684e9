"""The process of a server: settings, start, the wait until it serves, recognition and end."""

import contextlib
import json
import os
import re
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import psutil

from heat_neo4j._utils.errors import os_errors_as
from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.folders import ServerFolder, ServerRecord
from heat_neo4j.local_server.releases import Release
from heat_neo4j.local_server.settings import (
    ADDRESS,
    Memory,
    argument_file,
    choose_ports,
    java_options,
    server_environment,
    set_initial_password,
    write_settings,
)

TAIL = 1 << 18  # bytes read from the end of each log
QUERY_TIMEOUT = 30.0
"""Seconds for one query: the first compiles half of Neo4j, on a busy machine for several seconds."""

PORT_ATTEMPTS = 3
POLL = 0.25
KILL_TIMEOUT = 10.0
CLOCK_TOLERANCE = 5.0
"""Seconds by which the begin of a process may move: the system derives it from the wall clock."""

STOP_AFTER_FAILURE = 20.0

PORT = re.compile(r"Address already in use|is already in use, cannot bind")
THROWN = re.compile(
    r"(?:Caused by: |Exception in thread \S+ )?(?:[a-z]\w*\.)+\w+(?:Exception|Error): (?P<text>.+)"
)
ERROR = re.compile(r"\d{4}-\d\d-\d\d \S+ ERROR\s+(?P<text>.+)")


class PortTaken(Exception):  # noqa: N818  (not an error yet: another port is tried)
    """Raised if another program took a port after it was chosen."""


class LogMarks:
    """The lines that a start of a server adds to its logs; the console's is always new."""

    def __init__(self, folder: ServerFolder) -> None:
        logs = (folder.server_log, folder.debug_log)
        sizes = {log: log.stat().st_size if log.exists() else 0 for log in logs}
        self._marks = {folder.console_log: 0, **sizes}

    def text(self) -> str:
        """Return what all logs gained since, the console's first."""
        parts = []
        for path, mark in self._marks.items():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(mark if mark <= size else 0, size - TAIL))  # smaller than before: rotated
                parts.append(file.read().decode("utf-8", "replace"))
        return "\n".join(parts)

    def port_taken(self) -> bool:
        """Return whether one of the ports was taken when the server started."""
        return PORT.search(self.text()) is not None

    def innermost_cause(self) -> str:
        """Return the message of the innermost cause, from Neo4j or Java."""
        lines = _plain_lines(self.text())
        causes = [match["text"] for line in lines if (match := THROWN.match(line))]
        errors = [match["text"] for line in lines if (match := ERROR.match(line))]
        if reasons := causes or errors:
            return reasons[-1].strip()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        return f"it gave no reason; its last log line is: {last}"


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


def _query(http_port: int, password: str) -> tuple[int | None, str]:
    """Run ``RETURN 1`` over HTTP; return the status (None without a response) and the error message.

    Success shows more than an open port: the database is online and the password fits.
    """
    import requests

    with requests.Session() as session:
        session.trust_env = False  # no proxy
        try:
            response = session.post(
                f"http://{ADDRESS}:{http_port}/db/neo4j/query/v2",
                json={"statement": "RETURN 1"},
                auth=("neo4j", password),
                timeout=QUERY_TIMEOUT,
            )
        except requests.RequestException as error:
            return None, str(error)
    try:
        return response.status_code, str(response.json()["errors"][0]["message"])
    except (ValueError, LookupError, TypeError):
        return response.status_code, response.text[:200]


def launch(
    folder: ServerFolder,
    release: Release,
    java: Path,
    jars: Sequence[Path],
    memory: Memory,
    ports: tuple[int | None, int | None],
    timeout: float,
) -> ServerRecord:
    """Start a stopped server; return when it serves queries, within `timeout` seconds.

    Ports are those of Bolt and HTTP, None to choose. Nothing is left running if it fails.
    """
    password = folder.ensure_password()
    # As Neo4j's own start script does: a plugin that extends the server must be on its class path too.
    class_path = [*jars, *sorted((folder.path / "plugins").glob("*.jar"))]
    last = folder.read_record()
    last_ports = (last.bolt_port, last.http_port) if last else None
    for attempt in range(PORT_ATTEMPTS):
        bolt, http = choose_ports(ports, last_ports if attempt == 0 else None)
        conf = write_settings(folder, release, memory, bolt, http)
        if not folder.has_data:
            set_initial_password(folder, java, jars, password)
        arguments = [
            *java_options(class_path, memory),
            release.main_class,
            f"--home-dir={folder.path}",
            f"--config-dir={conf}",
        ]
        argument_file(folder.arguments_file, arguments)
        try:
            return _run(folder, release, java, (bolt, http), password, timeout)
        except PortTaken:
            continue
    raise LocalServerError(
        f"Neo4j {release.version} did not start: another program took port {bolt} or {http} in the meantime; "
        "give free ones with --bolt-port and --http-port"
    )


def _run(
    folder: ServerFolder, release: Release, java: Path, ports: tuple[int, int], password: str, timeout: float
) -> ServerRecord:
    """Start the process, record it, and wait; on any failure end it again."""
    logs = LogMarks(folder)
    with os_errors_as(LocalServerError, f"cannot start {java}"):
        process = spawn(java, folder.arguments_file, folder.console_log)
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
    # Not a retry of one call: each turn checks four different outcomes.
    deadline = time.monotonic() + timeout
    message = ""
    while time.monotonic() < deadline:
        alive = find_process(process.pid, record.created, folder.arguments_file) is not None
        if not alive and logs.port_taken():
            raise PortTaken
        if not alive:
            raise _failure(folder, record, logs.innermost_cause())
        if {record.bolt_port, record.http_port} <= listening(process).keys():
            status, message = _query(record.http_port, password)  # the port is ours: the password goes there
            if status == HTTPStatus.ACCEPTED:
                return
            if status == HTTPStatus.UNAUTHORIZED:
                wrong = f"{folder.password_file} does not hold the password of user neo4j; correct the file"
                raise _failure(folder, record, wrong)
        time.sleep(POLL)
    raise _failure(folder, record, f"not ready within {timeout:.0f} s: {message or logs.innermost_cause()}")


def _failure(folder: ServerFolder, record: ServerRecord, reason: str) -> LocalServerError:
    return LocalServerError(
        f"Neo4j {record.version} did not start: {reason} (logs: {folder.server_log.parent})"
    )


def spawn(java: Path, arguments: Path, console: Path) -> psutil.Process:
    """Start ``java @arguments`` in its own session, so that it outlives this process and its terminal.

    The file `console` gets its output; it is emptied first, and for the owner only.
    """
    console.unlink(missing_ok=True)
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        java,
        [str(java), f"@{arguments}"],
        server_environment(),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(console), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return psutil.Process(pid)


def find_process(pid: int, created: float, arguments: Path) -> psutil.Process | None:
    """Return the process that began at `created` (seconds since 1970) with the file `arguments`, or None.

    The system may have given the pid to another process. For an instant after the start it shows no command
    line. A process whose first thread has ended holds its ports and files until the other threads end.
    """
    with contextlib.suppress(ChildProcessError):  # a dead child stays a zombie until it is waited for
        os.waitpid(pid, os.WNOHANG)
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - created) <= CLOCK_TOLERANCE
        try:
            command = process.cmdline()
            same = same and (command == [] or f"@{arguments}" in command)
        except psutil.ZombieProcess:
            same = same and process.num_threads() > 1
    except psutil.Error:
        return None
    return process if same else None


def end_process(process: psutil.Process, timeout: float) -> bool:
    """Terminate a process, after `timeout` seconds kill it; return whether it ended without a kill.

    Neo4j recovers from a kill at its next start: committed data is in its transaction log.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        try:
            process.wait(timeout)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(KILL_TIMEOUT)
            return False
    return True


def listening(process: psutil.Process) -> dict[int, str]:
    """Return the ports that the process listens on, each with its address."""
    try:
        connections = process.net_connections("inet")
    except psutil.Error:
        return {}
    return {
        entry.laddr.port: entry.laddr.ip.removeprefix("::ffff:")  # Java's way to write an IPv4 address
        for entry in connections
        if entry.status == psutil.CONN_LISTEN
    }
