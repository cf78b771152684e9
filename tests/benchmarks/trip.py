"""The whole trip on Cora_ML, from Neo4j to Neo4j, beside gensim's PoincareModel on the same graph.

::

    python -m tests.benchmarks.trip [--dataset cora_ml]

Ours: read the projection, embed at the defaults, predict links and fit their probability, write, publish,
with compiled code warm. Gensim: train on the same graph in memory (dim 10, 50 epochs, 10 negatives), every
edge in both directions, as ours walks them, then every edge once; nothing is read or written. The exit code
is 1 if ours takes more than half of gensim's time with both directions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from time import perf_counter

import neo4j
from gensim.models.poincare import PoincareModel
from scipy import sparse

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.loader import LoadNames, load_graph
from heat_neo4j.geometry.hyperboloid import from_poincare
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.embed import embed
from tests.benchmarks.live import server_settings
from tests.benchmarks.quality import Loadable
from tests.benchmarks.reconstruction import reconstruction_auroc
from tests.support import datasets

__all__ = ["main"]

BAR = 0.5
LABEL, TYPE = "HeatTrip", "HEAT_TRIP_LINK"
NAMES = WriteNames(model="heatTrip")
PROJECTION = Projection([LABEL], [TYPE], weight="weight", attributes=["features"], key="id")
DIMENSION, EPOCHS, NEGATIVES = 10, 50, 10


def ours(uri: str, auth: tuple[str, str], graph: Graph) -> float:
    """Return the seconds of the whole trip; the first trip warms compiled code and server."""
    with Neo4jStore.open(uri, auth=auth) as store:
        embed(store, PROJECTION, HEAT(walks_per_node=1, random_state=0), model=NAMES.model)
        model = HEAT(DIMENSION, n_negatives=NEGATIVES, random_state=0)
        start = perf_counter()
        report = embed(store, PROJECTION, model, model=NAMES.model)
        seconds = perf_counter() - start
        stored = store.read_embedding(store.read_graph(PROJECTION), NAMES.model)
    run = report.run
    print(f"ours: {run.nodes_written} nodes and {run.links_written} links published in {seconds:.1f} s")
    for stage, took in run.stage_seconds.items():
        print(f"  {stage:<24}{took:8.2f} s")
    print(f"  AUROC of reconstruction {reconstruction_auroc(stored, graph):.4f}")
    return seconds


def gensim(graph: Graph, entries: sparse.coo_array, directions: str) -> float:
    """Return the seconds of gensim's training on those `entries`, at its other defaults."""
    source, target = entries.coords
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    start = perf_counter()
    model = PoincareModel(edges, size=DIMENSION, negative=NEGATIVES, seed=0)
    model.train(epochs=EPOCHS, print_every=10**9)
    seconds = perf_counter() - start
    points = model.kv.vectors[[model.kv.key_to_index[node] for node in range(graph.n_nodes)]]
    print(f"gensim PoincareModel, each edge {directions}: {EPOCHS} epochs in {seconds:.1f} s")
    print(f"  AUROC of reconstruction {reconstruction_auroc(from_poincare(points), graph):.4f}")
    return seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.trip",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", choices=datasets.DATASETS, default="cora_ml")
    chosen = parser.parse_args(arguments)
    graph = datasets.load_graph(chosen.dataset)
    with server_settings() as (uri, user, password):
        with closing(Connection.open(uri, auth=(user, password))) as connection:
            load_graph(connection, Loadable(graph, with_features=True), LoadNames(LABEL, TYPE))
        try:
            mine = ours(uri, (user, password), graph)
        finally:
            with Neo4jStore.open(uri, auth=(user, password)) as store:
                store.clear(model=NAMES.model)
            with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
                driver.execute_query(f"DROP CONSTRAINT heat_load_{LABEL}_id IF EXISTS")
                driver.execute_query(f"MATCH (n:{LABEL}) DETACH DELETE n")
    theirs = gensim(graph, sparse.coo_array(graph.adjacency), "in both directions")
    print(f"ours takes {mine / theirs:.3f} of gensim's time (bar: {BAR:g})")
    print(f"ours takes {mine / gensim(graph, graph.edges, 'once'):.3f} of gensim's time")
    return int(mine > BAR * theirs)


if __name__ == "__main__":
    sys.exit(main())
