"""Where a local server lives on disk, and its own small files.

::

    <heat home>/                       platformdirs' user data folder, or $HEAT_HOME
      jars/                            Maven layout, shared by all servers and versions
      servers/<name>/<series>/         one server: 0700
        data/ logs/ conf/ run/ ...     Neo4j's own; logs/console.log is what the last start printed
        password                       0600, one line
        server.json                    what runs here: pid, when that process began, ports
        start.lock                     held while a server is started or stopped
"""

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from heat_neo4j._utils.errors import os_errors_as
from heat_neo4j._utils.output_file import replace_file
from heat_neo4j.errors import LocalServerError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NEEDS_EXTRA = "a local server needs the extra 'local': pip install 'heat-neo4j[local]'"


def heat_home() -> Path:
    """Return the folder of all servers and jars: ``$HEAT_HOME``, or the user's data folder."""
    if home := os.environ.get("HEAT_HOME"):
        return Path(home).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("heat-neo4j", appauthor=False))


def private_file(path: Path, text: str) -> None:
    """Write `text` to `path`, atomically and readable by the owner only."""
    replace_file(path, text.encode(), 0o600)


@contextmanager
def hold_lock(path: Path, *, what: str, timeout: float) -> Iterator[None]:
    """Hold a lock file during the block; wait for another holder, `timeout` seconds at most.

    The system releases it even when its holder is killed. `what` is what the holder does, for the message.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout)
    except Timeout:
        raise LocalServerError(
            f"another process has been {what} for {timeout:.0f} s (lock file {path}); "
            "wait for it or end it, then try again"
        ) from None
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True)
class ServerRecord:
    """The last start in a folder."""

    pid: int | None  # None after a stop; the ports stay for the next start
    created: float  # when the process began, in seconds since 1970: the system may reuse the pid
    version: str
    bolt_port: int
    http_port: int


@dataclass(frozen=True)
class ServerFolder:
    """The folder of one server: of a name (letters, digits, ``-`` and ``_``) and a series of releases.

    Data of one series is never opened by another.
    """

    home: Path
    name: str
    series: str

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name must be up to 64 letters, digits, '-' and '_', got {self.name!r}")

    @property
    def path(self) -> Path:
        """The folder itself, Neo4j's home directory."""
        return self.home / "servers" / self.name / self.series

    @property
    def password_file(self) -> Path:
        """The file with the password."""
        return self.path / "password"

    @property
    def arguments_file(self) -> Path:
        """Arguments of the server's process, which is recognised by this path."""
        return self.path / "conf" / "java.args"

    @property
    def console_log(self) -> Path:
        """Output of the last start's process: messages of the Java runtime."""
        return self.path / "logs" / "console.log"

    @property
    def server_log(self) -> Path:
        """Neo4j's log for users."""
        return self.path / "logs" / "neo4j.log"

    @property
    def debug_log(self) -> Path:
        """Neo4j's log with causes."""
        return self.path / "logs" / "debug.log"

    @property
    def size(self) -> int:
        """Bytes of all files; a file that a running server removes concurrently does not count."""
        total = 0
        for folder, _, files in os.walk(self.path):
            for file in files:
                with suppress(FileNotFoundError):
                    total += os.lstat(os.path.join(folder, file)).st_size
        return total

    @property
    def has_data(self) -> bool:
        """Whether a server has run here: since then its system database holds the password."""
        return (self.path / "data" / "databases" / "system").exists()

    def create(self) -> None:
        """Make the folder, for the owner only, with the subfolders that Neo4j expects."""
        if os.pathsep in str(self.home):
            raise LocalServerError(
                f"the folder {self.home} must not have {os.pathsep!r} in its path: set HEAT_HOME"
            )
        with os_errors_as(LocalServerError, f"cannot make the server's folder {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o700)
            for subfolder in ("conf", "data", "import", "logs", "plugins", "run"):
                (self.path / subfolder).mkdir(exist_ok=True)

    def read_password(self) -> str:
        """Return the password of user ``neo4j``; without one it is a LocalServerError."""
        try:
            password = self.password_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise LocalServerError(
                f"cannot read the password file {self.password_file}: {error.strerror}; put the password of "
                f"user neo4j into it, or delete the folder {self.path} with its data"
            ) from error
        if not password:
            raise LocalServerError(f"the password file {self.password_file} is empty")
        return password

    def ensure_password(self) -> str:
        """Return the password; before the first start, write a random one."""
        if not self.password_file.exists() and not self.has_data:
            private_file(self.password_file, secrets.token_hex(16) + "\n")  # a command-line argument: no "-"
        password = self.read_password()
        self.password_file.chmod(0o600)
        return password

    def read_record(self) -> ServerRecord | None:
        """Return the record of the last start; None before the first."""
        path = self.path / "server.json"
        try:
            return ServerRecord(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise LocalServerError(
                f"cannot read {path}: {error}; make sure that no Neo4j runs there, then delete the file"
            ) from error

    def write_record(self, record: ServerRecord) -> None:
        """Write server.json."""
        private_file(self.path / "server.json", json.dumps(asdict(record)) + "\n")
