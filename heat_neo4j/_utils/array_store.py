"""Arrays under names: in memory, or in the files of a folder that several processes share."""

import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j._utils.output_file import replacing
from heat_neo4j.errors import ConfigError

__all__ = ["ArrayFolder", "ArrayStore", "ArraysInMemory", "keep", "load_tuple"]

_ALIGNED, _LENGTH = 64, 8  # bytes: where arrays begin in a file, and of where they end
_ONE_AT_A_TIME = Lock()  # NumPy reads headers by Python's parser, which fails in two threads at once on 3.11
Fields = TypeVar("Fields", bound=NamedTuple)


class ArrayStore(Protocol):
    """Holds arrays under names such as "round1/points3"; an array never changes."""

    def save(self, name: str, array: ArrayLike) -> None:
        """Keep an array: all of it or, if the process is killed meanwhile, nothing."""

    def load(self, name: str) -> NDArray[Any]:
        """Return an array; a KeyError if there is none of that name."""

    def has(self, name: str) -> bool:
        """Tell whether there is an array of that name."""

    def drop(self, name: str) -> None:
        """Forget an array, and all whose names begin with its name and a slash, if there are any."""


class ArraysInMemory:
    """Arrays of this process."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def save(self, name: str, array: ArrayLike) -> None:
        """Keep an array, not a copy."""
        self._arrays[name] = np.asarray(array)

    def load(self, name: str) -> NDArray[Any]:
        """Return an array; a KeyError if there is none of that name."""
        return self._arrays[name]

    def has(self, name: str) -> bool:
        """Tell whether there is an array of that name."""
        return name in self._arrays

    def drop(self, name: str) -> None:
        """Forget an array, and all whose names begin with its name and a slash, if there are any."""
        for each in list(self._arrays):
            if each == name or each.startswith(f"{name}/"):
                self._arrays.pop(each, None)


class ArrayFolder:
    """Arrays in files, mapped into memory when they are loaded.

    A ConfigError says that a file cannot be written or read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def save(self, name: str, array: ArrayLike) -> None:
        """Write an array to a file that takes its name when it is whole."""
        with self._writing(self._path(name)) as file:
            np.save(file, np.asarray(array), allow_pickle=False)

    def load(self, name: str) -> NDArray[Any]:
        """Map a file; what is written to the array stays in this process."""
        try:
            with _ONE_AT_A_TIME:
                return np.asarray(np.load(self._path(name), mmap_mode="c", allow_pickle=False))
        except FileNotFoundError:
            raise KeyError(name) from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"scratch folder {self.folder}: {name} cannot be read: {error}") from error

    def save_object(self, name: str, value: Any) -> None:
        """Write any object to a file: all its arrays, one behind the other, then the rest of it."""
        arrays: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
        places: list[slice] = []
        with self._writing(self._object_path(name)) as file:
            for array in arrays:
                file.write(bytes(-file.tell() % _ALIGNED))
                begin = file.tell()
                places.append(slice(begin, begin + file.write(array.raw())))
            end = file.tell()
            file.write(pickle.dumps((rest, places)))
            file.write(end.to_bytes(_LENGTH, "little"))

    def load_object(self, name: str) -> Any:
        """Return an object whose arrays are mapped; what is written to them stays in this process."""
        try:
            file = np.asarray(np.memmap(self._object_path(name), np.uint8, mode="c"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"scratch folder {self.folder}: {name} cannot be read: {error}") from error
        end = int.from_bytes(file[-_LENGTH:].tobytes(), "little")
        rest, places = pickle.loads(file[end:].data)
        return pickle.loads(rest, buffers=[file[place] for place in places])

    def has(self, name: str) -> bool:
        """Tell whether there is an array of that name."""
        return self._path(name).exists()

    def drop(self, name: str) -> None:
        """Remove a file, and all whose names begin with its name and a slash, if there are any."""
        self._path(name).unlink(missing_ok=True)
        self._object_path(name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    @contextmanager
    def _writing(self, path: Path) -> Iterator[BinaryIO]:
        try:
            if path.parent != self.folder:  # a task that outlives its folder would bring it back
                path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, 0o600, durable=False) as file:
                yield file
        except OSError as error:
            raise ConfigError(
                f"scratch folder {self.folder}: cannot be written: {error.strerror or error}"
            ) from error

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _object_path(self, name: str) -> Path:
        return self.folder / f"{name}.pickle"


def keep(store: ArrayStore, name: str, fields: Fields) -> Fields:
    """Save the arrays and numbers of a tuple; return it as `load_tuple` does."""
    for field, value in fields._asdict().items():
        store.save(f"{name}/{field}", value)
    store.save(name, 1)
    return load_tuple(store, name, type(fields))


def load_tuple(store: ArrayStore, name: str, kind: type[Fields]) -> Fields:
    """Return a tuple as `keep` saved it."""
    values = (store.load(f"{name}/{field}") for field in kind._fields)
    make: Callable[..., Fields] = kind
    return make(*(value if value.ndim else value[()] for value in values))
