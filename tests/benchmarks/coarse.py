"""Quality over CPU seconds: starts from coarse graphs beside starts close to the origin.

::

    python -m tests.benchmarks.coarse wordnet debian [--walks 1 3 5 10] [--seeds 0]

MRR, Hits@10 and AUROC of the shelf's graphs by distance, on one thread: means over held-out links and seeds.
The last row of a graph is the default. CPU seconds are those of the whole fit.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

from heat_neo4j import HEAT
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.training import start_points
from heat_neo4j.graph import Graph
from tests.benchmarks.shelf.__main__ import add_sets, load
from tests.benchmarks.shelf.figures import Figures, evaluate
from tests.benchmarks.shelf.methods import by_distance

__all__ = ["main"]

ROW = "{:>16} {:>8} {:>6} {:>7} {:>7} {:>8} {:>7}"


def fit(graph: Graph, seed: int, walks: int | None) -> tuple[HEAT, float]:
    """Return a model and its CPU seconds: from a start close to the origin, or with no `walks` by default."""
    model = HEAT(random_state=seed, n_threads=1)
    start = None
    if walks is not None:  # given points, those of a training without coarse graphs
        model.set_params(walks_per_node=walks)
        start = start_points(graph.n_nodes, model.n_components, make_keys(seed).start)
    began = process_time()
    model.fit(graph, start=start)
    return model, process_time() - began


@one_blas_thread()
def main() -> None:
    """Print a row for each start."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_sets(parser, ("wordnet", "debian"))
    parser.add_argument("--walks", nargs="*", type=int, default=[1, 3, 5, 10])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    make_ready(lambda *_: None, by_buckets=True)
    print(ROW.format("graph", "start", "walks", "CPU s", "MRR", "Hits@10", "AUROC"))
    for name in options.sets:
        sets = {seed: load(name, seed) for seed in options.seeds}
        for walks in (*options.walks, None):
            found: list[Figures] = []
            seconds = []
            for seed, data in sets.items():
                model, took = fit(data.graph, seed, walks)
                found += evaluate(data, by_distance(model)).values()
                seconds.append(took)
            links = [each.links for each in found]
            means = (
                f"{np.average([getattr(each, figure) for each in found], weights=links):.4f}"
                for figure in ("mrr", "hits", "auroc")
            )
            start = "coarse" if walks is None else "origin"
            print(ROW.format(name, start, walks or "", f"{np.mean(seconds):.1f}", *means), flush=True)


if __name__ == "__main__":
    main()
