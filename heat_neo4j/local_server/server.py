"""`LocalServer`: a Neo4j Community server on this machine."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from heat_neo4j._utils.memory import machine_memory
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.errors import ConfigError, LocalServerError
from heat_neo4j.local_server.folders import NAME, ServerFolder, heat_home, hold_lock
from heat_neo4j.local_server.jars import install_jars
from heat_neo4j.local_server.launch import end_process, find_process, launch
from heat_neo4j.local_server.releases import DEFAULT_SERIES, RELEASES, find_release
from heat_neo4j.local_server.settings import ADDRESS, Memory, choose_memory, find_java

USER = "neo4j"
DEFAULT_NAME = "default"  # of the server that commands find without an address
NO_SERVER = "set NEO4J_URI, give an address (--uri), or start a local one with `heat server start`"
"""What to do where there is no server."""
START_TIMEOUT = 180.0
STOP_TIMEOUT = 60.0

Login = TypeVar("Login")
StopOutcome = Literal["stopped", "killed", "not running", "gone"]
"""Of `LocalServer.stop`: the server ended on request, was killed, did not run, or had ended by itself."""


@dataclass(frozen=True)
class ServerStatus:
    """The state of a local server.

    Parameters
    ----------
    name : str
        Name of the server.
    version : str
        Its Neo4j release.
    running : bool
        Whether it runs.
    pid : int, optional
        Its process.
    uri, browser : str, optional
        Addresses for drivers and for a browser; None unless it runs.
    folder : Path
        Folder of its data.
    password_file : Path
        File with its password.
    note : str
        Such as that the process ended by itself; mostly empty.
    """

    name: str
    version: str
    running: bool
    pid: int | None
    uri: str | None
    browser: str | None
    folder: Path
    password_file: Path
    note: str = ""

    def environment(self) -> list[str]:
        """Return shell lines that set NEO4J_*; the password stays in its file."""
        if self.uri is None:
            return []
        return [
            f"export NEO4J_URI={self.uri}",
            f"export NEO4J_USERNAME={USER}",
            f'export NEO4J_PASSWORD="$(cat {shlex.quote(str(self.password_file))})"',
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in vars(self).items()}
        return {**plain, "environment": self.environment()}


class LocalServer:
    """A Neo4j Community server on 127.0.0.1, without Docker, Maven or a system Java.

    Needs the extra ``local``. The first start of a release downloads it (155 MB for 5.26, 190 MB for
    2026); later ones need no network. Data stays in the user's data folder, one folder for each name and
    release series.

    ::

        with LocalServer() as server:
            uri, user, password = server.connection()

    Leaving the block stops the server if entering it started it; one that ran before keeps running.

    Parameters
    ----------
    version : str
        ``"5.26"`` (long-term support) or ``"2026"``.
    name : str
        One of several servers; letters, digits, ``-`` and ``_``.
    home : Path, optional
        Folder of jars and servers; ``$HEAT_HOME`` or the user's data folder by default.
    bolt_port, http_port : int, optional
        By default that of the last start, else a free one.
    heap, page_cache : str, optional
        Such as ``"512m"``; by default an eighth of the machine's memory, within limits.
    on_progress : Progress
        Called with the stages of download and start.

    Raises
    ------
    ValueError
        If version, name or a size is not as above.
    """

    def __init__(
        self,
        version: str = DEFAULT_SERIES,
        *,
        name: str = DEFAULT_NAME,
        home: Path | None = None,
        bolt_port: int | None = None,
        http_port: int | None = None,
        heap: str | None = None,
        page_cache: str | None = None,
        on_progress: Progress = no_progress,
    ) -> None:
        self.release = find_release(version)
        self.folder = ServerFolder((home or heat_home()).resolve(), name, self.release.series)
        self.ports = (bolt_port, http_port)
        usual = choose_memory(machine_memory())
        self.memory = Memory(heap or usual.heap, page_cache or usual.page_cache)
        self.on_progress = on_progress
        self._started_here = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._started_here:
            self.stop()

    def start(self, timeout: float = START_TIMEOUT) -> ServerStatus:
        """Start the server unless it runs, and return when it serves queries.

        Parameters
        ----------
        timeout : float
            Seconds until it must serve, the download not counted.

        Raises
        ------
        LocalServerError
            If it cannot be installed or does not start; the message gives the reason from its log.
        """
        java = find_java()
        self.folder.create()
        with self._locked(timeout):
            status = self.status()
            if status.running:
                self._check_ports()
                return status
            jars = install_jars(self.release, self.folder.home / "jars", on_progress=self.on_progress)
            stage = f"start Neo4j {self.release.version}"
            self.on_progress(stage, 0, 1)
            launch(self.folder, self.release, java, jars, self.memory, self.ports, timeout)
            self.on_progress(stage, 1, 1)
            self._started_here = True
            return self.status()

    def stop(self, timeout: float = STOP_TIMEOUT) -> StopOutcome:
        """Stop the server, whichever program started it.

        Parameters
        ----------
        timeout : float
            Seconds before it is killed; a kill loses no committed data, but the next start takes longer.

        Returns
        -------
        {"stopped", "killed", "not running", "gone"}
            See `StopOutcome`.
        """
        if not self.folder.path.exists():
            return "not running"
        with self._locked(timeout):
            record = self.folder.read_record()
            if record is None or record.pid is None:
                return "not running"
            process = find_process(record.pid, record.created, self.folder.arguments_file)
            outcome: StopOutcome = "gone"
            if process is not None:
                outcome = "stopped" if end_process(process, timeout) else "killed"
            self.folder.write_record(replace(record, pid=None, created=0.0))
            self._started_here = False
            return outcome

    def status(self) -> ServerStatus:
        """Return the server's state; change nothing."""
        record = self.folder.read_record()
        uri = browser = pid = None
        note = "" if record else "never started"
        if record and record.pid is not None:
            if find_process(record.pid, record.created, self.folder.arguments_file) is not None:
                pid = record.pid
                uri = self.last_address
                browser = f"http://{ADDRESS}:{record.http_port}/browser/"
            else:
                note = f"its process {record.pid} is gone: killed or crashed, or the machine was restarted"
        return ServerStatus(
            name=self.folder.name,
            version=record.version if record else self.release.version,
            running=pid is not None,
            pid=pid,
            uri=uri,
            browser=browser,
            folder=self.folder.path,
            password_file=self.folder.password_file,
            note=note,
        )

    @property
    def last_address(self) -> str | None:
        """Address for drivers since the last start, which the next start keeps; None before the first."""
        record = self.folder.read_record()
        return f"bolt://{ADDRESS}:{record.bolt_port}" if record else None

    def connection(self) -> tuple[str, str, str]:
        """Return address, user and password of the running server.

        Raises
        ------
        LocalServerError
            If it does not run.
        """
        status = self.status()
        if status.uri is None:
            ended = f" ({status.note})" if status.note else ""
            raise LocalServerError(
                f"the local server {status.name!r} ({status.version}) is not running{ended}: "
                "run `heat server start`"
            )
        return status.uri, USER, self.folder.read_password()

    def _locked(self, timeout: float) -> Any:
        lock = self.folder.path / "start.lock"
        return hold_lock(lock, what="starting or stopping this server", timeout=timeout + STOP_TIMEOUT)

    def _check_ports(self) -> None:
        """Refuse ports other than those of the running server."""
        record = self.folder.read_record()
        assert record is not None
        for port, actual in zip(self.ports, (record.bolt_port, record.http_port), strict=True):
            if port not in (None, actual):
                raise LocalServerError(
                    f"the server already runs, with port {actual} and not {port}; stop it first"
                )


def local_servers(home: Path | None = None) -> list[LocalServer]:
    """Return every local server that has a folder, by name and release, running or not."""
    root = (home or heat_home()).resolve() / "servers"
    names = sorted(path.name for path in root.iterdir() if NAME.fullmatch(path.name)) if root.is_dir() else []
    servers = [LocalServer(series, name=name, home=home) for name in names for series in RELEASES]
    return [server for server in servers if server.folder.path.is_dir()]


def running_server(name: str = DEFAULT_NAME, home: Path | None = None) -> LocalServer | None:
    """Return the local server of that name that runs, or None; servers of several releases are an error."""
    servers = [LocalServer(series, name=name, home=home) for series in RELEASES]
    running = [server for server in servers if server.status().running]
    if len(running) > 1:
        addresses = ", ".join(f"{server.release.series} at {server.connection()[0]}" for server in running)
        raise LocalServerError(f"several local servers run ({addresses}): stop one, or set NEO4J_URI")
    return running[0] if running else None


def no_server() -> str:
    """Return what to do if no address is given and no server named "default" runs."""
    names = [server.folder.name for server in local_servers() if server.status().running]
    if not names:
        return NO_SERVER
    status = f"heat server status --name {names[0]}"
    return f"only a local server named 'default' is found by itself: set NEO4J_URI as `{status}` prints"


def resolve_server(uri: str | None, login: Callable[[], Login]) -> tuple[str, Login | tuple[str, str]]:
    """Return the address and login of a server: those given, or those of the running local server.

    Parameters
    ----------
    uri : str, optional
        Address of the server; that of the running local server if not given.
    login : callable
        Returns the login for `uri`; not called for the local server, which has its own.

    Raises
    ------
    ConfigError
        If no address is given and no local server runs.
    LocalServerError
        If several local servers run.
    """
    if uri:
        return uri, login()
    server = running_server()
    if server is None:
        raise ConfigError(f"no server given: {no_server()}")
    address, user, password = server.connection()
    return address, (user, password)
