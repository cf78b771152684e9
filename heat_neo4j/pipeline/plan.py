"""How much of an embedding to compute anew: nothing, the nodes around the changes, a warm start, or all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.validation import check_positive
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.fingerprint import Change, Fingerprint, Touched, changes, fingerprint, touched
from heat_neo4j.pipeline.settings import difference

__all__ = ["MODES", "NOTHING", "Changed", "Decision", "Limits", "decide", "what_changed"]

NOTHING, LOCAL, WARM, FULL = "nothing", "local", "warm", "full"
Array = NDArray[np.float64]
MODES = ("auto", LOCAL, WARM, FULL)
"""What a user may ask for."""


@dataclass(frozen=True)
class Limits:
    """Up to which share of the graph what is enough.

    Parameters
    ----------
    local : float
        Nodes that are new, or at changed edges or attributes, are trained alone while, with all those that
        were since the last training of the whole, they are at most this share of the nodes.
    warm : float
        A warm start serves while at most this share of nodes, edges or attribute rows has changed since the
        last full run, added up over the runs in between.
    """

    local: float = 0.2
    warm: float = 0.3

    def __post_init__(self) -> None:
        check_positive("local", self.local)
        check_positive("warm", self.warm)


@dataclass(frozen=True)
class Changed:
    """What differs from the graph of the published run.

    Parameters
    ----------
    nodes_new, nodes_gone : int
        Nodes without published coordinates, and nodes of the published run that are not in the graph.
    edges, attributes : float
        About how many edges and attribute rows differ, one that was replaced counting twice; those of new
        nodes too.
    old_changed : bool
        Whether anything differs beside new nodes with their edges and attributes.
    share : float
        Largest share of nodes, edges or attribute rows that differ.
    local : int or None
        Nodes that are new, or at changed edges or attributes, and those that were since the last training of
        the whole; None if too much has changed to tell which they are.
    since_full : float
        `share`, added up since the last full run.
    """

    nodes_new: int
    nodes_gone: int
    edges: float
    attributes: float
    old_changed: bool
    share: float
    local: int | None
    since_full: float

    def recorded(self, kind: str) -> dict[str, Any]:
        """Return what a run of some kind remembers, as JSON data: a training starts its counts anew."""
        told = asdict(self)
        if kind in (WARM, FULL):
            told["local"] = 0
        if kind == FULL:
            told["since_full"] = 0.0
        return told


@dataclass(frozen=True)
class Decision:
    """What to do, and why: `kind` is "nothing", "local", "warm" or "full"; `reason` is one line."""

    kind: str
    reason: str


def what_changed(
    source: RunRecord, stored: StoredCoordinates, graph: Graph, now: Fingerprint, alpha: float
) -> tuple[Changed | None, Array | None]:
    """Return what differs from the graph that a run was computed from, and for how much of each node.

    Parameters
    ----------
    source : RunRecord
        The published run.
    stored : StoredCoordinates
        Its coordinates, for the rows of `graph`.
    graph : Graph
        As it is now.
    now : Fingerprint
        Of `graph`.
    alpha : float
        Share of a walk's steps that follow attributes.

    Returns
    -------
    changed : Changed or None
        None if the run does not tell what it was computed from.
    shares : float64 array of shape (N,), or None
        Share of each node's steps that lead elsewhere than they did; 1 for a new node. Nodes that were there
        are not changed by edges to new ones. None if too much has changed to tell.
    """
    if not source.fingerprint:
        return None, None
    before = Fingerprint.from_dict(source.fingerprint)
    whole = changes(before, now)
    among_old = fingerprint(graph, stored.found)
    old = changes(before, among_old)
    shares = _shares(touched(before, among_old, graph), stored, graph, alpha)
    earlier = source.changes.get("local", 0)
    new = int((~stored.found).sum())
    share = _share(whole, before, now)
    changed = Changed(
        nodes_new=new,
        nodes_gone=max(before.nodes.count - (graph.n_nodes - new), 0),
        edges=float(whole.edges),
        attributes=float(whole.attributes),
        old_changed=bool(old.nodes or old.edges or old.attributes),
        share=share,
        local=None if shares is None else int(np.count_nonzero(shares)) + int(earlier or 0),
        since_full=share + float(source.changes.get("since_full", 0.0)),
    )
    return changed, shares


def decide(  # noqa: PLR0911  # each return is one line of the table of decisions
    settings: Mapping[str, Any],
    source: RunRecord | None,
    stored: StoredCoordinates | None,
    changed: Changed | None,
    rejected: RunRecord | None,
    limits: Limits,
) -> Decision:
    """Return what to do.

    Parameters
    ----------
    settings : mapping
        What is asked for, from `settings_of`.
    source : RunRecord, optional
        The published run; None if there is none.
    stored : StoredCoordinates, optional
        Its coordinates.
    changed : Changed, optional
        What differs from its graph, if that is known.
    rejected : RunRecord, optional
        The latest run, if it was rejected.
    limits : Limits
        Up to which share what is enough.
    """
    if source is None or stored is None:
        return Decision(FULL, "nothing is published yet")
    if changed is None or not source.settings:
        return Decision(FULL, f"run {source.run_id} did not record what it was computed from")
    other = difference(source.settings, settings)
    if other is not None:
        return Decision(FULL, other)
    if not stored.found.any():
        return Decision(FULL, "no node of the graph has published coordinates")
    if changed.nodes_new == 0 and not changed.old_changed:
        return Decision(NOTHING, "the graph is as it was")
    if rejected is not None:
        return Decision(FULL, f"run {rejected.run_id} ({rejected.decision}) was rejected")
    n_nodes = len(stored.found)
    told = _told(changed)
    if changed.local is not None and changed.local <= max(limits.local * n_nodes, 1):
        return Decision(LOCAL, told)
    if changed.since_full <= limits.warm:
        return Decision(WARM, told)
    return Decision(
        FULL, f"{told}; since the last full run {changed.since_full:.0%} of the graph have changed"
    )


def _shares(found: Touched | None, stored: StoredCoordinates, graph: Graph, alpha: float) -> Array | None:
    if found is None:
        return None
    alpha = alpha if graph.n_attributes else 0.0
    by_edges = np.minimum(found.edges / np.maximum(graph.degrees, 1), 1.0)
    by_edges[(found.edges > 0) & (graph.degrees == 0)] = 1.0
    shares = np.where(graph.degrees == 0, 1.0, alpha) * found.attributes
    shares = np.minimum(shares + np.where(graph.degrees == 0, 1.0, 1.0 - alpha) * by_edges, 1.0)
    return np.where(stored.found, shares, 1.0)


def _share(change: Change, before: Fingerprint, now: Fingerprint) -> float:
    sizes = [
        (change.nodes, before.nodes, now.nodes),
        (change.edges, before.edges, now.edges),
        (change.attributes, before.attributes, now.attributes),
    ]
    return float(np.max([differ / max(was.count, is_now.count, 1) for differ, was, is_now in sizes]))


def _told(changed: Changed) -> str:
    parts = [
        (changed.nodes_new, "new node", ""),
        (changed.nodes_gone, "node", " gone"),
        (round(changed.edges), "edge", " changed"),
        (round(changed.attributes), "attribute row", " changed"),
    ]
    return ", ".join(f"{count:,} {noun}{'s' * (count != 1)}{then}" for count, noun, then in parts if count)
