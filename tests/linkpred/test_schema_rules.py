"""Schema rules: learned where the relationships say so, silent where they do not, and never overstepped."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from heat_neo4j._kernels.chains import have_chain
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.rules.pattern_rules import Bound, Evidence, Exclusion, PatternRules, Rule
from heat_neo4j.linkpred.rules.schema_rules import SchemaRules
from heat_neo4j.patterns import Pattern

Pairs = tuple[np.ndarray, np.ndarray]
A_TO_A = Pattern("A", "R", "A")


def graph_of(n: int, labels: dict[str, np.ndarray] | None = None, **pairs: Pairs) -> Graph:
    source, target = (np.concatenate([ends[end] for ends in pairs.values()]) for end in (0, 1))
    ones = np.ones(len(source))
    return Graph(
        sparse.csr_array((ones, (source, target)), shape=(n, n)),
        labels=labels or {"A": np.ones(n, dtype=bool)},
        relationships=Relationships.from_pairs(pairs),
    )


def rules_of(graph: Graph, pattern: Pattern = A_TO_A) -> PatternRules:
    (rules,) = learn_schema_rules(graph, [pattern]).rules
    return rules


def random_pairs(rng: np.random.Generator, n: int, m: int) -> Pairs:
    return rng.integers(0, n, m), rng.integers(0, n, m)


def near_pairs(rng: np.random.Generator, n: int, m: int, width: int) -> Pairs:
    """Pairs of nodes that are near on a ring: a graph with many triangles."""
    source = rng.integers(0, n, m)
    return source, (source + rng.integers(1, width + 1, m) * rng.choice((-1, 1), m)) % n


def people(n: int, most: int, rng: np.random.Generator) -> tuple[Graph, Pattern]:
    """Children, each with `most` relationships to adults."""
    child = np.repeat(np.arange(n), most)
    adult = n + np.concatenate([rng.choice(n, most, replace=False) for _ in range(n)])
    labels = {"Child": np.arange(2 * n) < n, "Adult": np.arange(2 * n) >= n}
    return graph_of(2 * n, labels, PARENT=(child, adult)), Pattern("Child", "PARENT", "Adult")


def test_one_relationship_of_a_source_is_learned() -> None:
    most = 1
    graph, pattern = people(300, most, np.random.default_rng(0))
    rules = rules_of(graph, pattern)
    assert rules.per_source is not None
    assert (rules.per_source.most, rules.per_source.n_full) == (most, 300)
    assert rules.per_target is None
    assert rules.max_links == 300 * most
    assert (rules.one_way, rules.acyclic, rules.direct) == (None, None, None)  # no node has both roles


def test_a_bound_of_a_type_counts_the_relationships_of_all_its_patterns() -> None:
    function = np.arange(400)
    owner = np.where(function < 250, 400 + function % 20, 420 + function % 30)
    labels = {
        "Function": np.arange(450) < 400,
        "Module": (np.arange(450) >= 400) & (np.arange(450) < 420),
        "Class": np.arange(450) >= 420,
    }
    told = function < 380  # the last twenty are not defined yet
    graph = graph_of(450, labels, DEFINES=(owner[told], function[told]))
    patterns = [Pattern(each, "DEFINES", "Function") for each in ("Module", "Class")]
    rules = learn_schema_rules(graph, patterns)
    for each in patterns:
        assert rules.full(graph, each)[Rule.PER_TARGET].tolist() == [*told.tolist(), *[False] * 50]
    pairs = np.array([[400, 300], [400, 390], [420, 390], [420, 391]])
    found = rules.apply(graph, patterns, np.array([0, 0, 1, 1]), pairs, np.array([4.0, 2.0, 3.0, 1.0]))
    assert found.kept.tolist() == [False, False, True, True]
    assert rules.sentences()[0].startswith(
        "each Function has at most one incoming DEFINES from a Module or others (380 of 380 have one, 0 more;"
    )


def test_thirty_relationships_teach_no_bound() -> None:
    graph, pattern = people(30, 1, np.random.default_rng(0))
    assert rules_of(graph, pattern).per_source is None


def test_few_relationships_among_many_nodes_teach_no_bound() -> None:
    graph = graph_of(20_000, R=random_pairs(np.random.default_rng(0), 20_000, 300))
    assert rules_of(graph).per_source is None  # although hardly a source has two


def test_random_graphs_teach_no_rule_that_they_do_not_keep() -> None:
    learned: Counter[str] = Counter()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 300
        degrees = rng.pareto(1.5, n) + 0.2
        hubs = tuple(rng.choice(n, 900, p=degrees / degrees.sum()) for _ in range(2))
        for kind, pairs in {
            "sparsest": random_pairs(rng, n, 100),
            "sparse": random_pairs(rng, n, 200),
            "dense": random_pairs(rng, n, 2_000),
            "hubs": hubs,
            "ring": near_pairs(rng, n, 900, 5),
            "sparse hierarchy": random_hierarchy(rng, n, 330),
            "hierarchy": random_hierarchy(rng, n, 600),
        }.items():
            other = near_pairs(rng, n, 900, 5) if kind == "ring" else random_pairs(rng, n, 900)
            for rules in learn_schema_rules(
                graph_of(n, R=pairs, S=other), [A_TO_A, Pattern("A", "S", "A")]
            ).rules:
                for name in ("per_source", "per_target", "acyclic", "direct"):
                    is_true = name == "acyclic" and "hierarchy" in kind
                    learned[f"{kind} {name}"] += getattr(rules, name) is not None and not is_true
                learned[f"{kind} exclusions"] += len(rules.exclusions)
    assert sum(learned.values()) == 0, +learned  # of 175 chances


def test_answered_relationships_teach_no_direction() -> None:
    rng = np.random.default_rng(0)
    source, target = random_pairs(rng, 5_000, 2_000)
    assert rules_of(graph_of(5_000, R=(source, target))).one_way is not None
    back = rng.random(2_000) < 0.03
    answered = np.append(source, target[back]), np.append(target, source[back])
    assert rules_of(graph_of(5_000, R=answered)).one_way is None


def random_hierarchy(rng: np.random.Generator, n: int, m: int) -> Pairs:
    """Links from later to earlier nodes, in an order that the rows do not show."""
    pairs = np.sort(rng.integers(0, n, (m, 2)), axis=1)
    row = rng.permutation(n)
    return row[pairs[:, 1]], row[pairs[:, 0]]


def test_a_hierarchy_teaches_no_cycles_and_only_a_reduced_one_no_shortcuts() -> None:
    for seed in range(5):  # a shuffle that allowed cycles would take chains in them for shortcuts
        source, target = random_hierarchy(np.random.default_rng(seed), 2_000, 4_000)
        assert rules_of(graph_of(2_000, R=(source, target))).direct is None
    source, target = random_hierarchy(np.random.default_rng(0), 500, 2_000)
    rules = rules_of(graph_of(500, R=(source, target)))
    assert rules.acyclic is not None
    assert rules.acyclic.n_exceptions == 0
    assert rules.direct is None
    joined = np.zeros((500, 500), dtype=bool)
    joined[source, target] = source != target
    chains = joined @ joined
    for _ in range(8):  # twice as long each time
        chains |= (chains | joined) @ (chains | joined)
    rules = rules_of(graph_of(500, R=np.nonzero(joined & ~chains)))
    assert rules.acyclic is not None
    assert rules.direct is not None
    assert rules.direct.n_exceptions == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_root_of_a_small_tree_is_linked_to_nothing_below_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 100
    manager = np.array([rng.integers(0, each // 5 + 1) for each in range(n - 1)])
    graph = graph_of(n, R=(np.arange(1, n), manager))
    rules = learn_schema_rules(graph, [A_TO_A])
    (learned,) = rules.rules
    assert learned.acyclic is not None
    assert (learned.acyclic.n, learned.acyclic.n_exceptions) == (n - 1, 0)
    below = np.column_stack((np.zeros(n - 1, np.int64), np.arange(1, n)))
    assert set(rules.forbidden(graph, A_TO_A, below)) == {Rule.CYCLE}
    assert any("forms no cycles (0 of 99 lead to one" in line for line in rules.sentences())


def test_components_are_numbered_in_an_order_in_which_links_lead_down() -> None:
    """Shuffles of hierarchies rely on it; SciPy does not document it."""
    for seed in range(20):
        source, target = random_pairs(np.random.default_rng(seed), 200, 250)
        links = sparse.csr_array((np.ones(250), (source, target)), shape=(200, 200))
        _, component = connected_components(links, connection="strong")
        assert (component[source] >= component[target]).all()


def test_types_that_share_no_pair_exclude_each_other_and_mirrors_do_not() -> None:
    rng = np.random.default_rng(0)
    n = 400
    source, target = near_pairs(rng, n, 4_000, 8)
    code = np.minimum(source, target) * n + np.maximum(source, target)
    first = (code * 2_654_435_761) % 97 < 50  # each pair has one type, whichever way it leads
    r, s = (source[first], target[first]), (source[~first], target[~first])
    mirror = r[1][::2], r[0][::2]  # T answers half of R
    patterns = [Pattern("A", kind, "A") for kind in "RST"]
    rules = learn_schema_rules(graph_of(n, R=r, S=s, T=mirror), patterns).rules
    excluded = [{(each.type, each.same_way) for each in own.exclusions} for own in rules]
    assert {("S", True), ("S", False)} <= excluded[0]
    assert {("R", True), ("R", False)} <= excluded[1]
    assert ("T", False) not in excluded[0]
    assert ("R", False) not in excluded[2]


@st.composite
def directed_graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    n = draw(st.integers(2, 9))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node).filter(lambda each: each[0] != each[1]), unique=True))


def leads(n: int, links: list[tuple[int, int]], u: int, v: int) -> bool:
    """Return whether two or more links lead from u to v: breadth-first, without the link itself."""
    seen, queue = {u}, deque([u])
    while queue:
        at = queue.popleft()
        for start, end in links:
            if start == at and (start, end) != (u, v):
                if end == v:
                    return True
                if end not in seen:
                    seen.add(end)
                    queue.append(end)
    return False


@given(graph=directed_graphs(), most_links=st.integers(0, 12))
def test_chains_are_those_of_a_plain_search(
    graph: tuple[int, list[tuple[int, int]]], most_links: int
) -> None:
    n, links = graph
    source, target = np.array(links, dtype=np.int64).reshape(-1, 2).T
    out = sparse.csr_array((np.ones(len(links)), (source, target)), shape=(n, n))
    arrays = [
        array
        for each in (out, out.T.tocsr())
        for array in (each.indptr.astype(np.int64), each.indices.astype(np.int32))
    ]
    u, v = (ends[~np.eye(n, dtype=bool)] for ends in np.indices((n, n)))
    expected = np.array([leads(n, links, *pair) for pair in zip(u.tolist(), v.tolist(), strict=True)])
    np.testing.assert_array_equal(have_chain(*arrays, u, v, 10_000), expected)
    bounded = have_chain(*arrays, u, v, most_links)
    np.testing.assert_array_equal(bounded[bounded >= 0], expected[bounded >= 0])


EVIDENCE = Evidence(100, 0, 50.0)


@st.composite
def ruled_proposals(
    draw: st.DrawFn,
) -> tuple[Graph, SchemaRules, list[Pattern], np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(2, 7))
    node = st.integers(0, n - 1)
    links = st.lists(st.tuples(node, node), max_size=12).map(
        lambda each: np.array(each, int).reshape(-1, 2).T
    )
    labels = {"A": np.ones(n, bool), "B": np.arange(n) < draw(st.integers(1, n))}
    graph = graph_of(n, labels, R=draw(links), S=draw(links))
    patterns = [A_TO_A, Pattern("A", "S", "A"), Pattern("B", "R", "A")]
    bound = st.none() | st.builds(Bound, st.integers(1, 2), st.just(90), st.just(EVIDENCE))
    bounds = [[draw(bound) for _ in patterns] for _ in range(2)]
    for of_end in bounds:
        if of_end[0] is not None and draw(st.booleans()):
            of_end[0] = of_end[2] = replace(of_end[0], of_type=True)
    evidence = st.sampled_from([None, EVIDENCE])
    rules = SchemaRules(
        tuple(
            PatternRules(
                pattern, draw(st.integers(0, 6)), *both, draw(evidence), draw(evidence), draw(evidence),
                tuple(Exclusion(other, way, EVIDENCE) for way in (True, False) if draw(st.booleans())),
            )
            for pattern, other, *both in zip(patterns, "SRS", *bounds, strict=True)
        )
    )  # fmt: skip
    proposals = draw(st.lists(st.tuples(st.integers(0, 2), node, node, st.integers(0, 3)), max_size=25))
    proposals = [each for each in proposals if labels[patterns[each[0]].source][each[1]]]
    pattern, u, v, score = np.array(proposals, dtype=np.int64).reshape(-1, 4).T
    return graph, rules, patterns, pattern, np.column_stack((u, v)), score.astype(float)


def plain_selection(
    graph: Graph,
    rules: SchemaRules,
    patterns: list[Pattern],
    pattern: np.ndarray,
    pairs: np.ndarray,
    scores: np.ndarray,
) -> set[int]:
    """The places of the kept proposals: one after the other, against all relationships and the kept ones."""
    assert graph.relationships is not None
    links = {
        each.type: list(zip(*(ends.tolist() for ends in graph.relationships.of(each.type)), strict=True))
        for each in patterns
    }
    kept: list[tuple[int, int, int, int]] = []
    in_order = sorted(range(len(pairs)), key=lambda i: (-scores[i], pattern[i], *pairs[i]))
    for i in in_order:
        place, (u, v) = int(pattern[i]), pairs[i].tolist()
        own, ruled = links[patterns[place].type], rules.rules[place]
        of_type = [p for p, each in enumerate(patterns) if each.type == patterns[place].type]
        chosen = [(a, b) for _, p, a, b in kept if p == place]
        others = [(patterns[p].type, p, a, b) for _, p, a, b in kept if p != place and {a, b} == {u, v}]
        excluded = {(each.type, each.same_way) for each in ruled.exclusions}
        counted = {
            False: [*(pair for pair in own if graph.labels[patterns[place].source][pair[0]]), *chosen],
            True: [*own, *((a, b) for _, p, a, b in kept if p in of_type)],
        }
        if (
            u == v
            or (u, v) in own
            or any({a, b} == {u, v} for _, p, a, b in kept if p in of_type)
            or len(chosen) >= ruled.max_links
            or any(
                bound and sum(pair[end] == (u, v)[end] for pair in counted[bound.of_type]) >= bound.most
                for end, bound in enumerate((ruled.per_source, ruled.per_target))
            )
            or (ruled.one_way and (v, u) in own)
            or (ruled.acyclic and ((v, u) in own or leads(graph.n_nodes, own, v, u)))
            or (ruled.direct and leads(graph.n_nodes, own, u, v))
            or any(((u, v) if way else (v, u)) in links[kind] for kind, way in excluded)
            or any((kind, (a, b) == (u, v)) in excluded for kind, _, a, b in others)
            or any(
                (patterns[place].type, (a, b) == (u, v))
                in {(each.type, each.same_way) for each in rules.rules[p].exclusions}
                for _, p, a, b in others
            )
        ):
            continue
        kept.append((i, place, u, v))
    return {i for i, *_ in kept}


@given(ruled_proposals())
def test_the_kept_proposals_are_those_of_a_plain_loop(made: tuple) -> None:  # type: ignore[type-arg]
    graph, rules, patterns, pattern, pairs, scores = made
    found = rules.apply(graph, patterns, pattern, pairs, scores)
    expected = plain_selection(*made)
    first = {
        tuple(row): i
        for i, row in reversed(list(enumerate(np.column_stack((pattern, pairs, scores)).tolist())))
    }
    assert {
        first[tuple(each)] for each in np.column_stack((pattern, pairs, scores))[found.kept].tolist()
    } == {first[tuple(np.append(np.append(pattern[i], pairs[i]), scores[i]).tolist())] for i in expected}
    assert found.kept.sum() == len(expected)
    for place, each in enumerate(patterns):
        own = pattern == place
        assert not (rules.forbidden(graph, each, pairs[own])[found.kept[own]]).any()
        assert Counter(found.dropped[place]) == Counter(
            Rule(code) for code in found.rule[own & ~found.kept].tolist()
        )


def test_sentences_count_what_was_dropped_and_show_no_control_characters() -> None:
    package, maintainer = np.arange(200), 200 + np.arange(200) % 9
    labels = {"Pack\x1b[2J": np.arange(209) < 200, "Editor": np.arange(209) >= 200}
    graph = graph_of(209, labels, MAINTAINS=(maintainer, package))
    pattern = Pattern("Editor", "MAINTAINS", "Pack\x1b[2J")
    rules = learn_schema_rules(graph, [pattern])
    pairs = np.array([(200, 1), (200, 2), (201, 3), (201, 1)])
    found = rules.apply(graph, [pattern], np.zeros(4, int), pairs, np.zeros(4))
    assert found.dropped == ({Rule.PER_TARGET: 3, Rule.LINKED: 1},)
    (line,) = rules.sentences({pattern: found.dropped[0]})
    assert line.startswith(
        "each Pack\\x1b[2J has at most one incoming MAINTAINS from an Editor (200 of 200 have one"
    )
    assert line.endswith("; 3 proposals dropped")
    assert rules.full_at(graph, 1, Rule.PER_TARGET) == [pattern]
    assert line == f"{rules.sentence(pattern, Rule.PER_TARGET)}; 3 proposals dropped"
    assert not rules.full_at(graph, 1, Rule.PER_SOURCE)
    assert not rules.full_at(graph, 200, Rule.PER_SOURCE)


def test_of_a_graph_without_directions_pairs_are_proposed_once() -> None:
    graph = Graph(sparse.csr_array(([1.0], ([0], [1])), shape=(4, 4)))
    rules = learn_schema_rules(graph, [None])
    pairs = np.array([(1, 0), (2, 2), (2, 3), (3, 2)])
    found = rules.apply(graph, [None], np.zeros(4, int), pairs, np.arange(4.0))
    assert found.rule.tolist() == [Rule.LINKED, Rule.SELF, Rule.ONE_OF_PAIR, Rule.ALLOWED]
    assert rules.sentences() == []


@pytest.mark.parametrize("scores", [(2.0, 1.0), (1.0, 2.0)])
def test_of_two_proposals_the_likelier_excludes_the_other_whichever_type_has_the_rule(
    scores: tuple[float, float],
) -> None:
    nothing = np.empty(0, dtype=int)
    graph = graph_of(4, R=(np.array([2]), np.array([3])), S=(nothing, nothing))
    patterns = [A_TO_A, Pattern("A", "S", "A")]
    excludes_back = PatternRules(A_TO_A, 9, exclusions=(Exclusion("S", same_way=False, evidence=EVIDENCE),))
    rules = SchemaRules((excludes_back, PatternRules(patterns[1], 9)))
    for pairs, both in (([(0, 1), (1, 0)], False), ([(0, 1), (0, 1)], True)):
        found = rules.apply(graph, patterns, np.arange(2), np.array(pairs), np.array(scores))
        assert found.kept.tolist() == [both or scores[0] > scores[1], both or scores[0] < scores[1]]
