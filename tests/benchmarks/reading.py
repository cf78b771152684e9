"""Rows per second of reading a large projection, beside the plain way, one record per node and relationship.

::

    python -m tests.benchmarks.reading [--nodes 200000] [--relationships 2000000] [--pure] [--version 5.26]
    python -m tests.benchmarks.reading --before COMMIT
    python -m tests.benchmarks.reading --scratch FOLDER [--cursors 1 2 3 4] [--features 50]

Both ways end in the same `Graph`, which is checked. The transport alone is as many numbers, in lists as long,
that the server makes up. ``--pure`` hides neo4j-rust-ext from the driver. The exit code is 1 if we are not 3
times as fast as the plain way. The graph is made first, which takes longer than reading it.

``--before`` reads the same graph, whose relationships are of two types, with the code of a commit as well, in
processes that take turns. The exit code is 1 if ours reads fewer than .8 of its rows per second, or takes
more than 1.25 times its memory.

``--scratch`` reads it into files of a folder, by each number of cursors in turn, and into memory, in
processes of their own: rows per second of each stage, and the peak of anonymous memory, which the system
cannot take back as it can mapped files. The exit code is 1 if the bits differ. It is meant for large graphs,
too: with ``--features 0``, a node has no list of numbers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    import neo4j

    from heat_neo4j.graph import Graph

LABEL, TYPES, FEATURES = "BenchNode", ("BENCH_LINK", "BENCH_TIE"), 50
SAMPLED = 0.02  # seconds
ROOT = Path(__file__).resolve().parents[2]
BAR = 3.0
LEAST_RATE, MOST_MEMORY = 0.8, 1.25
TURNS = 3

MAKE = (
    f"CREATE CONSTRAINT bench_node IF NOT EXISTS FOR (n:{LABEL}) REQUIRE n.key IS UNIQUE",
    f"UNWIND range(0, $nodes - 1) AS k CALL (k) {{"
    f" CREATE (:{LABEL} {{key: k, features: CASE WHEN $features > 0 THEN"
    " [i IN range(1, $features) | sin(k * i)] END})"
    " } IN TRANSACTIONS OF 10000 ROWS",
    *(
        f"UNWIND range(0, $nodes - 1) AS k CALL (k) {{ MATCH (a:{LABEL} {{key: k}})"
        f" UNWIND range({1 + place}, $degree, {len(TYPES)}) AS i"
        f" MATCH (b:{LABEL} {{key: (k * 7919 + i * i * 104729 + i * k) % $nodes}})"
        f" CREATE (a)-[:{name} {{weight: 1.0 + i / 16.0}}]->(b)"
        " } IN TRANSACTIONS OF 10000 ROWS"
        for place, name in enumerate(TYPES)
    ),
)
TRANSPORT = {
    "relationships": (
        200_000,
        "RETURN range(1, $rows) AS a, range(1, $rows) AS b, [i IN range(1, $rows) | 0.5 * i] AS weights",
    ),
    "features": (10_000, f"RETURN [i IN range(1, $rows) | [j IN range(1, {FEATURES}) | 0.5 * j]] AS columns"),
}
READ = f"""
import resource, sys
from time import perf_counter
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.projection import Projection

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

projection = Projection(["{LABEL}"], {list(TYPES)}, weight="weight")
with Neo4jStore.open(sys.argv[1], auth=(sys.argv[2], sys.stdin.read())) as store:
    before, start = peak(), perf_counter()
    graph = store.read_graph(projection)
    print(perf_counter() - start, peak() - before)
"""
MEASURE = f"""
import hashlib, sys, threading
from time import perf_counter, sleep
import numpy as np
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read import cursors

def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024

def sample():
    while not over.wait({SAMPLED}):
        peak[0] = max(peak[0], anonymous())

uri, user, scratch, cursors.CURSORS, features = *sys.argv[1:4], *map(int, sys.argv[4:])
projection = Projection(
    ["{LABEL}"], {list(TYPES)}, weight="weight", attributes=["features"] if features else []
)
stages, peak, over = {{}}, [0], threading.Event()

def watch(stage, done, total):
    stages.setdefault(stage, [perf_counter()] * 2)[1] = perf_counter()

with Neo4jStore.open(uri, auth=(user, sys.stdin.read())) as store:
    before, began = anonymous(), perf_counter()
    sampling = threading.Thread(target=sample)
    sampling.start()
    graph = store.read_graph(projection, scratch=scratch or None, on_progress=watch)
    seconds = perf_counter() - began
    over.set()
    sampling.join()
digest = hashlib.sha256()
w, directed = graph.adjacency, graph.relationships
for part in (w.indptr, w.indices, w.data, directed.source, directed.target, graph.attributes):
    if part is not None:
        digest.update(np.ascontiguousarray(part).data)
print(peak[0] - before, digest.hexdigest()[:8], seconds, *(end - begin for begin, end in stages.values()))
"""
CLEAR = f"MATCH (n:{LABEL}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 10000 ROWS"


def plain(driver: neo4j.Driver) -> tuple[sparse.csr_array, NDArray[np.float64], dict[str, float]]:
    """Read record by record, as a first program would; return W, X and the seconds of both parts."""
    start = perf_counter()
    row_of: dict[str, int] = {}
    features = []
    with driver.session(default_access_mode="READ") as session:
        for record in session.run(f"MATCH (n:{LABEL}) RETURN elementId(n) AS id, n.features AS features"):
            row_of[record["id"]] = len(row_of)
            features.append(record["features"])
        x = np.array(features, dtype=np.float64)
        middle = perf_counter()
        rows, columns, weights = [], [], []
        for record in session.run(
            f"MATCH (a:{LABEL})-[r:{'|'.join(TYPES)}]->(b:{LABEL}) "
            "RETURN elementId(a) AS a, elementId(b) AS b, r.weight AS weight"
        ):
            rows.append(row_of[record["a"]])
            columns.append(row_of[record["b"]])
            weights.append(record["weight"])
    w = sparse.csr_array((weights, (rows, columns)), shape=(len(row_of), len(row_of)))
    return w, x, {"nodes": middle - start, "relationships": perf_counter() - middle}


def ours(driver: neo4j.Driver) -> tuple[Graph, dict[str, float]]:
    """Read by `read_graph`; return the graph and the seconds of its parts."""
    from heat_neo4j.database.projection import Projection
    from heat_neo4j.database.store import Neo4jStore

    started: dict[str, float] = {}
    ended: dict[str, float] = {}

    def watch(stage: str, done: int, total: int) -> None:
        started.setdefault(stage, perf_counter())
        ended[stage] = perf_counter()

    projection = Projection([LABEL], TYPES, weight="weight", attributes=["features"])
    begin = perf_counter()
    graph = Neo4jStore(driver).read_graph(projection, on_progress=watch)
    seconds = {stage.removeprefix("reading "): ended[stage] - started[stage] for stage in started}
    return graph, {**seconds, "all": perf_counter() - begin}


def transport(driver: neo4j.Driver, what: str, total: int) -> float:
    """Return the seconds in which so many rows come, made up by the server."""
    most, statement = TRANSPORT[what]
    begin = perf_counter()
    for first in range(0, total, most):
        driver.execute_query(statement, rows=min(most, total - first), routing_="r")
    return perf_counter() - begin


def make(driver: neo4j.Driver, nodes: int, relationships: int, features: int = FEATURES) -> None:
    """Make the graph."""
    with driver.session() as session:
        for statement in MAKE:
            session.run(statement, nodes=nodes, degree=relationships // nodes, features=features).consume()


def beside(commit: str, settings: tuple[str, str, str], rows: int) -> bool:
    """Print what a commit and this code take to read the graph; return whether ours keeps to the bars."""
    uri, user, password = settings
    with code_of(commit) as before:
        found: dict[str, list[list[float]]] = {commit: [], "this code": []}
        for _ in range(TURNS):
            for name, folder in ((commit, before), ("this code", ROOT)):
                done = subprocess.run(
                    [sys.executable, "-c", READ, uri, user],
                    input=password,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": str(folder)},
                    cwd=folder,
                    text=True,
                    check=True,
                )
                found[name].append([float(word) for word in done.stdout.split()])
    (old_seconds, old_kib), (seconds, kib) = (np.median(each, axis=0) for each in found.values())
    print(f"rows/s, median of {TURNS}: {commit} {rows / old_seconds:,.0f}, this code {rows / seconds:,.0f}")
    print(f"{old_seconds / seconds:.2f} of its rows/s (bar: {LEAST_RATE:g})")
    print(f"{kib / old_kib:.2f} times its memory, {kib / 1024:,.0f} MiB (bar: {MOST_MEMORY:g})")
    return bool(old_seconds / seconds >= LEAST_RATE and kib / old_kib <= MOST_MEMORY)


def by_cursors(
    folder: str, counts: list[int], settings: tuple[str, str, str], nodes: int, rels: int, features: int
) -> bool:
    """Print what each number of cursors takes, into files, and into memory; return whether all agree."""
    uri, user, password = settings
    ways = [(count, folder) for count in counts] + [(counts[-1], "")]
    digests, found = set(), dict[tuple[int, str], list[list[float]]]()
    for _ in range(TURNS):
        for count, where in ways:
            done = subprocess.run(
                [sys.executable, "-c", MEASURE, uri, user, where, str(count), str(features)],
                input=password,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            octets, digest, *seconds = done.stdout.split()
            digests.add(digest)
            found.setdefault((count, where), []).append(list(map(float, (octets, *seconds))))
    print(f"{'median of ' + str(TURNS):24}{'all s':>8}{'all':>12}{'nodes':>12}{'relationships':>15}", end="")
    print(f"{'attributes':>12} rows/s{'peak MiB':>10}{'bytes/row':>11}")
    for (count, where), measured in found.items():
        peak, whole, *stages = np.median(measured, axis=0)
        name = f"{count} cursors, {'files' if where else 'memory'}"
        rates = [rows / spent for rows, spent in zip((nodes, rels, nodes), stages, strict=True)]
        print(f"{name:24}{whole:8.1f}{(nodes + rels) / whole:12,.0f}{rates[0]:12,.0f}", end="")
        print(f"{rates[1]:15,.0f}{rates[2]:12,.0f}{peak / 2**20:17,.0f}{peak / (nodes + rels):11.0f}")
    return len(digests) == 1 and not os.listdir(folder)


@contextmanager
def code_of(commit: str) -> Iterator[Path]:
    """Yield a folder with the code of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


def run(driver: neo4j.Driver, nodes: int, relationships: int) -> float:
    """Make the graph, read it both ways, print the rates; return how many times faster ours is."""
    make(driver, nodes, relationships)
    ours(driver)  # warms the server's page cache and plans
    cpu = process_time()
    graph, seconds = ours(driver)
    cpu_ours = process_time() - cpu
    cpu = process_time()
    w, x, plain_seconds = plain(driver)
    cpu_plain = process_time() - cpu
    total = nodes + relationships
    plain_all = sum(plain_seconds.values())
    print(f"{'':36}{'seconds':>9}{'rows/s':>12}{'client CPU s':>14}")
    for name, rows, spent, cpu_seconds in (
        ("plain: nodes with features", nodes, plain_seconds["nodes"], None),
        ("plain: relationships", relationships, plain_seconds["relationships"], None),
        ("plain: all", total, plain_all, cpu_plain),
        ("ours: nodes", nodes, seconds["nodes"], None),
        ("ours: relationships", relationships, seconds["relationships"], None),
        ("ours: features", nodes, seconds["attributes"], None),
        ("ours: all, to the finished Graph", total, seconds["all"], cpu_ours),
        (
            "transport alone: relationships",
            relationships,
            transport(driver, "relationships", relationships),
            None,
        ),
        ("transport alone: features", nodes, transport(driver, "features", nodes), None),
    ):
        cpu_column = "" if cpu_seconds is None else f"{cpu_seconds:14.2f}"
        print(f"{name:36}{spent:9.2f}{rows / spent:12,.0f}{cpu_column}")
    _same(graph, w, x)
    return plain_all / seconds["all"]


def _same(graph: Graph, w: Any, x: NDArray[np.float64]) -> None:
    """Compare what does not depend on the order of the rows."""
    assert abs(graph.adjacency.sum() - 2 * (w.sum() - w.diagonal().sum())) < 1e-6 * w.sum()
    assert isinstance(graph.attributes, np.ndarray)
    np.testing.assert_allclose(
        np.sort(graph.attributes.sum(axis=1)), np.sort(x.sum(axis=1)), rtol=1e-9, atol=1e-9
    )


def main() -> int:
    """Read the command line, run, compare with the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--relationships", type=int, default=2_000_000)
    parser.add_argument("--pure", action="store_true")
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--scratch", metavar="FOLDER")
    parser.add_argument("--cursors", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--features", type=int, default=FEATURES, help="numbers of a node, with --scratch")
    options = parser.parse_args()
    if options.pure:
        sys.modules["neo4j._rust"] = None  # type: ignore[assignment]
    import neo4j

    from tests.benchmarks.live import server_settings

    with (
        server_settings(options.version) as settings,
        neo4j.GraphDatabase.driver(settings[0], auth=settings[1:]) as driver,
    ):
        try:
            if options.before is not None:
                make(driver, options.nodes, options.relationships)
                rows = options.nodes + options.relationships
                return int(not beside(options.before, settings, rows))
            if options.scratch is not None:
                sizes = options.nodes, options.relationships, options.features
                make(driver, *sizes)
                return int(not by_cursors(options.scratch, options.cursors, settings, *sizes))
            times = run(driver, options.nodes, options.relationships)
        finally:
            with driver.session() as session:
                session.run(CLEAR).consume()
                session.run("DROP CONSTRAINT bench_node IF EXISTS").consume()
    extension = "without" if options.pure else "with"
    print(f"{times:.1f} times as fast as the plain way, {extension} neo4j-rust-ext (bar: {BAR:g})")
    return int(times < BAR)


if __name__ == "__main__":
    sys.exit(main())
