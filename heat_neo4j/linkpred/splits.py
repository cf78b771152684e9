"""Edge splits: hold out edges for testing without leakage into the training graph.

Pairs are undirected throughout, so the reverse of a held-out edge is held out with it.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.random import draw_seed
from heat_neo4j.graph import Graph
from heat_neo4j.patterns import Pattern

Split = Literal["random", "connected", "time"]
SPLITS: tuple[Split, ...] = get_args(Split)

_DAY = 86_400  # seconds
_FEW = 0.25  # of the number of isolated nodes: if random edges isolate fewer, whole nodes lose theirs
_OF_WHOLE_NODES = 0.1  # share of the held-out edges
_OF_LINKED = 0.2  # most of the linked nodes with the same labels that lose all edges
_NON_EDGES_OF_NODES = 5  # non-edges per held-out edge in `split_edges_of`


@dataclass(frozen=True, eq=False)
class EdgeSplit:
    """A training graph, m held-out edges, and non-edges; pairs are rows (u, v) with u < v, sorted."""

    train: Graph  # without the held-out edges; nodes and attributes are unchanged
    test_edges: NDArray[np.int64]  # (m, 2)
    test_non_edges: NDArray[np.int64]  # distinct pairs without an edge in the whole graph
    since: float | None = None  # earliest time of a held-out edge; None if the split is not by time

    @property
    def since_text(self) -> str | None:
        """`since` as text: ``2024-03-01``, ``2024-03-01T12:30:00Z`` (UTC) or a number."""
        if self.since is None or not self.train.times_are_dates:
            return None if self.since is None else f"{self.since:.15g}"
        moment = np.datetime64(math.floor(self.since), "s")
        return f"{moment}Z" if self.since % _DAY else str(np.datetime_as_string(moment, unit="D"))


def joins_held_out(split: EdgeSplit, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the `pairs`, shape (m, 2), that are held-out edges in either direction."""
    n = split.train.n_nodes
    return np.isin(np.sort(pairs, axis=1) @ (n, 1), split.test_edges @ (n, 1))


def split_edges(
    graph: Graph,
    share: float = 0.15,
    random_state: int | None = 0,
    *,
    how: Split = "connected",
    non_edges_per_edge: int = 1,
) -> EdgeSplit:
    """Hold out a share of the edges.

    Non-edges are drawn uniformly without replacement from all unlinked pairs of the whole graph. The same
    seed gives the same split; None uses a random seed.

    Parameters
    ----------
    graph : Graph
        The whole graph.
    share : float
        Share of the edges to hold out, in (0, 1); with "time", of the edges that have a time.
    random_state : int, optional
        Seed of the split and of the non-edges.
    how : {"random", "connected", "time"}
        "random" holds out random edges; nodes may lose all of theirs. "connected" keeps at least one edge of
        each node, as the HEAT authors' program does: edges are shuffled, the first edge of each node stays,
        and the first of the others are held out. Sparse graphs may allow fewer than `share`. "time" holds out
        the latest edges. Edges without a time stay. Edges of one time are held out together; the seed divides
        them only where more than half of the edges would be held out.
    non_edges_per_edge : int
        Non-edges to draw for each held-out edge.

    Returns
    -------
    EdgeSplit

    Raises
    ------
    ValueError
        If `share` is outside (0, 1), no edge can be held out, none would remain, the graph is complete, or
        `how` is "time" and no edge has a time.
    """
    if how not in SPLITS:
        raise ValueError(f"how must be one of {', '.join(SPLITS)}, got {how!r}")
    edges, place, non_edge_seed, _ = _shuffled(graph, share, random_state)
    free, times = np.arange(len(edges)), None
    if how == "connected":
        free = np.flatnonzero(~_first_of_a_node(edges, graph.n_nodes, place))
    elif how == "time":
        times = _times(graph)
        free = np.flatnonzero(~np.isnan(times))
        place = -np.lexsort((place, times)).argsort()  # the latest first
    wanted = max(round(share * len(free if how == "time" else edges)), 1)
    if times is not None:
        wanted = _whole_moments(times[free], wanted)
    chosen = free[np.argsort(place[free])[:wanted]]
    if len(chosen) in (0, len(edges)):
        why = "while every node keeps one" if how == "connected" else "while another stays"
        raise ValueError(f"no edge of {graph!r} can be held out {why}")
    split = _split(graph, edges, chosen, non_edges_per_edge * len(chosen), non_edge_seed)
    return split if times is None else replace(split, since=float(times[chosen].min()))


def latest_or_random(
    graph: Graph, share: float, random_state: int | None, *, non_edges_per_edge: int = 1
) -> EdgeSplit:
    """Hold out the latest edges if the graph has edge times, otherwise random ones; see `split_edges`.

    Random edges rarely isolate nodes of a dense graph. If few nodes are, beside those that the graph has with
    the same labels, up to a tenth of the held-out edges are all edges of random nodes with these labels.
    """
    if graph.edge_times is not None and not np.isnan(graph.edge_times).all():
        return split_edges(graph, share, random_state, how="time", non_edges_per_edge=non_edges_per_edge)
    edges, place, non_edge_seed, node_seed = _shuffled(graph, share, random_state)
    wanted = max(round(share * len(edges)), 1)
    first = edges[np.argsort(place)[:wanted]]
    loses_all = _like_isolated(graph, first, wanted * _OF_WHOLE_NODES, node_seed)[edges].any(axis=1)
    chosen = np.lexsort((place, ~loses_all))[:wanted]
    if len(chosen) == len(edges):
        raise ValueError(f"no edge of {graph!r} can be held out while another stays")
    return _split(graph, edges, chosen, non_edges_per_edge * len(chosen), non_edge_seed)


def latest_and_earlier(
    graph: Graph, share: float, random_state: int | None, *, non_edges_per_edge: int = 1
) -> EdgeSplit:
    """Hold out as `latest_or_random` does and, if by time, the same share of the earlier edges at random.

    A score is fitted to the earlier ones, as many of the latest may come from a single event, and measured on
    the latest, which alone show how likely a new link is. `are_latest` tells them apart.
    """
    split = latest_or_random(graph, share, random_state, non_edges_per_edge=non_edges_per_edge)
    if split.since is None:
        return split
    earlier = split_edges(split.train, share, random_state, how="random")
    both = np.concatenate((split.test_edges, earlier.test_edges))
    return replace(split, train=earlier.train, test_edges=both[np.lexsort(both.T[::-1])])


def are_latest(split: EdgeSplit, graph: Graph, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which `pairs`, shape (m, 2), have a time from `split.since` on; all if the split has none."""
    if split.since is None or graph.edge_times is None:
        return np.ones(len(pairs), dtype=np.bool_)
    edges, n, latest = graph.edges, graph.n_nodes, graph.edge_times >= split.since
    codes = edges.row[latest].astype(np.int64) * n + edges.col[latest]
    return np.isin(np.sort(pairs, axis=1) @ (n, 1), codes)


def partly_given_back(split: EdgeSplit, graph: Graph, random_state: int | None) -> EdgeSplit:
    """Return all relationships but one to some of the held-out pairs with several relationships.

    New links appear both between unlinked nodes and between linked ones, as replies do. A pair with c
    relationships is chosen with probability c / (c + 1), so that on average both cases hold out equally many
    relationships. A chosen pair loses one random relationship, stays an edge of the training graph, and is no
    test edge. `graph` is the whole graph. The same seed gives the same split; None uses a random seed. The
    split of an undirected graph is returned unchanged.
    """
    if graph.relationships is None:
        return split
    generator, n = np.random.default_rng(draw_seed(random_state)), graph.n_nodes
    source, target = (
        ends.astype(np.int64) for ends in (graph.relationships.source, graph.relationships.target)
    )
    codes = np.minimum(source, target) * n + np.maximum(source, target)
    place = np.argsort(codes, kind="stable")
    place = place[np.isin(codes[place], split.test_edges @ (n, 1))]
    pairs, first, count = np.unique(codes[place], return_index=True, return_counts=True)
    chosen = np.flatnonzero((count > 1) & (generator.random(len(count)) < count / (count + 1.0)))
    held_out = place[first[chosen] + generator.integers(count[chosen])]
    is_back = np.isin(split.test_edges @ (n, 1), pairs[chosen])
    edges = np.column_stack((graph.edges.row, graph.edges.col)).astype(np.int64)
    test_edges = split.test_edges[~is_back]
    train = _without(graph, edges, ~np.isin(edges @ (n, 1), test_edges @ (n, 1)))
    left = np.ones(len(source), dtype=bool)
    left[held_out] = False
    left &= ~np.isin(codes, test_edges @ (n, 1))
    return replace(
        split, train=replace(train, relationships=graph.relationships.some(left)), test_edges=test_edges
    )


def split_edges_of(
    graph: Graph, nodes: NDArray[np.bool_], share: float = 0.2, random_state: int | None = 0
) -> EdgeSplit:
    """Hold out a share of the edges at some nodes; every node with an edge keeps at least one.

    `nodes` is a mask of shape (N,). For each held-out edge, up to five non-edges are drawn with replacement,
    from the edge's node in `nodes` to an unlinked node. Raises ValueError if `share` is outside (0, 1) or no
    edge can be held out.
    """
    edges, place, non_edge_seed, _ = _shuffled(graph, share, random_state)
    theirs = nodes[edges].any(axis=1)
    free = np.flatnonzero(theirs & ~_first_of_a_node(edges, graph.n_nodes, place))
    chosen = free[np.argsort(place[free])[: max(round(share * int(theirs.sum())), 1)]]
    if not len(chosen):
        raise ValueError(
            f"no edge of {plural(int(nodes.sum()), 'node')} can be held out while every node keeps one"
        )
    held = edges[chosen]
    first = np.repeat(np.where(nodes[held[:, 0]], held[:, 0], held[:, 1]), _NON_EDGES_OF_NODES)
    second = np.random.default_rng(non_edge_seed).integers(0, graph.n_nodes, len(first))
    joined = np.asarray(graph.adjacency[first, second]).ravel() != 0
    apart = np.column_stack((first, second))[~joined & (first != second)]
    return replace(_split(graph, edges, chosen, 1, non_edge_seed), test_non_edges=np.sort(apart, axis=1))


def _like_isolated(
    graph: Graph, held_out: NDArray[np.int64], most_edges: float, seed: np.random.SeedSequence
) -> NDArray[np.bool_]:
    """Draw nodes to isolate, of at most the median degree, with labels of which `held_out` isolates few."""
    is_isolated = graph.degrees == 0
    drawn = np.zeros(graph.n_nodes, dtype=np.bool_)
    if not is_isolated.any():
        return drawn
    _, kind = graph.label_sets()
    isolates = ~is_isolated & (graph.degrees == np.bincount(held_out.ravel(), minlength=graph.n_nodes))
    wanted, found = (np.bincount(kind, mask, kind.max() + 1) for mask in (is_isolated, isolates))
    may_lose = np.flatnonzero((found < _FEW * wanted)[kind] & ~is_isolated)
    if len(may_lose):
        few = may_lose[graph.degrees[may_lose] <= np.median(graph.degrees[may_lose])]
        order = np.random.default_rng(seed).permutation(few)
        order = order[np.cumsum(graph.degrees[order]) <= most_edges]
        for each in np.unique(kind[order]):
            most = int(_OF_LINKED * np.count_nonzero(~is_isolated & (kind == each)))
            drawn[order[kind[order] == each][:most]] = True
    return drawn


def _whole_moments(times: NDArray[np.float64], wanted: int) -> int:
    """Return how many of the latest edges divide no time, at least `wanted`; `wanted` if over half do."""
    first = np.sort(times)[len(times) - wanted]
    whole = int(np.count_nonzero(times >= first))
    return whole if 2 * whole <= len(times) else wanted


def _times(graph: Graph) -> NDArray[np.float64]:
    """Return the times of the edges, NaN if missing; raises ValueError if no edge has a time."""
    if graph.edge_times is None:
        raise ValueError(f"{graph!r} has no times: name the relationship property that holds them (time)")
    if np.isnan(graph.edge_times).all():
        raise ValueError(f"no edge of {graph!r} has a time")
    return graph.edge_times


def _shuffled(
    graph: Graph, share: float, random_state: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], np.random.SeedSequence, np.random.SeedSequence]:
    """Return the edges as rows (u, v), their places in a random order, and seeds of non-edges and nodes."""
    if not 0.0 < share < 1.0:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    edge_seed, non_edge_seed, node_seed = np.random.SeedSequence(draw_seed(random_state)).spawn(3)
    edges = np.column_stack((graph.edges.row, graph.edges.col)).astype(np.int64)
    return edges, np.random.default_rng(edge_seed).permutation(len(edges)), non_edge_seed, node_seed


def _first_of_a_node(edges: NDArray[np.int64], n: int, place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the edges that come first at one of their ends."""
    first = np.full(n, len(edges))
    for end in (0, 1):
        np.minimum.at(first, edges[:, end], place)
    marked: NDArray[np.bool_] = (place == first[edges[:, 0]]) | (place == first[edges[:, 1]])
    return marked


def _split(
    graph: Graph,
    edges: NDArray[np.int64],
    chosen: NDArray[np.int64],
    n_non_edges: int,
    non_edge_seed: np.random.SeedSequence,
) -> EdgeSplit:
    """Hold out the `chosen` edges, and draw non-edges."""
    keep = np.ones(len(edges), dtype=bool)
    keep[chosen] = False
    return EdgeSplit(
        train=_without(graph, edges, keep),
        test_edges=edges[~keep],
        test_non_edges=draw_non_edges(edges, graph.n_nodes, n_non_edges, non_edge_seed),
    )


def _without(graph: Graph, edges: NDArray[np.int64], keep: NDArray[np.bool_]) -> Graph:
    """Return the graph with the edges of the mask `keep` only."""
    upper = graph.edges
    remaining = sparse.coo_array(
        (upper.data[keep], (upper.row[keep], upper.col[keep])), shape=graph.adjacency.shape
    ).tocsr()
    return replace(
        graph,
        adjacency=sparse.csr_array(remaining + remaining.T),
        edge_times=None if graph.edge_times is None else graph.edge_times[keep],
        relationships=None
        if graph.relationships is None
        else graph.relationships.without(edges[~keep], graph.n_nodes),
    )


def without_link(graph: Graph, pattern: Pattern | None, pair: tuple[int, int]) -> Graph:
    """Return the graph without the pattern's relationship from one row to another; itself if it has none."""
    rest = own = graph.relationships
    if own is not None and pattern is not None:
        place, stays = own.types.index(pattern.type), np.ones(len(own), dtype=np.bool_)
        of_type = slice(own.starts[place], own.starts[place + 1])
        stays[of_type] = (own.source[of_type] != pair[0]) | (own.target[of_type] != pair[1])
        if stays.all():
            return graph
        rest = own.some(stays)
        if (np.isin(rest.source, pair) & np.isin(rest.target, pair)).any():
            return replace(graph, relationships=rest)
    edges = np.column_stack((graph.edges.row, graph.edges.col)).astype(np.int64)
    others = (edges != (min(pair), max(pair))).any(axis=1)
    left = graph if others.all() else _without(graph, edges, others)
    return left if rest is own else replace(left, relationships=rest)


def draw_non_edges(
    edges: NDArray[np.int64], n: int, count: int, seed: np.random.SeedSequence
) -> NDArray[np.int64]:
    """Draw non-edges uniformly without replacement, by rank among all non-edges; sorted."""
    row_start = np.concatenate(([0], np.cumsum(np.arange(n - 1, 0, -1, dtype=np.int64))))
    total = n * (n - 1) // 2 - len(edges)
    if total == 0:
        raise ValueError(f"the graph of {plural(n, 'node')} is complete: it has no non-edge to draw")
    ranks = np.sort(
        np.random.default_rng(seed).choice(total, size=min(count, total), replace=False, shuffle=False)
    )
    edge_codes = row_start[edges[:, 0]] + edges[:, 1] - edges[:, 0] - 1
    # Non-edge number r is the pair with code r + (number of edges before it).
    codes = ranks + np.searchsorted(edge_codes - np.arange(len(edges)), ranks, side="right")
    u = np.searchsorted(row_start, codes, side="right") - 1
    return np.column_stack((u, codes - row_start[u] + u + 1)).astype(np.int64)
