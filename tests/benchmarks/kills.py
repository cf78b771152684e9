"""SIGKILL of the client, and of the server, at random moments of refreshes on a live server.

::

    python -m tests.benchmarks.kills [--version 5.26] [--times 20] [--seed 0]

Each time a small graph is changed, so that the refresh places nodes, starts warm or runs in full, in turns,
and something is killed after a random part of the time that such a refresh takes; those that came too late
are not counted. Afterwards (the server started again) it is checked that readers see the version before, to
the bit, or the new one whole: coordinates, links and index; that the next refresh finishes; and that after a
prune nothing of any other run is left: value, link, index or node. The exit code is 1 if one of these does
not hold.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import neo4j

from heat_neo4j.errors import HeatError
from heat_neo4j.local_server.server import LocalServer
from heat_neo4j.pipeline.embed import refresh
from tests.benchmarks.live import own_server
from tests.conftest import LiveServer
from tests.support.doomed import refresh_model
from tests.support.live_graph import Cypher, open_cypher
from tests.support.refresh_checks import JOB, assert_nothing_else, assert_whole, crash, refreshed
from tests.support.refresh_toy import Papers
from tests.support.store import Store

__all__ = ["main"]

KINDS = ("local", "warm", "full")
_processes = multiprocessing.get_context("forkserver")


def change(papers: Papers, kind: str) -> None:
    """Change the graph so that a refresh is of some kind."""
    if kind == "local":
        papers.add()
    else:
        papers.rewire(16 if kind == "warm" else 80)


def kill_client(settings: tuple[str, str, str], after: float | None) -> bool:
    """Refresh in a process that is killed after some seconds, if any; return whether that cut it off."""
    child = _processes.Process(target=refresh_model, args=(settings,))
    child.start()
    child.join(after)
    child.kill()
    child.join()
    return child.exitcode == -signal.SIGKILL


def kill_server(local: LocalServer, settings: tuple[str, str, str], after: float | None) -> bool:
    """Refresh on a server that is killed after some seconds, if any; return whether that cut it off."""
    uri, user, password = settings
    timer = threading.Timer(after or 0.0, crash if after else bool, (local,))
    cut_off = False
    with neo4j.GraphDatabase.driver(uri, auth=(user, password), max_transaction_retry_time=1) as driver:
        timer.start()
        try:
            refresh(Store(driver), JOB)
        except HeatError:
            cut_off = True
        timer.join()
    if after:
        local.start()
    return cut_off


def killing(
    name: str,
    kill: Callable[[float | None], bool],
    papers: Papers,
    store: Store,
    cypher: Cypher,
    times: int,
    chance: random.Random,
) -> None:
    """Kill so many times at random moments; print what readers saw."""
    seconds = {}
    for kind in KINDS:  # what a refresh of each kind takes here
        change(papers, kind)
        began = time.perf_counter()
        kill(None)
        seconds[kind] = time.perf_counter() - began
    seen: Counter[str] = Counter()
    while sum(seen.values()) < times:
        kind = KINDS[sum(seen.values()) % len(KINDS)]
        before = papers.seen()
        change(papers, kind)
        cut_off = kill(chance.uniform(0.0, seconds[kind]))
        run = assert_whole(papers, store, before)
        if cut_off:
            seen["old" if run == before[0] else "new"] += 1
        else:  # it was done before: not one of them
            seconds[kind] *= 0.9
        refreshed(store)
        run = assert_whole(papers, store, before)
        assert run != before[0]
        assert_nothing_else(cypher, store, run)
    print(f"{name:<10} {times:6} {seen['old']:30} {seen['new']:21}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Kill all; fail with what did not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    for name in ("neo4j", "heat_neo4j"):  # they tell of every attempt to reach the dead
        logging.getLogger(name).addHandler(logging.NullHandler())
    _processes.set_forkserver_preload(["tests.support.doomed"])
    with own_server(options.version) as local:
        server = LiveServer(*local.connection(), database=None, series=options.version, local=local)
        with open_cypher(server) as cypher, _patient(server) as driver:
            papers, store = Papers(cypher), Store(driver)
            refreshed(store)
            print(f"Neo4j {store.server.version}, {store.server.edition}")
            print("cut off     times   then seen: the version before   the new one whole")
            for name, kill in (
                ("client", lambda after: kill_client(server.settings, after)),
                ("server", lambda after: kill_server(local, server.settings, after)),
            ):
                try:
                    killing(name, kill, papers, store, cypher, options.times, chance)
                except AssertionError as error:
                    print(f"{name}: DOES NOT HOLD: {error}")
                    return 1
            print("each time the next refresh finished, and a prune left nothing of any other run")
    return 0


def _patient(server: LiveServer) -> neo4j.Driver:
    """Return a driver that waits for the server to be back."""
    auth = (server.user, server.password)
    return neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=180)


if __name__ == "__main__":
    sys.exit(main())
