"""The drawing library inside the page: which release it is, and its files, checked as they are read.

The files lie in ``assets/vendor``, bit for bit ``dist/7.x/twgl.js`` and ``LICENSE.md`` of the npm package.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from heat_neo4j.errors import ConfigError

__all__ = ["INTEGRITY", "LICENCE", "NAME", "SCRIPT", "VERSION", "PinnedFile", "check_library", "read_pinned"]

NAME, VERSION = "twgl.js", "7.0.0"
INTEGRITY = "sha512-9HHZ8emdZb2nKPU0FDIGDlkp6AD9rWFv7ThqdbmUqyBhD3WTQpLN+89w4B+YshGwD1fL6PMVpVKZqC0pikgmcA=="
"""Of the npm package that the files are from, as npm's lock files write it."""

_FOLDER = files("heat_neo4j.explore").joinpath("assets", "vendor")


class PinnedFile(NamedTuple):
    """A file of the release: its name here and its SHA-256."""

    name: str
    sha256: str


SCRIPT = PinnedFile("twgl.js", "bc94a897aa369db1af4b32b33d069ad92aa1032688dfec4ace0656eca404b032")
LICENCE = PinnedFile("twgl-LICENSE.md", "87a5a44b12faff1205d5325b67b26216404fec66f08db2df4d448bff42f4d668")


def read_pinned(file: PinnedFile) -> str:
    """Return the text of a file of the release.

    Raises
    ------
    ConfigError
        If it is missing, or one bit differs.
    """
    source = _FOLDER.joinpath(file.name)
    content = source.read_bytes() if source.is_file() else b""
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ConfigError(
            f"{file.name} of the drawing library {NAME} {VERSION} is missing or changed: "
            "install heat-neo4j again"
        )
    return content.decode("utf-8")


def check_library() -> None:
    """Check that the drawing library is there, before long work whose end would be a page.

    Raises
    ------
    ConfigError
        If it is not, or was changed.
    """
    for file in (SCRIPT, LICENCE):
        read_pinned(file)
