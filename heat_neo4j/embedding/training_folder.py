"""The folder of one training, under a scratch folder: a training that was killed goes on from it."""

import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from filelock import FileLock, Timeout

from heat_neo4j._utils.array_store import ArrayFolder, DamagedFileError
from heat_neo4j.embedding.bucket_tasks import drop_damaged
from heat_neo4j.errors import ConfigError

_MOST_DAMAGES = 5  # files found damaged in one training, after which the disk is to blame
_log = logging.getLogger(__name__)
Result = TypeVar("Result")


class TrainingFolder:
    """The folder for one training, which `digest` names; a context manager.

    It is removed at the end; after an error or a kill it stays if it holds something to go on from. A
    ConfigError says that the scratch folder cannot be written, or that the same is trained there just now.
    """

    def __init__(self, scratch: str | Path, digest: str) -> None:
        self._folder = Path(scratch).absolute() / f"heat-{digest}"
        self._lock = FileLock(self._folder.with_suffix(".lock"))
        self.store = ArrayFolder(self._folder)
        self.damages: list[str] = []
        """A line for each file that was found damaged."""

    def seed(self, drawn: int) -> int:
        """Return the seed of the training: that of an earlier attempt, or the one given."""
        if not self.store.has("seed"):
            self._clear()  # other files without a seed are of no use
            self.store.save("seed", drawn)
            self.store.sync("seed")
        return int(self.store.load("seed"))

    def recovering(self, work: Callable[[], Result]) -> Result:
        """Do the work; if a file of the folder is damaged, do it again from before that file."""
        while True:
            try:
                return work()
            except DamagedFileError as error:
                self._recover(error)

    def _recover(self, error: DamagedFileError) -> None:
        """Drop what is made from a damaged file, and log that; raise the error if it is one too many."""
        if len(self.damages) == _MOST_DAMAGES:
            raise error
        begin = drop_damaged(self.store, error.name)
        line = f"{error}: training goes on from {begin}"
        self.damages.append(line)
        _log.warning(line)

    def __enter__(self) -> Self:
        scratch = self._folder.parent
        try:
            if not scratch.is_dir():  # the lock would make it
                code = errno.ENOTDIR if scratch.exists() else errno.ENOENT
                raise OSError(code, os.strerror(code))
            # The lock comes first: a process that ends removes the folder while it still holds the lock.
            self._lock.acquire(blocking=False)
            self._folder.mkdir(exist_ok=True)
        except Timeout:
            raise ConfigError(
                f"another process trains on the same graph with the same parameters in {self._folder}: "
                "wait for it, or name another scratch folder"
            ) from None
        except OSError as error:
            self._lock.release()
            raise ConfigError(f"scratch folder {scratch}: cannot be written: {error.strerror}") from error
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None or not self.store.has("similarity"):
            shutil.rmtree(self._folder, ignore_errors=True)
            Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def _clear(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder)
        self._folder.mkdir()
