"""A process that writes a version of an embedding and its links, and kills itself at a given statement."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.embed import refresh
from heat_neo4j.pipeline.gate import Gate
from tests.support.live_graph import random_links, random_points
from tests.support.refresh_toy import make_job

__all__ = ["BATCH", "clear_model", "refresh_model", "write_version", "write_versions_until_killed"]

BATCH = 13


@contextmanager
def _counted(settings: tuple[str, str, str], die_at: int | None) -> Iterator[tuple[Neo4jStore, list[Any]]]:
    """Give a store and the list of the statements it was about to send; what is asked again counts once.

    How often the server is asked whether an index is ready differs from time to time.
    """
    uri, user, password = settings
    sent: list[Any] = []

    def note(statement: str, parameters: Any) -> None:
        if sent and sent[-1] == (statement, parameters):
            return
        sent.append((statement, parameters))
        if len(sent) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with Neo4jStore.connect(uri, auth=(user, password)) as store:
        store.tracer(note)
        yield store, sent


def write_version(
    settings: tuple[str, str, str], graph: Graph, names: WriteNames, seed: int, die_at: int | None = None
) -> int:
    """Publish version `seed` in one run; die before statement `die_at`, if given; return how many came."""
    parts = ["embedding", "links"]
    with (
        _counted(settings, die_at) as (store, sent),
        store.start_run(graph, names=names, parts=parts, batch_size=BATCH) as run,
    ):
        run.write_embedding(random_points(graph.n_nodes, seed), coordinates="hyperboloid")
        run.write_links(random_links(graph.n_nodes, seed))
        run.publish()
    return len(sent)


def write_versions_until_killed(
    settings: tuple[str, str, str], graph: Graph, names: WriteNames, seeds: list[int]
) -> None:
    """Publish one version after another, without end."""
    while True:
        for seed in seeds:
            write_version(settings, graph, names, seed)


def refresh_model(settings: tuple[str, str, str], die_at: int | None = None) -> int:
    """Refresh the toy; die before statement `die_at`, if given; return how many came."""
    with _counted(settings, die_at) as (store, sent):
        refresh(store, make_job(gate=Gate(1.0, 1.0, 0.0), lease_seconds=1.0))
    return len(sent)


def clear_model(settings: tuple[str, str, str], names: WriteNames, die_at: int | None = None) -> int:
    """Clear the model; die before statement `die_at`, if given; return how many came."""
    with _counted(settings, die_at) as (store, sent):
        store.clear(model=names.model)
    return len(sent)
