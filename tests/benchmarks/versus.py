"""Ranking quality over CPU seconds, beside gensim, node2vec and FastRP: a curve for each method.

::

    python -m tests.benchmarks.versus [SET ...] [--walks 1 2 3 5 10] [--other-walks 1 3 10] [--iterations 1 5]
                                      [--epochs 10 20 50] [--seed 1] [--no-gds] [--version 5.26]

Sets are those of ``python -m tests.benchmarks.shelf``. Filtered MRR and Hits@10 of held-out links by distance
alone, without a link score. HEAT has ten dimensions; the others have ten and 128.

HEAT: 1, 2, 3, ... walks per node, then the default. PoincareModel (gensim): every edge in both directions,
more and more epochs. Word2Vec (gensim): walks that HEAT draws without attributes, which is node2vec with p =
q = 1. FastRP and node2vec, of ten walks per node, run in a live server with Graph Data Science, whose CPU
time counts. Only HEAT, and FastRP where the row says so, read attributes. Vectors are compared by their
cosine or, where that is better, by Euclidean distance. Compiled code is warm.

A star marks the rows that no cheaper row reaches in MRR. The exit code is 1 if another method is at least as
good and as cheap as the default of HEAT.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from time import process_time

import numpy as np
import psutil
from gensim.models import Word2Vec
from gensim.models.poincare import PoincareModel
from numpy.typing import NDArray

from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.database.connection import Connection
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.training import start_points
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.geometry.hyperboloid import from_poincare, lift
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.scorers import DistanceScorer
from heat_neo4j.patterns import Pattern
from tests.benchmarks.gds import fastrp, node2vec
from tests.benchmarks.live import own_server
from tests.benchmarks.shelf.__main__ import add_sets, load
from tests.benchmarks.shelf.dataset import DataSet
from tests.benchmarks.shelf.figures import Fitted, Scorer, evaluate
from tests.support.gds_server import add_gds

__all__ = ["Reached", "frontier", "main"]

FEW, MANY = 10, 128
"""Dimensions."""
NEGATIVES = 10
ROW = "{:<30} {:>8} {:>6} {:>8} {:>6}  {}"

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Reached:
    """What a method reaches, and the CPU seconds it takes."""

    name: str
    seconds: float
    mrr: float
    hits: float
    auroc: float

    def line(self, mark: str = "") -> str:
        """Return the row of the table."""
        figures = (f"{value:.3f}" for value in (self.mrr, self.hits, self.auroc))
        return ROW.format(self.name, f"{self.seconds:.1f}", *figures, mark)


def frontier(rows: list[Reached]) -> list[bool]:
    """Return for each row whether no other one is as good in MRR and as cheap."""
    return [
        not any(
            other.mrr >= row.mrr and other.seconds <= row.seconds for other in rows[:own] + rows[own + 1 :]
        )
        for own, row in enumerate(rows)
    ]


class Curves:
    """The rows of a data set, which are printed as they are measured."""

    def __init__(self, data: DataSet, seed: int) -> None:
        self._data, self._graph, self._seed = data, data.graph, seed
        self.rows: list[Reached] = []

    def heat(self, walks: Sequence[int]) -> None:
        """Train with more and more walks from a start near the origin, then by default."""
        make_ready(lambda *_: None, by_buckets=True)
        start = start_points(self._graph.n_nodes, FEW, make_keys(self._seed).start)
        for count in (*walks, None):
            model = HEAT(FEW, random_state=self._seed, n_threads=1)
            began = process_time()
            if count is None:
                model.fit(self._graph)
            else:
                model.set_params(walks_per_node=count).fit(self._graph, start=start)
            seconds = process_time() - began
            name = "HEAT, default" if count is None else f"HEAT, walks {count}"
            self._add(name, seconds, _by_distance(model.embedding_))

    def poincare(self, epochs: Sequence[int]) -> None:
        """Train gensim's PoincareModel."""
        source, target = self._graph.adjacency.nonzero()
        began = process_time()
        pairs = list(zip(source.tolist(), target.tolist(), strict=True))
        model = PoincareModel(pairs, size=FEW, negative=NEGATIVES, seed=self._seed)
        seconds, done = process_time() - began, 0
        for wanted in epochs:
            began = process_time()
            model.train(epochs=wanted - done, print_every=10**9)
            seconds, done = seconds + process_time() - began, wanted
            points = lift(np.zeros((self._graph.n_nodes, FEW)))
            points[model.kv.index_to_key] = from_poincare(model.kv.vectors)
            self._add(f"PoincareModel, epochs {wanted}", seconds, _by_distance(points))

    def word2vec(self, walks: Sequence[int]) -> None:
        """Train gensim's skip-gram on walks of ours."""
        for dimensions in (FEW, MANY):
            for count in walks:
                began = process_time()
                vectors = self._skip_gram(count, dimensions)
                seconds = process_time() - began
                self._add_vectors(f"Word2Vec {dimensions}, walks {count}", seconds, vectors)

    def _skip_gram(self, walks_per_node: int, dimensions: int) -> Points:
        model, n_nodes = HEAT(), self._graph.n_nodes
        walks = make_walks(self._graph, alpha=0.0, walk_length=model.walk_length, key=np.uint64(self._seed))
        nodes, lengths = draw_walks(walks, np.arange(walks_per_node * n_nodes))
        rows = zip(nodes.tolist(), lengths, strict=True)
        texts = [[str(node) for node in row[:length]] for row, length in rows]
        trained = Word2Vec(
            texts, vector_size=dimensions, window=model.window_size, min_count=0, sg=1, negative=NEGATIVES,
            workers=1, epochs=5, seed=self._seed,
        )  # fmt: skip
        return np.stack([trained.wv[str(node)] for node in range(n_nodes)]).astype(np.float64)

    def in_server(self, connection: Connection, server: int, iterations: Sequence[int]) -> None:
        """Run FastRP and node2vec of Graph Data Science."""
        methods: dict[str, Callable[[Connection, Graph], Points]] = {}
        for dimensions in (FEW, MANY):
            methods[f"FastRP {dimensions}"] = partial(
                fastrp, n_components=dimensions, seed=self._seed, attributes=False
            )
        if self._graph.n_attributes:
            methods[f"FastRP {MANY}, attributes"] = partial(
                fastrp, n_components=MANY, seed=self._seed, attributes=True
            )
        for count in iterations:
            methods[f"node2vec {FEW}, iterations {count}"] = partial(
                node2vec, n_components=FEW, seed=self._seed, iterations=count
            )
        for name, method in methods.items():
            if method.func is fastrp:  # type: ignore[attr-defined]
                method(connection, self._graph)  # warm code matters to seconds, not to minutes
            before = sum(psutil.Process(server).cpu_times()[:2])
            vectors = method(connection, self._graph)
            self._add_vectors(name, sum(psutil.Process(server).cpu_times()[:2]) - before, vectors)

    def _add_vectors(self, name: str, seconds: float, vectors: Points) -> None:
        units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self._add(name, seconds, *map(_by_euclidean, (units, vectors)))

    def _add(self, name: str, seconds: float, *ways: Fitted) -> None:
        """Add the row of the best of several ways to compare the same vectors."""
        rows = []
        for way in ways:
            found = list(evaluate(self._data, way).values())
            links = [each.links for each in found]
            means = (
                float(np.average([getattr(each, figure) for each in found], weights=links))
                for figure in ("mrr", "hits", "auroc")
            )
            rows.append(Reached(name, seconds, *means))
        self.rows.append(max(rows, key=lambda row: row.mrr))
        print(self.rows[-1].line(), flush=True)


def _by_distance(points: Points) -> Fitted:
    scorer = DistanceScorer(points)

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        return lambda rows: np.concatenate([scorer.rows(row, row + 1) for row in rows.tolist()])

    return fitted


def _by_euclidean(vectors: Points) -> Fitted:
    """Return minus the squared Euclidean distance; unit vectors are ranked as by the cosine."""
    squares = (vectors**2).sum(axis=1)

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        return lambda rows: 2.0 * vectors[rows] @ vectors.T - squares - squares[rows][:, None]

    return fitted


@contextmanager
def gds_server(version: str) -> Iterator[tuple[Connection, int]]:
    """Yield a connection to a local server with Graph Data Science, and its process."""
    with own_server(version, add_gds) as server:
        uri, user, password = server.connection()
        process = server.status().pid
        assert process is not None
        with closing(Connection.open(uri, auth=(user, password))) as connection:
            yield connection, process


@one_blas_thread()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.versus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_sets(parser, ("cora_ml",))
    parser.add_argument("--walks", nargs="+", type=int, default=[1, 2, 3, 5, 10])
    parser.add_argument("--other-walks", nargs="*", type=int, default=[1, 3, 10])
    parser.add_argument("--iterations", nargs="*", type=int, default=[1, 5])
    parser.add_argument("--epochs", nargs="*", type=int, default=[10, 20, 50])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-gds", action="store_true")
    parser.add_argument("--version", default="5.26")
    options = parser.parse_args(arguments)
    is_behind = False
    for name in options.sets:
        data = load(name, options.seed)
        print(f"\n{name}: {data.graph!r}\n{ROW.format('', 'CPU s', 'MRR', 'Hits@10', 'AUROC', '')}")
        curves = Curves(data, options.seed)
        curves.heat(options.walks)
        curves.word2vec(options.other_walks)
        if not options.no_gds:
            with gds_server(options.version) as (connection, process):
                curves.in_server(connection, process, options.iterations)
        curves.poincare(options.epochs)
        print(f"\n{name}, by CPU seconds")
        is_best = frontier(curves.rows)
        rivals = [row for row in curves.rows if not row.name.startswith("HEAT, walks")]
        is_behind |= not frontier(rivals)[0]
        for row, best in sorted(zip(curves.rows, is_best, strict=True), key=lambda each: each[0].seconds):
            print(row.line("*" if best else ""))
    return int(is_behind)


if __name__ == "__main__":
    sys.exit(main())
