"""What a refresh costs beside the size of the change: statements, and seconds of each stage.

::

    python -m tests.benchmarks.statements [--nodes 10000] [--changes 0 10 1000] [--version 2026] [--list]

A random hyperbolic graph with attributes is embedded, without links unless `--links` is given. Then as many
nodes join it as each change says, with three relationships to random nodes, and it is refreshed by the
defaults. At the end comes a full run. `--list` prints the first words of each statement, and how often it was
sent.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter

import neo4j
import numpy as np

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.embed import embed, refresh
from heat_neo4j.pipeline.job import Job, LinkOptions
from tests.benchmarks.growth import LABEL, MODEL, TYPE, loaded
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.live import server_settings

__all__ = ["main"]

PROJECTION = Projection([LABEL], [TYPE], attributes=["topics"], key="key")
NEW = (
    f"UNWIND $rows AS row CREATE (n:{LABEL} {{key: row[0], topics: ['t01', 't02']}})"
    f" WITH n, row UNWIND row[1] AS other MATCH (o:{LABEL} {{key: other}}) CREATE (n)-[:{TYPE}]->(o)"
)


def refreshed(store: Neo4jStore, job: Job, mode: str, title: str, with_list: bool) -> None:
    """Refresh and print what it took."""
    sent: Counter[str] = Counter()
    store.tracer = lambda statement, _: sent.update([re.sub(r"\s+", " ", statement)[:100]])
    began = perf_counter()
    report = refresh(store, job, mode=mode)
    seconds = perf_counter() - began
    store.tracer = None
    print(f"{title:<18}{report.decision:<9}{sum(sent.values()):>6} statements{seconds:9.1f} s")
    stages: Mapping[str, float] = dict(report.seconds)
    if report.report is not None:
        stages = {**stages, **report.report.run.stage_seconds}
    for stage, took in stages.items():
        if took > 0.02 * seconds:
            print(f"    {stage:<24}{took:9.1f} s  {took / seconds:4.0%}")
    print(f"    {'outside the stages':<24}{seconds - sum(stages.values()):9.1f} s", flush=True)
    for statement, count in sent.most_common() if with_list else ():
        print(f"    {count:>5}  {statement}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and refresh after each change."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.statements",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--changes", nargs="+", type=int, default=[0, 10, 1_000])
    parser.add_argument("--walks-per-node", type=int, default=HEAT().walks_per_node)
    parser.add_argument("--links", action="store_true")
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    estimator = HEAT(walks_per_node=options.walks_per_node, random_state=0)
    links = LinkOptions() if options.links else None
    job = Job(PROJECTION, estimator, links=links, names=WriteNames(model=MODEL))
    graph, generator = hyperbolic_graph(options.nodes), np.random.default_rng(0)
    with (
        server_settings(options.version) as (uri, user, password),
        neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver,
        Neo4jStore.open(uri, auth=(user, password)) as store,
        loaded(driver, graph),
    ):
        print(f"{graph.n_nodes:,} nodes, {graph.n_edges:,} relationships", flush=True)
        embed(store, PROJECTION, estimator, model=MODEL, links=links)
        n = graph.n_nodes
        for count in options.changes:
            rows = [[n + row, generator.choice(graph.n_nodes, 3).tolist()] for row in range(count)]
            driver.execute_query(NEW, rows=rows)
            n += count
            refreshed(store, job, "auto", f"{count:,} new nodes", options.list)
        refreshed(store, job, "full", "full run", options.list)
        store.clear(model=MODEL)


if __name__ == "__main__":
    main()
