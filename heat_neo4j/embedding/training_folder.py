"""The folder of one training, under a scratch folder: a training that was killed goes on from it."""

import shutil
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from heat_neo4j._utils.array_store import ArrayFolder
from heat_neo4j.errors import ConfigError

__all__ = ["TrainingFolder"]


class TrainingFolder:
    """The folder for one training, which `digest` names; a context manager.

    It is removed at the end; after an error or a kill it stays if it holds something to go on from. A
    ConfigError says that the scratch folder cannot be written, or that the same is trained there just now.
    """

    def __init__(self, scratch: str | Path, digest: str) -> None:
        self._folder = Path(scratch).absolute() / f"heat-{digest}"
        self._lock = FileLock(self._folder.with_suffix(".lock"))
        self.store = ArrayFolder(self._folder)

    def seed(self, drawn: int) -> int:
        """Return the seed of the training: that of an earlier attempt, or the one given."""
        if not self.store.has("seed"):
            self.store.save("seed", drawn)
        return int(self.store.load("seed"))

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(exist_ok=True)
            self._lock.acquire(blocking=False)
        except Timeout:
            raise ConfigError(
                f"another process trains on the same graph with the same parameters in {self._folder}: "
                "wait for it, or name another scratch folder"
            ) from None
        except OSError as error:
            scratch = self._folder.parent
            raise ConfigError(f"scratch folder {scratch}: cannot be written: {error.strerror}") from error
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None or not self.store.has("similarity"):
            shutil.rmtree(self._folder, ignore_errors=True)
            Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()
