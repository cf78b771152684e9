"""Samples of a pattern's pairs, which a link score is fitted to and measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.calibration import HeldOut
from heat_neo4j.linkpred.candidates import CandidatePairs, candidate_pairs, patterns_of, relationships_of
from heat_neo4j.linkpred.features import DIRECTION, PairFeatures, PatternFeatures, features_of
from heat_neo4j.linkpred.likeness import Likeness
from heat_neo4j.linkpred.rankings import MostSources, draw_sources
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.rules.schema_rules import SchemaRules
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.linkpred.splits import EdgeSplit, are_latest
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_SAME_SOURCE, _SAME_TARGET, _ANY = 5, 5, 5  # negatives per link: same source, same target, any
_MOST_LINKS = 8_000  # held-out links of the sampled sources
_MOST_ISOLATED = 4.0  # isolated nodes for each that has lost its edges, to be taken for nodes without links
_DATED = 0.1  # minimum share of a pattern's relationships with a time, to be measured by time
_PRIOR = 1.0  # added to both counts of a ratio
_OTHERS = 0.4  # share of the other pairs to fit to, if links are held out several times; at least one time's
_LEAST = 1e-9  # lower bound of sampling rates
FOLDS = 2  # folds of sources; each is measured by a score fitted to the other


class Sample(NamedTuple):
    """Sampled pairs of a pattern with features: candidates of sampled sources, held-out links, negatives.

    Counts are sums over the times that links are held out.
    """

    n_relationships: int
    n_links: int  # held-out links of the pattern
    n_asked: int  # held-out links of the sources sampled with all candidates
    n_sources: int  # sources of these links
    pairs: Rows  # (m, 2)
    place: Rows  # of each pair's source among the sources of the pattern; rows may alternate between labels
    is_link: NDArray[np.bool_]
    is_fitted: NDArray[np.bool_]
    is_candidate: NDArray[np.bool_]  # candidates of sampled sources, sorted by source
    weight: Array  # sampling weight of a candidate
    offset: Array  # log odds correction for sampling: minus the log of the pair's sampling rate
    values: Array = np.empty((0, 0))  # (m, K); NaN if the training graph lacks the feature
    direction: Array | None = None  # (m, D) direction features
    one_way: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)  # held-out and not reciprocated
    standing: Array = np.empty(0)  # for how many pairs of the whole graph a pair stands, see `_End`
    share_linked: tuple[float, float] = (1.0, 1.0)  # share of isolated sources, and targets, that get links
    share: Array = np.empty(0)  # product of these shares over the isolated ends of a pair
    is_lost: NDArray[np.bool_] = np.empty((0, 2), dtype=np.bool_)  # the source, the target has lost all edges
    is_reopened: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)  # an end has lost the only link it may have
    one_link: Rows = np.empty((0, 2), dtype=np.int64)  # ends that rules allow one link; -1 for other ends
    n_times: int = 1  # that links are held out and measured
    since: float | None = None  # time from which links are measured; None for all, as of a type without times

    @property
    def fold(self) -> Rows:
        """Fold of each pair, by source."""
        return self.place % FOLDS

    def loss(self, log_odds: Array) -> float:
        """Return the log loss of log odds, shape (m,), on the pairs to fit to."""
        score, is_link = (log_odds + self.offset)[self.is_fitted], self.is_link[self.is_fitted]
        return float(np.sum(np.logaddexp(0.0, score) - is_link * score))

    def only_fitted(self) -> Self:
        """Return the sample without candidates, to fit a score to but not to measure it on."""
        nothing = np.zeros(len(self.pairs), dtype=np.bool_)
        counts: dict[str, Any] = dict.fromkeys(
            ("n_relationships", "n_links", "n_asked", "n_sources", "n_times"), 0
        )
        return self._replace(**counts, is_candidate=nothing)

    @classmethod
    def joined(cls, samples: Sequence[Sample]) -> Sample:
        """Join samples of one pattern, of links held out at different times.

        A score is fitted to all links, but to few of the other pairs: more take longer and do not improve the
        ranking.
        """
        first, starts, times = samples[0], [0], len(samples)
        for sample in samples:
            # A source keeps its fold, and its half of each fold.
            taken = starts[-1] + int(sample.place.max(initial=-1)) + 1
            starts.append(-(-taken // (2 * FOLDS)) * 2 * FOLDS)
        columns: dict[str, Any] = {}
        for name in cls._fields:
            own = [getattr(sample, name) for sample in samples]
            if isinstance(own[0], np.ndarray):
                columns[name] = np.concatenate(own)
            elif isinstance(own[0], int):
                columns[name] = sum(own)
        places = [sample.place + start for sample, start in zip(samples, starts, strict=False)]
        shares = np.mean([sample.share_linked for sample in samples], axis=0)
        n = 1 + max(int(sample.one_link.max(initial=-1)) for sample in samples)
        ends = [
            np.where(each.one_link < 0, -1, each.one_link + time * n) for time, each in enumerate(samples)
        ]
        columns |= {"place": np.concatenate(places), "share_linked": tuple(shares.tolist())}
        columns["one_link"] = np.concatenate(ends)
        kept = max(int(_OTHERS * times), 1)
        columns["is_fitted"] &= columns["is_link"] | np.concatenate(
            [(np.arange(len(sample.pairs)) - time) % times < kept for time, sample in enumerate(samples)]
        )
        columns["offset"] += np.log(times / kept)
        return first._replace(**columns)


def name_of(pattern: Pattern | None) -> str:
    """Return the text of a pattern, empty for an undirected graph."""
    return "" if pattern is None else str(pattern)


def samples_of(
    held_out: HeldOut,
    graph: Graph,
    features: Sequence[str] | None = None,
    on_progress: Progress = no_progress,
    *,
    most: MostSources | None = None,
    likeness: Likeness | None = None,
) -> dict[str, Sample]:
    """Return the sample that each common pattern is fitted to and measured on, by the pattern's text.

    `most` defaults to as many sources as fit into memory. `likeness` is that of `graph`, with the threads.
    """
    split, points = held_out
    features = features_of(graph) if features is None else features
    patterns: tuple[Pattern | None, ...] = (None,) if graph.relationships is None else patterns_of(graph)
    likeness = likeness or Likeness(graph)
    of_pairs = PairFeatures(points, split.train, likeness, features)
    surroundings = Surroundings(points, split.train, likeness, features)
    samples: dict[str, Sample] = {}
    rules = learn_schema_rules(split.train, patterns)
    most = most or MostSources.of_each(len(patterns))
    on_progress("patterns", 0, len(patterns))
    for pattern in patterns:
        samples[name_of(pattern)] = _sample(
            split, of_pairs.of(pattern), surroundings, rules, graph, pattern, features, most
        )
        on_progress("patterns", len(samples), len(patterns))
    return samples


def _sample(
    split: EdgeSplit,
    of_pattern: PatternFeatures,
    surroundings: Surroundings,
    rules: SchemaRules,
    graph: Graph,
    pattern: Pattern | None,
    names: Sequence[str],
    most: MostSources,
) -> Sample:
    """Sample pairs of a pattern and compute their features."""
    own = np.column_stack(relationships_of(graph, pattern))
    if split.since is not None and are_latest(replace(split, since=-np.inf), graph, own).mean() < _DATED:
        split = replace(split, since=None)
    ends, isolated, n = candidate_pairs(split.train, pattern), graph.degrees == 0, graph.n_nodes
    of_ends = [_End.of(split, graph, each) for each in (ends.is_source, ends.is_target)]
    of_source, of_target = (each.standing for each in of_ends)
    # Isolated nodes beside few that have lost their edges would teach that such nodes never get links.
    few = (standing.max(initial=0.0) > _MOST_ISOLATED for standing in (of_source, of_target))
    candidates = ends.without(*(isolated & is_few for is_few in few))
    held = own[~candidates.are_joined(own)]
    is_measured = are_latest(split, graph, held)
    stands = of_source[held[:, 0]] * of_target[held[:, 1]] > 0.0
    is_fitted, oversampled = _fitted(split, held, is_measured, stands)
    asked = rules.open(split.train, candidates)
    drawn = _draw(
        candidates, asked, surroundings, own, held, most, is_fitted=is_fitted, is_measured=is_measured
    )
    workers = surroundings.likeness.workers
    pairs, of_link = drawn.pairs, of_pattern.link
    share_linked = (of_ends[0].share_linked, of_ends[1].share_linked)
    is_lost = split.train.degrees[pairs] == 0
    standing = of_source[pairs[:, 0]] * of_target[pairs[:, 1]]
    full = list(rules.full(graph, pattern).values())
    of_open, is_reopened = _of_open(split, asked, full, drawn, held[~is_measured])
    nothing = np.full(len(pairs), np.nan)
    values = workers.map(lambda name: of_link[name].pairs(pairs) if name in of_link else nothing, names)
    direction, one_way = None, np.zeros(len(pairs), dtype=np.bool_)
    # The whole graph decides, as the roles that nodes have depend on what is held out.
    if pattern is not None and candidate_pairs(graph, pattern).has_either_way:
        of_direction = of_pattern.direction
        columns = workers.map(lambda each: of_direction[each].pairs(pairs), of_direction)
        direction = np.zeros((len(pairs), len(DIRECTION)))
        direction[:, [DIRECTION.index(each) for each in of_direction]] = np.column_stack(columns)
        may_turn = candidates.is_source[pairs[:, 1]] & candidates.is_target[pairs[:, 0]]
        one_way = drawn.is_link & ~np.isin(pairs[:, ::-1] @ (n, 1), own @ (n, 1)) & may_turn
    return drawn._replace(
        standing=standing * of_open,
        since=split.since,
        share_linked=share_linked,
        share=np.where(is_lost, share_linked, 1.0).prod(axis=1),
        is_lost=is_lost,
        is_reopened=is_reopened,
        one_link=np.where(rules.allow_one(pattern), pairs, -1),
        offset=drawn.offset + np.where(is_lost.any(axis=1), 0.0, np.log(oversampled)),
        values=np.column_stack(values),
        direction=direction,
        one_way=one_way,
    )


def _fitted(
    split: EdgeSplit, held: Rows, is_measured: NDArray[np.bool_], stands: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], float]:
    """Return a mask of the links to fit to, and how many of them there are for each link of linked nodes.

    By time these are earlier links, and the latest ones of nodes that had none and stand for isolated nodes.
    """
    if split.since is None:
        return np.ones(len(held), dtype=np.bool_), 1.0
    of_isolated = (split.train.degrees[held] == 0).any(axis=1)
    n_latest = np.count_nonzero(is_measured & ~of_isolated)
    oversampled = (np.count_nonzero(~is_measured) + _PRIOR) / (n_latest + _PRIOR)
    return ~is_measured | (of_isolated & stands), oversampled


class _End(NamedTuple):
    """The possible sources, or targets, of a pattern: what they stand for in the whole graph."""

    standing: Array  # for how many nodes of the whole graph each node of training stands, shape (N,)
    share_linked: float  # share of the isolated nodes that get relationships

    @classmethod
    def of(cls, split: EdgeSplit, graph: Graph, is_end: NDArray[np.bool_]) -> _End:
        """Let nodes that have lost all their edges stand for the isolated ones, other nodes for themselves.

        In a split by time, nodes that have lost earlier edges, too, stand for none. Isolated nodes count as
        new, as if all of them will get relationships. If most nodes are isolated, that is their normal state:
        only as many will get relationships as have lost theirs. Between a third and two thirds, the share
        changes steadily.
        """
        isolated, kept = graph.degrees == 0, split.train.degrees > 0
        was_linked = kept.copy()
        if split.since is not None and graph.edge_times is not None:
            edges, is_earlier = graph.edges, ~(graph.edge_times >= split.since)  # or without a time
            for ends in (edges.row, edges.col):
                was_linked[ends[is_earlier]] = True
        has_lost = is_end & ~was_linked & ~isolated
        n_isolated, n_lost = int((is_end & isolated).sum()), int(has_lost.sum())
        standing = np.where(has_lost, n_isolated / max(n_lost, 1), kept.astype(np.float64))
        share = min((n_lost + _PRIOR) / (n_isolated + _PRIOR), 1.0)
        normal = np.clip(3.0 * n_isolated / max(int(is_end.sum()), 1) - 1.0, 0.0, 1.0)
        return cls(standing, float(share**normal))


def _of_open(
    split: EdgeSplit,
    asked: CandidatePairs,
    full: Sequence[NDArray[np.bool_]],
    drawn: Sample,
    earlier: Rows,
) -> tuple[Array, NDArray[np.bool_]]:
    """Return how much each pair counts for the nodes that rules leave open, in the whole graph; shape (m,).

    `asked` are the candidates that are open in training, `full` masks of the sources and of the targets that
    are not open in the whole graph. A node that has lost its only link is both: its other pairs do not count,
    and its link counts as one that an open node lacks, of which there are not more than open nodes. In a
    split by time, all its pairs count, as it was open before its link; unless that is one of the `earlier`
    held-out links. The mask is of the pairs of such nodes, without a split by time.
    """
    counts, pairs = np.ones(len(drawn.pairs)), drawn.pairs
    is_reopened = np.zeros(len(pairs), dtype=np.bool_)
    linked, nodes = split.train.degrees > 0, np.arange(split.train.n_nodes)
    for end, (is_end, is_full) in enumerate(zip((asked.is_source, asked.is_target), full, strict=True)):
        has_lost = is_end & linked & is_full
        if split.since is not None:
            counts[(has_lost & np.isin(nodes, earlier[:, end]))[pairs[:, end]]] = 0.0
            continue
        n_open, n_lost = int((is_end & linked & ~is_full).sum()), int(has_lost.sum())
        each = min(max(n_open, 1) / max(n_lost, 1), 1.0)
        own = has_lost[pairs[:, end]]
        counts[own] *= np.where(drawn.is_link[own], each, 0.0)
        is_reopened |= own
    return counts, is_reopened


def _draw(
    candidates: CandidatePairs,
    asked: CandidatePairs,
    surroundings: Surroundings,
    own: Rows,
    held: Rows,
    most: MostSources,
    *,
    is_fitted: NDArray[np.bool_],
    is_measured: NDArray[np.bool_],
) -> Sample:
    """Sample sources with all candidates that rules leave open (`asked`), and negatives.

    Masks are of the `held` links. Predictions are made among candidates only, but a score fitted to
    candidates alone could not separate them from other pairs. The sample has no features yet.
    """
    n = len(candidates.is_source)
    seed = [len(held), len(candidates.sources), len(candidates.targets)]
    full = np.setdiff1d(candidates.sources, np.append(asked.sources, held[:, 0]))
    drawn = draw_sources(asked, held, _MOST_LINKS, seed, most)
    asked = asked.of_sources(np.union1d(drawn.sources, drawn.linked))
    listed = surroundings.of(candidates, asked).every_pair(surroundings.likeness.workers)
    links = held[np.isin(held[:, 0], drawn.linked)]
    fitted = held[is_fitted & np.isin(held[:, 0], drawn.linked)]
    fitted = fitted[:: max(-(-len(fitted) // most.fitted_links), 1)]
    measured = listed[np.isin(listed[:, 0], drawn.sources)]
    others = _others(candidates, np.sort(own @ (n, 1)), fitted)
    others = others[~candidates.are_joined(others)]  # a reverse relationship also rules a pair out
    more = fitted[~np.isin(fitted @ (n, 1), measured @ (n, 1))]
    # Full sources are not asked, but their candidates show, too, what is no link.
    some = np.random.default_rng([*seed, 2]).permutation(full)[: most.others]
    of_full = candidates.of_sources(some)
    beside = surroundings.of(candidates, of_full).every_pair(surroundings.likeness.workers)
    pairs = np.concatenate((measured, more, others, beside))
    codes = pairs @ (n, 1)
    is_link, is_candidate = np.isin(codes, links @ (n, 1)), np.arange(len(pairs)) < len(measured)
    weight, as_candidate = np.ones(len(pairs)), np.zeros(len(pairs))
    of_source = np.searchsorted(drawn.sources, measured[:, 0])
    weight[is_candidate] = drawn.weight[of_source]
    # Candidates are sampled with their source. A link of an unmeasured source gets the rate of such links.
    as_candidate[is_candidate] = 1.0 / drawn.weight_fitted[of_source]
    only_measured = is_candidate & (as_candidate == 0.0)
    as_candidate[len(pairs) - len(beside) :] = len(some) / max(len(full), 1)
    unmeasured = is_link & ~is_candidate & np.isin(codes, listed @ (n, 1))
    as_candidate[unmeasured] = drawn.share_of_linked
    rate = _rate(candidates, fitted, pairs) + as_candidate
    share = max(len(fitted), 1) / max(int(is_fitted.sum()), 1)
    is_candidate &= ~np.isin(codes, held[~is_measured] @ (n, 1))
    measured_links = held[is_measured & np.isin(held[:, 0], drawn.sources)]
    return Sample(
        n_relationships=len(own),
        n_links=int(is_measured.sum()),
        n_asked=len(measured_links),
        n_sources=len(np.unique(measured_links[:, 0])),
        pairs=pairs,
        place=np.searchsorted(candidates.sources, pairs[:, 0]),
        is_link=is_link,
        is_fitted=~(is_link | only_measured) | np.isin(codes, fitted @ (n, 1)),
        is_candidate=is_candidate,
        weight=weight,
        offset=np.log(share) - np.log(np.maximum(rate, _LEAST)),
    )


def _others(candidates: CandidatePairs, codes: Rows, links: Rows) -> Rows:
    """Draw negatives: non-links with the source of a link, with the target of one, or with neither."""
    n, m = len(candidates.is_source), len(links)
    generator = np.random.default_rng([m, len(candidates.sources), len(candidates.targets), 1])
    pairs = np.repeat(links, _SAME_SOURCE + _SAME_TARGET + _ANY, axis=0)
    place = np.tile(np.arange(_SAME_SOURCE + _SAME_TARGET + _ANY), m)
    keeps_source = place < _SAME_SOURCE
    keeps_target = ~keeps_source & (place < _SAME_SOURCE + _SAME_TARGET)
    if len(pairs):
        pairs[~keeps_target, 1] = generator.choice(candidates.targets, size=int((~keeps_target).sum()))
        pairs[~keeps_source, 0] = generator.choice(candidates.sources, size=int((~keeps_source).sum()))
    is_other = (pairs[:, 0] != pairs[:, 1]) & ~np.isin(pairs @ (n, 1), codes)
    return np.asarray(pairs[is_other])


def _rate(candidates: CandidatePairs, links: Rows, pairs: Rows) -> Array:
    """Return the expected number of times that `_others` draws each pair."""
    n = len(candidates.is_source)
    of_source, of_target = (np.bincount(links[:, end], minlength=n) for end in (0, 1))
    n_sources, n_targets = max(len(candidates.sources), 1), max(len(candidates.targets), 1)
    return np.asarray(
        _SAME_SOURCE * of_source[pairs[:, 0]] / n_targets
        + _SAME_TARGET * of_target[pairs[:, 1]] / n_sources
        + _ANY * len(links) / (n_sources * n_targets)
    )
