"""What the threads of the trainer share while they work on a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Workspace"]


class Workspace(NamedTuple):
    """Buffers of one batch, reused by all.

    G segments of at most P positions and K candidates each; T threads; O owners, among which the nodes are
    shared out, and R nodes that one owner may have in a batch; width D = `padded_width(d + 1)`. Rows of P'
    and O' are P and O long and padded, so that threads write to cache lines of their own.

    Attributes
    ----------
    owners : int
        O.
    slots : int64 array of shape (G,)
        Positions of the segment that have something to train; they come first in all that is by position.
    sources : int32 array of shape (G, P')
        The node at each position.
    source_points : float64 array of shape (G, P, D)
        Its point, set aside: nodes move while others still want the points of the batch's beginning.
    contexts, ends : int64 arrays of shape (G, P')
        How many of its candidates are contexts, and where its candidates end.
    candidates : int32 array of shape (G, K)
        The contexts of each position, then its negatives.
    pulls : float64 array of shape (G, P, D)
        Tangent sum of each source.
    pull_stiffness : float64 array of shape (G, P, 2)
        And its stiffness, along the geodesics and across them.
    proposals : int32 array of shape (T, RING)
        Nodes drawn and not yet tried as negatives.
    mirror : float64 array of shape (T, 8, D)
        A source point with its spatial coordinates negated; the other rows keep threads apart.
    scratch : float64 array of shape (T, 4, K)
        What a thread needs on the way to the coefficients of a segment.
    entry_ends : int64 array of shape (G, O')
        Where the entries of each owner end; nobody owns what is padded.
    entry_nodes : int64 array of shape (G, K)
        The node an entry moves (high half), and the position to or from whose source it moves it (low half).
    entry_forces : float64 array of shape (G, K, 3)
        The coefficient (delta - p) d / sinh(d), and its stiffness: abs(delta - p), abs(delta - p) d coth(d).
    losses : float64 array of shape (G,)
        Loss summed over the pairs so far.
    tallies : int64 array of shape (G, 2)
        Pairs trained so far, and pairs skipped because the source has no negative.
    stamp : int64 array of shape (N,)
        The last batch that touched the node (high half), and its place in `touched` (low half).
    touched : int32 array of shape (T, R)
        The nodes of the owner that a thread is at.
    tangents : float64 array of shape (T, R, D)
        Their tangent sums.
    stiffness : float64 array of shape (T, R, 2)
        And their stiffness, along the geodesics and across them.
    factors : float64 array of shape (T, 2, R)
        How far to go along the point, and along its tangent.
    n_damped : int64 array of shape (T,)
        Steps damped so far.
    frozen : bool array of shape (N,) or (0,)
        Nodes that do not move; of no length if all do.
    """

    owners: int
    slots: NDArray[np.int64]
    sources: NDArray[np.int32]
    source_points: NDArray[np.float64]
    contexts: NDArray[np.int64]
    ends: NDArray[np.int64]
    candidates: NDArray[np.int32]
    pulls: NDArray[np.float64]
    pull_stiffness: NDArray[np.float64]
    proposals: NDArray[np.int32]
    mirror: NDArray[np.float64]
    scratch: NDArray[np.float64]
    entry_ends: NDArray[np.int64]
    entry_nodes: NDArray[np.int64]
    entry_forces: NDArray[np.float64]
    losses: NDArray[np.float64]
    tallies: NDArray[np.int64]
    stamp: NDArray[np.int64]
    touched: NDArray[np.int32]
    tangents: NDArray[np.float64]
    stiffness: NDArray[np.float64]
    factors: NDArray[np.float64]
    n_damped: NDArray[np.int64]
    frozen: NDArray[np.bool_]
