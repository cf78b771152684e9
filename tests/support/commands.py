"""The command line, run in this process against a live server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click
from click.testing import CliRunner, Result

from heat_neo4j.cli import heat


def invoker(server: Any) -> Callable[..., Result]:
    """Return a function that runs ``heat`` with what it is given, and expects the exit code `code`."""

    def run(*arguments: str, code: int = 0, **settings: Any) -> Result:
        result = CliRunner().invoke(
            heat, list(arguments), prog_name="heat", env=server.environment, **settings
        )
        assert result.exit_code == code, result.output
        return result

    return run


def parse(name: str, *arguments: str) -> click.Context:
    """Return the context in which ``heat`` would run a command; nothing is run.

    Its parent is that of the command line: click keeps the names of a command's help option from its first
    context, and without the parent ``-h`` would be missing in all later tests.
    """
    parent = click.Context(heat, info_name="heat", **heat.context_settings)
    command = heat.get_command(parent, name)
    assert command is not None
    return command.make_context(name, list(arguments), parent=parent)


def json_of(result: Result) -> Any:
    """Return the one JSON document on stdout; stderr must be silent."""
    assert result.stderr == ""
    return json.loads(result.stdout)
