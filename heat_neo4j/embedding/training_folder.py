"""The folder of one training, inside a scratch folder; a killed training resumes from it."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from heat_neo4j._utils.array_store import ArrayFolder
from heat_neo4j.errors import ConfigError

_COARSE = "coarse"


class TrainingFolder:
    """Context manager for the folder of one training, which `digest` identifies.

    The folder is removed at the end. After an error or a kill it remains if training can resume from it.
    Raises ConfigError if the scratch folder is not writable, or another process runs the same training there.
    """

    def __init__(self, scratch: str | Path, digest: str) -> None:
        self._folder = Path(scratch).absolute() / f"heat-{digest}"
        self._lock = FileLock(self._folder.with_suffix(".lock"))
        self.store = ArrayFolder(self._folder)

    def seed(self, drawn: int) -> int:
        """Return the seed of the training: that of an earlier attempt, otherwise `drawn`."""
        if not self.store.has("seed"):
            shutil.rmtree(self._folder)  # files without a seed are useless
            self._folder.mkdir()
            self.store.save("seed", drawn)
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
