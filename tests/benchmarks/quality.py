"""AUROC of link prediction and reconstruction on the three datasets, beside the bars they must reach.

::

    python -m tests.benchmarks.quality [--datasets cora_ml citeseer ppi] [--seeds 0 1 2 3 4] [--live]

``--live`` takes every graph through Neo4j: load it, read the projection, embed, write the coordinates, read
them back, score those. Bars hold for dimension 10, alpha 0.2, seeds 0-4; the exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from neo4j import GraphDatabase
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.write.loader import LoadNames, load_graph
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.splits import split_edges
from tests.benchmarks.live import server_settings
from tests.benchmarks.reconstruction import reconstruction_auroc
from tests.support import datasets
from tests.support.link_auroc import link_auroc
from tests.support.store import Store

BARS = {
    "links": {"cora_ml": 0.982, "citeseer": 0.986, "ppi": 0.924},
    "reconstruction": {"cora_ml": 0.9965, "citeseer": 0.9985, "ppi": 0.944},
}
BAR_SETTING: dict[str, Any] = {"dim": 10, "alpha": 0.2, "seeds": [0, 1, 2, 3, 4]}
Embed = Callable[[str, Graph, HEAT], NDArray[np.float64]]
"""Called with the dataset's name, the graph and the model to fit; returns points of the hyperboloid."""


@dataclass
class Scores:
    """AUROC by seed of one dataset, and the seconds all of it took."""

    links: list[float] = field(default_factory=list)
    reconstruction: list[float] = field(default_factory=list)
    seconds: float = 0.0


def measure(name: str, seeds: Sequence[int], dim: int, alpha: float, embed: Embed) -> Scores:
    """Score both tasks for each seed, which decides the split as well as the training."""
    graph, scores, start = datasets.load_graph(name), Scores(), perf_counter()
    for seed in seeds:
        model = HEAT(n_components=dim, alpha=alpha, random_state=seed)
        split = split_edges(graph, share=0.15, random_state=seed)
        links = link_auroc(embed(name, split.train, model), split)
        reconstruction = reconstruction_auroc(embed(name, graph, model), graph)
        print(f"{name} seed {seed}: {links:.4f}, {reconstruction:.4f}", file=sys.stderr, flush=True)
        scores.links.append(links)
        scores.reconstruction.append(reconstruction)
    scores.seconds = perf_counter() - start
    return scores


def embed_in_memory(name: str, graph: Graph, model: HEAT) -> NDArray[np.float64]:
    """Fit the model without any database."""
    return model.fit(graph).embedding_


@dataclass(frozen=True)
class Loadable:
    """A graph as the loader wants it: each edge as one relationship, attributes as one list per node."""

    graph: Graph
    with_features: bool
    types: None = None
    time: None = None
    times_are_dates: bool = False

    @property
    def keys(self) -> Sequence[int]:
        return range(self.graph.n_nodes)

    @property
    def source(self) -> NDArray[np.int64]:
        return self._upper.row.astype(np.int64)

    @property
    def target(self) -> NDArray[np.int64]:
        return self._upper.col.astype(np.int64)

    @property
    def weight(self) -> NDArray[np.float64]:
        return np.asarray(self._upper.data)

    def properties(self, row: int) -> Mapping[str, Any]:
        features: Any = self.graph.attributes
        return {"features": features[[row]].toarray()[0].tolist()} if self.with_features else {}

    @cached_property
    def _upper(self) -> sparse.coo_array[np.float64]:
        return sparse.coo_array(sparse.triu(self.graph.adjacency, k=1))


class LiveEmbedding:
    """Embeds by way of a server: load, read, fit, write, read back. Leaves nothing behind."""

    def __init__(self, uri: str, user: str, password: str) -> None:
        self._uri, self._auth = uri, (user, password)
        self._names = WriteNames(model="heatBenchmark")
        self._types: dict[str, int] = {}

    def __call__(self, name: str, graph: Graph, model: HEAT) -> NDArray[np.float64]:
        """Give each graph a relationship type of its own; a dataset's nodes are loaded once."""
        times = self._types[name] = self._types.get(name, 0) + 1
        label, link = f"HeatBenchmark_{name}", f"LINK_{times}"
        with closing(Connection.open(self._uri, auth=self._auth)) as connection:
            load_graph(connection, Loadable(graph, with_features=times == 1), LoadNames(label, link))
        projection = Projection([label], [link], weight="weight", attributes=["features"], key="id")
        with Store.open(self._uri, auth=self._auth) as store:
            read = store.read_graph(projection)
            if (read.adjacency - graph.adjacency).count_nonzero():
                raise RuntimeError(f"{name}: the graph that was read is not the one that was loaded")
            store.write_embedding(read, model.fit(read), names=self._names)
            return store.read_embedding(read, self._names.model)

    def remove(self) -> None:
        """Remove everything this object wrote."""
        with Store.open(self._uri, auth=self._auth) as store:
            store.clear(model=self._names.model)
        with GraphDatabase.driver(self._uri, auth=self._auth) as driver:
            for name in self._types:
                label = f"HeatBenchmark_{name}".replace("_", "__")
                driver.execute_query(f"DROP CONSTRAINT heat_load_{label}_id IF EXISTS")
                driver.execute_query(f"MATCH (n:HeatBenchmark_{name}) DETACH DELETE n")


@contextmanager
def live_embedding() -> Iterator[Embed]:
    """Yield a `LiveEmbedding` on a server that is there for the time being."""
    with server_settings() as settings:
        embed = LiveEmbedding(*settings)
        try:
            yield embed
        finally:
            embed.remove()


def table(results: Mapping[str, Scores], with_bars: bool) -> tuple[list[str], bool]:
    """Return the lines of the table, and whether every bar is reached."""
    lines = ["dataset    task            mean    sd      bar     reached  seconds (both tasks)"]
    reached = True
    for name, scores in results.items():
        for task, bars in BARS.items():
            values = np.array(getattr(scores, task))
            verdict = "-"
            if with_bars:
                verdict = "yes" if values.mean() >= bars[name] else "NO"
                reached = reached and verdict == "yes"
            lines.append(
                f"{name:<10} {task:<15} {values.mean():.4f}  {values.std():.4f}  {bars[name]:.4f}  "
                f"{verdict:<7}  {scores.seconds:.0f}"
            )
    return lines, reached


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.quality", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=datasets.DATASETS, default=datasets.DATASETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=BAR_SETTING["seeds"])
    parser.add_argument("--dim", type=int, default=BAR_SETTING["dim"])
    parser.add_argument("--alpha", type=float, default=BAR_SETTING["alpha"])
    parser.add_argument("--live", action="store_true", help="by way of a live Neo4j")
    chosen = parser.parse_args(arguments)
    with_bars = all(getattr(chosen, name) == value for name, value in BAR_SETTING.items())
    with live_embedding() if chosen.live else nullcontext(embed_in_memory) as embed:
        results = {
            name: measure(name, chosen.seeds, chosen.dim, chosen.alpha, embed) for name in chosen.datasets
        }
    lines, reached = table(results, with_bars)
    way = "through a live Neo4j" if chosen.live else "in memory"
    print(f"AUROC, dim {chosen.dim}, alpha {chosen.alpha}, seeds {chosen.seeds}, {way}", *lines, sep="\n")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
