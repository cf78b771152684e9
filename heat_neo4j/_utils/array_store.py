"""Stores of named arrays: in memory, or in files of a folder that several processes share."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import SEEK_END, FileIO
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j._utils.output_file import replacing, sync_path
from heat_neo4j.errors import ConfigError

_AT_ONCE = 2**20  # bytes read at a time for a digest, so that a large file takes no memory
_ONE_AT_A_TIME = Lock()  # NumPy parses headers with Python's parser, which is not thread-safe on 3.11
Fields = TypeVar("Fields", bound=NamedTuple)


class DamagedFileError(ConfigError):
    """A file of an `ArrayFolder` is empty, truncated, altered or missing."""

    def __init__(self, folder: Path, name: str, damage: str) -> None:
        super().__init__(folder, name, damage)
        self.folder, self.name, self.damage = folder, name, damage

    def __str__(self) -> str:
        folder, name, damage = self.args
        return f"scratch folder {folder}: file {name} {damage}"


class MissingFileError(DamagedFileError, KeyError):
    """An `ArrayFolder` has no array of that name."""


class ArrayStore(Protocol):
    """Stores immutable arrays under names such as "round1/points3"."""

    survives: bool
    """Whether another process can continue from the arrays after this one has ended."""

    def save(self, name: str, array: ArrayLike) -> None:
        """Save an array atomically: completely, or not at all if the process is killed."""

    def load(self, name: str) -> NDArray[Any]:
        """Return an array; raises KeyError if there is none of that name."""

    def has(self, name: str) -> bool:
        """Return whether there is an array of that name."""

    def drop(self, name: str) -> None:
        """Delete an array, and all arrays whose names start with its name and a slash; none need exist."""

    def sync(self, *names: str) -> None:
        """Flush arrays, and those below their names, so that they survive a power failure; by default all."""


class ArraysInMemory:
    """Arrays of this process."""

    survives = False

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

    def sync(self, *names: str) -> None:
        """Do nothing: memory does not survive a power failure."""


class ArrayFolder:
    """Arrays in files, which are memory-mapped when loaded.

    Each file ends with a digest of its name and content. It is verified when loading a file that this object
    did not write; raises `DamagedFileError` if it differs. Raises ConfigError if a file cannot be written or
    read.
    """

    survives = True

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._own: set[str] = set()  # names of arrays that were saved here and not by another process

    def save(self, name: str, array: ArrayLike) -> None:
        """Write an array to a temporary file, which is renamed when complete."""
        with self._writing(name, self._path(name)) as file:
            np.save(file, np.asarray(array), allow_pickle=False)
        self._own.add(name)

    def load(self, name: str) -> NDArray[Any]:
        """Memory-map a file, copy-on-write."""
        with self._reading(name, path := self._path(name)):
            if name not in self._own:
                self._check(name, path)
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

    def names(self, folder: str) -> list[str]:
        """Return the names of the arrays directly below a name, without that prefix."""
        return sorted(path.stem for path in (self.folder / folder).glob("*.npy"))

    def sync(self, *names: str) -> None:
        """Flush files and their directory entries to the disk."""
        places = [self.folder / name for name in names] or [self.folder]
        files = {self._path(name) for name in names}
        files |= {file for place in places if place.is_dir() for file in place.rglob("*.npy")}
        folders = {
            folder for file in files for folder in file.parents if self.folder in (folder, *folder.parents)
        }
        try:
            for path in (*files, *folders, self.folder.parent):
                if path.exists():
                    sync_path(path)
        except OSError as error:
            raise self._unwritable(error) from error

    @contextmanager
    def _writing(self, name: str, path: Path) -> Iterator[BinaryIO]:
        """Yield a file to write; the digest is appended at the end."""
        try:
            if path.parent != self.folder:  # a task that outlives its folder must not recreate it
                path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, 0o600, durable=False) as file:
                yield file
                file.flush()
                size = file.seek(0, SEEK_END)
                digest = _digest(name, file, size)
                file.seek(size)
                file.write(digest)
        except OSError as error:
            raise self._unwritable(error) from error

    @contextmanager
    def _reading(self, name: str, path: Path) -> Iterator[None]:
        """Convert errors of reading a file to errors that name it."""
        try:
            yield
        except FileNotFoundError:
            raise MissingFileError(self.folder, name, "is missing") from None
        except ValueError:  # no array, though the digest is right
            raise DamagedFileError(self.folder, name, "holds no array") from None
        except OSError as error:
            raise ConfigError(f"scratch folder {self.folder}: {path.name} cannot be read: {error}") from error

    def _check(self, name: str, path: Path) -> None:
        """Compare the content of a file with its digest."""
        with path.open("rb", buffering=0) as file:
            size = file.seek(0, SEEK_END) - sha256().digest_size
            if size < 0:
                raise DamagedFileError(self.folder, name, "is empty" if not file.tell() else "is truncated")
            if _digest(name, file, size) != file.read():
                raise DamagedFileError(self.folder, name, "is truncated or was altered")

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(f"scratch folder {self.folder}: cannot be written: {error.strerror or error}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


def _digest(name: str, file: BinaryIO | FileIO, size: int) -> bytes:
    """Return the digest of a name and the first `size` bytes of a file, which is left at their end.

    SHA-256 has hardware support, and is twice as fast as BLAKE2.
    """
    digest = sha256(name.encode())
    file.seek(0)
    buffer = memoryview(bytearray(min(size, _AT_ONCE)))
    left = size
    while left and (count := file.readinto(buffer[:left])):  # type: ignore[union-attr]
        digest.update(buffer[:count])
        left -= count
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
