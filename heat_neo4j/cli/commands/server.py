"""``heat server``: a local Neo4j server."""

import os
from typing import Any

import click

from heat_neo4j._utils.display import format_bytes
from heat_neo4j.cli.arguments import made
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import Decorator, option, output_options
from heat_neo4j.cli.output import Reporter, facts, print_line, printed_as_json, table
from heat_neo4j.cli.values import PORT
from heat_neo4j.errors.redaction import server_address
from heat_neo4j.local_server.releases import DEFAULT_SERIES, RELEASES
from heat_neo4j.local_server.server import DEFAULT_NAME, LocalServer, ServerStatus, local_servers

MALFORMED = "a malformed address"
OUTCOMES = {
    "stopped": "stopped",
    "killed": "did not stop in time and was killed; no committed data is lost, the next start takes longer",
    "gone": "was gone already: killed or crashed, or the machine was restarted",
    "not running": "not running",
}

name_option: Decorator[Any] = option(
    "--name",
    metavar="NAME",
    default=DEFAULT_NAME,
    help="Name of the server; other commands find only 'default' by themselves.",
)
version_option: Decorator[Any] = option(
    "--version", type=click.Choice(list(RELEASES)), default=DEFAULT_SERIES,
    help="Release to run; each keeps its own data.",
)  # fmt: skip
any_version_option: Decorator[Any] = option(
    "--version", type=click.Choice(list(RELEASES)), help="This release only.  [default: all]"
)


@click.group(cls=HeatSubgroup, example="heat server start\nheat server status")
def server() -> None:
    """Start, stop or inspect a local Neo4j server.

    A real Neo4j Community server; this machine needs no Docker, Maven or Java. It needs the extra
    'local'. It listens on 127.0.0.1 only, has a random password, keeps its data between starts and sends
    no usage reports. Data, jars and password are in HEAT_HOME, or else in the user's data folder.
    """


@server.command(
    cls=HeatCommand, example="heat server start\nheat server start --version 2026 --bolt-port 7687"
)
@version_option
@name_option
@option(
    "--bolt-port", type=PORT, metavar="N", help="Port for drivers.  [default: as last time, else a free one]"
)
@option(
    "--http-port",
    type=PORT,
    metavar="N",
    help="Port for the Browser.  [default: as last time, else a free one]",
)
@option("--heap", metavar="SIZE", help="Java heap, such as 2g.  [default: 1/8 of memory, 512m to 4g]")
@option("--page-cache", metavar="SIZE", help="Neo4j's cache.  [default: 1/8 of memory, 128m to 8g]")
@output_options
def start(**options: Any) -> None:
    """Start the local server, and install it the first time.

    The first start of a release downloads it from Maven Central, 155 to 190 MB; later starts need no network.
    The other commands use the running local server unless NEO4J_URI names another one; then only a server
    with a --name is started.
    """
    local = made(LocalServer, **options)
    chosen = os.environ.get("NEO4J_URI")
    if chosen not in (None, local.last_address) and local.folder.name == DEFAULT_NAME:
        address = server_address(chosen)
        if not printed_as_json({"running": False, "neo4j_uri": address}):
            at = address or MALFORMED
            print_line(f"NEO4J_URI is set: heat uses the server at {at}; unset it to start a local one")
        return
    with Reporter() as local.on_progress:
        status = local.start()
    if not printed_as_json(status.to_dict()):
        _show(status)


@server.command(cls=HeatCommand, example="heat server stop")
@name_option
@any_version_option
@output_options
def stop(name: str, version: str | None) -> None:
    """Stop the local server; its data stays."""
    outcomes = {local.release.version: local.stop() for local in _servers(name, version)}
    if printed_as_json({"name": name, "stopped": outcomes}):
        return
    ended = {release: outcome for release, outcome in outcomes.items() if outcome != "not running"}
    for release, outcome in (ended or outcomes).items():
        print_line(f"local server {name!r}, Neo4j {release}: {OUTCOMES[outcome]}")


@server.command(cls=HeatCommand, example='heat server status\nheat server status --json | jq -r ".[].uri"')
@name_option
@any_version_option
@output_options
def status(name: str, version: str | None) -> None:
    """Show whether the local server runs, and how to connect to it."""
    statuses = [local.status() for local in _servers(name, version) if local.folder.path.exists()]
    if printed_as_json([status.to_dict() for status in statuses]):
        return
    if not statuses:
        print_line(f"there is no local server {name!r} yet: heat server start")
    for place, status in enumerate(statuses):
        if place:
            print_line()
        _show(status)
    if (chosen := os.environ.get("NEO4J_URI")) is not None:
        at = server_address(chosen) or MALFORMED
        print_line(f"NEO4J_URI is set: the other commands use the server at {at}")


@server.command("list", cls=HeatCommand, example="heat server list\nheat server list --json")
@output_options
def list_servers() -> None:
    """List local servers: release, state, address, data folder and its size."""
    servers = [(local.status(), local.folder.size) for local in local_servers()]
    if printed_as_json([{**status.to_dict(), "bytes": size} for status, size in servers]):
        return
    if servers:
        header = ("Name", "Release", "State", "Address", "Size", "Data")
        table(header, [_row(status, size) for status, size in servers])
    else:
        print_line("there is no local server yet: heat server start")


def _row(status: ServerStatus, size: int) -> tuple[str, ...]:
    state = "running" if status.running else "not running"
    return status.name, status.version, state, status.uri or "-", format_bytes(size), str(status.folder)


def _servers(name: str, version: str | None) -> list[LocalServer]:
    return [made(LocalServer, version=series, name=name) for series in ([version] if version else RELEASES)]


def _show(status: ServerStatus) -> None:
    """Print the state of one server, and the lines that point other programs at it."""
    state = f"running, process {status.pid}" if status.running else "not running"
    rows = [
        ("Server", f"{status.name}, Neo4j Community {status.version}"),
        ("State", f"{state} ({status.note})" if status.note else state),
        ("Address", status.uri or ""),
        ("Browser", status.browser or ""),
        ("Data", str(status.folder)),
        ("Password", f"in {status.password_file}" if status.password_file.exists() else ""),
    ]
    facts((name, text) for name, text in rows if text)
    for line in status.environment():
        print_line(line)
