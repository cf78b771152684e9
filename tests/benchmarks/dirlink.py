"""Directed link prediction on DirLinkBench's own ten splits of Cora-ML and CiteSeer (arXiv 2502.05724).

::

    python -m tests.benchmarks.dirlink [--graphs cora_ml citeseer] [--splits 10] [--times 5]

The score is fitted on edges cut out of a split's training edges, ``--times`` times; its validation edges were
used to choose what the score is made of, its test edges are only measured. Hits@k: share of test edges that
score higher than the k-th best test non-edge. Direction: share of the test edges that nothing answers whose
likelier way is theirs. Means over the splits, beside the best published figure. The exit code is 1 if a bar
is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.candidates import relationships_of
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.pattern_score import PatternScore, fit_link_score
from heat_neo4j.patterns import Pattern
from tests.support.datasets import dataset_folder

FOLDER = dataset_folder() / "dirlink"
CITES = Pattern("Paper", "CITES", "Paper")
BARS = {"cora_ml": (0.975, 0.855, 0.988, 0.890), "citeseer": (0.992, 0.945, 0.990, 0.905)}
PUBLISHED = {"cora_ml": 0.9037, "citeseer": 0.9369}
"""Best Hits@100 of the paper."""

Pairs = NDArray[np.int64]


def directed_graph(edges: Pairs, attributes: sparse.csr_array) -> Graph:
    """Return papers that cite papers: rows (source, target) of shape (m, 2)."""
    n = attributes.shape[0]
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Graph(
        sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)),
        attributes=attributes,
        labels={"Paper": np.ones(n, dtype=np.bool_)},
        relationships=Relationships.from_pairs({"CITES": (edges[:, 0], edges[:, 1])}),
    )


def measure(graph: Graph, edges: Pairs, others: Pairs, times: int, seed: int) -> tuple[list[float], float]:
    """Return Hits@100, Hits@20, AUROC and direction accuracy of held-out edges, and the CPU seconds."""
    start = process_time()
    model = HEAT(random_state=seed).fit(graph)
    score = fit_link_score(model, graph, times=times)
    assert isinstance(score, PatternScore)
    scorer = score.scorers(model.embedding_, graph)(CITES)
    links, non_links = scorer.pairs(edges), scorer.pairs(others)
    hits = [float(np.mean(links > np.sort(non_links)[-k])) for k in (100, 20)]
    n, known = graph.n_nodes, np.column_stack(relationships_of(graph, CITES))
    answered = np.isin(edges[:, ::-1] @ (n, 1), np.concatenate((known, edges)) @ (n, 1))
    ways = scorer.direction_log_odds(edges[~answered])
    assert ways is not None
    return [*hits, auroc(links, non_links), float(np.mean(ways > 0))], process_time() - start


def main() -> int:
    """Print the figures of each graph; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=list(BARS), choices=list(BARS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    missed = False
    heads = " ".join(f"{head:>9}" for head in ("Hits@100", "Hits@20", "AUROC", "direction"))
    print(f"{'':10} {heads} {'CPU s':>7}  best published Hits@100")
    for name in options.graphs:
        figures, seconds = [], []
        with np.load(Path(FOLDER) / f"{name}.npz") as data:
            attributes = sparse.csr_array(
                (data["x_data"], data["x_indices"], data["x_indptr"]), shape=tuple(data["x_shape"])
            )
            for split in range(options.splits):
                graph = directed_graph(data[f"graph{split}"].T.astype(np.int64), attributes)
                edges, others = (data[f"{part}{split}"].astype(np.int64) for part in ("pos", "neg"))
                found, cpu = measure(graph, edges, others, options.times, split)
                figures.append(found)
                seconds.append(cpu)
                print(f"{name} {split}: " + " ".join(f"{each:.4f}" for each in found), file=sys.stderr)
        mean = np.mean(figures, axis=0)
        missed |= bool((mean < BARS[name]).any())
        shown = " ".join(f"{each:9.4f}" for each in mean)
        print(f"{name:10} {shown} {np.mean(seconds):7.1f}  {PUBLISHED[name]}")
        print(f"{'  bar':10} " + " ".join(f"{each:9.4f}" for each in BARS[name]))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
