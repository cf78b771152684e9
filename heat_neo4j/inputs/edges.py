"""Lists of edges as what a `Graph` is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Relationships

__all__ = ["make_matrix", "make_relationships"]

Rows = NDArray[np.int64]

_ONE_TYPE = "EDGE"


def make_matrix(source: Rows, target: Rows, weights: NDArray[np.float64], n_nodes: int) -> sparse.csr_array:
    """Return the directed matrix of weights, those of equal edges summed, whatever the order of the edges."""
    order = np.lexsort((weights, target, source))
    entries = weights[order], (source[order], target[order])
    return sparse.csr_array(sparse.coo_array(entries, shape=(n_nodes, n_nodes)))


def make_relationships(
    source: Rows, target: Rows, weights: NDArray[np.float64], types: Sequence[Any] | None = None
) -> Relationships:
    """Return the edges of each type; those without one are of the type "EDGE", those of weight 0 are none."""
    count = np.flatnonzero(weights != 0)
    names = np.full(len(source), _ONE_TYPE, dtype=object)
    if types is not None:
        names[:] = [_ONE_TYPE if each is None else str(each) for each in types]
    of_type = {name: count[names[count] == name] for name in sorted(set(names[count]))}
    return Relationships.from_pairs({name: (source[own], target[own]) for name, own in of_type.items()})
