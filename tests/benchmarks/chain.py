"""Fifty automatic refreshes in a row, each after a small random change of a graph in a live Neo4j.

::

    python -m tests.benchmarks.chain [--refreshes 50] [--graphs groups hyperbolic cora_ml] [--version 5.26]

Groups: 1,500 nodes in 15 groups beside 100 without relationships, and no attributes. Hyperbolic: a random
graph of 3,000 nodes with attributes. Cora_ML: with its attributes. A change is some relationships more or
fewer, a node with or without relationships more, or a node fewer. A tenth of the edges is held out from all.
Printed are what the refreshes did, mean and largest radius of each kind of node after the first run, at most
over the chain, and at the end, and the AUROC of the held-out edges beside that of cold runs on the graph as
it is then (median of three seeds). The exit code is 1 if a refresh fails or is rejected, if a radius grows to
more than 1.5 times what was the largest at first, or if the AUROC ends more than .005 below the cold runs'.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from heat_neo4j import HEAT, Graph, Projection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.geometry.hyperboloid import radius
from heat_neo4j.pipeline.embed import refresh
from heat_neo4j.pipeline.job import Job
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.live import server_settings
from tests.benchmarks.refresh import non_edges, score, without
from tests.support.datasets import load_graph

__all__ = ["main"]

LABEL, TYPE, MODEL = "HeatChain", "HEAT_CHAIN_LINK", "heatChain"
HELD_OUT = 0.1
LOSS = 0.005
GROWTH = 1.5
SMALL = 3  # nodes of a small component, at most
BATCH = 10_000
Points = NDArray[np.float64]
Radii = dict[str, tuple[int, float, float]]


def groups() -> Graph:
    """Return 1,500 nodes in 15 groups and 100 without relationships, without attributes."""
    generator = np.random.default_rng(0)
    inside = generator.integers(0, 100, (2, 6000)) + 100 * generator.integers(0, 15, 6000)
    across = generator.integers(0, 1500, (2, 600))
    ends = np.concatenate((inside, across), axis=1)
    return Graph(sparse.csr_array((np.ones(ends.shape[1]), ends), shape=(1600, 1600)))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "groups": groups,
    "hyperbolic": lambda: hyperbolic_graph(3000, seed=1),
    "cora_ml": lambda: load_graph("cora_ml"),
}


class LiveGraph:
    """A graph in the database, whose nodes have the rows of its first version as keys, and how it changes."""

    def __init__(self, session: neo4j.Session, graph: Graph, seed: int) -> None:
        self._run, self._generator = session.run, np.random.default_rng(seed)
        self._keys = list(range(graph.n_nodes))
        self._next = graph.n_nodes
        nodes: list[dict[str, Any]] = [{"key": key} for key in self._keys]
        if graph.attributes is not None:
            facts = sparse.csr_array(graph.attributes)
            for key, node in enumerate(nodes):
                node["words"] = [
                    f"w{word}" for word in facts.indices[facts.indptr[key] : facts.indptr[key + 1]]
                ]
        ends = np.stack(graph.edges.coords, axis=1).tolist()
        self._run(
            f"CREATE CONSTRAINT heat_chain IF NOT EXISTS FOR (n:{LABEL}) REQUIRE n.key IS UNIQUE"
        ).consume()
        for begin in range(0, len(nodes), BATCH):
            rows = nodes[begin : begin + BATCH]
            self._run(f"UNWIND $rows AS row CREATE (n:{LABEL}) SET n = row", rows=rows).consume()
        for begin in range(0, len(ends), BATCH):
            self._join(ends[begin : begin + BATCH])

    def change(self, spared: set[int]) -> str:
        """Make a small change, deleting none of some nodes; return which."""
        draw = self._generator
        kind = str(
            draw.choice(["edges more", "edges fewer", "a node more", "an isolated node", "a node fewer"])
        )
        count = int(draw.integers(1, 4))
        if kind == "edges more":
            self._join(draw.choice(self._keys, (count, 2)).tolist())
        elif kind == "edges fewer":
            statement = f"MATCH (:{LABEL} {{key: $key}})-[r:{TYPE}]-() WITH r LIMIT 1 DELETE r"
            for key in draw.choice(self._keys, count).tolist():
                self._run(statement, key=key).consume()
        elif kind == "a node fewer":
            key = int(draw.choice([key for key in self._keys if key not in spared]))
            self._keys.remove(key)
            self._run(f"MATCH (n:{LABEL} {{key: $key}}) DETACH DELETE n", key=key).consume()
        else:
            self._run(f"CREATE (:{LABEL} {{key: $key}})", key=self._next).consume()
            if kind == "a node more":
                self._join([[self._next, partner] for partner in draw.choice(self._keys, count).tolist()])
            self._keys.append(self._next)
            self._next += 1
        return kind

    def remove(self) -> None:
        """Remove all of it."""
        self._run(f"MATCH (n:{LABEL}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 10000 ROWS").consume()
        self._run("DROP CONSTRAINT heat_chain IF EXISTS").consume()

    def _join(self, pairs: list[list[int]]) -> None:
        self._run(
            f"UNWIND $rows AS row MATCH (a:{LABEL} {{key: row[0]}}) MATCH (b:{LABEL} {{key: row[1]}}) "
            f"MERGE (a)-[:{TYPE}]->(b)",
            rows=pairs,
        ).consume()


def radii_of(graph: Graph, points: Points) -> Radii:
    """Return how many nodes of each kind there are, and their mean and largest radius."""
    _, component = connected_components(graph.adjacency, directed=False)
    size = np.bincount(component)[component]
    radii = radius(points)
    kinds = {"linked": size > SMALL, "small part": (size > 1) & (size <= SMALL), "isolated": size == 1}
    return {
        kind: (int(rows.sum()), float(radii[rows].mean()), float(radii[rows].max()))
        for kind, rows in kinds.items()
        if rows.any()
    }


def chain(driver: neo4j.Driver, name: str, refreshes: int, seed: int = 0) -> list[str]:
    """Refresh a graph that changes again and again; print what came of it, return missed bars."""
    whole = GRAPHS[name]()
    generator = np.random.default_rng(seed)
    tested = np.zeros(whole.n_edges, dtype=np.bool_)
    tested[generator.choice(whole.n_edges, round(HELD_OUT * whole.n_edges), replace=False)] = True
    pairs = np.column_stack((whole.edges.row[tested], whole.edges.col[tested])).astype(np.int64)
    others = non_edges(whole, pairs, generator)
    words = [] if whole.attributes is None else ["words"]
    projection = Projection([LABEL], [TYPE], attributes=words, key="key")
    job = Job(projection, HEAT(random_state=seed), WriteNames(MODEL), links=None, index=False)
    store = Neo4jStore(driver)
    done, changed, failed = Counter[str](), Counter[str](), Counter[str]()
    with driver.session() as session:
        live = LiveGraph(session, without(whole, tested), seed)
        try:
            refresh(store, job)
            graph, points = _published(store, projection)
            first = most = radii_of(graph, points)
            spared = set(np.unique(np.concatenate((pairs, others))).tolist())
            for _ in range(refreshes):
                changed[live.change(spared)] += 1
                report = refresh(store, job)
                done[report.decision] += 1
                failed[report.outcome] += report.outcome not in ("published", "nothing")
                graph, points = _published(store, projection)
                now = radii_of(graph, points)
                most = _larger(most, now)
            keys = {int(key): row for row, key in enumerate(store.read_property(graph, "key"))}
            rows = [np.vectorize(keys.__getitem__)(which) for which in (pairs, others)]
            found = score(points, *rows)
            colds = [HEAT(random_state=1000 + each).fit(graph).embedding_ for each in range(3)]
            cold = median(score(each, *rows) for each in colds)
        finally:
            store.clear(model=MODEL)
            live.remove()
    print(f"{name}: {_counted(changed)}")
    print(f"  refreshes: {_counted(done)}" + (f"; {_counted(failed)}" if +failed else ""))
    print("  radius, mean and largest        nodes     first run    at most       at the end    a cold run")
    for kind, (count, *ends) in now.items():
        columns = [first.get(kind), most[kind], (count, *ends), radii_of(graph, colds[0])[kind]]
        shown = "".join(
            "            -" if each is None else f"{each[1]:7.2f}{each[2]:6.2f}" for each in columns
        )
        print(f"  {kind:<24}{count:13,} {shown}")
    print(f"  held-out AUROC {found:.4f}, of cold runs {cold:.4f}: {found - cold:+.4f}", flush=True)
    bound = GROWTH * max(of[2] for of in first.values())
    missed = [f"{name}: {kind} at radius {of[2]:.1f}" for kind, of in most.items() if of[2] > bound]
    missed += [f"{name}: {count} {what}" for what, count in failed.items() if count]
    return missed + [f"{name}: AUROC"] * (found < cold - LOSS)


def _larger(most: Radii, now: Radii) -> Radii:
    """Return the larger mean and the larger largest radius of each kind."""
    merged = dict(most)
    for kind, (count, mean, largest) in now.items():
        _, known_mean, known_largest = most.get(kind, (0, 0.0, 0.0))
        merged[kind] = count, max(mean, known_mean), max(largest, known_largest)
    return merged


def _published(store: Neo4jStore, projection: Projection) -> tuple[Graph, Points]:
    """Return the graph as it is, by the published run's recipe, and the published points."""
    run = store.published_run(MODEL)
    graph = store.read_graph(projection, None if run is None else run.attribute_recipe or None)
    return graph, store.read_embedding(graph, MODEL)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if count)


def main(arguments: Sequence[str] | None = None) -> int:
    """Chain refreshes on all graphs; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--refreshes", type=int, default=50)
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS))
    parser.add_argument("--version", default="5.26")
    options = parser.parse_args(arguments)
    missed = []
    with (
        server_settings(options.version) as settings,
        neo4j.GraphDatabase.driver(settings[0], auth=settings[1:]) as driver,
    ):
        for name in options.graphs:
            missed += chain(driver, name, options.refreshes)
    print(f"BAR MISSED: {'; '.join(missed)}" if missed else "all bars are reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
