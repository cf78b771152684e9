"""Link queries on a published model: recommend links of a node, and explain a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j._utils.version import __version__
from heat_neo4j.database.keys import Key
from heat_neo4j.database.read.node_lookup import AmbiguousNodeError
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import ends_of, patterns_of
from heat_neo4j.linkpred.explanation import LinkExplanation, explain_likeliest
from heat_neo4j.linkpred.likeness import Likeness
from heat_neo4j.linkpred.link_score import LinkScore
from heat_neo4j.linkpred.recommendation import Recommended, likeliest_partners, patterns_at
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.rules.pattern_rules import Rule
from heat_neo4j.patterns import Pattern
from heat_neo4j.pipeline.published_model import (
    PublishedModel,
    node_names,
    read_published,
    score_of,
    scored_run,
    why_no_score,
)

_NO_SCORE = "no link score: `heat links` fits one; until then, links are ranked by distance"
_OTHER_VERSION = (
    "the link score was fitted by heat_neo4j {}, and this is {}, where its probabilities can be wrong: "
    "`heat embed` fits a new one"
)
_OTHER_ROLE = "no link of {} leads {} {}: it has {} ones, and no node has both"
_HAS_ALL = "{} has all the links allowed: {}"
_NONE_LEFT = "no link of {} to recommend for {}: it is linked to every possible node"
_FEW_NEIGHBOURS = ", except those with fewer than {}"
_JOINED = "the nodes are linked already: the score leaves that link out, but the coordinates show it"


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(Result):
    """The likeliest links of one node, by pattern.

    Parameters
    ----------
    published : PublishedModel
        The model, its run and its graph.
    names : sequence of str
        Names of all nodes of the graph.
    row : int
        Row of the node in the graph.
    reverse : bool
        Whether the node is the target.
    patterns : tuple of Recommended
        The links of each pattern: rows of the partners (`partner`), `distance` and `probability`.
    notes : tuple of str
        Differences from the published run, one line each.
    """

    published: PublishedModel
    names: Sequence[str]
    row: int
    reverse: bool
    patterns: tuple[Recommended, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        count = plural(sum(len(each.partner) for each in self.patterns), "link")
        return display_text(f"Recommendations({count} of {self.names[self.row]})")

    def _columns(self) -> dict[str, Any]:
        rows = [
            (str(each.pattern), self.names[row], each.chance(place), float(each.distance[place]))
            for each in self.patterns
            for place, row in enumerate(each.partner.tolist())
        ]
        names = ("pattern", "node", "probability", "distance")
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendations as JSON data."""
        return {
            **self.published.origin,
            "node": _node(self.published, self.names, self.row),
            "reverse": self.reverse,
            "patterns": [
                {
                    "pattern": str(each.pattern),
                    "candidates": each.n_candidates,
                    "links": [
                        {
                            "rank": place + 1,
                            **_node(self.published, self.names, row),
                            "probability": each.chance(place),
                            "distance": float(each.distance[place]),
                        }
                        for place, row in enumerate(each.partner.tolist())
                    ],
                }
                for each in self.patterns
            ],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Explanation of a link's probability.

    Parameters
    ----------
    published : PublishedModel
        The model, its run and its graph.
    link : LinkExplanation
        The explanation.
    notes : tuple of str
        Differences from the published run, one line each.
    """

    published: PublishedModel
    link: LinkExplanation
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return repr(self.link)

    def _repr_html_(self) -> str:
        return self.link._repr_html_()

    def _columns(self) -> dict[str, Any]:
        return self.link._columns()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        found = self.link.to_dict()
        for end, row in (("source", self.link.source), ("target", self.link.target)):
            found[end] = _node(self.published, self.link.names, row) | found[end]
        return {**self.published.origin, **found, "notes": list(self.notes)}


def recommend(
    store: Neo4jStore,
    node: str,
    k: int = 10,
    *,
    patterns: Sequence[str | Sequence[str]] = (),
    reverse: bool = False,
    rules: bool = True,
    min_degree: int = 0,
    caption: Key | None = None,
    model: str = "heat",
    labels: Sequence[str] | None = None,
    on_progress: Progress | bool = False,
) -> Recommendations:
    """Return the likeliest missing links of one node by the published score.

    All pairs that a pattern allows are scored, not only the links that were written.

    Parameters
    ----------
    node : str
        Value of the node's key, or its element id.
    k : int, at least 1, default 10
        How many of each pattern.
    patterns : sequence of str or of (source label, type, target label), default: all that the labels allow
        Links of this pattern, such as 'User-RATED->Movie'; * is any name.
    reverse : bool
        List who would link to the node.
    rules : bool, default True
        Leave out links that your relationships rule out, such as a second director of a film. If the node
        itself has all the links of a pattern, a note says so; name the pattern to list others all the same.
    min_degree : int, at least 0, default 0
        Minimum number of neighbours of the nodes listed.
    caption : str, or mapping of str to str, default: the projection's key
        Node property that names nodes, or those with a label.
    model : str
        Name of the published model.
    labels : sequence of str, default: those of the run
        Label that the node has; needed if nodes of several labels have the key, unless the pattern decides.
    on_progress : callable or bool
        Called with the stages of reading.

    Returns
    -------
    Recommendations
        Without a link score, the nearest nodes and a note.

    Raises
    ------
    ValueError
        If `k` is below 1 or `min_degree` below 0.
    ProjectionError
        If the model is not published; the node is missing, ambiguous or without coordinates; or no requested
        pattern is in the graph and allowed by the node's labels; or no node can be named by `caption`.
    """
    published, score, notes = _read(store, model, as_progress(on_progress))
    chosen = _patterns(published.graph, patterns)
    suits = _ends(published.graph, chosen)[1 if reverse else 0] if patterns else None
    row = _row_of(store, published, node, labels, suits)
    allowed = patterns_at(published.graph, chosen, row, reverse=reverse)
    if not allowed:
        raise _no_pattern(published.graph, node, row, chosen, patterns, reverse=reverse)
    learned = learn_schema_rules(published.graph, allowed) if rules else None
    own_end = Rule.PER_TARGET if reverse else Rule.PER_SOURCE
    full = [] if learned is None else learned.full_at(published.graph, row, own_end)
    found = likeliest_partners(
        published.embedding,
        published.graph,
        allowed if patterns else tuple(each for each in allowed if each not in full) or allowed,
        row,
        k,
        reverse=reverse,
        scorers=None if score is None else score.scorers(published.embedding, published.graph),
        rules=learned,
        min_degree=min_degree,
    )
    names = node_names(store, published, caption, with_keys=True)
    for each in found:
        if not each.has_role and each.pattern is not None:
            way, has = ("to", "outgoing") if reverse else ("from", "incoming")
            named = map(display_text, (str(each.pattern), way, names[row], has))
            notes = (*notes, _OTHER_ROLE.format(*named))
        elif not each.n_candidates and not each.left_out:
            few = _FEW_NEIGHBOURS.format(plural(min_degree, "neighbour")) if min_degree else ""
            named = map(display_text, (str(each.pattern), names[row]))
            notes = (*notes, _NONE_LEFT.format(*named) + few)
    if learned is not None:
        about = [learned.sentence(each, own_end) for each in full]
        notes = (*notes, *(_HAS_ALL.format(display_text(names[row]), rule) for rule in about))
        for each in found:
            label = each.pattern and (each.pattern.source if reverse else each.pattern.target)
            for rule, count in each.left_out.items():
                nodes = plural(count, f"{display_text(label)} node" if label else "node")
                notes = (*notes, f"{nodes} left out: {learned.sentence(each.pattern, rule)}")
    return Recommendations(published, names, row, reverse, tuple(found), notes)


def explain(
    store: Neo4jStore,
    source: str,
    target: str,
    *,
    pattern: str | Sequence[str] | None = None,
    caption: Key | None = None,
    model: str = "heat",
    labels: Sequence[str] | None = None,
    target_labels: Sequence[str] | None = None,
    on_progress: Progress | bool = False,
) -> Explanation:
    """Explain a link by the published score: each feature's contribution, and what the two nodes share.

    Parameters
    ----------
    source, target : str
        Value of the node's key, or its element id. If the link exists, it is explained as if it did not.
    pattern : str or (source label, type, target label), default: the likeliest that the labels allow
        Pattern of the link, such as 'User-RATED->Movie'; * is any name.
    caption : str, or mapping of str to str, default: the projection's key
        Node property that names nodes, or those with a label.
    model : str
        Name of the published model.
    labels : sequence of str, default: those of the run
        Label that the nodes have; needed if nodes of several labels have the key, unless the pattern decides.
    target_labels : sequence of str, optional
        Label of the target, if it differs from that of the source.
    on_progress : callable or bool
        Called with the stages of reading.

    Returns
    -------
    Explanation
        Without a link score, of the commonest pattern that the labels allow. `link.alternatives` has the
        other ones.

    Raises
    ------
    ProjectionError
        If the model is not published; a node is missing, ambiguous or without coordinates; both nodes are the
        same; the pattern is not in the graph; the nodes' labels allow none; or no node can be named by
        `caption`.
    """
    published, score, notes = _read(store, model, as_progress(on_progress))
    graph = published.graph
    specs = () if pattern is None else (pattern,)
    chosen = _patterns(graph, specs)
    is_source, is_target = _ends(graph, chosen) if specs else (None, None)
    pair = (
        _row_of(store, published, source, labels, is_source),
        _row_of(store, published, target, labels if target_labels is None else target_labels, is_target),
    )
    if pair[0] == pair[1]:
        raise ProjectionError(f"{source!r} and {target!r} are the same node: a link joins two")
    scorers_of = (
        None if score is None else partial(score.scorers, published.embedding, likeness=Likeness(graph))
    )
    names = node_names(store, published, caption, with_keys=True)
    link = explain_likeliest(published.embedding, graph, chosen, pair, scorers_of, names)
    if link is None:
        raise _no_pattern(graph, source, pair[0], chosen, specs, to=(target, pair[1]))
    if link.joined and score is not None:
        notes = (*notes, _JOINED)
    return Explanation(published, link, notes)


def _read(
    store: Neo4jStore, model: str, on_progress: Progress
) -> tuple[PublishedModel, LinkScore | None, tuple[str, ...]]:
    """Return the model, its link score, and the differences from its run; without a score, also why."""
    published = read_published(store, model, on_progress=on_progress)
    run, notes = scored_run(store, published), published.notes
    if run is None:
        return published, None, (*notes, why_no_score(store, published) or _NO_SCORE)
    fitted_by = run.versions.get("heat_neo4j", __version__)
    if fitted_by != __version__:
        notes = (*notes, _OTHER_VERSION.format(display_text(fitted_by), __version__))
    return published, score_of(run), notes


def _row_of(
    store: Neo4jStore,
    published: PublishedModel,
    node: str,
    labels: Sequence[str] | None,
    suits: NDArray[np.bool_] | None,
) -> int:
    """Return the row of a node; `suits`, shape (N,), decides between several of the same key."""
    try:
        element_id = store.find_node(node, model=published.run.model, labels=labels)
    except AmbiguousNodeError as error:
        ids = published.graph.node_ids
        suited: list[int] = [] if suits is None else np.flatnonzero(suits).tolist()
        rows = [row for row in suited if ids[row] in error.element_ids]
        if len(rows) != 1:
            raise
        return rows[0]
    try:
        return published.graph.node_ids.index(element_id)
    except ValueError:
        raise ProjectionError(
            f"node {node!r} has no coordinates of model {published.run.model!r}: it is newer than the run, "
            "not in its projection, or missing; `heat refresh` places new nodes"
        ) from None


def _patterns(graph: Graph, specs: Sequence[str | Sequence[str]]) -> tuple[Pattern, ...]:
    with errors_as(ProjectionError):
        return patterns_of(graph, specs)


def _ends(graph: Graph, patterns: Sequence[Pattern]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the possible sources and targets of any of the patterns, each of shape (N,)."""
    ends = [ends_of(graph, pattern) for pattern in patterns]
    is_source, is_target = (np.any(end, axis=0) for end in zip(*ends, strict=True))
    return is_source, is_target


def _no_pattern(
    graph: Graph,
    node: str,
    row: int,
    chosen: Sequence[Pattern],
    specs: Sequence[Any],
    *,
    reverse: bool = False,
    to: tuple[str, int] | None = None,
) -> ProjectionError:
    """Return the error for nodes whose labels allow none of the patterns."""
    which = " or ".join(map(str, chosen)) if specs else "any pattern of the model"
    if to is not None:
        ends = f"{node!r} ({_labels(graph, row)}) to {to[0]!r} ({_labels(graph, to[1])})"
        back = patterns_at(graph, patterns_at(graph, chosen, to[1]), row, reverse=True)
        known = patterns_of(graph)
        fits = patterns_at(graph, patterns_at(graph, known, row), to[1], reverse=True)
        listed = f"{'these allow it' if fits else 'the model has'}: {', '.join(map(str, fits or known))}"
        advice = "give the nodes the other way round?" if back else listed
        return ProjectionError(f"no link of {which} leads from {ends}: {advice}")
    role, advice = ("target", "without `reverse`") if reverse else ("source", "with `reverse`")
    return ProjectionError(
        f"{node!r} ({_labels(graph, row)}) is not a {role} in {which}: ask {advice} for the reverse"
    )


def _labels(graph: Graph, row: int) -> str:
    return ", ".join(graph.labels_at(row)) or "without a label"


def _node(published: PublishedModel, names: Sequence[str], row: int) -> dict[str, Any]:
    graph = published.graph
    return {
        "element_id": graph.node_ids[row],
        "labels": graph.labels_at(row),
        "name": names[row],
    }
