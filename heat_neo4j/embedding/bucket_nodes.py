"""Input of a bucket's training: its positions, its nodes, and their negative-sampling tables."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.buckets import BucketNodes, Positions, group_pairs
from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._kernels.random import alias_slots, slot_weights
from heat_neo4j.embedding.parts import Parts
from heat_neo4j.embedding.tournament import Bucket

MOST_CONTEXTS = 8
"""Maximum contexts of a source that share one set of negatives."""

_TIMES = 4  # maximum number of equal pairs merged into one weighted pair


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
