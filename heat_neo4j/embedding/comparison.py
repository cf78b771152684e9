"""The columns by which nodes are compared: attributes as encoded, but numbers by rank and vectors whitened.

The numbers of a language model's vectors vary together along few directions, which dominate their cosines.
Whitening makes all directions count alike: J. Su, J. Cao, W. Liu and Y. Ou, "Whitening sentence
representations for better semantics and faster retrieval" (2021).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from heat_neo4j._kernels.dense import make_unit, project, second_moments, whitening
from heat_neo4j._kernels.elementwise import cos
from heat_neo4j._utils.scratch import slices
from heat_neo4j.attributes.kinds import Kind, Recipe
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]

_NUMBERS = (Kind.NUMBER, Kind.DATE, Kind.DURATION)
_SAMPLE = 1 << 15  # vectors whose covariance is taken
_SHRINKAGE = 0.25  # least share of the mean variance, so that directions of mere noise weigh less


def compared(graph: Graph) -> sparse.csr_array | NDArray[np.float64] | NDArray[np.float32]:
    """Return the attributes by which nodes are compared, shape (N, F'); see `compared_block`."""
    assert graph.attributes is not None
    recipe = graph.provenance.attribute_recipe
    if not any(entry["kind"] in _NUMBERS or is_vector(entry) for entry in recipe):
        return graph.attributes
    blocks = [
        compared_block(entry, graph.attributes[:, columns], known)
        for entry, columns, known in graph.attribute_blocks()
    ]
    if sparse.issparse(graph.attributes):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(block) for block in blocks]))
    return np.hstack(blocks)


def compared_block(entry: Recipe, block: Any, known: NDArray[np.bool_]) -> Any:
    """Return the columns of one attribute by which nodes are compared.

    A number becomes two cosines of its rank, so that similarity falls with the difference in rank: alone, a
    column of numbers has cosines of 1 and -1 only. Vectors are whitened, float32. All other columns stay as
    they are.
    """
    if is_vector(entry):
        return _whitened(block)
    return _rank_cosines(block, known) if entry["kind"] in _NUMBERS else block


def _whitened(block: Any) -> NDArray[np.float32]:
    """Return vectors in a basis where all directions vary alike, of length 1; rows of zeros stay."""
    n, width = block.shape
    dense = isinstance(block, np.ndarray)
    there = np.flatnonzero(block.any(axis=1) if dense else np.diff(sparse.csr_array(block).indptr))
    sample = _dense(block[there[:: -(-there.size // _SAMPLE) or 1]])
    factor = whitening(_shrunk(second_moments(sample), len(sample))).astype(np.float32)
    rows = np.empty((n, width), dtype=np.float32)
    for part in slices(n, width):
        rows[part] = project(_dense(block[part]), factor)
    make_unit(rows)
    return rows


def _shrunk(moments: Array, n: int) -> Array:
    """Estimate a covariance from `n` rows: the fewer they are, the nearer it is to a multiple of I.

    Oracle approximating shrinkage: Y. Chen, A. Wiesel, Y. Eldar and A. Hero, "Shrinkage algorithms for MMSE
    covariance estimation" (2010), equation 23 for many columns.
    """
    width = len(moments)
    square, trace = math.fsum((moments * moments).ravel().tolist()), math.fsum(moments.diagonal().tolist())
    spread = (n + 1.0) * (square - trace**2 / width)
    share = min(max((square + trace**2) / spread, _SHRINKAGE), 1.0) if spread > 0.0 else 1.0
    return np.asarray((1.0 - share) * moments + share * (trace / width or 1.0) * np.eye(width))


def _dense(block: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(block if isinstance(block, np.ndarray) else block.toarray(), dtype=np.float32)


def _rank_cosines(block: Any, known: NDArray[np.bool_]) -> Array:
    """Return cos(pi q) and cos(2 pi q) of the rank q in (0, 1), beside any mark of missing values.

    With ranks spread evenly, the two have one variance and no correlation.
    """
    values = np.asarray(block if isinstance(block, np.ndarray) else block.toarray())
    ranks: NDArray[np.float64] = rankdata(values[known, 0])
    turn = math.pi * (ranks - 0.5) / max(len(ranks), 1)
    cosines = np.column_stack((cos(turn), cos(2.0 * turn)))
    full = np.hstack((np.zeros((len(values), 2)), values[:, 1:]))
    full[known, :2] = cosines
    full[~known, :2] = cosines.mean(axis=0) if len(cosines) else 0.0
    return full
