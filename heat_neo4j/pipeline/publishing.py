"""Where a pipeline's results go: checked early, then written and published as one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from heat_neo4j._utils.progress import Progress
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import Lease
from heat_neo4j.database.publish.writer import Run, model_facts
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import Coordinates, check_coordinates, check_links
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import LinkProbability, LinkScore, PredictedLinks
from heat_neo4j.linkpred.tuning import Choice
from heat_neo4j.pipeline.job import LinkOptions

__all__ = ["Result", "RunReport", "Target"]


@dataclass(frozen=True)
class RunReport:
    """What a run did, or would do.

    Parameters
    ----------
    run : RunRecord
        As the graph has it; with status "dry run" if nothing was written.
    calibration : LinkProbability or None
        What turned distances into probabilities.
    score : LinkScore or None
        What ranked the links in place of the distance.
    choice : Choice or None
        The parameters that were chosen, and why.
    notes : tuple of str
        What went otherwise than asked, one line each.
    """

    run: RunRecord
    calibration: LinkProbability | None = None
    score: LinkScore | None = None
    choice: Choice | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            **self.run.to_dict(),
            "calibration": None if self.calibration is None else asdict(self.calibration),
            "link_score": None if self.score is None else self.score.to_dict(),
            "choice": None if self.choice is None else self.choice.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Result:
    """What is written and recorded."""

    model: HEAT | None = None  # fitted; None where only links are written
    coordinates: str = "poincare"
    links: PredictedLinks | None = None  # None where only coordinates are written
    parameters: Mapping[str, Any] = field(default_factory=dict)  # to record beside the model's own
    choice: Choice | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # further fields of the run's record
    stored: StoredCoordinates | None = None  # published coordinates that nodes keep to the bit


@dataclass(frozen=True)
class Target:
    """Where and how results are written; the fields are those of `pipeline.embed` and of `Run`."""

    store: Neo4jStore
    graph: Graph
    parts: tuple[str, ...]
    names: WriteNames
    overwrite: bool
    index: bool
    lease: Lease | None
    on_progress: Progress

    def check(self, links: LinkOptions | None, *, anew: bool = True) -> None:
        """Find out before the long work if a label is unknown and, if `anew`, if writing would be refused."""
        for label in () if links is None else (links.source_label, links.target_label):
            if label is not None and label not in self.graph.labels:
                labels = ", ".join(map(repr, sorted(self.graph.labels))) or "none"
                raise ProjectionError(f"no node of the projection has the label {label!r}; it has {labels}")
        run = self._run(Result(), {})
        if anew:
            run.plan()

    def write(self, result: Result, seconds: Mapping[str, float]) -> RunReport:
        """Write and publish `result`; without a lease, which is a dry run, only say so."""
        run = self._run(result, seconds)
        if self.lease is None:
            return _report(self._plan(run, result), result)
        with _explained_interrupts(run), run:
            if result.model is not None:
                changed = None if result.stored is None else ~result.stored.found
                run.send_coordinates(self._coordinates(result), model_facts(result.model), changed)
            if result.links is not None:
                run.write_links(result.links)
            return _report(run.publish(), result)

    def reject(self, result: Result, seconds: Mapping[str, float], why: str) -> RunReport:
        """Record that `result` did not pass, and write nothing of it."""
        run = self._run(result, seconds)
        return _report(run.reject({} if result.model is None else model_facts(result.model), why), result)

    def _coordinates(self, result: Result) -> Coordinates:
        coordinates = check_coordinates(result.model, self.graph.n_nodes, result.coordinates)
        return coordinates if result.stored is None else result.stored.kept_in(coordinates)

    def _run(self, result: Result, seconds: Mapping[str, float]) -> Run:
        return self.store.start_run(
            self.graph,
            parts=self.parts,
            names=self.names,
            parameters=result.parameters,
            stage_seconds=seconds,
            facts=result.facts,
            overwrite=self.overwrite,
            index=self.index,
            lease=self.lease,
            on_progress=self.on_progress,
        )

    def _plan(self, run: Run, result: Result) -> RunRecord:
        links = None if result.links is None else check_links(result.links, self.graph.n_nodes)
        if result.model is None:
            return run.plan(links=links)
        record = run.plan(self._coordinates(result), links)
        facts = model_facts(result.model)
        return replace(record, **{**facts, "parameters": {**record.parameters, **facts["parameters"]}})


def _report(run: RunRecord, result: Result) -> RunReport:
    links = result.links
    return RunReport(
        run=run,
        calibration=None if links is None else links.calibration,
        score=None if links is None else links.score,
        choice=result.choice,
        notes=result.notes,
    )


@contextmanager
def _explained_interrupts(run: Run) -> Iterator[None]:
    """Let Ctrl-C say what is in the graph now."""
    try:
        yield
    except KeyboardInterrupt as stop:
        run_id = run.record.run_id
        if run.record.status == "complete":
            raise KeyboardInterrupt(
                f"run {run_id} is published; plain names hold all of it once the next command that writes is "
                "over, `heat prune` for one"
            ) from stop
        raise KeyboardInterrupt(
            f"run {run_id} is incomplete and what was published before is untouched: "
            f"repeat, or remove the rest with `heat clear --run {run_id}`"
        ) from stop
