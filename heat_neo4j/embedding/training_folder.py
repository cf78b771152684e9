"""The folder of one training, inside a scratch folder; a killed training resumes from it."""

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

_COARSE = "coarse"
_MOST_DAMAGES = 5  # damaged files per training before giving up: the disk is probably faulty
_log = logging.getLogger(__name__)
Result = TypeVar("Result")


class TrainingFolder:
    """Context manager for the folder of one training, which `digest` identifies.

    The folder is removed at the end. After an error or a kill it remains if training can resume from it.
    Raises ConfigError if the scratch folder is not writable, or another process runs the same training there.
    """

    def __init__(self, scratch: str | Path, digest: str) -> None:
        self._folder = Path(scratch).absolute() / f"heat-{digest}"
        self._lock = FileLock(self._folder.with_suffix(".lock"))
        self.store = ArrayFolder(self._folder)
        self.damages: list[str] = []
        """One line per damaged file."""

    def seed(self, drawn: int) -> int:
        """Return the seed of the training: that of an earlier attempt, otherwise `drawn`."""
        if not self.store.has("seed"):
            self._clear()  # files without a seed are useless
            self.store.save("seed", drawn)
            self.store.sync("seed")
        return int(self.store.load("seed"))

    def coarse(self, number: int) -> ArrayFolder:
        """Return the folder of the training of coarse graph `number`, inside this one."""
        folder = self._folder / f"{_COARSE}{number}"
        folder.mkdir(exist_ok=True)
        return ArrayFolder(folder)

    def drop_coarse(self) -> None:
        """Remove the trainings of coarse graphs."""
        for folder in self._folder.glob(f"{_COARSE}*"):
            self.store.drop(folder.name)

    def recovering(self, work: Callable[[], Result]) -> Result:
        """Run `work`; if a file of the folder is damaged, recover and run it again."""
        while True:
            try:
                return work()
            except DamagedFileError as error:
                self._recover(error)

    def _recover(self, error: DamagedFileError) -> None:
        """Drop everything derived from a damaged file and log it; reraise the error after too many."""
        if len(self.damages) == _MOST_DAMAGES:
            raise error
        if error.folder.parent == self._folder:
            self.store.drop(error.folder.name)
            begin = "a coarse graph"
        else:
            begin = drop_damaged(self.store, error.name)
        line = f"{error}: training resumes from {begin}"
        self.damages.append(line)
        _log.warning(line)

    def __enter__(self) -> Self:
        scratch = self._folder.parent
        try:
            if not scratch.is_dir():  # the lock would create it
                code = errno.ENOTDIR if scratch.exists() else errno.ENOENT
                raise OSError(code, os.strerror(code))
            # Lock first: a finishing process removes the folder while it still holds the lock.
            self._lock.acquire(blocking=False)
            self._folder.mkdir(exist_ok=True)
        except Timeout:
            raise ConfigError(
                f"another process trains on the same graph with the same parameters in {self._folder}: "
                "wait for it, or use another scratch folder"
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
