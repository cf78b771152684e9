"""The command line, run in this process against a live server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

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


def json_of(result: Result) -> Any:
    """Return the one JSON document on stdout; stderr must be silent."""
    assert result.stderr == ""
    return json.loads(result.stdout)
