"""Parts of the nodes, new in each round of walks, and the pairs of walks sorted by these parts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.buckets import count_pairs, place_pairs
from heat_neo4j.embedding.tournament import Bucket
from heat_neo4j.embedding.walks import Walks, draw_walks

__all__ = ["BlockPairs", "Parts", "draw_pairs", "make_parts", "pair_bytes"]


class Parts(NamedTuple):
    """N nodes in V parts of equal size, the last ones possibly smaller.

    In the order of the parts a node has a position, 0 to N - 1; its address is the number of its part (high
    bits) and its place there (the low `place_bits`).
    """

    nodes: NDArray[np.int32]  # (N,): the node at each position
    addresses: NDArray[np.uint32]  # (N,): of each node
    n_parts: int  # V
    size: int
    place_bits: int

    def part(self, number: int) -> slice:
        """Return the positions of a part."""
        n = len(self.nodes)
        return slice(min(number * self.size, n), min((number + 1) * self.size, n))

    def bucket(self, bucket: Bucket) -> list[slice]:
        """Return the positions of the one or two parts of a bucket."""
        return [self.part(number) for number in sorted({bucket.first, bucket.second})]

    def positions(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the positions of some nodes."""
        addresses = self.addresses[nodes].astype(np.int64)
        return (addresses >> self.place_bits) * self.size + (addresses & ((1 << self.place_bits) - 1))


class BlockPairs(NamedTuple):
    """The pairs of a block of walks, each once, sorted by bucket."""

    pairs: NDArray[np.unsignedinteger]  # the places of both nodes in their parts, packed
    begins: NDArray[np.int64]  # where the pairs of each bucket begin, and the end

    def of(self, number: int) -> NDArray[np.unsignedinteger]:
        """Return the pairs of one bucket."""
        return self.pairs[self.begins[number] : self.begins[number + 1]]


def make_parts(n_nodes: int, n_parts: int, generator: np.random.Generator) -> Parts:
    """Share nodes out at random."""
    size = -(-n_nodes // n_parts)
    place_bits = max((size - 1).bit_length(), 1)
    nodes = generator.permutation(n_nodes).astype(np.int32)
    positions = np.arange(n_nodes, dtype=np.uint32)
    addresses = np.empty(n_nodes, dtype=np.uint32)
    addresses[nodes] = (positions // size << place_bits) | positions % size
    return Parts(nodes, addresses, n_parts, size, place_bits)


def draw_pairs(walks: Walks, indices: NDArray[np.int64], window_size: int, parts: Parts) -> BlockPairs:
    """Draw a block of walks, on the calling thread, and sort its pairs."""
    nodes, lengths = draw_walks(walks, indices)
    addresses = np.empty(nodes.shape, dtype=np.uint32)
    begins = np.empty(parts.n_parts * (parts.n_parts + 1) // 2 + 1, dtype=np.int64)
    layout = parts.place_bits, parts.n_parts
    count_pairs(nodes, lengths, window_size, parts.addresses, *layout, addresses, begins)
    pairs = np.empty(int(begins[-1]), dtype=_pair_type(parts.place_bits))
    place_pairs(addresses, lengths, window_size, *layout, begins.copy(), pairs)
    return BlockPairs(pairs, begins)


def pair_bytes(n_nodes: int, n_parts: int) -> int:
    """Return the bytes of a pair in `BlockPairs`."""
    return np.dtype(_pair_type((-(-n_nodes // n_parts) - 1).bit_length())).itemsize


def _pair_type(place_bits: int) -> type[np.unsignedinteger]:
    return np.uint32 if 2 * place_bits <= 32 else np.uint64
