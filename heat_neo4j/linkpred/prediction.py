"""Links that are missing: the likeliest pairs of each pattern that no relationship of its type joins.

By distance the search is exact, in O(N k) memory. By a score the targets of a source are those on its short
lists, see `shortlists`. The bits are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._kernels.lists import best_of_rows
from heat_neo4j._utils.display import plural
from heat_neo4j._utils.frames import column_of, html_table, make_frame
from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.threads import WorkerThreads, one_blas_thread, resolve_threads
from heat_neo4j._utils.validation import check_integer, check_probability
from heat_neo4j.embedding.fitting import Estimator
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import nearest_pairs
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.best_scored import best_of_shortlists
from heat_neo4j.linkpred.candidates import CandidatePairs, candidate_pairs, counted_patterns
from heat_neo4j.linkpred.directions import directed, leanings
from heat_neo4j.linkpred.link_score import LinkScore, LinkScorer
from heat_neo4j.linkpred.schema_rules import PatternRules, Rule, SchemaRules, learn_schema_rules
from heat_neo4j.linkpred.scorers import DirectedScorer
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.patterns import Pattern, link_limits

if TYPE_CHECKING:
    pass

_UNDIRECTED = (
    "{:,} of {:,} predicted links have no direction: the relationships of their ends show none, and no score "
    "was fitted"
)
_NO_PROBABILITY = "no link is predicted: none has a probability, and min_probability is {:g}"
_UNLIKELY = "min_probability {1:g}: {0} below it left out"
_SHOWN = 10  # rows in a notebook

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PredictedLinks:
    """Absent links, each from its source to its target, the likeliest first.

    Links of several types may join the same pair; the number of pairs is the length of the object, and the
    number of rows of `to_frame`.

    Parameters
    ----------
    source, target : int64 arrays of shape (L,)
        Rows of the graph. No link of a type comes twice, nor both ways; of a graph without directions
        source < target.
    distance : float64 array of shape (L,)
        Hyperbolic distance; rising if nothing else ranked the links.
    probability : float64 array of shape (L,), optional
        Falling; None if the links were ranked by distance.
    patterns : tuple of Pattern
        What was predicted; empty of a graph without directions.
    pattern : int64 array of shape (L,), optional
        Place of each link's pattern in `patterns`; None of a graph without directions.
    names : sequence, optional
        What the graph calls its nodes, by row.
    search : mapping, optional
        The limits, as `predict_links` takes them: "k", "max_links", "patterns", "min_degree", "max_degree",
        "min_probability" and "rules".
    score : LinkScore, optional
        What ranked the links, if it was not the distance.
    notes : tuple of str
        What limits the prediction, one line each: patterns that are too rare, for one.
    directed : bool array of shape (L,), optional
        Which links have a direction. A fitted score gives one to each. Without a score it follows from the
        labels; from the roles of the nodes, where relationships lead from one set of nodes to another; or
        from the shares of outgoing relationships of the type at both ends. A link of equal ends has none and
        leads from the lower row to the higher. None of a graph without directions.

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
        """1 for the first link, 2 for the next, and so on; shape (L,)."""
        return np.arange(1, len(self.source) + 1, dtype=np.int64)

    @property
    def pattern_rank(self) -> Rows:
        """The same among the links of each pattern; shape (L,)."""
        if self.pattern is None:
            return self.rank
        ranks = np.empty(len(self.source), dtype=np.int64)
        for place in range(len(self.patterns)):
            own = np.flatnonzero(self.pattern == place)
            ranks[own] = np.arange(1, len(own) + 1)
        return ranks

    @property
    def types(self) -> list[str]:
        """Type of each link; empty texts of a graph without directions."""
        if self.pattern is None:
            return [""] * len(self.source)
        names = [pattern.type for pattern in self.patterns]
        return [names[place] for place in self.pattern.tolist()]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the pairs as a data frame, a row for each, the likeliest first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Of which library; the first that is installed if not given.

        Returns
        -------
        data frame
            "source" and "target", by the names of the nodes; "type" of a graph with types, the likeliest of
            the pair; "distance"; "probability", that of this type, if there is one; and "rank", from 1.
            If links of several types were predicted, also a column for each: "probability_<type>", or
            "distance_<type>" without probabilities, NaN where the pair is predicted no link of the type.

        Raises
        ------
        ConfigError
            If there is no such library, or none at all.
        """
        return make_frame(self._columns(), backend)

    @cached_property
    def _first(self) -> Rows:
        """Place of the likeliest link of each pair, rising."""
        pairs = np.column_stack((self.source, self.target))
        return np.sort(np.unique(pairs, axis=0, return_index=True)[1])

    def _columns(self, most: int | None = None) -> dict[str, Any]:
        """Return the columns of `to_frame`, of the first pairs only if `most` is given."""
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
        """Return a column for each of several types, for the pairs at some places."""
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
    leading: Array  # by which they are sorted: distances, or minus the log odds
    directed: NDArray[np.bool_]
    against: NDArray[np.bool_]  # whether the relationships of their ends suit the other direction better


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
    min_probability: float = 0.0,
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
        The graph whose relationships are to be left out. If it knows no directions, all pairs that no edge
        joins are one pattern.
    k : int, optional
        Links per node, which patterns of one label share evenly, see `patterns.link_limits`: a link is kept
        if it is among the best of its source; without a fitted score, or directions, of either end. None sets
        no limit per node; `max_links` must then be given.
    max_links : int, optional
        Keep so many of each pattern; as many as it has relationships if not given.
    patterns : sequence of str or of (source label, type, target label), optional
        What to predict, such as ``"User-RATED->Movie"``, see `patterns.chosen_patterns`; all patterns of the
        graph if not given, except those with fewer than 10 relationships and less than a tenth of all.
    min_degree, max_degree : int, optional
        Leave out nodes with fewer or with more neighbours in `graph`.
    min_probability : float
        Leave out links that are less likely, [0, 1]; above 0 all links without a `score`, which alone gives
        probabilities.
    rules : bool
        Whether `learn_schema_rules` learns what the relationships rule out, such as a second director of a
        film, and drops such links. Without it only the number of links is limited.
    score : LinkScore, optional
        From `fit_link_score`; ranks the links and gives their probabilities. Of each source it scores the 64
        targets that stand highest in short lists of near, reached, similar and popular ones; sources and
        targets that may have no further link by the rules are left out. Without a score the nearest pairs
        are the first.
    n_threads : int, optional
        Threads to use; all cores when None. The result is the same to the bit.
    on_progress : callable
        Called with ("links <pattern>", nodes done, nodes considered).

    Returns
    -------
    PredictedLinks

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, a pattern is not in the graph, or the points do not fit it.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    """
    _check_limits(k, max_links, min_degree, max_degree)
    check_probability("min_probability", min_probability)
    threads = resolve_threads(n_threads)
    if not isinstance(model, np.ndarray):
        check_is_fitted(model, "embedding_")
        model = model.embedding_
    if graph.relationships is None and patterns:
        raise ValueError("patterns need a graph that knows directions and types: give it relationships")
    known, rare = counted_patterns(graph, patterns)
    notes: tuple[str, ...] = () if rare is None else (rare,)
    wanted: tuple[Pattern | None, ...] = tuple(known) if graph.relationships is not None else (None,)
    limits = (
        [(k, max_links or graph.n_edges)] if graph.relationships is None else _limits(k, max_links, known)
    )
    learned = learn_schema_rules(graph, wanted) if rules else _no_rules(graph, known)
    with WorkerThreads(threads) as workers:
        search = _Search(model, graph, score, learned, (min_degree, max_degree), workers)
        found = [
            search.links(pattern, *limit, on_progress) for pattern, limit in zip(wanted, limits, strict=True)
        ]
    if min_probability > 0.0:
        likely = [_likely(each, min_probability) for each in found]
        n_unlikely = sum(len(each.pairs) - len(kept.pairs) for each, kept in zip(found, likely, strict=True))
        unlikely = _UNLIKELY.format(plural(n_unlikely, "proposal"), min_probability)
        notes += (_NO_PROBABILITY.format(min_probability) if score is None else unlikely,)
        found = likely
    if max_links is not None:
        learned = SchemaRules(tuple(replace(each, max_links=max_links) for each in learned.rules))
    links, dropped = _joined(found, wanted, graph, learned)
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
    """Looks for the likeliest links of one pattern after another."""

    def __init__(
        self,
        embedding: Array,
        graph: Graph,
        score: LinkScore | None,
        rules: SchemaRules,
        degrees: tuple[int, int | None],
        workers: WorkerThreads,
    ) -> None:
        self._embedding, self._graph, self._workers = embedding, graph, workers
        self._rules, (self._min_degree, self._max_degree) = rules, degrees
        self._scorers = None if score is None else score.scorers(embedding, graph)
        self._surroundings = Surroundings(embedding, graph)
        self.left_out: dict[Pattern | None, dict[Rule, int]] = {}
        """Sources and targets of each pattern that a rule gives no further link."""

    def links(
        self, pattern: Pattern | None, most: int | None, total: int | None, on_progress: Progress
    ) -> _Found:
        """Return the links of a pattern: `most` of a node, and `total` in all of the nearest."""
        graph, embedding, workers = self._graph, self._embedding, self._workers
        candidates = candidate_pairs(graph, pattern, min_degree=self._min_degree, max_degree=self._max_degree)
        progress = on_progress if pattern is None else prefixed(on_progress, f"{pattern}: ")
        if self._scorers is None:
            near = _nearest(embedding, candidates, most, total, workers, progress)
            return _of_distance(*near, graph, candidates)
        scorer = self._scorers(pattern)
        asked = self._open(candidates)
        if not asked.size:
            return _scored(np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty(0), scorer)
        lists = self._surroundings.of(candidates, asked, workers, progress)
        pairs, scores = best_of_shortlists(scorer, lists, most or total or 0, workers, progress)
        pairs, scores = _ranked(scorer, asked, pairs, scores, most, total)
        return _scored(pairs, pair_distances(embedding, pairs), scores, scorer)

    def _open(self, candidates: CandidatePairs) -> CandidatePairs:
        """Return the candidates that rules leave: without full ends, and without excluded pairs."""
        full = self._rules.full(self._graph, candidates.pattern)
        ends = (candidates.is_source, candidates.is_target)
        left_out = {rule: int((ends[end] & nodes).sum()) for end, (rule, nodes) in enumerate(full.items())}
        self.left_out[candidates.pattern] = {rule: count for rule, count in left_out.items() if count}
        joined = sparse.csr_array(candidates.joined + self._rules.excluded(self._graph, candidates.pattern))
        return replace(candidates.without(*full.values()), joined=joined)


def _limits(
    k: int | None, max_links: int | None, patterns: Mapping[Pattern, int]
) -> list[tuple[int | None, int | None]]:
    """Return most links of a node and of a pattern: by default as many as the pattern has relationships."""
    each = [None] * len(patterns) if k is None else link_limits(k, patterns)
    return [(most, max_links or total) for most, total in zip(each, patterns.values(), strict=True)]


def _check_limits(k: int | None, max_links: int | None, min_degree: int, max_degree: int | None) -> None:
    if k is not None:
        check_integer("k", k, minimum=1)
    elif max_links is None:
        raise ValueError("k or max_links must be given: without either every absent pair would be returned")
    if max_links is not None:
        check_integer("max_links", max_links, minimum=1)
    check_integer("min_degree", min_degree, minimum=0)
    if max_degree is not None:
        check_integer("max_degree", max_degree, minimum=min_degree)


def _no_rules(graph: Graph, patterns: Mapping[Pattern, int]) -> SchemaRules:
    """Return rules that only limit the number of links."""
    if graph.relationships is None:
        return SchemaRules((PatternRules(None, graph.n_edges),))
    return SchemaRules(tuple(PatternRules(each, count) for each, count in patterns.items()))


def _likely(found: _Found, least: float) -> _Found:
    """Return those that are at least so likely: none without a probability."""
    likely = np.zeros(len(found.pairs), np.bool_)
    if found.probability is not None:
        likely = found.probability >= least
    columns = {name: column for name, column in found._asdict().items() if column is not None}
    return found._replace(**{name: column[likely] for name, column in columns.items()})


def _joined(
    found: Sequence[_Found],
    wanted: tuple[Pattern | None, ...],
    graph: Graph,
    rules: SchemaRules,
) -> tuple[PredictedLinks, dict[Pattern | None, dict[Rule, int]]]:
    """Return what the rules leave of the links of all patterns, and how many each rule has dropped.

    Of two nodes at most one link of a type is left, in its likeliest pattern and way.
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
    """Return the nearest candidates, of two nodes one way only, and their distances."""
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
    """Return nearest pairs in the direction that the graph shows."""
    has_one = np.ones(len(pairs), dtype=np.bool_)
    if candidates.pattern is None:
        return _Found(pairs, distance, None, distance, has_one, ~has_one)
    kind = candidates.pattern.type
    pairs, has_one = directed(candidates, pairs, leanings(graph, kind, pairs))
    return _Found(pairs, distance, None, distance, has_one, leanings(graph, kind, pairs) < 0)


def _scored(pairs: Rows, distance: Array, scores: Array, scorer: LinkScorer) -> _Found:
    """Return pairs in the direction that their score has chosen."""
    has_one = np.ones(len(pairs), dtype=np.bool_)
    return _Found(pairs, distance, scorer.probability(scores), -scores, has_one, ~has_one)


def _turned(scorer: DirectedScorer, candidates: CandidatePairs, pairs: Rows, scores: Array) -> None:
    """Turn those pairs round, with their scores, whose other way is a candidate and likelier."""
    either = np.flatnonzero(candidates.either_way(pairs))
    back = scorer.pairs(pairs[either, ::-1])
    is_less = pairs[either, 0] < pairs[either, 1]
    turned = (back > scores[either]) | ((back == scores[either]) & ~is_less)
    scores[either[turned]] = back[turned]
    pairs[either[turned]] = pairs[either[turned], ::-1]


def _directed(candidates: CandidatePairs, pairs: Rows) -> Rows:
    """Return unordered pairs in the direction that is a candidate; as they are where both are."""
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
    """Return pairs with their scores, the best first: of two nodes one way only, of a source at most `most`.

    A pair without direction is among the best of one end at least.
    """
    if candidates.pattern is None:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        scores = scorer.pairs(pairs)
    else:
        # Each pair may come both ways, so `total` of them are left; less likely ones are not turned round.
        few = np.sort(np.argsort(-scores, kind="stable")[: None if total is None else 2 * total])
        pairs, scores = pairs[few], scores[few]
        _turned(scorer, candidates, pairs, scores)
        pairs, first = np.unique(pairs, axis=0, return_index=True)
        row, limit = np.ascontiguousarray(pairs[:, 0]), len(pairs) if most is None else most
        best = best_of_rows(row, scores[first], limit)
        pairs, scores = pairs[best], scores[first][best]
    order = np.argsort(-scores, kind="stable")
    return pairs[order], scores[order]
