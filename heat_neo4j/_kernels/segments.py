"""First half of a batch: the candidates of each source position, and how each pulls or pushes.

Positions of a segment go through the stages together, not one by one: then a stage is a loop over some
hundred candidates, which the compiler turns into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heat_neo4j._kernels.intrinsics import prefetch, prefetch_to_write
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.pairs import draw_negatives
from heat_neo4j._kernels.vectors import blend_rows, dot_rows, exp, log

__all__ = ["AHEAD", "owner_of", "softmax", "train_segment"]

_SERIES = 1e-6
_LARGE = 1e250
AHEAD = 12  # how far ahead of its use memory is fetched; lists are that much longer than what they hold
_FETCHED = 4  # entries, with one fetch
_OWNED = np.uint64(3)  # nodes go to owners by blocks of 8: neighbours in memory have one owner
_OWNER_HASH = np.uint64(0x9E3779B1)
_LOW_32 = np.uint64(0xFFFFFFFF)
_U32 = np.uint64(32)
_S32 = np.int64(32)


@njit(cache=True, inline="always")
def owner_of(node: Any, owners: Any) -> Any:
    """Return which of `owners` moves the node; hashed, so that hubs spread."""
    hashed = ((np.uint64(node) >> _OWNED) * _OWNER_HASH) & _LOW_32
    return np.int64((hashed * np.uint64(owners)) >> _U32)


@njit(cache=True, error_model="numpy")
def _draw(
    nodes: Any, length: int, begin: int, end: int, window: int, n_negatives: int, negatives: Any,
    state: Any, proposals: Any, sources: Any, contexts: Any, ends: Any, candidates: Any, tally: Any,
) -> int:  # fmt: skip
    """Write the candidates of positions [begin, end) of a walk; return how many positions have some."""
    slots, exists, listed_from, listed, listed_slots, words, row_words = negatives
    drawn = proposed = used = slot = 0
    trained = skipped = np.int64(0)
    for at in range(begin, min(end, length)):
        source = nodes[at]
        count: Any = 0
        for other in range(max(at - window, 0), min(at + window + 1, length)):
            candidates[used + count] = nodes[other]
            count += np.int64(nodes[other] != source)
        if count == 0:
            continue
        if not exists[source]:
            skipped += count
            continue
        drawn, proposed = draw_negatives(
            slots, listed_from, listed, listed_slots, words, row_words, source, state, drawn, proposed,
            proposals, candidates, used + count, n_negatives,
        )  # fmt: skip
        used += count + n_negatives
        trained += count
        sources[slot] = source
        contexts[slot] = count
        ends[slot] = used
        slot += 1
    tally[0] += trained
    tally[1] += skipped
    return slot


@njit(cache=True, error_model="numpy")
def _measure(
    points: Any, time: int, n_slots: int, sources: Any, ends: Any, candidates: Any, source_points: Any,
    mirror: Any, z: Any, entry_nodes: Any, entry_forces: Any,
) -> None:  # fmt: skip
    """Set the source points aside; write z = cosh(distance) - 1 of each candidate.

    The entries are fetched meanwhile: `_sort` writes them all over, and another thread has read them.
    """
    k = 0
    for slot in range(n_slots):
        source = sources[slot]
        for i in range(points.shape[1]):
            source_points[slot, i] = points[source, i]
            mirror[0, i] = -points[source, i]
        mirror[0, time] = points[source, time]
        while k < ends[slot]:
            prefetch(points, candidates[k + AHEAD])
            if k & (_FETCHED - 1) == 0:
                prefetch_to_write(entry_nodes, k)
                prefetch_to_write(entry_forces, k)
            z[k] = dot_rows(mirror, 0, points, candidates[k]) - 1.0
            k += 1


@njit(cache=True, error_model="numpy")
def softmax(
    z: Any, n_slots: int, contexts: Any, ends: Any, scale: float, weights: Any, stiffness: Any, ahead: Any,
) -> float:  # fmt: skip
    """Write each candidate's coefficient and stiffness; return the loss, summed over the contexts.

    A position's first candidates are contexts, the others the negatives that they share. For each context,
    with p the softmax over -d^2 scale of it and the negatives, the descent direction at the source is
    sum (delta - p) d / sinh(d) (x_w - cosh(d) x_u), and its mirror image at each candidate; a negative's
    coefficient is the sum over the contexts.

    Parameters
    ----------
    z : float64 array of shape (K,)
        cosh(d) - 1 of each candidate.
    contexts, ends : int64 arrays
        Of each of `n_slots` positions: how many candidates are contexts, and where its candidates end.
    scale : float
        1 / (2 sigma^2).
    weights, stiffness : float64 arrays of shape (K,)
        Receive (delta - p) d / sinh(d) and abs(delta - p).
    ahead : float64 array of shape (K,)
        Scratch.
    """
    size = ends[n_slots - 1]
    for k in range(size):
        above = max(z[k], _SERIES)
        root = np.sqrt(above * (above + 2.0))
        distance = log(1.0 + above + root)  # loses at most 1e-13 there
        below = max(z[k], 0.0)
        near = z[k] < _SERIES  # arcosh(1 + z)^2 = 2 z - z^2 / 3 + ...
        weights[k] = 1.0 - below / 3.0 if near else distance / root
        ahead[k] = (below / 3.0 - 2.0) * below * scale if near else -distance * distance * scale
    begin = 0
    for slot in range(n_slots):
        highest = -np.inf  # of the negatives
        for k in range(begin + contexts[slot], ends[slot]):
            highest = max(highest, ahead[k])
        for k in range(begin, ends[slot]):
            ahead[k] -= highest
        begin = ends[slot]
    for k in range(size):
        stiffness[k] = exp(-abs(ahead[k]))
    loss = 0.0
    product = 1.0  # of what the losses are logarithms of
    begin = 0
    for slot in range(n_slots):
        first_negative, end = begin + contexts[slot], ends[slot]
        total = 0.0  # of the negatives, in units of exp(highest)
        for k in range(first_negative, end):
            total += stiffness[k]
        share = 0.0  # a negative's p summed over the contexts, in units of its own exponential
        for k in range(begin, first_negative):
            # In units of the larger of the context's and the highest negative's, so that nothing overflows.
            leads = ahead[k] > 0.0
            own = 1.0 if leads else stiffness[k]
            unit = stiffness[k] if leads else 1.0
            rest = total * unit
            share += unit / (own + rest)
            away = rest / (own + rest)
            loss -= min(ahead[k], 0.0)
            product *= own + rest
            if product > _LARGE:
                loss += np.log(product)
                product = 1.0
            stiffness[k] = away
            weights[k] *= away
        for k in range(first_negative, end):
            stiffness[k] *= share
            weights[k] *= -stiffness[k]
        begin = end
    return loss + np.log(product)


@njit(cache=True, error_model="numpy")
def _across(weight: float, z: float) -> float:
    """Return how stiff a pull is across its geodesic: abs(delta - p) d coth(d), with z = cosh(d) - 1."""
    return abs(weight) * (1.0 + z)


@njit(cache=True, error_model="numpy")
def _pull(
    points: Any, n_slots: int, ends: Any, candidates: Any, z: Any, weights: Any, stiffness: Any, pulls: Any,
    pull_stiffness: Any,
) -> None:  # fmt: skip
    """Sum what the candidates of each position do to its source."""
    k = 0
    for slot in range(n_slots):
        for i in range(points.shape[1]):
            pulls[slot, i] = 0.0
        along = across = 0.0
        while k < ends[slot]:
            blend_rows(pulls, slot, 1.0, weights[k], points, candidates[k])
            along += stiffness[k]
            across += _across(weights[k], z[k])
            k += 1
        pull_stiffness[slot, 0] = along
        pull_stiffness[slot, 1] = across


@njit(cache=True, error_model="numpy")
def _sort(
    n_slots: int, ends: Any, candidates: Any, z: Any, weights: Any, stiffness: Any, owners: int,
    entry_ends: Any, entry_nodes: Any, entry_forces: Any,
) -> None:  # fmt: skip
    """Write an entry for each candidate, sorted by owner and within one in the order of the candidates."""
    entry_ends[:owners] = 0
    for k in range(ends[n_slots - 1]):
        entry_ends[owner_of(candidates[k], owners)] += 1
    begin = 0
    for owner in range(owners):
        count = entry_ends[owner]
        entry_ends[owner] = begin
        begin += count
    k = 0
    for slot in range(n_slots):
        while k < ends[slot]:
            owner = owner_of(candidates[k], owners)
            entry = entry_ends[owner]
            entry_nodes[entry] = (np.int64(candidates[k]) << _S32) | slot
            entry_forces[entry, 0] = weights[k]
            entry_forces[entry, 1] = stiffness[k]
            entry_forces[entry, 2] = _across(weights[k], z[k])
            entry_ends[owner] = entry + 1
            k += 1


@njit(cache=True, error_model="numpy")
def train_segment(
    points: Any, time: int, nodes: Any, length: int, begin: int, end: int, window: int, n_negatives: int,
    scale: float, negatives: Any, state: Any, w: Any, g: int, thread: int,
) -> None:  # fmt: skip
    """Fill the entries of segment `g`: positions [begin, end) of a walk."""
    sources, contexts, ends, candidates = w.sources[g], w.contexts[g], w.ends[g], w.candidates[g]
    n_slots = _draw(
        nodes, length, begin, end, window, n_negatives, negatives, state, w.proposals[thread], sources,
        contexts, ends, candidates, w.tallies[g],
    )  # fmt: skip
    w.slots[g] = n_slots
    if n_slots == 0:
        w.entry_ends[g, : w.owners] = 0
        return
    scratch = w.scratch[thread]
    z, weights, stiffness, ahead = scratch[0], scratch[1], scratch[2], scratch[3]
    _measure(
        points, time, n_slots, sources, ends, candidates, w.source_points[g], w.mirror[thread], z,
        w.entry_nodes[g], w.entry_forces[g],
    )  # fmt: skip
    w.losses[g] += softmax(z, n_slots, contexts, ends, scale, weights, stiffness, ahead)
    _pull(points, n_slots, ends, candidates, z, weights, stiffness, w.pulls[g], w.pull_stiffness[g])
    _sort(
        n_slots, ends, candidates, z, weights, stiffness, w.owners, w.entry_ends[g], w.entry_nodes[g],
        w.entry_forces[g],
    )  # fmt: skip
