"""Open the database that the options, the environment or the local server name."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from heat_neo4j._utils.display import printable
from heat_neo4j._utils.log_line import LogLine
from heat_neo4j.cli.output import print_log_line
from heat_neo4j.errors import ConfigError

if TYPE_CHECKING:
    from heat_neo4j.database.store import Neo4jStore


def names_server(options: Mapping[str, Any]) -> bool:
    """Return whether there is a server to connect to: one that the options name, or a running local one."""
    from heat_neo4j.local_server.server import running_server

    return options["uri"] is not None or running_server() is not None


def open_store(options: Mapping[str, Any], **more: Any) -> Neo4jStore:
    """Connect to the database that the options name, or else to the running local server.

    `more` are other parameters of `Neo4jStore.open`.
    """
    from heat_neo4j.database.store import Neo4jStore
    from heat_neo4j.local_server.server import resolve_server

    def login() -> tuple[str, str]:
        username = options["username"] or "neo4j"
        return username, _password(username, options["password_file"])

    uri, auth = resolve_server(options["uri"], login)
    filters = [options.get(name) for name in ("node_filter", "relationship_filter")]
    trusted = [text for text in filters if text is not None]
    return Neo4jStore.open(uri, auth=auth, database=options["database"], trusted=trusted, **more)


def _password(username: str, file: Path | None) -> str:
    """Find the password: flag, environment, heat.toml, and then the person at the terminal."""
    by_flag = click.get_current_context().get_parameter_source("password_file") is ParameterSource.COMMANDLINE
    if not by_flag and "NEO4J_PASSWORD" in os.environ:
        return os.environ["NEO4J_PASSWORD"]
    if file is not None:
        return read_secret(file, "password")
    if _at_terminal():
        return str(click.prompt(printable(f"Password of {username}"), hide_input=True, err=True))
    raise ConfigError(f"no password for user {username!r}: set NEO4J_PASSWORD or give --password-file")


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def read_secret(file: Path, what: str) -> str:
    """Return the only line of a file, a ``"password"`` or a ``"token"``."""
    try:
        with file.open(encoding="utf-8") as opened:
            lines = opened.read().splitlines()
            read_by_all = os.fstat(opened.fileno()).st_mode & stat.S_IROTH
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"{what} file {file}: cannot be read: {reason}") from error
    if len(lines) != 1 or not lines[0]:
        raise ConfigError(f"{what} file {file}: must hold one line, the {what}; it has {len(lines)}")
    if read_by_all:
        _warn_of_readers(file, what)
    return lines[0]


@cache
def _warn_of_readers(file: Path, what: str) -> None:
    """Say once that other users of the machine can read the secret."""
    advice = f"chmod 600 {shlex.quote(str(file))}"
    told = f"warning: every user of this machine can read {what} file {file}: {advice}"
    print_log_line(LogLine(told, event=f"{what}_file", level="warning"))
