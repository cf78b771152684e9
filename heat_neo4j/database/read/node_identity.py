"""Identity of nodes beyond the element id, because Neo4j reuses the ids of deleted nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.element_ids import ElementIds, StoredKeys
from heat_neo4j.database.runs import LABELS
from heat_neo4j.database.statements import Fragment, except_names, load_statement
from heat_neo4j.graph import Graph

_NEIGHBOURS = 3
"""Number of neighbours that identify a node without a key; one remaining relationship suffices."""


@dataclass(frozen=True, eq=False)
class NodeIdentity:
    """Distinguishes the nodes of a graph from new nodes that have reused their element ids.

    A node is the same if it has a label of the projection and the key that was read. A node without a key
    must have a relationship to one of its first neighbours; a node without relationships is identified by its
    label.
    """

    graph: Graph
    labels: tuple[str, ...]  # of the projection; none for any
    keys: StoredKeys | None

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Return the identity of a graph's nodes; raises ValueError if it was not read from a database."""
        if graph.n_nodes == 0 or len(graph.node_ids) != graph.n_nodes:
            raise ValueError("the graph was not read from a database: it has no node_ids")
        projection = Projection.from_dict(graph.provenance.projection)
        keys = graph.node_ids.keys if isinstance(graph.node_ids, ElementIds) else None
        if keys is None and graph.keys and projection.keys.by_label:
            places = projection.keys.places(graph.labels, graph.n_nodes)
            keys = StoredKeys.of(projection.keys, places, graph.keys)
        return cls(graph, tuple(projection.labels or ()), keys)

    @property
    def predicate(self) -> Fragment:
        """The predicate on a node ``n``, which is at position ``i`` of the parameters."""
        projected = self.labels or except_names(LABELS)
        return Fragment(load_statement("read/same_node", projected=projected))

    def ids(self, rows: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return the parameter with the element ids of some nodes."""
        return {"ids": [self.graph.node_ids[row] for row in rows.tolist()]}

    def parameters(self, rows: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return the parameters of a statement on some nodes that holds the predicate."""
        graph, adjacency = self.graph, self.graph.adjacency
        names: tuple[str, ...] = () if self.keys is None else self.keys.names
        places: list[int | None] = [None] * len(rows)
        values: list[int | str | None] = [None] * len(rows)
        if self.keys is not None:
            places, values = self.keys.places[rows].tolist(), self.keys.values(rows)
        beside: list[list[str] | None] = [None] * len(rows)
        if None in values:
            for i, row in enumerate(rows.tolist()):
                if values[i] is None:
                    begin = int(adjacency.indptr[row])
                    end = min(int(adjacency.indptr[row + 1]), begin + _NEIGHBOURS)
                    # A graph without relationships of its own was not read as it is from the database.
                    others = [] if graph.relationships is None else adjacency.indices[begin:end].tolist()
                    beside[i] = [graph.node_ids[other] for other in others]
        by_key = {"key_names": list(names), "key_of": places, "keys": values}
        return {**self.ids(rows), **by_key, "beside": beside}
