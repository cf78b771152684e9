"""Whether the bits are the same for 1, 2 and 4 threads on a large graph.

::

    python -m tests.benchmarks.repeat [--nodes 100000] [--threads 1 2 4]

A random hyperbolic graph with attributes is embedded by one walk per node, and its links are predicted.
Prints what points and links hash to for each number of threads; the exit code is 1 if they differ. Here, and
only here, there may be more threads than processors.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from heat_neo4j import HEAT
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import predict_links
from tests.benchmarks.hyperbolic import hyperbolic_graph


def digests(graph: Graph, n_threads: int) -> tuple[str, str]:
    """Return what the points and the links come to."""
    model = HEAT(walks_per_node=1, n_threads=n_threads, random_state=0).fit(graph)
    links = predict_links(model, graph, k=3, n_threads=n_threads)
    columns = np.stack([links.source, links.target, links.distance.view(np.int64)])
    return digest(model.embedding_), digest(columns)


def digest(array: NDArray[Any]) -> str:
    """Return a short hash of an array's bits."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def main() -> int:
    """Read the command line, embed with each number of threads, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4])
    options = parser.parse_args()
    processors = patch(
        "heat_neo4j._utils.threads.available_processors", return_value=(max(options.threads), "here")
    )
    graph = hyperbolic_graph(options.nodes)
    print(f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges")
    print(f"{'threads':>8}{'points':>18}{'links':>18}{'seconds':>9}")
    digests(hyperbolic_graph(1000), 1)  # compiles
    found = set()
    for threads in options.threads:
        began = perf_counter()
        with processors:
            points, links = digests(graph, threads)
        found.add((points, links))
        print(f"{threads:8}{points:>18}{links:>18}{perf_counter() - began:9.1f}", flush=True)
    print("the same bits" if len(found) == 1 else "THE BITS DIFFER")
    return int(len(found) > 1)


if __name__ == "__main__":
    sys.exit(main())
