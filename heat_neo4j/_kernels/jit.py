"""Numba's `njit` with a fault-tolerant cache: a missing or broken cache costs a compilation, not a run."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache


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

    With `cache`, compiled code is stored in Numba's cache: ``NUMBA_CACHE_DIR``, next to the module, or the
    user's cache. If none is writable, every process compiles.
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


def _cache_of(function: Callable[..., Any]) -> Any:
    try:
        return _Cache(function)
    except RuntimeError:  # Numba has found no writable folder
        return NullCache()
