"""The publication protocol: its steps as data, and `Publication`, which runs them.

docs/guarantees.md explains it. The graph can hold three copies of coordinates and links: *plain*, which
readers without versions see; *staged*, only while a version is being published; and *previous*, the replaced
version. Versioned readers use the staged value of a node if their version has staged names and the value
exists, otherwise the plain one. A test explores all interleavings of the steps.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress, as_progress, no_progress
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.index.vector_indexes import (
    NO_INDEX,
    Cover,
    IndexPlan,
    build_indexes,
    drop_indexes,
    own_indexes,
    read_cover,
)
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import LEASE_SECONDS, Lease
from heat_neo4j.database.publish.reach import EVERYWHERE, Reach
from heat_neo4j.database.read.rights import sees_all_transactions
from heat_neo4j.database.runs import EMBEDDING, LINKS, VALUES, read_bookkeeping, read_version
from heat_neo4j.database.server_errors import violates_constraint
from heat_neo4j.database.statements import Fragment, load_statement
from heat_neo4j.database.versions import (
    RUN_ID,
    Version,
    at_rest,
    being_published,
    labels_of,
    previous_of,
    rolled_back,
    runs_of,
)
from heat_neo4j.errors import HeatError, ProjectionError, WriteFailed, WriteRefused


class Step(Enum):
    """One step of a publication. Each is idempotent, so it can be repeated after a crash."""

    STAGE = "write the new version under staged names; nobody reads them"
    INDEX_STAGED = "make vector indexes over the staged coordinates, unless they are kept from before"
    SWITCH_TO_STAGED = "switch readers by version to the staged copy, by changing one number"
    AWAIT_READERS = "wait for transactions that began before the switch"
    SETTLE = "copy plain to previous and staged to plain, node by node and link by link"
    INDEX_PLAIN = "make the plain vector indexes, where the published ones do not serve"
    SWITCH_TO_PLAIN = "switch readers by version to the plain copy"
    UNSTAGE = "remove the staged copy, which empties its indexes, and drop indexes of other labels"


PUBLICATION = (
    Step.STAGE,
    Step.INDEX_STAGED,
    Step.SWITCH_TO_STAGED,
    Step.AWAIT_READERS,
    Step.SETTLE,
    Step.INDEX_PLAIN,
    Step.SWITCH_TO_PLAIN,
    Step.AWAIT_READERS,
    Step.UNSTAGE,
)
"""The steps of `heat embed`, `links`, `refresh` and `rollback`, in order."""

UNDO = (Step.AWAIT_READERS, Step.UNSTAGE)
"""Steps of the next holder of the lease if a publication was interrupted before its first switch or after its
last; readers may still use the staged copy."""


def remaining(*, is_switched: bool) -> tuple[Step, ...]:
    """Return the remaining steps of an interrupted publication: complete it if switched, else undo it."""
    return PUBLICATION[PUBLICATION.index(Step.SWITCH_TO_STAGED) + 1 :] if is_switched else UNDO


_POLL_SECONDS = 0.1
_MOST_VERSIONS = 10**12  # maximum versions of a model
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_log = logging.getLogger(__name__)


class Publication:
    """Changes the published version of a model, as the holder of its lease.

    `coming` is the result of `versions.published` or `versions.rolled_back`, or the published version whose
    publication was interrupted. `reach` covers the nodes to scan, of which `staged` are staged already. `run`
    is the new run, which becomes complete with the switch. `most_general` holds the element ids of the nodes
    nearest to the origin; read if omitted.
    """

    def __init__(
        self,
        lease: Lease,
        names: WriteNames,
        coming: Version,
        reach: Reach,
        *,
        staged: int = 0,
        labels: Sequence[str] = (),
        run: str | None = None,
        most_general: Sequence[str] = (),
        on_progress: Progress = no_progress,
    ) -> None:
        self._lease, self._names, self._labels = lease, names, tuple(labels)
        self._reach, self._staged = reach, staged
        self._version = dict(coming)
        self._before = previous_of(coming)
        self._parts = being_published(coming)
        self._on_nodes = EMBEDDING in self._parts or VALUES in self._parts
        self._run, self._on_progress = run, on_progress
        self._most_general = list(most_general)
        self.run_properties: Mapping[str, Any] = _NOTHING  # of the run's node, after publication
        self.outcome: Mapping[str, Any] = _NOTHING  # properties to set on the run's node with a switch
        self.stamps = ["publishedAt"]
        self._plain_indexes: Mapping[str, Any] = NO_INDEX
        self._cover: Cover | None = None  # of all nodes, once it is read

    def run(self, steps: Iterable[Step]) -> None:
        """Execute the steps in order.

        If the server rejects a step or is lost, the next holder of the lease undoes or finishes the
        publication. Raises WriteRefused if a database constraint, made since the run began, prevents a step.
        """
        try:
            for step in steps:
                getattr(self, f"_{step.name.lower()}")()
        except HeatError as error:
            if not violates_constraint(error):
                raise
            advice = "drop the constraint (SHOW CONSTRAINTS lists them), then repeat"
            raise WriteRefused(f"{error}; {advice}") from error

    def _stage(self) -> None:
        """Stage the previous version for a rollback; a new run has staged its own."""
        if self._on_nodes and "run" in self._version:
            copies = self._names.placeholders("previous", "staged")
            before = {"before": self._version["run"], "space": self._version["space"]}
            self._staged = self._write_coordinates("write/coordinates_restage", copies, **before)
            if self._reach.misses(self._version):  # some nodes lost their labels or were deleted
                self._reach.labels = EVERYWHERE
                self._staged += self._write_coordinates("write/coordinates_restage", copies, **before)
        if LINKS in self._parts and "linkRun" in self._version:
            types = {"source": self._names.links.previous, "target": self._names.links.staged}
            self._write_all("write/links_copy", types, run=self._version["linkRun"])

    def _index_staged(self) -> None:
        if EMBEDDING not in self._parts:
            return
        self._version |= NO_INDEX
        # The first version of a model has no readers that use an index.
        if self._version["indexWanted"] and "run" in self._version and "run" in self._before:
            staged = self._build("staged", "index new version")
            if staged is not None and self._version["space"] == self._before.get("space"):
                staged += [name for name in self._before.get("indexes") or () if name not in staged]
            self._version |= {"indexes": staged, "core": self._core() if staged else None}

    def _switch_to_staged(self) -> None:
        self._switch(self._version, run=self._run, outcome=self.outcome, stamps=self.stamps)

    def _await_readers(self) -> None:
        # Readers of the staged version are safe; wait for readers of the previous one.
        read = self._before if being_published(self._version) else self._version
        if any(runs_of(read)):
            await_readers(self._lease.connection)

    def _settle(self) -> None:
        if self._on_nodes:
            space = self._before.get("space")
            is_left = space != self._version.get("space")
            self._on_progress("settle", 0, 1)
            labels = self._reach.labels
            nodes = self._reach.extend(self._before if is_left else {}, staged=self._staged)
            if self._settle_coordinates(space if is_left else None) < nodes:  # one has just lost its labels
                self._reach.labels = EVERYWHERE
                self._settle_coordinates(space if is_left else None)
            if self._reach.labels != labels:
                self._cover = None
            self._on_progress("settle", 1, 1)
        if LINKS in self._parts:
            types = self._names.links
            run, replaced = self._version.get("linkRun"), self._before.get("linkRun")
            if run is not None:
                changes = {"run": run, "before": replaced, "run_id": RUN_ID}
                self._write_all("write/links_settle", types._asdict(), **changes)
            self._remove_links(types.previous, kept=replaced)
            if replaced is not None:
                copies = {"plain": types.plain, "previous": types.previous}
                self._write_all("write/links_keep", copies, run=replaced)

    def _index_plain(self) -> None:
        if EMBEDDING not in self._parts:
            return
        indexes = None
        if self._version["indexWanted"] and "run" in self._version:
            indexes = self._build("plain", "build index")
        if indexes:
            self._plain_indexes = {"indexes": indexes, "core": self._core()}

    def _switch_to_plain(self) -> None:
        if self._on_nodes:
            kept_on = {"nodeLabels": list(self._reach.labels) or None}
            version = at_rest(self._version, self._plain_indexes, kept_on)
        else:
            version = at_rest(self._version, {})
        self.run_properties = self._switch(version, run=self._run, outcome=self.outcome)
        self._version = version

    def _unstage(self) -> None:
        # We cannot know what a crashed run had staged.
        parts = self._parts or ((VALUES,) if self._names.values else (EMBEDDING, LINKS))
        if EMBEDDING in parts:
            drop_indexes(self._lease.connection, self._unread_indexes(), self._lease.check)
        if EMBEDDING in parts or VALUES in parts:
            staged = self._names.copy("staged")
            removed = self._write_coordinates("write/coordinates_remove", staged, spaces=[""])
            if removed < self._staged and self._reach.labels:  # others were deleted or lost their labels
                self._reach.labels = EVERYWHERE
                self._write_coordinates("write/coordinates_remove", staged, spaces=[""])
        if LINKS in parts:
            self._remove_links(self._names.links.staged)
        self._lease.write("write/staging_end", doing="publishing")

    def _build(self, copy: str, stage: str) -> list[str] | None:
        """Build the indexes of a copy; if that is impossible, log it and return None."""
        connection, plan = self._lease.connection, index_plan(self._version, self._names, self._labels, copy)
        try:
            cover = self._cover or read_cover(connection, plan, self._reach.nodes)
            if self._version["space"] != self._before.get("space"):
                self._cover = cover
            return build_indexes(
                connection, plan, cover, check_lease=self._lease.check, on_progress=self._on_progress,
                stage=stage,
            )  # fmt: skip
        except WriteFailed:
            self._lease.check()  # the next holder would have dropped it
            raise
        except WriteRefused as refusal:
            _log.warning("model %r is published without a vector index: %s", self._names.model, refusal)
            self._version["indexWanted"] = False
            return None

    def _unread_indexes(self) -> list[str]:
        """Return the names of our indexes over labels that the version does not index."""
        existing = own_indexes(self._lease.connection, self._names)
        published = self._version.get("indexes") or ()
        return [index.name for index in existing if self._names.index_of(index.label) not in published]

    def _switch(self, version: Version, **options: Any) -> Mapping[str, Any]:
        return switch_version(self._lease, version, doing="publishing", **options)

    def _remove_links(self, link_type: str, *, kept: str | None = None) -> None:
        """Remove the links of a type that our runs wrote, except those of one run."""
        self._write_all("write/links_remove", {"type": link_type}, runs=None, kept=kept, run_id=RUN_ID)

    def _settle_coordinates(self, left: str | None) -> int:
        """Settle nodes that are staged, or belong to the replaced space; return their number."""
        copies = self._names.placeholders("plain", "staged", "previous")
        before = self._before.get("run")
        return self._write_coordinates("write/coordinates_settle", copies, before=before, left=left)

    def _core(self) -> list[str]:
        return self._most_general or read_core(self._lease.connection, self._version, self._reach.nodes)

    def _write_coordinates(
        self, name: str, identifiers: Mapping[str, str | Sequence[str]], **parameters: Any
    ) -> int:
        """Run a statement over the nodes that can hold coordinates, or values."""
        within = {"labels": self._reach.nodes, **identifiers}
        return self._write_all(name, within, **{"run_id": RUN_ID, **parameters})

    def _write_all(self, name: str, identifiers: Mapping[str, str | Sequence[str]], **parameters: Any) -> int:
        return self._lease.write_all(name, doing="publishing", identifiers=identifiers, **parameters)


def index_plan(
    version: Version, names: WriteNames, labels: Sequence[str] = (), copy: str = "plain"
) -> IndexPlan:
    """Return the plan of the indexes over the plain or the staged copy of a version's coordinates."""
    properties = getattr(names, copy)
    return IndexPlan(
        run=properties.run,
        property=properties.indexed(version["coordinates"]),
        own=(properties.embedding, properties.vector),
        space=version["space"],
        dimension=version["dimension"] - (version["coordinates"] == "hyperboloid"),
        name_of=names.index_of if copy == "plain" else names.staged_index_of,
        labels=tuple(labels),
        model=names.model,
    )


def most_general(radii: NDArray[np.float64], node_ids: Sequence[str], most: int) -> list[str]:
    """Return the element ids of the nodes nearest to the origin, as `read_core` does from the graph."""
    farthest = np.sort(radii)[:most][-1]
    rows = np.flatnonzero(radii <= farthest).tolist()
    return [node_ids[row] for row in sorted(rows, key=lambda row: (radii[row], node_ids[row]))[:most]]


def read_core(connection: Connection, version: Version, nodes: Fragment | Sequence[str]) -> list[str]:
    """Return the element ids of the most general nodes of a version among `nodes`."""
    names = {"run": version["runProperty"], "radius": version["radiusProperty"]}
    statement = load_statement("read/core", labels=nodes, **names)
    params = {
        "space": version["space"],
        "limit": connection.limits.core,
        "staged_run": version.get("stagedRun"),
        "staged_radius": version.get("stagedRadius"),
    }
    (row,) = connection.read(statement, params, doing="reading the most general nodes")
    return list(row["ids"])


def switch_version(
    lease: Lease,
    version: Version,
    *,
    doing: str,
    run: str | None = None,
    outcome: Mapping[str, Any] = _NOTHING,
    stamps: Sequence[str] = (),
) -> Mapping[str, Any]:
    """Switch readers of the lease's model to another version; return the properties of the node of `run`.

    The version's node is created in an earlier transaction, because readers that see its number must find it.
    With the switch, `run` becomes complete and its node gets the properties `outcome`; the properties
    `stamps` of the model's node are set to the current time. The nodes of the last two versions are kept.
    Raises LeaseHeld if the lease was lost.
    """
    token = uuid4().hex
    made = {"token": token, "properties": dict(version), "most_versions": _MOST_VERSIONS}
    lease.write("write/version_create", doing=doing, **made)
    changes = {"run": run, "outcome": dict(outcome), "stamps": list(stamps)}
    switched = lease.write("write/version_switch", doing=doing, token=token, **changes)
    return switched["run"] or _NOTHING


def await_readers(
    connection: Connection,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait for all currently open transactions, which may still read the previous version."""
    began, waited_for = clock(), _transactions(connection)
    grace = connection.limits.grace_seconds
    while waited_for and clock() - began < grace:
        sleep(_POLL_SECONDS)
        waited_for &= _transactions(connection)
    if not sees_all_transactions(connection):
        # The server does not list the transactions of other users or servers: wait the full time.
        sleep(max(0.0, grace - (clock() - began)))


def _transactions(connection: Connection) -> set[str]:
    """Return the ids of running transactions."""
    params = {"database": connection.server.database}
    (row,) = connection.read(load_statement("read/transactions"), params, doing="waiting for readers")
    return set(row["ids"])


@contextmanager
def write_lease(
    connection: Connection, model: str = "heat", seconds: float = LEASE_SECONDS
) -> Iterator[Lease]:
    """Hold the lease of a model, after finishing or undoing an interrupted publication.

    Raises ProjectionError if the version is damaged.
    """
    with Lease(connection, model, seconds) as lease:
        if lease.staging is not None:
            finish(lease)
        yield lease


def finish(lease: Lease, *, damaged_too: bool = False) -> None:
    """Finish the publication that was interrupted after its first switch, or undo it."""
    book = read_bookkeeping(lease.connection, history=True)
    version = book.remains(lease.model) if damaged_too else book.published(lease.model)
    is_switched = bool(being_published(version))
    run = next((run for run in book.runs_of(lease.model) if run.run_id == lease.staging), None)
    names = book.names(lease.model)
    _log.info("%s the publication of run %s", "finishing" if is_switched else "undoing", lease.staging)
    labels = () if run is None else run.labels
    reach = Reach(lease.connection, names, EVERYWHERE)  # the number of staged nodes is unknown
    Publication(lease, names, version, reach, labels=labels).run(remaining(is_switched=is_switched))


def _version_before(version: Version, model: str) -> Version:
    """Return the version that a rollback publishes; raises ProjectionError if none is kept."""
    if any(runs_of(before := previous_of(version))):
        return before
    raise ProjectionError(f"model {model!r} has no previous version in this database")


def rollback(
    connection: Connection,
    model: str = "heat",
    *,
    dry_run: bool = False,
    on_progress: Progress | bool = False,
) -> tuple[str | None, str | None]:
    """Publish the previous version again.

    Coordinates, vector index and predicted links change together, in one step for readers by version. The
    replaced version is kept until the next publication, so a second rollback undoes the first. It takes as
    long as writing a version.

    Parameters
    ----------
    model : str
        Which model.
    dry_run : bool
        Publish nothing.
    on_progress : callable or bool
        Called with the stages "index new version", "settle" and "build index".

    Returns
    -------
    tuple of str or None
        The runs whose coordinates and whose links are published now, or would be.

    Raises
    ------
    ProjectionError
        If there is no such model, or no version before is kept.
    WriteRefused
        If the user may not write.
    LeaseHeld
        If another process writes versions of the model.
    ConnectionFailed, WriteFailed
        If the server is lost or refuses.
    """
    read_bookkeeping(connection, history=True).check_model(model)
    if dry_run:
        return runs_of(_version_before(read_version(connection, model), model))
    with write_lease(connection, model) as lease:
        book = read_bookkeeping(connection)
        version, names = book.published(model), book.names(model)
        target = _version_before(version, model)
        coming = rolled_back(version, names, index=bool(version.get("indexes") or target.get("indexes")))
        labels = next((run.labels for run in book.runs if run.run_id == target.get("run")), ())
        reach = Reach(connection, names, labels_of(version, target))
        reach.extend(version)
        lease.write("write/staging_begin", doing="rolling back", run=next(filter(None, runs_of(target))))
        publication = Publication(
            lease, names, coming, reach, labels=labels, on_progress=as_progress(on_progress)
        )
        publication.stamps.append("rolledBackAt")
        publication.run(PUBLICATION)
    return runs_of(target)
