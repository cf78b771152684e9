"""Rows per second of writing coordinates and links, beside the plain way and the bare transport.

::

    python -m tests.benchmarks.writing [--nodes 60000] [--links 200000] [--shared 0.5] [--version 5.26]

The plain way sends one map per row, a batch after the other; the transport alone takes our columns to the
server and writes nothing. All in batches of 10,000. What was written is counted. The exit code is 1 if we are
slower than the plain way.

Then the times to stage and publish: the first version of a model, a second, for which the index of the staged
copy is made, and a third, which fills it while it is staged. Versions share some of the pairs that they link.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import perf_counter
from types import SimpleNamespace

import neo4j
import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.node_identity import NodeIdentity
from heat_neo4j.database.write.batches import Columns, coordinate_columns, link_columns
from heat_neo4j.database.write.payload import check_coordinates, check_links
from heat_neo4j.geometry.hyperboloid import lift, to_poincare
from heat_neo4j.graph import Graph
from tests.benchmarks.live import server_settings
from tests.support.store import Store

LABEL, TYPE, DIMENSION, BATCH = "BenchNode", "BENCH_PREDICTED", 10, 10_000
NAMES = WriteNames(model="benchWriting")

MAKE = (
    f"UNWIND range(0, $nodes - 1) AS k CALL (k) {{ CREATE (:{LABEL} {{key: k}}) }}"
    " IN TRANSACTIONS OF 10000 ROWS"
)
PLAIN_NODES = (
    f"UNWIND $rows AS row MATCH (n:{LABEL}) WHERE elementId(n) = row.id "
    "SET n.plainE = row.values, n.plainR = row.radius, n.plainRun = 'plain'"
)
PLAIN_LINKS = (
    f"UNWIND $rows AS row MATCH (a:{LABEL}) WHERE elementId(a) = row.source "
    f"MATCH (b:{LABEL}) WHERE elementId(b) = row.target "
    "MERGE (a)-[p:BENCH_PLAIN {run: 'plain'}]->(b) SET p.distance = row.distance, p.rank = row.rank"
)
CLEAR = f"MATCH (n:{LABEL}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 5000 ROWS"


def made_links(nodes: int, links: int, version: int, shared: float) -> SimpleNamespace:
    """Return so many different pairs of nodes; all versions share some of them."""
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.integers(0, nodes, size=(4 * links, 2)), axis=1)
    pairs = rng.permutation(np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0))
    common, own = int(shared * links), links - int(shared * links)
    begin = common + version % 2 * own
    pairs = np.concatenate([pairs[:common], pairs[begin : begin + own]])
    pairs = np.random.default_rng(version).permutation(pairs)
    return SimpleNamespace(
        source=pairs[:, 0],
        target=pairs[:, 1],
        distance=np.sort(rng.random(len(pairs))),
        probability=None,
        types=[""] * len(pairs),
        rank=np.arange(1, len(pairs) + 1),
        pattern_rank=np.arange(1, len(pairs) + 1),
    )


def batches(total: int) -> Iterator[slice]:
    """Yield the rows of each batch."""
    for begin in range(0, total, BATCH):
        yield slice(begin, min(begin + BATCH, total))


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def transport(driver: neo4j.Driver, columns: Columns, total: int) -> None:
    """Send all columns to a statement that only counts them."""
    for rows in batches(total):
        driver.execute_query("RETURN size($columns.ids)", columns=dict(columns(rows.start, rows.stop)))


def plain(
    driver: neo4j.Driver, graph: Graph, points: NDArray[np.float64], links: SimpleNamespace
) -> list[float]:
    """Write as a first program would; return the seconds for nodes and for links."""
    ids, ball, radii = graph.node_ids, to_poincare(points), np.arccosh(points[:, -1])

    def nodes() -> None:
        for rows in batches(len(ball)):
            maps = zip(ids[rows], ball[rows].tolist(), radii[rows].tolist(), strict=True)
            batch = [{"id": key, "values": values, "radius": radius} for key, values, radius in maps]
            driver.execute_query(PLAIN_NODES, rows=batch)

    def pairs() -> None:
        for rows in batches(len(links.source)):
            columns = (links.source, links.target, links.distance, links.rank)
            maps = zip(*(column[rows].tolist() for column in columns), strict=True)
            batch = [{"source": ids[u], "target": ids[v], "distance": d, "rank": r} for u, v, d, r in maps]
            driver.execute_query(PLAIN_LINKS, rows=batch)

    return [timed(nodes), timed(pairs)]


def run(driver: neo4j.Driver, nodes: int, n_links: int, shared: float) -> float:
    """Write each way, print the rates and what publishing takes; return how many times faster ours is."""
    driver.execute_query("RETURN 1")
    with driver.session() as session:
        session.run(MAKE, nodes=nodes).consume()
    store = Store(driver)
    graph = store.read_graph(Projection([LABEL], key="key"))
    ours: list[list[float]] = []
    publishing: list[float] = []
    stages: list[Mapping[str, float]] = []
    for version in range(4):  # the first warms the server up
        if version == 1:
            store.clear(model=NAMES.model)
        points = lift(np.random.default_rng(version).normal(size=(nodes, DIMENSION)))
        links = made_links(nodes, n_links, version, shared)
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"]) as written:
            ours.append(
                [
                    timed(partial(written.write_embedding, points)),
                    timed(partial(written.write_links, links)),
                ]
            )
            began = perf_counter()
            record = written.publish()
            publishing.append(perf_counter() - began)
            stages.append(record.stage_seconds)
    assert (record.nodes_written, record.links_written) == (nodes, len(links.source))
    store.clear(model=NAMES.model)
    first = plain(driver, graph, points, links)
    checked = check_links(links, nodes)
    identity, every = NodeIdentity.of(graph), np.arange(nodes)
    moved = coordinate_columns(check_coordinates(points, nodes, "poincare"), every, identity.parameters)
    joined = link_columns(checked, np.arange(len(links.source)), identity.parameters)
    bare = [
        timed(lambda: transport(driver, moved, nodes)),
        timed(lambda: transport(driver, joined, len(links.source))),
    ]
    print(f"{'':28}{'seconds':>9}{'rows/s':>12}")
    for name, seconds in (("plain", first), ("ours", ours[1]), ("transport alone", bare)):
        for what, rows, spent in zip(
            ("coordinates", "links"), (nodes, len(links.source)), seconds, strict=True
        ):
            print(f"{f'{name}: {what}':28}{spent:9.2f}{rows / spent:12,.0f}")
    print(f"\n{'version':10}{'stage':>9}{'publish':>9}{'staged index':>14}{'settle':>9}{'plain index':>13}")
    wholes = [sum(staging) + seconds for staging, seconds in zip(ours, publishing, strict=True)]
    for version, name in enumerate(("first", "second", "third"), start=1):
        parts = [stages[version].get(stage, 0.0) for stage in ("index new version", "settle", "build index")]
        print(f"{name:10}{sum(ours[version]):9.2f}{publishing[version]:9.2f}{parts[0]:14.2f}", end="")
        print(f"{parts[1]:9.2f}{parts[2]:13.2f}")
    print(f"the third takes {wholes[3] / wholes[1]:.1f} times as long as the first")
    return sum(first) / sum(ours[1])


def main() -> int:
    """Read the command line, run, compare with the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=60_000)
    parser.add_argument("--links", type=int, default=200_000)
    parser.add_argument("--shared", type=float, default=0.5, help="of the links, those of both versions")
    parser.add_argument("--version", default="5.26")
    options = parser.parse_args()
    with (
        server_settings(options.version) as (uri, user, password),
        neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver,
    ):
        try:
            times = run(driver, options.nodes, options.links, options.shared)
        finally:
            with driver.session() as session:
                session.run(CLEAR).consume()
    print(f"{times:.1f} times as fast as the plain way")
    return int(times < 1.0)


if __name__ == "__main__":
    sys.exit(main())
