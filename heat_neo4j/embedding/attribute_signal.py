"""How well each attribute separates linked nodes from others, and the teleport probability that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.stats import mannwhitneyu

from heat_neo4j._kernels.dense import pair_products
from heat_neo4j._kernels.similarity import BASE, INVERSE_NORM, node_scalars
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.attributes.table import Attribute
from heat_neo4j.embedding.comparison import compared_block
from heat_neo4j.embedding.near_lists import Words, with_attributes
from heat_neo4j.embedding.similarity import scaled
from heat_neo4j.graph import Graph

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

AUTO: Literal["auto"] = "auto"
ALPHA = 0.2
"""Teleport probability if an attribute is informative."""
JUMPS = 0.05
"""Teleport probability if no attribute is, and the graph is in pieces that only teleports connect."""

_PIECES = 0.05  # of the nodes, outside the largest component
_PAIRS = 20_000
_NUMBERS = 1 << 20  # of the rows that are compared
_Z = 2.576  # standard errors from an estimate to the end of its interval of 99 %


@dataclass(frozen=True)
class AttributeSignal:
    """How well an attribute's similarity separates linked pairs from random ones of the same degrees."""

    name: str  # of the property, or "attributes" for columns without names
    auroc: float  # [0, 1]; 0.5 is chance
    low: float  # interval of 99 %
    high: float
    n_pairs: int

    @property
    def is_informative(self) -> bool:
        """Whether the interval lies above chance."""
        return self.low > 0.5


class Teleports(NamedTuple):
    """The teleport probability of walks, and the attributes that teleports follow."""

    alpha: float
    graph: Graph  # with these attributes only
    signals: tuple[AttributeSignal, ...]  # of all attributes; empty if `alpha` was given

    def facts(self) -> dict[str, Any]:
        """Return what was chosen, and why, as JSON data."""
        measured = [
            {
                "name": signal.name,
                "auroc": round(signal.auroc, 4),
                "interval": [round(signal.low, 4), round(signal.high, 4)],
                "pairs": signal.n_pairs,
                "used": signal.is_informative,
            }
            for signal in self.signals
        ]
        return {"alpha": self.alpha, **({"attributes": measured} if measured else {})}


def teleports(graph: Graph, alpha: float | Literal["auto"]) -> Teleports:
    """Return the teleports of a graph: by a given `alpha` to all attributes, else as measured."""
    if alpha != AUTO:
        return Teleports(float(alpha), graph, ())
    signals = attribute_signals(graph)
    informative = any(signal.is_informative for signal in signals)
    if not informative and signals and is_in_pieces(graph):
        return Teleports(JUMPS, graph, signals)
    return Teleports(ALPHA if informative else 0.0, informative_attributes(graph, signals), signals)


def attribute_signals(graph: Graph, *, numbers: int = _NUMBERS) -> tuple[AttributeSignal, ...]:
    """Measure each attribute of a graph, in the order of its columns.

    Linked pairs, and pairs with a common neighbour, are compared with random pairs of the same nodes, so that
    degrees are equal. Both nodes of a pair must have the attribute. The better AUROC of the two counts: a
    film has nothing to compare with the users who rate it, but with other films that they rate. Pairs are
    sampled so that their rows have about `numbers` values in all.
    """
    if graph.n_attributes == 0 or not graph.adjacency.nnz:
        return ()
    sets = (_linked(graph), _beside(graph))
    return tuple(_signal(*attribute, sets, numbers) for attribute in _attributes(graph))


def is_in_pieces(graph: Graph) -> bool:
    """Return whether more than 5 % of the nodes lie outside the largest connected component."""
    _, component = connected_components(graph.adjacency, directed=False)
    return bool(np.bincount(component).max() < (1.0 - _PIECES) * graph.n_nodes)


def informative_attributes(graph: Graph, signals: Sequence[AttributeSignal]) -> Graph:
    """Return the graph with the columns of informative attributes only."""
    if all(signal.is_informative for signal in signals):
        return graph
    assert graph.attributes is not None
    if not graph.provenance.attribute_recipe:  # one attribute
        return replace(graph, attributes=graph.attributes[:, :0], attribute_names=())
    return with_attributes(graph, [signal.is_informative for signal in signals])


def _attributes(graph: Graph) -> Iterator[tuple[str, Any, Mask]]:
    """Yield each attribute's name, columns as compared, and nodes; without names, all are one attribute."""
    assert graph.attributes is not None
    if not graph.provenance.attribute_recipe:
        yield "attributes", graph.attributes, _filled(graph.attributes)
    for entry, columns, known in graph.attribute_blocks():
        block = graph.attributes[:, columns]
        # Categories and texts have no mark of missing values.
        unmarked = "mean" not in entry and not entry.get("missing")
        present = known & _filled(block) if unmarked else known
        attribute = Attribute.of(entry)
        name = str(attribute) if attribute.encoded else attribute.name
        yield name, Words.of(block) if is_text(entry) else compared_block(entry, block, known), present


def _filled(block: Any) -> Mask:
    """Mark rows with a nonzero value; all rows of a single column, where 0 may be a value."""
    if block.shape[1] < 2:
        return np.ones(block.shape[0], dtype=np.bool_)
    return np.asarray((block != 0).sum(axis=1)).ravel() > 0


def _linked(graph: Graph) -> Rows:
    """Return pairs of neighbours, sampled from all."""
    pairs = np.column_stack((graph.edges.row, graph.edges.col)).astype(np.int64)
    if len(pairs) > _PAIRS:
        pairs = pairs[np.sort(_generator().choice(len(pairs), _PAIRS, replace=False))]
    return pairs


def _beside(graph: Graph) -> Rows:
    """Return pairs of nodes with a common neighbour: for each sampled link, a random neighbour of one end."""
    random, adjacency = _generator(), graph.adjacency
    pairs = _linked(graph)
    middle, first = np.where(random.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1]).T
    place = (random.random(len(pairs)) * np.diff(adjacency.indptr)[middle]).astype(np.int64)
    second = adjacency.indices[adjacency.indptr[middle] + place]
    differ = first != second
    return np.column_stack((first[differ], second[differ])).astype(np.int64)


def _signal(name: str, block: Any, present: Mask, sets: Sequence[Rows], numbers: int) -> AttributeSignal:
    """Measure an attribute on the set of pairs that it separates best, of nodes that have it."""
    if isinstance(block, np.ndarray) and block.dtype == np.float32:  # vectors of length 1
        return _best(name, sets, present, numbers // block.shape[1], partial(_vector_cosines, block))
    if isinstance(block, Words):
        most = max(numbers * len(block.along) // max(len(block.rows.values), 1), 1)
        return _best(name, sets, present, most, lambda u, v: np.round(block.cosines(u, v), 9))
    rows, background = scaled(block)
    rows = sparse.csr_array(rows)
    scalars = node_scalars(*CsrParts.of(rows), background)
    base, inverse = scalars[:, BASE], scalars[:, INVERSE_NORM]
    most = max(numbers * rows.shape[0] // max(rows.nnz, 1), 1)

    def cosines(u: Rows, v: Rows) -> NDArray[np.float64]:
        products = np.asarray(rows[u].multiply(rows[v]).sum(axis=1)).ravel() + base[u] + base[v]
        # Rounding must not make an order among equal ones.
        return np.asarray(np.round(products * inverse[u] * inverse[v], 9))

    return _best(name, sets, present, most, cosines)


def _vector_cosines(rows: NDArray[np.float32], u: Rows, v: Rows) -> NDArray[np.float64]:
    return np.asarray(np.round(pair_products(rows, rows, u, v), 6), dtype=np.float64)


def _best(
    name: str,
    sets: Sequence[Rows],
    present: Mask,
    most: int,
    cosines: Callable[[Rows, Rows], NDArray[np.float64]],
) -> AttributeSignal:
    """Return the signal of the set of pairs that an attribute separates best, from `most` pairs of each."""
    found = []
    for pairs in sets:
        own = pairs[present[pairs].all(axis=1)]
        u, v = own[:: -(-len(own) // most) or 1].T  # from all rows, not the first ones
        found.append(_interval(name, cosines(u, v), cosines(u, _generator().permutation(v))))
    return max(found, key=lambda signal: signal.low)


def _interval(name: str, near: NDArray[np.float64], others: NDArray[np.float64]) -> AttributeSignal:
    """Return the AUROC of two sets of n similarities with its interval.

    J. Hanley and B. McNeil, "The meaning and use of the area under a ROC curve", Radiology 143 (1982).
    """
    n = len(near)
    if n < 2:
        return AttributeSignal(name, 0.5, 0.0, 1.0, n)
    auroc = float(mannwhitneyu(near, others).statistic) / n**2
    spread = (auroc / (2.0 - auroc) - auroc**2) + (2.0 * auroc**2 / (1.0 + auroc) - auroc**2)
    error = float(np.sqrt((auroc * (1.0 - auroc) + (n - 1) * spread) / n**2))
    return AttributeSignal(name, auroc, max(auroc - _Z * error, 0.0), min(auroc + _Z * error, 1.0), n)


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)
