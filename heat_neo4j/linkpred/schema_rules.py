"""Schema rules: constraints on links that are learned from a graph's relationships and stated in words.

A rule is learned if exceptions are rare, and far rarer than by chance. Chance means a graph with the same
degrees (cardinality, cycles, chains) or pairs near a relationship of the type (exclusion). The rules
correspond to cardinality, irreflexivity, asymmetry and disjointness in ontologies; see E. Munoz, P. Minervini
and M. Nickles, "Embedding cardinality constraints in neural link predictors", SAC (2019).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import betaincinv, pdtrc

from heat_neo4j._kernels.chains import choose, have_chain
from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.graph import Graph, entries
from heat_neo4j.linkpred.candidates import ends_of, relationships_of
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_Test = Callable[[Rows, Rows], NDArray[np.bool_]]

_RARE = 0.05  # maximum upper bound of the share of exceptions
_RARELY_BACK = 0.01  # the same for reciprocated links and cycles
_BELOW_CHANCE = 0.2  # maximum ratio of exceptions (upper bound) to exceptions by chance
_TAIL = 0.05  # probability beyond a confidence bound
_Z = 1.645  # the same in standard errors
_SAMPLE = 5_000  # relationships of a pattern sampled for the chain and exclusion tests
_SHUFFLES = 3
_SWAPS = 10  # swaps per relationship
_MOVES = 4  # random moves of each end of a sampled relationship, by one step and by two
_SEARCHED_LINKS = 2_000  # relationships visited per pair by the chain search
_FORBIDDEN = -2  # result of `choose` for a pair that may not be proposed
_LONGEST = 40  # maximum characters of a name in a sentence


class Rule(IntEnum):
    """Reason why a pair is not proposed; the first that applies."""

    ALLOWED = 0
    SELF = 1  # a self-loop
    LINKED = 2  # the type links the pair already
    PER_SOURCE = 3  # the source has its maximum number of relationships
    PER_TARGET = 4  # the target has its maximum number of relationships
    ONE_WAY = 5  # the type links the reversed pair, and the pattern's relationships are not reciprocated
    CYCLE = 6  # the link would close a cycle, and the type forms none
    IMPLIED = 7  # a chain of the type leads to the target, and the type has no links beside chains
    EXCLUDED = 8  # a relationship or likelier proposal of an excluding type joins the pair
    ONE_OF_PAIR = 9  # a likelier proposal of the type joins the two nodes
    MOST_LINKS = 10  # likelier proposals use up the pattern's maximum number of links


@dataclass(frozen=True)
class Evidence:
    """Observed number of exceptions to a rule, and the number expected by chance."""

    n: int  # relationships or nodes examined
    n_exceptions: int
    by_chance: float | None  # expected exceptions; None if the rule is not compared with chance


@dataclass(frozen=True)
class Bound:
    """Maximum number of relationships of a pattern at a node."""

    most: int
    n_full: int  # nodes with exactly that number
    evidence: Evidence  # nodes with at least one relationship; those with more than `most` are exceptions


@dataclass(frozen=True)
class Exclusion:
    """A type that joins no pair that the pattern joins."""

    type: str
    same_way: bool  # whether both types have the same direction or opposite ones
    evidence: Evidence


@dataclass(frozen=True)
class PatternRules:
    """The rules of one pattern; None for a rule that was not learned."""

    pattern: Pattern | None
    max_links: int
    per_source: Bound | None = None
    per_target: Bound | None = None
    one_way: Evidence | None = None
    acyclic: Evidence | None = None
    direct: Evidence | None = None  # no direct relationship beside a chain of the type
    exclusions: tuple[Exclusion, ...] = ()


class Selection(NamedTuple):
    """Kept and dropped proposals."""

    kept: NDArray[np.bool_]  # (m,)
    rule: NDArray[np.int8]  # (m,): the `Rule` that drops each proposal; 0 if it is kept
    dropped: tuple[dict[Rule, int], ...]  # number of proposals dropped by each rule, for each pattern


@dataclass(frozen=True)
class SchemaRules:
    """The schema rules of several patterns, as returned by `learn_schema_rules`.

    Parameters
    ----------
    rules : tuple of PatternRules
        One for each pattern; the pattern of an undirected graph is None.
    """

    rules: tuple[PatternRules, ...]

    def forbidden(
        self, graph: Graph, pattern: Pattern | None, pairs: Rows, *, ignored: Rule | None = None
    ) -> NDArray[np.int8]:
        """Return the rule that forbids each pair, or 0.

        Parameters
        ----------
        graph : Graph
            Graph with the existing relationships.
        pattern : Pattern, optional
            A pattern with rules.
        pairs : int64 array of shape (m, 2)
            Rows of the graph, source and target.
        ignored : Rule, optional
            A rule that is not applied.

        Returns
        -------
        int8 array of shape (m,)
            The first `Rule` that applies; 0 if the pair may be proposed. The chain search visits at most
            2,000 relationships per pair, so it can miss a long chain through hubs.

        Raises
        ------
        KeyError
            If the pattern has no rules.
        """
        rules = self._of(pattern)
        found = np.zeros(len(pairs), dtype=np.int8)
        links = _Links(graph, "" if pattern is None else pattern.type)

        def forbid(rule: Rule, test: _Test) -> None:
            if rule == ignored:
                return
            undecided = np.flatnonzero(found == Rule.ALLOWED)
            found[undecided[test(*pairs[undecided].T)]] = rule

        forbid(Rule.SELF, np.equal)
        forbid(Rule.LINKED, links.join)
        full = self.full(graph, pattern)
        forbid(Rule.PER_SOURCE, lambda u, _: full[Rule.PER_SOURCE][u])
        forbid(Rule.PER_TARGET, lambda _, v: full[Rule.PER_TARGET][v])
        if rules.one_way is not None:
            forbid(Rule.ONE_WAY, links.join_back)
        if rules.acyclic is not None:
            forbid(Rule.CYCLE, links.lead_back)
        if rules.direct is not None:
            forbid(Rule.IMPLIED, links.chain)
        for each in rules.exclusions:
            other = _Links(graph, each.type)
            forbid(Rule.EXCLUDED, other.join if each.same_way else other.join_back)
        return found

    def full(self, graph: Graph, pattern: Pattern | None) -> dict[Rule, NDArray[np.bool_]]:
        """Return masks of the nodes that have their maximum number of relationships of a pattern.

        Parameters
        ----------
        graph : Graph
            Graph with the existing relationships.
        pattern : Pattern, optional
            A pattern with rules.

        Returns
        -------
        dict of Rule to bool array of shape (N,)
            Full sources under `Rule.PER_SOURCE`, full targets under `Rule.PER_TARGET`.

        Raises
        ------
        KeyError
            If the pattern has no rules.
        """
        rules, found = self._of(pattern), {}
        ends = {Rule.PER_SOURCE: rules.per_source, Rule.PER_TARGET: rules.per_target}
        for end, (rule, bound) in enumerate(ends.items()):
            nobody = np.zeros(graph.n_nodes, dtype=np.bool_)
            found[rule] = nobody if bound is None else _counts(graph, pattern, end) >= bound.most
        return found

    def excluded(self, graph: Graph, pattern: Pattern | None) -> sparse.csr_array:
        """Return a matrix, (N, N), that is nonzero at pairs joined by a type that excludes the pattern.

        Parameters
        ----------
        graph : Graph
            Graph with the existing relationships.
        pattern : Pattern, optional
            A pattern with rules.

        Returns
        -------
        scipy.sparse.csr_array

        Raises
        ------
        KeyError
            If the pattern has no rules.
        """
        total = sparse.csr_array((graph.n_nodes, graph.n_nodes))
        for each in self._of(pattern).exclusions:
            assert graph.relationships is not None
            links = graph.relationships.matrix(each.type, graph.n_nodes)
            total = total + (links if each.same_way else links.T)
        return sparse.csr_array(total)

    def apply(
        self, graph: Graph, patterns: Sequence[Pattern | None], pattern: Rows, pairs: Rows, scores: Array
    ) -> Selection:
        """Select proposals greedily by descending score.

        A proposal is dropped if a rule forbids it or better proposals block it: its source, target or pattern
        has reached the maximum, or a proposal of the same or of an excluding type joins the two nodes. Ties
        are broken by pattern, source and target. Two proposals that close a cycle only together are both
        kept.

        Parameters
        ----------
        graph : Graph
            Graph with the existing relationships.
        patterns : sequence of Pattern
            Patterns of the proposals.
        pattern : int64 array of shape (m,)
            Index of each proposal's pattern in `patterns`.
        pairs : int64 array of shape (m, 2)
            Rows of the graph, (source, target), in any order.
        scores : float64 array of shape (m,)
            Scores, higher is likelier; must be comparable between patterns.

        Returns
        -------
        Selection

        Raises
        ------
        KeyError
            If a pattern has no rules.
        """
        order = np.lexsort((pairs[:, 1], pairs[:, 0], pattern, -scores))
        rule = np.zeros(len(pairs), dtype=np.int8)
        for place, each in enumerate(patterns):
            own = np.flatnonzero(pattern == place)
            rule[own] = self.forbidden(graph, each, pairs[own])
        pairs, pattern, n = pairs[order], pattern[order], np.int64(graph.n_nodes)
        types = ["" if each is None else each.type for each in patterns]
        code = np.array([types.index(kind) for kind in types], dtype=np.int64)
        two_nodes = _numbered(pairs.min(axis=1) * n + pairs.max(axis=1))
        one_of_type = _numbered(two_nodes * len(patterns) + code[pattern])
        of_pattern = np.array([self._of(each).max_links for each in patterns], dtype=np.int64)
        ends = [self._room(graph, patterns, pattern, pairs, end) for end in (0, 1)]
        every = [
            *ends,
            (one_of_type, np.ones(one_of_type.max(initial=-1) + 1, np.int64)),
            (pattern, of_pattern),
        ]
        begins = np.cumsum([0, *(len(room) for _, room in every)])
        groups = [
            np.where(group < 0, -1, group + begin) for (group, _), begin in zip(every, begins, strict=False)
        ]
        obstacle = choose(
            rule[order] == Rule.ALLOWED, np.vstack(groups), np.concatenate([room for _, room in every]),
            two_nodes, pattern, pairs[:, 0] < pairs[:, 1], self._exclusive(patterns),
        )  # fmt: skip
        late = (
            Rule.PER_SOURCE,
            Rule.PER_TARGET,
            Rule.ONE_OF_PAIR,
            Rule.MOST_LINKS,
            Rule.EXCLUDED,
            Rule.ALLOWED,
        )
        judged = obstacle != _FORBIDDEN
        rule[order[judged]] = np.array(late, dtype=np.int8)[obstacle[judged]]  # -1 is the last: allowed
        counts = np.zeros((len(patterns), len(Rule)), dtype=np.int64)
        np.add.at(counts, (pattern, rule[order]), 1)
        dropped = tuple({each: int(row[each]) for each in Rule if each and row[each]} for row in counts)
        return Selection(rule == Rule.ALLOWED, rule, dropped)

    def sentences(
        self,
        dropped: Mapping[Pattern | None, Mapping[Rule, int]] | None = None,
        left_out: Mapping[Pattern | None, Mapping[Rule, int]] | None = None,
    ) -> list[str]:
        """Return one line per rule, with its evidence and the number of proposals that it dropped.

        Parameters
        ----------
        dropped : mapping of Pattern to mapping of Rule to int, optional
            ``dict(zip(patterns, selection.dropped))``, where ``selection`` is the result of `apply`.
        left_out : mapping of Pattern to mapping of Rule to int, optional
            Number of nodes that were skipped because they are `full`.
        """
        lines = []
        for rules in self.rules:
            for rule, text in _in_words(rules):
                line = text
                for counts, what, end in ((left_out, "node", "left out"), (dropped, "proposal", "dropped")):
                    count = (counts or {}).get(rules.pattern, {}).get(rule, 0)
                    line += f"; {plural(count, what)} {end}" if count else ""
                lines.append(line)
        return lines

    def sentences_about(self, graph: Graph, row: int, end: Rule) -> list[str]:
        """Return the rules by which a node has its maximum number of relationships, at one end of them."""
        full = [rules for rules in self.rules if self.full(graph, rules.pattern)[end][row]]
        return [text for rules in full for rule, text in _in_words(rules) if rule == end]

    def sentence(self, pattern: Pattern | None, rule: Rule) -> str:
        """Return one rule of a pattern, with its evidence."""
        return dict(_in_words(self._of(pattern)))[rule]

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON data; `from_dict` reads it."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # lists in the place of tuples
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the rules that `to_dict` described."""
        return cls(tuple(_pattern_rules(each) for each in data["rules"]))

    def _of(self, pattern: Pattern | None) -> PatternRules:
        return self._by_pattern[pattern]

    @cached_property
    def _by_pattern(self) -> dict[Pattern | None, PatternRules]:
        return {each.pattern: each for each in self.rules}

    def _room(
        self, graph: Graph, patterns: Sequence[Pattern | None], pattern: Rows, pairs: Rows, end: int
    ) -> tuple[Rows, Rows]:
        """Group the proposals by pattern and one end; return each one's group and each group's capacity."""
        group, room, n_groups = np.full(len(pairs), -1, dtype=np.int64), [np.empty(0, np.int64)], 0
        for place, each in enumerate(patterns):
            bound = self._of(each).per_target if end else self._of(each).per_source
            own = np.flatnonzero(pattern == place)
            if bound is not None:
                nodes, which = np.unique(pairs[own, end], return_inverse=True)
                group[own] = n_groups + which
                room.append(bound.most - _counts(graph, each, end)[nodes])
                n_groups += len(nodes)
        return group, np.concatenate(room)

    def _exclusive(self, patterns: Sequence[Pattern | None]) -> NDArray[np.bool_]:
        """Return whether two patterns exclude each other, shape (P, P, 2): [opposite, same direction]."""
        excluded = [
            {(each.type, each.same_way) for each in self._of(pattern).exclusions} for pattern in patterns
        ]
        exclusive = np.zeros((len(patterns), len(patterns), 2), dtype=np.bool_)
        for i, own in enumerate(excluded):
            for j, other in enumerate(patterns):
                for same_way in (False, True):
                    if other is not None and (other.type, same_way) in own:
                        exclusive[i, j, int(same_way)] = exclusive[j, i, int(same_way)] = True
        return exclusive


def learn_schema_rules(graph: Graph, patterns: Sequence[Pattern | None]) -> SchemaRules:
    r"""Learn schema rules from a graph's relationships.

    A rule requires that exceptions are rare: at most 5 % (1 % for reciprocated links and cycles) by the upper
    end of a 95 % interval (Clopper and Pearson), and at most a fifth of the number expected by chance. A few
    dozen relationships are therefore too few. The rules of a pattern:

    - At most one relationship per source, or per target: nodes with one hardly ever have more.
      Chance: relationships spread evenly over the nodes of the label.
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


class _Links:
    """Relationships of one type, or the edges of a graph without types."""

    def __init__(self, graph: Graph, kind: str) -> None:
        of_type = graph.relationships
        self._matrix = graph.adjacency if of_type is None else of_type.matrix(kind, graph.n_nodes)

    def join(self, u: Rows, v: Rows) -> NDArray[np.bool_]:
        """Return a mask of the pairs that a relationship joins in this direction."""
        return np.asarray(entries(self._matrix, np.column_stack((u, v))) != 0.0)

    def join_back(self, u: Rows, v: Rows) -> NDArray[np.bool_]:
        """Return a mask of the pairs that a relationship joins in the opposite direction."""
        return self.join(v, u)

    def lead_back(self, u: Rows, v: Rows) -> NDArray[np.bool_]:
        """Return a mask of the pairs with a directed path from v to u."""
        return self.join(v, u) | self.chain(v, u)

    def chain(self, u: Rows, v: Rows, *, undecided: bool = False) -> NDArray[np.bool_]:
        """Return a mask of the pairs with a path of length >= 2 from u to v; `undecided` at the limit."""
        if not len(u):
            return np.empty(0, dtype=np.bool_)
        # The kernel is compiled for contiguous arrays.
        found = have_chain(*self._arrays, *map(np.ascontiguousarray, (u, v)), _SEARCHED_LINKS)
        return np.asarray((found == 1) | (undecided & (found < 0)))

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        back = self._matrix.T.tocsr()
        return tuple(
            array
            for each in (self._matrix, back)
            for array in (each.indptr.astype(np.int64), each.indices.astype(np.int32))
        )

    @cached_property
    def component(self) -> NDArray[np.int32]:
        """Strongly connected component of each node."""
        _, component = connected_components(self._matrix, connection="strong")
        return np.asarray(component)

    @cached_property
    def lead_to_cycle(self) -> NDArray[np.bool_]:
        """Mask of the nodes from which a path leads to a cycle, and of those on one."""
        n = len(self.component)
        on_cycle = np.flatnonzero(np.bincount(self.component)[self.component] > 1)
        # The search starts from one more node, with a step to each node on a cycle, and goes back from there.
        source, target = (ends.astype(np.int64) for ends in self._matrix.nonzero())
        first, second = np.append(target, np.full(len(on_cycle), n)), np.append(source, on_cycle)
        back = sparse.csr_array((np.ones(len(first)), (first, second)), shape=(n + 1, n + 1))
        found = np.zeros(n + 1, dtype=np.bool_)
        found[breadth_first_order(back, n, return_predecessors=False)] = True
        return found[:n]


class _Shuffled(_Links):
    """Relationships with targets shuffled among relationships of the same labels."""

    def __init__(self, source: Rows, target: Rows, n: int) -> None:
        self.source, self.target = source, target
        self._matrix = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n))


class _Learner:
    """Learns the rules of one pattern at a time."""

    def __init__(self, graph: Graph) -> None:
        assert graph.relationships is not None
        self._graph, self._relationships = graph, graph.relationships
        _, self._labels = graph.label_sets()
        self._types: dict[str, _Links] = {}
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
        counts = _counts(self._graph, pattern, end)
        n_nodes = int(np.count_nonzero(ends_of(self._graph, pattern)[end]))
        some = counts[counts > 0]
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

        def on_cycles(links: _Links, source: Rows, target: Rows) -> int:
            same = links.component[source[own]] == links.component[target[own]]
            return int(np.count_nonzero(same & (source[own] != target[own])))

        def into_cycles(links: _Links, source: Rows, target: Rows) -> int:
            return int(np.count_nonzero(links.lead_to_cycle[target[own]]))

        def beside_chains(links: _Links, source: Rows, target: Rows) -> int:
            u, v = source[sample], target[sample]
            return int(links.chain(u[u != v], v[u != v], undecided=links is real).sum())

        def judged(count: Callable[[_Links, Rows, Rows], int], n: int, rare: float) -> Evidence | None:
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

    def _links(self, kind: str) -> _Links:
        if kind not in self._types:
            self._types[kind] = _Links(self._graph, kind)
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


def _counts(graph: Graph, pattern: Pattern | None, end: int) -> Rows:
    """Return each node's number of relationships of a pattern as source (0) or target (1)."""
    assert pattern is not None
    return np.bincount(relationships_of(graph, pattern)[end], minlength=graph.n_nodes)


def _numbered(values: Rows) -> Rows:
    return np.unique(values, return_inverse=True)[1].ravel().astype(np.int64)


def _in_words(rules: PatternRules) -> Iterator[tuple[Rule, str]]:
    """Yield each rule of a pattern with its sentence."""
    if rules.pattern is None:
        return
    source, kind, target = (display_text(name, _LONGEST) for name in rules.pattern)
    source, target = (name or "node" for name in (source, target))
    whole = display_text(str(rules.pattern), 3 * _LONGEST)
    for bound, rule, holder, what in (
        (rules.per_source, Rule.PER_SOURCE, source, f"{kind} to {_a(target)}"),
        (rules.per_target, Rule.PER_TARGET, target, f"incoming {kind} from {_a(source)}"),
    ):
        if bound is not None:
            most = "one" if bound.most == 1 else f"{bound.most:,}"
            seen = bound.evidence
            yield (
                rule,
                (
                    f"each {holder} has at most {most} {what} ({bound.n_full:,} of {seen.n:,} have {most}, "
                    f"{seen.n_exceptions:,} more; {seen.by_chance:,.0f} by chance)"
                ),
            )
    if rules.one_way is not None:
        yield Rule.ONE_WAY, f"{whole} is one-way ({_of(rules.one_way)} are reciprocated)"
    if rules.acyclic is not None:
        do_so = f"{_of(rules.acyclic)} {'are on' if rules.acyclic.n_exceptions else 'lead to'} one"
        chance = rules.acyclic.by_chance
        do_so += "" if chance is None else f"; {chance:,.0f} by chance"
        yield Rule.CYCLE, f"{whole} forms {_none(rules.acyclic)} cycles ({do_so})"
    if rules.direct is not None:
        do_so = f"{_of(rules.direct)} do; {rules.direct.by_chance:,.0f} by chance"
        yield Rule.IMPLIED, f"{whole} joins {_none(rules.direct)} pairs with a chain of {kind} ({do_so})"
    if rules.exclusions:
        others = ", ".join(
            f"{display_text(each.type, _LONGEST)}{'' if each.same_way else ' back'} "
            f"({_of(each.evidence)}; {each.evidence.by_chance:,.0f} of as many pairs nearby)"
            for each in rules.exclusions
        )
        yield Rule.EXCLUDED, f"{whole} excludes {others}"


def _a(label: str) -> str:
    return f"an {label}" if label[0] in "AEIOaeio" else f"a {label}"


def _of(evidence: Evidence) -> str:
    return f"{evidence.n_exceptions:,} of {evidence.n:,}"


def _none(evidence: Evidence) -> str:
    return "hardly any" if evidence.n_exceptions else "no"


def _pattern_rules(data: Mapping[str, Any]) -> PatternRules:
    values = dict(data)
    values["pattern"] = None if data["pattern"] is None else Pattern(*data["pattern"])
    for name in ("per_source", "per_target"):
        if (bound := data[name]) is not None:
            values[name] = Bound(**{**bound, "evidence": Evidence(**bound["evidence"])})
    for name in ("one_way", "acyclic", "direct"):
        if data[name] is not None:
            values[name] = Evidence(**data[name])
    values["exclusions"] = tuple(
        Exclusion(**{**each, "evidence": Evidence(**each["evidence"])}) for each in data["exclusions"]
    )
    return PatternRules(**values)
