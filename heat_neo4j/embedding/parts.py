"""Random partitions of the nodes, one per round of walks: the pairs of walks and the inputs of buckets."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.buckets import BucketNodes, Positions, count_pairs, group_pairs, place_pairs
from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._kernels.random import alias_slots, slot_weights
from heat_neo4j.embedding.tournament import Bucket
from heat_neo4j.embedding.walks import Walks, draw_walks

MOST_CONTEXTS = 8
"""Maximum contexts of a source that share one set of negatives."""

_TIMES = 4  # maximum number of equal pairs merged into one weighted pair
_CROWDS = 16  # a node with more than 1 / 16 of the pairs of its part is a hub


class Parts(NamedTuple):
    """A partition of N nodes, H of them hubs, into V parts.

    The rows of a part are those of all hubs, then those of its own nodes, about (N - H) / V. The R rows of
    all parts are concatenated.
    """

    nodes: NDArray[np.int32]  # (R,): the node of each row
    starts: NDArray[np.int64]  # (V + 1,): the first row of each part, and R
    addresses: NDArray[np.uint32]  # (N,): address of each node, see `_kernels.buckets`
    place_bits: int
    n_hubs: int  # H

    @property
    def n_parts(self) -> int:
        """Number of parts V."""
        return len(self.starts) - 1

    def part(self, number: int) -> slice:
        """Return the rows of a part."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def bucket(self, bucket: Bucket) -> list[slice]:
        """Return the rows of the one or two parts of a bucket."""
        return [self.part(number) for number in sorted({bucket.first, bucket.second})]


class BlockPairs(NamedTuple):
    """The unordered pairs of a block of walks, sorted by bucket."""

    pairs: NDArray[np.unsignedinteger]  # positions of both nodes in their parts, packed
    begins: NDArray[np.int64]  # start of each bucket's pairs, and the end

    def of(self, number: int) -> NDArray[np.unsignedinteger]:
        """Return the pairs of one bucket."""
        return self.pairs[self.begins[number] : self.begins[number + 1]]


def hubs_of(occurrences: NDArray[np.int64], n_parts: int) -> NDArray[np.int32]:
    """Return the nodes that occur so often in the walks that they would dominate a part."""
    return np.flatnonzero(occurrences * (_CROWDS * n_parts) > occurrences.sum()).astype(np.int32)


def make_parts(n_nodes: int, hubs: NDArray[np.int32], n_parts: int, generator: np.random.Generator) -> Parts:
    """Assign nodes to parts at random, and hubs to all parts."""
    order = np.setdiff1d(np.arange(n_nodes, dtype=np.int32), hubs)
    order = order[generator.permutation(len(order))]
    own = np.linspace(0, len(order), n_parts + 1).astype(np.int64)  # start of each part's own nodes
    starts = own + len(hubs) * np.arange(n_parts + 1)
    place_bits = max(int(np.diff(starts).max()) - 1, 1).bit_length()
    part = np.repeat(np.arange(n_parts), np.diff(own))
    addresses = np.empty(n_nodes, dtype=np.uint32)
    addresses[order] = part << place_bits | len(hubs) + np.arange(len(order)) - own[part]
    addresses[hubs] = n_parts << place_bits | np.arange(len(hubs))
    nodes = np.concatenate(
        [np.concatenate([hubs, order[own[number] : own[number + 1]]]) for number in range(n_parts)]
    )
    return Parts(nodes, starts, addresses, place_bits, len(hubs))


def draw_pairs(
    walks: Walks, indices: NDArray[np.int64], window_size: int, parts: Parts, key: np.uint64
) -> BlockPairs:
    """Draw a block of walks, on the calling thread, and sort its pairs."""
    nodes, lengths = draw_walks(walks, indices)
    addresses = np.empty(nodes.shape, dtype=np.uint32)
    begins = np.empty(parts.n_parts * (parts.n_parts + 1) // 2 + 1, dtype=np.int64)
    layout = parts.place_bits, parts.n_parts, parts.n_hubs
    count_pairs(indices, nodes, lengths, window_size, parts.addresses, *layout, key, addresses, begins)
    pairs = np.empty(int(begins[-1]), dtype=_pair_type(parts.place_bits))
    place_pairs(addresses, lengths, window_size, *layout, begins.copy(), pairs)
    return BlockPairs(pairs, begins)


def pair_bytes(n_nodes: int, n_parts: int) -> int:
    """Return the bytes per pair in `BlockPairs`."""
    return np.dtype(_pair_type((-(-n_nodes // n_parts) - 1).bit_length())).itemsize


def _pair_type(place_bits: int) -> type[np.unsignedinteger]:
    return np.uint32 if 2 * place_bits <= 32 else np.uint64


class ListsByPart(NamedTuple):
    """The negatives of crowded nodes, which are sampled from explicit lists, by part."""

    list_of: NDArray[np.int64]  # (R,): index of each row's list among M; -1 for none
    begins: NDArray[np.int64]  # (M V + 1,): start of each list's negatives in each part
    places: NDArray[np.int64]  # rows of the negatives within their part
    weights: NDArray[np.float64]  # sampling weights


def make_positions(
    pairs: NDArray[np.unsignedinteger], place_bits: int, rows: int, second: int, key: np.uint64
) -> tuple[Positions, int]:
    """Return a bucket's positions in training order, and their number.

    The bucket has `rows` rows; those of its second part begin at `second`, 0 if it has only one part.
    """
    room = 2 * len(pairs)
    most = room // MOST_CONTEXTS + min(rows, room)
    positions = Positions(
        sources=np.empty(most, dtype=np.int32),
        begins=np.empty(most, dtype=np.int64),
        counts=np.empty(most, dtype=np.int32),
        strides=np.empty(most, dtype=np.int32),
        contexts=np.empty(room, dtype=np.int32),
        times=np.empty(room, dtype=np.float32),
    )
    n_positions = group_pairs(
        pairs, place_bits, second, MOST_CONTEXTS, _TIMES, key, np.empty(rows + 1, dtype=np.int64),
        np.empty(rows, dtype=np.int64), np.empty(room, dtype=np.int32), positions,
    )  # fmt: skip
    return positions, n_positions


def bucket_nodes(
    parts: Parts, slots: NDArray[np.uint64], lists: ListsByPart, bucket: Bucket, negatives: Negatives
) -> BucketNodes:
    """Return the nodes of a bucket with their negative-sampling tables."""
    rows = parts.bucket(bucket)

    def of(values: NDArray[np.generic]) -> NDArray:  # type: ignore[type-arg]
        return np.concatenate([values[part] for part in rows])

    first = rows[0].stop - rows[0].start
    own_lists = of(lists.list_of)
    list_of = np.full(len(own_lists), -1, dtype=np.int32)
    listed: list[NDArray[np.int64]] = []
    listed_slots: list[NDArray[np.uint64]] = []
    for row in np.flatnonzero(own_lists >= 0):
        in_second = row < first and len(rows) > 1  # negatives come from the part of the contexts
        at = own_lists[row] * parts.n_parts + (bucket.second if in_second else bucket.first)
        entries = slice(lists.begins[at], lists.begins[at + 1])
        list_of[row] = len(listed)
        listed.append(lists.places[entries] + (first if in_second else 0))
        listed_slots.append(alias_slots(lists.weights[entries]))
    names = of(parts.nodes)
    return BucketNodes(
        names=names,
        first=first,
        exists=negatives.exists[names],
        slots=of(slots),
        list_of=list_of,
        listed_from=np.cumsum([0, *map(len, listed)], dtype=np.int64),
        listed=np.concatenate([np.zeros(0, dtype=np.int64), *listed]).astype(np.int32),
        listed_slots=np.concatenate([np.zeros(0, dtype=np.uint64), *listed_slots]),
        words=negatives.words,
        row_words=negatives.row_words,
    )


def slots_by_part(weights: NDArray[np.float64], parts: Parts) -> NDArray[np.uint64]:
    """Return the concatenated alias tables of all parts; copies of a hub share its weight."""
    by_row = weights[parts.nodes]
    for start in parts.starts[:-1]:
        by_row[start : start + parts.n_hubs] /= parts.n_parts
    return np.concatenate([alias_slots(by_row[parts.part(number)]) for number in range(parts.n_parts)])


def lists_by_part(negatives: Negatives, parts: Parts) -> ListsByPart:
    """Split the lists of crowded nodes by part; a hub is listed in every part."""
    sizes = np.diff(negatives.listed_from)
    crowded = np.flatnonzero(sizes)
    number = np.full(len(sizes), -1)
    number[crowded] = np.arange(len(crowded))
    weights = [
        slot_weights(negatives.listed_slots[begin:end])
        for begin, end in pairwise(negatives.listed_from[np.append(crowded, len(sizes))])
    ]
    weight = np.concatenate([np.zeros(0), *weights])
    address = parts.addresses[negatives.listed].astype(np.int64)
    part, place = address >> parts.place_bits, address & ((1 << parts.place_bits) - 1)
    group = np.repeat(np.arange(len(crowded)), sizes[crowded]) * parts.n_parts
    is_hub = part == parts.n_parts
    each = np.arange(parts.n_parts)
    groups = np.concatenate([(group + part)[~is_hub], np.add.outer(group[is_hub], each).ravel()])
    places = np.concatenate([place[~is_hub], np.repeat(place[is_hub], parts.n_parts)])
    law = np.concatenate([weight[~is_hub], np.repeat(weight[is_hub] / parts.n_parts, parts.n_parts)])
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups, minlength=len(crowded) * parts.n_parts)
    return ListsByPart(
        list_of=number[parts.nodes],
        begins=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        places=places[order],
        weights=law[order],
    )
