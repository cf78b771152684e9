"""Files that users ask for: written whole or not at all, and over nothing but a regular file."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from heat_neo4j.errors import ConfigError

__all__ = ["check_output", "replace_file", "write_output"]

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def check_output(path: Path, name: str) -> None:
    """Find out at the beginning of a command what would go wrong with its file at the end.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What messages call it, such as ``"--output"``.

    Raises
    ------
    ConfigError
        If there is something other than a regular file, or no folder to write it in.
    """
    target = _target(path, name)
    if not target.parent.is_dir():
        raise ConfigError(f"{name}: there is no folder {str(path.parent)!r}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{name} {path}: cannot be written: no file may be made in its folder")


def write_output(path: Path, content: bytes, name: str, *, private: bool = False) -> None:
    """Write a file so that its readers find the old one or the new one, never half of it.

    A symbolic link stays, and the file it leads to is replaced. A file keeps its permissions.

    Parameters
    ----------
    path : Path
        The file; replaced if it is there.
    content : bytes
        All of it.
    name : str
        What messages call it, such as ``"--output"``.
    private : bool
        Whether a new file is for its owner alone.

    Raises
    ------
    ConfigError
        If there is something other than a regular file, or the file cannot be written.
    """
    target = _target(path, name)
    try:
        replace_file(target, content, _mode(target, private=private))
    except OSError as error:
        raise ConfigError(f"{name} {path}: cannot be written: {error.strerror}") from error


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Put `content` into `path` so that nobody sees half of it, or may read it who is not to.

    Raises
    ------
    OSError
        If that cannot be done; what was there stays.
    """
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}-")  # for the owner alone
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, mode)
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _target(path: Path, name: str) -> Path:
    """Return the place that `path` leads to, where there is a regular file or nothing."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # it leads to itself, or holds a null byte
        raise ConfigError(f"{name} {path}: cannot be written: {error}") from error
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise ConfigError(f"{name} {path}: cannot be written: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        kind = next((text for is_kind, text in _KINDS if is_kind(mode)), "no file")
        raise ConfigError(f"{name} {path}: is {kind}; give the name of a regular file")
    return target


def _mode(target: Path, *, private: bool) -> int:
    """Return the permissions of the file that is there, or those of a new one."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    if private:
        return 0o600
    mask = os.umask(0)  # can only be read by setting it
    os.umask(mask)
    return 0o666 & ~mask
