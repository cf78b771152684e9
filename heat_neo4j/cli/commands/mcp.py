"""``heat mcp``: a published model for language models, by the Model Context Protocol."""

from __future__ import annotations

import os
import signal
from typing import Any

import click

from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import INTERRUPTED, HeatCommand
from heat_neo4j.cli.options import common_options, filter_options, setting_options
from heat_neo4j.cli.output import print_line

EXAMPLE = """
heat mcp
heat mcp --model papers --uri neo4j://localhost:7687 --password-file /etc/heat/password
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@filter_options
@setting_options("write.model", "connection")
@common_options
def mcp(model: str, **options: Any) -> None:
    """Answer language models that speak MCP, over stdin and stdout.

    A client, such as an assistant or an editor, starts this command and asks for nearest, more general
    and more specific nodes, nodes between two, likeliest links and their reasons. Nothing can be written.
    The command ends with its stdin; messages go to stderr. It needs the extra 'mcp'; without it the exit
    code is 2.
    """
    from heat_neo4j.retrieval.mcp_server import build_server

    with open_store(options) as store:
        # To wait for stdin cannot be interrupted, and there is nothing to put down.
        before = signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
        try:
            server = build_server(store, model)
            print_line(f"heat: MCP server of model {model!r} at {store.server.address}", err=True)
            server.run("stdio")
        finally:
            signal.signal(signal.SIGINT, before)
