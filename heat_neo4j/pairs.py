"""The pairs D of all walks, and the negatives Gamma(u) = { v : (u, v) not in D } (HEAT, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels import pairs as kernels
from heat_neo4j._kernels.pairs import Negatives, PairSet
from heat_neo4j._kernels.random import alias_slots
from heat_neo4j._team import ALONE, Team
from heat_neo4j.walks import WALKS_PER_BLOCK, Walks, draw_walks, walks_from

__all__ = [
    "BLOOM_BYTES",
    "EXACT_BYTES",
    "LISTED_BYTES",
    "Pairs",
    "collect_pairs",
    "make_pair_set",
    "negatives_of_walks",
    "pair_set_bytes",
]

EXACT_BYTES = 2**28
"""An exact set is used while its N^2 bits fit here: up to about 46 thousand nodes."""

BLOOM_BYTES = 2**30
"""Largest Bloom filter."""

LISTED_BYTES = 2**27
"""Most memory that lists of negatives may take."""

_LISTED_ENTRY = 12
_OPEN_SHARE = 0.2  # where fewer draws than this suit, a list is quicker than trying
_BLOOM_BITS_PER_PAIR = 8  # with multiplicity; of different pairs there are some times fewer
_PROBES = 100_000


@dataclass(frozen=True)
class Pairs:
    """What one pass over all walks found.

    Attributes
    ----------
    negatives : Negatives
        Noise distribution and exclusion, for the trainer.
    occurrences : int64 array of shape (N,)
        How often each node occurs in the walks.
    n_pairs : int
        Pairs in the walks, both directions, with multiplicity.
    exact : bool
        Whether D is kept exactly.
    false_positive_share : float
        Share of pairs outside D that the set takes for members; 0 when exact.
    """

    negatives: Negatives
    occurrences: NDArray[np.int64]
    n_pairs: int
    exact: bool
    false_positive_share: float


def pair_set_bytes(n_nodes: int, walks_per_node: int, walk_length: int, window_size: int) -> tuple[bool, int]:
    """Return (exact, bytes) of the set that `make_pair_set` would make."""
    exact = n_nodes * ((n_nodes + 63) // 64) * 8
    if exact <= EXACT_BYTES:
        return True, exact
    most_pairs = n_nodes * walks_per_node * walk_length * window_size  # unordered
    return False, min(BLOOM_BYTES, most_pairs * _BLOOM_BITS_PER_PAIR // 8)


def make_pair_set(n_nodes: int, walks_per_node: int, walk_length: int, window_size: int) -> PairSet:
    """Return an empty set for the pairs of so many walks: exact while it is small, else a Bloom filter."""
    exact, size = pair_set_bytes(n_nodes, walks_per_node, walk_length, window_size)
    return PairSet(np.zeros(max(size // 8, 1), dtype=np.uint64), (n_nodes + 63) // 64 if exact else 0)


def collect_pairs(
    walks: Walks,
    *,
    walks_per_node: int,
    window_size: int,
    negative_exponent: float,
    team: Team = ALONE,
    pair_set: PairSet | None = None,
    on_block: Callable[[int, int], None] = lambda done, total: None,
) -> Pairs:
    """Draw every walk once, in blocks, and keep only D and the occurrences.

    Parameters
    ----------
    walks : Walks
        The walks to draw; walk r N + v is the r-th from node v.
    walks_per_node, window_size : int
        HEAT's s and c.
    negative_exponent : float
        Negatives are drawn in proportion to occurrences ** negative_exponent.
    team : Team
        Threads to use; the result does not depend on it.
    pair_set : PairSet, optional
        An empty set to fill, made to measure when not given.
    on_block : callable
        Called with (walks drawn, walks in all).

    Returns
    -------
    Pairs
    """
    n = walks.n_nodes
    if pair_set is None:
        pair_set = make_pair_set(n, walks_per_node, walks.length, window_size)
    occurrences = np.zeros(n, dtype=np.int64)
    n_pairs = np.zeros(1, dtype=np.int64)
    total = n * walks_per_node
    for first in range(0, total, WALKS_PER_BLOCK):
        last = min(first + WALKS_PER_BLOCK, total)
        nodes, lengths = draw_walks(walks, np.arange(first, last), team)
        team.run(kernels.record_walks, nodes, lengths, window_size, *pair_set, occurrences, n_pairs)
        on_block(last, total)
    weights = occurrences.astype(np.float64) ** negative_exponent
    exact = pair_set.row_words > 0
    return Pairs(
        negatives=_negatives(pair_set, weights, team) if exact else _negatives_of_many(pair_set, weights),
        occurrences=occurrences,
        n_pairs=int(n_pairs[0]),
        exact=exact,
        false_positive_share=0.0 if exact else _false_positive_share(pair_set, n),
    )


def negatives_of_walks(
    walks: Walks,
    nodes: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    walks_per_node: int,
    window_size: int,
    team: Team = ALONE,
) -> Negatives:
    """Draw the walks from some nodes only; return the noise distribution that avoids their pairs.

    D is a Bloom filter, which needs no memory for the other nodes.

    Parameters
    ----------
    walks : Walks
        The walks.
    nodes : int64 array of shape (M,)
        Where they start.
    weights : float64 array of shape (N,)
        The noise distribution: so few walks do not tell how often each node occurs.
    walks_per_node, window_size, team
        As for `collect_pairs`.
    """
    most_pairs = len(nodes) * walks_per_node * walks.length * window_size
    bloom = min(BLOOM_BYTES, most_pairs * _BLOOM_BITS_PER_PAIR // 8)
    pair_set = PairSet(np.zeros(max(bloom // 8, 1), dtype=np.uint64), 0)
    occurrences = np.zeros(walks.n_nodes, dtype=np.int64)
    n_pairs = np.zeros(1, dtype=np.int64)
    indices = walks_from(nodes, walks_per_node, walks.n_nodes)
    for first in range(0, len(indices), WALKS_PER_BLOCK):
        drawn, lengths = draw_walks(walks, indices[first : first + WALKS_PER_BLOCK], team)
        team.run(kernels.record_walks, drawn, lengths, window_size, *pair_set, occurrences, n_pairs)
    return _negatives_of_many(pair_set, weights)


def _negatives(pair_set: PairSet, weights: NDArray[np.float64], team: Team) -> Negatives:
    """Return the noise distribution; nodes that have met most others get a list of their negatives."""
    counts, totals = np.zeros(len(weights), dtype=np.int64), np.zeros(len(weights))
    team.run(kernels.open_weights, pair_set, weights, counts, totals)
    crowded = np.flatnonzero((counts > 0) & (totals < _OPEN_SHARE * weights.sum()))
    crowded = crowded[np.argsort(totals[crowded], kind="stable")]
    crowded = crowded[np.cumsum(counts[crowded]) * _LISTED_ENTRY <= LISTED_BYTES]
    sizes = np.zeros(len(weights), dtype=np.int64)
    sizes[crowded] = counts[crowded]
    negatives = _empty_negatives(pair_set, weights, counts > 0, sizes)
    team.run(
        kernels.list_negatives, pair_set, weights, negatives.listed_from, negatives.listed,
        negatives.listed_slots,
    )  # fmt: skip
    return negatives


def _negatives_of_many(pair_set: PairSet, weights: NDArray[np.float64]) -> Negatives:
    """Return the noise distribution where a Bloom filter is in use: every node has nodes it never met."""
    n = len(weights)
    return _empty_negatives(pair_set, weights, np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.int64))


def _empty_negatives(
    pair_set: PairSet, weights: NDArray[np.float64], exists: NDArray[np.bool_], sizes: NDArray[np.int64]
) -> Negatives:
    """Return the noise distribution with room for lists of the given sizes."""
    listed_from = np.concatenate(([0], np.cumsum(sizes)))
    listed = np.empty(listed_from[-1], dtype=np.int32)
    listed_slots = np.empty(listed_from[-1], dtype=np.uint64)
    slots = alias_slots(weights)
    return Negatives(slots, weights, exists, listed_from, listed, listed_slots, *pair_set)


def _false_positive_share(pair_set: PairSet, n: int) -> float:
    """Ask a Bloom filter for pairs that cannot be in it (contexts from N on)."""
    hits = sum(bool(kernels.contains(pair_set, i % n, n + i)) for i in range(_PROBES))
    return hits / _PROBES
