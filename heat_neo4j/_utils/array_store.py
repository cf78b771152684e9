"""Stores of named arrays: in memory, or in files of a folder that several processes share."""

import shutil
from collections.abc import Callable
from hashlib import sha256
from os import SEEK_END
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j._utils.errors import os_errors_as
from heat_neo4j._utils.output_file import replacing
from heat_neo4j.errors import ConfigError

_ONE_AT_A_TIME = Lock()  # NumPy parses headers with Python's parser, which is not thread-safe on 3.11
Fields = TypeVar("Fields", bound=NamedTuple)


class ArrayStore(Protocol):
    """Stores immutable arrays under names such as "round1/points3"."""

    def save(self, name: str, array: ArrayLike) -> None:
        """Save an array atomically: completely, or not at all if the process is killed."""

    def load(self, name: str) -> NDArray[Any]:
        """Return an array; raises KeyError, or a ConfigError of a folder, if there is none of that name."""

    def has(self, name: str) -> bool:
        """Return whether there is an array of that name."""

    def drop(self, name: str) -> None:
        """Delete an array, and all arrays whose names start with its name and a slash; none need exist."""


class ArraysInMemory:
    """Arrays of this process."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def save(self, name: str, array: ArrayLike) -> None:
        """Store a reference to an array, not a copy."""
        self._arrays[name] = np.asarray(array)

    def load(self, name: str) -> NDArray[Any]:
        """Return an array; raises KeyError if there is none of that name."""
        return self._arrays[name]

    def has(self, name: str) -> bool:
        """Return whether there is an array of that name."""
        return name in self._arrays

    def drop(self, name: str) -> None:
        """Delete an array, and all arrays whose names start with its name and a slash; none need exist."""
        for each in list(self._arrays):
            if each == name or each.startswith(f"{name}/"):
                self._arrays.pop(each, None)


class ArrayFolder:
    """Arrays in files, which are memory-mapped when loaded.

    Each file ends with a digest of its name and content, which is verified when loading a file that this
    object did not write. Raises ConfigError if a file is missing or damaged, or cannot be written or read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._own: set[str] = set()  # names of arrays that were saved here and not by another process

    def save(self, name: str, array: ArrayLike) -> None:
        """Write an array and its digest to a temporary file, which is renamed when complete."""
        path = self._path(name)
        with os_errors_as(self._error, "cannot be written"):
            if path.parent != self.folder:  # a task that outlives its folder must not recreate it
                path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, 0o600, durable=False) as file:
                np.save(file, np.asarray(array), allow_pickle=False)
                file.flush()
                digest = _digest(name, np.memmap(file, np.uint8, "r"))
                file.seek(0, SEEK_END)
                file.write(digest)
        self._own.add(name)

    def load(self, name: str) -> NDArray[Any]:
        """Memory-map a file, copy-on-write."""
        path = self._path(name)
        with os_errors_as(self._error, f"file {name} cannot be read"):
            if name not in self._own and not _is_intact(name, path):
                raise self._error(f"file {name} is damaged: remove the folder to start over")
            with _ONE_AT_A_TIME:
                return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))

    def has(self, name: str) -> bool:
        """Return whether there is an array of that name."""
        return self._path(name).exists()

    def drop(self, name: str) -> None:
        """Delete a file, and all files whose names start with its name and a slash; none need exist."""
        self._own.discard(name)
        self._path(name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def _error(self, what: str) -> ConfigError:
        return ConfigError(f"scratch folder {self.folder}: {what}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


def _is_intact(name: str, path: Path) -> bool:
    """Return whether the content of a file has its digest."""
    size = sha256().digest_size
    if path.stat().st_size <= size:
        return False
    content = np.memmap(path, np.uint8, "r")
    return _digest(name, content[:-size]) == content[-size:].tobytes()


def _digest(name: str, content: NDArray[np.uint8]) -> bytes:
    """Return the digest of a name and a file. SHA-256 has hardware support: it is twice as fast as BLAKE2."""
    digest = sha256(name.encode())
    digest.update(content.data)
    return digest.digest()


def keep(store: ArrayStore, name: str, fields: Fields) -> Fields:
    """Save the arrays and numbers of a tuple, and return it as `load_tuple` would."""
    for field, value in fields._asdict().items():
        store.save(f"{name}/{field}", value)
    store.save(name, 1)
    return load_tuple(store, name, type(fields))


def load_tuple(store: ArrayStore, name: str, kind: type[Fields]) -> Fields:
    """Load a tuple that `keep` saved."""
    values = (store.load(f"{name}/{field}") for field in kind._fields)
    make: Callable[..., Fields] = kind
    return make(*(value if value.ndim else value[()] for value in values))
