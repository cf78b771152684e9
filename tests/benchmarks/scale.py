"""A graph that outgrows memory, trained over files: memory, disk, time of each stage, AUROC.

::

    python -m tests.benchmarks.scale FOLDER [--nodes 10000000] [--degree 10] [--walks-per-node 2]

A random hyperbolic graph is made once, into files of FOLDER, in a process of its own; 200,000 of its edges
are held out. `HEAT` trains on the rest with FOLDER as its scratch folder, in another process. Its peak of
memory is what no file holds (RssAnon); mapped files the system may drop at any time. The exit code is 1 if
that peak is above 4 GiB, or more than half beyond what `heat estimate` says.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.estimate import estimate
from heat_neo4j.pipeline.memory import RunSize
from tests.benchmarks.hyperbolic import edges_of, radii_of
from tests.support.made_graph import made_graph

__all__ = ["main", "make", "train"]

HELD_OUT = 200_000
LIMIT = 4 * 2**30
OFF = 1.5
"""By what factor an estimate may be off."""


def make(folder: Path, n_nodes: int, degree: float) -> None:
    """Write a graph without attributes, and the edges that are held out of it."""
    rng = np.random.default_rng(0)
    radius, rim = radii_of(n_nodes, degree, rng)
    u, v = (ends.astype(np.int32) for ends in edges_of(radius, rng.uniform(0, 2 * np.pi, n_nodes), rim))
    out = np.zeros(len(u), dtype=np.bool_)
    out[rng.choice(len(u), HELD_OUT, replace=False)] = True
    np.save(folder / "held_out.npy", np.column_stack((u[out], v[out])))
    ends = np.concatenate((u[~out], v[~out])), np.concatenate((v[~out], u[~out]))
    del u, v, out
    matrix = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    matrix.sort_indices()
    for name in ("indptr", "indices", "data"):
        np.save(folder / f"{name}.npy", getattr(matrix, name))


def train(folder: Path, walks_per_node: int) -> dict[str, Any]:
    """Train on the graph; return what it took."""
    arrays = [np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c")) for name in ("data", "indices")]
    indptr = np.load(folder / "indptr.npy")
    n = len(indptr) - 1
    matrix = sparse.csr_array((*arrays, indptr), shape=(n, n), copy=False)
    graph = Graph(matrix, checked=matrix)
    watch = Watch(folder)
    began = time.perf_counter()
    with watch:
        model = HEAT(scratch=folder, random_state=0, walks_per_node=walks_per_node)
        model.fit(graph, on_progress=say)
    held_out = np.load(folder / "held_out.npy").astype(np.int64)
    return {
        "nodes": n,
        "relationships": graph.n_edges,
        "seconds": {**model.training_["seconds"], "all": round(time.perf_counter() - began, 1)},
        "parts": model.training_["parts"],
        "pairs": model.n_pairs_,
        "memory": watch.memory,
        "disk": watch.disk,
        "auroc": auroc(model.embedding_, held_out),
    }


def say(stage: str, done: int, total: int) -> None:
    """Print a stage's progress, a line for each twentieth."""
    if 20 * done // total > 20 * (done - 1) // total:
        print(f"{stage} {done / total:.0%}", file=sys.stderr, flush=True)


def auroc(embedding: NDArray[np.float64], edges: NDArray[np.int64]) -> float:
    """Return how often a held-out edge is shorter than a random pair, of as many of each."""
    others = np.random.default_rng(1).integers(0, len(embedding), edges.shape)
    near, far = pair_distances(embedding, edges), np.sort(pair_distances(embedding, others))
    return float(1.0 - np.searchsorted(far, near).mean() / len(far))


class Watch:
    """The highest memory of this process and size of a folder during a block, looked at now and then."""

    def __init__(self, folder: Path) -> None:
        self.memory = self.disk = 0
        self._folder, self._over = folder, Event()
        self._looking = Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            own = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.memory = max(self.memory, int(own.split()[1]) * 1024)
            used = subprocess.run(
                ["du", "-sB1", self._folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
            )
            if used.stdout:
                self.disk = max(self.disk, int(used.stdout.split()[0]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, make the graph, train, compare with the bars."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--degree", type=float, default=10.0)
    parser.add_argument("--walks-per-node", type=int, default=2)
    parser.add_argument("--step", choices=("make", "train"))  # as a process of its own
    chosen = parser.parse_args(arguments)
    folder: Path = chosen.folder
    if chosen.step == "make":
        make(folder, chosen.nodes, chosen.degree)
        return 0
    if chosen.step == "train":
        print(json.dumps(train(folder, chosen.walks_per_node)))
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    own = sys.argv[1:] if arguments is None else arguments
    command = [sys.executable, "-m", "tests.benchmarks.scale", *own, "--step"]
    if not (folder / "data.npy").exists():
        subprocess.run([*command, "make"], check=True)
    done = subprocess.run([*command, "train"], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    size = RunSize(
        found["nodes"], found["relationships"], walks_per_node=chosen.walks_per_node,
        threads=2, scratch=folder,
    )  # fmt: skip
    model = HEAT(walks_per_node=chosen.walks_per_node, n_threads=2, random_state=0)
    needed = estimate(size, model, made_graph(size, 12_000))
    for name, value in found.items():
        print(f"{name}: {value}")
    said = max(needed.memory["read"], needed.memory["train"])
    seconds = sum(needed.seconds.get(stage, 0.0) for stage in ("coarse", "walks", "train"))
    print(f"estimate: memory {said}, disk {needed.scratch_bytes}, seconds of walks and train {seconds:.0f}")
    reached = found["memory"] <= min(LIMIT, OFF * said)
    print("all bars are reached" if reached else "a bar is missed")
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
