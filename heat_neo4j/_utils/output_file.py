"""Output files: written atomically, and only over regular files."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from heat_neo4j._utils.errors import errors_as, os_errors_as
from heat_neo4j.errors import ConfigError

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # errors of some network file systems for a folder


def check_output(path: Path, name: str) -> None:
    """Raise the ConfigError that `write_output` would raise; `name` is the option or file in messages."""
    target = _target(path, name)
    if not target.parent.is_dir():
        raise ConfigError(f"{name}: there is no folder {str(path.parent)!r}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{name} {path}: cannot be written: its folder is not writable")


def write_output(path: Path, content: bytes, name: str) -> None:
    """Write or replace a file atomically; keeps its permissions and follows symbolic links.

    Raises ConfigError, with `name` in its message, if `path` is not a regular file or cannot be written.
    """
    target = _target(path, name)
    with os_errors_as(ConfigError, f"{name} {path}: cannot be written"):
        replace_file(target, content, _mode(target))


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Replace the file `path` atomically; it is never more readable than `mode`, and unchanged on OSError."""
    with replacing(path, mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path, mode: int, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` at the end of the block, or is deleted on failure.

    With `durable`, it survives a power failure.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}-")  # mode 0600
    try:
        with open(handle, "w+b") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
        if durable:
            sync_path(path.parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def sync_path(path: Path) -> None:
    """Flush a file, or a folder's entries if its file system supports that, to the disk."""
    is_folder = path.is_dir()
    if is_folder and os.name == "nt":
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if not is_folder or error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def _target(path: Path, name: str) -> Path:
    """Return the regular file that `path` resolves to, which need not exist."""
    what = f"{name} {path}: cannot be written"
    odd = (OSError, RuntimeError, ValueError)  # a link to itself, or a null byte
    with errors_as(ConfigError, odd, prefix=f"{what}: "):
        target = path.resolve()
    with os_errors_as(ConfigError, what):
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            return target
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{name} {path}: is not a regular file")
    return target


def _mode(target: Path) -> int:
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)  # it can only be read by setting it
    os.umask(mask)
    return 0o666 & ~mask
