"""Planning: compare the graph with the published version, and derive the `Plan` of a job."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import plural
from heat_neo4j.database.documents import storable_integer
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.embedding.attribute_signal import teleports
from heat_neo4j.embedding.fitting import RUNTIME_PARAMETERS
from heat_neo4j.embedding.warm_start import short_schedule
from heat_neo4j.errors import ProjectionError, QualityRejected
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.fingerprint import Fingerprint, NodeChanges, changes, fingerprint, node_changes
from heat_neo4j.pipeline.job import Job, LinkOptions, difference

AUTO, NOTHING, LOCAL, WARM, FULL, LINKS = "auto", "nothing", "local", "warm", "full", "links"
EMBED = "embed"
MODES = (AUTO, LOCAL, WARM, FULL)
"""Modes of a refresh that a user can request."""
_FARTHEST = 1e150  # maximum time coordinate; the square of a larger one overflows
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """The plan of a job.

    Its mode is "full" (train all nodes from scratch), "warm" (train all nodes from the published
    coordinates), "local" (train new and changed nodes only), "links" (predict links from the published
    coordinates) or "nothing".
    """

    mode: str
    reason: str  # reason for the mode, in one line
    stages: Mapping[str, str] = field(default_factory=dict)  # description of each stage, in order

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON data."""
        stages = [{"stage": name, "does": line} for name, line in self.stages.items()]
        return {"mode": self.mode, "reason": self.reason, "stages": stages}


@dataclass(frozen=True)
class GraphDiff:
    """Differences from the graph of the published run.

    `edges` includes those of new and removed nodes, `attributes` counts rows of nodes in both graphs. `local`
    counts the nodes that are new or have changed edges or attributes, now or since the last training of all
    nodes. If there are too many changes to identify them, `local` is None, and the others are estimates that
    count a replaced item twice.
    """

    nodes_new: int  # without published coordinates
    nodes_gone: int  # nodes of the published run that are no longer in the graph
    edges: float
    attributes: float
    old_changed: bool  # whether anything differs besides new nodes and their edges and attributes
    share: float  # largest share of nodes, edges or attribute rows that differ
    local: int | None
    since_full: float  # sum of `share` since the last full run

    def recorded(self, mode: str) -> dict[str, Any]:
        """Return the JSON data that a run of the given mode records; a training resets its counts."""
        counts = asdict(self)
        if mode in (WARM, FULL):
            counts["local"] = 0
        if mode == FULL:
            counts["since_full"] = 0.0
        return counts

    def __str__(self) -> str:
        parts = (
            (self.nodes_new, "new node", ""),
            (self.nodes_gone, "node", " gone"),
            (round(self.edges), "edge", " changed"),
            (round(self.attributes), "attribute row", " changed"),
        )
        return ", ".join(f"{plural(number, noun)}{change}" for number, noun, change in parts if number)


UNCHANGED = GraphDiff(0, 0, 0.0, 0.0, old_changed=False, share=0.0, local=0, since_full=0.0)


@dataclass(frozen=True)
class GraphState:
    """The current graph and the published version."""

    graph: Graph
    settings: Mapping[str, Any]  # settings of the job
    alpha: float | Literal["auto"] = 0.0  # share of a walk's steps that follow attributes
    run: RunRecord | None = None  # the published run, if the job depends on it
    stored: StoredCoordinates | None = None  # its coordinates for the rows of `graph`
    rejected: RunRecord | None = None  # the latest run, if the gate rejected it
    links: Mapping[str, Any] | None = None  # options of the published links
    is_unchanged: bool = False  # the graph is the published run's, and each node has its coordinates

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of the graph."""
        return fingerprint(self.graph)

    @cached_property
    def _comparison(self) -> tuple[GraphDiff | None, Array | None]:
        """Differences from the graph of the published run, and the share of each node's steps that changed.

        The share of a new node is 1; edges to new nodes do not count as changes of old nodes. The diff is
        None if the run did not record its graph, the shares are None if there are too many changes to locate.
        """
        graph, run, stored = self.graph, self.run, self.stored
        if run is None or not run.fingerprint:
            return None, None
        if self.is_unchanged:
            return UNCHANGED, None
        if stored is None:
            return None, None
        now = self.fingerprint
        with run.reading("fingerprint", "changes"):
            before = Fingerprint.from_dict(run.fingerprint)
            earlier = int(run.changes.get("local") or 0)
            since_full = float(run.changes.get("since_full", 0.0))
        whole = changes(before, now)
        among_old = fingerprint(graph, stored.found)
        old = changes(before, among_old)
        at_nodes = node_changes(before, among_old, graph)
        shares = _changed_shares(at_nodes, stored, graph, self.alpha)
        edges, attributes = whole.edges, old.attributes
        if at_nodes is not None:
            edges = float(at_nodes.n_edges + now.edges.count - among_old.edges.count)
            attributes = float(np.count_nonzero(at_nodes.attributes))
        new = int((~stored.found).sum())
        share = max(
            whole.nodes / max(before.nodes.count, now.nodes.count, 1),
            whole.edges / max(before.edges.count, now.edges.count, 1),
            whole.attributes / max(before.attributes.count, now.attributes.count, 1),
        )
        diff = GraphDiff(
            nodes_new=new,
            nodes_gone=max(before.nodes.count - (graph.n_nodes - new), 0),
            edges=edges,
            attributes=attributes,
            old_changed=bool(old.nodes or old.edges or old.attributes),
            share=share,
            local=None if shares is None else int(np.count_nonzero(shares)) + earlier,
            since_full=share + since_full,
        )
        return diff, shares

    @property
    def diff(self) -> GraphDiff | None:
        """Differences from the graph of the published run; None if it did not record its graph."""
        return self._comparison[0]

    @property
    def shares(self) -> Array | None:
        """Share of each node's steps that changed, shape (N,); None if changes cannot be located."""
        return self._comparison[1]

    @property
    def same_settings(self) -> bool:
        """Whether the published run had the same settings, except those of links."""
        return self.run is not None and self.other_setting is None

    @property
    def is_recorded(self) -> bool:
        """Whether the published run is of this graph and these settings, except those of links."""
        return (
            self.run is not None and self.same_settings and self.run.fingerprint == self.fingerprint.to_dict()
        )

    @property
    def other_setting(self) -> str | None:
        """The first setting that differs from the published run's, as text; ignores link settings."""
        assert self.run is not None
        return difference({**self.run.settings, "links": None}, {**self.settings, "links": None})

    @property
    def other_links(self) -> str | None:
        """The difference from the options of the published links, as text; None if there is none."""
        now = self.settings["links"]
        if now is None:
            return None
        if self.links is None:
            return "no links are published"
        return difference({"links": {name: self.links.get(name) for name in now}}, {"links": now})

    def was_rejected(self, job: Job) -> bool:
        """Return whether the same gate rejected a full run of this graph, these settings and this seed."""
        run = self.rejected
        return (
            run is not None
            and run.decision == FULL
            and run.settings == self.settings
            and run.quality.get("gate") == asdict(job.gate)
            and run.parameters.get("random_state") == storable_integer(job.model.random_state)
            and run.fingerprint == self.fingerprint.to_dict()
        )

    def same_training(self, model: HEAT) -> bool:
        """Return whether a model was trained as the published run was: how far nodes moved is comparable.

        Settings, requested seed and chosen parameters must be equal, and neither training may have ended at
        a time limit.
        """
        run = self.run
        if run is None or not self.same_settings:
            return False
        parameters = {**model.get_params(), "random_state": storable_integer(model.random_state)}
        ours = json.loads(json.dumps(parameters, default=np.generic.item))
        is_same = all(
            run.parameters.get(name) == value
            for name, value in ours.items()
            if name not in (*RUNTIME_PARAMETERS, "time_limit")
        )
        shares = (each.get("trained_share", 1.0) for each in (run.training, model.training_))
        return is_same and all(share == 1.0 for share in shares)

    @property
    def published_rows(self) -> NDArray[np.bool_]:
        """Mask of the rows with published coordinates."""
        assert self.stored is not None
        return self.stored.found

    def comparable(self, points: Array) -> Array | None:
        """Return the published points; None if `points` cannot be compared with them.

        They cannot if the dimension differs, or a published point is not on the hyperboloid or so far out
        that distances overflow.
        """
        if self.stored is None or not self.published_rows.any():
            return None
        try:
            published = self.stored.points()
            check_points(published)
        except ValueError:
            return None
        near = published[:, -1].max() < _FARTHEST
        return published if near and published.shape == points.shape else None


def make_plan(job: Job, mode: str, state: GraphState) -> Plan:
    """Make the plan of a job from the request, the published version and the changes.

    `mode` is "embed" (everything from scratch), "links" (links only), or one of `MODES` for a refresh. Raises
    ProjectionError if the graph or the published version does not allow the mode. Raises `QualityRejected`
    for "auto" if the same limits rejected a full run of the same graph.
    """
    refresh = mode in MODES
    chosen, reason = _refresh_mode(job, mode, state) if refresh else (mode, "asked for")
    chosen = FULL if chosen == EMBED else chosen
    return Plan(chosen, reason, dict(_stages(job, chosen, state, refresh=refresh)))


def plan_in_full(job: Job, plan: Plan, state: GraphState, fault: str) -> Plan:
    """Return the plan of a full refresh, if a plan cannot continue from the published points."""
    reason = f"the published points cannot start a {plan.mode} refresh: {fault}"
    return Plan(FULL, reason, dict(_stages(job, FULL, state, refresh=True)))


def _refresh_mode(job: Job, mode: str, state: GraphState) -> tuple[str, str]:
    """Return the mode of a refresh and its reason: the changes, or the user's request."""
    chosen, reason = _mode_by_changes(job, state)
    if mode == AUTO and chosen == FULL and state.rejected is not None and state.was_rejected(job):
        raise QualityRejected(
            f"run {state.rejected.run_id} of this graph was rejected ({state.rejected.error}), and the "
            "graph has not changed since: nothing was computed; see what was loaded, then loosen that limit "
            "under [refresh] in heat.toml, or publish without a gate with `heat embed`"
        )
    if mode in (AUTO, chosen):
        return chosen, reason
    if mode == FULL:
        return FULL, "asked for"
    if not state.same_settings or state.stored is None or not state.published_rows.any():
        raise ProjectionError(f"--mode {mode} needs a published version of the same settings: {reason}")
    if mode == LOCAL:
        if job.model.hierarchy is not None:
            raise ProjectionError("--mode local: a hierarchy is trained as a whole: leave out the mode")
        if state.shares is None:
            raise ProjectionError(f"--mode local: too much has changed to tell where: {reason}")
        if not state.shares.any():
            return NOTHING, "no node is new or changed"
    return mode, "asked for"


def _mode_by_changes(  # noqa: PLR0911  # each return is one line of the table in docs/how-to/deploy.md
    job: Job, state: GraphState
) -> tuple[str, str]:
    run, stored, diff, limits = state.run, state.stored, state.diff, job.limits
    if run is None or (stored is None and not state.is_unchanged):
        return FULL, "nothing is published yet"
    if diff is None or not run.settings:
        return FULL, f"run {run.run_id} did not record what it was computed from"
    if state.other_setting is not None:
        return FULL, state.other_setting
    if stored is not None and not stored.found.any():
        return FULL, "no node of the graph has published coordinates"
    if diff.nodes_new == 0 and not diff.old_changed:
        other_links = state.other_links
        return (NOTHING, "the graph is unchanged") if other_links is None else (LINKS, other_links)
    if state.rejected is not None:
        return FULL, f"run {state.rejected.run_id} ({state.rejected.decision}) was rejected"
    is_small = diff.local is not None and diff.local <= max(limits.local * state.graph.n_nodes, 1)
    if is_small and job.model.hierarchy is None:  # a new node must lie beyond its parents
        return LOCAL, str(diff)
    if diff.since_full <= limits.warm:
        return WARM, str(diff)
    return FULL, f"{diff}; since the last full run {diff.since_full:.0%} of the graph has changed"


def _stages(job: Job, mode: str, state: GraphState, *, refresh: bool) -> Iterator[tuple[str, str]]:
    """Yield the stages of a plan with descriptions."""
    graph, run, links = state.graph, state.run, job.links
    sizes = (graph.n_nodes, "node"), (graph.n_edges, "edge"), (graph.n_attributes, "attribute column")
    yield "read", ", ".join(plural(*size) for size in sizes)
    if refresh:
        yield "compare", "nothing to compare with" if run is None else f"with the graph of run {run.run_id}"
    if mode == NOTHING:
        return
    if mode == LINKS:
        assert run is not None
        yield "coordinates", f"read back those of run {run.run_id}"
    else:
        yield "train", _training(job, mode, state)
    if links is not None:
        parameters = {} if run is None or mode == FULL else run.parameters
        yield "calibrate", _calibration(links, parameters)
    if refresh and mode == FULL and run is not None:
        yield "align", "move all nodes by the isometry that best aligns them with the published points"
    if refresh and mode != LINKS:
        yield "judge", _judgement(mode, state)
    if links is not None:
        yield "links", _search(links)
    what = "links" if mode == LINKS else "coordinates" if links is None else "coordinates and links"
    yield "publish", f"{what} of model {job.names.model!r}"


def _training(job: Job, mode: str, state: GraphState) -> str:
    if mode == LOCAL:
        assert state.shares is not None
        nodes = int(np.count_nonzero(state.shares))
        return f"{plural(nodes, 'new or changed node')}; all others stay as they are"
    if mode == WARM:
        walks = short_schedule(job.model)["walks_per_node"]
        return f"all nodes, from the published coordinates: {plural(walks, 'walk')} per node"
    walks = job.model.get_params()["walks_per_node"]
    return f"all nodes, from scratch: {plural(walks, 'walk')} per node"


def _calibration(links: LinkOptions, parameters: Mapping[str, Any]) -> str:
    what = "score and probabilities"
    if links.needs_training(parameters):
        return f"train again without a tenth of the edges, for the links' {what}"
    return f"keep the published {what}" if links.has_probability else "none: links get no probability"


def _judgement(mode: str, state: GraphState) -> str:
    edges = "of new nodes" if mode == LOCAL else "held out"
    if state.run is None:
        return f"AUROC of edges {edges} against that of degrees"
    return f"AUROC of edges {edges} against the last run's and that of degrees; how far nodes moved"


def _search(links: LinkOptions) -> str:
    most = [] if links.k is None else [f"{links.k:,} per node"]
    most += [] if links.max_links is None else [f"at most {links.max_links:,}"]
    patterns = ", ".join(links.patterns) or "each pattern of the graph"
    least = links.least_probability
    likely = f", of probability {least:g} or more" if least else ""
    rules = "" if links.rules else ", without schema rules"
    score = "link score" if links.has_probability else "distance"
    return f"predict {' and '.join(most)} of {patterns}, by {score}{likely}{rules}"


def _changed_shares(
    at_nodes: NodeChanges | None, stored: StoredCoordinates, graph: Graph, alpha: float | Literal["auto"]
) -> Array | None:
    """Return the share of each node's steps that the changes affect."""
    if at_nodes is None:
        return None
    is_changed = at_nodes.edges.any() or at_nodes.attributes.any()
    alpha = teleports(graph, alpha).alpha if is_changed and graph.n_attributes else 0.0
    by_edges = np.minimum(at_nodes.edges / np.maximum(graph.degrees, 1), 1.0)
    by_edges[(at_nodes.edges > 0) & (graph.degrees == 0)] = 1.0
    shares = np.where(graph.degrees == 0, 1.0, alpha) * at_nodes.attributes
    shares = np.minimum(shares + np.where(graph.degrees == 0, 1.0, 1.0 - alpha) * by_edges, 1.0)
    return np.where(stored.found, shares, 1.0)
