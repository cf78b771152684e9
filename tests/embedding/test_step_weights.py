"""The weights of a step: by relationship, its direction and its type."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.embedding.walks import draw_walks, make_walks, step_weights
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT

N = 6
ENDS = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda ends: ends[0] != ends[1])
DRAWN = st.dictionaries(st.tuples(ENDS, st.sampled_from("ABC")), st.floats(0.1, 9.0), min_size=1, max_size=14)
SHARES = st.sampled_from((0.0, 0.2, 0.5, 1.0))


def graph_of(drawn):
    weights, pairs = np.zeros((N, N)), {}
    for ((u, v), name), weight in drawn.items():
        weights[u, v] += weight
        pairs.setdefault(name, []).append((u, v))
    return Graph(
        sparse.csr_array(weights + weights.T),
        relationships=Relationships.from_pairs(
            {name: tuple(np.transpose(ends)) for name, ends in pairs.items()}
        ),
    )


def plain_weights(graph, drawn, forward, type_balance):
    """One node and one relationship after the other."""
    weights = np.zeros((N, N))
    for node in range(N):
        by_type = {}
        for (u, v), name in drawn:
            if node not in (u, v):
                continue
            other = v if node == u else u
            joining = sum({u, v} == {*ends} for ends, _ in drawn)
            side = forward if node == u else 1.0 - forward
            by_type.setdefault(name, []).append((other, side * graph.adjacency[node, other] / joining))
        for steps in by_type.values():
            total = sum(weight for _, weight in steps)
            for other, weight in steps:
                weights[node, other] += weight / total**type_balance if total else 0.0
    return weights


@given(DRAWN, SHARES, SHARES)
def test_steps_weigh_as_the_twin_says(drawn, forward, type_balance):
    graph = graph_of(drawn)
    steps = step_weights(graph, forward, type_balance)
    assert (steps.data > 0.0).all()
    expected = plain_weights(graph, drawn, forward, type_balance)
    scale = 2.0 if forward == 0.5 and type_balance == 0.0 else 1.0  # a scale common to all changes no walk
    np.testing.assert_allclose(steps.toarray(), scale * expected, rtol=1e-12, atol=1e-12)


def two_types():
    """Users 0 to 3 rate movies 4 to 9, all of them; person 10 directed movie 4."""
    users, movies = np.divmod(np.arange(24), 6)
    ends = np.append(users, 10), np.append(movies + 4, 4)
    return Graph(
        sparse.csr_array((np.ones(25), ends), shape=(11, 11)),
        relationships=Relationships.from_pairs(
            {"RATED": (users, movies + 4), "DIRECTED": (np.array([10]), np.array([4]))}
        ),
    )


def after(node, **options):
    """The second nodes of 4,000 walks from a node."""
    walks = make_walks(two_types(), alpha=0.0, walk_length=2, key=np.uint64(3), **options)
    nodes, lengths = draw_walks(walks, node + 11 * np.arange(4000))
    return nodes[lengths > 1, 1]


def test_a_walk_that_goes_forward_only_never_steps_back_and_ends_where_nothing_leads_on():
    assert set(after(0, forward=1.0)) == set(range(4, 10))
    assert not len(after(4, forward=1.0))
    assert set(after(4, forward=0.0)) == {0, 1, 2, 3, 10}


def test_types_that_are_balanced_are_taken_alike_often():
    by_weight, balanced = (np.mean(after(4, type_balance=balance) == 10) for balance in (0.0, 1.0))
    assert by_weight == pytest.approx(1 / 5, abs=0.025)  # 4 standard deviations of 4,000 walks
    assert balanced == pytest.approx(1 / 2, abs=0.032)


def test_the_estimator_walks_by_them_and_refuses_a_graph_that_does_not_know_directions():
    ends = np.random.default_rng(0).integers(0, 60, (2, 120))
    graph = Graph(
        sparse.csr_array((np.ones(120), ends), shape=(60, 60)),
        relationships=Relationships.from_pairs({"A": ends[:, :90], "B": ends[:, 90:]}),
    )
    default, *others = (
        HEAT(2, walks_per_node=2, random_state=0, **options).fit(graph).embedding_
        for options in ({}, {"forward": 0.9}, {"type_balance": 0.7})
    )
    for other in others:
        assert not np.array_equal(default, other)
    with pytest.raises(
        ValueError, match=r"^`forward` and `type_balance` need a graph with directed, typed relationships"
    ):
        HEAT(2, forward=0.9).fit(replace(graph, relationships=None))
    with pytest.raises(ValueError, match="forward"):
        HEAT(2, forward=1.1).fit(graph)
