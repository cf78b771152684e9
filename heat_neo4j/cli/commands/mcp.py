"""``heat mcp``: a published model for language models, by the Model Context Protocol."""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path
from typing import Any

import click

from heat_neo4j.cli.connection import open_store, read_secret
from heat_neo4j.cli.group import INTERRUPTED, HeatCommand
from heat_neo4j.cli.options import Decorator, common_options, filter_options, option, setting_options, stack
from heat_neo4j.cli.output import print_line
from heat_neo4j.cli.signatures import FILE
from heat_neo4j.cli.values import Count, Duration
from heat_neo4j.errors.redaction import keep_secret

EXAMPLE = """
heat mcp
heat mcp --model papers --uri neo4j://localhost:7687 --password-file /etc/heat/password
heat mcp --transport http --http-token-file /etc/heat/token
"""
_TOKEN = "HEAT_MCP_TOKEN"

serving_options: Decorator[Any] = stack(
    option("--transport", type=click.Choice(["stdio", "http"]), default="stdio", heading="Serving",
           help="stdin and stdout, or streamable HTTP at http://127.0.0.1:PORT/mcp."),
    option("--http-port", type=Count(min=0, max=65_535), default=8000, metavar="N", heading="Serving",
           help="Port of 127.0.0.1; 0 for a free one."),
    option("--http-token-file", type=FILE, heading="Serving",
           help="File that contains only the bearer token of requests.  "
                f"[env: {_TOKEN}, the token itself; default: a new one, printed]"),
    option("--namespace", metavar="NAME", default="", show_default=False, heading="Serving",
           help="Prefix of tool names, for clients with several servers."),
    option("--fulltext-index", metavar="NAME", heading="Serving",
           help="Full-text index for questions in words.  [default: the only one over nodes]"),
    option("--read-timeout", type=Duration(), default="60s", metavar="TIME", heading="Serving", level="more",
           help="Time limit of an answer."),
    option("--max-rows", type=Count(min=1), default=100, metavar="N", heading="Serving", level="more",
           help="Longest list in an answer."),
    option("--max-characters", type=Count(min=1_000), default=50_000, metavar="N", heading="Serving",
           level="more", help="Longest answer; lists are shortened until it fits."),
)  # fmt: skip


@click.command(cls=HeatCommand, example=EXAMPLE)
@serving_options
@filter_options
@setting_options("write.model", "connection")
@common_options
def mcp(
    model: str,
    transport: str,
    http_port: int,
    http_token_file: Path | None,
    namespace: str,
    fulltext_index: str | None,
    read_timeout: float,
    max_rows: int,
    max_characters: int,
    **options: Any,
) -> None:
    """Serve a model to MCP clients over stdio or HTTP.

    A client, such as an assistant or an editor, starts this command, searches nodes by text, and lists
    nearest, more general or specific nodes, likely links with reasons, missing properties and groups. Nothing
    can be written. The command ends when stdin closes; messages go to stderr. Over HTTP it serves only this
    machine until stopped, and each request needs the token. It needs the extra 'mcp'; without it the exit
    code is 2.
    """
    from heat_neo4j.database.index.search import fulltext_indexes
    from heat_neo4j.database.limits import Limits
    from heat_neo4j.retrieval.mcp_server import ServerOptions, build_server, listen, run_http

    is_http = transport == "http"
    settings = ServerOptions(
        namespace=namespace,
        seconds=read_timeout,
        rows=max_rows,
        characters=max_characters,
        fulltext_index=fulltext_index,
        token=_token(http_token_file) if is_http else None,
    )
    limits = Limits(statement_seconds=read_timeout, patience_seconds=0.0)  # nobody waits longer for an answer
    with open_store(options, limits=limits) as store:
        # Waiting for stdin cannot be interrupted, and needs no clean-up.
        before = signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
        try:
            server = build_server(store, model, settings)
            print_line(f"heat: MCP server of model {model!r} at {store.server.address}", err=True)
            if fulltext_index is None and len(names := fulltext_indexes(store)) > 1:
                listed = ", ".join(map(repr, names))
                print_line(f"heat: `search` needs --fulltext-index, one of {listed}", err=True)
            if is_http:
                with listen(http_port) as listening:
                    host, port = listening.getsockname()
                    print_line(f"heat: listening at http://{host}:{port}/mcp", err=True)
                    run_http(server, listening)
            else:
                server.run("stdio")
        finally:
            signal.signal(signal.SIGINT, before)


def _token(file: Path | None) -> str:
    """Return the token of a file, of the environment, or a new one."""
    token = os.environ.get(_TOKEN) if file is None else read_secret(file, "token")
    if not token:
        token = secrets.token_urlsafe()
        print_line(f"heat: no token is set, so requests need this one: {token}", err=True)
    keep_secret(token)
    return token
