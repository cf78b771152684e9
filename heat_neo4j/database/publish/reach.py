"""Which nodes of a database can hold coordinates of a model, so that statements look at no others.

A version records labels of which each of its nodes had at least one, and how many nodes there were. A node
may have lost its labels since: where fewer nodes are found than were written, all others are looked at, too.
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
"""In the place of labels: coordinates may lie on any node."""


class Reach:
    """The nodes that can hold coordinates of a model: those with one of some labels, or all.

    Parameters
    ----------
    connection : Connection
        Where the nodes are.
    names : WriteNames
        The names under which the model writes.
    labels : sequence of str
        Labels of which each such node has at least one; `EVERYWHERE` if they are not known.
    """

    def __init__(self, connection: Connection, names: WriteNames, labels: Sequence[str]) -> None:
        self._connection, self._names = connection, names
        self.labels = tuple(labels)

    @property
    def nodes(self) -> Fragment | Sequence[str]:
        """What stands for the nodes in a statement."""
        return nodes_with(self.labels)

    def extend(self, version: Version, *, staged: int = 0) -> int:
        """Extend the labels unless all nodes of a version are found, and as many as are staged.

        Return how many nodes hold coordinates of its space, or staged ones; 0 if any node may.
        """
        if not self.labels:
            return 0
        row = self._count(version)
        published, nodes = version.get("nodeCount", 0), int(row["nodes"])
        if row["published"] >= published and row["staged"] >= staged:
            return nodes
        others = load_statement("read/other_holders", others=except_names(self.labels), **self._runs)
        params = _parameters(version)
        rows = self._connection.read(others, params, doing="looking for nodes that lost their labels")
        labels = dict.fromkeys([*self.labels, *(label for found in rows for label in found["labels"][:1])])
        is_known = all(found["labels"] for found in rows) and len(labels) <= MOST_LABELS
        self.labels = tuple(labels) if is_known else EVERYWHERE
        return nodes + sum(found["nodes"] for found in rows) if is_known else 0

    def misses(self, version: Version) -> bool:
        """Return whether readers of a version would find fewer nodes than it had, staged values first."""
        return bool(self.labels) and self._count(version)["read"] < version["nodeCount"]

    @property
    def _runs(self) -> Mapping[str, str]:
        return {"run": self._names.run, "staged_run": self._names.staged.run}

    def _count(self, version: Version) -> Mapping[str, Any]:
        held = load_statement("read/holders", labels=self.nodes, **self._runs)
        (row,) = self._connection.read(held, _parameters(version), doing="counting nodes with coordinates")
        return row


def _parameters(version: Version) -> Mapping[str, Any]:
    return {"space": version.get("space"), "run_id": RUN_ID}


def labels_met(graph: Graph, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return labels of which each node of a graph has one: those it was read by, else all that were met.

    `EVERYWHERE` if a node has none, or there are too many.
    """
    labels = tuple(chosen or sorted(graph.labels))
    if chosen or len(labels) > MOST_LABELS:
        return labels if chosen else EVERYWHERE
    labelled = np.zeros(graph.n_nodes, dtype=np.bool_)
    for label in labels:
        labelled |= graph.labels[label]
    return labels if labelled.all() else EVERYWHERE
