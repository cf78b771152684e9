"""Large arrays and what they are made from: in memory, or in files that no process leaves behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from heat_neo4j.errors import ConfigError

_VALUES = 2**20


class Scratch:
    """Makes arrays in memory, or without a name in files of `folder`, a context manager for the making.

    A file has no name from its beginning: the operating system frees it when its array is gone, or when the
    process is, killed or not. Arrays stay when the context is left; what was not made an array goes.

    A ConfigError says that a file cannot be made or written there.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return an array of zeros."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self._folder is None or not size:
            return np.zeros(shape, dtype)
        with self.writing(), self._file() as file:
            # A full disk is an error here, and a signal that kills the process when a mapped page is written.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))

    def growing(self, dtype: DTypeLike) -> GrowingArray:
        """Return an array of one dimension that is written from its beginning to its end."""
        return GrowingArray(self, np.dtype(dtype))

    def blocks(self, dtype: DTypeLike) -> Blocks:
        """Return a place for pieces of arrays."""
        return Blocks(self, np.dtype(dtype))

    def lasting_file(self) -> FileIO | None:
        """Return a new file, open until the context is left; None in memory."""
        if self._folder is None:
            return None
        with self.writing():
            return self._open.enter_context(self._file())

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn an OSError of the block into a ConfigError that names the folder."""
        try:
            yield
        except OSError as error:
            what = f"cannot be written: {error.strerror}"
            raise ConfigError(f"scratch folder {self._folder}: {what}") from error

    def _file(self) -> FileIO:
        return tempfile.TemporaryFile(dir=self._folder, prefix="heat-", buffering=0)


IN_MEMORY = Scratch()
"""No files at all."""


class GrowingArray:
    """An array of one dimension, written from its beginning to its end."""

    def __init__(self, scratch: Scratch, dtype: np.dtype[Any]) -> None:
        self._scratch, self._dtype = scratch, dtype
        self._file = scratch.lasting_file()
        self._parts: list[NDArray[Any]] = []
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        """Write `values` behind what there is."""
        values = np.ascontiguousarray(values, self._dtype)
        self.size += values.size
        if self._file is None:
            self._parts.append(values)
        else:
            with self._scratch.writing():
                _write(self._file, values)

    def finish(self) -> NDArray[Any]:
        """Return the array; nothing can be appended any more."""
        parts, self._parts = self._parts, []
        if self._file is None or not self.size:
            return np.concatenate(parts) if parts else np.empty(0, self._dtype)
        with self._file as file, self._scratch.writing():
            return np.asarray(np.memmap(file, self._dtype, "r+", shape=(self.size,)))


class Blocks:
    """Pieces of arrays under numbers, each to be taken once, with all that has come under its number."""

    def __init__(self, scratch: Scratch, dtype: np.dtype[Any]) -> None:
        self._scratch, self._dtype = scratch, dtype
        self._file = scratch.lasting_file()
        self._held: dict[int, list[NDArray[Any]]] = {}
        self._written: dict[int, list[tuple[int, int]]] = {}  # where in the file, and how many
        self._end = 0

    def add(self, number: int, values: NDArray[Any]) -> None:
        """Add a piece."""
        if not values.size:
            return
        if self._file is None:
            self._held.setdefault(number, []).append(values.copy())  # and not a view that holds all the rest
            return
        with self._scratch.writing():
            self._file.seek(self._end)
            _write(self._file, np.ascontiguousarray(values))
        self._written.setdefault(number, []).append((self._end, values.size))
        self._end += values.nbytes

    def take(self, number: int) -> NDArray[Any]:
        """Return all pieces of a number as one array, in the order in which they came, and drop them."""
        parts = list(self.pieces(number))
        return np.concatenate(parts) if parts else np.empty(0, self._dtype)

    def pieces(self, number: int) -> Iterator[NDArray[Any]]:
        """Yield the pieces of a number one by one, in the order in which they came, and drop them."""
        if self._file is None:
            yield from self._held.pop(number, [])
            return
        for place, count in self._written.pop(number, []):
            piece = np.empty(count, self._dtype)
            left = memoryview(piece.view(np.uint8).data)
            self._file.seek(place)
            while left:
                left = left[self._file.readinto(left) :]
            yield piece

    def close(self) -> None:
        """Drop everything."""
        self._held, self._written = {}, {}
        if self._file is not None:
            self._file.close()


def slices(length: int, width: int = 1) -> Iterator[slice]:
    """Yield parts of so many rows of some width, in order, each of about a million values."""
    rows = max(_VALUES // max(width, 1), 1)
    for begin in range(0, length, rows):
        yield slice(begin, min(begin + rows, length))


def _write(file: FileIO, values: NDArray[Any]) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8).data)
    while left:
        left = left[file.write(left) :]
