"""`Run`: writes coordinates and links, or values, such that readers see either the old or the new version."""

import logging
import platform
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.version import __version__
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.documents import storable_integer
from heat_neo4j.database.index.vector_indexes import refuse_foreign_indexes
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import WRITE_LOCKS, Lease, lock_models
from heat_neo4j.database.publish.publication import Publication, Step, most_general, remaining, write_lease
from heat_neo4j.database.publish.reach import EVERYWHERE, Reach, labels_met
from heat_neo4j.database.read.node_identity import NodeIdentity
from heat_neo4j.database.runs import (
    EMBEDDING,
    LINKS,
    VALUES,
    Bookkeeping,
    RunRecord,
    read_bookkeeping,
    read_version,
)
from heat_neo4j.database.statements import Fragment, load_statement
from heat_neo4j.database.versions import Version, labels_of, published
from heat_neo4j.database.write.batches import (
    Columns,
    Rounds,
    conflict_free_rounds,
    coordinate_columns,
    equal_parts,
    link_columns,
    send,
    value_columns,
)
from heat_neo4j.database.write.payload import Coordinates, LinkColumns, Links, check_coordinates, check_links
from heat_neo4j.database.write.refusals import (
    refuse_constraints,
    refuse_foreign_values,
    refuse_input_names,
    refuse_other_values,
    refuse_taken_names,
)
from heat_neo4j.errors import ConnectionFailed, HeatError, LeaseHeld, WriteFailed, WriteRefused
from heat_neo4j.errors.redaction import redacted
from heat_neo4j.graph import Graph

_CURVE_VALUES = 200
_PLACES = ("scratch", "scheduler")  # parameters that are specific to the machine
_LIBRARIES = ("numpy", "numba", "scipy", "neo4j")
_BATCH_FLOATS = 1_000_000
_DEFAULT_NAMES = WriteNames()
_STAGE_COORDINATES, _STAGE_LINKS, _STAGE_VALUES = "write coordinates", "write links", "write values"
_log = logging.getLogger(__name__)


class WriteOptions(TypedDict, total=False):
    """Keyword arguments of `Run`."""

    names: WriteNames
    parameters: Mapping[str, Any] | None
    stage_seconds: Mapping[str, float] | None
    facts: Mapping[str, Any] | None
    overwrite: bool
    index: bool
    lease: Lease | None
    on_progress: Progress


def model_facts(model: Any) -> dict[str, Any]:
    """Return the `RunRecord` fields of a fitted model; none for a plain array.

    Raises WriteRefused if the loss is NaN or infinite.
    """
    facts: dict[str, Any] = {}
    if hasattr(model, "get_params"):
        facts["parameters"] = {
            name: storable_integer(value) if name == "random_state" else value
            for name, value in model.get_params().items()
            if name not in _PLACES
        }
    if hasattr(model, "seed_"):
        facts["seed"] = storable_integer(int(model.seed_))
    if hasattr(model, "n_pairs_"):
        facts["pair_count"] = int(model.n_pairs_)
    if hasattr(model, "training_"):
        facts["training"] = dict(model.training_)
    curve = np.asarray(getattr(model, "loss_curve_", ()), dtype=np.float64)
    if not np.isfinite(curve).all():
        raise WriteRefused("the loss of the training is NaN or infinite: nothing written")
    if curve.size:
        shown = np.unique(
            np.linspace(0, curve.size - 1, min(curve.size, _CURVE_VALUES)).round().astype(np.int64)
        )
        facts["loss_curve"] = tuple(curve[shown].tolist())
        facts["final_loss"] = float(curve[-1])
    return facts


class Run:
    """Context manager that writes one run to the graph.

    Entering it acquires the model's lease, checks for conflicts with other data, and creates the run node
    ("incomplete"). `publish` makes the run visible to readers atomically. If the run ends before that, even
    by a killed process, the published version is unchanged. If it ends after that, the next process that
    writes completes it.

    Parameters
    ----------
    connection : Connection
        Connection to the database.
    graph : Graph
        Graph that was read from this database.
    parts : sequence of str
        Parts to write before `publish`: "embedding", "links" or both; or "values" alone.
    names : WriteNames
        Names to write to; those of a table of values if these are written.
    parameters : mapping of str to JSON data, optional
        Parameters to record.
    stage_seconds : mapping of str to float, optional
        Seconds of the stages before writing, to record.
    facts : mapping of str to JSON data, optional
        Further fields of the run record.
    overwrite : bool
        Whether to overwrite foreign values of the same names.
    index : bool
        Whether to build a vector index over the coordinates, for nearest-node queries.
    lease : Lease, optional
        The model's lease, if the caller holds it; by default it is acquired on entering.
    on_progress : callable
        Called with the stages "write coordinates", "write links", "write values", "index new version",
        "settle" and "build index".

    Raises
    ------
    TypeError, ValueError
        If the graph has no node ids; in writing methods, if the run does not have the part.
    WriteRefused
        If the names are used as input of the graph.
    WriteFailed
        On leaving it, if the server was lost or refused a statement, with the state of the graph.
    LeaseHeld
        In writing methods and `publish`, if another process has taken over the lease.
    """

    def __init__(
        self,
        connection: Connection,
        graph: Graph,
        *,
        parts: Sequence[str],
        names: WriteNames = _DEFAULT_NAMES,
        parameters: Mapping[str, Any] | None = None,
        stage_seconds: Mapping[str, float] | None = None,
        facts: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        index: bool = True,
        lease: Lease | None = None,
        on_progress: Progress = no_progress,
    ) -> None:
        self._parts = tuple(parts)
        self.rows = connection.limits.rows  # nodes or links in a transaction
        self._identity = NodeIdentity.of(graph)
        refuse_input_names(graph, names, self._parts)
        provenance, server = graph.provenance, connection.server
        record = RunRecord(
            run_id=_new_run_id(),
            model=names.model,
            parts=self._parts,
            status="incomplete",
            stored=self._parts,
            run_property=names.run,
            **_names_of_parts(names),
            node_count=graph.n_nodes,
            edge_count=graph.n_edges,
            attribute_count=graph.n_attributes,
            labels=tuple(provenance.projection.get("labels") or ()),
            parameters=dict(parameters or {}),
            versions={**software_versions(), "server": f"{server.version} {server.edition}"},
            projection=dict(provenance.projection),
            attribute_recipe=[dict(entry) for entry in provenance.attribute_recipe],
            counts=dict(provenance.counts),
            stage_seconds=dict(stage_seconds or {}),
        )
        self._record = replace(record, **(facts or {}))
        self._labels = labels_met(graph, record.labels)
        self._connection, self._graph, self._on_progress = connection, graph, on_progress
        self._names, self._overwrite, self._index = names, overwrite, index
        self._version: Version = {}
        self._coming: dict[str, Any] = {}
        self._most_general: list[str] = []
        self._reach = Reach(connection, names, EVERYWHERE)
        self._staged = 0  # nodes
        self._lease = lease
        self._stack = ExitStack()
        self._is_switching = self._is_published = False

    @property
    def record(self) -> RunRecord:
        """The current record of the run."""
        return self._record

    def plan(self, coordinates: Coordinates | None = None, links: LinkColumns | None = None) -> RunRecord:
        """Return the record of what the run would write, without writing anything.

        Raises WriteRefused if writing would be refused.
        """
        before = self._refuse_conflicts().published(self._names.model).get("run")
        record = replace(self._record, run_id="", status="dry run", stored=(), previous_run=before)
        if coordinates is not None:
            nodes, width = coordinates.values.shape
            record = replace(record, coordinates=coordinates.kind, dimension=width, nodes_written=nodes)
        return record if links is None else replace(record, links_written=len(links.source))

    def reject(self, facts: Mapping[str, Any], why: str) -> RunRecord:
        """Record a rejected run, with `facts` of its model; no coordinates or links are written."""
        before = read_version(self._connection, self._record.model).get("run")
        self._record = replace(
            self._with_facts(facts), status="rejected", stored=(), error=why, previous_run=before
        )
        params = {"run": self._record.run_id, "properties": self._record.to_node()}
        self._connection.write(load_statement("write/run_rejected"), params, doing="recording a rejected run")
        return self._record

    def __enter__(self) -> Self:
        model = self._record.model
        with ExitStack() as stack:
            lease = nullcontext(self._lease) if self._lease else write_lease(self._connection, model)
            self._lease = stack.enter_context(lease)
            book = self._refuse_conflicts()
            self._version = book.published(model)
            self._record = replace(self._record, previous_run=self._version.get("run"))
            self._connection.write_transaction(partial(self._register, book), doing="starting a run")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with self._stack:
            if not (error is None or self._is_published or isinstance(error, ConnectionFailed)):
                with suppress(HeatError):
                    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                    params = {"run": self._record.run_id, "error": redacted(reason)[:500]}
                    self._connection.write(load_statement("write/run_error"), params, doing="noting an error")
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(self._state(error)) from error
        is_told = isinstance(error, LeaseHeld) or (isinstance(error, WriteRefused) and not self._is_published)
        if isinstance(error, HeatError) and not is_told:
            raise WriteFailed(f"{error}; {self._state(error)}") from error

    def _state(self, error: BaseException) -> str:
        """Return what is in the graph after an error."""
        run_id = self._record.run_id
        if self._is_published:
            return (
                f"run {run_id} is published, but some properties still hold values of the previous version: "
                f"the next command that writes completes it, for example `heat prune`"
            )
        if self._is_switching and isinstance(error, ConnectionFailed | KeyboardInterrupt):
            return f"run {run_id} is published whole or not at all: `heat runs` shows which"
        return (
            f"run {run_id} is incomplete and what was published before is untouched: "
            f"repeat, or remove the rest with `heat clear --run {run_id}`"
        )

    def _with_facts(self, facts: Mapping[str, Any]) -> RunRecord:
        """Return the record with a model's fields; its parameters are added to the recorded ones."""
        parameters = {**self._record.parameters, **facts.get("parameters", {})}
        return replace(self._record, **{**facts, "parameters": parameters})

    def _refuse_conflicts(self) -> Bookkeeping:
        """Check for conflicts with other data; return the bookkeeping."""
        book = read_bookkeeping(self._connection)
        self._refuse_names(book)
        self.refuse_schema()
        own = {"run": "", "nodeLabels": self._labels, "nodeCount": 0}
        labels = labels_of(book.published(self._names.model), own)
        self._reach = Reach(self._connection, self._names, labels)
        if not self._overwrite:
            refuse_foreign_values(self._connection, book, self._names, self._parts, self._reach.nodes)
        return book

    def refuse_schema(self) -> None:
        """Raise WriteRefused if a foreign constraint or index covers the run's properties.

        It could interrupt the run.
        """
        refuse_constraints(self._connection, self._names, self._parts, self._graph.labels)
        if EMBEDDING in self._parts:
            refuse_foreign_indexes(self._connection, self._names, self._record.labels)

    def _refuse_names(self, book: Bookkeeping) -> None:
        refuse_taken_names(book, self._names, self._parts)
        refuse_other_values(book, self._names)

    def _register(self, book: Bookkeeping, transaction: Transaction) -> None:
        """Create the run's node, unless another model has claimed the names concurrently."""
        models = lock_models(transaction, self._record.model)
        if _claims(models, self._record.model) != _claims(book.models, self._record.model):
            self._refuse_names(read_bookkeeping(transaction))
        self._held_lease.run(
            transaction, "write/run_create", run=self._record.run_id, properties=self._record.to_node()
        )

    def write_embedding(self, model: Any, coordinates: str = "poincare") -> None:
        """Stage coordinates, radius and run id of the nodes.

        Parameters
        ----------
        model : HEAT or array of shape (N, d + 1)
            A fitted model, whose parameters, seed and loss are recorded too, or points on the hyperboloid.
        coordinates : {"poincare", "hyperboloid", "klein"}
            Coordinates to store: Poincare ball, hyperboloid or Klein ball.

        Raises
        ------
        ValueError
            If the shape is wrong or the points are not on the hyperboloid.
        WriteRefused
            Also if a value is not finite.
        """
        self.send_coordinates(check_coordinates(model, self._graph.n_nodes, coordinates), model_facts(model))

    def write_links(self, links: Links) -> None:
        """Stage predicted links, as relationships from source to target.

        Raises ValueError if they belong to another graph or contain duplicates, WriteRefused if a distance or
        probability is not finite.
        """
        self.send_links(check_links(links, self._graph.n_nodes))

    def send_coordinates(
        self, coordinates: Coordinates, facts: Mapping[str, Any], changed: NDArray[np.bool_] | None = None
    ) -> None:
        """Stage checked coordinates of all nodes, and record `facts`.

        Where `changed` is False, the coordinates must equal the published ones exactly; they are not written.
        """
        self._require(EMBEDDING)
        space = self._record.run_id if changed is None else self._version["space"]
        rows = np.arange(len(coordinates.values)) if changed is None else np.flatnonzero(changed)
        missing = self._stage(coordinates, rows, space)
        if changed is not None:
            self._stage_leavers(space, len(changed) - len(rows))
        self._record = replace(
            self._with_facts(facts),
            coordinates=coordinates.kind,
            dimension=coordinates.values.shape[1],
            nodes_written=len(coordinates.values) - missing,
            nodes_missing=missing,
        )
        self._most_general = most_general(
            coordinates.radii, self._graph.node_ids, self._connection.limits.core
        )
        plain, hierarchy = self._names.plain, self._record.training.get("hierarchy", {})
        self._coming |= {
            "run": self._record.run_id,
            "space": space,
            "embeddingProperty": plain.embedding,
            "radiusProperty": plain.radius,
            "runProperty": plain.run,
            "vectorProperty": plain.indexed(coordinates.kind),
            "coordinates": coordinates.kind,
            "dimension": coordinates.values.shape[1],
            "nodeLabels": list(self._labels) or None,
            "nodeCount": self._record.nodes_written,
            **{
                name: [hierarchy["type"]] if hierarchy.get("general_end") == end else []
                for name, end in (("upwardTypes", "target"), ("downwardTypes", "source"))
            },
        }

    def _stage(self, coordinates: Coordinates, rows: NDArray[np.int64], space: str) -> int:
        """Write rows of the coordinates to staged names; return the number of missing nodes."""
        identifiers = {"same": self._identity.predicate, **self._names.staged._asdict()}
        statement = self._held_lease.batch("write/coordinates_stage", **identifiers)
        columns = coordinate_columns(coordinates, rows, self._identity.parameters)
        size = max(1, min(self.rows, _BATCH_FLOATS // coordinates.values.shape[1]))
        may_miss_all = len(rows) < self._graph.n_nodes
        written = self._send_nodes(
            _STAGE_COORDINATES, statement, columns, len(rows), size, space=space, may_miss_all=may_miss_all
        )
        self._staged += written
        return len(rows) - written

    def _stage_leavers(self, space: str, kept: int) -> None:
        """Stage published nodes that are no longer in the projection as nodes without coordinates.

        `kept` nodes of the projection keep their coordinates. If that is all that keep some, nobody has left,
        and no ids are read.
        """
        nodes, unstaged = self._count(space)
        if self._reach.labels and nodes < self._version["nodeCount"]:
            self._reach.extend(self._version)
            unstaged = self._count(space)[1]
        if unstaged <= kept:
            return
        find = load_statement("read/coordinates_of_space", run=self._names.run, labels=self._reach.nodes)
        rows = self._connection.read(find, {"space": space}, doing="looking for nodes that left")
        leavers = sorted({row["id"] for row in rows}.difference(self._graph.node_ids))

        def columns(begin: int, end: int) -> Mapping[str, Any]:
            return {"ids": leavers[begin:end]}

        if leavers:
            statement = self._held_lease.batch("write/leavers_stage", **self._names.runs)
            self._staged += self._send_nodes(
                _STAGE_COORDINATES, statement, columns, len(leavers), space=space, may_miss_all=True
            )

    def _count(self, space: str) -> tuple[int, int]:
        """Return how many nodes have published coordinates of a space, and how many of these are unstaged."""
        count = load_statement("read/space_count", labels=self._reach.nodes, **self._names.runs)
        (row,) = self._connection.read(count, {"space": space}, doing="counting published nodes")
        return row["nodes"], row["kept"]

    def send_values(self, rows: NDArray[np.int64], values: Mapping[str, Sequence[Any]]) -> None:
        """Stage values of the nodes of some rows; other nodes lose theirs with the publication.

        `values` holds a text, number, boolean or None for each of the rows, by those of the properties in
        the run's names that are written.
        """
        self._require(VALUES)
        space = self._record.run_id
        statement = self._held_lease.batch(
            "write/values_stage", same=self._identity.predicate, run=self._names.staged.run
        )
        plain, staged = (self._names.copy(copy)["value"] for copy in ("plain", "staged"))
        columns = value_columns(
            {own: values[name] for name, own in zip(plain, staged, strict=True) if name in values},
            rows,
            self._identity.parameters,
        )
        self._staged = self._send_nodes(_STAGE_VALUES, statement, columns, len(rows), space=space)
        self._record = replace(
            self._record, nodes_written=self._staged, nodes_missing=len(rows) - self._staged
        )
        self._coming |= {
            "run": space,
            "space": space,
            "runProperty": self._names.run,
            "valueProperties": list(self._names.values),
            "nodeLabels": list(self._labels) or None,
            "nodeCount": self._staged,
        }

    def send_links(self, links: LinkColumns) -> None:
        """Stage checked links."""
        self._require(LINKS)
        space, nodes = "", self._identity.parameters
        same = self._identity.predicate
        if "run" in self._coming:  # nodes with staged coordinates are identified by these
            space, nodes = self._coming["space"], self._identity.ids
            same = Fragment(load_statement("read/same_space", **self._names.runs))
        statement = self._held_lease.batch("write/links_stage", same=same, type=self._names.links.staged)
        locks = _write_locks(len(links.source), self.rows)
        order, rounds = conflict_free_rounds(links.source, links.target, locks)
        columns = link_columns(links, order, nodes)
        run = self._record.run_id
        written = self._send(_STAGE_LINKS, statement, columns, rounds, self.rows, run=run, space=space)
        missing = len(links.source) - written
        self._record = replace(self._record, links_written=written, links_missing=missing)
        self._coming |= {"linkRun": run, "linkType": self._names.link_type}

    def publish(self) -> RunRecord:
        """Publish the run in place of the previous one, which is kept for a rollback.

        The steps are defined in `publish.publication`.

        Returns
        -------
        RunRecord
            The record stored in the graph.

        Raises
        ------
        ValueError
            If a part of the run was not written.
        """
        written_by = {EMBEDDING: "run", VALUES: "run", LINKS: "linkRun"}
        unwritten = [part for part in self._parts if written_by[part] not in self._coming]
        if unwritten:
            raise ValueError(f"before publishing, the run must write its {' and '.join(unwritten)}")
        is_indexed = self._index and not self._names.values
        coming = published(self._version, self._coming, self._names, index=is_indexed)
        publication = Publication(
            self._held_lease,
            self._names,
            coming,
            self._reach,
            staged=self._staged,
            labels=self._record.labels,
            run=self._record.run_id,
            most_general=self._most_general,
            on_progress=self._on_progress,
        )
        with self._timed("index new version"):
            publication.run([Step.INDEX_STAGED])
        publication.outcome = self._record.to_node()
        self._is_switching = True
        publication.run([Step.SWITCH_TO_STAGED])
        self._is_published = True
        self._record = replace(self._record, status="complete")
        try:
            self._settle(publication)
        except LeaseHeld:
            _log.warning("run %s is published; another process settles it", self._record.run_id)
            return self._record
        return RunRecord.from_node(publication.run_properties)

    def _settle(self, publication: Publication) -> None:
        """Execute the steps after the first switch; their times are recorded with the second switch."""
        steps = remaining(is_switched=True)
        index, switch = steps.index(Step.INDEX_PLAIN), steps.index(Step.SWITCH_TO_PLAIN)
        with self._timed("settle"):
            publication.run(steps[:index])
        with self._timed("build index"):
            publication.run(steps[index:switch])
        publication.outcome = {"stageSeconds": self._record.to_node()["stageSeconds"]}
        publication.run(steps[switch:])

    def _send_nodes(
        self, stage: str, statement: str, columns: Columns, count: int, size: int = 0, **options: Any
    ) -> int:
        """Send rows of `count` different nodes, `size` in a batch; see `_send`."""
        size = size or self.rows
        rounds = equal_parts(count, _write_locks(count, size))
        return self._send(stage, statement, columns, rounds, size, **options)

    def _send(
        self,
        stage: str,
        statement: str,
        columns: Columns,
        rounds: Rounds,
        size: int,
        *,
        may_miss_all: bool = False,
        **params: str,
    ) -> int:
        """Send rows in batches, each holding a write lock; return the number that the server matched."""
        lease = self._held_lease
        with self._timed(stage):
            return send(
                self._connection,
                statement,
                columns,
                held={**lease.locks, **params},
                check=lease.check,
                stage=stage,
                rounds=rounds,
                rows=size,
                on_progress=self._on_progress,
                may_miss_all=may_miss_all,
            )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Record the seconds of a stage."""
        started = perf_counter()
        yield
        seconds = {**self._record.stage_seconds, stage: round(perf_counter() - started, 3)}
        self._record = replace(self._record, stage_seconds=seconds)

    @property
    def _held_lease(self) -> Lease:
        assert self._lease is not None, "what is written was written after entering"
        return self._lease

    def _require(self, part: str) -> None:
        if part not in self._parts:
            raise ValueError(f"this run was started for {self._record.kind}, not for {part}")
        if self._lease is None:
            raise ValueError("the run has not started: use it as a context manager")


def _names_of_parts(names: WriteNames) -> dict[str, Any]:
    """Return the fields of a record with the names that differ between coordinates and values."""
    if names.values:
        return {"value_properties": names.values}
    return {
        "embedding_property": names.plain.embedding,
        "radius_property": names.plain.radius,
        "vector_property": names.plain.vector,
        "link_type": names.link_type,
    }


def _new_run_id() -> str:
    """Return a unique run id: the time (UTC), then 48 random bits; ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(6)}"


def software_versions() -> dict[str, str]:
    """Return the versions of the local software, which a run records with the server's version."""
    versions = {"heat_neo4j": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    return versions


def _claims(models: Iterable[Mapping[str, Any]], but_for: str) -> set[tuple[Any, ...]]:
    """Return (name, version, staging) of other models; it changes if one starts or publishes a run."""
    return {
        (node.get("name"), node.get("version"), node.get("staging"))
        for node in models
        if node.get("name") != but_for
    }


def _write_locks(total: int, size: int) -> int:
    """Return the number of concurrent batches; a single batch is not split."""
    return WRITE_LOCKS if total > size else 1
