"""Numba's `njit` with a fault-tolerant cache: a missing or broken cache costs a compilation, not a run."""

import logging
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import FunctionCache, NullCache

_TEMPORARY = "heat-neo4j-"  # prefix of temporary folders
_log = logging.getLogger(__name__)


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """A function's cache that rewrites entries it cannot read."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code; None if it is missing or broken."""
        with suppress(Exception):  # a truncated pickle may raise anything
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code if possible."""
        try:
            super().save_overload(sig, data)
        except Exception:  # a broken index fails here, as it is read before it is written
            with suppress(Exception):
                self.flush()
                super().save_overload(sig, data)


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as ``numba.njit`` does, with the same options.

    With `cache`, compiled code is stored in Numba's cache (``NUMBA_CACHE_DIR``, next to the module, or the
    user's cache), or, if none is writable, in a temporary folder of the user.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            dispatcher._cache = _cache_of(function)
        return dispatcher

    return decorate


def compile_for(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for the types of some arguments, without calling it."""
    kernel.compile(tuple(numba.typeof(each) for each in arguments))


def cache_folder(kernel: Any) -> tuple[Path | None, bool]:
    """Return the folder of a kernel's compiled code, or None, and whether it is permanent."""
    if kernel.stats.cache_path is None:
        return None, False
    folder = Path(kernel.stats.cache_path)
    return folder, not folder.is_relative_to(tempfile.gettempdir()) or _TEMPORARY not in str(folder)


def _cache_of(function: Callable[..., Any]) -> Any:
    try:
        return _Cache(function)
    except RuntimeError:  # Numba has found no folder
        pass
    folder = _temporary_folder()
    if folder is not None:
        config.CACHE_DIR = folder  # other packages' functions have the same problem
        with suppress(RuntimeError):
            cache = _Cache(function)
            _log.warning("no cache folder is writable; compiled code is stored in %s", folder)
            return cache
    return NullCache()


def _temporary_folder() -> str | None:
    """Return a folder that only the user can write to, as its code is executed; None if that fails."""
    try:
        folder = Path(tempfile.gettempdir()) / f"{_TEMPORARY}{os.geteuid()}"
        with suppress(FileExistsError):
            folder.mkdir(0o700)
        status = folder.lstat()
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
        return str(folder) if ours else tempfile.mkdtemp(prefix=_TEMPORARY)
    except OSError:
        return None
