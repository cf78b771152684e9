"""Start, recognise and end the server's process."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from heat_neo4j.local_server.settings import server_environment

if TYPE_CHECKING:
    import psutil

__all__ = ["end_process", "find_process", "listening", "spawn"]

CLOCK_TOLERANCE = 5.0
"""Seconds by which the begin of a process may move: the system derives it from the wall clock."""

KILL_TIMEOUT = 10.0


def spawn(java: Path, arguments: Path, console: Path) -> psutil.Process:
    """Start ``java @arguments`` in its own session, so that it outlives this process and its terminal.

    The file `console` gets its output; it is emptied first, and for the owner only.
    """
    import psutil

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
    import psutil

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
    import psutil

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
    import psutil

    try:
        connections = process.net_connections("inet")
    except psutil.Error:
        return {}
    return {
        entry.laddr.port: entry.laddr.ip.removeprefix("::ffff:")  # Java's way to write an IPv4 address
        for entry in connections
        if entry.status == psutil.CONN_LISTEN
    }
