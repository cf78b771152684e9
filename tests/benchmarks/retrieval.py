"""What a retriever adds to the time of the bare query `nearest`, in a live Neo4j.

::

    python -m tests.benchmarks.retrieval [--version 5.26] [--nodes 20000] [--timed 300] [--k 10]

Points of a random tree's shape are published with an index and three predicted links a node, and a sample of
nodes asks in every way in turn: the query `nearest` as users send it, `Store.neighbours`, and both
retrievers, which also read the likeliest links of each result and make texts of all.

The exit code is 1 if a bar is missed: p95 of each retriever at most 1.5 times that of the bare query, and
recall@k of both 1 against the distances of all nodes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import perf_counter

import neo4j
import numpy as np

from heat_neo4j.geometry.hyperboloid import at_radius, lift
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.retrieval.graphrag import HeatRetriever
from heat_neo4j.retrieval.langchain import HeatDocumentRetriever
from tests.benchmarks.live import server_settings
from tests.benchmarks.neighbours import KEY, LABEL, Embedded, execute, query
from tests.support.store import Store

BAR = 1.5
WARM = 50
LINKS = 3
BARE = "nearest"
RETRIEVERS = ("HeatRetriever", "HeatDocumentRetriever")

Ask = Callable[[int], list[int]]


def place(n: int, dimension: int = 10, radius: float = 8.0) -> np.ndarray:
    """Return points of the hyperboloid, few near the centre and most near the border."""
    generator = np.random.default_rng(0)
    directions = lift(generator.normal(size=(n, dimension)))
    return at_radius(directions, radius * np.sqrt(generator.uniform(0.0, 1.0, n)))


def link(embedded: Embedded, store: Store) -> None:
    """Publish predicted links: from each node to those after it, in the order of the keys."""
    n = len(embedded.points)
    source = np.repeat(np.arange(n), LINKS)
    target = (source + np.tile(np.arange(1, LINKS + 1), n)) % n
    pairs = np.sort(np.column_stack((source, target)), axis=1)
    distances = np.linspace(0.1, 9.0, len(pairs))
    store.write_links(embedded.graph, PredictedLinks(pairs[:, 0], pairs[:, 1], distances))


def main() -> int:
    """Read the command line, measure, hold the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--timed", type=int, default=300)
    parser.add_argument("--k", type=int, default=10)
    options = parser.parse_args()
    with server_settings(options.version) as (uri, user, password):
        auth = (user, password)
        with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, Store(driver) as store:
            embedded = Embedded(store, driver, place(options.nodes))
            link(embedded, store)
            print(
                f"Neo4j {store.server.version}, {options.nodes:,} nodes in 10 dimensions ask for their "
                f"{options.k} nearest, {options.timed} timed"
            )
            missed = report(embedded, driver, options.timed, options.k)
            store.clear(model="heat")
            execute(driver, f"MATCH (n:{LABEL}) CALL (n) {{ DELETE n }} IN TRANSACTIONS OF 10000 ROWS")
            execute(driver, "DROP CONSTRAINT number")
    print("\n".join(missed) or "all bars are reached")
    return int(bool(missed))


def ways(embedded: Embedded, session: neo4j.Session, driver: neo4j.Driver, k: int) -> dict[str, Ask]:
    """Return every way to ask, by what the table calls it."""
    graphrag = HeatRetriever(driver)
    langchain = HeatDocumentRetriever(database=embedded.store, k=k)
    statement = query(BARE)

    def nearest(row: int) -> list[int]:
        values = {"model": "heat", "value": row, "k": k, "fetch": 60}
        return [record["node"] for record in session.run(statement, values)]

    def helper(row: int) -> list[int]:
        found = embedded.store.neighbours(str(row), k=k)
        return [int(node.properties[KEY]) for node in found.nodes]

    def by_graphrag(row: int) -> list[int]:
        items = graphrag.search(query_text=str(row), top_k=k).items
        return [int((item.metadata or {})["properties"][KEY]) for item in items]

    def by_langchain(row: int) -> list[int]:
        return [int(document.metadata["properties"][KEY]) for document in langchain.invoke(str(row))]

    own = dict(zip(RETRIEVERS, (by_graphrag, by_langchain), strict=True))
    return {BARE: nearest, "neighbours()": helper, **own}


def report(embedded: Embedded, driver: neo4j.Driver, timed: int, k: int) -> list[str]:
    """Print recall and times of every way; return which bars are missed."""
    sample = np.random.default_rng(1).permutation(len(embedded.points))[: WARM + timed].tolist()
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        asks = ways(embedded, session, driver, k)
        seconds: dict[str, list[float]] = {way: [] for way in asks}
        hits = dict.fromkeys(asks, 0)
        for turn, row in enumerate(sample):
            limit = np.partition(embedded.distances(row), k - 1)[k - 1] * (1 + 1e-9)
            first = turn % len(asks)  # each in turn finds the server as the one before has left it
            for way in (*list(asks)[first:], *list(asks)[:first]):
                began = perf_counter()
                nodes = asks[way](row)
                if turn >= WARM:  # the server plans and compiles at first
                    seconds[way].append(1e3 * (perf_counter() - began))
                    hits[way] += int(np.count_nonzero(embedded.distances(row)[nodes] <= limit))
    p95 = {way: float(np.percentile(each, 95)) for way, each in seconds.items()}
    p50 = {way: float(np.median(each)) for way, each in seconds.items()}
    print(f"{'':<23}{'recall':>8}{'p50 ms':>9}{'p95 ms':>9}{'p50 / nearest':>15}{'p95 / nearest':>15}")
    missed = []
    for way, each in seconds.items():
        recall, ratio = hits[way] / (k * len(each)), p95[way] / p95[BARE]
        print(
            f"{way:<23}{recall:8.4f}{p50[way]:9.2f}{p95[way]:9.2f}{p50[way] / p50[BARE]:15.2f}{ratio:15.2f}",
            flush=True,
        )
        if way in RETRIEVERS and (ratio > BAR or recall < 1.0):
            missed.append(f"{way}: recall {recall:.4f}, p95 {ratio:.2f} times that of {BARE}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
