"""What 1, 10, 100 and 1,000 changed edges move, and how good that is, beside a cold run.

::

    python -m tests.benchmarks.proportion [--graphs cora_ml ppi corpus] [--seeds 8] [--changes 1 10 100 1000]

A twentieth of the edges is held out from everything. The earlier graph lacks the edges that come, the present
one those that go, half of the changes each; what to do is decided as a refresh decides it, from the earlier
run's fingerprint. Printed are the decision, at how many nodes the changes are, how many nodes moved, how many
of these lie further than two relationships from a change, how far the moved ones moved, the time beside that
of a cold run on the present graph with another seed, and the AUROC of the held-out edges after both: means
over the seeds, with the standard error of their difference, as two cold runs differ by more than that. The
corpus is the class graph of Neo4j's jars, with a shorter training and two seeds at most. The exit code is 1
if, where nodes were trained alone, one further away than two relationships moved, or if the AUROC is lower
than the cold run's by more than .002 and a standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j import HEAT, Projection
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.embedding.warm_start import fit_local, fit_warm
from heat_neo4j.geometry.hyperboloid import distance, to_poincare
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.fingerprint import fingerprint
from heat_neo4j.pipeline.job import Job
from heat_neo4j.pipeline.plan import AUTO, LOCAL, GraphState, make_plan
from tests.benchmarks.class_graph import class_graph
from tests.benchmarks.refresh import non_edges, score, without
from tests.support.datasets import DATASETS, load_graph

__all__ = ["main"]

HELD_OUT = 0.05
LOSS = 0.002
Points = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Refreshed:
    """What one refresh did, and the AUROC after it and of a cold run."""

    kind: str
    touched: int
    moved: int
    far: int
    mean: float
    seconds: float
    cold_seconds: float
    auroc: float
    cold: float


def named(name: str) -> tuple[Graph, HEAT]:
    """Return a graph with node ids, and how it is embedded."""
    graph = class_graph().to_graph() if name == "corpus" else load_graph(name)
    model = HEAT(walks_per_node=2) if name == "corpus" else HEAT()
    return replace(graph, node_ids=[str(row) for row in range(graph.n_nodes)]), model


def far_from(graph: Graph, ends: Mask) -> Mask:
    """Return which nodes lie further than two relationships from all of `ends`."""
    near = ends.copy()
    for _ in range(2):
        near |= np.asarray(graph.adjacency @ near.astype(np.float64)) > 0
    return ~near


def refreshed(model: HEAT, earlier: Graph, present: Graph, points: Points) -> tuple[str, int, Points, float]:
    """Do what a refresh would; return the kind, how many nodes changes are at, points and seconds."""
    job = Job(Projection(), model, links=None)
    settings = job.settings()
    record = RunRecord(
        "earlier", "heat", ("embedding",), "complete", decision="full", settings=settings,
        fingerprint=fingerprint(earlier).to_dict(),
    )  # fmt: skip
    known = np.ones(present.n_nodes, dtype=np.bool_)
    stored = StoredCoordinates("earlier", "poincare", to_poincare(points), np.zeros(len(points)), known)
    began = perf_counter()
    state = GraphState(present, settings, model.alpha, record, stored)
    kind = make_plan(job, AUTO, state).mode
    if kind == LOCAL:
        found = fit_local(model, present, points, ~known, state.shares)
    else:
        found = fit_warm(model, present, points, ~known)
    touched = 0 if state.shares is None else int(np.count_nonzero(state.shares))
    return kind, touched, found.embedding_, perf_counter() - began


def measure(graph: Graph, model: HEAT, seed: int, changes: Sequence[int]) -> Iterator[Refreshed]:
    """Yield what a refresh after each number of changes does."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(graph.n_edges)
    cut = round(HELD_OUT * graph.n_edges)

    def chosen(begin: int, count: int) -> Mask:
        return np.isin(np.arange(graph.n_edges), order[begin : begin + count])

    tested, most = chosen(0, cut), max(changes)
    pairs = np.column_stack((graph.edges.row[tested], graph.edges.col[tested])).astype(np.int64)
    others = non_edges(graph, pairs, generator)
    model = clone(model).set_params(random_state=seed)
    later = chosen(cut, (most + 1) // 2)
    earlier = without(graph, tested | later)
    points = clone(model).fit(earlier).embedding_
    for count in changes:
        come, gone = chosen(cut, (count + 1) // 2), chosen(cut + most, count // 2)
        present = without(graph, tested | (later & ~come) | gone)
        kind, touched, found, seconds = refreshed(model, earlier, present, points)
        began = perf_counter()
        cold = clone(model).set_params(random_state=seed + 1000).fit(present).embedding_
        cold_seconds = perf_counter() - began
        ends = np.zeros(graph.n_nodes, dtype=np.bool_)
        for side in (graph.edges.row, graph.edges.col):
            ends[side[come | gone]] = True
        moved = (found != points).any(axis=1)
        yield Refreshed(
            kind=kind,
            touched=touched,
            moved=int(moved.sum()),
            far=int((moved & far_from(present, ends)).sum()),
            mean=float(distance(found[moved], points[moved]).mean()) if moved.any() else 0.0,
            seconds=seconds,
            cold_seconds=cold_seconds,
            auroc=score(found, pairs, others),
            cold=score(cold, pairs, others),
        )


def show(name: str, graph: Graph, count: int, rows: Sequence[Refreshed]) -> bool:
    """Print the means of one number of changes; return whether the bars are reached."""

    def mean(part: str) -> float:
        return fmean(getattr(row, part) for row in rows)

    kinds = "/".join(sorted({row.kind for row in rows}))
    gains = np.array([row.auroc - row.cold for row in rows])
    gain, error = (
        float(gains.mean()),
        float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0,
    )
    reached = gain >= -LOSS - error and not any(row.far for row in rows if row.kind == LOCAL)
    print(
        f"{name:<10}{count:8,} {count / graph.n_edges:8.3%}  {kinds:<8}{mean('touched'):8,.0f}"
        f"{mean('moved'):8,.0f}{max(row.far for row in rows):8,}{mean('mean'):8.3f}"
        f"{mean('seconds') / mean('cold_seconds'):8.3f}{mean('auroc'):8.4f}{mean('cold'):8.4f}"
        f"{gain:+9.4f} +-{error:.4f}{'' if reached else '   BAR MISSED'}",
        flush=True,
    )
    return reached


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--graphs", nargs="+", choices=[*DATASETS, "corpus"], default=["cora_ml", "ppi", "corpus"]
    )
    parser.add_argument("--changes", nargs="+", type=int, default=[1, 10, 100, 1000])
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args(arguments)
    reached = True
    print(
        "graph      changes    share  does         at   moved     far    move    time   AUROC    cold  gained"
    )
    for name in options.graphs:
        graph, model = named(name)
        seeds = range(min(options.seeds, 2) if name == "corpus" else options.seeds)
        runs = [list(measure(graph, model, seed, options.changes)) for seed in seeds]
        for count, rows in zip(options.changes, zip(*runs, strict=True), strict=True):
            reached &= show(name, graph, count, rows)
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
