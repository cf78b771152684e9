"""AUROC of held-out edges and CPU seconds of a whole training, beside the Hogwild trainer's, on three graphs.

::

    python -m tests.benchmarks.parity [--datasets cora_ml citeseer ppi] [--dim 10] [--seeds 0 1]

Both train on the same walks, from the same start, as many walks of a node as HEAT does by default, on two
threads; neither result is refined afterwards. The exit code is 1 if our mean AUROC is lower by more than .001
on any of the graphs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import process_time

import numpy as np

from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.training import start_points
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from tests.benchmarks.throughput import trainers
from tests.support import datasets
from tests.support.link_auroc import link_auroc

__all__ = ["main"]

MARGIN = 0.001
THREADS = 2


def reached(split: EdgeSplit, model: HEAT) -> dict[str, tuple[float, float]]:
    """Return the AUROC and the CPU seconds of both trainers."""
    graph, found = split.train, {}
    with WorkerThreads(THREADS) as team:
        for run in trainers(graph, model, team, 1).values():  # loads the compiled code
            run(start_points(graph.n_nodes, model.n_components, make_keys(0).start))
        for name, run in trainers(graph, model, team, model.walks_per_node).items():
            points = start_points(graph.n_nodes, model.n_components, make_keys(0).start)
            began = process_time()
            _, trained = run(points)
            spent = process_time() - began
            found[name] = link_auroc(trained, split), spent
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=datasets.DATASETS, default=datasets.DATASETS)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    chosen = parser.parse_args(arguments)
    model = HEAT(n_components=chosen.dim)
    print(f"dim {chosen.dim}, {THREADS} threads, means of {len(chosen.seeds)} splits")
    print(f"{'':10}{'ours':>9}{'CPU s':>8}{'Hogwild':>10}{'CPU s':>8}")
    lower = False
    for name in chosen.datasets:
        graph = datasets.load_graph(name)
        runs = [reached(split_edges(graph, random_state=seed), model) for seed in chosen.seeds]
        ours, hogwild = (np.mean([run[side] for run in runs], axis=0) for side in ("ours", "Hogwild"))
        print(f"{name:10}{ours[0]:9.4f}{ours[1]:8.1f}{hogwild[0]:10.4f}{hogwild[1]:8.1f}", flush=True)
        lower |= bool(ours[0] < hogwild[0] - MARGIN)
    print("lower by more than .001" if lower else "not lower by more than .001 on any")
    return int(lower)


if __name__ == "__main__":
    sys.exit(main())
