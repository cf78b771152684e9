"""A process that writes a version of an embedding and its links, and kills itself at a given statement."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.embed import refresh
from heat_neo4j.pipeline.gate import Gate
from tests.support.live_graph import random_links, random_points
from tests.support.refresh_toy import make_job
from tests.support.store import Store

__all__ = [
    "BATCH",
    "Statement",
    "clear_model",
    "killed",
    "refresh_model",
    "roll_back_model",
    "write_table",
    "write_version",
]

BATCH = 13
# A server of processes that has the imports done, so that a child costs milliseconds.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.support.doomed"])


class Statement(NamedTuple):
    """The statement before which a process dies: the `turn`-th one that holds all of `words`."""

    words: tuple[str, ...]
    turn: int = 1


@contextmanager
def _doomed(settings: tuple[str, str, str], die_at: Statement | None) -> Iterator[Store]:
    uri, user, password = settings
    met = 0

    def note(statement: str, parameters: object) -> None:
        nonlocal met
        if die_at is not None and all(word in statement for word in die_at.words):
            met += 1
            if met == die_at.turn:
                os.kill(os.getpid(), signal.SIGKILL)

    with Store.open(uri, auth=(user, password)) as store:
        store.tracer = note
        yield store


def killed(work: Callable[..., object], *arguments: object, **options: object) -> None:
    """Let a process do some work, before the end of which it must die."""
    child = _PROCESSES.Process(target=work, args=arguments, kwargs=options)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL


def write_version(
    settings: tuple[str, str, str],
    graph: Graph,
    names: WriteNames,
    seed: int,
    die_at: Statement | None = None,
    *,
    index: bool = True,
) -> None:
    """Publish version `seed` in one run; die before `die_at`, if given."""
    parts = ["embedding", "links"]
    with (
        _doomed(settings, die_at) as store,
        store.start_run(graph, names=names, parts=parts, batch_size=BATCH, index=index) as run,
    ):
        run.write_embedding(random_points(graph.n_nodes, seed), coordinates="hyperboloid")
        run.write_links(random_links(graph.n_nodes, seed))
        run.publish()


def write_table(
    settings: tuple[str, str, str],
    graph: Graph,
    names: WriteNames,
    table: tuple[NDArray[np.int64], Mapping[str, Sequence[Any]]],
    die_at: Statement,
) -> None:
    """Publish values of some rows; die before `die_at`."""
    with _doomed(settings, die_at) as store:
        store.write_values(graph, *table, names=names, batch_size=BATCH)


def roll_back_model(
    settings: tuple[str, str, str], names: WriteNames, die_at: Statement | None = None
) -> None:
    """Publish the version before again; die before `die_at`, if given."""
    with _doomed(settings, die_at) as store:
        store.rollback(names.model)


def clear_model(settings: tuple[str, str, str], names: WriteNames, die_at: Statement | None = None) -> None:
    """Clear the model; die before `die_at`, if given."""
    with _doomed(settings, die_at) as store:
        store.clear(model=names.model)


def refresh_model(
    settings: tuple[str, str, str], die_at: Statement | None = None, *, index: bool = True
) -> None:
    """Refresh the toy; die before `die_at`, if given."""
    with _doomed(settings, die_at) as store:
        refresh(store, make_job(gate=Gate(1.0, 1.0, 0.0), lease_seconds=1.0, index=index))
