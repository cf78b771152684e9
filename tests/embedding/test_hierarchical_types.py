"""Which relationship types are found to be hierarchies, and which end is general."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.embedding.hierarchical_types import find_hierarchies, inspect_hierarchy
from heat_neo4j.graph import Graph, Relationships

N = 400


def graph_of(**types):
    """Return a graph of `N` nodes with relationships (source, target) of each type."""
    types = {name: tuple(map(np.asarray, pairs)) for name, pairs in types.items()}
    source, target = (np.concatenate(ends) for ends in zip(*types.values(), strict=True))
    ones = np.ones(len(source))
    return Graph(
        sparse.csr_array((ones, (source, target)), shape=(N, N)),
        relationships=Relationships.from_pairs(types),
    )


def tree(children=3):
    child = np.arange(1, N)
    return child, (child - 1) // children


def closure(pairs):
    matrix = sparse.csr_array((np.ones(len(pairs[0])), pairs), shape=(N, N))
    total = power = matrix
    while power.nnz:
        power = power @ matrix
        total = total + power
    return total.nonzero()


def longest_path(source, target):
    """Return the number of nodes on the longest path of an acyclic graph, by plain recursion."""
    below = {}
    for s, t in zip(source.tolist(), target.tolist(), strict=True):
        below.setdefault(s, []).append(t)

    def length(node):
        return 1 + max(map(length, below.get(node, ())), default=0)

    return max(map(length, below))


def names(graph):
    return [(each.type, each.general_end) for each in find_hierarchies(graph)]


def test_a_tree_and_its_closure_are_hierarchies_whichever_way_they_lead():
    child, parent = tree()
    down = closure((parent, child))
    graph = graph_of(PART_OF=(child, parent), HAS_PART=(parent, child), CONTAINS=down)
    assert names(graph) == [("CONTAINS", "source"), ("HAS_PART", "source"), ("PART_OF", "target")]
    contains, has, part = find_hierarchies(graph)
    assert (part.n_specific, part.n_general, part.n_with_one) == (N - 1, 133, N - 1)
    assert part.levels == has.levels == contains.levels == longest_path(child, parent)
    assert (part.transitive, contains.transitive) == (0.0, 1.0)
    one = "of 399 {} have one {}, no cycles, 7 levels"
    assert str(part) == f"PART_OF, target is more general: 100% {one.format('sources', 'target')}"
    assert str(has) == f"HAS_PART, source is more general: 100% {one.format('targets', 'source')}"
    shortened = "100% of grandparents are linked directly, no cycles, 7 levels"
    assert str(contains) == f"CONTAINS, source is more general: {shortened}"


def test_few_second_parents_on_a_higher_level_leave_a_hierarchy_and_many_do_not():
    child, parent = tree()
    for share, expected in ((0.15, [("PART_OF", "target")]), (0.25, [])):
        more = np.arange(200, 200 + round(share * N))
        graph = graph_of(PART_OF=(np.append(child, more), np.append(parent, ((more - 1) // 3 - 1) // 3)))
        assert names(graph) == expected


def test_several_parents_make_an_ontology_unless_some_skip_a_level():
    child, parent = tree()
    more = child[child >= 40][::3]  # their second parent is an uncle, their third one a grandparent
    uncle, above = (more - 4) // 3, ((more - 1) // 3 - 1) // 3
    (found,) = find_hierarchies(graph_of(IS_A=(np.append(child, more), np.append(parent, uncle))))
    assert (found.n_with_one, found.transitive) == (N - 1 - len(more), 0.0)
    assert names(graph_of(IS_A=(np.append(child, more), np.append(parent, above)))) == []
    most = child[child >= 13]
    assert names(graph_of(IS_A=(np.append(child, most), np.append(parent, (most - 4) // 3)))) == []


def test_a_cycle_through_more_than_a_hundredth_is_no_hierarchy():
    child, parent = tree()
    for last, on_cycle in ((N - 1, 7), (1, 2)):
        graph = graph_of(PART_OF=(np.append(child, 0), np.append(parent, last)))
        assert inspect_hierarchy(graph, "PART_OF").n_cyclic == on_cycle
        assert names(graph) == ([] if on_cycle > 4 else [("PART_OF", "target")])


def random_targets(generator):
    """Return one target for each node, as of the most similar one, and several."""
    return {
        "MOST_SIMILAR": (np.arange(N), generator.integers(N, size=N)),
        "KNOWS": generator.integers(N, size=(2, 3 * N)),
    }


def downwards(generator):
    """Return many targets among earlier nodes, as of dependencies and citations."""
    source = np.repeat(np.arange(1, N), 4)
    return {
        "DEPENDS": (source, (source * generator.random(len(source)) ** 3).astype(np.int64)),
        "CITES": (source, (source * generator.random(len(source))).astype(np.int64)),
    }


@pytest.mark.parametrize("seed", range(5))
def test_dependencies_citations_friends_and_bipartite_types_are_no_hierarchies(seed):
    generator = np.random.default_rng(seed)
    film = generator.integers(10, N, N)
    later = np.repeat(np.arange(1, N), np.where(generator.random(N - 1) < 0.7, 1, 3))
    chain = np.arange(N - 1)
    child, parent = tree()
    graph = graph_of(
        **random_targets(generator),
        **downwards(generator),
        REFERS_TO=(later, (later * generator.random(len(later)) ** 3).astype(np.int64)),
        RATED=(generator.integers(10, size=N), film),
        MAINTAINS=(np.arange(10, N) % 10, np.arange(10, N)),
        NEXT=(chain, chain + 1),
        BOTH_WAYS=(np.append(child, parent), np.append(parent, child)),
        FEW=(child[:49], parent[:49]),
    )
    assert names(graph) == []


@pytest.mark.parametrize(("middle", "is_hierarchy"), [(1, False), (4, False), (5, True)])
@pytest.mark.parametrize("skips", [False, True])
def test_a_few_relationships_in_error_make_no_hierarchy(middle, is_hierarchy, skips):
    """Flights lead to a few hubs; only those of hubs make a third level, or shorten two-step paths."""
    first, hubs = 20, np.arange(1, 1 + middle)
    leaf = np.arange(first, N)
    source, target = np.concatenate((leaf, hubs)), np.concatenate((hubs[leaf % middle], hubs * 0))
    if skips:
        source, target = np.append(source, leaf), np.append(target, leaf * 0)
    seen = inspect_hierarchy(graph_of(ROUTE=(source, target)), "ROUTE")
    assert (seen.levels, seen.n_middle, seen.transitive) == (3, middle, float(skips))
    assert seen.is_clear == is_hierarchy


def test_two_general_nodes_that_refer_to_each_other_make_no_levels():
    special = np.arange(2, N)
    source = np.concatenate((special, special, [0, 1]))
    graph = graph_of(ISSUE_IN=(source, np.concatenate((special * 0, special * 0 + 1, [1, 0]))))
    seen = inspect_hierarchy(graph, "ISSUE_IN")
    assert seen.transitive > 0.9
    assert (seen.n_cyclic, seen.levels, seen.is_clear) == (2, 2, False)


def test_any_type_can_be_inspected():
    generator = np.random.default_rng(0)
    graph = graph_of(**downwards(generator))
    seen = inspect_hierarchy(graph, "DEPENDS")
    assert (seen.general_end, seen.is_clear, seen.n_cyclic) == ("target", False, 0)
    assert seen.levels == min(longest_path(*graph.relationships.of("DEPENDS")), 100)
    with pytest.raises(ValueError, match="no relationships of type NOPE: the graph has CITES, DEPENDS"):
        inspect_hierarchy(graph, "NOPE")
    with pytest.raises(ValueError, match="needs a graph with relationship types"):
        inspect_hierarchy(Graph(graph.adjacency), "DEPENDS")
    assert find_hierarchies(Graph(graph.adjacency)) == ()


def test_a_line_is_no_hierarchy_even_with_leaves():
    child = np.arange(1, N)
    for length, is_hierarchy in ((98, True), (99, False)):
        leaf = child[child >= length]
        path = child[: length - 1], child[: length - 1] - 1
        order = np.tril_indices(length, -1)
        for line in (path, order):
            seen = inspect_hierarchy(graph_of(UNDER=np.append(line, (leaf, leaf % length), axis=1)), "UNDER")
            assert (seen.levels, seen.is_clear) == (length + 1, is_hierarchy)


def test_levels_are_counted_up_to_100():
    child, _ = tree()
    deep = inspect_hierarchy(graph_of(NEXT=(child, child - 1)), "NEXT")
    assert deep.levels == 100
    assert str(deep).endswith("no cycles, 100 or more levels")
