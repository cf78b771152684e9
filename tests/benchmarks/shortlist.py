"""How many of the best-scored links a shortlist finds, of those among all pairs.

::

    python -m tests.benchmarks.shortlist [--datasets cora_ml citeseer ppi films] [--k 10] [--dim 10]

Links by the combined score, k for each node: once with all pairs scored, once with the nearest partners of
each node and those with most neighbours in common, as is done of more than 400 million pairs. Of films
(`films.films`) it is who rates which of 3,000, of which 30 are looked at for each reason, as are 200 of
20,000. The exit code is 1 if fewer than 95 % are found, or 70 % of films.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import perf_counter

from heat_neo4j import HEAT
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred import best_scored
from heat_neo4j.linkpred import prediction as links
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from tests.benchmarks.films import films
from tests.benchmarks.recommend import films_graph
from tests.support import datasets

__all__ = ["main", "recall"]

BARS = {**dict.fromkeys(datasets.DATASETS, 0.95), "films": 0.7}
RATED = ("User", "RATED", "Movie")
TOP = 1000


def recall(
    graph: Graph,
    k: int,
    dim: int,
    *,
    each: int = best_scored.EACH,
    patterns: Sequence[tuple[str, str, str]] = (),
) -> tuple[float, float, float, float]:
    """Return the shares found of all links and of the first thousand, and the seconds of each way."""
    model = HEAT(dim, random_state=0).fit(graph)
    score = fit_link_score(model, graph)
    found, seconds = [], []
    known = links.SCORED_PAIRS, best_scored.EACH
    try:
        best_scored.EACH = each
        for most in (graph.n_nodes**2, 0):
            links.SCORED_PAIRS = most
            began = perf_counter()
            found.append(pairs_of(predict_links(model, graph, k, patterns=patterns, score=score)))
            seconds.append(perf_counter() - began)
    finally:
        links.SCORED_PAIRS, best_scored.EACH = known
    whole, short = found
    return (
        len(set(whole) & set(short)) / len(whole),
        len(set(whole[:TOP]) & set(short)) / len(whole[:TOP]),
        seconds[0],
        seconds[1],
    )


def pairs_of(found: PredictedLinks) -> list[tuple[int, int]]:
    """Return links as pairs, best first."""
    return list(zip(found.source.tolist(), found.target.tolist(), strict=True))


def main() -> int:
    """Read the command line, measure, compare with the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=list(BARS), default=list(BARS))
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--dim", type=int, default=10)
    options = parser.parse_args()
    print(f"{'':10}{'of all':>9}{'of first':>10}{'all, s':>9}{'short, s':>10}")
    missed = False
    for name in options.datasets:
        if name == "films":
            graph = films_graph(films(0, users=4000, movies=3000, persons=6000, ratings=20))
            found = recall(graph, options.k, options.dim, each=30, patterns=[RATED])
        else:
            found = recall(datasets.load_graph(name), options.k, options.dim)
        share, first, whole, short = found
        missed |= share < BARS[name]
        print(f"{name:10}{share:9.4f}{first:10.4f}{whole:9.1f}{short:10.1f}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
