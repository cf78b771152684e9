"""Large arrays: in memory, or in temporary files that are always cleaned up."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from heat_neo4j._utils.closing import Closing
from heat_neo4j._utils.errors import os_errors_as
from heat_neo4j.errors import ConfigError

_VALUES = 2**20


class Scratch(Closing):
    """Context manager that creates arrays in memory, or in unnamed files of `folder`.

    Files are unlinked from the start: the operating system frees them when the array or the process is gone,
    even if killed. Arrays outlive the context; files that were not made arrays are closed.

    Raises ConfigError if a file cannot be created or written.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._open = ExitStack()

    def close(self) -> None:
        """Remove the files."""
        self._open.close()

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return an array of zeros."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self._folder is None or not size:
            return np.zeros(shape, dtype)
        with self.writing(), self._file() as file:
            # A full disk is an error here, but kills the process if it occurs when writing a mapped page.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))

    def growing(self, dtype: DTypeLike) -> GrowingArray:
        """Return a one-dimensional array to append to."""
        return GrowingArray(self, np.dtype(dtype))

    def blocks(self, dtype: DTypeLike) -> Blocks:
        """Return a store for numbered pieces of arrays."""
        return Blocks(self, np.dtype(dtype))

    def lasting_file(self) -> FileIO | None:
        """Return a new file that stays open until the context ends; None in memory."""
        if self._folder is None:
            return None
        with self.writing():
            return self._open.enter_context(self._file())

    def writing(self) -> AbstractContextManager[None]:
        """Convert an OSError of the block to a ConfigError that names the folder."""
        return os_errors_as(ConfigError, f"scratch folder {self._folder}: cannot be written")

    def _file(self) -> FileIO:
        return tempfile.TemporaryFile(dir=self._folder, prefix="heat-", buffering=0)


IN_MEMORY = Scratch()
"""Creates all arrays in memory."""


class GrowingArray:
    """A one-dimensional array to append to."""

    def __init__(self, scratch: Scratch, dtype: np.dtype[Any]) -> None:
        self._scratch, self._dtype = scratch, dtype
        self._file = scratch.lasting_file()
        self._parts: list[NDArray[Any]] = []
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append `values`."""
        values = np.ascontiguousarray(values, self._dtype)
        self.size += values.size
        if self._file is None:
            self._parts.append(values)
        else:
            with self._scratch.writing():
                _write(self._file, values)

    def finish(self) -> NDArray[Any]:
        """Return the array; afterwards, nothing can be appended."""
        parts, self._parts = self._parts, []
        if self._file is None or not self.size:
            return np.concatenate(parts) if parts else np.empty(0, self._dtype)
        with self._file as file, self._scratch.writing():
            return np.asarray(np.memmap(file, self._dtype, "r+", shape=(self.size,)))


class Blocks:
    """A store of array pieces by number; all pieces of a number can be taken once."""

    def __init__(self, scratch: Scratch, dtype: np.dtype[Any]) -> None:
        self._scratch, self._dtype = scratch, dtype
        self._file = scratch.lasting_file()
        self._held: dict[int, list[NDArray[Any]]] = {}
        self._written: dict[int, list[tuple[int, int]]] = {}  # offset in the file, and count
        self._end = 0

    def add(self, number: int, values: NDArray[Any]) -> None:
        """Add a piece."""
        if not values.size:
            return
        if self._file is None:
            self._held.setdefault(number, []).append(values.copy())  # a view would keep the whole array alive
            return
        with self._scratch.writing():
            self._file.seek(self._end)
            _write(self._file, np.ascontiguousarray(values))
        self._written.setdefault(number, []).append((self._end, values.size))
        self._end += values.nbytes

    def take(self, number: int) -> NDArray[Any]:
        """Return all pieces of a number as one array, in insertion order, and drop them."""
        parts = list(self.pieces(number))
        return np.concatenate(parts) if parts else np.empty(0, self._dtype)

    def pieces(self, number: int) -> Iterator[NDArray[Any]]:
        """Yield the pieces of a number in insertion order, and drop them."""
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
    """Yield consecutive slices of `length` rows of `width` values, each with about a million values."""
    rows = max(_VALUES // max(width, 1), 1)
    for begin in range(0, length, rows):
        yield slice(begin, min(begin + rows, length))


def _write(file: FileIO, values: NDArray[Any]) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8).data)
    while left:
        left = left[file.write(left) :]
