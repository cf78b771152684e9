"""The vector index of published coordinates: what there is of it, making it afterwards, taking it away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.index.vector_indexes import (
    NO_INDEX,
    VectorIndex,
    build_indexes,
    drop_indexes,
    note_indexes,
    show_indexes,
)
from heat_neo4j.database.naming import SlotNames, WriteNames
from heat_neo4j.database.publish.lease import Lease
from heat_neo4j.database.publish.publication import switch_version
from heat_neo4j.database.runs import RunRecord, nothing_published, read_bookkeeping
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.database.versions import Address, with_index
from heat_neo4j.database.write.payload import VECTOR_SCALE
from heat_neo4j.errors import WriteRefused

__all__ = ["IndexStatus", "create_index", "drop_index", "index_status"]

_BATCH = 10_000
_ALL = 2**62


@dataclass(frozen=True)
class IndexStatus:
    """What a model has of a vector index.

    Parameters
    ----------
    model, run : str
        The model, and the run whose coordinates are published.
    dimension : int
        Of the space.
    indexes : tuple of VectorIndex
        Those that readers are sent to, as the server tells them.
    problems : tuple of str
        What is wrong, one line each; none if neighbours can be asked for.
    """

    model: str
    run: str
    dimension: int
    indexes: tuple[VectorIndex, ...]
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON data."""
        return {
            "model": self.model,
            "run": self.run,
            "dimension": self.dimension,
            "indexes": [index.to_dict() for index in self.indexes],
            "problems": list(self.problems),
        }


def index_status(connection: Connection, model: str) -> IndexStatus:
    """Return what there is of the model's index; see `Neo4jStore.index_status`."""
    node, record = _published(connection, model)
    names, dimension = _names(record), _dimension(record)
    wanted = list(node.get("indexes") or ())
    found = tuple(show_indexes(connection, [], wanted))
    problems = [] if wanted else [f"model {model!r} has no vector index: `heat index create` makes one"]
    there = {index.name for index in found}
    problems += [
        f"index {name!r} is gone: `heat index create` makes it anew" for name in wanted if name not in there
    ]
    for index in found:
        if not index.serves(names, dimension):
            problems.append(f"index {index.name!r} is not as it must be: `heat index create` makes it anew")
        elif index.state != "ONLINE":
            problems.append(f"index {index.name!r} is still built: {index.percent:.0f} %")
    return IndexStatus(model, record.run_id, dimension, found, tuple(problems))


def create_index(connection: Connection, model: str, on_progress: Progress = no_progress) -> IndexStatus:
    """Make the model's index, unless it is there and as it must be; see `Neo4jStore.create_index`."""
    status = index_status(connection, model)
    if not status.problems:
        return status
    with Lease(connection, model) as lease:
        _, record = _published(connection, model)
        names = _names(record)
        _refuse_foreign_vectors(connection, record, names)
        note_indexes(connection, record, "complete", names.vector, record.indexes)
        kind = {"kind": record.coordinates, "scale": VECTOR_SCALE}
        _in_batches(connection, record, "write/vectors_set", kind, on_progress, embedding=names.embedding)
        address = build_indexes(
            connection, record, names, _dimension(record), status="complete", on_progress=on_progress
        )
        _address(connection, lease, address)
    return index_status(connection, model)


def drop_index(connection: Connection, model: str, on_progress: Progress = no_progress) -> tuple[str, ...]:
    """Take the model's index and its vectors away; see `Neo4jStore.drop_index`."""
    if _published(connection, model)[1].vector_property is None:
        return ()
    with Lease(connection, model) as lease:
        node, record = _published(connection, model)
        indexes = tuple(dict.fromkeys([*record.indexes, *(node.get("indexes") or ())]))
        _address(connection, lease, NO_INDEX)
        drop_indexes(connection, replace(record, indexes=indexes))
        _in_batches(connection, record, "write/vectors_remove", {}, on_progress)
        note_indexes(connection, record, "complete", record.vector_property, ())
    return indexes


def _published(connection: Connection, model: str) -> tuple[Address, RunRecord]:
    """Return the published version of a model, and the run that wrote its coordinates."""
    book = read_bookkeeping(connection)
    record = book.published_run(model)
    if record is None:
        raise nothing_published(model)
    return book.published(model), record


def _names(record: RunRecord) -> SlotNames:
    """Return where the run wrote; runs of early versions knew of no vectors."""
    vector = record.vector_property or WriteNames(model=record.model).slot(record.slot).vector
    return SlotNames(
        record.embedding_property or "", record.radius_property or "", record.run_property or "", vector
    )


def _dimension(record: RunRecord) -> int:
    return (record.dimension or 0) - (record.coordinates == "hyperboloid")


def _refuse_foreign_vectors(connection: Connection, record: RunRecord, names: SlotNames) -> None:
    statement = load_statement("write/foreign_vectors", vector=names.vector, run=names.run)
    found = connection.read(statement, {"run": record.run_id}, doing="looking for vectors of others")[0]
    if found["found"]:
        raise WriteRefused(
            f"{found['found']} nodes (e.g. {found['example']}) have {names.vector!r} from elsewhere: "
            "remove it, or run `heat embed` with another [write] vector_property in heat.toml"
        )


def _in_batches(
    connection: Connection,
    record: RunRecord,
    statement: str,
    parameters: Mapping[str, Any],
    on_progress: Progress,
    **identifiers: str,
) -> None:
    """Run a statement over all nodes of a run; a node that is no more that run's is left alone."""
    names = _names(record)
    find = load_statement("write/coordinates_of_run", run=names.run)
    asked = {"run": record.run_id, "limit": _ALL}
    ids = connection.read(find, asked, doing="looking for what a run wrote")[0]["ids"]
    text = load_statement(statement, vector=names.vector, run=names.run, **identifiers)
    on_progress("write vectors", 0, len(ids))
    for begin in range(0, len(ids), _BATCH):
        batch = {"run": record.run_id, "ids": ids[begin : begin + _BATCH], **parameters}
        write(connection, partial(_run, text, batch), doing="writing vectors")
        on_progress("write vectors", min(begin + _BATCH, len(ids)), len(ids))


def _run(statement: str, parameters: Mapping[str, Any], transaction: Transaction) -> None:
    transaction.run(statement, parameters)


def _address(connection: Connection, lease: Lease, address: Mapping[str, Any]) -> None:
    """Tell readers where the index is."""
    switch_version(
        connection,
        lease,
        partial(with_index, index=address),
        lambda _, __: None,
        doing="publishing the index",
    )
