"""Time, memory and quality as the graph grows, through a live Neo4j, beside what `heat estimate` said.

::

    python -m tests.benchmarks.growth [--nodes 10000 30000 100000 300000 1000000] [--version 5.26] [--k 10]

Random hyperbolic graphs of degree 10 with 50 sparse attributes. A twentieth of the edges is held out and the
rest loaded; then `heat embed` runs as a user runs it, in a process of its own, with links for 100,000 of the
nodes at most. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import neo4j
import numpy as np
from scipy import sparse

from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.splits import split_edges
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.live import heat, server_settings
from tests.support.link_auroc import link_auroc

__all__ = ["Growth", "main"]

LABEL, ASKED, TYPE, MODEL = "HeatGrowth", "HeatGrowthAsked", "HEAT_GROWTH_LINK", "heatGrowth"
ASKED_NODES = 100_000
HELD_OUT = 0.05
BATCH = 20_000

MOST_MEMORY = 6 * 2**30
AUROC_LOSS = 0.02
TRAINING_SHARE = 0.6
TRAINING = ("similarity", "coarse", "walks", "train")
EXPONENT = 1.1
OFF = 1.5
"""By what factor an estimate may be off."""

NODES = (
    f"UNWIND $rows AS row CREATE (n:{LABEL}) SET n.key = row[0], n.topics = row[1]"
    f" FOREACH (_ IN CASE WHEN row[0] < {ASKED_NODES} THEN [1] ELSE [] END | SET n:{ASKED})"
)
LINKS = (
    f"UNWIND $rows AS row MATCH (a:{LABEL} {{key: row[0]}}) MATCH (b:{LABEL} {{key: row[1]}})"
    f" CREATE (a)-[:{TYPE}]->(b)"
)


@dataclass(frozen=True)
class Growth:
    """One size: what was estimated, and what it took."""

    nodes: int
    relationships: int
    seconds: dict[str, float]
    memory: int
    auroc: float
    estimated_seconds: float
    estimated_memory: int

    @property
    def total(self) -> float:
        """Seconds of all stages."""
        return sum(self.seconds.values())

    @property
    def training(self) -> float:
        """Share of the time that walks and training take."""
        return sum(self.seconds.get(stage, 0.0) for stage in TRAINING) / self.total


@contextmanager
def loaded(driver: neo4j.Driver, graph: Graph) -> Iterator[None]:
    """Load a graph, and remove it at the end."""
    with driver.session() as session:
        session.run(f"CREATE CONSTRAINT heat_growth IF NOT EXISTS FOR (n:{LABEL}) REQUIRE n.key IS UNIQUE")
        try:
            for rows in _batches(graph):
                statement = NODES if len(rows[0]) == 2 and isinstance(rows[0][1], list) else LINKS
                session.run(statement, rows=rows).consume()
            yield
        finally:
            session.run(
                f"MATCH (n:{LABEL}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 10000 ROWS"
            ).consume()
            session.run("DROP CONSTRAINT heat_growth IF EXISTS").consume()


def _batches(graph: Graph) -> Iterator[list[list[Any]]]:
    facts = graph.attributes
    assert isinstance(facts, sparse.csr_array)
    for begin in range(0, graph.n_nodes, BATCH):
        rows = range(begin, min(begin + BATCH, graph.n_nodes))
        yield [
            [row, [f"t{column:02}" for column in facts.indices[facts.indptr[row] : facts.indptr[row + 1]]]]
            for row in rows
        ]
    ends = np.stack(graph.edges.coords, axis=1)
    for begin in range(0, len(ends), BATCH):
        yield ends[begin : begin + BATCH].tolist()


def grow(driver: neo4j.Driver, settings: tuple[str, str, str], n_nodes: int, k: int) -> Growth:
    """Load, estimate and embed a graph of so many nodes."""
    split = split_edges(hyperbolic_graph(n_nodes), HELD_OUT)
    began = perf_counter()
    options = ["--k", str(k), "--predict", f"{ASKED}-{TYPE}->{ASKED}", "--score", "distance"]
    options += ["--random-state", "0"]
    options += ["--label", LABEL, "--relationship", TYPE, "--attribute", "topics", "--key", "key"]
    with loaded(driver, split.train):
        print(f"{n_nodes} nodes loaded in {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        needed, _ = heat("estimate", *options, settings=settings)
        report, memory = heat("embed", *options, "--model", MODEL, settings=settings)
        store = Neo4jStore(driver)
        projection = Projection([LABEL], [TYPE], key="key")
        points = store.read_embedding(store.read_graph(projection), MODEL)
        store.clear(model=MODEL)
    return Growth(
        nodes=n_nodes,
        relationships=split.train.n_edges,
        seconds=report["stage_seconds"],
        memory=memory,
        auroc=link_auroc(points, split),
        estimated_seconds=needed["total_seconds"],
        estimated_memory=needed["peak_memory"],
    )


def show(growth: Growth) -> None:
    """Print what a size took."""
    print(f"{growth.nodes:,} nodes, {growth.relationships:,} relationships: {growth.total:.1f} s")
    for stage, seconds in growth.seconds.items():
        print(f"  {stage:<22}{seconds:9.1f} s  {seconds / growth.total:5.0%}")
    print(f"  peak memory           {growth.memory / 2**30:9.2f} GiB")
    print(f"  AUROC, held-out edges {growth.auroc:9.4f}")
    print(
        f"  estimated beforehand: {growth.estimated_seconds:.1f} s"
        f" ({growth.estimated_seconds / growth.total:.2f} of it),"
        f" {growth.estimated_memory / 2**30:.2f} GiB ({growth.estimated_memory / growth.memory:.2f})",
        flush=True,
    )


def missed(grown: Sequence[Growth]) -> list[str]:
    """Return the bars that are missed."""
    first, last = grown[0], grown[-1]
    found = []
    if last.memory > MOST_MEMORY:
        found.append(f"peak memory is {last.memory / 2**30:.2f} GiB")
    if last.training < TRAINING_SHARE:
        found.append(f"training is {last.training:.0%} of the time")
    if any(one.auroc - other.auroc > AUROC_LOSS for one, other in pairwise(grown)):
        found.append("AUROC falls")
    if len(grown) > 1:
        exponent = np.log(last.total / first.total) / np.log(last.nodes / first.nodes)
        print(f"time grows as N^{exponent:.3f} from {first.nodes:,} to {last.nodes:,} nodes")
        if exponent > EXPONENT:
            found.append(f"time grows as N^{exponent:.3f}")
    for growth in grown:
        for what, said, took in (
            ("memory", growth.estimated_memory, growth.memory),
            ("time", growth.estimated_seconds, growth.total),
        ):
            if not 1 / OFF <= said / took <= OFF:
                found.append(f"the estimate of {what} at {growth.nodes:,} nodes is {said / took:.2f} of it")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--nodes", nargs="+", type=int, default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--k", type=int, default=10)
    chosen = parser.parse_args(arguments)
    grown = []
    with (
        server_settings(chosen.version) as settings,
        neo4j.GraphDatabase.driver(settings[0], auth=settings[1:]) as driver,
    ):
        for n_nodes in sorted(chosen.nodes):
            grown.append(grow(driver, settings, n_nodes, chosen.k))
            show(grown[-1])
    misses = missed(grown)
    print(f"missed: {'; '.join(misses)}" if misses else "all bars are reached")
    return int(bool(misses))


if __name__ == "__main__":
    sys.exit(main())
