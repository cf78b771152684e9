"""Where the demo's graph lives in the database, and how it gets there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._progress import Progress, no_progress
from heat_neo4j.database import Neo4jStore, Projection, WriteNames
from heat_neo4j.database.loader import LoadNames, LoadReport
from heat_neo4j.demo.stdlib import ImportGraph

__all__ = ["LOAD_NAMES", "PROJECTION", "WRITE_NAMES", "load_modules"]

FAMILY = "heat demo"
LOAD_NAMES = LoadNames(label="Module", relationship="IMPORTS", key="name", weight="weight")
PROJECTION = Projection(
    labels=["Module"],
    relationships=["IMPORTS"],
    weight="weight",
    attributes=["words"],
    max_categories=10_000,
    key="name",
)
WRITE_NAMES = WriteNames(model="stdlib")
"""Names of the demo's own, so that an embedding published as "heat" in the same database stays."""


def load_modules(store: Neo4jStore, graph: ImportGraph, *, on_progress: Progress = no_progress) -> LoadReport:
    """Load the import graph, in place of that of another Python if it is there.

    Raises
    ------
    WriteRefused
        If the database has nodes of label ``Module`` that are not the demo's.
    """
    origin = f"{FAMILY}, Python {graph.version}"
    store.make_room(LOAD_NAMES.label, family=FAMILY, origin=origin)
    return store.load_graph(_Marked(graph, origin), LOAD_NAMES, overwrite=True, on_progress=on_progress)


@dataclass(frozen=True)
class _Marked:
    """An import graph whose nodes say where they come from."""

    graph: ImportGraph
    origin: str

    @property
    def keys(self) -> Sequence[str]:
        return self.graph.keys

    @property
    def source(self) -> NDArray[np.int64]:
        return self.graph.source

    @property
    def target(self) -> NDArray[np.int64]:
        return self.graph.target

    @property
    def weight(self) -> NDArray[np.float64]:
        return self.graph.weight

    def properties(self, row: int) -> Mapping[str, Any]:
        return {**self.graph.properties(row), "origin": self.origin}
