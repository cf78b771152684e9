"""Convert edge lists to the parts of a `Graph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.validation import to_float
from heat_neo4j.attributes.kinds import Date, parse_number
from heat_neo4j.graph import Relationships

Rows = NDArray[np.int64]

_ONE_TYPE = "EDGE"
_GEPHI = {"directed", "undirected"}


def make_matrix(source: Rows, target: Rows, weights: NDArray[np.float64], n_nodes: int) -> sparse.csr_array:
    """Return the directed weight matrix; parallel edges are summed, independently of their order."""
    order = np.lexsort((weights, target, source))
    entries = weights[order], (source[order], target[order])
    return sparse.csr_array(sparse.coo_array(entries, shape=(n_nodes, n_nodes)))


def make_relationships(
    source: Rows, target: Rows, weights: NDArray[np.float64], types: Sequence[Any] | None = None
) -> Relationships:
    """Return the edges of each type, without edges of weight 0; edges without a type have type "EDGE"."""
    count = np.flatnonzero(weights != 0)
    names = np.full(len(source), _ONE_TYPE, dtype=object)
    if types is not None:
        names[:] = [_ONE_TYPE if each in (None, "") else str(each) for each in types]
    of_type = {name: count[names[count] == name] for name in sorted(set(names[count]))}
    return Relationships.from_pairs({name: (source[own], target[own]) for name, own in of_type.items()})


def edge_weights(values: Sequence[Any], name: str, default: float | None = None) -> NDArray[np.float64]:
    """Convert edge weights, which are numbers or numeric strings; None means the default.

    Raises ValueError, with the first invalid edge, for other values.
    """
    weights = [_weight(value, default) for value in values]
    bad = [row for row, weight in enumerate(weights) if weight is None]
    if bad:
        value = values[bad[0]]
        what = "a date" if isinstance(value, Date) else "no number"
        where = f"the weight {name!r} of the edge in row {bad[0]} is {what}, {value!r}"
        raise ValueError(f"{where}; so are {len(bad):,} of {len(values):,}: weights are numbers of 0 or more")
    return np.array(weights, dtype=np.float64)


def edge_types(values: Sequence[Any] | None) -> tuple[Sequence[Any] | None, bool]:
    """Return the types of edges, and whether edges are directed.

    Gephi's column "Type" holds "Directed" or "Undirected", which are not types.
    """
    if values and {str(value).casefold() for value in values} <= _GEPHI:
        return None, any(str(value).casefold() == "directed" for value in values)
    return values, True


def _weight(value: Any, default: float | None) -> float | None:
    if value is None:
        return default
    if isinstance(value, str):
        return parse_number(value.strip())
    return (
        to_float(value) if type(value) in (int, float, bool) else None
    )  # dates and durations are floats too
