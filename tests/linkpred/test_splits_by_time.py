"""Splits by time: which edges are held out, against a slow twin and the laws of the split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.splits import (
    EdgeSplit,
    are_latest,
    latest_and_earlier,
    latest_or_random,
    split_edges,
)

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


def by_time(graph, share=0.15, seed=0):
    return split_edges(graph, share, seed, how="time")


def as_set(pairs):
    return set(map(tuple, pairs.tolist()))


@given(EDGES, st.sampled_from([0.05, 0.15, 0.4, 0.9]), st.integers(0, 5))
def test_the_laws_of_the_split(times, share, seed):
    dated = {edge: time for edge, time in times.items() if time is not None}
    wanted = max(round(share * len(dated)), 1)
    if not dated or wanted == len(times):
        with pytest.raises(ValueError, match="can be held out" if dated else "has a time"):
            by_time(dated_graph(times), share, seed)
        return
    split = by_time(dated_graph(times), share, seed)
    held_out, kept = as_set(split.test_edges), times_of(split.train)
    # No leak, nothing lost, and the edges that stay keep their times.
    assert {**kept, **{edge: dated[edge] for edge in held_out}} == times
    assert not held_out & set(kept)
    assert not as_set(split.test_non_edges) & set(times)
    assert len(split.test_non_edges) == min(len(held_out), len(PAIRS) - len(times))
    # `since` is the cut: nothing that stays is later. No time is divided, unless over half would be held out.
    assert split.since == min(dated[edge] for edge in held_out)
    assert all(time is None or time <= split.since for time in kept.values())
    whole = sum(time >= split.since for time in dated.values())
    assert len(held_out) == (whole if 2 * whole <= len(dated) else wanted)
    assert len(held_out) >= wanted


def test_a_small_case_by_hand():
    times = {(0, 1): 1, (1, 2): 2, (0, 2): 5, (2, 3): 9, (1, 3): 10, (0, 3): None, (4, 5): 11, (2, 5): 12}
    split = by_time(dated_graph(times), 0.5)
    # Half of 7 edges are 4 (rounded to even). 4 and 5 lose all their edges.
    assert as_set(split.test_edges) == {(2, 5), (4, 5), (1, 3), (2, 3)}
    assert split.since == 9
    assert times_of(split.train) == {(0, 1): 1, (1, 2): 2, (0, 2): 5, (0, 3): None}
    assert split.train.adjacency[1, 2] == split.train.adjacency[2, 1] == dated_graph(times).adjacency[1, 2]


def bits(split):
    return (
        split.test_edges.tobytes(),
        split.test_non_edges.tobytes(),
        np.asarray(split.train.edge_times, dtype=float).tobytes(),
        split.train.adjacency.data.tobytes(),
        split.since,
    )


def test_the_seed_alone_decides_between_edges_of_one_time():
    graph = dated_graph(dict.fromkeys(PAIRS[:-3], 7.0))
    first, same, other = (by_time(graph, seed=seed) for seed in (1, 1, 2))
    assert bits(first) == bits(same)
    assert as_set(first.test_edges) != as_set(other.test_edges)
    counts = dict.fromkeys(PAIRS[:-3], 0)
    for seed in range(400):
        for edge in as_set(by_time(graph, 0.3, seed).test_edges):
            counts[edge] += 1
    assert min(counts.values()) > 0


def test_without_ties_the_seed_decides_non_edges_only():
    graph = dated_graph({edge: float(time) for time, edge in enumerate(PAIRS[:20])})
    first, other = (by_time(graph, seed=seed) for seed in (1, 2))
    assert as_set(first.test_edges) == as_set(other.test_edges)
    assert as_set(first.test_non_edges) != as_set(other.test_non_edges)


def test_edges_of_one_time_are_held_out_together():
    graph = dated_graph({edge: float(place >= 15) for place, edge in enumerate(PAIRS[:20])})
    for seed in range(3):
        assert as_set(by_time(graph, 0.1, seed).test_edges) == set(PAIRS[15:20])


def test_a_share_of_the_earlier_edges_is_held_out_beside_the_latest():
    times = {edge: float(place) for place, edge in enumerate(PAIRS[:30])}
    graph = dated_graph(times)
    split = latest_and_earlier(graph, 0.2, 3)
    latest = as_set(by_time(graph, 0.2, 3).test_edges)
    held_out = as_set(split.test_edges)
    assert latest < held_out
    assert len(held_out - latest) == round(0.2 * (30 - len(latest)))
    assert times_of(split.train) == {edge: time for edge, time in times.items() if edge not in held_out}
    assert split.since == min(times[edge] for edge in latest)
    found = are_latest(split, graph, split.test_edges[:, ::-1])
    assert as_set(split.test_edges[found]) == latest
    bare = Graph(graph.adjacency)
    assert as_set(latest_and_earlier(bare, 0.2, 3).test_edges) == as_set(
        latest_or_random(bare, 0.2, 3).test_edges
    )


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
        by_time(bare)
    with pytest.raises(ValueError, match=r"^no edge of Graph\(9 nodes, 1 edge, 0 attributes\) has a time$"):
        by_time(dated_graph({(0, 1): None}))
    with pytest.raises(ValueError, match="can be held out while another stays"):
        by_time(dated_graph({(0, 1): 1}))
    with pytest.raises(ValueError, match="how must be one of random, connected, time, got 'later'"):
        split_edges(bare, how="later")
    with pytest.raises(ValueError, match="the graph of 9 nodes is complete"):
        by_time(dated_graph(dict.fromkeys(PAIRS, 1.0)))
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="share must lie between 0 and 1"):
            by_time(dated_graph({(0, 1): 1}), share)


def test_where_there_are_times_the_latest_are_held_out():
    graph = dated_graph({edge: float(time) for time, edge in enumerate(PAIRS[:20])})
    assert as_set(latest_or_random(graph, 0.2, 3).test_edges) == set(PAIRS[16:20])
    bare = Graph(graph.adjacency)
    assert bits(latest_or_random(bare, 0.2, 3)) == bits(split_edges(bare, 0.2, 3, how="random"))


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
