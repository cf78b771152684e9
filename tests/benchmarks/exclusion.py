"""What a Bloom filter in place of the exact set of pairs costs: AUROC with both, on the same graphs.

::

    python -m tests.benchmarks.exclusion [--nodes 20000] [--seeds 0 1 2]

Random hyperbolic graphs, a twentieth of the edges held out. The filter has the size that a run would give it
beyond the exact set's limit. The exit code is 1 if it costs more than .001 of AUROC.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

import numpy as np

from heat_neo4j import HEAT
from heat_neo4j.embedding import pairs
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.support.link_auroc import link_auroc

__all__ = ["main"]

LOSS = 0.001


def trained(split: EdgeSplit, seed: int) -> tuple[float, HEAT, float]:
    """Return AUROC of the held-out edges, the model, and its seconds."""
    began = perf_counter()
    model = HEAT(random_state=seed).fit(split.train)
    return link_auroc(model.embedding_, split), model, perf_counter() - began


def main() -> int:
    """Read the command line, train both ways, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    known = pairs.EXACT_BYTES
    losses = []
    print(f"{options.nodes:,} nodes")
    print(f"{'':12}{'exact':>12}{'Bloom':>10}{'false positives':>18}{'exact, s':>10}{'Bloom, s':>10}")
    for seed in options.seeds:
        split = split_edges(hyperbolic_graph(options.nodes, seed=seed), 0.05, random_state=seed)
        exact, _, exact_seconds = trained(split, seed)
        pairs.EXACT_BYTES = 0
        try:
            bloom, model, seconds = trained(split, seed)
        finally:
            pairs.EXACT_BYTES = known
        share = model.training_["exclusion_false_positive_share"]
        losses.append(exact - bloom)
        print(
            f"seed {seed:<7}{exact:12.5f}{bloom:10.5f}{share:18.5f}{exact_seconds:10.1f}{seconds:10.1f}",
            flush=True,
        )
    print(f"the filter costs {np.mean(losses):+.5f} of AUROC")
    return int(np.mean(losses) > LOSS)


if __name__ == "__main__":
    sys.exit(main())
