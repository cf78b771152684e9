"""`Situation`: the graph as it is, beside what is published and the graph that was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ProjectionError, QualityRejected
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.fingerprint import Fingerprint, fingerprint
from heat_neo4j.pipeline.job import Job
from heat_neo4j.pipeline.plan import (
    FULL,
    LOCAL,
    MODES,
    NOTHING,
    Changed,
    Decision,
    Limits,
    decide,
    what_changed,
)
from heat_neo4j.pipeline.settings import known_recipe, read_by_recipe, settings_of
from heat_neo4j.pipeline.stages import Clock

__all__ = ["Published", "Situation", "read_situation"]

Array = NDArray[np.float64]
AUTO = MODES[0]
_FARTHEST = 1e150  # time coordinate; the square of a larger one is infinite


@dataclass(frozen=True)
class Published:
    """What is published.

    Parameters
    ----------
    run : RunRecord
        The run whose coordinates they are.
    stored : StoredCoordinates
        Its coordinates, for the rows of the graph as it is now.
    """

    run: RunRecord
    stored: StoredCoordinates

    @property
    def old(self) -> NDArray[np.bool_]:
        """Which rows have published coordinates."""
        return self.stored.found

    def comparable(self, points: Array) -> Array | None:
        """Return the published points, if others can be compared with them.

        None if there are none, if they are of another dimension, or if one is no point of the hyperboloid, or
        so far out that distances from it cannot be told.
        """
        if not self.old.any():
            return None
        try:
            published = self.stored.points()
            check_points(published)
        except ValueError:
            return None
        near = published[:, -1].max() < _FARTHEST
        return published if near and published.shape == points.shape else None


@dataclass(frozen=True)
class Situation:
    """What a refresh finds.

    Parameters
    ----------
    graph : Graph
        As it is now.
    fingerprint : Fingerprint
        Of that.
    settings : mapping
        What is asked for, from `settings_of`.
    published : Published or None
        What is published.
    changed : Changed or None
        What differs from the graph of the published run, if that is known.
    shares : float64 array of shape (N,), or None
        For how much of each node's neighbourhood, if that is known.
    rejected : RunRecord or None
        The latest run, if it was rejected.
    notes : tuple of str
        What the reading told.
    """

    graph: Graph
    fingerprint: Fingerprint
    settings: Mapping[str, Any]
    published: Published | None
    changed: Changed | None
    shares: Array | None
    rejected: RunRecord | None
    notes: tuple[str, ...]

    @property
    def same_settings(self) -> bool:
        """Whether the published run was of the same settings."""
        return self.published is not None and self.published.run.settings == self.settings

    def decision(self, mode: str, limits: Limits) -> Decision:
        """Return what to do: by what has changed, or what the user asked for.

        Raises
        ------
        ProjectionError
            If that cannot be done.
        QualityRejected
            If a full run of this very graph and these settings was rejected, and nothing else was asked for.
        """
        run, stored = (None, None) if self.published is None else (self.published.run, self.published.stored)
        found = decide(self.settings, run, stored, self.changed, self.rejected, limits)
        if mode == AUTO and found.kind == FULL and self._was_rejected():
            assert self.rejected is not None
            raise QualityRejected(
                f"run {self.rejected.run_id} of this graph was rejected ({self.rejected.error}), and the "
                "graph has not changed since: nothing was computed; --mode full tries again"
            )
        if mode in (AUTO, found.kind):
            return found
        if mode == FULL:
            return Decision(FULL, "asked for")
        if not self.same_settings or stored is None or not stored.found.any():
            raise ProjectionError(
                f"--mode {mode} needs a published version of the same settings: {found.reason}"
            )
        if mode == LOCAL and self.shares is None:
            raise ProjectionError(f"--mode local: too much has changed to tell where: {found.reason}")
        if mode == LOCAL and self.shares is not None and not self.shares.any():
            return Decision(NOTHING, "no node is new or at a change")
        return Decision(mode, "asked for")

    def _was_rejected(self) -> bool:
        return (
            self.rejected is not None
            and self.rejected.decision == FULL
            and self.rejected.settings == self.settings
            and self.rejected.fingerprint == self.fingerprint.to_dict()
        )


def read_situation(store: Neo4jStore, job: Job, clock: Clock, on_progress: Progress) -> Situation:
    """Read the graph by the recipe of the published run, what is published, and compare them."""
    runs = store.runs(job.names.model)
    recipe = known_recipe(store.published_run(job.names.model), job.projection)
    graph, notes = read_by_recipe(store, job.projection, recipe, on_progress)
    clock.lap("read")
    published = _published(store, job.names.model, graph, runs)
    now = fingerprint(graph)
    changed, shares = None, None
    if published is not None:
        alpha = float(job.model.alpha)
        changed, shares = what_changed(published.run, published.stored, graph, now, alpha)
    rejected = _last_rejected(runs, None if published is None else published.run)
    settings = settings_of(job.projection, job.model.get_params(), job.links, job.coordinates, job.choose)
    clock.lap("compare")
    return Situation(graph, now, settings, published, changed, shares, rejected, notes)


def _published(store: Neo4jStore, model: str, graph: Graph, runs: Sequence[RunRecord]) -> Published | None:
    stored = store.read_stored(graph, model)
    run = next((each for each in runs if stored is not None and each.run_id == stored.run), None)
    return None if stored is None or run is None else Published(run, stored)


def _last_rejected(runs: Sequence[RunRecord], source: RunRecord | None) -> RunRecord | None:
    """Return the latest run of those with coordinates, if it was rejected after the published one."""
    for run in runs:
        if run is source or run.status == "complete":
            return None
        if run.status == "rejected":
            return run
    return None
