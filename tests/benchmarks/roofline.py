"""Where the time of the trainer goes, stage by stage, beside what the machine can do.

::

    python -m tests.benchmarks.roofline [--dim 10] [--nodes 3000 100000] [--batches 200]

One thread, random hyperbolic graphs, 10 negatives, a trained embedding. Each stage of the first half of a
batch is run over the same segments again and again, then the second half; so a stage finds in the caches what
it left there itself. Bytes are those that a stage reads and writes, wherever they come from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heat_neo4j._kernels import training as kernels
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.training import Workspace, move_nodes
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.batches import make_workspace
from heat_neo4j.embedding.pairs import collect_pairs
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.training import start_points, train
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.heat import HEAT
from tests.benchmarks.hyperbolic import hyperbolic_graph

__all__ = ["Stage", "main"]

STAGES = ("draw", "measure", "softmax", "pull", "sort", "gather and move")
SOFTMAX_FLOPS = 75  # of a candidate: log 26, exp 30, square root, divisions and the rest
REPEATS = 3


@dataclass(frozen=True)
class Stage:
    """One stage: nanoseconds, floating-point operations and bytes of a candidate."""

    name: str
    nanoseconds: float
    flops: float
    bytes_moved: float


@njit(cache=True, error_model="numpy")
def _run(
    stage: int, points: Any, time: int, nodes: Any, lengths: Any, negatives: Any, w: Any, batches: int,
    first: int,
) -> None:  # fmt: skip
    """Run one stage over the segments of some batches."""
    scratch = w.scratch[0]
    z, weights, stiffness, ahead = scratch[0], scratch[1], scratch[2], scratch[3]
    per_batch = w.sources.shape[0]
    for batch in range(first, first + batches):
        for g in range(per_batch):
            walk = (batch * per_batch + g) % nodes.shape[0]
            sources, contexts, ends, candidates = w.sources[g], w.contexts[g], w.ends[g], w.candidates[g]
            slots = w.slots[g]
            if stage == 0:
                w.slots[g] = kernels._draw(
                    nodes[walk], lengths[walk], 0, w.pulls.shape[1], 3, 10, negatives,
                    stream(np.uint64(1), batch * per_batch + g), w.proposals[0], sources, contexts, ends,
                    candidates, w.tallies[g],
                )  # fmt: skip
            elif stage == 1:
                kernels._measure(
                    points, time, slots, sources, ends, candidates, w.source_points[g], w.mirror[0], z,
                    w.entry_nodes[g], w.entry_forces[g],
                )  # fmt: skip
            elif stage == 2:
                kernels.softmax(z, slots, contexts, ends, 0.5, weights, stiffness, ahead, None)
            elif stage == 3:
                kernels._pull(
                    points, slots, ends, candidates, z, weights, stiffness, w.pulls[g], w.pull_stiffness[g]
                )
            elif stage == 4:
                kernels._sort(
                    slots, ends, candidates, z, weights, stiffness, w.owners, w.entry_ends[g],
                    w.entry_nodes[g], w.entry_forces[g],
                )  # fmt: skip
        if stage == 5:
            move_nodes(points, time, w, 0, per_batch, batch + 1, 1e-12, 0)


@njit(cache=True, error_model="numpy")
def _multiply_and_add(x: Any, repeats: int) -> None:
    for _ in range(repeats):
        for i in range(x.shape[0]):
            x[i] = x[i] * 0.999 + 0.001


@njit(cache=True)
def _chase(following: Any, steps: int) -> int:
    at = 0
    for _ in range(steps):
        at = following[at]
    return int(at)


def machine() -> tuple[float, float, float]:
    """Return GFLOP/s of vector multiplications and additions, GB/s of a copy, ns of a random read."""
    x = np.ones(512)
    small, large = np.zeros(2**25), np.ones(2**25)
    following = np.arange(2**25)
    np.random.default_rng(0).shuffle(following)  # mostly one long cycle
    best = [np.inf] * 3
    jobs: tuple[Callable[[], Any], ...] = (
        lambda: _multiply_and_add(x, 100_000),
        lambda: np.copyto(small, large),
        lambda: _chase(following, 1_000_000),
    )
    for _ in range(REPEATS + 1):
        for place, job in enumerate(jobs):
            began = perf_counter()
            job()
            best[place] = min(best[place], perf_counter() - began)
    return 2 * 512 * 1e5 / best[0] / 1e9, 2 * small.nbytes / best[1] / 1e9, best[2] * 1e3


def stages(n_nodes: int, dim: int, batches: int) -> tuple[list[Stage], float]:
    """Return the stages, and the nanoseconds of a candidate in the trainer as it is."""
    graph = hyperbolic_graph(n_nodes)
    keys = make_keys(0)
    model = HEAT(dim)
    with WorkerThreads(1) as team:
        walks = make_walks(graph, alpha=0.0, walk_length=model.walk_length, key=keys.walks, team=team)
        pairs = collect_pairs(walks, walks_per_node=2, window_size=3, negative_exponent=0.5, team=team)
        schedule = Schedule(2, 3, 10, 1.0, 0.05, model.batch_size, 1)
        start = start_points(n_nodes, dim, keys.start)
        train(start, walks, pairs.negatives, Schedule(1, 1, 1, 1.0, 0.05, 32, 1), make_keys(0), team=team)
        began = perf_counter()
        trained = train(start, walks, pairs.negatives, schedule, make_keys(0), team=team)
        whole = perf_counter() - began
    w = make_workspace(n_nodes, dim, schedule, walks.length, 1)
    width = w.source_points.shape[2]
    points = np.zeros((n_nodes, width))
    points[:, : dim + 1] = trained.points
    nodes, lengths = draw_walks(walks, np.random.default_rng(0).permutation(n_nodes)[:20_000])
    best = [np.inf] * len(STAGES)
    first = 0
    for _ in range(REPEATS + 1):
        for stage in range(len(STAGES)):
            began = perf_counter()
            _run(stage, points, dim, nodes, lengths, pairs.negatives, w, batches, first)
            best[stage] = min(best[stage], perf_counter() - began)
            first += batches
    candidates = sum(int(ends[slots - 1]) for ends, slots in zip(w.ends, w.slots, strict=True))
    touched = _touched(w)
    flops = (0, 2 * width, SOFTMAX_FLOPS, 3 * width, 0, 3 * width + 12 * width * touched / candidates)
    row = 8 * width
    moved = (28, row + 8, 64, 3 * row, 48, 3 * row + 32 + 8 * row * touched / candidates)
    found = [
        Stage(name, 1e9 * seconds / batches / candidates, operations, size)
        for name, seconds, operations, size in zip(STAGES, best, flops, moved, strict=True)
    ]
    per_pair = candidates / sum(int(c[:s].sum()) for c, s in zip(w.contexts, w.slots, strict=True))
    return found, 1e9 * whole / trained.n_pairs / per_pair


def _touched(w: Workspace) -> int:
    """Return how many nodes the batch in the workspace moves."""
    parts: list[NDArray[Any]] = []
    for sources, candidates, ends, slots in zip(w.sources, w.candidates, w.ends, w.slots, strict=True):
        parts += [sources[:slots], candidates[: ends[slots - 1]]]
    return len(np.unique(np.concatenate(parts)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.roofline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--nodes", nargs="+", type=int, default=[3_000, 100_000])
    parser.add_argument("--batches", type=int, default=200)
    chosen = parser.parse_args(arguments)
    peak, bandwidth, latency = machine()
    print(f"one core: {peak:.1f} GFLOP/s, copies {bandwidth:.1f} GB/s, a random read takes {latency:.0f} ns")
    for n_nodes in chosen.nodes:
        found, whole = stages(n_nodes, chosen.dim, chosen.batches)
        total = sum(stage.nanoseconds for stage in found)
        print(f"\n{n_nodes:,} nodes, dim {chosen.dim}: of a candidate")
        print(f"{'':16}{'ns':>8}{'flops':>8}{'bytes':>8}{'GFLOP/s':>9}{'of peak':>9}{'GB/s':>8}")
        for stage in found:
            rate = stage.flops / stage.nanoseconds
            print(
                f"{stage.name:<16}{stage.nanoseconds:8.1f}{stage.flops:8.0f}{stage.bytes_moved:8.0f}"
                f"{rate:9.1f}{rate / peak:9.0%}{stage.bytes_moved / stage.nanoseconds:8.1f}"
            )
        flops = sum(stage.flops for stage in found)
        print(
            f"{'all stages':<16}{total:8.1f}{flops:8.0f}{'':8}{flops / total:9.1f}{flops / total / peak:9.0%}"
        )
        print(f"{'the trainer':<16}{whole:8.1f}   walks, averages and cold caches included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
