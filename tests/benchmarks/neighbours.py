"""Recall and latency of nearest-neighbour queries on trained embeddings, in a live Neo4j.

::

    python -m tests.benchmarks.neighbours [--version 5.26] [--nodes 100000] [--queries 500] [--k 10]
                                          [--hnsw M EF]

The three datasets in 2, 10 and 50 dimensions and a random hyperbolic graph are embedded, written and
indexed by this package. A sample of nodes then asks for its k nearest: the index alone, the library's
queries, also without the most general nodes that `nearest` always looks at (its "core"),
`Neo4jStore.neighbours`, and exact scans in Cypher and in NumPy. All statements start from the same indexed
look-up of the node. "wrong" counts answers that were certified and still missed a node: what the index itself
overlooked.

``--hnsw`` builds the index anew with other settings than Neo4j's own, which are 16 (a node's connections in
the index) and 100 (candidates for them).

The exit code is 1 if a bar is missed: recall .995 and 95 % certified on every embedding, p95 on the large
graph at most 4 times that of the index alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT, Neo4jStore
from heat_neo4j.database.library import load_query
from heat_neo4j.database.neighbours import FETCH
from heat_neo4j.graph import Graph, Provenance
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.live import server_settings
from tests.datasets import DATASETS, load_graph

LABEL, KEY = "NeighbourBench", "number"
RECALL, CERTIFIED, LATENCY = 0.995, 0.95, 4.0
START = "MATCH (a:$($label)) WHERE a[$property] = $value AND a[m.runProperty] = m.run"
OWN_START = f"MATCH (a:{LABEL} {{{KEY}: $value}}) WHERE a[m.runProperty] = m.run"
CORE, NO_CORE = "UNWIND m.core AS id", "UNWIND [] AS id"
INDEX_ALONE = f"""CYPHER 5
MATCH (model:HeatModel {{name: $model}})
WITH model.version AS version
MATCH (m:HeatVersion {{model: $model, number: version}})
{OWN_START}
UNWIND m.indexes AS index
CALL db.index.vector.queryNodes(index, $k + 1, a[m.vectorProperty]) YIELD node
WITH node WHERE node <> a
RETURN node[$property] AS node
LIMIT $k"""
SCANS, WARM = 20, 100
DEFAULT = f"nearest (fetch {FETCH})"

Ask = Callable[[int], tuple[list[int], bool | None]]


@dataclass(frozen=True)
class Measured:
    """One way to ask on one embedding: shares of 1, counts, and milliseconds."""

    recall: float
    certified: float | None
    wrong: int
    p50: float
    p95: float


class Embedded:
    """An embedding in the database, and the same in memory."""

    def __init__(
        self,
        store: Neo4jStore,
        driver: neo4j.Driver,
        points: NDArray[np.float64],
        hnsw: tuple[int, int] | None = None,
    ) -> None:
        self.points, self.store, self.driver = points, store, driver
        execute(driver, f"MATCH (n:{LABEL}) CALL (n) {{ DELETE n }} IN TRANSACTIONS OF 10000 ROWS")
        numbers = list(range(len(points)))
        execute(driver, f"CREATE CONSTRAINT number IF NOT EXISTS FOR (n:{LABEL}) REQUIRE n.{KEY} IS UNIQUE")
        execute(driver, f"UNWIND $numbers AS number CREATE (:{LABEL} {{{KEY}: number}})", numbers=numbers)
        rows = execute(driver, f"MATCH (n:{LABEL}) RETURN elementId(n) AS id ORDER BY n.{KEY}")
        n = len(points)
        graph = Graph(
            sparse.csr_array((n, n)),
            node_ids=[row["id"] for row in rows],
            labels={LABEL: np.ones(n, dtype=bool)},
            provenance=Provenance({"labels": [LABEL], "key": KEY}, {"nodes": n}, ()),
        )
        record = store.write_embedding(graph, points)
        self.index_seconds = record.stage_seconds["build index"]
        if hnsw is not None:
            began = perf_counter()
            self._rebuild(record.indexes[0], str(record.vector_property), hnsw)
            self.index_seconds = perf_counter() - began

    def _rebuild(self, index: str, vector: str, hnsw: tuple[int, int]) -> None:
        """Make the index anew, with other settings."""
        execute(self.driver, f"DROP INDEX `{index}`")
        settings = {
            "vector.dimensions": self.points.shape[1] - 1,
            "vector.similarity_function": "euclidean",
            "vector.quantization.enabled": False,
            "vector.hnsw.m": hnsw[0],
            "vector.hnsw.ef_construction": hnsw[1],
        }
        over = f"FOR (n:{LABEL}) ON (n.`{vector}`) OPTIONS {{indexConfig: $settings}}"
        execute(self.driver, f"CREATE VECTOR INDEX `{index}` {over}", settings=settings)
        execute(self.driver, "CALL db.awaitIndexes(600)")

    def distances(self, row: int) -> NDArray[np.float64]:
        """Return the distances of all nodes to one, infinite to itself, shape (N,)."""
        apart = self.points - self.points[row]
        chord = np.einsum("ij,ij->i", apart[:, :-1], apart[:, :-1]) - apart[:, -1] ** 2
        distances = 2.0 * np.arcsinh(np.sqrt(np.maximum(chord, 0.0)) / 2.0)
        distances[row] = np.inf
        return np.asarray(distances)


def execute(driver: neo4j.Driver, statement: str, **parameters: Any) -> list[neo4j.Record]:
    """Run one statement past the package."""
    with driver.session() as session:
        return list(session.run(statement, parameters))


def asking(session: neo4j.Session, statement: str, k: int, fetch: int) -> Ask:
    """Return what runs a statement for one node."""

    def ask(row: int) -> tuple[list[int], bool | None]:
        values = {"model": "heat", "property": KEY, "value": row, "k": k, "fetch": fetch}
        rows = list(session.run(statement, values))
        found = [record["node"] for record in rows]
        return found, rows[0].get("certified") if rows else None

    return ask


def measure(embedded: Embedded, ask: Ask, sample: Sequence[int], k: int) -> Measured:
    """Ask for each node of the sample, after questions that are not timed: the server plans and compiles."""
    hits = certified = wrong = 0
    told, seconds = False, []
    for row in sample[:WARM]:
        ask(row)
    for row in sample:
        began = perf_counter()
        found, sure = ask(row)
        seconds.append(perf_counter() - began)
        distances = embedded.distances(row)
        limit = np.partition(distances, k - 1)[k - 1] * (1 + 1e-9)
        hit = int(sum(distances[other] <= limit for other in found))
        hits += hit
        told = told or sure is not None
        certified += bool(sure)
        wrong += bool(sure) and hit < k
    p50, p95 = (1e3 * float(np.percentile(seconds, share)) for share in (50, 95))
    return Measured(hits / len(sample) / k, certified / len(sample) if told else None, wrong, p50, p95)


def ways(session: neo4j.Session, store: Neo4jStore, k: int) -> dict[str, Ask]:
    """Return every way to ask, by what the table calls it."""

    def query(name: str) -> str:
        return load_query(name).statement.replace(START, OWN_START)

    def helper(row: int) -> tuple[list[int], bool | None]:
        found = store.neighbours(str(row), k=k)
        return [int(node.properties[KEY]) for node in found.nodes], found.certified

    without_core = query("nearest").replace(CORE, NO_CORE)
    return {
        "index alone": asking(session, INDEX_ALONE, k, k),
        "over-fetch 50": asking(session, query("nearest_quick"), k, 50),
        "over-fetch 100": asking(session, query("nearest_quick"), k, 100),
        "nearest without core": asking(session, without_core, k, FETCH),
        "nearest, fetch 30": asking(session, query("nearest"), k, 30),
        DEFAULT: asking(session, query("nearest"), k, FETCH),
        "nearest, fetch 120": asking(session, query("nearest"), k, 120),
        "neighbours()": helper,
        "scan in Cypher": asking(session, query("nearest_scan"), k, 0),
    }


def report(name: str, embedded: Embedded, sample: Sequence[int], k: int) -> dict[str, Measured]:
    """Measure every way on one embedding, and print a line of each."""
    n, width = embedded.points.shape
    print(f"\n{name}, {width - 1} dimensions, {n:,} nodes, index built in {embedded.index_seconds:.1f} s")
    print(f"{'':<22}{'recall':>8}{'certified':>11}{'wrong':>7}{'p50 ms':>9}{'p95 ms':>9}{'p95 / index':>13}")
    found: dict[str, Measured] = {}
    with embedded.driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        for way, ask in ways(session, embedded.store, k).items():
            asked = sample[:SCANS] if way.startswith("scan") else sample
            found[way] = line(way, measure(embedded, ask, asked, k), found.get("index alone"))

    def in_memory(row: int) -> tuple[list[int], bool | None]:
        distances = embedded.distances(row)
        best = np.argpartition(distances, k)[:k]
        return best.tolist(), None

    line("scan in NumPy", measure(embedded, in_memory, sample[: 5 * SCANS], k), found["index alone"])
    return found


def line(way: str, measured: Measured, index: Measured | None) -> Measured:
    """Print one line of the table."""
    sure = "" if measured.certified is None else f"{measured.certified:.3f}"
    wrong = "" if measured.certified is None else str(measured.wrong)
    ratio = "" if index is None else f"{measured.p95 / index.p95:.1f}"
    print(
        f"{way:<22}{measured.recall:8.4f}{sure:>11}{wrong:>7}{measured.p50:9.2f}{measured.p95:9.2f}{ratio:>13}",
        flush=True,
    )
    return measured


def main() -> int:
    """Read the command line, measure, hold the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--hnsw", type=int, nargs=2, metavar=("M", "EF"))
    options = parser.parse_args()
    missed: list[str] = []
    with server_settings(options.version) as (uri, user, password):
        auth = (user, password)
        with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, Neo4jStore(driver) as store:
            print(f"Neo4j {store.server.version}, {options.queries} nodes ask for their {options.k} nearest")
            large: tuple[str, Graph, int, dict[str, Any]] = (
                "random hyperbolic graph",
                hyperbolic_graph(options.nodes),
                10,
                {"walks_per_node": 2},
            )
            small: list[tuple[str, Graph, int, dict[str, Any]]] = [
                (name, load_graph(name), dim, {}) for name in DATASETS for dim in (2, 10, 50)
            ]
            for name, graph, dim, settings in [*small, large]:
                model = HEAT(n_components=dim, random_state=0, **settings).fit(graph)
                embedded = Embedded(store, driver, model.embedding_, options.hnsw)
                n = graph.n_nodes
                sample = np.random.default_rng(0).choice(n, min(n, options.queries), replace=False).tolist()
                found = report(name, embedded, sample, options.k)
                ours = found[DEFAULT]
                if ours.recall < RECALL or (ours.certified or 0.0) < CERTIFIED:
                    missed.append(f"{name} in {dim} dimensions")
            ratio = found[DEFAULT].p95 / found["index alone"].p95
            if ratio > LATENCY:
                missed.append(f"p95 is {ratio:.1f} times that of the index alone")
            store.clear(model="heat")
            execute(driver, f"MATCH (n:{LABEL}) CALL (n) {{ DELETE n }} IN TRANSACTIONS OF 10000 ROWS")
            execute(driver, "DROP CONSTRAINT number")
    print("\nmissed: " + "; ".join(missed) if missed else "\nall bars reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
