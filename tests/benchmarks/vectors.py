"""Memory and time of an embedding by vectors, such as those of a language model.

::

    python -m tests.benchmarks.vectors [--nodes 1000000] [--numbers 1536] [--walks 1] [--threads 2]

The vectors are made in blocks of 500 nodes, as they are read from a database. A line for each stage has the
seconds and the peak memory of the process up to its end.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.embedding.attribute_signal import attribute_signals
from heat_neo4j.graph import Provenance

__all__ = ["main"]

_BLOCK, _NEIGHBOURS, _NEAR = 500, 5, 50
_DIMENSIONS = 24  # of the groups that vectors differ by


def make_blocks(n: int, width: int, seed: int = 0) -> Iterator[tuple[NDArray[np.int64], list[list[float]]]]:
    """Yield rows and their vectors: groups of 50 nodes in few dimensions, noise, and a common mean."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(n // _NEAR + 1, _DIMENSIONS))
    spread = rng.normal(size=(_DIMENSIONS, width))
    for begin in range(0, n, _BLOCK):
        rows = np.arange(begin, min(begin + _BLOCK, n))
        places = groups[rows // _NEAR] + rng.normal(size=(len(rows), _DIMENSIONS))
        yield rows, (places @ spread + 3.0 * rng.normal(size=(len(rows), width)) + 1.0).tolist()


def make_links(n: int, seed: int = 0) -> sparse.csr_array:
    """Return five links from each node, four in five of them to nodes near it."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(n), _NEIGHBOURS)
    near = np.clip(source + rng.integers(-_NEAR, _NEAR + 1, len(source)), 0, n - 1)
    target = np.where(rng.random(len(source)) < 0.8, near, rng.integers(0, n, len(source)))
    return sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print seconds and memory of each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("nodes", 1_000_000), ("numbers", 1536), ("walks", 1), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args(arguments)
    n, began = given.nodes, perf_counter()

    def lap(stage: str) -> None:
        nonlocal began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{stage:<12}{perf_counter() - began:8.0f} s{peak:8.2f} GiB", flush=True)
        began = perf_counter()

    table = AttributeTable([Attribute("vector")], n, max_categories=1)
    for rows, vectors in make_blocks(n, given.numbers):
        table.add(rows, {"vector": vectors})
    lap("read")
    found = table.finish(np.arange(n))
    del table
    provenance = Provenance(attribute_recipe=found.recipe)
    graph = Graph(make_links(n), found.matrix, attribute_names=found.names, provenance=provenance)
    lap("encode")
    (signal,) = attribute_signals(graph)
    lap("signal")
    print(f"AUROC of the vectors: {signal.auroc:.3f}")
    model = HEAT(alpha=0.2, random_state=0, n_threads=given.threads, walks_per_node=given.walks).fit(graph)
    for stage, seconds in model.training_["seconds"].items():
        print(f"  {stage:<10}{seconds:8.0f} s")
    lap("fit")


if __name__ == "__main__":
    main()
