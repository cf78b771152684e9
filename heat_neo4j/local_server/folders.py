"""Where a local server lives on disk, and the small files of its own.

::

    <heat home>/                       platformdirs' user data folder, or $HEAT_HOME
      jars/                            Maven layout, shared by all servers and versions
      servers/<name>/<series>/         one server: 0700
        data/ logs/ conf/ run/ ...     Neo4j's own; logs/console.log is what the last start printed
        password                       0600, one line
        server.json                    what runs here: pid, when that process began, ports
        start.lock                     held while a server is started or stopped
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from heat_neo4j._utils.output_file import replace_file
from heat_neo4j.errors import LocalServerError

__all__ = ["ServerFolder", "ServerRecord", "heat_home", "private_file", "server_folders"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def heat_home() -> Path:
    """Return the folder of everything we keep on this machine: ``$HEAT_HOME``, or the user's data folder."""
    chosen = os.environ.get("HEAT_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("heat-neo4j", appauthor=False))


def private_file(path: Path, text: str) -> None:
    """Put `text` into `path` so that only the owner can ever read it and nobody sees half of it."""
    replace_file(path, text.encode(), 0o600)


@dataclass(frozen=True)
class ServerRecord:
    """What was started in a folder last.

    Parameters
    ----------
    pid : int or None
        Its process; None after it was stopped by us.
    created : float
        When that process began, in seconds since 1970: a pid alone may have been given to another since.
    version : str
        The exact Neo4j release.
    bolt_port, http_port : int
        Kept after a stop, so that the next start has the same addresses if they are still free.
    """

    pid: int | None
    created: float
    version: str
    bolt_port: int
    http_port: int


@dataclass(frozen=True)
class ServerFolder:
    """The folder of one server.

    Parameters
    ----------
    home : Path
        See `heat_home`.
    name : str
        The server's name: letters, digits, ``-`` and ``_``.
    series : str
        The release series; data of one is never opened by another.

    Raises
    ------
    ValueError
        If the name is not such a name.
    """

    home: Path
    name: str
    series: str

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name must be up to 64 letters, digits, '-' and '_', got {self.name!r}")

    @property
    def path(self) -> Path:
        """The folder itself, which is Neo4j's home directory too."""
        return self.home / "servers" / self.name / self.series

    @property
    def password_file(self) -> Path:
        """Where the password is kept."""
        return self.path / "password"

    @property
    def console_log(self) -> Path:
        """What the process of the last start printed: messages of the Java runtime."""
        return self.path / "logs" / "console.log"

    @property
    def server_log(self) -> Path:
        """Neo4j's own log for its user."""
        return self.path / "logs" / "neo4j.log"

    @property
    def debug_log(self) -> Path:
        """Neo4j's own log with causes."""
        return self.path / "logs" / "debug.log"

    @property
    def size(self) -> int:
        """Bytes of all files in it; those that a running server removes meanwhile do not count."""
        total = 0
        for folder, _, files in os.walk(self.path):
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    total += os.lstat(os.path.join(folder, file)).st_size
        return total

    @property
    def has_data(self) -> bool:
        """Whether a server has run here: from then on its password lives in its system database."""
        return (self.path / "data" / "databases" / "system").exists()

    def create(self) -> None:
        """Make the folder, for the owner only, with the subfolders that Neo4j expects.

        Raises
        ------
        LocalServerError
            If it cannot be made, or Java could not take its path apart from others.
        """
        if os.pathsep in str(self.home):
            raise LocalServerError(
                f"the folder {self.home} must not have {os.pathsep!r} in its path: set HEAT_HOME"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o700)
            for part in ("conf", "data", "import", "logs", "plugins", "run"):
                (self.path / part).mkdir(exist_ok=True)
        except OSError as error:
            raise LocalServerError(
                f"cannot make the server's folder {self.path}: {error.strerror}"
            ) from error

    def read_password(self) -> str:
        """Return the password of user ``neo4j``.

        Raises
        ------
        LocalServerError
            If there is none or it cannot be read.
        """
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
        """Return the password; before the first start, a new random one is written first.

        Raises
        ------
        LocalServerError
            If the file is gone while the data that it opens is there.
        """
        if not self.password_file.exists() and not self.has_data:
            private_file(self.password_file, secrets.token_hex(16) + "\n")  # no "-": it is an argument once
        password = self.read_password()
        self.password_file.chmod(0o600)
        return password

    def read_record(self) -> ServerRecord | None:
        """Return what was started here last; None if nothing ever was.

        Raises
        ------
        LocalServerError
            If server.json is damaged.
        """
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
        """Keep `record` as what was started here last."""
        private_file(self.path / "server.json", json.dumps(asdict(record)) + "\n")


def server_folders(home: Path, series: Sequence[str]) -> list[ServerFolder]:
    """Return the folders of servers of some release series that are there, by name, then as `series` goes."""
    root = home / "servers"
    names = sorted(path.name for path in root.iterdir() if NAME.fullmatch(path.name)) if root.is_dir() else []
    folders = [ServerFolder(home, name, each) for name in names for each in series]
    return [folder for folder in folders if folder.path.is_dir()]
