"""How alike nodes are by their attributes alone: what short lists and features have in common."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.comparison import compared
from heat_neo4j.embedding.near_lists import near_matrix
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import AttributeRows, Attributes, CentredRows, attribute_rows
from heat_neo4j.linkpred.mentions import Mentions

NEAR_VECTORS = 64
"""Nodes with the most similar vectors of each node."""


class Likeness:
    """Rows of attributes, near vectors and mentions of one graph, or of any with the same attributes.

    Each is computed when it is first asked for. The threads `workers` compute features and short lists, too.
    """

    def __init__(self, graph: Graph, workers: WorkerThreads = ALONE) -> None:
        self._graph, self.workers = graph, workers

    @cached_property
    def centred(self) -> CentredRows:
        """Rows of standardised attributes, by the nodes that are compared."""
        return CentredRows(self._compared)

    @cached_property
    def unit(self) -> AttributeRows | None:
        """Rows of the attributes, of length 1; None without attributes."""
        return attribute_rows(self._compared).unit() if self._graph.n_attributes else None

    @cached_property
    def mentions(self) -> Mentions | None:
        """Texts and the names in them; None without texts or names."""
        return Mentions.of(self._graph)

    @cached_property
    def near_vectors(self) -> sparse.csr_array | None:
        """Cosines of each node with its 64 nearest vectors, shape (N, N), the nearest first; None without."""
        return near_matrix(self._graph, NEAR_VECTORS, self.workers)

    def most_similar(self, suits: NDArray[np.bool_]) -> sparse.csr_array | None:
        """Return the cosines of each node with the most similar ones in a mask; see `AttributeRows.alike`."""
        return None if self.unit is None else self.unit.alike(suits, self.workers)

    @cached_property
    def _compared(self) -> Attributes:
        return compared(self._graph)
