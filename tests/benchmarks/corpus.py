"""The whole trip on the class graph of Neo4j's own jars, each stage beside its estimate; and link prediction.

::

    python -m tests.benchmarks.corpus [--version 5.26] [--queries 300] [--seed 0] [--walks-per-node 10]

66 thousand classes and interfaces, 927 thousand relationships, hubs joined to most nodes, text attributes:
see `tests.benchmarks.class_graph`. Held-out edges (a tenth) against as many other pairs first, in memory:
HEAT by its defaults beside degree product, Adamic-Adar, and FastRP of Graph Data Science on the graph without
attributes, as it would keep these dense (5.7 GB). Hits@100 is the share of held-out edges with a better score
than the hundredth best of the other pairs.

Then the graph is loaded into a live server, and `heat estimate`, `heat embed` and `heat refresh` run as a
user runs them, each in a process of its own, compiled code warm: all is read, embedded, linked, written and
indexed; a sample of nodes asks for its nearest; and a refresh follows when nothing has changed, when ten
relationships have, and when there is a new class. The exit code is 1 if the whole trip is not within 1.3
times its estimate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter

import neo4j
import numpy as np
from numpy.typing import NDArray

from heat_neo4j import HEAT
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.geometry.hyperboloid import distance
from heat_neo4j.linkpred.baselines import adamic_adar, popularity
from heat_neo4j.linkpred.metrics import auroc, average_precision
from heat_neo4j.linkpred.scorers import DistanceScorer, PairScorer, VectorScorer
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from tests.benchmarks import gds
from tests.benchmarks.class_graph import PROJECTION, ClassGraph, class_graph, load_classes
from tests.benchmarks.live import heat, own_server
from tests.support.gds_server import add_gds

__all__ = ["main"]

MODEL = "corpus"
OFF = 1.3
"""By what factor the estimate of the whole trip may be off."""
HELD_OUT, BEST = 0.1, 100
K = 10
FASTRP = (10, 128)

STAGES = {
    "read": ("read",),
    "coarse": ("coarse",),
    "walks": ("similarity", "walks"),
    "train": ("train",),
    "calibrate": ("calibrate",),
    "links": ("links",),
    "write": ("write coordinates", "write links", "settle"),
    "index": ("build index",),
}
"""The stages of an estimate, and those of a run that each is of."""

NEW_CLASS = """
CREATE (n:Class {name: 'org.neo4j.kernel.impl.store.HyperbolicStore', package: 'org.neo4j.kernel.impl.store',
                 modifiers: ['public'], words: ['store', 'record', 'page', 'cache', 'kernel']})
WITH n
MATCH (o) WHERE (o:Class OR o:Interface) AND o.name IN $names
CREATE (n)-[:REFERS_TO {count: 3}]->(o)
"""
USED_BY_NEW = [
    "java.lang.Object",
    "java.lang.String",
    "org.neo4j.kernel.impl.store.CommonAbstractStore",
    "org.neo4j.kernel.impl.store.NeoStores",
    "org.neo4j.io.pagecache.PageCache",
    "org.neo4j.io.pagecache.PageCursor",
]

Settings = tuple[str, str, str]
Points = NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.corpus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--queries", type=int, default=300, help="nodes that ask for their nearest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--walks-per-node", type=int, default=HEAT().walks_per_node, help="fewer for a look")
    chosen = parser.parse_args(arguments)
    model = HEAT(walks_per_node=chosen.walks_per_node, random_state=chosen.seed)
    options = ["--walks-per-node", str(chosen.walks_per_node), "--random-state", str(chosen.seed)]
    began = perf_counter()
    classes = class_graph()
    graph = classes.to_graph()
    print(f"{graph}, read from the jars or the cache in {perf_counter() - began:.1f} s")
    hubs = np.argsort(-graph.degrees, kind="stable")[:3]
    joined = ", ".join(f"{classes.names[row]} ({graph.degrees[row] / graph.n_nodes:.0%})" for row in hubs)
    print(f"joined to the largest share of the nodes: {joined}", flush=True)
    with own_server(chosen.version, add_gds) as server:
        settings = server.connection()
        with neo4j.GraphDatabase.driver(settings[0], auth=settings[1:]) as driver:
            store = Neo4jStore(driver)
            print(f"Neo4j {store.server.version}")
            quality(model, split_edges(graph, HELD_OUT, chosen.seed), store, chosen.seed)
            began = perf_counter()
            load_classes(driver, classes)
            print(f"\nloaded in {perf_counter() - began:.0f} s", flush=True)
            ratio = trip(settings, options)
            points = store.read_embedding(store.read_graph(PROJECTION), MODEL)
            queries(store, classes, points, chosen.queries, chosen.seed)
            refreshes(driver, settings, options, chosen.seed)
    reached = 1 / OFF <= ratio <= OFF
    print(
        "\nall bars are reached" if reached else f"\nmissed: the whole trip took {ratio:.2f} of its estimate"
    )
    return int(not reached)


def quality(model: HEAT, split: EdgeSplit, store: Neo4jStore, seed: int) -> None:
    """Print how well held-out edges are told from other pairs, method by method."""
    n = len(split.test_edges)
    print(f"\n{n:,} held-out edges and as many other pairs")
    print(f"{'':<34}{'AUROC':>8}{'AP':>8}{f'Hits@{BEST}':>10}{'s':>8}", flush=True)

    def fastrp(dimension: int) -> PairScorer:
        vectors = gds.fastrp(store, split.train, dimension, seed, attributes=False)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return VectorScorer(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))

    methods: dict[str, Callable[[], PairScorer]] = {
        "popularity": lambda: popularity(split.train),
        "Adamic-Adar": lambda: adamic_adar(split.train),
        **{f"FastRP (GDS), {size} dimensions": (lambda size=size: fastrp(size)) for size in FASTRP},  # type: ignore[misc]
        f"HEAT, {model.n_components} dimensions": lambda: DistanceScorer(model.fit(split.train).embedding_),
    }
    for name, method in methods.items():
        began = perf_counter()
        scorer = method()
        edges, others = scorer.pairs(split.test_edges), scorer.pairs(split.test_non_edges)
        seconds = perf_counter() - began
        hits = float(np.mean(edges > np.partition(others, -BEST)[-BEST]))
        figures = f"{auroc(edges, others):8.4f}{average_precision(edges, others):8.4f}{hits:10.4f}"
        print(f"{name:<34}{figures}{seconds:8.1f}", flush=True)


def trip(settings: Settings, options: Sequence[str]) -> float:
    """Estimate and embed; print both stage by stage; return how many times the estimate the whole took."""
    warm = [*projection(["EXTENDS"]), "--walks-per-node", "1", "--dry-run", "--model", MODEL]
    heat("embed", *warm, settings=settings)  # compiles
    everything = [*projection(PROJECTION.relationships or ()), *options]
    needed, _ = heat("estimate", *everything, settings=settings)
    report, memory = heat("embed", *everything, "--model", MODEL, settings=settings)
    took = report["stage_seconds"]
    print(f"\n{'':<12}{'estimate s':>11}{'measured s':>11}{'ratio':>7}")
    for stage, parts in STAGES.items():
        line(stage, needed["seconds"].get(stage, 0.0), sum(took.get(part, 0.0) for part in parts))
    known = {part for parts in STAGES.values() for part in parts}
    for stage in took.keys() - known:
        line(stage, 0.0, took[stage])
    ratio = line("whole trip", needed["total_seconds"], sum(took.values()))
    print(
        f"peak memory {memory / 2**30:.2f} GiB, estimated {needed['peak_memory'] / 2**30:.2f} GiB; "
        f"{report['links_written']:,} predicted links; loss {report['final_loss']:.3f}; "
        f"AUROC of the run's own held-out edges {report['link_score']['distance_auroc']:.4f}",
        flush=True,
    )
    return ratio


def projection(types: Iterable[str]) -> list[str]:
    """Return the options of `heat` that read the classes by relationships of some types."""
    repeated = {
        "--label": PROJECTION.labels or (),
        "--relationship": types,
        "--attribute": PROJECTION.attributes,
    }
    options = [word for option, names in repeated.items() for name in names for word in (option, name)]
    return [*options, "--weight", str(PROJECTION.weight), "--key", str(PROJECTION.key)]


def line(stage: str, estimated: float, took: float) -> float:
    """Print a stage, and return measured over estimated."""
    ratio = took / estimated if estimated else np.inf
    print(
        f"{stage:<12}{estimated:11.1f}{took:11.1f}{f'{ratio:7.2f}' if estimated else '      -'}", flush=True
    )
    return ratio


def queries(store: Neo4jStore, classes: ClassGraph, points: Points, asked: int, seed: int) -> None:
    """Ask for the nearest of two hubs and of a sample, by the library's query; print recall and latency."""
    hubs = [classes.names.index(name) for name in ("java.lang.Object", "java.lang.String")]
    others = np.random.default_rng(seed).choice(len(points), asked, replace=False).tolist()
    places = {name: row for row, name in enumerate(classes.names)}
    print(f"\n{K} nearest of {len(hubs)} hubs and {asked} other nodes, by cypher/query/nearest.cypher")
    seconds, hits, certified, wrong = [], 0, 0, 0
    for row in [*hubs, *others]:
        label = "Interface" if classes.is_interface[row] else "Class"
        began = perf_counter()
        found = store.query(
            "nearest", model=MODEL, label=label, property="name", value=classes.names[row], k=K
        )
        seconds.append(perf_counter() - began)
        apart = distance(points[row], points)
        apart[row] = np.inf
        limit = np.partition(apart, K - 1)[K - 1] * (1 + 1e-9)
        hit = sum(bool(apart[places[each["node"]]] <= limit) for each in found)
        hits += hit
        certified += found[0]["certified"]
        wrong += found[0]["certified"] and hit < K
    n = len(seconds)
    p50, p95 = (1e3 * float(np.percentile(seconds, share)) for share in (50, 95))
    print(f"recall@{K} {hits / n / K:.4f}, {certified} certified, {wrong} of these lack a node")
    print(f"p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    for name in ("org.neo4j.kernel.impl.store.NodeStore", "java.util.HashMap"):
        found = store.query("nearest", model=MODEL, label="Class", property="name", value=name, k=5)
        print(f"nearest to {name}: {', '.join(each['node'] for each in found)}", flush=True)


def refreshes(driver: neo4j.Driver, settings: Settings, options: Sequence[str], seed: int) -> None:
    """Refresh after nothing, a little, and a new class; print what was done, how long it took, what moved."""
    rng = np.random.default_rng(seed)
    everything = [*projection(PROJECTION.relationships or ()), *options, "--model", MODEL]

    def ten_relationships() -> None:
        """Take five away and make five others."""
        with driver.session() as session:
            session.run(
                "MATCH (:Class)-[r:REFERS_TO]->(:Class)"
                " WITH r ORDER BY elementId(r) SKIP $skip LIMIT 5 DELETE r",
                skip=int(rng.integers(100_000)),
            ).consume()
            names = [
                record["name"]
                for record in session.run("MATCH (n:Class) RETURN n.name AS name ORDER BY name")
            ]
            pairs = [[names[a], names[b]] for a, b in rng.integers(len(names), size=(5, 2)).tolist()]
            session.run(
                "UNWIND $pairs AS pair MATCH (a:Class {name: pair[0]}) MATCH (b:Class {name: pair[1]})"
                " CREATE (a)-[:REFERS_TO {count: 1}]->(b)",
                pairs=pairs,
            ).consume()

    def new_class() -> None:
        with driver.session() as session:
            session.run(NEW_CLASS, names=USED_BY_NEW).consume()

    changes: Mapping[str, Callable[[], None]] = {
        "nothing changed": lambda: None,
        "ten relationships changed": ten_relationships,
        "a new class": new_class,
    }
    for what, change in changes.items():
        change()
        began = perf_counter()
        report, _ = heat("refresh", *everything, settings=settings)
        seconds = perf_counter() - began
        print(f"\n{what}: {report['decision']} ({report['reason']}), {report['outcome']} in {seconds:.1f} s")
        took = report["seconds"] if report["run"] is None else report["run"]["stage_seconds"]
        print("  " + ", ".join(f"{stage} {value:.1f}" for stage, value in took.items()))
        drift = report["drift"]
        if drift is not None:
            nearest = "" if drift["overlap"] is None else f", {drift['overlap']:.1%} of the nearest stayed"
            print(
                f"  {drift['nodes']:,} nodes moved by {drift['mean']:.4f} in the mean, by "
                f"{drift['quantiles']['1.0']:.3f} at most{nearest}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
