"""``heat load``: a graph from files into Neo4j."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.arguments import made
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import FILE_IN, Decorator, database_options, option
from heat_neo4j.cli.output import Reporter, facts, plural, printed_as_json
from heat_neo4j.cli.report import Counted, counted

if TYPE_CHECKING:
    from heat_neo4j.database.write.loader import LoadNames, LoadReport
    from heat_neo4j.inputs.files import FileGraph

__all__ = ["load"]

ODDITIES = {
    "merged": Counted(
        "line repeats a source and target: weights were summed",
        "lines repeat a source and target: weights were summed",
    ),
    "without_attributes": Counted("node has no line of attributes", "nodes have no line of attributes"),
    "without_label": Counted("node has no class", "nodes have no class"),
    "without_time": Counted("relationship has no time", "relationships have no time"),
}
EXAMPLE = """
heat load cora_ml/edgelist.tsv.gz --attribute-file cora_ml/feats.csv.gz \\
          --class-file cora_ml/labels.csv.gz --label Paper --relationship CITES
"""


def _name_option(flag: str, default: str, text: str) -> Decorator[Any]:
    return option(flag, default=default, metavar="NAME", help=text)


@click.command(cls=HeatCommand, example=EXAMPLE)
@click.argument("edges", type=FILE_IN)
@option("--attribute-file", type=FILE_IN, help="Numbers for each node: node, then one column for each.")
@option("--class-file", type=FILE_IN, help="Classes: node and class; or node, then a 0/1 column for each.")
@option(
    "--as-columns", is_flag=True,
    help="Make each attribute column a property of its own, dates and text too, not one list 'features'.",
)  # fmt: skip
@option(
    "--text-ids", is_flag=True,
    help="Read ids as texts even where all are whole numbers, for a label that has texts as ids.",
)  # fmt: skip
@_name_option("--label", "Node", "Label of the nodes.")
@option(
    "--target-label", metavar="NAME",
    help="Label of the nodes at which relationships end, if it is another one.",
)  # fmt: skip
@_name_option("--relationship", "LINK", "Type of the relationships.")
@_name_option("--key", "id", "Node property for a node's name in the files; made unique.")
@_name_option("--weight", "weight", "Relationship property for the weight; 1 where the file gives none.")
@option("--overwrite", is_flag=True, help="Replace values that nodes or relationships have already.")
@database_options
def load(
    edges: Path,
    attribute_file: Path | None,
    class_file: Path | None,
    as_columns: bool,
    text_ids: bool,
    overwrite: bool,
    **options: Any,
) -> None:
    """Load an edge list with attributes and labels into Neo4j.

    EDGES has a line for each relationship: source, target and, if you like, weight; a column named time
    in the first line holds ISO dates, datetimes or numbers. Files end in .tsv (tabs) or .csv (commas), or
    in .tsv.gz or .csv.gz. Loading the same files twice changes nothing.
    """
    from heat_neo4j.database.write.loader import LoadNames
    from heat_neo4j.inputs.files import read_graph_files

    fields = {field: options[field] for field in ("label", "target_label", "relationship", "key", "weight")}
    names = made(LoadNames, **fields)
    graph = read_graph_files(edges, attribute_file, class_file, as_columns=as_columns, text_ids=text_ids)
    with open_store(options) as store, Reporter() as progress:
        report = store.load_graph(graph, names, overwrite=overwrite, on_progress=progress)
    if not printed_as_json({**asdict(report), **graph.counts, "names": fields}):
        facts(_lines(report, graph, names))


def _lines(report: LoadReport, graph: FileGraph, names: LoadNames) -> Iterator[tuple[str, str]]:
    """Yield what was loaded, what was odd about it, and the command that comes next."""
    nodes, links = plural(report.nodes, "node"), plural(report.relationships, "relationship")
    labels = " and ".join(names.labels)
    yield "Loaded", f"{nodes} of label {labels}, {report.nodes_created:,} of them new"
    yield "", f"{links} of type {names.relationship}, {report.relationships_created:,} of them new"
    yield from counted(graph.counts, ODDITIES)
    columns = ["features"] if graph.features is not None else list(graph.columns)
    words = ["heat", "embed", *(word for label in names.labels for word in ("--label", label))]
    words += ["--relationship", names.relationship, "--weight", names.weight]
    several = len(names.labels) > 1
    keys = [f"{label}={names.key}" for label in names.labels] if several else [names.key]
    words += [word for key in keys for word in ("--key", key)]
    words += [word for column in columns for word in ("--attribute", column)]
    yield "Next", shlex.join(words)
