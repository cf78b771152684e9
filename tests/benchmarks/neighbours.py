"""Nearest-neighbour queries on trained embeddings, in a live Neo4j: what they miss, and how long they take.

::

    python -m tests.benchmarks.neighbours [--version 5.26] [--graphs NAME ...] [--dimensions D ...]
                                          [--questions 10000] [--timed 300] [--k 10] [--hnsw M EF]
                                          [--scale S]

The three datasets in 10 dimensions (or others) and the class graph of Neo4j's own jars, whose hubs are joined
to most nodes, are embedded, written and indexed by this package; a random hyperbolic graph of 100,000 nodes
if it is named.

First nodes ask by `nearest`, as users send it with their label and key in it, and by `nearest` without the
most general nodes ("core"): all nodes once for the k nearest, and where that is fewer than ``--questions``,
for 5, 20 and 3 as well. "wrong" are answers that were certified and still missed a node: what the index
itself overlooked.

Then a sample is timed, each node in every way in turn: the index alone, the library's queries, other fetches,
`Store.neighbours`, and exact scans in Cypher and in NumPy.

``--hnsw`` builds the index anew with other settings than ours, which are 32 (a node's connections in the
index) and 200 (candidates for them); Neo4j's own are 16 and 100.

``--scale`` makes a second index, over S times the coordinates, and prints what each of the two finds alone.

The exit code is 1 if a bar is missed: no wrong answer and 95 % certified on every embedding, and p95 of
`nearest` at most 4 times that of the index alone on the class graph.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j.database.index.nearest import FETCH
from heat_neo4j.database.query_files import load_query
from heat_neo4j.graph import Graph, Provenance
from tests.benchmarks.class_graph import class_graph
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.live import server_settings
from tests.support.datasets import DATASETS, load_graph
from tests.support.store import Store

LABEL, KEY, SCALED = "NeighbourBench", "number", "neighbourBenchScaled"
CERTIFIED, LATENCY = 0.95, 4.0
CORE, NO_CORE = "UNWIND m.core AS id", "UNWIND [] AS id"
INDEX_ALONE = f"""CYPHER 5
MATCH (model:HeatModel {{name: $model}})
WITH model.version AS version
MATCH (m:HeatVersion {{model: $model, number: version}})
MATCH (a:{LABEL} {{{KEY}: $value}}) WHERE a[m.runProperty] = m.space
UNWIND m.indexes AS index
CALL db.index.vector.queryNodes(index, $k + 1, a[m.vectorProperty]) YIELD node
WITH node WHERE node <> a
RETURN node.{KEY} AS node
LIMIT $k"""
SCANS, WARM = 20, 50
HNSW = 32, 200  # our indexes' connections of a node, and candidates for them
DEFAULT, ALONE = f"nearest (fetch {FETCH})", "index alone"
CLASSES, HYPERBOLIC = "classes", "hyperbolic"
HYPERBOLIC_NODES = 100_000
OTHER_K = (5, 20, 3)
BATCH = 100

Ask = Callable[[int], list[int]]


class Embedded:
    """An embedding in the database, and the same in memory."""

    def __init__(
        self,
        store: Store,
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
        self.graph = Graph(
            sparse.csr_array((n, n)),
            node_ids=[row["id"] for row in rows],
            labels={LABEL: np.ones(n, dtype=bool)},
            provenance=Provenance({"labels": [LABEL], "key": KEY}, {"nodes": n}, ()),
        )
        store.write_embedding(self.graph, points, index=False)
        began = perf_counter()
        (self.index,) = store.create_index().indexes
        if hnsw is not None:
            began = perf_counter()
            self._make(self.index.name, self.index.property, hnsw)
        self.index_seconds = perf_counter() - began

    def _make(self, index: str, vector: str, hnsw: tuple[int, int]) -> None:
        """Make an index like ours, anew if there is one of the name, with its settings of HNSW."""
        execute(self.driver, f"DROP INDEX `{index}` IF EXISTS")
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

    def scale(self, factor: float) -> None:
        """Give each node its coordinates times a factor, with an index like ours over them."""
        scaled = f"n.{SCALED} = [x IN n.`{self.index.property}` | x * $factor]"
        many = f"MATCH (n:{LABEL}) CALL (n) {{ SET {scaled} }} IN TRANSACTIONS OF 10000 ROWS"
        execute(self.driver, many, factor=factor)
        self._make(SCALED, SCALED, HNSW)

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


def query(name: str) -> str:
    """Return a query of the library as users send it."""
    return load_query(name).written({"label": LABEL, "property": KEY})


@dataclass
class Answers:
    """What was found: questions, nodes that should have been found and were, answers certified and wrong."""

    questions: int = 0
    wanted: int = 0
    hits: int = 0
    certified: int = 0
    wrong: int = 0

    def add(self, embedded: Embedded, row: int, k: int, nodes: Sequence[int], certified: bool) -> None:
        """Judge one answer by the distances of all nodes."""
        distances = embedded.distances(row)
        limit = np.partition(distances, k - 1)[k - 1] * (1 + 1e-9)
        hits = int(np.count_nonzero(distances[np.array(nodes, dtype=np.int64)] <= limit))
        self.questions += 1
        self.wanted += k
        self.hits += hits
        self.certified += certified
        self.wrong += certified and hits < k


def count_misses(embedded: Embedded, statement: str, questions: int, k: int) -> Answers:
    """Let all nodes ask, in random order, many in one transaction as only their answers matter."""
    many = statement.replace("CYPHER 5\n", "").replace("$value", "value")
    asking = (
        f"CYPHER 5 UNWIND $rows AS value CALL (value) {{ {many} }} "
        "RETURN value, collect(node) AS nodes, head(collect(certified)) AS certified"
    )
    order = np.random.default_rng(0).permutation(len(embedded.points)).tolist()
    answers = Answers()
    with embedded.driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        for wanted in (k, *OTHER_K):
            rows = order[: questions - answers.questions]
            for begin in range(0, len(rows), BATCH):
                values = {"model": "heat", "rows": rows[begin : begin + BATCH], "k": wanted, "fetch": FETCH}
                for found in session.run(asking, values):
                    answers.add(embedded, found["value"], wanted, found["nodes"], found["certified"])
    return answers


def compare_scales(embedded: Embedded, scale: float, questions: int, k: int) -> None:
    """Print recall of the index alone, and of one over `scale` times the coordinates."""
    embedded.scale(scale)
    rows = np.random.default_rng(0).permutation(len(embedded.points))[:questions].tolist()
    recalls = []
    with embedded.driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        for index, vector in ((embedded.index.name, embedded.index.property), (SCALED, SCALED)):
            asking = (
                f"CYPHER 5 UNWIND $rows AS value MATCH (a:{LABEL} {{{KEY}: value}}) CALL (a) {{ "
                f"CALL db.index.vector.queryNodes($index, $k + 1, a.`{vector}`) YIELD node "
                f"WITH a, node WHERE node <> a RETURN node.{KEY} AS number LIMIT $k }} "
                "RETURN value, collect(number) AS nodes"
            )
            answers = Answers()
            for begin in range(0, len(rows), BATCH):
                for found in session.run(asking, rows=rows[begin : begin + BATCH], index=index, k=k):
                    answers.add(embedded, found["value"], k, found["nodes"], False)
            recalls.append(answers.hits / answers.wanted)
    print(
        f"index alone           {len(rows):,} questions, recall {recalls[0]:.6f}; over the coordinates times "
        f"{scale:g} {recalls[1]:.6f}, {recalls[1] - recalls[0]:+.6f}",
        flush=True,
    )


def ways(session: neo4j.Session, embedded: Embedded, k: int) -> dict[str, Ask]:
    """Return every way to ask, by what the table calls it."""

    def sending(statement: str, fetch: int = 0) -> Ask:
        def ask(row: int) -> list[int]:
            values = {"model": "heat", "value": row, "k": k, "fetch": fetch}
            return [record["node"] for record in session.run(statement, values)]

        return ask

    def helper(row: int) -> list[int]:
        found = embedded.store.neighbours(str(row), k=k)
        return [int(node.properties[KEY]) for node in found.nodes]

    def in_memory(row: int) -> list[int]:
        return np.argpartition(embedded.distances(row), k)[:k].tolist()

    return {
        ALONE: sending(INDEX_ALONE),
        "over-fetch 50": sending(query("nearest_quick"), 50),
        "over-fetch 100": sending(query("nearest_quick"), 100),
        "nearest without core": sending(query("nearest").replace(CORE, NO_CORE), FETCH),
        "nearest, fetch 30": sending(query("nearest"), 30),
        DEFAULT: sending(query("nearest"), FETCH),
        "nearest, fetch 120": sending(query("nearest"), 120),
        "neighbours()": helper,
        "scan in Cypher": sending(query("nearest_scan")),
        "scan in NumPy": in_memory,
    }


def report(name: str, embedded: Embedded, options: argparse.Namespace) -> tuple[Answers, float]:
    """Print what is missed and how long it takes on one embedding; return that of `nearest`, and its p95."""
    n, width = embedded.points.shape
    k = options.k
    print(f"\n{name}, {width - 1} dimensions, {n:,} nodes, index built in {embedded.index_seconds:.1f} s")
    if options.scale is not None:
        compare_scales(embedded, options.scale, options.questions, k)
    statements = {"without core": query("nearest").replace(CORE, NO_CORE), "nearest": query("nearest")}
    for way, statement in statements.items():
        answers = count_misses(embedded, statement, options.questions, k)
        print(
            f"{way:<22}{answers.questions:,} questions, recall {answers.hits / answers.wanted:.6f}, "
            f"{answers.certified:,} certified, {answers.wrong} of them wrong",
            flush=True,
        )
    return answers, print_times(embedded, options.timed, k)


def print_times(embedded: Embedded, timed: int, k: int) -> float:
    """Time every way, node by node in turn; return the p95 of `nearest` over that of the index alone."""
    sample = np.random.default_rng(1).permutation(len(embedded.points))[: WARM + timed].tolist()
    with embedded.driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        asks = ways(session, embedded, k)
        seconds: dict[str, list[float]] = {way: [] for way in asks}
        answers = {way: Answers() for way in asks}
        for turn, row in enumerate(sample):
            for way, ask in asks.items():
                if way.startswith("scan") and not WARM <= turn < WARM + SCANS:
                    continue
                began = perf_counter()
                nodes = ask(row)
                if turn >= WARM:  # the server plans and compiles at first
                    seconds[way].append(1e3 * (perf_counter() - began))
                    answers[way].add(embedded, row, k, nodes, False)
    p95 = {way: float(np.percentile(each, 95)) for way, each in seconds.items()}
    print(f"{'':<22}{'recall':>8}{'p50 ms':>9}{'p95 ms':>9}{'p95 / index':>13}")
    for way, each in seconds.items():
        recall = answers[way].hits / answers[way].wanted
        ratio = p95[way] / p95[ALONE]
        print(f"{way:<22}{recall:8.4f}{np.median(each):9.2f}{p95[way]:9.2f}{ratio:13.1f}", flush=True)
    return p95[DEFAULT] / p95[ALONE]


def graphs(options: argparse.Namespace) -> Iterator[tuple[str, Graph, int, dict[str, Any]]]:
    """Give each graph with its name, dimensions, and settings of its training."""
    for name in options.graphs:
        if name in DATASETS:
            for dimension in options.dimensions:
                yield name, load_graph(name), dimension, {}
        else:
            graph = class_graph().to_graph() if name == CLASSES else hyperbolic_graph(HYPERBOLIC_NODES)
            yield name, graph, 10, {"walks_per_node": 2}


def main() -> int:
    """Read the command line, measure, hold the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", default="5.26")
    known = (*DATASETS, CLASSES, HYPERBOLIC)
    parser.add_argument("--graphs", nargs="+", choices=known, default=known[:-1], metavar="NAME")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[10], metavar="D")
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--timed", type=int, default=300)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--hnsw", type=int, nargs=2, metavar=("M", "EF"))
    parser.add_argument("--scale", type=float, metavar="S")
    options = parser.parse_args()
    missed: list[str] = []
    with server_settings(options.version) as (uri, user, password):
        auth = (user, password)
        with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, Store(driver) as store:
            print(f"Neo4j {store.server.version}, nodes ask for their {options.k} nearest")
            for name, graph, dimension, settings in graphs(options):
                model = HEAT(n_components=dimension, random_state=0, **settings).fit(graph)
                embedded = Embedded(store, driver, model.embedding_, options.hnsw)
                answers, ratio = report(name, embedded, options)
                if answers.wrong or answers.certified < CERTIFIED * answers.questions:
                    missed.append(f"{name} in {dimension} dimensions: {answers.wrong} wrong")
                if name == CLASSES and ratio > LATENCY:
                    missed.append(f"{name}: p95 is {ratio:.1f} times that of the index alone")
            store.clear(model="heat")
            execute(driver, f"MATCH (n:{LABEL}) CALL (n) {{ DELETE n }} IN TRANSACTIONS OF 10000 ROWS")
            execute(driver, "DROP CONSTRAINT number")
            execute(driver, f"DROP INDEX {SCALED} IF EXISTS")
    print("\nmissed: " + "; ".join(missed) if missed else "\nall bars reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
