"""Held-out links by alpha and number of dimensions: the default beside a grid.

::

    python -m tests.benchmarks.alpha citeseer ppi [--alphas 0 .05 .1 .2 .5] [--dimensions 10 25] [--seeds 0]
        [--links]

MRR, Hits@10 and AUROC of the shelf's graphs by distance, with ``--links`` by the link score too: means over
held-out links and seeds. The last row of a graph and dimension is the default, which the attributes decide.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.attribute_signal import teleports
from tests.benchmarks.shelf.__main__ import add_sets, load
from tests.benchmarks.shelf.figures import evaluate
from tests.benchmarks.shelf.methods import distance, link_score_method

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5)
ROW = "{:>14} {:>11} {:>10} {:>11} {:>7} {:>8} {:>7}"


@one_blas_thread()
def main() -> None:
    """Print a row for each score and alpha."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_sets(parser, ("cora_ml", "citeseer", "ppi", "movielens"))
    parser.add_argument("--alphas", nargs="*", type=float, default=list(ALPHAS))
    parser.add_argument("--dimensions", nargs="+", type=int, default=[10])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--links", action="store_true", help="also by the link score")
    options = parser.parse_args()
    methods = {"distance": distance, **({"link score": link_score_method} if options.links else {})}
    print(ROW.format("graph", "dimensions", "alpha", "score", "MRR", "Hits@10", "AUROC"))
    for name in options.sets:
        sets = {seed: load(name, seed) for seed in options.seeds}
        for score, method in methods.items():
            for d, alpha in product(options.dimensions, (*options.alphas, "auto")):
                found = [
                    figures
                    for seed, data in sets.items()
                    for figures in evaluate(
                        data, method(data.graph, seed, alpha=alpha, n_components=d)
                    ).values()
                ]
                links = [each.links for each in found]
                means = (
                    np.average([getattr(each, figure) for each in found], weights=links)
                    for figure in ("mrr", "hits", "auroc")
                )
                graph = next(iter(sets.values())).graph
                shown = f"auto: {teleports(graph, alpha).alpha:g}" if alpha == "auto" else f"{alpha:g}"
                print(ROW.format(name, d, shown, score, *(f"{mean:.4f}" for mean in means)), flush=True)


if __name__ == "__main__":
    main()
