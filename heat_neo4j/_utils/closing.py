"""`Closing`: a context manager for what has a method `close`."""

from typing import Self


class Closing:
    """Something that a ``with`` block closes at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError
