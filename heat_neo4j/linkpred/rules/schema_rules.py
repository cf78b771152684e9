"""Apply schema rules to proposed links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.chains import choose
from heat_neo4j._utils.display import plural
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import CandidatePairs
from heat_neo4j.linkpred.rules.links_of_type import LinksOfType, counts_at
from heat_neo4j.linkpred.rules.pattern_rules import Bound, PatternRules, Rule
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_Test = Callable[[Rows, Rows], NDArray[np.bool_]]

_FORBIDDEN = -2  # result of `choose` for a pair that may not be proposed


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
        links = LinksOfType.of(graph, "" if pattern is None else pattern.type)

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
            other = LinksOfType.of(graph, each.type)
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
        found = {}
        for end, rule in enumerate((Rule.PER_SOURCE, Rule.PER_TARGET)):
            found[rule] = np.zeros(graph.n_nodes, dtype=np.bool_)
            if bound := self._bound(pattern, end):
                found[rule] = counts_at(graph, pattern, end, of_type=bound.of_type) >= bound.most
        return found

    def allow_one(self, pattern: Pattern | None) -> tuple[bool, bool]:
        """Return whether each source, and each target, has at most one relationship of a pattern.

        Parameters
        ----------
        pattern : Pattern, optional
            A pattern with rules.

        Returns
        -------
        tuple of bool

        Raises
        ------
        KeyError
            If the pattern has no rules.
        """
        per_source, per_target = (self._bound(pattern, end) for end in (0, 1))
        return (
            per_source is not None and per_source.most == 1,
            per_target is not None and per_target.most == 1,
        )

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

    def open(self, graph: Graph, candidates: CandidatePairs) -> CandidatePairs:
        """Return the candidates of a pattern without full nodes and excluded pairs.

        Parameters
        ----------
        graph : Graph
            Graph with the existing relationships.
        candidates : CandidatePairs
            Candidates of a pattern with rules.

        Returns
        -------
        CandidatePairs

        Raises
        ------
        KeyError
            If the pattern has no rules.
        """
        joined = sparse.csr_array(candidates.joined + self.excluded(graph, candidates.pattern))
        full = self.full(graph, candidates.pattern)
        return replace(candidates.without(*full.values()), joined=joined)

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
            for rule, text in rules.sentences():
                line = text
                for counts, what, end in ((left_out, "node", "left out"), (dropped, "proposal", "dropped")):
                    count = (counts or {}).get(rules.pattern, {}).get(rule, 0)
                    line += f"; {plural(count, what)} {end}" if count else ""
                lines.append(line)
        return lines

    def full_at(self, graph: Graph, row: int, end: Rule) -> list[Pattern | None]:
        """Return the patterns of which a node has its maximum number of relationships, at one end of them."""
        return [each.pattern for each in self.rules if self.full(graph, each.pattern)[end][row]]

    def sentence(self, pattern: Pattern | None, rule: Rule) -> str:
        """Return one rule of a pattern, with its evidence."""
        return dict(self._of(pattern).sentences())[rule]

    def _of(self, pattern: Pattern | None) -> PatternRules:
        return self._by_pattern[pattern]

    @cached_property
    def _by_pattern(self) -> dict[Pattern | None, PatternRules]:
        return {each.pattern: each for each in self.rules}

    def _room(
        self, graph: Graph, patterns: Sequence[Pattern | None], pattern: Rows, pairs: Rows, end: int
    ) -> tuple[Rows, Rows]:
        """Group the proposals by one end and its bound; return each one's group and each group's capacity.

        Patterns of a type share a bound of that type.
        """
        group, room, n_groups = np.full(len(pairs), -1, dtype=np.int64), [np.empty(0, np.int64)], 0
        sharing: dict[Pattern | str | None, list[int]] = {}
        for place, each in enumerate(patterns):
            if bound := self._bound(each, end):
                sharing.setdefault(each.type if each and bound.of_type else each, []).append(place)
        for places in sharing.values():
            first, own = patterns[places[0]], np.flatnonzero(np.isin(pattern, places))
            bound = self._bound(first, end)
            assert bound is not None
            nodes, which = np.unique(pairs[own, end], return_inverse=True)
            group[own] = n_groups + which
            room.append(bound.most - counts_at(graph, first, end, of_type=bound.of_type)[nodes])
            n_groups += len(nodes)
        return group, np.concatenate(room)

    def _bound(self, pattern: Pattern | None, end: int) -> Bound | None:
        return self._of(pattern).per_target if end else self._of(pattern).per_source

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


def _numbered(values: Rows) -> Rows:
    return np.unique(values, return_inverse=True)[1].ravel().astype(np.int64)
