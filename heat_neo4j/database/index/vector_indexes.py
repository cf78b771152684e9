"""Vector indexes over a copy of the coordinates, built before readers use them.

An index covers one label and one property. So coordinates have one index per label of a *cover*: a small set
of labels such that every node has at least one. An index holds points of the Poincare ball; a score is 1 / (1
+ d^2), with d their Euclidean distance. (Scaling the points does not improve recall, see
docs/how-to/similar.md.)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.validation import MOST_COMPONENTS
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.statements import Fragment, is_identifier, load_statement
from heat_neo4j.errors import WriteFailed, WriteRefused

STAGE = "build index"
NO_INDEX: Mapping[str, Any] = {"indexes": None, "core": None}
"""Properties of a version without an index."""
Cover = tuple[tuple[str, ...], int]
"""Labels that cover all nodes, and the number of nodes."""
MOST_INDEXES = 50
"""Maximum number of indexes per copy of the coordinates; each is a schema change."""
STALLED_SECONDS = 1800.0
"""Maximum time without progress of an index; merging the parts of a large one takes minutes."""
_POLL_SECONDS = 0.05
_SLOWEST_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class IndexPlan:
    """Plan of the indexes over one copy of the coordinates."""

    run: str  # node property with the space of the coordinates
    property: str  # indexed node property
    own: tuple[str, ...]  # properties that our indexes over this copy may cover
    space: str  # space of the coordinates
    dimension: int
    name_of: Callable[[str], str]  # name of the index for a label
    labels: tuple[str, ...]  # labels of the projection, preferred for the cover
    model: str

    def is_own(self, index: VectorIndex) -> bool:
        """Return whether an index belongs to the model and the copy, even if it differs from the plan."""
        is_named = index.name == self.name_of(index.label)
        return is_named and index.dimension is not None and index.property in self.own


@dataclass(frozen=True)
class VectorIndex:
    """One index, as reported by the server."""

    name: str
    label: str  # comma-separated if there are several
    property: str  # comma-separated if there are several
    state: str  # "ONLINE", "POPULATING" or "FAILED"
    percent: float  # population progress, 0 to 100
    dimension: int | None  # None if it is not a vector index
    similarity: str | None  # "EUCLIDEAN" or "COSINE"
    quantized: bool  # whether vectors are quantized
    failure: str  # failure message; empty if it did not fail

    def is_made_here(self) -> bool:
        """Return whether it has this package's settings, for any dimension."""
        return self.dimension is not None and self.similarity == "EUCLIDEAN" and not self.quantized

    def serves(self, plan: IndexPlan) -> bool:
        """Return whether it matches the plan."""
        planned = (plan.name_of(self.label), plan.property, plan.dimension, "EUCLIDEAN", False)
        actual = (self.name, self.property, self.dimension, self.similarity, self.quantized)
        return actual == planned and self.state != "FAILED"


def show_indexes(
    connection: Connection, properties: Sequence[str], names: Sequence[str]
) -> list[VectorIndex]:
    """Return the indexes over any of `properties`, and those with one of `names`, by name."""
    parameters = {"properties": list(properties), "names": list(names)}
    records = connection.read(load_statement("read/indexes"), parameters, doing="reading indexes")
    return [_described(record) for record in records]


def own_indexes(connection: Connection, names: WriteNames) -> list[VectorIndex]:
    """Return the vector indexes with our names over our properties.

    They are ours even if all run nodes were deleted.
    """
    return [index for index in show_indexes(connection, _indexed(names), []) if _is_own(index, names)]


def refuse_foreign_indexes(connection: Connection, names: WriteNames, labels: Sequence[str]) -> None:
    """Raise WriteRefused if a foreign index covers our coordinates or has our name.

    `labels` are the labels of the nodes, if known.
    """
    planned = [name(label) for name in (names.index_of, names.staged_index_of) for label in labels]
    properties = [*_indexed(names), names.previous.embedding, names.previous.vector]
    for index in show_indexes(connection, properties, planned):
        if not _is_own(index, names):
            raise _foreign(index, names.model)


def _indexed(names: WriteNames) -> list[str]:
    """Return the properties that our indexes may cover."""
    return [name for copy in (names.plain, names.staged) for name in (copy.embedding, copy.vector)]


def _is_own(index: VectorIndex, names: WriteNames) -> bool:
    copies = ((names.index_of, names.plain), (names.staged_index_of, names.staged))
    has_form = index.dimension is not None and is_identifier(index.name)
    return has_form and any(
        index.name == name_of(index.label) and index.property in (copy.embedding, copy.vector)
        for name_of, copy in copies
    )


def label_cover(label_sets: Sequence[tuple[Collection[str], int]]) -> tuple[str, ...]:
    """Return a small set of labels that covers all nodes; empty if a node has no label.

    The input is the number of nodes with each set of labels. Greedy: first the label with the most nodes,
    then the label with the most remaining nodes, and so on. Stops at the first label beyond `MOST_INDEXES`.
    """
    if not all(labels for labels, _ in label_sets):
        return ()
    left = list(label_sets)
    cover: list[str] = []
    while left and len(cover) <= MOST_INDEXES:
        nodes_of: Counter[str] = Counter()
        for labels, count in left:
            nodes_of.update(dict.fromkeys(labels, count))
        best = min(nodes_of, key=lambda label: (-nodes_of[label], label))
        cover.append(best)
        left = [(labels, count) for labels, count in left if best not in labels]
    return tuple(cover)


def build_indexes(
    connection: Connection,
    plan: IndexPlan,
    cover: Cover,
    *,
    check_lease: Callable[[], None],
    on_progress: Progress = no_progress,
    stage: str = STAGE,
    stalled_seconds: float = STALLED_SECONDS,
) -> list[str]:
    """Create the planned indexes unless they exist as planned, and wait until they are online.

    For `check_lease` see `drop_indexes`. Returns the names of the planned indexes. Raises WriteRefused if the
    user may not create indexes, a foreign index conflicts, or the dimension is above 4096; raises WriteFailed
    if building one fails or makes no progress for `stalled_seconds`.
    """
    if plan.dimension > MOST_COMPONENTS:
        raise WriteRefused(f"an index takes at most {MOST_COMPONENTS} dimensions, got {plan.dimension}")
    labels, nodes = cover
    planned = [plan.name_of(label) for label in labels]
    if not planned:
        return []
    on_progress(stage, 0, nodes)
    pause, is_mended = _POLL_SECONDS, False
    reached, since = -1.0, time.monotonic()
    while True:
        there = {index.name: index for index in show_indexes(connection, [plan.property], planned)}
        for index in there.values():
            if not plan.is_own(index):
                raise _foreign(index, plan.model)
        fit = {name for name, index in there.items() if index.serves(plan)}
        is_whole = fit.issuperset(planned)
        if not is_mended and (len(fit) < len(there) or not is_whole):
            drop_indexes(connection, [name for name in there if name not in fit], check_lease)
            _make(connection, plan, labels)
            is_mended = True
            continue
        failed = [index for index in there.values() if index.state == "FAILED"]
        if failed or not is_whole:
            why = f"failed: {failed[0].failure}" if failed else "was dropped while it was built"
            raise WriteFailed(f"a vector index {why}")
        if all(index.state == "ONLINE" for index in there.values()):
            on_progress(stage, nodes, nodes)
            return planned
        share = sum(index.percent for index in there.values()) / len(there) / 100
        if share != reached:
            reached, since = share, time.monotonic()
        elif time.monotonic() - since >= stalled_seconds:
            raise WriteFailed(f"a vector index is stuck at {share:.0%}: check the server's log, then retry")
        on_progress(stage, min(int(share * nodes), nodes - 1), nodes)
        time.sleep(pause)
        pause = min(2 * pause, _SLOWEST_POLL_SECONDS)


def _make(connection: Connection, plan: IndexPlan, labels: Sequence[str]) -> None:
    """Create the planned indexes that do not exist."""
    for label in labels:
        names = {"index": plan.name_of(label), "label": label, "vector": plan.property}
        statement = load_statement("write/index_create", **names)
        connection.write(statement, {"dimension": plan.dimension}, doing="making an index")


def drop_indexes(connection: Connection, names: Sequence[str], check_lease: Callable[[], None]) -> None:
    """Drop the indexes with these names that exist; raises WriteRefused if the user may not.

    `check_lease` is called before each, because no lock protects dropping an index.
    """
    for name in names:
        check_lease()
        connection.write(load_statement("write/index_drop", index=name), doing="dropping an index")


def _foreign(index: VectorIndex, model: str) -> WriteRefused:
    return WriteRefused(
        f"the index {index.name!r} over {index.property!r} is not one of model {model!r}: "
        "drop it, or use another `model`"
    )


def read_cover(connection: Connection, plan: IndexPlan, nodes: Fragment | Sequence[str]) -> Cover:
    """Return labels that cover the nodes with the coordinates.

    `nodes` is the label expression of the nodes to scan; labels that cannot be quoted are ignored. Raises
    WriteRefused if a node has no label, or more than `MOST_INDEXES` labels are needed.
    """
    statement = load_statement("read/label_sets", run=plan.run, labels=nodes)
    rows = connection.read(statement, {"space": plan.space}, doing="reading labels")
    carried = [(list(filter(is_identifier, row["labels"])), row["nodes"]) for row in rows]
    sets = [(set(labels) & set(plan.labels) or labels, count) for labels, count in carried]
    found = sum(count for _, count in sets)
    cover = label_cover(sets)
    if found and not cover:
        bare = sum(count for labels, count in sets if not labels)
        raise WriteRefused(
            f"{plural(bare, 'node')} without a label that can be quoted cannot be in a vector index"
        )
    if len(cover) > MOST_INDEXES:
        raise WriteRefused(
            f"more than {MOST_INDEXES} labels are needed to reach all nodes, and each would need an index: "
            "give the nodes one label in common"
        )
    return cover, found


def _described(record: Mapping[str, Any]) -> VectorIndex:
    settings = record["settings"] or {}
    # Releases differ in reporting whether, or how, vectors are quantized.
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
