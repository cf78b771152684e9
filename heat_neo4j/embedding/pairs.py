"""The pairs D of all walks, and the negatives Gamma(u) = { v : (u, v) not in D } (HEAT, section 3.3)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels import pairs as kernels
from heat_neo4j._kernels.elementwise import power
from heat_neo4j._kernels.pairs import Negatives, PairSet
from heat_neo4j._kernels.random import alias_slots
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.similarity import longest_list
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks, draw_walks, walks_from

EXACT_BYTES = 2**28  # limit of the exact set of N^2 bits: up to about 46 thousand nodes
BLOOM_BYTES = 2**30  # largest Bloom filter
LISTED_BYTES = 2**27  # maximum memory of the lists of negatives
_LISTED_ENTRY = 12
_OPEN_SHARE = 0.2  # below this acceptance rate, sampling from a list is faster than rejection
_FULL = 0.5  # above this false-positive rate, a filter costs more draws than it saves
_BLOOM_BITS_PER_PAIR = 8  # per pair with multiplicity; there are several times fewer distinct pairs
_PROBES = 100_000


class RecordedPairs(NamedTuple):
    """The pairs of a share of the walks."""

    words: NDArray[np.uint64]  # the set D, see `make_pair_set`
    occurrences: NDArray[np.int64]  # (N,)
    n_pairs: int


@dataclass(frozen=True)
class WalkPairs:
    """The pairs of all walks."""

    negatives: Negatives  # noise distribution and exclusion, for the trainer
    occurrences: NDArray[np.int64]  # (N,): occurrences of each node in the walks
    n_pairs: int  # pairs in the walks, both directions, with multiplicity
    # Representation of D: "exact", "bloom filter", or "crowded nodes" if even the largest filter would be too
    # full. In that case only crowded nodes are certain to avoid their contexts.
    exclusion: str
    false_positive_share: float  # false-positive rate of the set; 0 if exact
    n_crowded: int  # nodes that sample negatives from a list, because most draws would be in D

    def facts(self) -> dict[str, Any]:
        """Return the entries of the training record."""
        return {
            "exclusion": self.exclusion,
            "exclusion_false_positive_share": self.false_positive_share,
            "crowded_nodes": self.n_crowded,
        }


def pair_set_bytes(
    n_nodes: int, walks_per_node: int, walk_length: int, window_size: int, exact_bytes: int = EXACT_BYTES
) -> tuple[bool, int]:
    """Return (is exact, bytes) of the set that `make_pair_set` would create."""
    exact = n_nodes * ((n_nodes + 63) // 64) * 8
    if exact <= exact_bytes:
        return True, exact
    return False, _bloom_bytes(n_nodes, walks_per_node, walk_length, window_size)


def _bloom_bytes(n_starts: int, walks_per_node: int, walk_length: int, window_size: int) -> int:
    most_pairs = n_starts * walks_per_node * walk_length * window_size  # unordered
    return min(BLOOM_BYTES, most_pairs * _BLOOM_BITS_PER_PAIR // 8)


def make_pair_set(
    n_nodes: int, walks_per_node: int, walk_length: int, window_size: int, exact_bytes: int = EXACT_BYTES
) -> PairSet:
    """Return an empty set for the pairs of the walks: exact if it is small, otherwise a Bloom filter."""
    exact, size = pair_set_bytes(n_nodes, walks_per_node, walk_length, window_size, exact_bytes)
    return PairSet(np.zeros(max(size // 8, 1), dtype=np.uint64), (n_nodes + 63) // 64 if exact else 0)


def collect_pairs(
    walks: Walks,
    *,
    walks_per_node: int,
    window_size: int,
    negative_exponent: float,
    team: WorkerThreads = ALONE,
    pair_set: PairSet | None = None,
    shares: Iterable[RecordedPairs] | None = None,
    on_block: Callable[[int, int], None] = lambda done, total: None,
) -> WalkPairs:
    """Draw every walk once, in blocks, and keep only D and the occurrences.

    Negatives are drawn proportionally to occurrences ** negative_exponent. The empty `pair_set` is filled; by
    default one of suitable size is created. With `shares`, the walks were recorded elsewhere. Calls
    `on_block` with (walks drawn, total walks).
    """
    n = walks.n_nodes
    if pair_set is None:
        pair_set = make_pair_set(n, walks_per_node, walks.length, window_size)
    if shares is None:
        indices = range(n * walks_per_node)
        occurrences, n_pairs = _record(walks, indices, window_size, pair_set, team, on_block)
    else:
        occurrences, n_pairs = np.zeros(n, dtype=np.int64), 0
        for share in shares:
            np.bitwise_or(pair_set.words, share.words, out=pair_set.words)
            occurrences += share.occurrences
            n_pairs += int(share.n_pairs)
    weights = power(occurrences, negative_exponent)
    negatives = _make_negatives(pair_set, occurrences, weights, window_size, walks.walker.key, team)
    exclusion, false_positive_share = "exact", 0.0
    if not pair_set.row_words:
        exclusion, false_positive_share = "bloom filter", _false_positive_share(pair_set, n)
        if false_positive_share > _FULL:
            exclusion = "crowded nodes"
            negatives = negatives._replace(words=np.zeros(1, dtype=np.uint64))
    return WalkPairs(
        negatives=negatives,
        occurrences=occurrences,
        n_pairs=n_pairs,
        exclusion=exclusion,
        false_positive_share=false_positive_share,
        n_crowded=int(np.count_nonzero(np.diff(negatives.listed_from))),
    )


def record_share(
    walks: Walks, *, walks_per_node: int, window_size: int, share: int, n_shares: int
) -> RecordedPairs:
    """Record share number `share` of `n_shares` of all walks, on the calling thread."""
    n = walks.n_nodes
    pair_set = make_pair_set(n, walks_per_node, walks.length, window_size)
    indices = range(share, n * walks_per_node, n_shares)
    occurrences, n_pairs = _record(walks, indices, window_size, pair_set, ALONE)
    return RecordedPairs(pair_set.words, occurrences, n_pairs)


def negatives_of_walks(
    walks: Walks,
    nodes: NDArray[np.int64],
    weights: NDArray[np.float64],
    walks_per_node: int,
    window_size: int,
    team: WorkerThreads,
) -> Negatives:
    """Draw the walks from some nodes only; return the noise distribution that avoids their pairs.

    D is a Bloom filter, which needs no memory for the other nodes. The noise distribution is given by
    `weights`, shape (N,), because so few walks do not estimate occurrences.
    """
    size = _bloom_bytes(len(nodes), walks_per_node, walks.length, window_size)
    pair_set = PairSet(np.zeros(max(size // 8, 1), dtype=np.uint64), 0)
    indices = walks_from(nodes, walks_per_node, walks.n_nodes)
    occurrences, _ = _record(walks, indices, window_size, pair_set, team)
    return _make_negatives(pair_set, occurrences, weights, window_size, walks.walker.key, team)


def _record(
    walks: Walks,
    indices: NDArray[np.int64] | range,
    window_size: int,
    pair_set: PairSet,
    team: WorkerThreads,
    on_block: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[NDArray[np.int64], int]:
    """Add the pairs of some walks to a set; return each node's occurrences, and the number of pairs."""
    occurrences, n_pairs = np.zeros(walks.n_nodes, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for first in range(0, len(indices), WALKS_PER_BLOCK):
        block = np.asarray(indices[first : first + WALKS_PER_BLOCK])
        nodes, lengths = draw_walks(walks, block, team)
        team.run(kernels.record_walks, nodes, lengths, window_size, *pair_set, occurrences, n_pairs)
        on_block(first + len(block), len(indices))
    return occurrences, int(n_pairs[0])


def _make_negatives(
    pair_set: PairSet,
    occurrences: NDArray[np.int64],
    weights: NDArray[np.float64],
    window_size: int,
    walk_key: np.uint64,
    team: WorkerThreads,
) -> Negatives:
    """Return the noise distribution; crowded nodes, which have met most others, get a list of negatives.

    Only nodes that occur often enough to be crowded are scanned. There are so few that the scans cost about
    one lookup per pair, for any graph.
    """
    n = len(weights)
    heaviest = np.cumsum(np.sort(weights)[::-1])
    crowd = np.searchsorted(heaviest, (1.0 - _OPEN_SHARE) * heaviest[-1] * (1.0 - 1e-9))  # fewest nodes
    scanned = np.flatnonzero(2 * window_size * occurrences >= crowd)
    counts, totals = np.zeros(len(scanned), dtype=np.int64), np.zeros(len(scanned))
    team.run(kernels.open_weights, pair_set, weights, scanned, counts, totals)
    exists = np.ones(n, dtype=np.bool_)
    exists[scanned] = counts > 0
    crowded = (counts > 0) & (totals < _OPEN_SHARE * weights.sum())
    listed_nodes, counts = scanned[crowded], counts[crowded]
    sizes = np.zeros(n, dtype=np.int64)
    sizes[listed_nodes] = np.minimum(counts, longest_list(counts, LISTED_BYTES // _LISTED_ENTRY))
    listed_from = np.concatenate(([0], np.cumsum(sizes)))
    listed = np.empty(listed_from[-1], dtype=np.int32)
    listed_slots = np.empty(listed_from[-1], dtype=np.uint64)
    team.run(
        kernels.list_negatives, pair_set, weights, listed_nodes, counts, ~walk_key, listed_from, listed,
        listed_slots,
    )  # fmt: skip
    return Negatives(alias_slots(weights), exists, listed_from, listed, listed_slots, *pair_set)


def _false_positive_share(pair_set: PairSet, n: int) -> float:
    """Estimate the false-positive rate of a Bloom filter, with pairs that are not in it (contexts >= N)."""
    hits = sum(bool(kernels.contains(pair_set, i % n, n + i)) for i in range(_PROBES))
    return hits / _PROBES
