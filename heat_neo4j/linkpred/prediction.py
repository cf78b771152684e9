"""Predict missing links: the likeliest pairs of each pattern that no relationship of its type joins.

The search by distance is exact and takes O(N k) memory. The search by score considers the targets on each
source's short lists, see `shortlists`. Results are bitwise the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._kernels.lists import best_of_rows
from heat_neo4j._utils.display import display_text, plural
from heat_neo4j._utils.frames import column_of, html_table, make_frame
from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.threads import WorkerThreads, one_blas_thread, resolve_threads
from heat_neo4j._utils.validation import check_integer, check_probability
from heat_neo4j.embedding.fitting import Estimator
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import nearest_pairs
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.best_scored import best_of_shortlists
from heat_neo4j.linkpred.candidates import (
    CandidatePairs,
    candidate_pairs,
    counted_patterns,
    sent_and_received,
)
from heat_neo4j.linkpred.implications import repetitions
from heat_neo4j.linkpred.likeness import Likeness
from heat_neo4j.linkpred.link_score import LinkScore, LinkScorer
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.rules.pattern_rules import PatternRules, Rule
from heat_neo4j.linkpred.rules.schema_rules import SchemaRules
from heat_neo4j.linkpred.samples import name_of
from heat_neo4j.linkpred.scorers import DirectedScorer
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.patterns import Pattern, link_limits

_UNDIRECTED = "{:,} of {:,} predicted links have no direction: both ends are alike, and no score was fitted"
_NO_PROBABILITY = "no link is predicted: none has a probability, and `min_probability` is {:g}"
_AS_HELD_OUT = "probabilities are of links that are missing now, assumed to be a tenth, not of links to come"
_PERIOD = "a probability is the chance of a link in a period like the last, which began {}"
_WITHOUT_TIMES = "{} without times: probabilities are of links that are missing now, assumed to be a tenth"
_UNLIKELY = "links with a probability below `min_probability`, {:g}, are left out"
_NONE_LIKELY = "; none remain for {}"
_AS_IF_NEW = (
    "{:,} of {:,} links join a node without relationships, as if all such nodes were new; "
    "set `min_degree` to 1 if they are not"
)
_MOSTLY_ISOLATED = "most {} have no relationships ({:,} of {:,}), so links of these get low probabilities"
_MANY_AS_IF_NEW = 0.1  # share of the links that is worth a note
_SHOWN = 10  # rows in a notebook

MIN_PROBABILITY = 0.05
"""Minimum probability of links ranked by a score; measured by `python -m tests.benchmarks.written`."""

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PredictedLinks:
    """Predicted links from source to target, likeliest first.

    Links of several types may join the same pair. The length of the object is the number of pairs, which is
    also the number of rows of `to_frame`.

    Parameters
    ----------
    source, target : int64 arrays of shape (L,)
        Rows of the nodes in the graph. A type links each pair of nodes at most once, in one direction. In an
        undirected graph source < target.
    distance : float64 array of shape (L,)
        Hyperbolic distance; ascending if the links are ranked by distance.
    probability : float64 array of shape (L,), optional
        Probability, descending; None if the links are ranked by distance.
    patterns : tuple of Pattern
        Predicted patterns; empty for an undirected graph.
    pattern : int64 array of shape (L,), optional
        Index of each link's pattern in `patterns`; None for an undirected graph.
    names : sequence, optional
        Node names of the graph, by row.
    search : mapping, optional
        Parameters of `predict_links`: "k", "max_links", "patterns", "min_degree", "max_degree",
        "min_probability" and "rules".
    score : LinkScore, optional
        Score that ranked the links; None if they are ranked by distance.
    notes : tuple of str
        Notes on limits of the prediction, one line each, for example patterns that are too rare.
    directed : bool array of shape (L,), optional
        Mask of the links with a known direction. A fitted score directs every link. Without a score the
        direction follows from the labels; from node roles, if sources and targets are disjoint sets; or from
        the out/in ratios of both ends for the type. Links with equal ends have no direction and lead from
        the lower row to the higher. None for an undirected graph.

    Examples
    --------
    >>> import networkx as nx
    >>> from heat_neo4j import HEAT
    >>> links = HEAT(random_state=0).fit(nx.karate_club_graph()).predict_links(k=3, score="distance")
    >>> len(links) == len(links.to_frame("pandas"))
    True
    >>> list(links.to_frame("pandas"))
    ['source', 'target', 'distance', 'rank']
    """

    source: Rows
    target: Rows
    distance: Array
    probability: Array | None = None
    patterns: tuple[Pattern, ...] = ()
    pattern: Rows | None = None
    names: Sequence[Any] = ()
    search: Mapping[str, Any] = field(default_factory=dict)
    score: LinkScore | None = None
    notes: tuple[str, ...] = ()
    directed: NDArray[np.bool_] | None = None

    @property
    def rank(self) -> Rows:
        """Rank of each link, from 1; shape (L,)."""
        return np.arange(1, len(self.source) + 1, dtype=np.int64)

    @property
    def pattern_rank(self) -> Rows:
        """Rank of each link within its pattern, from 1; shape (L,)."""
        if self.pattern is None:
            return self.rank
        ranks = np.empty(len(self.source), dtype=np.int64)
        for place in range(len(self.patterns)):
            own = np.flatnonzero(self.pattern == place)
            ranks[own] = np.arange(1, len(own) + 1)
        return ranks

    @property
    def types(self) -> list[str]:
        """Type of each link; empty strings for an undirected graph."""
        if self.pattern is None:
            return [""] * len(self.source)
        names = [pattern.type for pattern in self.patterns]
        return [names[place] for place in self.pattern.tolist()]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the pairs as a data frame, one row per pair, likeliest first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.

        Returns
        -------
        data frame
            Columns "source" and "target" (node names), "type" (the pair's likeliest type, if the graph has
            types), "distance", "probability" (of that type, if links were scored) and "rank" (from 1). If
            several types were predicted, also one column per type: "probability_<type>", or
            "distance_<type>" without a score; NaN where no link of the type is predicted.

        Raises
        ------
        ConfigError
            If the library, or every one of them, is missing.
        """
        return make_frame(self._columns(), backend)

    @cached_property
    def _first(self) -> Rows:
        """Index of the likeliest link of each pair, sorted ascending."""
        pairs = np.column_stack((self.source, self.target))
        return np.sort(np.unique(pairs, axis=0, return_index=True)[1])

    def _columns(self, most: int | None = None) -> dict[str, Any]:
        """Return the columns of `to_frame`, for the first `most` pairs if given."""
        names = self.names or range(int(max(self.source.max(initial=-1), self.target.max(initial=-1))) + 1)
        rows = self._first[:most]
        source, target = self.source[rows].tolist(), self.target[rows].tolist()
        types = self.types
        return {
            "source": column_of([names[row] for row in source]),
            "target": column_of([names[row] for row in target]),
            **({} if self.pattern is None else {"type": [types[row] for row in rows.tolist()]}),
            "distance": self.distance[rows],
            **({} if self.probability is None else {"probability": self.probability[rows]}),
            "rank": np.arange(1, len(rows) + 1),
            **self._of_types(rows),
        }

    def _of_types(self, rows: Rows) -> dict[str, Array]:
        """Return one column per type for the pairs at `rows`; none if there is only one type."""
        types = np.array(self.types, dtype=object)
        several = sorted(set(self.types))
        if len(several) < 2:
            return {}
        name, values = "distance", self.distance
        if self.probability is not None:
            name, values = "probability", self.probability
        code = self.source * (int(self.target.max(initial=0)) + 1) + self.target
        order = np.argsort(code[rows])
        columns = {}
        for kind in several:
            own = np.flatnonzero((types == kind) & np.isin(code, code[rows]))
            column = np.full(len(rows), np.nan)
            column[order[np.searchsorted(code[rows], code[own], sorter=order)]] = values[own]
            columns[f"{name}_{kind}"] = column
        return columns

    def __len__(self) -> int:
        return len(self._first)

    def __repr__(self) -> str:
        links = plural(len(self.source), "link")
        pairs = f"{plural(len(self), 'pair')}: " if len(self) < len(self.source) else ""
        of = f" of {', '.join(map(str, self.patterns))}" if self.patterns else ""
        return f"PredictedLinks({pairs}{links}{of})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._columns(_SHOWN))


class _Found(NamedTuple):
    """Links of one pattern: rows (source, target) of shape (m, 2), distances and probabilities."""

    pairs: Rows
    distance: Array
    probability: Array | None
    leading: Array  # sort key: distance, or minus the log odds
    directed: NDArray[np.bool_]
    against: NDArray[np.bool_]  # whether the out/in ratios of both ends favour the other direction

    def some(self, mask: NDArray[np.bool_]) -> _Found:
        """Return the links that a mask selects."""
        columns = {name: column[mask] for name, column in self._asdict().items() if column is not None}
        return self._replace(**columns)


@one_blas_thread()
def predict_links(
    model: Estimator | Array,
    graph: Graph,
    k: int | None = 10,
    *,
    max_links: int | None = None,
    patterns: Sequence[str | Sequence[str]] = (),
    min_degree: int = 0,
    max_degree: int | None = None,
    min_probability: float | None = None,
    rules: bool = True,
    score: LinkScore | None = None,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> PredictedLinks:
    """Return the likeliest links of each pattern that no relationship of its type joins.

    Parameters
    ----------
    model : HEAT or float64 array of shape (N, d + 1)
        A fitted estimator, or points on the hyperboloid (time last), one per node.
    graph : Graph
        Graph whose missing links to predict. All unlinked pairs of an undirected graph are one pattern.
    k : int, optional
        Maximum links per node, shared evenly by the patterns of one label, see `patterns.link_limits`. A link
        is kept if it is among the `k` best of its source; without a score, or in an undirected graph, of
        either end. None means no limit per node; `max_links` is then required.
    max_links : int, optional
        Maximum links per pattern; by default the pattern's number of relationships.
    patterns : sequence of str or of (source label, type, target label), optional
        Patterns to predict, such as ``"User-RATED->Movie"``, see `patterns.chosen_patterns`. By default all
        patterns of the graph, except those with fewer than 10 relationships and less than a tenth of all.
    min_degree, max_degree : int, optional
        Leave out nodes with fewer or with more neighbours in `graph`.
    min_probability : float, optional
        Leave out links with a lower probability, [0, 1]; by default 0.05 if there is a `score`. Above 0 it
        requires a `score`; otherwise no link is returned.
    rules : bool
        Whether to learn schema rules (`learn_schema_rules`), such as one director per film, and drop links
        that violate them. Without rules only the number of links is limited.
    score : LinkScore, optional
        Score from `fit_link_score` that ranks the links and gives probabilities. For each source it scores
        64 candidates, or 128 if the source has no relationships, merged from short lists of near, reachable,
        similar and popular targets. Sources and targets that the rules allow no further link are skipped.
        Without a score, links are ranked by distance.
    n_threads : int, optional
        Number of threads; all cores if None. The result is bitwise the same.
    on_progress : callable
        Called with ("<pattern>: links", nodes done, total).

    Returns
    -------
    PredictedLinks

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, a pattern is not in the graph, or the embedding does not match it.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    """
    _check_limits(k, max_links, min_degree, max_degree)
    least = min_probability
    if least is None:
        least = 0.0 if score is None else MIN_PROBABILITY
    check_probability("min_probability", least)
    threads = resolve_threads(n_threads)
    if not isinstance(model, np.ndarray):
        check_is_fitted(model, "embedding_")
        model = model.embedding_
    if graph.relationships is None and patterns:
        raise ValueError("patterns need a graph with directed, typed relationships: set relationships")
    known, rare = counted_patterns(graph, patterns)
    notes: tuple[str, ...] = () if rare is None else (rare,)
    wanted: tuple[Pattern | None, ...] = tuple(known) if graph.relationships is not None else (None,)
    limits = (
        [(k, max_links or graph.n_edges)] if graph.relationships is None else _limits(k, max_links, known)
    )
    if rules or graph.relationships is None:
        learned = learn_schema_rules(graph, wanted)
    else:
        learned = SchemaRules(tuple(PatternRules(*each) for each in known.items()))
    with WorkerThreads(threads) as workers:
        search = _Search(model, graph, score, learned, (min_degree, max_degree), least, workers)
        found = [
            search.links(pattern, *limit, on_progress) for pattern, limit in zip(wanted, limits, strict=True)
        ]
    if least > 0.0 and score is None:
        found = [each.some(np.zeros(len(each.pairs), dtype=np.bool_)) for each in found]
        notes += (_NO_PROBABILITY.format(least),)
    elif any(len(each.pairs) < total for each, (_, total) in zip(found, limits, strict=True)):
        notes += _note_on_unlikely(least, search.unlikely)
    if score is not None:
        notes += _notes_on_probability(score, wanted)
    if max_links is not None:
        learned = SchemaRules(tuple(replace(each, max_links=max_links) for each in learned.rules))
    links, dropped = _joined(found, wanted, graph, learned)
    if score is not None:
        counts_as_new = (graph.degrees == 0) & ~search.mostly_isolated
        as_if_new = int(np.sum(counts_as_new[links.source] | counts_as_new[links.target]))
        if as_if_new > _MANY_AS_IF_NEW * len(links.source):
            notes += (_AS_IF_NEW.format(as_if_new, len(links.source)),)
        notes += tuple(dict.fromkeys(search.on_isolated))
        notes += tuple(repetitions(graph, tuple(known)))
    notes += tuple(learned.sentences(dropped, search.left_out))
    specs = tuple(each if isinstance(each, str) else str(Pattern(*each)) for each in patterns)
    settings = {
        "k": k,
        "max_links": max_links,
        "patterns": specs,
        "min_degree": min_degree,
        "max_degree": max_degree,
        "min_probability": min_probability,
        "rules": rules,
    }
    if links.directed is not None and not links.directed.all():
        notes += (_UNDIRECTED.format(np.count_nonzero(~links.directed), len(links.source)),)
    return replace(links, names=graph.names, search=settings, score=score, notes=notes)


class _Search:
    """Searches the likeliest links, one pattern at a time."""

    def __init__(
        self,
        embedding: Array,
        graph: Graph,
        score: LinkScore | None,
        rules: SchemaRules,
        degrees: tuple[int, int | None],
        least: float,
        workers: WorkerThreads,
    ) -> None:
        self._embedding, self._graph, self._workers = embedding, graph, workers
        self._least, self._rules, (self._min_degree, self._max_degree) = least, rules, degrees
        likeness = Likeness(graph, workers)
        self._scorers = None if score is None else score.scorers(embedding, graph, likeness)
        names = () if score is None else score.features
        self._surroundings = Surroundings(embedding, graph, likeness, names)
        self.unlikely: list[Pattern | None] = []
        """Patterns without a link of the minimum probability."""
        self.left_out: dict[Pattern | None, dict[Rule, int]] = {}
        """Number of sources and targets of each pattern that each rule allows no further link."""
        self.on_isolated: list[str] = []
        """A line on the sources or targets of each pattern of which most are isolated."""
        self.mostly_isolated = np.zeros(graph.n_nodes, dtype=np.bool_)
        """Mask of these sources and targets."""

    def links(self, pattern: Pattern | None, most: int | None, total: int, on_progress: Progress) -> _Found:
        """Return a pattern's links: at most `most` per node and `total` overall, without unlikely ones."""
        graph, embedding, workers = self._graph, self._embedding, self._workers
        candidates = candidate_pairs(graph, pattern, min_degree=self._min_degree, max_degree=self._max_degree)
        progress = on_progress if pattern is None else prefixed(on_progress, f"{pattern}: ")
        if self._scorers is None:
            near = _nearest(embedding, candidates, most, total, workers, progress)
            return _of_distance(*near, graph, candidates)
        self._note_isolated(candidates)
        scorer = self._scorers(pattern)
        asked = self._open(candidates)
        floor = scorer.log_odds_at(self._least)
        pairs, scores = np.empty((0, 2), dtype=np.int64), np.empty(0)
        if asked.size and floor < np.inf:
            lists = self._surroundings.of(candidates, asked, progress)
            pairs, scores = best_of_shortlists(scorer, lists, most or total, workers, progress, floor)
            pairs, scores = _ranked(scorer, asked, pairs, scores, most, total)
        likely = scorer.probability(scores) >= self._least
        pairs, scores = pairs[likely], scores[likely]
        if asked.size and not len(pairs):
            self.unlikely.append(pattern)
        return _scored(pairs, pair_distances(embedding, pairs), scores, scorer)

    def _note_isolated(self, candidates: CandidatePairs) -> None:
        """Note which sources and targets are mostly isolated."""
        pattern, isolated = candidates.pattern, self._graph.degrees == 0
        names = ("", "") if pattern is None else (pattern.source, pattern.target)
        for name, nodes in zip(names, (candidates.is_source, candidates.is_target), strict=True):
            n_isolated, n_nodes = np.count_nonzero(nodes & isolated), np.count_nonzero(nodes)
            if 2 * n_isolated > n_nodes:
                self.mostly_isolated |= nodes
                what = f"{display_text(name)} nodes" if name else "nodes"
                self.on_isolated.append(_MOSTLY_ISOLATED.format(what, n_isolated, n_nodes))

    def _open(self, candidates: CandidatePairs) -> CandidatePairs:
        """Return the candidates that the rules allow, and count the nodes left out."""
        opened = self._rules.open(self._graph, candidates)
        left_out = {
            Rule.PER_SOURCE: len(candidates.sources) - len(opened.sources),
            Rule.PER_TARGET: len(candidates.targets) - len(opened.targets),
        }
        self.left_out[candidates.pattern] = {rule: count for rule, count in left_out.items() if count}
        return opened


def _limits(
    k: int | None, max_links: int | None, patterns: Mapping[Pattern, int]
) -> list[tuple[int | None, int]]:
    """Return the maximum links per node and per pattern, by default the pattern's number of relationships."""
    each = [None] * len(patterns) if k is None else link_limits(k, patterns)
    return [(most, max_links or total) for most, total in zip(each, patterns.values(), strict=True)]


def _note_on_unlikely(least: float, without: Sequence[Pattern | None]) -> tuple[str, ...]:
    """Return a line on links below the minimum probability, if there is one, and patterns without others."""
    if least == 0.0:
        return ()
    return (_UNLIKELY.format(least) + (_NONE_LIKELY.format(_first_of(without)) if without else ""),)


def _notes_on_probability(score: LinkScore, patterns: Sequence[Pattern | None]) -> tuple[str, ...]:
    """Return what a probability is of, and of which patterns it is not."""
    if score.since is None:
        return (_AS_HELD_OUT,)
    figures = {each: score.figures.get(name_of(each)) for each in patterns}
    undated = [each for each, own in figures.items() if own is not None and not own.by_time]
    period = _PERIOD.format(score.since)
    return (period, _WITHOUT_TIMES.format(_first_of(undated))) if undated else (period,)


def _first_of(patterns: Sequence[Pattern | None]) -> str:
    """Return the names of the first three patterns, and how many others there are."""
    more = f" and {plural(len(patterns) - 3, 'other pattern')}" if len(patterns) > 3 else ""
    return ", ".join(str(each or "the graph") for each in patterns[:3]) + more


def _check_limits(k: int | None, max_links: int | None, min_degree: int, max_degree: int | None) -> None:
    if k is not None:
        check_integer("k", k, minimum=1)
    elif max_links is None:
        raise ValueError("k or max_links is required: without a limit every unlinked pair would be returned")
    if max_links is not None:
        check_integer("max_links", max_links, minimum=1)
    check_integer("min_degree", min_degree, minimum=0)
    if max_degree is not None:
        check_integer("max_degree", max_degree, minimum=min_degree)


def _joined(
    found: Sequence[_Found],
    wanted: tuple[Pattern | None, ...],
    graph: Graph,
    rules: SchemaRules,
) -> tuple[PredictedLinks, dict[Pattern | None, dict[Rule, int]]]:
    """Merge the links of all patterns, apply the rules, and count the links that each rule dropped.

    Per type, two nodes keep at most one link: that of the likeliest pattern and direction.
    """
    patterns, n_nodes = tuple(each for each in wanted if each is not None), graph.n_nodes
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *(each.pairs for each in found)])
    distance = np.concatenate([np.empty(0), *(each.distance for each in found)])
    leading = np.concatenate([np.empty(0), *(each.leading for each in found)])
    chances = [each.probability for each in found if each.probability is not None]
    probability = np.concatenate(chances) if chances else None
    pattern = np.repeat(np.arange(len(found)), [len(each.pairs) for each in found])
    types = {name: code for code, name in enumerate(dict.fromkeys(each.type for each in patterns))}
    code = np.array([types[each.type] for each in patterns] or [0])[pattern]
    ends = (code * n_nodes + pairs.min(axis=1)) * n_nodes + pairs.max(axis=1)
    against = np.concatenate([np.empty(0, dtype=np.bool_), *(each.against for each in found)])
    has_one = np.concatenate([np.empty(0, dtype=np.bool_), *(each.directed for each in found)])
    falling = np.zeros(len(pairs)) if probability is None else -probability
    order = np.lexsort((pairs[:, 1], pairs[:, 0], pattern, against, leading, falling))
    order = order[np.sort(np.unique(ends[order], return_index=True)[1])]
    selection = rules.apply(
        graph, wanted, pattern[order], pairs[order], -np.arange(len(order), dtype=np.float64)
    )
    order = order[selection.kept]
    links = PredictedLinks(
        source=pairs[order, 0],
        target=pairs[order, 1],
        distance=distance[order],
        probability=None if probability is None else probability[order],
        patterns=patterns,
        pattern=pattern[order] if patterns else None,
        directed=has_one[order] if patterns else None,
    )
    return links, dict(zip(wanted, selection.dropped, strict=True))


def _nearest(
    embedding: Array,
    candidates: CandidatePairs,
    k: int | None,
    max_links: int | None,
    workers: WorkerThreads,
    on_progress: Progress,
) -> tuple[Rows, Array]:
    """Return the nearest candidates and their distances; each two nodes in one direction only."""
    if candidates.are_nodes_of_one_role:
        nodes = candidates.nodes
        near = nearest_pairs(candidates.in_space(embedding), k, max_links, workers, on_progress)
        return _directed(candidates, np.column_stack((nodes[near.source], nodes[near.target]))), near.distance
    ends = np.concatenate((candidates.sources, candidates.targets))
    both_ways = None if max_links is None else 2 * max_links
    near = nearest_pairs(candidates.ends_in_space(embedding), k, both_ways, workers, on_progress)
    pairs = np.column_stack((ends[near.source], ends[near.target]))
    first = np.sort(np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)[1])[:max_links]
    return pairs[first], near.distance[first]


def _of_distance(
    pairs: Rows,
    distance: Array,
    graph: Graph,
    candidates: CandidatePairs,
) -> _Found:
    """Orient the nearest pairs by the graph's relationships."""
    has_one = np.ones(len(pairs), dtype=np.bool_)
    if candidates.pattern is None:
        return _Found(pairs, distance, None, distance, has_one, ~has_one)
    kind = candidates.pattern.type
    pairs, has_one = _oriented(candidates, pairs, _leanings(graph, kind, pairs))
    return _Found(pairs, distance, None, distance, has_one, _leanings(graph, kind, pairs) < 0)


def _leanings(graph: Graph, kind: str, pairs: Rows) -> Rows:
    """Compare the out/in ratios of u and v for each pair (u, v), shape (m,).

    Positive if u has the larger ratio of outgoing to incoming relationships of the type, which makes u -> v
    likelier than v -> u. Zero if the ratios are equal.
    """
    assert graph.relationships is not None
    out, into = sent_and_received(graph.relationships.of(kind), graph.n_nodes)
    u, v = pairs.T
    leaning: Rows = (2 * out[u] + 1) * (2 * into[v] + 1) - (2 * out[v] + 1) * (2 * into[u] + 1)
    return leaning


def _oriented(candidates: CandidatePairs, pairs: Rows, leaning: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Orient each pair, and return a mask of the pairs whose direction is determined.

    If only one direction is a candidate, that one is chosen; otherwise the sign of `leaning` decides. If it
    is zero, the direction is undetermined and the pair leads from the lower row to the higher.
    """
    forward, back = candidates.either_way(pairs[:, ::-1]), candidates.either_way(pairs)
    either = forward & back
    turned = np.where(either, (leaning < 0) | ((leaning == 0) & (pairs[:, 0] > pairs[:, 1])), back)
    return np.where(turned[:, None], pairs[:, ::-1], pairs), ~(either & (leaning == 0))


def _scored(pairs: Rows, distance: Array, scores: Array, scorer: LinkScorer) -> _Found:
    """Return the scored pairs, already oriented by their score, with probabilities."""
    has_one = np.ones(len(pairs), dtype=np.bool_)
    return _Found(pairs, distance, scorer.probability(scores), -scores, has_one, ~has_one)


def _turned(scorer: DirectedScorer, candidates: CandidatePairs, pairs: Rows, scores: Array) -> None:
    """Reverse, in place, each pair whose reverse is a likelier candidate, and update its score."""
    either = np.flatnonzero(candidates.either_way(pairs))
    back = scorer.pairs(pairs[either, ::-1])
    is_less = pairs[either, 0] < pairs[either, 1]
    turned = (back > scores[either]) | ((back == scores[either]) & ~is_less)
    scores[either[turned]] = back[turned]
    pairs[either[turned]] = pairs[either[turned], ::-1]


def _directed(candidates: CandidatePairs, pairs: Rows) -> Rows:
    """Orient unordered pairs in the candidate direction; unchanged if both directions are candidates."""
    backwards = ~candidates.either_way(pairs[:, ::-1])
    pairs = pairs.copy()
    pairs[backwards] = pairs[backwards, ::-1]
    return pairs


def _ranked(
    scorer: DirectedScorer,
    candidates: CandidatePairs,
    pairs: Rows,
    scores: Array,
    most: int | None,
    total: int | None,
) -> tuple[Rows, Array]:
    """Sort pairs by descending score, one direction per two nodes and at most `most` per source.

    An undirected pair is kept if it is among the best of either end.
    """
    if candidates.pattern is None:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        scores = scorer.pairs(pairs)
    else:
        # A pair can occur in both directions, so 2 * total leaves at least `total` pairs.
        few = np.sort(np.argsort(-scores, kind="stable")[: None if total is None else 2 * total])
        pairs, scores = pairs[few], scores[few]
        _turned(scorer, candidates, pairs, scores)
        pairs, first = np.unique(pairs, axis=0, return_index=True)
        row, limit = np.ascontiguousarray(pairs[:, 0]), len(pairs) if most is None else most
        best = best_of_rows(row, scores[first], limit)
        pairs, scores = pairs[best], scores[first][best]
    order = np.argsort(-scores, kind="stable")
    return pairs[order], scores[order]
