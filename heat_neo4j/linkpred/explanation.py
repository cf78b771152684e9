"""Explain a link's probability: each feature's contribution to the log odds, and what both nodes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from heat_neo4j._utils.display import display_text
from heat_neo4j._utils.frames import html_table, make_frame
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.attributes.table import Attribute
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.embedding.near_lists import Words
from heat_neo4j.geometry.hyperboloid import pair_distances, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import relationships_of
from heat_neo4j.linkpred.differences import numbers_of
from heat_neo4j.linkpred.features import Feature
from heat_neo4j.linkpred.link_score import Contribution, LinkScorer
from heat_neo4j.linkpred.recommendation import Scorers, patterns_at, probability_among_rivals
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.splits import without_link
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MEANINGS: Mapping[str, str] = {
    "base": "an average pair of the pattern",
    "distance": "distance between the two",
    "neighbourhood_distance": "distance between their neighbourhoods",
    "source_out": "the source's outgoing relationships of the type",
    "source_in": "the source's incoming relationships of the type",
    "target_out": "the target's outgoing relationships of the type",
    "target_in": "the target's incoming relationships of the type",
    "target_in_if_isolated": "the target's incoming relationships of the type, if the source is isolated",
    "common_neighbours": "common neighbours",
    "paths_of_three": "paths of three relationships",
    "paths_by_degree": "paths of three relationships between well-connected nodes",
    "linked_alike": "nodes similar to one are linked to the other",
    "chain": "paths source -> node -> target of the type",
    "shared_target": "common targets of the type",
    "shared_source": "common sources of the type",
    "return_chain": "paths target -> node -> source of the type",
    "taste_8": "coarse groups of nodes that link alike (SVD)",
    "taste_24": "finer groups of nodes that link alike",
    "taste_64": "finest groups of nodes that link alike",
    "attributes": "similar attributes",
    "scaled_attributes": "similar attributes, rare ones weighted up",
    "targets_alike": "target similar to the source's own targets",
    "sources_alike": "source similar to the target's own sources",
    "target_like_sources": "target similar to the nodes that link to the source",
    "source_like_targets": "source similar to the nodes that the target links to",
    "ends_alike": "source plus its targets vs target plus its sources",
    "source_like_linked": "nodes similar to the source, if it has few links, link to the target",
    "target_like_linked": "the source links to nodes similar to the target, if it has few links",
    "targets_related": "target related to the source's own targets",
    "sources_related": "source related to the target's own sources",
    "implied_by_joins": "implied by their other relationships",
    "implied_by_paths": "implied by typed paths of two relationships",
    "target_named": "the source's texts name the target",
    "source_named": "the target's texts name the source",
    "source_isolated": "the source has no relationships",
    "target_isolated": "the target has no relationships",
    "source_age": "time since the source's latest relationship",
    "target_age": "time since the target's latest relationship",
    "apart": "distance between their points",
    "direction": "the direction: this way, not the other",
}
"""Meaning of each feature of a `LinkScore`, in plain English."""

FAMILIES: Mapping[str, Sequence[str]] = {
    "distance of the two and of their neighbourhoods": ("distance", "neighbourhood_distance"),
    "number of relationships of each": (
        "source_out", "source_in", "target_out", "target_in", "target_in_if_isolated", "source_isolated",
        "target_isolated",
    ),
    "time since the latest relationship of each": ("source_age", "target_age"),
    "common neighbours and short paths": (
        "common_neighbours", "paths_of_three", "paths_by_degree", "chain", "shared_target", "shared_source",
        "return_chain",
    ),
    "groups of nodes that link alike": ("taste_8", "taste_24", "taste_64"),
    "similar attributes, also of the nodes that each is linked to": (
        "attributes", "scaled_attributes", "targets_alike", "sources_alike", "target_like_sources",
        "source_like_targets", "ends_alike", "linked_alike", "source_like_linked", "target_like_linked",
    ),
    "other relationships of the two": (
        "targets_related", "sources_related", "implied_by_joins", "implied_by_paths",
    ),
    "whether a text of one names the other": ("target_named", "source_named"),
}  # fmt: skip
"""Correlated features, whose contributions may cancel; features of no family stand alone."""

_FAMILY_OF = {feature: family for family, features in FAMILIES.items() for feature in features}

_MOST = 10  # shared items listed; all are counted
_MOST_PRECEDENTS = 3  # for each end
_LONGEST = 40  # characters of a name in a line
_LEAST_COSINE = 0.005  # smaller ones would be printed as 0.00
_LEAST_ALIKE = 0.1  # cosine of nodes listed as similar


def meaning_of(feature: str) -> str:
    """Return a feature in plain English."""
    if feature in MEANINGS:
        return MEANINGS[feature]
    after, before = numbers_of(feature)
    return f"{after} of the target minus {'that' if after == before else before} of the source"


class _Scored(NamedTuple):
    """A pair's score by the graph without the link, if it exists."""

    scorer: LinkScorer
    log_odds: float
    probability: float

    @classmethod
    def of(
        cls,
        graph: Graph,
        pattern: Pattern | None,
        pair: tuple[int, int],
        scorers_of: Callable[[Graph], Scorers],
    ) -> _Scored:
        """Score a pair of rows."""
        graph = without_link(graph, pattern, pair)
        scorer, pairs = scorers_of(graph)(pattern), np.array([pair], dtype=np.int64)
        log_odds, rules = scorer.pairs(pairs), learn_schema_rules(graph, (pattern,))
        chance = probability_among_rivals(scorer, rules, graph, pattern, pairs, log_odds)
        return cls(scorer, float(log_odds[0]), float(chance[0]))

    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the probability; None if the pattern was not measured."""
        if (ends := self.scorer.interval(self.log_odds)) is None:
            return None
        likeliest = max(float(self.scorer.probability(self.log_odds)), np.finfo(np.float64).tiny)
        return ends[0] * self.probability / likeliest, ends[1] * self.probability / likeliest


class Tie(NamedTuple):
    """A relationship between two nodes, from the first to the second (`forward`) or back."""

    type: str
    forward: bool

    def __str__(self) -> str:
        return arrows_of([self])


def arrows_of(ties: Sequence[Tie]) -> str:
    """Return one arrow for each way that relationships lead; ``--`` in a graph without types.

    >>> arrows_of([Tie("KNOWS", True), Tie("KNOWS", False), Tie("RATED", True), Tie("SAW", True)])
    '<-KNOWS-> -RATED, SAW->'
    """
    ways: dict[str, list[str]] = {}
    for name in dict.fromkeys(tie.type for tie in ties if tie.type):
        start = "<-" if Tie(name, False) in ties else "-"
        ways.setdefault(f"{start}%s{'->' if Tie(name, True) in ties else '-'}", []).append(name)
    return " ".join(way % ", ".join(types) for way, types in ways.items()) or "--"


class Way(NamedTuple):
    """A path from the source to the target through other nodes."""

    nodes: tuple[int, ...]  # rows of the intermediate nodes, in order from the source
    steps: tuple[tuple[Tie, ...], ...]  # relationships of each step; one step more than `nodes`
    degrees: tuple[int, ...]  # number of neighbours of each node


class Precedent(NamedTuple):
    """An existing link of the pattern from a node like the source, or to a node like the target."""

    source: int
    target: int
    cosine: float | None  # of the two nodes' attributes; None if they have none to compare
    distance: float


class SharedAttribute(NamedTuple):
    """An attribute column with the same nonzero value for both nodes, or two alike vectors or texts."""

    name: str
    nodes: int  # number of nodes of the graph that have the attribute
    cosine: float | None = None  # of two vectors or texts, at least 0.005


@dataclass(frozen=True, eq=False)
class LinkExplanation:
    """Explanation of the probability of a link of a pattern between two nodes.

    Parameters
    ----------
    pattern : Pattern, optional
        Pattern of the link; None for an undirected graph.
    source, target : int
        Row of the node in the graph.
    probability : float, optional
        Calibrated probability of the link; None without a link score.
    interval : (float, float), optional
        95 % interval of the probability; None without a link score, or if the pattern was not measured.
    log_odds : float, optional
        Link score; None without one.
    contributions : tuple of Contribution
        Terms of the log odds: first that of an average pair, then the features', largest magnitude first.
    direction : float, optional
        Probability that a link between the two has this direction; None if the pattern allows only one.
    distance : float
        Hyperbolic distance between the two nodes.
    source_radius, target_radius : float
        Hyperbolic distance of the node from the centre.
    joined : tuple of Tie
        Existing relationships between the two nodes.
    shared : tuple of Way
        Common neighbours, those with fewest neighbours first; at most 10 of `n_shared`.
    paths : tuple of Way
        Paths of three relationships of the type, or else of any types, in any direction, rarest first; at
        most 10 of `n_paths`.
    attributes : tuple of SharedAttribute
        Attributes that both nodes share, rarest first; at most 10 of `n_attributes`.
    precedents : tuple of Precedent
        Existing links of the pattern from the nodes most like the source, and to those most like the target.
    names : sequence, optional
        Node names by row; rows are shown if not given.
    alternatives : tuple of (Pattern, probability)
        Other patterns that fit the two nodes, likeliest first; the probability is None without a link score.
    """

    pattern: Pattern | None
    source: int
    target: int
    probability: float | None
    interval: tuple[float, float] | None
    log_odds: float | None
    contributions: tuple[Contribution, ...]
    direction: float | None
    distance: float
    source_radius: float
    target_radius: float
    joined: tuple[Tie, ...]
    shared: tuple[Way, ...]
    n_shared: int
    paths: tuple[Way, ...]
    n_paths: int
    attributes: tuple[SharedAttribute, ...]
    n_attributes: int
    precedents: tuple[Precedent, ...] = ()
    names: Sequence[Any] = ()
    alternatives: tuple[tuple[Pattern, float | None], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON data, with node names."""
        return {
            "pattern": None if self.pattern is None else str(self.pattern),
            "alternatives": [
                {"pattern": str(pattern), "probability": chance} for pattern, chance in self.alternatives
            ],
            "source": {"name": self._name(self.source), "radius": self.source_radius},
            "target": {"name": self._name(self.target), "radius": self.target_radius},
            "distance": self.distance,
            "probability": self.probability,
            "interval": None if self.interval is None else list(self.interval),
            "log_odds": self.log_odds,
            "contributions": [
                {**part._asdict(), "meaning": meaning_of(part.feature)} for part in self.contributions
            ],
            "direction": self.direction,
            "joined": [str(tie) for tie in self.joined],
            "shared_neighbours": {"count": self.n_shared, "first": list(map(self._way, self.shared))},
            "paths_of_three": {"count": self.n_paths, "first": list(map(self._way, self.paths))},
            "shared_attributes": {
                "count": self.n_attributes,
                "first": [
                    {name: value for name, value in each._asdict().items() if value is not None}
                    for each in self.attributes
                ],
            },
            "precedents": [
                {**each._asdict(), "source": self._name(each.source), "target": self._name(each.target)}
                for each in self.precedents
            ],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the contributions as a data frame, one row per feature, largest magnitude first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.

        Returns
        -------
        data frame
            Columns "feature", "meaning" (plain English), "value" and "log_odds" (the feature's contribution).

        Raises
        ------
        ConfigError
            If the library, or every one of them, is missing.
        """
        return make_frame(self._columns(), backend)

    def families(self) -> list[tuple[str, float]]:
        """Return the log odds of an average pair, then of each family of features, largest magnitude first.

        They add up to `log_odds`, as `contributions` do.
        """
        sums: dict[str, float] = {}
        for part in self.contributions:
            family = _FAMILY_OF.get(part.feature) or meaning_of(part.feature)
            sums[family] = sums.get(family, 0.0) + part.log_odds
        every = list(sums.items())
        return [*every[:1], *sorted(every[1:], key=lambda each: -abs(each[1]))]

    def __repr__(self) -> str:
        tie = Tie("" if self.pattern is None else self.pattern.type, forward=True)
        ends = (display_text(self._name(row), _LONGEST) for row in (self.source, self.target))
        chance = "" if self.probability is None else f": probability {self.probability:.4g}"
        return f"LinkExplanation({display_text(f' {tie} '.join(ends))}{chance})"

    def _repr_html_(self) -> str:
        names, sums = [[each[place] for each in self.families()] for place in (0, 1)]
        return html_table(repr(self), {"family": names, "log_odds": sums})

    def _columns(self) -> dict[str, Any]:
        return {
            "feature": [part.feature for part in self.contributions],
            "meaning": [meaning_of(part.feature) for part in self.contributions],
            "value": [part.value for part in self.contributions],
            "log_odds": [part.log_odds for part in self.contributions],
        }

    def _name(self, row: int) -> Any:
        return self.names[row] if len(self.names) else row

    def _way(self, way: Way) -> dict[str, Any]:
        return {
            "nodes": [self._name(row) for row in way.nodes],
            "steps": [[str(tie) for tie in step] for step in way.steps],
            "degrees": list(way.degrees),
        }


@one_blas_thread()
def explain_likeliest(
    embedding: Array,
    graph: Graph,
    patterns: Sequence[Pattern | None],
    pair: tuple[int, int],
    scorers_of: Callable[[Graph], Scorers] | None = None,
    names: Sequence[Any] = (),
) -> LinkExplanation | None:
    """Explain the link of the likeliest pattern that the labels of two rows allow; None if they allow none.

    A link that exists is explained as if it did not. Without scorers, the pattern is that with the most
    relationships. The others are alternatives. `embedding` holds points on the hyperboloid, shape (N, d + 1),
    `names` the names of all rows.
    """
    fitting = patterns_at(graph, patterns_at(graph, patterns, pair[0]), pair[1], reverse=True)
    if not fitting:
        return None
    typed = [pattern for pattern in fitting if pattern is not None]  # none in an undirected graph
    scored: dict[Pattern | None, _Scored] = {}
    if scorers_of is None:
        typed.sort(key=lambda pattern: -len(relationships_of(graph, pattern)[0]))
    else:
        scorers_of = cache(scorers_of)  # patterns share the features of a graph
        scored = {pattern: _Scored.of(graph, pattern, pair, scorers_of) for pattern in fitting}
        typed.sort(key=lambda pattern: -scored[pattern].probability)
    first, *others = typed or (None,)
    found = _explained(embedding, graph, first, pair, scored.get(first), names)
    chances = [scored[pattern].probability if scored else None for pattern in others]
    return replace(found, alternatives=tuple(zip(others, chances, strict=True)))


def _explained(
    embedding: Array,
    graph: Graph,
    pattern: Pattern | None,
    pair: tuple[int, int],
    scored: _Scored | None,
    names: Sequence[Any],
) -> LinkExplanation:
    pairs = np.array([pair], dtype=np.int64)
    radii = radius(embedding[list(pair)])
    parts: tuple[Contribution, ...] = ()
    log_odds = probability = interval = direction = cosine = None
    if scored is not None:
        scorer, log_odds, probability = scored
        cosine = scorer.features.get("scaled_attributes")
        base, *others = scorer.contributions(pair)
        parts = (base, *sorted(others, key=lambda part: -abs(part.log_odds)))
        interval = scored.interval()
        ways = scorer.direction_log_odds(pairs)
        direction = None if ways is None else float(expit(ways)[0])
    ties, kind = _Ties(graph), None if pattern is None else pattern.type
    shared, (paths, n_paths) = _common(graph, pair), _paths(graph, kind, pair)
    if not n_paths and kind is not None:
        kind, (paths, n_paths) = None, _paths(graph, None, pair)
    attributes = sorted(_attributes(graph, pair), key=lambda each: each.nodes)
    return LinkExplanation(
        pattern=pattern,
        source=pair[0],
        target=pair[1],
        probability=probability,
        interval=interval,
        log_odds=log_odds,
        contributions=parts,
        direction=direction,
        distance=float(pair_distances(embedding, pairs)[0]),
        source_radius=float(radii[0]),
        target_radius=float(radii[1]),
        joined=ties.between(*pair),
        shared=tuple(ties.way(pair, nodes) for nodes in shared[:_MOST]),
        n_shared=len(shared),
        paths=tuple(ties.way(pair, nodes, kind) for nodes in paths),
        n_paths=n_paths,
        attributes=tuple(attributes[:_MOST]),
        n_attributes=len(attributes),
        precedents=tuple(_precedents(embedding, graph, pattern, pair, cosine)),
        names=names,
    )


class _Ties:
    """Looks up the relationships between any two nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, own = graph, graph.relationships
        self._ends = {} if own is None else {name: own.of(name) for name in own.types}

    def between(self, first: int, second: int, only: str | None = None) -> tuple[Tie, ...]:
        """Return the relationships between two nodes in both directions, of the type `only` if given."""
        if self._graph.relationships is None:
            return (Tie("", forward=True),) if self._graph.adjacency[first, second] != 0.0 else ()
        return tuple(
            Tie(name, forward)
            for name, ends in self._ends.items()
            if only in (None, name)
            for forward, pair in ((True, (first, second)), (False, (second, first)))
            if _has(*ends, *pair)
        )

    def way(self, pair: tuple[int, int], nodes: Sequence[int], only: str | None = None) -> Way:
        stops = (pair[0], *nodes, pair[1])
        steps = tuple(self.between(first, second, only) for first, second in pairwise(stops))
        return Way(tuple(nodes), steps, tuple(self._graph.degrees[list(nodes)].tolist()))


def _has(source: NDArray[np.int32], target: NDArray[np.int32], first: int, second: int) -> bool:
    """Return whether a pair is among relationships sorted by source."""
    low, high = np.searchsorted(source, np.array([first, first + 1], dtype=source.dtype))
    return bool((target[low:high] == second).any())


def _common(graph: Graph, pair: tuple[int, int]) -> list[tuple[int]]:
    """Return the common neighbours, sorted by ascending degree."""
    adjacency = graph.adjacency
    first, second = (adjacency.indices[slice(*adjacency.indptr[row : row + 2])] for row in pair)
    common = np.intersect1d(first, second)
    order = np.argsort(graph.degrees[common], kind="stable")
    return [(row,) for row in common[order].tolist()]


def _paths(graph: Graph, kind: str | None, pair: tuple[int, int]) -> tuple[list[tuple[int, int]], int]:
    """Return the inner nodes of rare paths of three relationships, and the number of all paths.

    The rarest come first, at most ten; no two share an inner node, as they would say nearly the same. `kind`
    is the type of all three relationships; None allows any.
    """
    either = graph.adjacency
    if kind is not None:
        assert graph.relationships is not None
        matrix = graph.relationships.matrix(kind, graph.n_nodes)
        either = sparse.csr_array(matrix + matrix.T)
    degrees = np.diff(either.indptr)
    near = [np.setdiff1d(either.indices[slice(*either.indptr[row : row + 2])], pair) for row in pair]
    between = sparse.coo_array(either[near[0]][:, near[1]])
    first, second = near[0][between.row], near[1][between.col]
    order = np.lexsort((second, first, degrees[first].astype(np.int64) * degrees[second]))
    chosen: list[tuple[int, int]] = []
    while len(order) and len(chosen) < _MOST:
        a, b = int(first[order[0]]), int(second[order[0]])
        chosen.append((a, b))
        used = np.isin(first[order], (a, b)) | np.isin(second[order], (a, b))
        order = order[~used]
    return chosen, len(first)


def _precedents(
    embedding: Array, graph: Graph, pattern: Pattern | None, pair: tuple[int, int], cosine: Feature | None
) -> Iterator[Precedent]:
    """Yield links to the target from nodes like the source, then from the source to nodes like the target."""
    links = np.column_stack(relationships_of(graph, pattern))
    for end, node in enumerate(pair):
        found = links[(links[:, 1 - end] == pair[1 - end]) & (links[:, end] != node)]
        pairs = np.column_stack((np.full(len(found), node), found[:, end]))
        distance = pair_distances(embedding, pairs)
        alike = np.zeros(len(pairs)) if cosine is None else cosine.pairs(pairs)
        by_place = not (alike >= _LEAST_ALIKE).any()
        order = np.argsort(distance if by_place else -alike, kind="stable")
        for row in order[:_MOST_PRECEDENTS].tolist():
            source, target = found[row].tolist()
            if by_place or alike[row] >= _LEAST_ALIKE:
                value = None if by_place else round(float(alike[row]), 4)
                yield Precedent(source, target, value, float(distance[row]))


def _attributes(graph: Graph, pair: tuple[int, int]) -> Iterator[SharedAttribute]:
    """Yield vectors and texts of both nodes that are alike, and columns with one nonzero value for both."""
    if graph.attributes is None or not graph.n_attributes:
        return
    for entry, place, _ in graph.attribute_blocks():
        if is_vector(entry):
            first, second = (_dense(graph.attributes[[row]][:, place])[0] for row in pair)
            cosine = float(np.sum(first * second))
        elif is_text(entry):
            u, v = np.array([pair]).T
            cosine = float(Words.of(graph.attributes[:, place]).cosines(u, v)[0])
        else:
            continue
        if cosine >= _LEAST_COSINE:
            rows = sparse.csr_array(graph.attributes[:, place])
            nodes = int((np.diff(rows.indptr) > 0).sum())
            yield SharedAttribute(Attribute.of(entry).name, nodes, round(cosine, 4))
    columns = _known_values(graph)
    first, second = columns[list(pair)].toarray()
    for column in np.flatnonzero((first != 0.0) & (first == second)).tolist():
        name = graph.attribute_names[column] if graph.attribute_names else f"column {column}"
        yield SharedAttribute(name, int(np.diff(columns.indptr[column : column + 2])[0]))


def _dense(block: Any) -> NDArray[Any]:
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray())


def _known_values(graph: Graph) -> sparse.csc_array:
    """Return the attributes without imputed means and without missing-value indicators, vectors and texts."""
    assert graph.attributes is not None
    columns = sparse.csc_array(graph.attributes)
    blocks = []
    for entry, place, knows in graph.attribute_blocks():
        block = columns[:, place]
        counts = np.ones(block.shape[1]) * (not (is_vector(entry) or is_text(entry)))
        if entry.get("missing"):
            counts[-1] = 0.0
        blocks.append(sparse.diags_array(knows.astype(np.float64)) @ block @ sparse.diags_array(counts))
    known = sparse.csc_array(sparse.hstack(blocks)) if blocks else columns
    known.eliminate_zeros()
    return known
