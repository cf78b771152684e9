"""Learn schema rules from a graph's relationships."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betaincinv, pdtrc

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import ends_of, relationships_of
from heat_neo4j.linkpred.rules.links_of_type import LinksOfType, counts_at
from heat_neo4j.linkpred.rules.pattern_rules import Bound, Evidence, Exclusion, PatternRules
from heat_neo4j.linkpred.rules.schema_rules import SchemaRules
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_RARE = 0.05  # maximum upper bound of the share of exceptions
_RARELY_BACK = 0.01  # the same for reciprocated links and cycles
_BELOW_CHANCE = 0.2  # maximum ratio of exceptions (upper bound) to exceptions by chance
_TAIL = 0.05  # probability beyond a confidence bound
_Z = 1.645  # the same in standard errors
_SAMPLE = 5_000  # relationships of a pattern sampled for the chain and exclusion tests
_SHUFFLES = 3
_SWAPS = 10  # swaps per relationship
_MOVES = 4  # random moves of each end of a sampled relationship, by one step and by two


def learn_schema_rules(graph: Graph, patterns: Sequence[Pattern | None]) -> SchemaRules:
    r"""Learn schema rules from a graph's relationships.

    A rule requires that exceptions are rare: at most 5 % (1 % for reciprocated links and cycles) by the upper
    end of a 95 % interval (Clopper and Pearson), and at most a fifth of the number expected by chance. A few
    dozen relationships are therefore too few. The rules of a pattern:

    - At most one relationship per source, or per target: nodes with one hardly ever have more. Where that
      holds for the whole type, relationships of its other patterns count, too: a function is defined in a
      module or in a class. Chance: relationships spread evenly over the nodes of the label.
    - One way: relationships of the pattern are hardly ever reciprocated.
    - No cycles: relationships are hardly ever on a cycle of their type. Chance: shuffled targets.
    - No shortcuts: hardly any relationship joins two nodes that a chain of two or more of the type joins.
      Chance: as for cycles; if the type has no cycles, shuffles that add none.
    - Exclusion: another type hardly ever joins the same pair, in the same or in the opposite direction.
      Chance: one end replaced by a node one or two steps away.

    Parameters
    ----------
    graph : Graph
        Graph to propose links for. To evaluate proposals on test edges, pass the training graph.
    patterns : sequence of Pattern
        Patterns to propose; ``[None]`` for an undirected graph, which has no rules to learn.

    Returns
    -------
    SchemaRules

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from heat_neo4j.graph import Graph, Relationships
    >>> from heat_neo4j.patterns import Pattern
    >>> film, director = np.arange(100), 100 + np.arange(100) % 30
    >>> graph = Graph(
    ...     sparse.csr_array((np.ones(100), (director, film)), shape=(130, 130)),
    ...     labels={"Director": np.arange(130) >= 100, "Film": np.arange(130) < 100},
    ...     relationships=Relationships.from_pairs({"DIRECTED": (director, film)}),
    ... )
    >>> pattern = Pattern("Director", "DIRECTED", "Film")
    >>> rules = learn_schema_rules(graph, [pattern])
    >>> print(*rules.sentences(), sep="\n")
    each Film has at most one incoming DIRECTED from a Director (100 of 100 have one, 0 more; 26 by chance)
    >>> rules.forbidden(graph, pattern, np.array([[100, 5], [100, 0]])).tolist()
    [4, 2]
    """
    if graph.relationships is None:
        return SchemaRules(tuple(PatternRules(each, graph.n_edges) for each in patterns))
    learner = _Learner(graph)
    return SchemaRules(tuple(learner.learn(each) for each in patterns if each is not None))


class _Shuffled(LinksOfType):
    """Relationships with targets shuffled among relationships of the same labels."""

    def __init__(self, source: Rows, target: Rows, n: int) -> None:
        super().__init__(sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n)))
        self.source, self.target = source, target


class _Learner:
    """Learns the rules of one pattern at a time."""

    def __init__(self, graph: Graph) -> None:
        assert graph.relationships is not None
        self._graph, self._relationships = graph, graph.relationships
        _, self._labels = graph.label_sets()
        self._types: dict[str, LinksOfType] = {}
        self._shuffles: dict[tuple[str, bool], list[_Shuffled]] = {}

    def learn(self, pattern: Pattern) -> PatternRules:
        source, target = relationships_of(self._graph, pattern)
        if not len(source):
            return PatternRules(pattern, 0)
        per_source, per_target = (self._bound(pattern, end) for end in (0, 1))
        is_bounded = per_source is not None or per_target is not None
        one_way, acyclic, direct = self._directions(pattern, is_bounded)
        return PatternRules(
            pattern,
            max_links=len(source),
            per_source=per_source,
            per_target=per_target,
            one_way=one_way,
            acyclic=acyclic,
            direct=direct,
            exclusions=self._exclusions(pattern, source, target),
        )

    def _bound(self, pattern: Pattern, end: int) -> Bound | None:
        """Return the bound of the whole type if it has one and other patterns, or else of the pattern."""
        is_end = ends_of(self._graph, pattern)[end]
        own, of_type = (counts_at(self._graph, pattern, end, of_type=each)[is_end] for each in (False, True))
        is_wider = not np.array_equal(own, of_type)
        bound = self._bound_of(of_type) if is_wider else None
        return self._bound_of(own) if bound is None else replace(bound, of_type=True)

    def _bound_of(self, counts: Rows) -> Bound | None:
        n_nodes, some = len(counts), counts[counts > 0]
        most = int(np.median(some))
        n_full = int(np.count_nonzero(some == most))
        by_chance = n_nodes * float(pdtrc(most, counts.sum() / n_nodes))  # Poisson's tail
        evidence = Evidence(len(some), int(np.count_nonzero(some > most)), by_chance)
        if most > 1 or not is_rule(evidence):  # equal degrees above one, as in a lattice, are no rule
            return None
        return Bound(most, n_full, evidence)

    def _directions(
        self, pattern: Pattern, is_bounded: bool
    ) -> tuple[Evidence | None, Evidence | None, Evidence | None]:
        """Return the evidence for the one-way, no-cycle and no-shortcut rules."""
        is_source, is_target = ends_of(self._graph, pattern)
        source, target = (ends.astype(np.int64) for ends in self._relationships.of(pattern.type))
        own = np.flatnonzero(is_source[source] & is_target[target])
        either = own[is_source[target[own]] & is_target[source[own]]]
        real = self._links(pattern.type)
        answered = Evidence(len(either), int(real.join(target[either], source[either]).sum()), None)
        one_way = answered if len(either) and is_rule(answered, _RARELY_BACK) else None
        if not np.intersect1d(source, target).size:
            return one_way, None, None
        sample = own if len(own) <= _SAMPLE else np.sort(_generator().choice(own, _SAMPLE, replace=False))

        def on_cycles(links: LinksOfType, source: Rows, target: Rows) -> int:
            same = links.component[source[own]] == links.component[target[own]]
            return int(np.count_nonzero(same & (source[own] != target[own])))

        def into_cycles(links: LinksOfType, source: Rows, target: Rows) -> int:
            return int(np.count_nonzero(links.lead_to_cycle[target[own]]))

        def beside_chains(links: LinksOfType, source: Rows, target: Rows) -> int:
            u, v = source[sample], target[sample]
            return int(links.chain(u[u != v], v[u != v], undecided=links is real).sum())

        def judged(count: Callable[[LinksOfType, Rows, Rows], int], n: int, rare: float) -> Evidence | None:
            exceptions = count(real, source, target)
            if _upper(exceptions, n) > rare:  # skips the expensive shuffles
                return None
            shuffled = self._shuffled(pattern.type, ordered=acyclic is not None)
            least = min(count(each, each.source, each.target) for each in shuffled)
            evidence = Evidence(n, exceptions, float(least))
            return evidence if is_rule(evidence, rare) else None

        acyclic = None
        if on_cycles(real, source, target):
            acyclic = judged(on_cycles, len(own), _RARELY_BACK)
        else:
            acyclic = judged(into_cycles, len(own), _RARE)
            # Where each node has one parent, shuffles are often trees, too, and only roots are left to link.
            if acyclic is None and is_bounded and is_rule(never := Evidence(len(own), 0, None)):
                acyclic = never
        return one_way, acyclic, judged(beside_chains, len(sample), _RARE)

    def _links(self, kind: str) -> LinksOfType:
        if kind not in self._types:
            self._types[kind] = LinksOfType.of(self._graph, kind)
        return self._types[kind]

    def _shuffled(self, kind: str, *, ordered: bool) -> list[_Shuffled]:
        """Return shuffled graphs with the same in- and out-degrees by a type as the real graph.

        If `ordered`, shuffles add no cycles: each relationship still leads down an order of the nodes, as
        citations lead to earlier papers. Otherwise chains would be far more frequent than in any hierarchy.
        """
        shuffled = self._shuffles.setdefault((kind, ordered), [])
        if not shuffled:
            n = self._graph.n_nodes
            source, target = (ends.astype(np.int64) for ends in self._relationships.of(kind))
            group = self._labels[source] * (self._labels.max() + 1) + self._labels[target]
            # SciPy numbers components in reverse topological order, so relationships lead down.
            order = self._links(kind).component if ordered else None
            rng = _generator()
            shuffled += [
                _Shuffled(source, _shuffle(source, target, group, order, rng), n) for _ in range(_SHUFFLES)
            ]
        return shuffled

    def _exclusions(self, pattern: Pattern, source: Rows, target: Rows) -> tuple[Exclusion, ...]:
        types = list(self._relationships.types)
        if len(types) < 2:
            return ()
        weights = np.ones(len(source))
        joined = self._joined_by(source, target, weights)  # relationships whose pair each type joins
        by_chance = self._near(pattern, source, target) * len(source)
        is_source, is_target = ends_of(self._graph, pattern)
        found = []
        for place, same_way in zip(*np.nonzero(by_chance > 0), strict=True):
            kind, count = types[place], int(joined[place, same_way])
            evidence = Evidence(len(source), count, float(by_chance[place, same_way]))
            if kind == pattern.type or not is_rule(evidence):
                continue
            first, last = self._relationships.of(kind) if same_way else self._relationships.of(kind)[::-1]
            n_of_kind = int(np.count_nonzero(is_source[first] & is_target[last]))
            if _upper(count, n_of_kind) <= _RARE:
                found.append(Exclusion(kind, bool(same_way), evidence))
        return tuple(found)

    def _near(self, pattern: Pattern, source: Rows, target: Rows) -> Array:
        """Return the share of pairs near the pattern's relationships that each type joins, shape (T, 2).

        Column 0 counts relationships in the opposite direction. Shares are lower confidence bounds; all pairs
        near one relationship count as one observation.
        """
        rng = _generator()
        shape = (len(self._relationships.types), 2)
        if len(source) > _SAMPLE:
            chosen = np.sort(rng.choice(len(source), _SAMPLE, replace=False))
            source, target = source[chosen], target[chosen]
        is_source, is_target = ends_of(self._graph, pattern)
        u: list[Rows] = []
        v: list[Rows] = []
        of: list[Rows] = []
        for _ in range(_MOVES):
            for fixed, moved, suits, way in ((source, target, is_target, 1), (target, source, is_source, -1)):
                once = self._step(moved, fixed, fixed, rng)
                for other in (once, self._step(once, moved, fixed, rng)):
                    good = np.flatnonzero((other >= 0) & suits[other])
                    first, last = (fixed[good], other[good])[::way]
                    u.append(first)
                    v.append(last)
                    of.append(good)
        of_pair = np.concatenate(of)
        n_pairs = np.bincount(of_pair, minlength=len(source))
        n = np.count_nonzero(n_pairs)
        if n < 2:
            return np.zeros(shape)
        weights = (1.0 / np.maximum(n_pairs, 1))[of_pair]
        pairs = np.concatenate(u), np.concatenate(v)
        mean = self._joined_by(*pairs, weights) / n
        square = self._joined_by(*pairs, weights, of_pair) / n
        error = np.sqrt(np.maximum(square - mean**2, 0.0) / n)
        return np.maximum(mean - _Z * error, 0.0)

    def _step(self, at: Rows, back: Rows, fixed: Rows, rng: np.random.Generator) -> Rows:
        """Return a random neighbour of each node; -1 if it is one of two given nodes or there is none."""
        indptr, indices = self._graph.adjacency.indptr, self._graph.adjacency.indices
        degree = np.where(at < 0, 0, self._graph.degrees[at])
        place = indptr[at] + (rng.random(len(at)) * degree).astype(np.int64)
        other = np.where(degree > 0, indices[np.minimum(place, len(indices) - 1)], -1).astype(np.int64)
        return np.where((other == back) | (other == fixed), -1, other)

    def _joined_by(self, u: Rows, v: Rows, weights: Array, of: Rows | None = None) -> Array:
        """Return the total weight of pairs that each type joins, shape (T, 2): opposite, same direction.

        With `of`, the sum of squared totals per observation.
        """
        total = np.zeros((len(self._relationships.types), 2))
        n = np.int64(self._graph.n_nodes)
        codes, kinds = self._codes
        for same_way, wanted in enumerate((v * n + u, u * n + v)):
            low, high = np.searchsorted(codes, wanted), np.searchsorted(codes, wanted, side="right")
            counts = high - low
            pair = np.repeat(np.arange(len(wanted)), counts)
            place = np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(len(pair))
            kind, weight = kinds[place], weights[pair]
            if of is not None:
                each, which = np.unique(of[pair] * len(total) + kind, return_inverse=True)
                kind = each % len(total)
                weight = np.square(np.bincount(which, weight, len(each)))
            total[:, same_way] = np.bincount(kind, weight, len(total))
        return total

    @cached_property
    def _codes(self) -> tuple[Rows, Rows]:
        """Relationships of all types as codes source * N + target, sorted, and each one's type index."""
        ends = self._relationships
        codes = ends.source.astype(np.int64) * self._graph.n_nodes + ends.target
        kinds = np.repeat(np.arange(len(ends.types)), np.diff(ends.starts))
        order = np.argsort(codes, kind="stable")
        return codes[order], kinds[order]


def _shuffle(
    source: Rows, target: Rows, group: Rows, order: NDArray[np.int32] | None, rng: np.random.Generator
) -> Rows:
    """Shuffle the targets within each group; given an order, by swaps that respect it."""
    shuffled = target.copy()
    if order is None:
        by_group = np.argsort(group, kind="stable")
        shuffled[by_group] = target[np.lexsort((rng.random(len(group)), group))]
        return shuffled
    for _ in range(_SWAPS):
        drawn = np.lexsort((rng.random(len(group)), group))
        a, b = drawn[: len(drawn) // 2 * 2].reshape(-1, 2).T
        leads_down = (order[source[a]] > order[shuffled[b]]) & (order[source[b]] > order[shuffled[a]])
        a, b = (each[(group[a] == group[b]) & leads_down] for each in (a, b))
        shuffled[a], shuffled[b] = shuffled[b], shuffled[a]
    return shuffled


def _generator() -> np.random.Generator:
    """Return a generator with a fixed seed, so no rule depends on which patterns are learned before."""
    return np.random.default_rng(0)


def is_rule(evidence: Evidence, rare: float = _RARE) -> bool:
    """Return whether exceptions are rare, and far rarer than by chance."""
    most = _upper(evidence.n_exceptions, evidence.n)
    return most <= rare and (
        evidence.by_chance is None or most * evidence.n <= _BELOW_CHANCE * evidence.by_chance
    )


def _upper(count: int, n: int) -> float:
    """Return the one-sided upper confidence bound of a share (Clopper and Pearson, 1934)."""
    return 1.0 if count >= n else float(betaincinv(count + 1, n - count, 1.0 - _TAIL))
