"""The set of nodes that can hold coordinates of a model, which limits the nodes that statements scan.

A version records labels that cover its nodes, and the number of nodes. A node may have lost its labels since:
if fewer nodes are found than were written, all nodes are scanned.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.runs import nodes_with
from heat_neo4j.database.statements import Fragment, except_names, load_statement
from heat_neo4j.database.versions import MOST_LABELS, RUN_ID, Version
from heat_neo4j.graph import Graph

EVERYWHERE: tuple[str, ...] = ()
"""Stands for all nodes: any node may have coordinates."""


class Reach:
    """The nodes that can hold coordinates of a model: those with one of some labels, or all.

    Parameters
    ----------
    connection : Connection
        Connection to the database.
    names : WriteNames
        Names that the model writes to.
    labels : sequence of str
        Labels that cover these nodes; `EVERYWHERE` if unknown.
    """

    def __init__(self, connection: Connection, names: WriteNames, labels: Sequence[str]) -> None:
        self._connection, self._names = connection, names
        self.labels = tuple(labels)

    @property
    def nodes(self) -> Fragment | Sequence[str]:
        """The label expression of the nodes in a statement."""
        return nodes_with(self.labels)

    def extend(self, version: Version, *, staged: int = 0) -> int:
        """Extend to all nodes unless all nodes of a version, and all staged ones, are found.

        Returns the number of nodes with coordinates of its space or staged ones; 0 for all nodes.
        """
        if not self.labels:
            return 0
        row = self._count(version)
        published, nodes = version.get("nodeCount", 0), int(row["nodes"])
        if row["published"] >= published and row["staged"] >= staged:
            return nodes
        others = load_statement("read/other_holders", others=except_names(self.labels), **self._names.runs)
        params = _parameters(version)
        rows = self._connection.read(others, params, doing="looking for nodes that lost their labels")
        labels = dict.fromkeys([*self.labels, *(label for found in rows for label in found["labels"][:1])])
        is_known = all(found["labels"] for found in rows) and len(labels) <= MOST_LABELS
        self.labels = tuple(labels) if is_known else EVERYWHERE
        return nodes + sum(found["nodes"] for found in rows) if is_known else 0

    def misses(self, version: Version) -> bool:
        """Return whether readers of a version would find fewer nodes than were written."""
        return bool(self.labels) and self._count(version)["read"] < version["nodeCount"]

    def _count(self, version: Version) -> Mapping[str, Any]:
        held = load_statement("read/holders", labels=self.nodes, **self._names.runs)
        (row,) = self._connection.read(held, _parameters(version), doing="counting nodes with coordinates")
        return row


def _parameters(version: Version) -> Mapping[str, Any]:
    return {"space": version.get("space"), "run_id": RUN_ID}


def labels_met(graph: Graph, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return labels that cover the nodes of a graph: those it was read by, otherwise all labels found.

    `EVERYWHERE` if a node has no label, or there are too many labels.
    """
    labels = tuple(chosen or sorted(graph.labels))
    if chosen or len(labels) > MOST_LABELS:
        return labels if chosen else EVERYWHERE
    labelled = np.zeros(graph.n_nodes, dtype=np.bool_)
    for label in labels:
        labelled |= graph.labels[label]
    return labels if labelled.all() else EVERYWHERE
