"""Files that a command will write at its end, checked at its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

__all__ = ["FORMATS", "check_output"]

FORMATS = (".png", ".svg", ".pdf")


def check_output(option: str, path: Path, endings: Sequence[str] = ()) -> None:
    """Find out now what would otherwise go wrong at the end.

    Raises
    ------
    click.UsageError
        If the file has none of the `endings` (any will do if none is given), or there is no such folder.
    """
    context = click.get_current_context()
    if endings and path.suffix.lower() not in endings:
        raise click.UsageError(f"{option} must end in {', '.join(endings)}, got {path.name!r}", context)
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{option}: there is no folder {str(path.parent)!r}", context)
