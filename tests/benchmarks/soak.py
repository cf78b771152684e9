"""One worker that refreshes a small graph, which changes again and again.

::

    python -m tests.benchmarks.soak [--refreshes 200] [--version 5.26]

``heat serve`` runs in a process of its own. Every time a node is added with its relationships or one of those
is deleted; some weights change now and then. Printed are the
worker's resident memory (the median over ten refreshes), its connections to the server and transactions
there, indexes and nodes of ours, near the beginning and at the end. The exit code is 1 if memory has grown by
more than 5 %, if anything else has grown but the records of runs, of which the worker keeps 100 of earlier
ones, or if a prune leaves anything but one run and one index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from statistics import median

import psutil

from heat_neo4j.database.publish.removal import RECORDS
from tests.benchmarks.live import own_server
from tests.conftest import LiveServer
from tests.support.live_graph import Cypher, open_cypher
from tests.support.refresh_checks import assert_nothing_else
from tests.support.refresh_toy import OPTIONS, Papers
from tests.support.store import Store

__all__ = ["main"]

FEW = 10  # refreshes over which a median is taken
LOOKS = 5
DECISION = "MATCH (r:HeatRun {runId: $run}) RETURN r.decision AS decision"
COUNTS = {
    "transactions": "SHOW TRANSACTIONS YIELD metaData WHERE metaData.app STARTS WITH 'heat_neo4j' "
    "RETURN count(*) AS n",
    "connections": "CALL dbms.listConnections() YIELD userAgent WHERE userAgent STARTS WITH 'heat_neo4j' "
    "RETURN count(*) AS n",
    "indexes": "SHOW INDEXES YIELD name WHERE name STARTS WITH 'fresh' RETURN count(*) AS n",
    "models": "MATCH (m:HeatModel) RETURN count(m) AS n",
    "versions": "MATCH (v:HeatVersion) RETURN count(v) AS n",
    "records": "MATCH (r:HeatRun) RETURN count(r) AS n",
}


def change(papers: Papers, number: int, added: list[int]) -> None:
    """Change the graph a little."""
    if number % 10 == 9:
        papers.rewire()
    elif len(added) < 5:
        added.append(papers.add(group=number % 4))
    else:
        papers.delete(added.pop(0))


def refreshed(cypher: Cypher, papers: Papers, before: str, worker: psutil.Process) -> str:
    """Wait for the next version; return how it was made."""
    while (run := papers.published()["run"]) == before:
        assert worker.status() != psutil.STATUS_ZOMBIE, "the worker died"
        time.sleep(0.02)
    return str(cypher(DECISION, run=run)[0]["decision"])


def counts(cypher: Cypher) -> dict[str, int]:
    """Return how much of ours there is: the least of a few looks, as the worker's polls come and go."""
    found: dict[str, list[int]] = {name: [] for name in COUNTS}
    for _ in range(LOOKS):
        for name, statement in COUNTS.items():
            found[name].append(int(cypher(statement)[0]["n"]))
        time.sleep(0.05)
    return {name: min(looks) for name, looks in found.items()}


def soak(server: LiveServer, refreshes: int) -> bool:
    """Ask for so many refreshes, print what grew; return whether every bar is reached."""
    environment = {**os.environ, **server.environment}
    command = [sys.executable, "-m", "heat_neo4j", "serve", "--every", "1s", *OPTIONS]
    done: Counter[str] = Counter()
    memory, added = [], list[int]()
    with (
        open_cypher(server) as cypher,
        subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process,
    ):
        papers, worker = Papers(cypher), psutil.Process(process.pid)
        early: dict[str, int] = {}
        for number in range(refreshes):
            before = papers.published()["run"]
            change(papers, number, added)
            done[refreshed(cypher, papers, before, worker)] += 1
            memory.append(worker.memory_info().rss / 2**20)
            if number == 2 * FEW - 1:
                early = counts(cypher)
        late = counts(cypher)
        process.terminate()
        process.wait(timeout=60)
        first, last = median(memory[FEW : 2 * FEW]), median(memory[-FEW:])
        print(", ".join(f"{count} {kind}" for kind, count in done.most_common()))
        print(f"{'':<24}{f'after {2 * FEW}':>10}{f'after {refreshes}':>12}")
        print(f"{'resident memory, MiB':<24}{first:10.1f}{last:12.1f}   {last / first - 1.0:+.1%}")
        for name, count in late.items():
            print(f"{name:<24}{early[name]:10}{count:12}")
        with Store.open(server.uri, auth=(server.user, server.password)) as store:
            assert_nothing_else(cypher, store, papers.published()["run"])
            after = counts(cypher)
        print("after a prune           " + ", ".join(f"{count} {name}" for name, count in after.items()))
    missed = [name for name, count in late.items() if count > early[name] and name != "records"]
    missed += ["memory"] * (last > 1.05 * first) + ["records"] * (late["records"] > RECORDS + 2)
    if missed:
        print(f"BAR MISSED: {', '.join(missed)}")
    return not missed


def main(arguments: list[str] | None = None) -> int:
    """Soak; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--refreshes", type=int, default=200)
    parser.add_argument("--version", default="5.26")
    options = parser.parse_args(arguments)
    with own_server(options.version) as local:
        server = LiveServer(*local.connection(), database=None, series=options.version, local=local)
        return int(not soak(server, options.refreshes))


if __name__ == "__main__":
    sys.exit(main())
