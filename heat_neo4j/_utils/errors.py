"""Raise the errors of a block as another kind."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def errors_as(
    kind: Callable[[str], Exception],
    caught: type[Exception] | tuple[type[Exception], ...] = ValueError,
    prefix: str = "",
) -> Iterator[None]:
    """Raise the errors `caught` in a block as another kind, with `prefix` before the message."""
    try:
        yield
    except caught as error:
        raise kind(f"{prefix}{error}") from error


@contextmanager
def os_errors_as(kind: Callable[[str], Exception], what: str) -> Iterator[None]:
    """Raise OSErrors of a block as another kind, with the system's reason after `what`."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}") from error
