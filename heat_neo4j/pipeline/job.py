"""`Job`: what is to be kept fresh, and how; `RefreshReport`: what a refresh did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.lease import LEASE_SECONDS
from heat_neo4j.database.publish.removal import RECORDS
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.geometry.drift import Drift
from heat_neo4j.pipeline.gate import Gate, Quality
from heat_neo4j.pipeline.plan import NOTHING, Changed, Limits
from heat_neo4j.pipeline.publishing import LinkOptions, RunReport

__all__ = ["Job", "RefreshReport"]


@dataclass(frozen=True)
class Job:
    """What is to be kept fresh, and how.

    Parameters
    ----------
    projection, model, names, coordinates, links, choose, choose_seconds, memory_limit, overwrite, index
        As for `pipeline.embed`. Parameters that are to be chosen are chosen by full runs.
    limits : Limits
        How much change asks for how much work.
    gate : Gate
        What a new version must reach.
    lease_seconds : float
        How long the lease lasts that is not renewed.
    records : int
        Nodes of earlier runs to keep.
    """

    projection: Projection
    model: HEAT
    names: WriteNames = field(default_factory=WriteNames)
    coordinates: str = "poincare"
    links: LinkOptions | None = field(default_factory=LinkOptions)
    choose: Sequence[str] = ()
    choose_seconds: float | None = None
    memory_limit: int | None = None
    overwrite: bool = False
    index: bool = True
    limits: Limits = field(default_factory=Limits)
    gate: Gate = field(default_factory=Gate)
    lease_seconds: float = LEASE_SECONDS
    records: int = RECORDS


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh did.

    Parameters
    ----------
    outcome : str
        "published", "nothing" or "rejected"; "dry run" if only the decision was asked for.
    decision, reason : str
        "nothing", "local", "warm" or "full", and why.
    changed : Changed or None
        What differs from the graph of the run before.
    quality : Quality or None
        Of the new version.
    drift : Drift or None
        From the version before.
    report : RunReport or None
        The run, if there was one.
    seconds : mapping of str to float
        Of each stage before writing.
    notes : tuple of str
        What went otherwise than asked.
    """

    outcome: str
    decision: str
    reason: str
    changed: Changed | None = None
    quality: Quality | None = None
    drift: Drift | None = None
    report: RunReport | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "outcome": self.outcome,
            "decision": self.decision,
            "reason": self.reason,
            "changed": None if self.changed is None else self.changed.recorded(NOTHING),
            "quality": None if self.quality is None else self.quality.to_dict(),
            "drift": None if self.drift is None else self.drift.to_dict(),
            "run": None if self.report is None else self.report.to_dict(),
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
        }
