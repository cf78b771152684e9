"""Splits by time: which edges are held out, against a slow twin and the laws of the split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges, split_edges_by_time

N = 9
PAIRS = [(u, v) for u in range(N) for v in range(u + 1, N)]
TIMES = st.one_of(st.none(), st.integers(-2, 6), st.floats(-10, 10))
# Few different times, so that ties are common; never the complete graph.
EDGES = st.dictionaries(st.sampled_from(PAIRS), TIMES, min_size=1, max_size=len(PAIRS) - 1)


def dated_graph(times, n=N, **options):
    """A graph whose edges and times are those of a dict of pair to time, None for none."""
    pairs = np.array(sorted(times)).reshape(-1, 2)
    weights = np.arange(1.0, len(pairs) + 1)
    values = [np.nan if times[u, v] is None else times[u, v] for u, v in pairs.tolist()]
    adjacency = sparse.csr_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return Graph(adjacency, edge_times=np.array(values, dtype=float), **options)


def times_of(graph):
    """What `edge_times` says, edge by edge; None for NaN."""
    rows = sparse.triu(graph.adjacency, k=1, format="csr").tocoo()
    pairs = zip(rows.row.tolist(), rows.col.tolist(), strict=True)
    values = [None if np.isnan(time) else time for time in graph.edge_times.tolist()]
    return dict(zip(pairs, values, strict=True))


def as_set(pairs):
    return set(map(tuple, pairs.tolist()))


def split_or_none(times, share, seed):
    """The split, or None where no edge can be held out; then it is checked that none can."""
    graph = dated_graph(times)
    dated = {edge for edge, time in times.items() if time is not None}
    try:
        return split_edges_by_time(graph, share, random_state=seed)
    except ValueError as refusal:
        reason = str(refusal)
    assert ("can be held out" if dated else "has a time") in reason
    assert dated <= needed(times)
    return None


def needed(times):
    """Edges that may have to stay: undated, or as early as any at an end that has no undated edge."""
    found = {edge for edge, time in times.items() if time is None}
    for node in range(N):
        own = {edge: time for edge, time in times.items() if node in edge}
        if own and None not in own.values():
            found |= {edge for edge, time in own.items() if time == min(own.values())}
    return found


@settings(max_examples=300, deadline=None)
@given(EDGES, st.sampled_from([0.05, 0.15, 0.4, 0.9]), st.integers(0, 5))
def test_the_laws_of_the_split(times, share, seed):
    split = split_or_none(times, share, seed)
    if split is None:
        return
    held_out, kept = as_set(split.test_edges), times_of(split.train)
    dated = {edge: time for edge, time in times.items() if time is not None}
    # No leak, nothing lost, and the edges that stay keep their times.
    assert {**kept, **{edge: dated[edge] for edge in held_out}} == times
    assert not held_out & set(kept)
    assert not as_set(split.test_non_edges) & set(times)
    assert len(split.test_non_edges) == min(len(held_out), len(PAIRS) - len(times))
    # Every node that has an edge keeps one.
    graph = dated_graph(times)
    assert ((split.train.degrees > 0) == (graph.degrees > 0)).all()
    # `since` is the cut: what stays is not later, unless it is the first edge of a node with no undated one.
    assert split.since == min(dated[edge] for edge in held_out)
    late = {edge for edge, time in kept.items() if time is not None and time > split.since}
    assert late <= needed(times)
    # As many as asked for; fewer only where no other edge is free.
    wanted = max(round(share * len(dated)), 1)
    assert len(held_out) <= wanted
    assert len(held_out) == wanted or set(kept) <= needed(times)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PAIRS), unique=True, min_size=1, max_size=30), st.randoms(), st.floats(0.05, 0.9)
)
def test_without_ties_it_is_what_the_slow_twin_holds_out(pairs, draw, share):
    order = draw.sample(pairs, len(pairs))
    undated = set(order[: len(order) // 5])
    times = {edge: None if edge in undated else float(time) for time, edge in enumerate(order)}
    spared = needed(times)
    free = [edge for edge in order if edge not in spared]
    wanted = max(round(share * (len(order) - len(undated))), 1)
    split = split_or_none(times, share, 0)
    assert (set() if split is None else as_set(split.test_edges)) == set(free[-wanted:])


def test_a_small_case_by_hand():
    times = {(0, 1): 1, (1, 2): 2, (0, 2): 5, (2, 3): 9, (1, 3): 10, (0, 3): None, (4, 5): 11, (2, 5): 12}
    split = split_edges_by_time(dated_graph(times), share=0.5)
    # Half of 7 edges are 4 (rounded to even). 0 and 3 have an undated edge; 1 keeps (0, 1), 2 keeps (1, 2),
    # 4 and 5 keep (4, 5) although it is late.
    assert as_set(split.test_edges) == {(2, 5), (1, 3), (2, 3), (0, 2)}
    assert split.since == 5
    assert times_of(split.train) == {(0, 1): 1, (1, 2): 2, (0, 3): None, (4, 5): 11}
    assert split.train.adjacency[1, 2] == split.train.adjacency[2, 1] == dated_graph(times).adjacency[1, 2]


def bits(split):
    return (
        split.test_edges.tobytes(),
        split.test_non_edges.tobytes(),
        split.train.edge_times.tobytes(),
        split.train.adjacency.data.tobytes(),
        split.since,
    )


def test_the_seed_alone_decides_between_edges_of_one_time():
    graph = dated_graph(dict.fromkeys(PAIRS[:-3], 7.0))
    first, same, other = (split_edges_by_time(graph, random_state=seed) for seed in (1, 1, 2))
    assert bits(first) == bits(same)
    assert as_set(first.test_edges) != as_set(other.test_edges)
    counts = dict.fromkeys(PAIRS[:-3], 0)
    for seed in range(400):
        for edge in as_set(split_edges_by_time(graph, 0.3, random_state=seed).test_edges):
            counts[edge] += 1
    assert min(counts.values()) > 0


def test_without_ties_the_seed_decides_non_edges_only():
    graph = dated_graph({edge: float(time) for time, edge in enumerate(PAIRS[:20])})
    first, other = (split_edges_by_time(graph, random_state=seed) for seed in (1, 2))
    assert as_set(first.test_edges) == as_set(other.test_edges)
    assert as_set(first.test_non_edges) != as_set(other.test_non_edges)


def test_a_random_split_keeps_the_right_times():
    times = {edge: None if place % 5 == 0 else float(place) for place, edge in enumerate(PAIRS[:25])}
    graph = dated_graph(times, times_are_dates=True)
    split = split_edges(graph, share=0.3, random_state=4)
    held_out = as_set(split.test_edges)
    assert times_of(split.train) == {edge: time for edge, time in times.items() if edge not in held_out}
    assert split.train.times_are_dates
    assert (split.since, split.since_text) == (None, None)


def test_what_cannot_be_split_is_refused():
    bare = Graph(dated_graph({(0, 1): 1, (1, 2): 2}).adjacency)
    with pytest.raises(ValueError, match=r"^Graph\(9 nodes, 2 edges, 0 attributes\) has no times: name the "):
        split_edges_by_time(bare)
    with pytest.raises(ValueError, match=r"^no edge of Graph\(9 nodes, 1 edge, 0 attributes\) has a time$"):
        split_edges_by_time(dated_graph({(0, 1): None}))
    with pytest.raises(ValueError, match="can be held out while every node keeps one"):
        split_edges_by_time(dated_graph({(0, 1): 1, (0, 2): 2}))
    with pytest.raises(ValueError, match="the graph of 9 nodes is complete"):
        split_edges_by_time(dated_graph(dict.fromkeys(PAIRS, 1.0)))
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="share must lie between 0 and 1"):
            split_edges_by_time(dated_graph({(0, 1): 1}), share)


@pytest.mark.parametrize(
    ("since", "dates", "text"),
    [
        (1709251200.0, True, "2024-03-01"),
        (1709251200.75, True, "2024-03-01T00:00:00Z"),
        (1709296200.0, True, "2024-03-01T12:30:00Z"),
        (-86400.5, True, "1969-12-30T23:59:59Z"),
        (2011.0, False, "2011"),
        (20240301.0, False, "20240301"),
        (0.5, False, "0.5"),
        (None, True, None),
    ],
)
def test_the_cut_as_text(since, dates, text):
    graph = dated_graph({(0, 1): 1.0}, times_are_dates=dates)
    assert EdgeSplit(graph, np.empty((0, 2)), np.empty((0, 2)), since).since_text == text
