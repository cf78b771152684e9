"""What writing must not touch: checked before the first value is sent."""

from __future__ import annotations

from collections.abc import Sequence

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import SLOTS, WriteNames
from heat_neo4j.database.runs import EMBEDDING, LINKS, Bookkeeping
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import WriteRefused
from heat_neo4j.graph import Graph

__all__ = ["refuse_foreign_values", "refuse_input_names", "refuse_taken_names"]


def refuse_input_names(graph: Graph, names: WriteNames, parts: Sequence[str]) -> None:
    """Refuse to write to what `graph` was read from: the next run would read its own output.

    Raises
    ------
    WriteRefused
        If a property or the relationship type is one of the projection's.
    """
    projection = graph.provenance.projection
    if EMBEDDING in parts:
        read = {projection.get("key"), *projection.get("attributes", ())}
        for name in names.properties:
            if name in read:
                raise WriteRefused(
                    f"the node property {name!r} is read by the projection: write to another name"
                )
    if LINKS in parts and names.link_type in (projection.get("relationships") or ()):
        raise WriteRefused(
            f"the relationship type {names.link_type!r} is read by the projection: use another link type"
        )


def refuse_taken_names(book: Bookkeeping, names: WriteNames, parts: Sequence[str]) -> None:
    """Refuse names under which another model has values in the graph.

    Raises
    ------
    WriteRefused
        Naming the other model.
    """
    for run in book.runs:
        if run.model == names.model:
            continue
        taken: set[str | None] = set()
        if EMBEDDING in parts and EMBEDDING in run.stored:
            mine = (run.embedding_property, run.radius_property, run.run_property, run.vector_property)
            taken |= set(mine) & set(names.properties)
        if LINKS in parts and LINKS in run.stored:
            taken |= {run.link_type} & {names.link_type}
        if taken:
            raise WriteRefused(
                f"{', '.join(sorted(map(repr, taken)))} belongs to model {run.model!r}: give model "
                f"{names.model!r} other names, or run `heat clear --model {run.model}`"
            )


def refuse_foreign_values(
    connection: Connection, book: Bookkeeping, names: WriteNames, parts: Sequence[str]
) -> None:
    """Refuse property and type names under which the graph has values that no run of this model wrote.

    Raises
    ------
    WriteRefused
        With their number and an example.
    """
    advice = "choose other names, or allow it with --overwrite (overwrite=True)"
    if EMBEDDING in parts:
        statement = load_statement(
            "write/foreign_values",
            **{
                f"{name}_{word}": value
                for word, number in zip(("one", "two", "three"), SLOTS, strict=True)
                for name, value in names.slot(number)._asdict().items()
            },
        )
        holders = {"runs": book.holders(names.model, EMBEDDING)}
        found = connection.read(statement, holders, doing="looking for values that would be overwritten")[0]
        if found["found"]:
            raise WriteRefused(
                f"{found['found']} nodes (e.g. {found['example']}) have {names.embedding}, {names.radius}, "
                f"{names.run} or {names.vector}, each with 1, 2 or 3 at its end, from elsewhere, not from a "
                f"run of model {names.model!r}: {advice}"
            )
    if LINKS in parts:
        statement = load_statement("write/foreign_links", type=names.link_type)
        holders = {"runs": book.holders(names.model, LINKS)}
        found = connection.read(statement, holders, doing="looking for relationships of the same type")[0]
        if found["found"]:
            raise WriteRefused(
                f"{found['found']} relationships (e.g. {found['example']}) of type {names.link_type!r} are "
                f"not from a run of model {names.model!r}: {advice}; they stay as they are"
            )
