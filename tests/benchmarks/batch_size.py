"""AUROC of held-out edges and training speed over the size of a batch.

::

    python -m tests.benchmarks.batch_size [--nodes 10000 100000] [--sizes 320 1280 5120] [--walks 10]

Random hyperbolic graphs with attributes, a twentieth of the edges held out. A larger batch lets threads meet
less often; points that stay frozen for longer cost quality. Ratios are to the first size.
"""

from __future__ import annotations

import argparse
import sys

from heat_neo4j import HEAT
from heat_neo4j.linkpred.splits import split_edges
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.support.link_auroc import link_auroc

__all__ = ["main"]


def main() -> int:
    """Read the command line, train with each size, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--sizes", type=int, nargs="+", default=[320, 1280, 5120])
    parser.add_argument("--walks", type=int, default=HEAT().walks_per_node)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    HEAT(random_state=0).fit(hyperbolic_graph(1000))  # compiles
    print(f"{options.walks} walks a node, {options.threads} threads")
    print(f"{'nodes':>10}{'batch':>8}{'AUROC':>10}{'pairs/s':>12}{'ratio':>7}{'damped steps':>14}")
    for nodes in options.nodes:
        split = split_edges(hyperbolic_graph(nodes), 0.05, random_state=0)
        first = 0.0
        for size in options.sizes:
            model = HEAT(
                batch_size=size, walks_per_node=options.walks, n_threads=options.threads, random_state=0
            ).fit(split.train)
            rate = model.n_pairs_ / model.training_["seconds"]["train"]
            first = first or rate
            print(
                f"{nodes:10,}{size:8,}{link_auroc(model.embedding_, split):10.5f}{rate:12,.0f}"
                f"{rate / first:7.2f}{model.training_['damped_steps']:14,}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
