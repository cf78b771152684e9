"""Placing new nodes, warm starts and alignment, beside full runs in the same process.

::

    python -m tests.benchmarks.refresh [--seeds 3]

Placing: 1 % of the nodes are held out with their edges, the rest is embedded, and they are placed; a fifth of
their edges is held out from everything and tells how well they are placed, beside a full run on the whole
graph. Warm start: of the edges two disjoint twentieths are held out; the earlier graph lacks one of them, the
present one the other, so 5 % of the edges go and 5 % come; both are judged by those that the present graph
lacks, minus what the earlier one had, which neither has seen: a further twentieth. Alignment: the earlier run
against itself under a random isometry, and two runs of other seeds. Medians over the seeds. The exit code is
1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from heat_neo4j import HEAT
from heat_neo4j.embedding.warm_start import fit_local, fit_warm
from heat_neo4j.geometry.drift import Isometry, boost_to_origin, fit_isometry, measure_drift
from heat_neo4j.geometry.hyperboloid import distance, lift, pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import auroc
from tests.support.datasets import DATASETS, load_graph

__all__ = ["main"]

_NEW = 0.01
_CHANGED = 0.05
Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class Placed:
    """Of one seed: seconds, AUROC of the new nodes' held-out edges, and how far an old node moved at most."""

    seconds: float
    full_seconds: float
    auroc: float
    full_auroc: float
    moved: float


@dataclass(frozen=True)
class Warm:
    """Of one seed: seconds, held-out AUROC, overlap@10 with the earlier run, and of two independent runs."""

    seconds: float
    cold_seconds: float
    auroc: float
    cold_auroc: float
    overlap: float
    independent: float
    aligned_move: float
    move: float
    recovered: float


def without(graph: Graph, drop: NDArray[np.bool_]) -> Graph:
    """Return the graph without some of its edges, in the order of `Graph.edges`."""
    edges, keep = graph.edges, ~drop
    shape = graph.adjacency.shape
    return replace(
        graph, adjacency=sparse.csr_array((edges.data[keep], (edges.row[keep], edges.col[keep])), shape=shape)
    )


def non_edges(graph: Graph, pairs: Pairs, generator: np.random.Generator) -> Pairs:
    """Return five times as many pairs with the same first ends that are no edges."""
    first = np.repeat(pairs[:, 0], 5)
    second = generator.integers(0, graph.n_nodes, len(first))
    linked = np.asarray(graph.adjacency[first, second]).ravel() != 0
    fit = ~linked & (first != second)
    return np.column_stack((first[fit], second[fit])).astype(np.int64)


def score(points: NDArray[np.float64], edges: Pairs, others: Pairs) -> float:
    """Return how well distance tells edges from other pairs."""
    return auroc(-pair_distances(points, edges), -pair_distances(points, others))


def placing(graph: Graph, seed: int) -> Placed:
    """Hold out nodes, embed the others, place them."""
    generator = np.random.default_rng(seed)
    n = graph.n_nodes
    new = np.zeros(n, dtype=np.bool_)
    new[generator.choice(np.flatnonzero(graph.degrees > 0), max(round(_NEW * n), 1), replace=False)] = True
    edges = graph.edges
    touching = np.flatnonzero(new[edges.row] | new[edges.col])
    tested = np.zeros(edges.nnz, dtype=np.bool_)
    tested[generator.choice(touching, max(len(touching) // 5, 1), replace=False)] = True
    present = without(graph, tested)
    pairs = np.column_stack((edges.row[tested], edges.col[tested])).astype(np.int64)
    pairs = np.where(new[pairs[:, :1]], pairs, pairs[:, ::-1])  # the new node first
    others = non_edges(graph, pairs, generator)
    old = np.flatnonzero(~new)
    model = HEAT(random_state=seed)
    before = Graph(
        present.adjacency[old][:, old], None if graph.attributes is None else graph.attributes[old]
    )
    points = lift(np.zeros((n, model.n_components)))
    points[old] = clone(model).fit(before).embedding_
    began = perf_counter()
    full = clone(model).fit(present)
    full_seconds = perf_counter() - began
    began = perf_counter()
    placed = fit_local(model, present, points, new)
    seconds = perf_counter() - began
    return Placed(
        seconds,
        full_seconds,
        score(placed.embedding_, pairs, others),
        score(full.embedding_, pairs, others),
        float(np.abs(placed.embedding_[old] - points[old]).max()),
    )


def warm_starting(graph: Graph, seed: int) -> Warm:
    """Take away 5 % of the edges, bring 5 % others, and go on from the earlier embedding."""
    generator = np.random.default_rng(seed)
    parts = generator.permutation(graph.n_edges)
    share = round(_CHANGED * graph.n_edges)
    gone, come, tested = (
        np.isin(np.arange(graph.n_edges), parts[i * share : (i + 1) * share]) for i in range(3)
    )
    earlier, present = without(graph, come | tested), without(graph, gone | tested)
    pairs = np.column_stack((graph.edges.row[tested], graph.edges.col[tested])).astype(np.int64)
    others = non_edges(graph, pairs, generator)
    model = HEAT(random_state=seed)
    old = clone(model).fit(earlier).embedding_
    began = perf_counter()
    cold = clone(model).set_params(random_state=seed + 1000).fit(present).embedding_
    cold_seconds = perf_counter() - began
    began = perf_counter()
    none = np.zeros(graph.n_nodes, dtype=np.bool_)
    warm = fit_warm(model, present, old, none).embedding_
    seconds = perf_counter() - began
    names = [""] * graph.n_nodes
    d = model.n_components
    turn = np.eye(d + 1)
    turn[:d, :d] = np.linalg.qr(generator.normal(size=(d, d)))[0]
    moved = Isometry(boost_to_origin(lift(generator.normal(size=d))) @ turn)(old)
    aligned = fit_isometry(cold, old)(cold)
    independent = measure_drift(old, aligned, names)
    return Warm(
        seconds,
        cold_seconds,
        score(warm, pairs, others),
        score(cold, pairs, others),
        measure_drift(old, warm, names).overlap or 0.0,
        independent.overlap or 0.0,
        independent.mean,
        measure_drift(old, cold, names).mean,
        float(distance(fit_isometry(moved, old)(moved), old).max()),
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure all; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    HEAT(walks_per_node=1, walk_length=2).fit(load_graph("cora_ml"))  # compiled before anything is timed
    failed = False
    print("1 % new nodes               full run      placed   ratio   AUROC full  placed   old nodes moved")
    for name in DATASETS:
        rows = [placing(load_graph(name), seed) for seed in range(options.seeds)]
        ratio = median(row.seconds / row.full_seconds for row in rows)
        full, found = (median(getattr(row, part) for row in rows) for part in ("full_auroc", "auroc"))
        moved = max(row.moved for row in rows)
        bars = ratio < 0.1 and found > full - 0.02 and moved == 0.0
        failed |= not bars
        print(
            f"{name:<24} {median(row.full_seconds for row in rows):9.2f} s "
            f"{median(row.seconds for row in rows):9.3f} s {ratio:7.3f} {full:12.3f} {found:7.3f} "
            f"{moved:17g}{'' if bars else '   BAR MISSED'}",
            flush=True,
        )
    print()
    print(
        "5 % of the edges changed  cold run        warm   ratio   AUROC cold    warm  overlap@10  independent"
    )
    drifts = []
    for name in DATASETS:
        found_warm = [warm_starting(load_graph(name), seed) for seed in range(options.seeds)]
        ratio = median(row.seconds / row.cold_seconds for row in found_warm)
        cold, warm, overlap, independent = (
            median(getattr(row, part) for row in found_warm)
            for part in ("cold_auroc", "auroc", "overlap", "independent")
        )
        bars = ratio <= 0.5 and warm >= cold - 0.005 and overlap >= independent + 0.2
        failed |= not bars
        print(
            f"{name:<24} {median(row.cold_seconds for row in found_warm):9.2f} s "
            f"{median(row.seconds for row in found_warm):9.2f} s {ratio:7.3f} {cold:12.4f} {warm:7.4f} "
            f"{overlap:12.3f} {independent:12.3f}{'' if bars else '   BAR MISSED'}",
            flush=True,
        )
        drifts.append((name, found_warm))
    print()
    print("alignment            recovered to   mean move of two seeds: as they are   aligned")
    for name, found_warm in drifts:
        recovered = max(row.recovered for row in found_warm)
        move, aligned_move = (
            median(getattr(row, part) for row in found_warm) for part in ("move", "aligned_move")
        )
        bars = recovered < 1e-9 and aligned_move < move
        failed |= not bars
        print(
            f"{name:<20} {recovered:12.1e} {move:37.3f} {aligned_move:9.3f}{'' if bars else '   BAR MISSED'}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
