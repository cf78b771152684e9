"""Random partitions of the nodes, one per round of walks, and the pairs of walks sorted by part."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.buckets import count_pairs, place_pairs
from heat_neo4j.embedding.tournament import Bucket
from heat_neo4j.embedding.walks import Walks, draw_walks

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
