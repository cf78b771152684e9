"""What holds after whatever was killed: readers see one whole version, and a prune leaves nothing else."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import LeaseHeld
from heat_neo4j.local_server.server import LocalServer
from heat_neo4j.pipeline.embed import RefreshReport, refresh
from heat_neo4j.pipeline.gate import Gate
from tests.support.live_graph import Cypher, published_node, runs_in_graph
from tests.support.refresh_toy import LABEL, MODEL, Papers, make_job
from tests.support.store import Store

__all__ = ["JOB", "assert_nothing_else", "assert_whole", "crash", "refreshed"]

JOB = make_job(gate=Gate(1.0, 1.0, 0.0), lease_seconds=1.0)
"""Lets every version pass; its lease is soon over when its holder dies."""


def crash(local: LocalServer) -> None:
    """Kill the server as a power failure would."""
    pid = local.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while local.status().running:
        time.sleep(0.05)


def refreshed(store: Store) -> RefreshReport:
    """Refresh, as soon as the lease of whoever died is over."""
    until = time.monotonic() + 60
    while True:
        try:
            return refresh(store, JOB)
        except LeaseHeld:
            assert time.monotonic() < until
            time.sleep(0.2)


def assert_whole(papers: Papers, store: Store, before: tuple[str, Any, Any], *, indexed: bool = True) -> str:
    """Check that readers see the version `before`, or a later one that is complete; return which run."""
    run, coordinates, links = papers.seen()
    if run == before[0]:
        assert (coordinates, links) == before[1:]
    record = next(each for each in store.runs(MODEL) if each.run_id == run)
    assert record.status == "complete"
    assert (len(coordinates), len(links)) == (record.nodes_written, record.links_written)
    assert all(len(value) == record.dimension for value in coordinates.values())
    assert papers.published()["linkRun"] == run
    assert not indexed or store.index_status(MODEL).problems == ()
    return run


def assert_nothing_else(cypher: Cypher, store: Store, run: str, *, indexed: bool = True) -> None:
    """Check that after a prune values, links, indexes and nodes of one version only are left."""
    store.prune(MODEL, records=0, previous=True)
    node = published_node(cypher, MODEL)
    space = node["space"]  # of a local refresh that of the run before it, in whose space it placed nodes
    assert {record.run_id for record in store.runs(MODEL)} == {run, space}
    in_graph = runs_in_graph(cypher, LABEL, WriteNames(MODEL))
    assert {copy: set(found) for copy, found in in_graph.items()} == {"plain": {space}, "plain links": {run}}
    assert not {"publishing", "staging", "leaseHolder"} & node.keys()
    versions = cypher("MATCH (v:HeatVersion {model: $model}) RETURN count(v) AS count", model=MODEL)
    assert versions[0]["count"] <= 3
    indexes = cypher("SHOW INDEXES YIELD name WHERE name STARTS WITH $model RETURN name", model=MODEL)
    assert [index["name"] for index in indexes] == [WriteNames(MODEL).index_of(LABEL)] * indexed
