"""`Closing`: a context manager for what has a method `close`."""

from types import TracebackType
from typing import Self


class Closing:
    """Something that a ``with`` block closes at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError
