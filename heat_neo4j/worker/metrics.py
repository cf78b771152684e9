"""`Metrics`: metrics of a worker for Prometheus, on a local port and in a file for node_exporter."""

import math
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from heat_neo4j._utils.display import printable
from heat_neo4j._utils.errors import os_errors_as
from heat_neo4j._utils.output_file import write_output
from heat_neo4j._utils.version import __version__
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.versions import runs_of
from heat_neo4j.errors import ConfigError, HeatError
from heat_neo4j.worker.loop import Answer, Observer

ADDRESS = "127.0.0.1"
"""The only address that the port is opened on, because metrics have no password."""
STATES = ("waiting", "working", "server away")
OUTCOMES = ("published", "nothing", "rejected", "failed", "skipped")
"""Outcomes of a task; a skipped one found the lease taken, and is retried."""

_PUBLISHED, _REJECTED = "published", "rejected"
_FILE_SECONDS = 15.0  # between two writes of the file, unless something changes
_LOOK_SECONDS = 60.0  # between two reads of the published version, which others may change
_REQUEST_SECONDS = 10.0  # timeout of a request
_MOST_STAGES = 50  # others may have changed the node of a run


class Family(NamedTuple):
    """A family of metrics; all have the label ``model`` too."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...] = ()


FAMILIES = (
    Family("heat_build", "info", "Versions of heat and of Python."),
    Family("heat_worker_state", "stateset", "State of the worker."),
    Family("heat_worker_alive_timestamp_seconds", "gauge", "Time of the worker's last sign of life."),
    Family("heat_worker_due_timestamp_seconds", "gauge", "Time when the next refresh is due."),
    Family("heat_tasks", "counter", "Tasks of this worker, by outcome.", ("outcome",)),
    Family("heat_rejections_in_a_row", "gauge", "Consecutive rejected refreshes."),
    Family("heat_failures", "counter", "Failures, by error and exit code.", ("kind", "code")),
    Family("heat_last_failure_timestamp_seconds", "gauge", "Time of the last failure."),
    Family("heat_published_timestamp_seconds", "gauge", "Time when the published version was published."),
    Family("heat_published_version", "gauge", "Number of the published version."),
    Family("heat_published_nodes", "gauge", "Nodes with published coordinates."),
    Family("heat_published_links", "gauge", "Published predicted links."),
    Family("heat_auroc", "gauge", "AUROC of held-out edges.", ("run",)),
    Family("heat_degree_auroc", "gauge", "AUROC by the product of degrees.", ("run",)),
    Family("heat_mean_move", "gauge", "Mean hyperbolic distance by which nodes moved.", ("run",)),
    Family("heat_overlap", "gauge", "Share of the nearest nodes that stayed the same.", ("run",)),
    Family("heat_stage_seconds", "gauge", "Seconds of each stage.", ("run", "stage")),
)
"""All families; the label ``run`` is "published", or "rejected" for a later, rejected run."""


class Metrics(Observer):
    """Counts and figures of a worker, exported by a port, a file, or both.

    Counts cover this worker since its start. Figures of the published version are read from the graph, so
    they are right even if another process published it. With `port` 0, a free port is chosen.
    """

    def __init__(self, model: str, *, file: Path | None = None, port: int | None = None) -> None:
        if find_spec("prometheus_client") is None:
            raise ConfigError("metrics need the extra 'metrics': pip install 'heat-neo4j[metrics]'")
        from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Info, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]  # a gauge beside each counter
        states = partial(Enum, states=STATES)
        kinds: dict[str, Any] = {"gauge": Gauge, "counter": Counter, "info": Info, "stateset": states}
        self.registry = CollectorRegistry()
        self._families: dict[str, Any] = {
            each.name: kinds[each.kind](each.name, each.text, ("model", *each.labels), registry=self.registry)
            for each in FAMILIES
        }
        self._model, self._file, self._port = model, file, port
        self._metric("heat_build").info({"version": __version__, "python": platform.python_version()})
        self._metric("heat_worker_state").state(STATES[0])
        for outcome in OUTCOMES:
            self._metric("heat_tasks", outcome)  # from 0 on
        self._set("heat_rejections_in_a_row", 0)
        self._runs: dict[str, RunRecord] = {}
        self.clock, self.request_seconds = time.monotonic, _REQUEST_SECONDS
        self._looked = self._written = -math.inf
        self._changed = True
        self._server: Any = None

    @property
    def address(self) -> tuple[str, int] | None:
        """Address and port of the HTTP server; None if there is none."""
        if self._server is None:
            return None
        host, port = self._server.server_address[:2]
        return host, port

    def begin(self) -> None:
        """Write the file and listen on the port; raises ConfigError if either fails."""
        self._write()
        if self._port is None:
            return
        from prometheus_client import start_http_server

        with os_errors_as(ConfigError, f"[serve] metrics_port {self._port}: cannot listen there"):
            self._server, _ = start_http_server(self._port, addr=ADDRESS, registry=self.registry)
        # Without a timeout, an idle connection would hold a thread forever.
        handler = self._server.RequestHandlerClass
        self._server.RequestHandlerClass = type("Handler", (handler,), {"timeout": self.request_seconds})

    def state(self, name: str, due: datetime | None) -> None:
        """Record the state of the worker, and when a refresh is due."""
        self._metric("heat_worker_state").state(name)
        if due is not None:
            self._set("heat_worker_due_timestamp_seconds", due.timestamp())
        self._changed = True

    def finished(self, answer: Answer, rejections: int) -> None:
        """Count a task; keep the figures of a rejected run until another run is published."""
        self._count("heat_tasks", answer.outcome)
        self._set("heat_rejections_in_a_row", rejections)
        if answer.outcome == _REJECTED and answer.record is not None:
            self._show_runs({**self._runs, _REJECTED: answer.record})
        elif answer.outcome == _PUBLISHED:
            self._show_runs({kind: run for kind, run in self._runs.items() if kind != _REJECTED})
        if answer.error is not None:
            self._count_failure(answer.error)
        self._looked = -math.inf

    def skipped(self) -> None:
        """Count a task that found the lease taken."""
        self._count("heat_tasks", "skipped")

    def server_away(self, error: BaseException) -> None:
        """Count an attempt that did not reach the server."""
        self._count_failure(error)

    def look(self, store: Neo4jStore) -> None:
        """Read the published version, after each task and every minute."""
        if self.clock() - self._looked < _LOOK_SECONDS:
            return
        book = store.bookkeeping()
        version = book.remains(self._model)
        by_id = {run.run_id: run for run in book.runs_of(self._model)}
        of_coordinates, of_links = (by_id.get(run or "") for run in runs_of(version))
        self._set("heat_published_timestamp_seconds", _seconds(version.get("publishedAt")))
        self._set("heat_published_version", version.get("version"))
        self._set("heat_published_nodes", getattr(of_coordinates, "nodes_written", None))
        self._set("heat_published_links", getattr(of_links, "links_written", None))
        runs = {_PUBLISHED: of_coordinates, _REJECTED: self._runs.get(_REJECTED)}
        self._show_runs({kind: run for kind, run in runs.items() if run is not None})
        self._looked, self._changed = self.clock(), True

    def alive(self) -> None:
        """Record the time; write the file if something has changed, or it is old."""
        self._set("heat_worker_alive_timestamp_seconds", time.time())
        if self._changed or self.clock() - self._written >= _FILE_SECONDS:
            with suppress(ConfigError):  # it becomes stale, which node_exporter reports
                self._write()

    def close(self) -> None:
        """Stop listening, and remove the file."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._file is not None:
            with suppress(OSError):
                self._file.resolve().unlink(missing_ok=True)

    def _metric(self, name: str, *labels: str) -> Any:
        # Names may hold characters that cannot be encoded, such as lone surrogates.
        return self._families[name].labels(*map(printable, (self._model, *labels)))

    def _set(self, name: str, value: Any, *labels: str) -> None:
        """Set a gauge; without a value that it can have, remove it."""
        number = _number(value)
        if number is None:
            self._families[name].remove(*map(printable, (self._model, *labels)))
        else:
            self._metric(name, *labels).set(number)

    def _count(self, name: str, *labels: str) -> None:
        self._metric(name, *labels).inc()
        self._changed = True

    def _show_runs(self, runs: Mapping[str, RunRecord]) -> None:
        """Set the figures of runs, and remove those of others."""
        if runs == self._runs:
            return
        self._runs = dict(runs)
        for family in FAMILIES:
            if "run" in family.labels:
                self._families[family.name].clear()
        for kind, run in runs.items():
            self._set("heat_auroc", run.auroc, kind)
            self._set("heat_degree_auroc", run.quality.get("degree_auroc"), kind)
            self._set("heat_mean_move", run.mean_move, kind)
            self._set("heat_overlap", run.overlap, kind)
            for stage, seconds in islice(run.stage_seconds.items(), _MOST_STAGES):
                self._set("heat_stage_seconds", seconds, kind, stage)

    def _count_failure(self, error: BaseException) -> None:
        code = error.exit_code if isinstance(error, HeatError) else HeatError.exit_code
        self._count("heat_failures", type(error).__name__, str(code))
        self._set("heat_last_failure_timestamp_seconds", time.time())

    def _write(self) -> None:
        if self._file is None:
            return
        # Not OpenMetrics: node_exporter knows only the older format, and ignores files with "info" in it.
        from prometheus_client import generate_latest

        self._written, self._changed = self.clock(), False
        write_output(self._file, generate_latest(self.registry), "[serve] metrics_file")


def _number(value: Any) -> float | None:
    """Return a number as a float; None if it is not a number, or too large."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _seconds(moment: Any) -> float | None:
    """Return a time of the database in seconds since 1970; None if Python cannot represent it."""
    try:
        native = moment.to_native() if hasattr(moment, "to_native") else moment
        return native.timestamp() if isinstance(native, datetime) else None
    except (OSError, OverflowError, ValueError):
        return None
