"""One start of a server: settings, process, and the wait until it serves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.failures import LogMarks, PortTaken
from heat_neo4j.local_server.folders import ServerFolder, ServerRecord
from heat_neo4j.local_server.java import argument_file, java_options, set_initial_password, write_settings
from heat_neo4j.local_server.process import end_process, find_process, listening, spawn
from heat_neo4j.local_server.readiness import Answer, ask
from heat_neo4j.local_server.releases import Release
from heat_neo4j.local_server.resources import Memory, choose_ports

if TYPE_CHECKING:
    import psutil

__all__ = ["arguments_path", "launch"]

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
