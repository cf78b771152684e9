"""Vector indexes over what a run wrote: built before readers are sent to them, dropped before their values.

An index is of one label and one property. So the published vectors have one for each label of a *cover*: few
labels of which every node has at least one. It holds points of the Poincare ball times `VECTOR_SCALE`, as
a score of the index, 1 / (1 + d^2) in single precision, would not tell points apart that are close to each
other near the border.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.naming import SLOTS, SlotNames, WriteNames
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.database.write.batches import lease_lost
from heat_neo4j.database.write.payload import VECTOR_SCALE
from heat_neo4j.errors import WriteFailed, WriteRefused

__all__ = [
    "NO_INDEX",
    "STAGE",
    "VectorIndex",
    "build_indexes",
    "drop_indexes",
    "drop_strays",
    "label_cover",
    "note_indexes",
    "refuse_foreign_indexes",
    "show_indexes",
]

STAGE = "build index"
LARGEST_DIMENSION = 4096
CORE_SIZE = 100
"""How many nodes around the origin readers are told of: they are near to many, and indexes overlook them."""
NO_INDEX: Mapping[str, Any] = {"vectorProperty": None, "vectorScale": None, "indexes": None, "core": None}
"""What a version says that has no index."""
_POLL_SECONDS = 0.05
_SLOWEST_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class VectorIndex:
    """One index as the server tells it.

    Parameters
    ----------
    name, label, property : str
        Its name, and what it is over; a label and a property of several are joined by commas.
    state : str
        "ONLINE", "POPULATING" or "FAILED".
    percent : float
        How much of it is built, 0 to 100.
    dimension : int or None
        Length of the vectors; None if it is no vector index.
    similarity : str or None
        "EUCLIDEAN" or "COSINE".
    quantized : bool
        Whether vectors are kept with fewer digits.
    failure : str
        Why it failed; empty if it did not.
    """

    name: str
    label: str
    property: str
    state: str
    percent: float
    dimension: int | None
    similarity: str | None
    quantized: bool
    failure: str

    def is_of(self, names: SlotNames) -> bool:
        """Return whether it is a vector index over a slot, called as ours are."""
        ours = (names.index_of(self.label), names.vector)
        return self.dimension is not None and (self.name, self.property) == ours

    def serves(self, names: SlotNames, dimension: int) -> bool:
        """Return whether it finds nearest points among vectors of `dimension` that a slot holds."""
        wanted = (names.index_of(self.label), names.vector, dimension, "EUCLIDEAN", False)
        found = (self.name, self.property, self.dimension, self.similarity, self.quantized)
        return found == wanted and self.state != "FAILED"

    def to_dict(self) -> dict[str, Any]:
        """Return the index as JSON data."""
        return asdict(self)


def show_indexes(
    connection: Connection, properties: Sequence[str], names: Sequence[str]
) -> list[VectorIndex]:
    """Return the indexes over any of `properties`, and those called one of `names`, by name."""
    asked = {"properties": list(properties), "names": list(names)}
    found = connection.read(load_statement("read/indexes"), asked, doing="reading indexes")
    return [_described(record) for record in found]


def refuse_foreign_indexes(connection: Connection, names: WriteNames, labels: Sequence[str]) -> None:
    """Refuse to write where there is an index of somebody else's: over our vectors, or of our name.

    A vector index over our vectors that has our name is ours, even if the nodes of its run were deleted.

    Parameters
    ----------
    connection : Connection
        Where.
    names : WriteNames
        Names to write under.
    labels : sequence of str
        Labels of the nodes, as far as they are known.

    Raises
    ------
    WriteRefused
        Naming the index.
    """
    slots = [names.slot(slot) for slot in SLOTS]
    planned = [slot.index_of(label) for slot in slots for label in labels]
    for index in show_indexes(connection, [slot.vector for slot in slots], planned):
        if not any(index.is_of(slot) for slot in slots):
            raise _foreign(index, names.model)


def drop_strays(connection: Connection, names: SlotNames) -> None:
    """Drop indexes over a slot that is about to be written: runs of which nothing is left had made them.

    Raises
    ------
    WriteRefused
        If the user may not drop indexes.
    """
    for index in show_indexes(connection, [names.vector], []):
        _drop(connection, index, names.vector)


def label_cover(label_sets: Sequence[tuple[Collection[str], int]]) -> tuple[str, ...]:
    """Return few labels of which every node has at least one; none if a node has no label.

    Parameters
    ----------
    label_sets : sequence of (labels, count)
        The sets of labels met, and how many nodes have each.

    Returns
    -------
    tuple of str
        The label of the most nodes first, then that of the most nodes which are left, and so on.
    """
    left = [(set(labels), count) for labels, count in label_sets]
    cover: list[str] = []
    while left:
        held: dict[str, int] = {}
        for labels, count in left:
            for label in labels:
                held[label] = held.get(label, 0) + count
        if not all(labels for labels, _ in left):
            return ()
        best = min(held, key=lambda label: (-held[label], label))
        cover.append(best)
        left = [(labels, count) for labels, count in left if best not in labels]
    return tuple(cover)


def build_indexes(
    connection: Connection,
    record: RunRecord,
    names: SlotNames,
    dimension: int,
    *,
    status: str,
    on_progress: Progress = no_progress,
) -> dict[str, Any]:
    """Make the indexes over a run's vectors, which are there already, and wait until they are online.

    Parameters
    ----------
    connection : Connection
        Where.
    record : RunRecord
        The run, in its slot.
    names : SlotNames
        Of that slot.
    dimension : int
        Length of the vectors.
    status : str
        The status that the run must still have.
    on_progress : callable
        Called with the stage "build index", and nodes.

    Returns
    -------
    dict
        What the version's node is to say: ``vectorProperty``, ``vectorScale``, ``indexes``, and ``core``, the
        element ids of the nodes nearest to the origin.

    Raises
    ------
    WriteRefused
        If the user may not make indexes, a node has no label, an index of others is in the way, or the
        dimension is above 4096.
    LeaseHeld
        If another process took the lease meanwhile.
    WriteFailed
        If an index failed.
    """
    if dimension > LARGEST_DIMENSION:
        raise WriteRefused(f"an index takes at most {LARGEST_DIMENSION} dimensions, got {dimension}")
    labels, nodes = _cover_of(connection, record, names)
    planned = tuple(names.index_of(label) for label in labels)
    there = {index.name: index for index in show_indexes(connection, [names.vector], planned)}
    for index in there.values():
        if not index.is_of(names):
            raise _foreign(index, record.model)
    note_indexes(connection, record, status, names.vector, planned)
    for label, name in zip(labels, planned, strict=True):
        if name in there and there[name].serves(names, dimension):
            continue
        if name in there:
            _drop(connection, there[name], names.vector)
        _create(connection, name, label, names.vector, dimension)
    _await_online(connection, planned, nodes, on_progress)
    find = load_statement("read/core", run=names.run, radius=names.radius)
    asked = {"run": record.run_id, "limit": CORE_SIZE}
    core = connection.read(find, asked, doing="reading the most general nodes")[0]["ids"]
    return {
        "vectorProperty": names.vector,
        "vectorScale": VECTOR_SCALE,
        "indexes": list(planned),
        "core": core,
    }


def note_indexes(
    connection: Connection, record: RunRecord, status: str, vector: str | None, indexes: Sequence[str]
) -> None:
    """Write on the run's node which indexes there will be, or with an empty sequence that there are none.

    Raises
    ------
    LeaseHeld
        If the run has not the `status` any more.
    """
    asked = {"run": record.run_id, "status": status, "vector": vector, "indexes": list(indexes)}
    noted = write(
        connection,
        lambda noting: noting.run(load_statement("write/run_indexes"), asked).records,
        doing="noting the indexes",
    )
    if not noted:
        raise lease_lost(record.model)


def drop_indexes(connection: Connection, record: RunRecord) -> None:
    """Drop the indexes that a run made over its vectors.

    Raises
    ------
    WriteRefused
        If the user may not drop indexes.
    """
    if record.indexes:
        for index in show_indexes(connection, [], record.indexes):
            _drop(connection, index, record.vector_property or "")


def _foreign(index: VectorIndex, model: str) -> WriteRefused:
    return WriteRefused(
        f"the index {index.name!r} over {index.property!r} is not one of model {model!r}: "
        "drop it, or give vector_property of heat.toml (vector=...) another name"
    )


def _cover_of(connection: Connection, record: RunRecord, names: SlotNames) -> tuple[tuple[str, ...], int]:
    """Return labels that cover the nodes of a run, and how many nodes it has."""
    statement = load_statement("read/label_sets", run=names.run)
    found = connection.read(statement, {"run": record.run_id}, doing="reading labels")
    sets = [(set(row["labels"]) & set(record.labels) or row["labels"], row["nodes"]) for row in found]
    cover = label_cover(sets)
    if not cover:
        bare = sum(count for labels, count in sets if not labels)
        raise WriteRefused(f"{bare} nodes have no label, and a vector index is over nodes of a label")
    return cover, sum(count for _, count in sets)


def _create(connection: Connection, name: str, label: str, vector: str, dimension: int) -> None:
    """Make an index; to repeat it after a commit changes nothing."""

    def create(transaction: Transaction) -> None:
        asked = {"properties": [], "names": [name]}
        if not transaction.run(load_statement("read/indexes"), asked).records:
            statement = load_statement("write/index_create", index=name, label=label, vector=vector)
            transaction.run(statement, {"dimension": dimension})

    write(connection, create, doing="making an index")


def _drop(connection: Connection, index: VectorIndex, vector: str) -> None:
    """Drop an index, unless somebody gave its name to another."""
    if index.property == vector:
        statement = load_statement("write/index_drop", index=index.name)
        write(connection, lambda dropped: dropped.run(statement), doing="dropping an index")


def _await_online(connection: Connection, names: Sequence[str], nodes: int, on_progress: Progress) -> None:
    on_progress(STAGE, 0, nodes)
    pause = _POLL_SECONDS
    while True:
        found = show_indexes(connection, [], names)
        failed = [index for index in found if index.state == "FAILED"]
        if failed or len(found) < len(names):
            why = f"failed: {failed[0].failure}" if failed else "was dropped while it was built"
            raise WriteFailed(f"a vector index {why}")
        if all(index.state == "ONLINE" for index in found):
            on_progress(STAGE, nodes, nodes)
            return
        share = sum(index.percent for index in found) / len(found) / 100
        on_progress(STAGE, min(int(share * nodes), nodes - 1), nodes)
        time.sleep(pause)
        pause = min(2 * pause, _SLOWEST_POLL_SECONDS)


def _described(record: Mapping[str, Any]) -> VectorIndex:
    settings = record["settings"] or {}
    # One release says whether vectors are quantized, the other how.
    quantization = settings.get("vector.quantization.type", settings.get("vector.quantization.enabled"))
    return VectorIndex(
        name=record["name"],
        label=",".join(record["labels"] or ()),
        property=",".join(record["properties"] or ()),
        state=record["state"],
        percent=float(record["percent"]),
        dimension=settings.get("vector.dimensions"),
        similarity=settings.get("vector.similarity_function"),
        quantized=quantization not in (False, "NONE"),
        failure=record["failure"] or "",
    )
