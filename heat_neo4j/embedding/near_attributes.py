"""Attribute teleports among approximately the most similar nodes: another sampling distribution.

A node's similar nodes are so many that the nearest few hold a part of the mass only; how much is measured.
`similarity.make_similarity` draws from the exact distribution, at any size, without a list of neighbours.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.similarity import Similarity
from heat_neo4j._kernels.sparse import sparse_products
from heat_neo4j.embedding.similarity import neighbour_similarity, scaled
from heat_neo4j.errors import ConfigError
from heat_neo4j.graph import Graph

__all__ = ["near_attributes"]

_DENSE_COLUMNS = 256  # up to here scaled rows are compared; beyond, without their background
_SAMPLE = 256  # nodes whose dropped mass is measured


def near_attributes(graph: Graph, k: int, seed: int) -> tuple[Similarity, float]:
    """Return Y restricted to about the k most similar nodes of each, and the mass that this drops.

    Parameters
    ----------
    graph : Graph
        With attributes.
    k : int
        Similar nodes of each node, at least 1.
    seed : int
        Of the search and of the sample; one thread searches, so that the same seed gives the same lists.

    Returns
    -------
    Similarity
        Weights of the listed nodes are exact. A node without any takes topological steps only.
    float
        Share of max(cos, 0) that is on nodes not listed, a mean over 256 nodes, in [0, 1].

    Raises
    ------
    ConfigError
        If pynndescent is not installed.
    """
    if find_spec("pynndescent") is None:
        raise ConfigError(
            "attribute_neighbours needs the extra 'approximate': pip install 'heat-neo4j[approximate]'"
        )
    from pynndescent import NNDescent

    assert graph.attributes is not None
    d, background = scaled(graph.attributes)
    n, columns = d.shape
    rows = d.toarray() + background if columns <= _DENSE_COLUMNS else sparse.csr_matrix(d)
    width = min(k + 1, n)  # a node is its own nearest
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that some lists are short: the dropped mass says so
        search = NNDescent(
            rows.astype(np.float32), metric="cosine", n_neighbors=width, random_state=seed % 2**32, n_jobs=1
        )
        near = search.neighbor_graph[0].astype(np.int64)
    cosines = _Cosines(d, background)
    source = np.repeat(np.arange(n), width)
    weights = cosines.of(source, near.ravel()).reshape(near.shape)
    weights[(near == np.arange(n)[:, None]) | (near < 0)] = 0.0
    near[near < 0] = 0
    positive = np.maximum(weights, 0.0)
    sample = np.random.default_rng(seed).choice(n, size=min(_SAMPLE, n), replace=False)
    return neighbour_similarity(near, positive), _dropped(cosines, sample, positive[sample].sum(axis=1))


def _dropped(cosines: _Cosines, sample: NDArray[np.int64], listed: NDArray[np.float64]) -> float:
    everything = np.arange(cosines.n_nodes)
    shares = []
    for node, held in zip(sample.tolist(), listed.tolist(), strict=True):
        positive = np.maximum(cosines.of(np.full(cosines.n_nodes, node), everything), 0.0)
        total = positive.sum() - positive[node]
        if total > 0.0:
            shares.append(1.0 - held / total)
    return float(np.clip(np.mean(shares), 0.0, 1.0)) if shares else 0.0


class _Cosines:
    """Cosines of standard-scaled rows d + b, where d is sparse."""

    def __init__(self, d: sparse.csr_array, background: NDArray[np.float64]) -> None:
        rows = sparse.csr_array(d).sorted_indices()
        self._rows = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
        self._base = d @ background + 0.5 * float(np.sum(background * background))
        squares = np.asarray(d.multiply(d).sum(axis=1)).ravel() + 2.0 * self._base
        self._norm = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))

    @property
    def n_nodes(self) -> int:
        """Number of rows."""
        return len(self._norm)

    def of(self, u: NDArray[np.int64], v: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return cos(z_u, z_v), pair by pair."""
        dots = sparse_products(*self._rows, *self._rows, u, v)
        return np.asarray((dots + self._base[u] + self._base[v]) / (self._norm[u] * self._norm[v]))
