"""Checks before a write: each raises `WriteRefused` before the first value is sent."""

from collections.abc import Collection, Sequence
from shlex import quote

from heat_neo4j._utils.display import plural
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import EMBEDDING, LABELS, LINKS, TYPES, VALUES, Bookkeeping
from heat_neo4j.database.statements import Fragment, load_statement
from heat_neo4j.database.versions import RUN_ID
from heat_neo4j.errors import ProjectionError, WriteRefused
from heat_neo4j.graph import Graph

_ADVICE_VALUES = "rename or remove these, or repeat an interrupted clear"


def _on_nodes(parts: Collection[str]) -> bool:
    """Return whether some of the parts are properties of nodes."""
    return EMBEDDING in parts or VALUES in parts


def refuse_input_names(graph: Graph, names: WriteNames, parts: Sequence[str]) -> None:
    """Refuse names that `graph` was read from: the next run would read its own output."""
    projection = Projection.from_dict(graph.provenance.projection)
    if _on_nodes(parts):
        read = {*projection.keys.properties, *(attribute.key for attribute in projection.all_attributes)}
        for name in names.properties:
            if name in read:
                raise WriteRefused(
                    f"the node property {name!r} is read by the projection: use another `model`"
                )
    for link_type in names.links if LINKS in parts else ():
        if link_type in (projection.relationships or ()):
            raise WriteRefused(
                f"the relationship type {link_type!r} is read by the projection: use another `model`"
            )


def refuse_taken_names(book: Bookkeeping, names: WriteNames, parts: Sequence[str]) -> None:
    """Refuse names that another model uses in the graph."""
    for run in book.runs:
        if run.model == names.model:
            continue
        taken: set[str | None] = set()
        if _on_nodes(parts) and _on_nodes(run.stored):
            taken |= set(run.names.properties) & set(names.properties)
        if LINKS in parts and LINKS in run.stored:
            taken |= set(run.names.links) & set(names.links)
        if taken:
            raise WriteRefused(
                f"{', '.join(sorted(map(repr, taken)))} belongs to model {run.model!r}: use "
                f"another --model, or run `heat clear --model {quote(run.model)}`"
            )


def refuse_other_values(book: Bookkeeping, names: WriteNames) -> None:
    """Refuse values of another kind than those of the published model, such as numbers beside classes."""
    used = book.names(names.model)
    if "run" in book.published(names.model) and used.values != names.values:
        raise WriteRefused(
            f"model {names.model!r} is published as {', '.join(used.own)}, not {', '.join(names.own)}: run "
            f"`heat clear --model {quote(names.model)}` first"
        )


def refuse_constraints(
    connection: Connection, names: WriteNames, parts: Sequence[str], labels: Collection[str]
) -> None:
    """Refuse constraints on our labels and types, and on our properties of nodes with some labels.

    Empty `labels` means that those of the nodes are unknown. Any constraint that existed before the first
    write could stop a publication half-way.
    """
    ours = {
        "labels": list(LABELS),
        "types": [*TYPES, *(names.links if LINKS in parts else ())],
        "properties": list(names.properties) if _on_nodes(parts) else [],
    }
    try:
        rows = connection.read(load_statement("read/constraints"), ours, doing="reading constraints")
    except ProjectionError:  # the user may not see them
        return
    for row in rows:
        on, kind = row["labels"][0], str(row["type"]).replace("_", " ").lower()
        if row["entity"] == "NODE" and on not in LABELS and labels and on not in labels:
            continue
        raise WriteRefused(
            f"constraint {row['name']!r} ({kind} of {', '.join(row['properties'])} on {on}) covers data of "
            f"model {names.model!r}: drop it (SHOW CONSTRAINTS lists it), or use another `model`"
        )


def refuse_foreign_values(
    connection: Connection,
    book: Bookkeeping,
    names: WriteNames,
    parts: Sequence[str],
    nodes: Fragment | Sequence[str],
) -> None:
    """Refuse property and type names under which the graph has values that no run of this model wrote.

    `nodes` is the label expression for the nodes that a publication looks at.
    """
    advice = "use another `model`, repeat an interrupted clear, or set `overwrite`"
    if _on_nodes(parts):
        copies = names.placeholders("plain", "staged", "previous")
        statement = load_statement("write/foreign_values", labels=nodes, **copies)
        parameters = {"runs": book.holders(names.model, parts[0]), "run_id": RUN_ID}
        doing = "looking for values that would be overwritten"
        row = connection.read(statement, parameters, doing=doing)[0]
        if row["found"]:
            *values, last = names.own
            raise WriteRefused(
                f"{', '.join(values)} or {last}, or its Staged or Previous copy, on "
                f"{plural(row['found'], 'node')} (e.g. {row['example']}) is not from a run of model "
                f"{names.model!r}: {_ADVICE_VALUES if names.values else advice}"
            )
    if LINKS in parts:
        statement = load_statement("write/foreign_links", copies=names.links)
        parameters = {"runs": book.holders(names.model, LINKS), "plain": names.link_type, "run_id": RUN_ID}
        doing = "looking for relationships of the same type"
        row = connection.read(statement, parameters, doing=doing)[0]
        if row["found"]:
            raise WriteRefused(
                f"type {row['type']!r} on {plural(row['found'], 'relationship')} (e.g. {row['example']}) is "
                f"not from a run of model {names.model!r}: {advice}; existing relationships stay as they are"
            )
