"""Training, links, and what `heat estimate` says of both, on graphs of every shape.

::

    python -m tests.benchmarks.zoo [--sizes 1000 10000 60000 200000] [--shapes star path]
                                   [--attributes with] [--positions 16000000]

Each graph of `tests.support.shapes`, without attributes and with them, in a process of its own, whose peak
memory is measured. Compiled code is warm, and a twentieth of the edges is held out. On the larger graphs
fewer and shorter walks are drawn; the estimate is of these. "began again" means that training diverged and
was repeated with half the learning rate: the seconds of the first try count, its pairs do not. The exit code
is 1 if a bar is missed: every embedding is finite; at each size the slowest shape trains at least half as
many pairs per second as the fastest, with and without attributes; no estimate is off by more than a factor of
1.5.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j._utils.progress import no_progress
from heat_neo4j._utils.threads import resolve_threads
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from heat_neo4j.pipeline.estimate import estimate
from heat_neo4j.pipeline.memory import LinkEnds, RunSize
from tests.support.link_auroc import link_auroc
from tests.support.shapes import SHAPES, make_shape

__all__ = ["Measured", "main"]

SIZES = (1_000, 10_000, 60_000, 200_000)
HELD_OUT = 0.05
POSITIONS = 16_000_000
"""Nodes of walks that are trained, about: of larger graphs fewer and shorter walks are drawn by default."""
SLOWEST = 0.5
"""Least share of the fastest shape's pairs per second."""
OFF = 1.5
"""By what factor an estimate may be off."""
LEAST_SECONDS = 0.5
"""Shorter runs are over before anyone has read an estimate."""

STAGES = ("similarity", "coarse", "walks", "train", "refine", "links")


@dataclass(frozen=True)
class Measured:
    """One graph: what it took, beside what was estimated.

    Parameters
    ----------
    shape : str
        Of `SHAPES`.
    nodes : int
        Of its size class.
    attributes : bool
        Whether it has any.
    size : RunSize
        What the estimate was told.
    seconds : mapping of str to float
        Seconds of each of `STAGES`.
    pairs : int
        Pairs trained.
    halved : int
        How often training began again with half the learning rate; pairs of a try given up are not counted,
        its seconds are.
    finite : bool
        Whether all coordinates are; links are predicted only then.
    memory : int
        Peak of the process in bytes.
    auroc : float
        Of held-out edges; NaN where none can be held out, or the embedding is not finite.
    estimated_seconds : mapping of str to float
        Of "prepare" (similarities and walks), "train" and "links".
    estimated_memory : int
        In bytes.
    """

    shape: str
    nodes: int
    attributes: bool
    size: RunSize
    seconds: Mapping[str, float]
    pairs: int
    halved: int
    finite: bool
    memory: int
    auroc: float
    estimated_seconds: Mapping[str, float]
    estimated_memory: int

    @property
    def rate(self) -> float:
        """Pairs trained in a second."""
        return self.pairs / (self.seconds["coarse"] + self.seconds["train"])

    @property
    def time_ratio(self) -> float:
        """Estimated seconds over measured ones."""
        return sum(self.estimated_seconds.values()) / sum(self.seconds.values())

    @property
    def memory_ratio(self) -> float:
        """Estimated memory over measured memory."""
        return self.estimated_memory / self.memory


def model_for(n_nodes: int, positions: int, threads: int | None) -> HEAT:
    """Return an estimator whose walks, of so many nodes, visit about so many positions."""
    walks = min(max(positions // (80 * n_nodes), 1), 10)
    length = min(max(positions // n_nodes, 20), 80)
    return HEAT(walks_per_node=walks, walk_length=length, n_threads=threads, random_state=0)


def run_size(graph: Graph, model: HEAT) -> RunSize:
    """Return what an estimate is told of a graph."""
    known = {field.name for field in fields(RunSize)}
    share = 0.0
    if graph.attributes is not None:
        share = sparse.csr_array(graph.attributes).nnz / max(graph.n_nodes * graph.n_attributes, 1)
    return RunSize(
        nodes=graph.n_nodes,
        relationships=graph.n_edges,
        attribute_columns=graph.n_attributes,
        attribute_share=share,
        isolated_share=float((graph.degrees == 0).mean()),
        patterns=(LinkEnds(graph.n_nodes, graph.n_nodes, 10, graph.n_edges),),
        link_score=False,
        threads=resolve_threads(model.n_threads),
        **{name: value for name, value in model.get_params().items() if name in known},
    )


def measure(folder: Path) -> dict[str, Any]:
    """Fit and link the graph in a folder, leave the embedding there; return what it took."""
    options = json.loads((folder / "options.json").read_text())
    graph = load(folder)
    model = model_for(options["nodes"], options["positions"], options["threads"])
    size = run_size(graph, model)
    warm_up(options["threads"])
    needed = estimate(size, model, graph)
    began = perf_counter()
    model.fit(graph)
    seconds = dict(model.training_["seconds"])
    seconds["refine"] = perf_counter() - began - sum(seconds.values())
    began = perf_counter()
    finite = bool(np.isfinite(model.embedding_).all())
    if finite:
        predict_links(model, graph, n_threads=options["threads"])
    seconds["links"] = perf_counter() - began
    np.save(folder / "embedding.npy", model.embedding_)
    said = needed.seconds
    return {
        "size": vars(size),
        "seconds": {stage: seconds.get(stage, 0.0) for stage in STAGES},
        "pairs": model.n_pairs_,
        "halved": model.training_["learning_rate_halved"],
        "finite": finite,
        "estimated_seconds": {name: said.get(name, 0.0) for name in ("coarse", "walks", "train", "links")},
        "estimated_memory": max(needed.memory[stage] for stage in ("train", "links")),
        "memory": peak_memory(),
    }


def warm_up(threads: int | None) -> None:
    """Compile, or load, what is measured."""
    for attributes in (False, True):
        graph = make_shape("power law", 50, attributes=attributes)
        predict_links(HEAT(walks_per_node=1, n_threads=threads).fit(graph), graph, n_threads=threads)


def peak_memory() -> int:
    """Return the peak of this process in bytes; what its parent had before the fork is not in it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) * 1024


def save(graph: Graph, folder: Path) -> None:
    """Write a graph's matrices, as they are, to a folder."""
    sparse.save_npz(folder / "adjacency.npz", graph.adjacency, compressed=False)
    if graph.attributes is not None:
        sparse.save_npz(folder / "attributes.npz", sparse.csr_array(graph.attributes), compressed=False)


def load(folder: Path) -> Graph:
    """Return the graph that `save` wrote."""
    attributes = folder / "attributes.npz"
    return Graph(
        sparse.csr_array(sparse.load_npz(folder / "adjacency.npz")),
        sparse.csr_array(sparse.load_npz(attributes)) if attributes.exists() else None,
    )


def measured(shape: str, n_nodes: int, attributes: bool, positions: int, threads: int | None) -> Measured:
    """Measure one graph in a process of its own."""
    graph = make_shape(shape, n_nodes, attributes=attributes)
    split = held_out(graph)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(graph if split is None else split.train, folder)
        options = {"nodes": n_nodes, "positions": positions, "threads": threads}
        (folder / "options.json").write_text(json.dumps(options))
        figures = in_a_process(folder)
        embedding = np.load(folder / "embedding.npy")
    auroc = float("nan")
    if split is not None and figures["finite"]:
        auroc = link_auroc(embedding, split)
    return Measured(
        shape, n_nodes, attributes, auroc=auroc, **{**figures, "size": RunSize(**figures["size"])}
    )


def held_out(graph: Graph) -> EdgeSplit | None:
    """Return the graph split, or None where its nodes need all edges they have."""
    try:
        return split_edges(graph, HELD_OUT)
    except ValueError:
        return None


def in_a_process(folder: Path) -> dict[str, Any]:
    """Return what `measure` returns of a folder, from a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.zoo", "--folder", str(folder)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def show(one: Measured) -> None:
    """Print a line."""
    stages = "".join(f"{one.seconds[stage]:8.2f}" for stage in STAGES)
    said = "".join(f"{each:7.1f}" for each in one.estimated_seconds.values())
    print(
        f"{one.shape:17}{'with' if one.attributes else '-':>5}{one.rate / 1e6:9.2f}{stages}"
        f"  {said}{one.time_ratio:7.2f}{one.memory / 2**20:8.0f}{one.memory_ratio:7.2f}{one.auroc:8.3f}"
        f"{' began again' * one.halved}",
        flush=True,
    )


def misses(zoo: Sequence[Measured]) -> Iterator[str]:
    """Print the worst ratios; yield the bars that are missed."""
    if broken := [f"{one.shape} at {one.nodes:,}" for one in zoo if not one.finite]:
        yield f"not finite: {', '.join(broken)}"
    for nodes, attributes in product(sorted({one.nodes for one in zoo}), (False, True)):
        of_class = [one for one in zoo if one.nodes == nodes and one.attributes == attributes]
        if not of_class:
            continue
        slowest, fastest = min(of_class, key=lambda one: one.rate), max(of_class, key=lambda one: one.rate)
        share = slowest.rate / fastest.rate
        which = f"{nodes:,} nodes {'with' if attributes else 'without'} attributes"
        print(f"{which}: pairs per second on {slowest.shape} are {share:.2f} of those on {fastest.shape}")
        if share < SLOWEST:
            yield f"{which}: {share:.2f} of the fastest"
    for what, ratio, counted in (
        ("time", "time_ratio", [one for one in zoo if sum(one.seconds.values()) >= LEAST_SECONDS]),
        ("memory", "memory_ratio", list(zoo)),
    ):
        ratios = [(getattr(one, ratio), one) for one in counted]
        for value, one in (min(ratios, key=lambda each: each[0]), max(ratios, key=lambda each: each[0])):
            which = f"{one.shape}, {one.nodes:,} nodes {'with' if one.attributes else 'without'} attributes"
            print(f"estimated {what} is {value:.2f} of the measured one on {which}")
        wrong = sum(not 1 / OFF <= value <= OFF for value, _ in ratios)
        if wrong:
            yield f"the estimate of {what} is off by more than {OFF} on {wrong} of {len(ratios)} graphs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.zoo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="SHAPE")
    parser.add_argument("--attributes", choices=("with", "without"), help="only with or only without")
    parser.add_argument("--positions", type=int, default=POSITIONS, help="nodes of walks, at most")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.folder:
        print(json.dumps(measure(chosen.folder)))
        return 0
    make_ready(no_progress)
    print("each stage in seconds; estimated seconds, and estimates as shares of what was measured")
    zoo = []
    for nodes in chosen.sizes:
        model = model_for(nodes, chosen.positions, chosen.threads)
        print(f"\n{nodes:,} nodes, {model.walks_per_node} walks of {model.walk_length} from each")
        print(
            f"{'':22}{'Mpairs/s':>9}{''.join(f'{stage[:7]:>8}' for stage in STAGES)}"
            f"  {'walks':>7}{'train':>7}{'links':>7}{'ratio':>7}{'MiB':>8}{'ratio':>7}{'AUROC':>8}"
        )
        for attributes, shape in product((False, True), chosen.shapes):
            if chosen.attributes in (None, "with" if attributes else "without"):
                zoo.append(measured(shape, nodes, attributes, chosen.positions, chosen.threads))
                show(zoo[-1])
    print()
    missed = list(misses(zoo))
    print(f"missed: {'; '.join(missed)}" if missed else "all bars are reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
