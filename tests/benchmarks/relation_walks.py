"""Do walks that weigh directions and types embed better? By pattern, beside walks that do not.

::

    python -m tests.benchmarks.relation_walks [--graphs films cora_ml citeseer classes] [--seeds 0 1 2]

15 % of the edges of each graph are held out (of Cora_ML and Citeseer: of DirLinkBench's first training
graph); figures as of ``heat evaluate links``, of the distance and of the link score. A last column says
by how many standard errors, over the seeds, the link score's MRR differs from that of the defaults.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.evaluation import evaluate_links
from heat_neo4j.evaluation.link_figures import Limits
from heat_neo4j.evaluation.link_tasks import HEAT_ROW, SCORE_ROW
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.benchmarks.dirlink import dirlink_cases
from tests.benchmarks.films import films
from tests.benchmarks.recommend import classes_graph, films_graph

GRAPHS: Mapping[str, Callable[[int], Graph]] = {
    "films": lambda seed: films_graph(films(seed)),
    "cora_ml": lambda _: next(dirlink_cases("cora_ml", 1))[0],
    "citeseer": lambda _: next(dirlink_cases("citeseer", 1))[0],
    "classes": lambda _: classes_graph(),
}
WALKS: Mapping[str, Mapping[str, float]] = {
    "defaults": {},
    "forward 0.2": {"forward": 0.2},
    "forward 0.8": {"forward": 0.8},
    "forward 1": {"forward": 1.0},
    "type_balance 0.5": {"type_balance": 0.5},
    "type_balance 1": {"type_balance": 1.0},
}
FIGURES = {"auroc": "AUROC", "mean_reciprocal_rank": "MRR", "hits_at_10": "Hits@10"}


def measure(graph: Graph, seed: int, walks: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
    """Return by pattern the figures of the distance, then those of the link score."""
    evaluation = evaluate_links(
        graph,
        HEAT().set_params(**walks),
        seeds=[seed],
        methods={},
        limits=Limits(exact_nodes=4_000, nodes=1_500),
    )
    found: dict[str, NDArray[np.float64]] = {}
    for name in (HEAT_ROW, SCORE_ROW):
        for row in evaluation.rows:
            if row.method == name:
                figures = np.array([row.figures[figure].mean for figure in FIGURES])
                found[row.pattern] = np.append(found.get(row.pattern, np.empty(0)), figures)
    return found


def main() -> None:
    """Print a table for each graph."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    for name in options.graphs:
        found = {
            title: [measure(GRAPHS[name](seed), seed, walks) for seed in options.seeds]
            for title, walks in WALKS.items()
            if name not in ("cora_ml", "citeseer") or "type_balance" not in walks  # of one type
        }
        heads = [f"{row} {head}" for row in ("distance", "score") for head in FIGURES.values()]
        for pattern in found["defaults"][0]:
            print(f"\n{f'{name}, {pattern}':44}" + "".join(f"{head:>18}" for head in heads) + "   score MRR")
            usual = np.array([each[pattern] for each in found["defaults"]])
            for title, trials in found.items():
                figures = np.array([each[pattern] for each in trials])
                change = figures[:, 4] - usual[:, 4]
                error = change.std(ddof=1) / len(change) ** 0.5 if len(change) > 1 else 0.0
                apart = f"{change.mean() / error:+.1f} s.e." if error else ""
                print(
                    f"{title:44}" + "".join(f"{each:18.4f}" for each in figures.mean(axis=0)) + f"{apart:>12}"
                )
        print(flush=True)


if __name__ == "__main__":
    main()
