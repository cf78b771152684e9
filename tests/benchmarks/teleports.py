"""Attribute teleports from a table of all similarities and by rejection: time and memory as the graph grows.

::

    python -m tests.benchmarks.teleports [--nodes 2000 4000 6000 8000 12000]

Both draw from the same law. The time is that of a run with the default number of walks: to prepare, and to
draw every walk twice, once to collect the pairs and once to train. Sparse attributes are those of a random
hyperbolic graph, 4 of 50 each; dense ones are 50 normal numbers. The table serves up to
`heat_neo4j.embedding.similarity.TABLE_LIMIT` nodes; the exit code is always 0.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from time import perf_counter

import numpy as np

from heat_neo4j import HEAT
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j.embedding.similarity import TABLE_LIMIT, make_similarity
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.graph import Graph
from tests.benchmarks.hyperbolic import hyperbolic_graph

__all__ = ["main", "measure"]


def measure(graph: Graph, table_limit: int, team: WorkerThreads) -> tuple[float, float]:
    """Return the seconds of one way of drawing, and the MiB it holds."""
    model = HEAT()
    began = perf_counter()
    similarity = make_similarity(graph, table_limit=table_limit, team=team)
    walks = make_walks(
        graph, alpha=0.2, walk_length=model.walk_length, key=np.uint64(0), similarity=similarity
    )
    prepared = perf_counter() - began
    began = perf_counter()
    draw_walks(walks, np.arange(graph.n_nodes), team)
    held = sum(part.nbytes for part in similarity if isinstance(part, np.ndarray))
    return prepared + 2 * model.walks_per_node * (perf_counter() - began), held / 2**20


def with_dense_attributes(graph: Graph) -> Graph:
    """Return the graph with 50 normal numbers on each node."""
    return replace(graph, attributes=np.random.default_rng(0).normal(size=(graph.n_nodes, 50)))


def main() -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", nargs="+", type=int, default=[2000, 4000, 6000, 8000, 12_000])
    options = parser.parse_args()
    print(f"{'':18}{'table':>9}{'MiB':>9}{'rejection':>11}{'MiB':>9}{'ratio':>8}   table up to {TABLE_LIMIT}")
    with WorkerThreads(resolve_threads(None)) as team:
        measure(hyperbolic_graph(500), 500, team)
        measure(hyperbolic_graph(500), 0, team)
        for nodes in options.nodes:
            sparse_graph = hyperbolic_graph(nodes)
            for kind, graph in (("sparse", sparse_graph), ("dense", with_dense_attributes(sparse_graph))):
                table, table_held = measure(graph, nodes, team)
                rejection, held = measure(graph, 0, team)
                print(
                    f"{nodes:10,} {kind:7}{table:8.2f}s{table_held:9.1f}{rejection:10.2f}s{held:9.1f}"
                    f"{table / rejection:8.2f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
