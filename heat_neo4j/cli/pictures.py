"""Pictures that a command will draw at its end, checked at its beginning."""

from __future__ import annotations

from pathlib import Path

import click

from heat_neo4j._output_file import check_output

__all__ = ["FORMATS", "check_picture"]

FORMATS = (".png", ".svg", ".pdf")


def check_picture(path: Path, option: str) -> None:
    """Find out now what would otherwise go wrong at the end.

    Raises
    ------
    click.UsageError
        If the file has none of the endings.
    ConfigError
        If it cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        message = f"{option} must end in {', '.join(FORMATS)}, got {path.name!r}"
        raise click.UsageError(message, click.get_current_context())
    check_output(path, option)
