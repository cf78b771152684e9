"""The command ``heat``."""

import click

from heat_neo4j._utils.version import __version__
from heat_neo4j.cli.group import HeatGroup

COMMANDS = {
    "doctor": "Check your installation and your server.",
    "check": "Show what a projection matches, and list its problems.",
    "estimate": "Estimate what a run needs: memory, time, bytes written.",
    "embed": "Read a graph, embed it, write coordinates and predicted links.",
    "refresh": "Bring a model up to date with as little work as possible.",
    "serve": "Keep a model fresh on a schedule.",
    "rollback": "Publish the previous version again.",
    "prune": "Remove unneeded data: leftovers of crashed runs, old records.",
    "links": "Predict links from the published embedding and write them.",
    "plot": "Draw a published model: disk, reliability, degrees.",
    "evaluate": "Compare HEAT with simpler methods on your graph.",
    "explore": "Save an interactive page of a model.",
    "neighbours": "List a node's nearest nodes.",
    "recommend": "List the likeliest missing links of a node.",
    "explain": "Explain why one node would be linked to another.",
    "classify": "Predict a property that some nodes lack.",
    "clusters": "Group nodes on several levels, and name the groups.",
    "duplicates": "List nodes that are probably the same thing.",
    "mcp": "Serve a model to MCP clients over stdio or HTTP.",
    "cypher": "List, show or run the queries that come with this package.",
    "index": "Create, inspect or drop the vector index of a published model.",
    "runs": "List the runs in the database, or show one.",
    "verify": "Repeat a training and compare every bit.",
    "clear": "Remove what runs have written, and only that.",
    "load": "Load an edge list with attributes and labels into Neo4j.",
    "server": "Start, stop or inspect a local Neo4j server.",
    "demo": "Try HEAT on the imports of Python's standard library.",
}

HOMES = {"duplicates": "links", "rollback": "versions", "prune": "versions"}


@click.group(
    cls=HeatGroup,
    lazy=COMMANDS,
    homes=HOMES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="heat")
@click.pass_context
def heat(context: click.Context) -> None:
    """Hyperbolic embeddings of attributed graphs, living in Neo4j.

    Reads a graph from Neo4j, gives every node coordinates in hyperbolic space and writes them back with
    predicted links, so that Cypher can query nearest neighbours, hierarchy and missing links.

    Connection: NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE, flags or heat.toml; by default
    the server of `heat server start`.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the command line and exit."""
    heat(prog_name="heat")
