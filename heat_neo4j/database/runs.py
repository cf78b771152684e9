"""`RunRecord`: the record of a run, and the bookkeeping nodes that store it."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from shlex import quote
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j._utils.frames import Result
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.documents import parse_document
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.statements import Fragment, except_names, is_identifier, load_statement
from heat_neo4j.database.trust import FILTERS, Trust
from heat_neo4j.database.versions import checked, holds_values, is_run_id
from heat_neo4j.errors import ProjectionError

EMBEDDING, LINKS, VALUES = "embedding", "links", "values"
LABELS = ("HeatRun", "HeatModel", "HeatVersion")
"""Bookkeeping labels, which are excluded from graphs that are read without naming labels."""
TYPES = ("HEAT_WRITE_LOCK", "HEAT_PREVIOUS", "HEAT_PUBLISHED")
"""Relationship types between bookkeeping nodes."""
_MODEL = ("name", "version", "staging", "publishedAt", "rolledBackAt", "leaseHolder", "leaseUntil")
DAMAGED = "damaged"
"""Key in a model's properties: names of invalid properties of its version's node."""


@dataclass(frozen=True, repr=False)
class RunRecord(Result):
    """One run, as stored in its ``HeatRun`` node.

    Parameters
    ----------
    run_id : str
        Its id; empty for a dry run. It is stored with the run's values.
    model : str
        Name of the model it belongs to.
    parts : tuple of str
        What it writes: "embedding", "links" or both; or "values", such as classes or clusters.
    status : str
        "incomplete": being written, or crashed. "complete": published. "superseded": replaced by another run;
        its values are removed, unless they are kept for a rollback. "removing": its values are being removed.
        "rejected": it did not pass the quality gate and wrote nothing. "dry run": it wrote nothing.
    stored : tuple of str
        Parts with values in the graph: published, or kept for a rollback.
    embedding_property, radius_property, run_property, vector_property, link_type : str or None
        Plain name of what it writes.
    value_properties : tuple of str or None
        The plain names of values; a run that writes them writes no coordinates and links.
    indexes : tuple of str
        Names of the vector indexes over its coordinates, while they are published.
    node_count, edge_count, attribute_count : int
        Number of them in the graph that it read.
    labels : tuple of str
        Labels of the nodes it wrote to; empty for any.
    coordinates : str or None
        "poincare", "hyperboloid" or "klein".
    dimension : int or None
        Floats in each list of coordinates.
    nodes_written, links_written : int
        Number of nodes with coordinates, or of predicted links.
    nodes_missing, links_missing : int
        Number not written, because nodes were deleted, replaced or relabelled after the graph was read.
    started_at, finished_at : datetime or None
        Time of the server's clock.
    heartbeat : datetime or None
        Time of the last batch of a run that is being written.
    seed : int, str or None
        Seed of the training; text if it is beyond Neo4j's integers.
    pair_count : int or None
        Number of pairs trained.
    final_loss : float or None
        Last value of `loss_curve`.
    loss_curve : tuple of float
        Mean loss per pair, at most 200 values over the training.
    parameters : mapping
        Parameters of the model.
    versions : mapping
        Software versions.
    projection : mapping
        What was read.
    counts : mapping
        Counts from the reading.
    stage_seconds : mapping
        Seconds of each stage.
    training : mapping
        Counts from the training.
    attribute_recipe : sequence of mappings
        How node properties became attributes.
    error : str or None
        Why an incomplete run stopped, if known, or why a run was rejected.
    previous_run : str or None
        The run whose coordinates were published when it began.
    decision : str or None
        How the coordinates were computed: "full", "warm" or "local".
    reason : str or None
        Why they were computed so.
    plan : mapping
        `Plan` of the job.
    settings : mapping
        Settings of the job, which a later refresh compares with its own.
    fingerprint : mapping
        `Fingerprint` of the graph.
    changes : mapping
        Differences from the graph of the previous run.
    quality : mapping
        Held-out AUROC and the limits that applied.
    drift : mapping
        How far nodes moved since the previous run.
    auroc : float or None
        Held-out AUROC.
    overlap : float or None
        Share of nearest nodes that stayed the same since the previous run.
    mean_move : float or None
        Mean hyperbolic distance by which nodes moved since the previous run.
    damaged : tuple of str
        Properties with values that no run could have written; ignored here. Not stored.
    """

    run_id: str
    model: str
    parts: tuple[str, ...]
    status: str
    stored: tuple[str, ...] = ()
    embedding_property: str | None = None
    radius_property: str | None = None
    run_property: str | None = None
    vector_property: str | None = None
    value_properties: tuple[str, ...] | None = None
    indexes: tuple[str, ...] = ()
    link_type: str | None = None
    node_count: int = 0
    edge_count: int = 0
    attribute_count: int = 0
    labels: tuple[str, ...] = ()
    coordinates: str | None = None
    dimension: int | None = None
    nodes_written: int = 0
    nodes_missing: int = 0
    links_written: int = 0
    links_missing: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    heartbeat: datetime | None = None
    seed: int | str | None = None
    pair_count: int | None = None
    final_loss: float | None = None
    loss_curve: tuple[float, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    projection: Mapping[str, Any] = field(default_factory=dict)
    attribute_recipe: Sequence[Mapping[str, Any]] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    previous_run: str | None = None
    decision: str | None = None
    reason: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, Any] = field(default_factory=dict)
    drift: Mapping[str, Any] = field(default_factory=dict)
    auroc: float | None = None
    overlap: float | None = None
    mean_move: float | None = None
    damaged: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The parts in one word: "embedding", "links" or "embedding+links"."""
        return "+".join(self.parts)

    @property
    def names(self) -> WriteNames:
        """The names under which it writes."""
        return WriteNames(self.model, self.value_properties or ())

    @classmethod
    def from_node(cls, properties: Mapping[str, Any]) -> Self:
        """Return the record stored in a run node's properties; unknown and damaged ones are left out."""
        values: dict[str, Any] = {}
        damaged = []
        for part in fields(cls):
            value = properties.get(_camel(part.name))
            if value is None:
                continue
            if part.name in _JSON_FIELDS:
                value = _from_json(value)
            elif isinstance(value, list):
                value = tuple(value)
            elif hasattr(value, "to_native"):
                value = _native(value)
            if _is_kind(value, _KINDS[part.name]):
                values[part.name] = value
            else:
                damaged.append(_camel(part.name))
        required = {"run_id": "", "model": "", "parts": (), "status": ""}
        try:
            _ = cls(**{**required, **values}).names
        except ValueError:
            if values.pop("value_properties", None) is not None:
                damaged.append("valueProperties")
        return cls(**{**required, **values}, damaged=tuple(damaged))

    def whole(self) -> Self:
        """Return the record itself; raises ProjectionError if its node is damaged."""
        if self.damaged:
            raise self.damage(*self.damaged)
        self._parsed(self.projection)
        return self

    def trusted_projection(self, trust: Trust) -> Projection:
        """Return the projection to read the graph with.

        Raises ConfigError if it has a filter that the operator did not supply, and ProjectionError if it is
        damaged.
        """
        return self._parsed(self.trusted_settings(trust, self.projection))

    def trusted_settings(self, trust: Trust, names: Collection[str]) -> dict[str, Any]:
        """Return the named parts of the projection; see `trusted_projection`.

        Every recorded filter on its way to the server passes through here.
        """
        taken = {name: self.projection[name] for name in self.projection if name in names}
        for name in FILTERS:
            if taken.get(name) is not None:
                if not isinstance(taken[name], str):
                    raise self.damage("projection")
                trust.require_filter(self.run_id, name, taken[name])
        return taken

    @property
    def unfiltered_projection(self) -> Projection:
        """The projection without its filters, for names only."""
        names = self.projection.keys() - {*FILTERS, "filter_parameters"}
        return self._parsed({name: self.projection[name] for name in names})

    def _parsed(self, projection: Mapping[str, Any]) -> Projection:
        with self.reading("projection"):
            return Projection.from_dict(projection)

    def damage(self, *properties: str) -> ProjectionError:
        """Return the error for a run's node with invalid `properties`."""
        return ProjectionError(
            f"the node of run {self.run_id} is damaged ({', '.join(properties)}): "
            f"`heat clear --run {self.run_id}` removes the run, then run `heat embed`"
        )

    @contextmanager
    def reading(self, *properties: str) -> Iterator[None]:
        """Convert the errors of a block that reads some `properties` to the error of `damage`."""
        try:
            yield
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise self.damage(*properties) from error

    def to_node(self) -> dict[str, Any]:
        """Return the properties that `from_node` takes, without those that are None."""
        return {
            _camel(name): json.dumps(value, allow_nan=False, sort_keys=True, default=np.generic.item)
            if name in _JSON_FIELDS
            else _without_tuples(value)
            for name, value in vars(self).items()
            if value is not None and name != "damaged"
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON data, times in ISO format."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else _without_tuples(value)
            for name, value in vars(self).items()
        }


_KINDS = get_type_hints(RunRecord)
_JSON_FIELDS = [name for name, kind in _KINDS.items() if get_origin(kind) in (Mapping, Sequence)]
"""Fields whose property on the run node is JSON text."""


@dataclass(frozen=True)
class Bookkeeping:
    """The model nodes and run nodes, read in one transaction."""

    models: Sequence[Mapping[str, Any]]  # their properties, with those of the published version
    runs: tuple[RunRecord, ...]  # of all models, latest first

    def published(self, model: str) -> Mapping[str, Any]:
        """Return the properties of `model` and of its published version; empty if there is none.

        Raises ProjectionError if the node of the version is damaged.
        """
        return _whole(self.remains(model), model)

    def remains(self, model: str) -> Mapping[str, Any]:
        """Return the same as `published`, but only the valid parts of a damaged version."""
        return _model_node(self.models, model)

    def published_run(self, model: str) -> RunRecord | None:
        """Return the run of `model` whose coordinates are published; raises ProjectionError if damaged.

        None if there is none, or the model is a table of values.
        """
        version = self.published(model)
        run_id = None if holds_values(version) else version.get("run")
        return next((run.whole() for run in self.runs_of(model) if run.run_id == run_id), None)

    def required_run(self, model: str) -> RunRecord:
        """Return `published_run`; raises ProjectionError if there is none."""
        run = self.published_run(model)
        if run is None:
            raise nothing_published(model, self)
        return run

    def check_model(self, model: str) -> None:
        """Raise ProjectionError if the database has neither a node nor a run of `model`."""
        known = {node["name"] for node in self.models} | {run.model for run in self.runs}
        if model not in known:
            advice = did_you_mean(model, known) or ": `heat runs` lists the models"
            raise ProjectionError(f"there is no model {model!r} in this database{advice}")

    def runs_of(self, model: str) -> tuple[RunRecord, ...]:
        """Return the runs of `model`, latest first."""
        return tuple(run for run in self.runs if run.model == model)

    def holders(self, model: str, part: str) -> list[str]:
        """Return the ids of the runs of `model` that may have values of `part` in the graph."""
        return [run.run_id for run in self.runs_of(model) if part in run.stored]

    def names(self, model: str) -> WriteNames:
        """Return the names that `model` writes to: of its published version, otherwise of its last run."""
        recorded = [self.remains(model).get("valueProperties")]
        recorded += [run.value_properties for run in self.runs_of(model)]
        for values in filter(None, recorded):
            with suppress(ValueError):  # changed by someone
                return WriteNames(model, tuple(values))
        return WriteNames(model)


def read_bookkeeping(source: Connection | Transaction, *, history: bool = False) -> Bookkeeping:
    """Read our model and run nodes in one transaction.

    Runs without values in the graph are read only if `history` is true.
    """

    def work(transaction: Transaction) -> Bookkeeping:
        parameters = {"current": not history}
        (record,) = transaction.run(load_statement("read/bookkeeping"), parameters).records
        runs = tuple(
            RunRecord.from_node(node)
            for node in record["runs"]
            if is_run_id(node["runId"]) and is_identifier(node["model"])
        )
        return Bookkeeping(_published(record["models"]), runs)

    if isinstance(source, Connection):
        return source.read_transaction(work, doing="reading the runs")
    return work(source)


def read_version(connection: Connection, model: str) -> Mapping[str, Any]:
    """Return the properties of `model` and of its published version; empty if it has no node."""
    models = connection.read(load_statement("read/models"), doing="reading what is published")
    return _whole(_model_node(_published(models), model), model)


def nodes_with(labels: Sequence[str]) -> Fragment | Sequence[str]:
    """Return the label expression for nodes with any of `labels`; if empty, for all but our own."""
    return labels or except_names(LABELS)


def nothing_published(model: str, source: Bookkeeping | Connection | Transaction) -> ProjectionError:
    """Return the error for a model without published coordinates; it suggests a similar name."""
    models = source.models if isinstance(source, Bookkeeping) else read_bookkeeping(source).models
    suggestion = did_you_mean(
        model, [node["name"] for node in models if "run" in node and not holds_values(node)]
    )
    suggestion = suggestion or ": run `heat embed`, or choose a model of `heat runs`"
    return ProjectionError(f"model {model!r} has no published coordinates in this database{suggestion}")


def _model_node(models: Sequence[Mapping[str, Any]], model: str) -> Mapping[str, Any]:
    """Return the model's node; if two were created concurrently, the one in use."""

    def version_number(node: Mapping[str, Any]) -> int:
        number = node.get("version")
        return number if isinstance(number, int) else 0

    return max((node for node in models if node["name"] == model), key=version_number, default={})


def _published(models: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the properties of each model, with those of its published version."""
    found: list[Mapping[str, Any]] = []
    for row in models:
        if is_identifier(row["model"]["name"]):
            version, damaged = checked(row["version"] or {})
            own = {name: row["model"][name] for name in _MODEL if name in row["model"]}
            found.append({**version, **own, DAMAGED: damaged})
    return found


def _whole(version: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the properties of a model and of its version; raises ProjectionError if it is damaged."""
    if damaged := version.get(DAMAGED):
        raise ProjectionError(
            f"the node of the published version of model {model!r} is damaged ({', '.join(damaged)}): "
            f"`heat clear --model {quote(model)}` removes the model, then run `heat embed`"
        )
    return version


def _native(value: Any) -> Any:
    """Convert a time of the driver to Python; None, which is invalid, if that is impossible."""
    try:
        return value.to_native()
    except (OverflowError, ValueError):
        return None


def _from_json(text: Any) -> Any:
    """Return the data of a recorded document; None, which no run records, if it is invalid."""
    try:
        return parse_document(text)
    except ValueError:
        return None


def _is_kind(value: Any, kind: Any) -> bool:
    """Return whether `value` has the declared type of a field."""
    if kind is Any:
        return True
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_is_kind(value, each) for each in arguments)
    if origin is Mapping:
        return isinstance(value, dict) and all(_is_kind(each, arguments[1]) for each in value.values())
    if origin in (tuple, Sequence):
        is_listed = isinstance(value, tuple if origin is tuple else list)
        return is_listed and all(_is_kind(each, arguments[0]) for each in value)
    if isinstance(value, bool):  # a subclass of int
        return False
    return isinstance(value, int | float if kind is float else kind)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _without_tuples(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def read_runs(connection: Connection, model: str | None = None) -> list[RunRecord]:
    """Return the runs in this database (of one `model`, if given), latest first.

    Raises
    ------
    ConnectionFailed
        If the server is lost.
    """
    return [run for run in read_bookkeeping(connection, history=True).runs if model in (None, run.model)]


def read_published_run(connection: Connection, model: str = "heat") -> RunRecord | None:
    """Return the run whose coordinates are published; None if there is none."""
    return read_bookkeeping(connection).published_run(model)


def read_required_run(connection: Connection, model: str = "heat") -> RunRecord:
    """Return the run whose coordinates are published; raises ProjectionError if there is none."""
    return read_bookkeeping(connection).required_run(model)
