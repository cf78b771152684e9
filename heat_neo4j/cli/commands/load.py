"""``heat load``: a graph from files into Neo4j."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.arguments import made
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import database_options, header_option, parameter_options, verb_options
from heat_neo4j.cli.output import Reporter, facts, headed, printed_as_json
from heat_neo4j.cli.report import counted
from heat_neo4j.cli.signatures import FILE_IN, source_of

if TYPE_CHECKING:
    from heat_neo4j.database.write.loader import LoadNames, LoadReport
    from heat_neo4j.inputs.files import FileGraph

ODDITIES = {
    "merged": ("line", "with the source and target of an earlier one: weights were summed"),
    "without_attributes": ("node", "without a line of attributes"),
    "without_label": ("node", "without a class"),
    "without_time": ("relationship", "without a time"),
}
_LEFT_OUT = {
    "text": "too many different texts: if they are not identifiers, use --text",
    "number": "numbers as texts: convert them in Cypher with toFloat()",
    "date": "dates as texts: convert them in Cypher with date()",
    "empty": "no value",
}
EXAMPLE = """
heat load cora_ml/edgelist.tsv.gz --attribute-file cora_ml/feats.csv.gz \\
          --class-file cora_ml/labels.csv.gz --label Paper --relationship CITES
"""


FILES = source_of("inputs.files", "read_graph_files")
NAMES = source_of("database.write.loader", "LoadNames")
FIELDS = ("label", "target_label", "relationship", "key", "weight")


@click.command(cls=HeatCommand, example=EXAMPLE)
@click.argument("edges", type=FILE_IN)
@parameter_options(FILES, "attribute_file", "class_file", "as_columns", "text_ids")
@header_option
@parameter_options(NAMES, *FIELDS, metavar="NAME")
@verb_options("load_graph", "overwrite")
@database_options
def load(edges: Path, overwrite: bool, **options: Any) -> None:
    """Load an edge list with attributes and labels into Neo4j.

    EDGES has a line for each relationship: a source, a target and, optionally, a weight. The first line may
    name the columns; a column `time` holds ISO dates, datetimes or numbers. Files end in .tsv (tabs) or .csv
    (commas, or semicolons with decimal commas), or in .tsv.gz or .csv.gz. "Read" in the output shows how each
    was read. Loading the same files twice changes nothing.
    """
    from heat_neo4j.database.write.loader import LoadNames, check_types
    from heat_neo4j.inputs.files import read_graph_files

    fields = {field: options[field] for field in FIELDS}
    names = made(LoadNames, **fields)
    label, _, name = names.key.partition("=")
    if label in names.labels:
        raise click.UsageError(f"all labels share one key here: --key {name}")
    read = {name: options[name] for name in FILES.parameters if name in options}
    graph = read_graph_files(edges, **read)
    check_types(graph, names)
    with open_store(options) as store, Reporter() as progress:
        report = store.load_graph(graph, names, overwrite=overwrite, on_progress=progress)
    document = {**asdict(report), **graph.counts, "names": fields, "read": list(graph.readings)}
    if not printed_as_json(document):
        facts(headed("Read", graph.readings))
        facts(_lines(report, graph, names))


def _lines(report: LoadReport, graph: FileGraph, names: LoadNames) -> Iterator[tuple[str, str]]:
    """Yield what was loaded, what was odd about it, and the next command, without poor attributes."""
    from heat_neo4j.inputs.properties import poor_attributes

    nodes, links = plural(report.nodes, "node"), plural(report.relationships, "relationship")
    labels = " and ".join(names.labels)
    yield "Loaded", f"{nodes} of label {labels}, {report.nodes_created:,} of them new"
    yield "", f"{links} of type {names.relationship}, {report.relationships_created:,} of them new"
    yield from counted(graph.counts, ODDITIES)
    if not report.relationships:
        return  # there is nothing to embed
    poor = poor_attributes(graph.columns)
    reasons = {
        kind: ", ".join(name for name in poor if poor[name] == kind) for kind in dict.fromkeys(poor.values())
    }
    if poor:
        yield "Not in Next", "; ".join(f"{listed} ({_LEFT_OUT[kind]})" for kind, listed in reasons.items())
    named = ["features"] if graph.features is not None else graph.columns
    columns = [name for name in named if name not in poor]
    words = ["heat", "embed", *(word for label in names.labels for word in ("--label", label))]
    words += ["--relationship", names.relationship, "--weight", names.weight]
    several = len(names.labels) > 1
    keys = [f"{label}={names.key}" for label in names.labels] if several else [names.key]
    words += [word for key in keys for word in ("--key", key)]
    words += [word for column in columns for word in ("--attribute", column)]
    yield "Next", shlex.join(words)
    if graph.time is not None:
        yield "", "add --time time to predict future links, not links that are missing now"
