"""Short lists of targets: what each holds, and that candidates are lawful and the same in any blocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.embedding.near_lists import vector_rows
from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.linkpred.baselines import steps
from heat_neo4j.linkpred.candidates import candidate_pairs, patterns_of
from heat_neo4j.linkpred.shortlists import LISTED, Shortlists, Surroundings
from heat_neo4j.patterns import Pattern
from tests.support import naive_links

READS, CITES = Pattern("Person", "READS", "Book"), Pattern("Book", "CITES", "Book")


def library(n: int = 120, seed: int = 0) -> tuple[np.ndarray, Graph]:
    """Return persons, a third of the nodes, who read books of their group, and books that cite others."""
    rng = np.random.default_rng(seed)
    person, group = np.arange(n) < n // 3, rng.integers(0, 4, n)
    same = group[:, None] == group
    reads = (rng.random((n, n)) < np.where(same, 0.25, 0.01)) & person[:, None] & ~person
    cites = (
        (rng.random((n, n)) < np.where(same, 0.1, 0.01)) & ~person[:, None] & ~person & ~np.eye(n, dtype=bool)
    )
    relationships = Relationships.from_pairs({"READS": np.nonzero(reads), "CITES": np.nonzero(cites)})
    words = (rng.random((n, 30)) < 0.05) | (
        (group[:, None] == np.arange(30) % 4) & (rng.random((n, 30)) < 0.3)
    )
    points = lift(np.eye(4)[group] + 0.5 * rng.normal(size=(n, 4)))
    graph = Graph(
        sparse.csr_array((reads | cites) | (reads | cites).T).astype(float),
        sparse.csr_array(words.astype(float)),
        labels={"Person": person, "Book": ~person},
        relationships=relationships,
    )
    return points, graph


def lists_of(points: np.ndarray, graph: Graph, pattern: Pattern | None) -> Shortlists:
    candidates = candidate_pairs(graph, pattern)
    return Surroundings(points, graph).of(candidates, candidates)


@pytest.mark.parametrize("pattern", [READS, CITES, None])
def test_candidates_are_allowed_sorted_and_unique_in_any_blocks(pattern: Pattern | None) -> None:
    points, graph = library()
    if pattern is None:
        graph = Graph(graph.adjacency, graph.attributes)
    lists, candidates = lists_of(points, graph, pattern), candidate_pairs(graph, pattern)
    found = lists.pairs(0, len(lists.sources))
    assert (np.diff(found @ (graph.n_nodes, 1)) > 0).all()
    assert candidates.is_source[found[:, 0]].all()
    assert candidates.is_target[found[:, 1]].all()
    assert not candidates.are_joined(found).any()
    assert (found[:, 0] != found[:, 1]).all()
    assert np.bincount(found[:, 0]).max() <= LISTED
    ends = [0, 1, 17, 29, len(lists.sources)]
    parts = [lists.pairs(begin, end) for begin, end in pairwise(ends)]
    np.testing.assert_array_equal(np.concatenate(parts), found)


def test_a_graph_of_few_targets_has_all_of_them_listed() -> None:
    points, graph = library(45)
    for pattern in patterns_of(graph):
        lists = lists_of(points, graph, pattern)
        found = set(map(tuple, lists.pairs(0, len(lists.sources)).tolist()))
        assert found == naive_links.candidate_pairs(graph, pattern)


def test_each_list_holds_what_it_is_named_after() -> None:
    points, graph = library()
    lists, adjacency = lists_of(points, graph, CITES), graph.adjacency.toarray() > 0
    found = lists.lists(0, len(lists.sources))
    assert graph.relationships is not None
    cites = graph.relationships.matrix("CITES", graph.n_nodes).toarray() > 0
    open_ = candidate_pairs(graph, CITES)
    for row, source in enumerate(lists.sources.tolist()):
        absent = ~cites[source] & open_.is_target  # some citations are answered
        absent[source] = False
        near = np.flatnonzero(absent & ~adjacency[source])
        order = near[np.argsort(distance(points[source], points[near]), kind="stable")]
        own = found["near"][row, :32]
        assert own[:8].tolist() == order[:8].tolist()
        assert np.isin(order[:32], own).sum() >= 24  # the search is approximate
        assert (np.diff(distance(points[source], points[own])) >= 0.0).all()
        for name, reached in (
            ("two steps", adjacency[source] @ adjacency),
            ("joined otherwise", adjacency[source]),
            ("paths of three", cites[source] @ cites.T @ cites),
            ("popular", cites.sum(axis=0) > 0),
        ):
            own = found[name][row][found[name][row] >= 0]
            assert (absent & reached)[own].all(), name
        own = found["popular"][row]
        assert (np.diff(cites.sum(axis=0)[own[own >= 0]]) <= 0).all()


def test_a_node_without_relationships_gets_the_targets_of_those_with_its_words() -> None:
    points, graph = library()
    person = graph.labels["Person"]
    first = np.flatnonzero(person)[0]
    assert graph.relationships is not None
    source, target = graph.relationships.of("READS")
    cited = graph.relationships.of("CITES")
    kept = source != first
    joined = sparse.csr_array((np.ones(kept.sum()), (source[kept], target[kept])), shape=(graph.n_nodes,) * 2)
    new = replace(
        graph,
        adjacency=sparse.csr_array(joined + joined.T),
        relationships=Relationships.from_pairs({"READS": (source[kept], target[kept]), "CITES": cited}),
    )
    lists = lists_of(points, new, READS)
    found = lists.lists(0, 1)
    assert (found["two steps"] < 0).all()
    assert (found["paths of three"] < 0).all()
    assert (found["targets of alike"] >= 0).sum() > 5
    assert set(target[~kept].tolist()) & set(found["targets of alike"][0].tolist())
    n_candidates = np.bincount(lists.pairs(0, len(lists.sources))[:, 0])
    assert LISTED < n_candidates[first] <= 2 * LISTED
    assert n_candidates[first + 1 :].max() <= LISTED


def test_nodes_with_similar_vectors_are_listed_and_so_are_their_targets() -> None:
    points, graph = library(90)  # fewer books than a list has places
    table = AttributeTable([Attribute("vector")], graph.n_nodes, max_categories=1)
    values = np.random.default_rng(1).normal(size=(graph.n_nodes, 48)) + np.repeat(points[:, :4], 12, axis=1)
    table.add(np.arange(graph.n_nodes), {"vector": values.tolist()})
    made = table.finish(np.arange(graph.n_nodes))
    graph = replace(graph, attributes=made.matrix, provenance=Provenance(attribute_recipe=made.recipe))
    rows = vector_rows(graph)
    assert rows is not None
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1.0)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :64]
    for pattern in (CITES, READS):
        lists, candidates = lists_of(points, graph, pattern), candidate_pairs(graph, pattern)
        found, out = lists.lists(0, len(lists.sources)), steps(graph, pattern)[0]
        n_out = np.diff(out.indptr)
        for row, source in enumerate(lists.sources.tolist()):
            is_open = candidates.is_target & (candidates.joined[[source]].toarray()[0] == 0)
            near = [one for one in nearest[source] if cosines[source, one] > 0]
            listed = found["like vectors"][row]
            assert listed[listed >= 0].tolist() == [one for one in near if is_open[one]]
            alike = [one for one in near if candidates.is_source[one] and n_out[one]][:32]
            reached = np.flatnonzero((out[alike].sum(axis=0) > 0) & is_open)
            listed = found["targets of like vectors"][row]
            assert set(listed[listed >= 0].tolist()) == set(reached.tolist()) - {source}


def test_sources_and_targets_that_are_not_asked_for_are_not_listed() -> None:
    points, graph = library()
    candidates = candidate_pairs(graph, READS)
    sources, targets = np.zeros((2, graph.n_nodes), dtype=np.bool_)
    sources[candidates.sources[::2]] = targets[candidates.targets[::2]] = True
    asked = candidates.without(sources, targets)
    lists = Surroundings(points, graph).of(candidates, asked)
    found = lists.pairs(0, len(lists.sources))
    assert set(found[:, 0].tolist()) == set(candidates.sources[1::2].tolist())
    assert set(found[:, 1].tolist()) <= set(candidates.targets[1::2].tolist())
