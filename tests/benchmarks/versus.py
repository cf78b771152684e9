"""CPU seconds to the same AUROC on Cora_ML as other embeddings, each at the best that it reaches.

::

    python -m tests.benchmarks.versus [--dataset cora_ml] [--epochs 100] [--no-gds] [--version 5.26]

Held-out edges (15 %) against as many other pairs, dim 10, one seed for all. gensim's PoincareModel gets
every edge in both directions and is looked at every 10 epochs; gensim's Word2Vec (DeepWalk) gets the walks
that HEAT draws without attributes; FastRP and node2vec run in a live server with Graph Data Science, whose
CPU time is counted. Ours is trained with 1, 2, 3, ... walks per node; what first passes another counts.
Compiled code is warm. The exit code is 1 if ours takes more than a twentieth of PoincareModel's or a tenth of
node2vec's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from time import process_time

import numpy as np
import psutil
from gensim.models import Word2Vec
from gensim.models.poincare import PoincareModel
from numpy.typing import NDArray

from heat_neo4j.database.connection import Connection
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.evaluation import link_auroc
from heat_neo4j.geometry.hyperboloid import from_poincare, lift
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from tests.benchmarks.gds import fastrp, node2vec
from tests.benchmarks.live import own_server
from tests.support import datasets
from tests.support.gds_server import add_gds

__all__ = ["Reached", "main"]

DIMENSION, NEGATIVES, SEED = 10, 10, 1
HELD_OUT = 0.15
LOOK = 10
WALKS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
BARS = {"gensim PoincareModel": 1 / 20, "GDS node2vec, 5 iterations": 1 / 10}

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Reached:
    """An AUROC, and the CPU seconds it took."""

    auroc: float
    seconds: float


def ours(split: EdgeSplit) -> list[Reached]:
    """Train with more and more walks; the first training, uncounted, warms compiled code."""
    model = HEAT(DIMENSION, n_negatives=NEGATIVES, random_state=SEED)
    model.set_params(walks_per_node=1).fit(split.train)
    found = []
    for walks in WALKS:
        began = process_time()
        points = model.set_params(walks_per_node=walks).fit(split.train).embedding_
        found.append(Reached(link_auroc(points, split), process_time() - began))
        print(f"HEAT, {walks} walks per node: AUROC {found[-1].auroc:.4f} in {found[-1].seconds:.2f} CPU s")
    return found


def poincare(split: EdgeSplit, epochs: int) -> Reached:
    """Return the best of gensim's PoincareModel."""
    source, target = split.train.adjacency.nonzero()
    began = process_time()
    model = PoincareModel(
        list(zip(source.tolist(), target.tolist(), strict=True)),
        size=DIMENSION,
        negative=NEGATIVES,
        seed=SEED,
    )
    spent = process_time() - began
    best = Reached(0.0, 0.0)
    for epoch in range(LOOK, epochs + 1, LOOK):
        began = process_time()
        model.train(epochs=LOOK, print_every=10**9)
        spent += process_time() - began
        points = lift(np.zeros((split.train.n_nodes, DIMENSION)))
        points[model.kv.index_to_key] = from_poincare(model.kv.vectors)
        best = max(best, Reached(link_auroc(points, split), spent), key=lambda reached: reached.auroc)
        print(f"  PoincareModel, {epoch} epochs: best AUROC {best.auroc:.4f}, {spent:.1f} CPU s", flush=True)
    return best


def deepwalk(split: EdgeSplit) -> Reached:
    """Return what gensim's skip-gram makes of our walks."""
    model = HEAT()
    walks = make_walks(split.train, alpha=0.0, walk_length=model.walk_length, key=np.uint64(SEED))
    n_nodes = split.train.n_nodes
    nodes, lengths = draw_walks(walks, np.arange(model.walks_per_node * n_nodes))
    began = process_time()
    texts = [
        [str(node) for node in row[:length]] for row, length in zip(nodes.tolist(), lengths, strict=True)
    ]
    trained = Word2Vec(
        texts, vector_size=DIMENSION, window=model.window_size, min_count=0, sg=1, negative=NEGATIVES,
        workers=1, epochs=5, seed=SEED,
    )  # fmt: skip
    spent = process_time() - began
    vectors = np.stack([trained.wv[str(node)] for node in range(n_nodes)]).astype(np.float64)
    return Reached(_by_vectors(vectors, split), spent)


def in_server(
    method: Callable[[Connection, Graph], Points], connection: Connection, server: int, split: EdgeSplit
) -> Reached:
    """Return what a procedure reaches, and the CPU time of the server; a first call warms it."""
    method(connection, split.train)
    before = sum(psutil.Process(server).cpu_times()[:2])
    vectors = method(connection, split.train)
    spent = sum(psutil.Process(server).cpu_times()[:2]) - before
    return Reached(_by_vectors(vectors, split), spent)


def _by_vectors(vectors: Points, split: EdgeSplit) -> float:
    """Return the better AUROC of the cosine and of the Euclidean distance."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def measured(of: Points, pairs: NDArray[np.int64]) -> Points:
        return -np.linalg.norm(of[pairs[:, 0]] - of[pairs[:, 1]], axis=1)

    return max(
        auroc(measured(of, split.test_edges), measured(of, split.test_non_edges)) for of in (vectors, units)
    )


@contextmanager
def gds_server(version: str) -> Iterator[tuple[Connection, int]]:
    """Yield a connection to a local server with Graph Data Science, and its process."""
    with own_server(version, add_gds) as server:
        uri, user, password = server.connection()
        process = server.status().pid
        assert process is not None
        with closing(Connection.open(uri, auth=(user, password))) as connection:
            yield connection, process


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.versus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", choices=datasets.DATASETS, default="cora_ml")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--no-gds", action="store_true")
    parser.add_argument("--version", default="5.26")
    chosen = parser.parse_args(arguments)
    split = split_edges(datasets.load_graph(chosen.dataset), HELD_OUT, random_state=SEED)
    mine = ours(split)
    others = {"gensim Word2Vec (DeepWalk)": deepwalk(split)}
    if not chosen.no_gds:
        with gds_server(chosen.version) as (connection, process):
            others["GDS FastRP"] = in_server(
                lambda to, graph: fastrp(to, graph, DIMENSION, SEED, attributes=False),
                connection,
                process,
                split,
            )
            others["GDS node2vec, 5 iterations"] = in_server(
                lambda to, graph: node2vec(to, graph, DIMENSION, SEED), connection, process, split
            )
    others["gensim PoincareModel"] = poincare(split, chosen.epochs)
    missed = False
    print(f"\n{chosen.dataset}, dim {DIMENSION}, CPU seconds to the AUROC that the other reaches at best")
    print(f"{'':28}{'AUROC':>8}{'CPU s':>9}{'ours, CPU s':>13}{'ratio':>8}")
    for name, other in others.items():
        passed = next((one for one in mine if one.auroc >= other.auroc), None)
        ratio = np.inf if passed is None else passed.seconds / other.seconds
        took = "never" if passed is None else f"{passed.seconds:.2f}"
        print(f"{name:<28}{other.auroc:8.4f}{other.seconds:9.2f}{took:>13}{ratio:8.3f}")
        missed |= bool(ratio > BARS.get(name, np.inf))
    print("a bar is missed" if missed else "all bars are reached")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
