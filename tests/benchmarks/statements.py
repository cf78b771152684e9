"""How many statements a refresh sends: one that finds nothing to do, one that places a node, one in full.

::

    python -m tests.benchmarks.statements [--version 2026] [--list]

Each refresh is of a small graph, so that a part is written in one batch. With `--list` the first line of each
statement is printed, with how often it was sent.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from types import SimpleNamespace

from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.pipeline.embed import RefreshReport, refresh
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.pipeline.job import Job
from tests.benchmarks.live import server_settings
from tests.support.live_graph import open_cypher
from tests.support.refresh_toy import MODEL, Papers, make_job

__all__ = ["main"]


def counted(store: Neo4jStore, job: Job, mode: str) -> tuple[RefreshReport, Counter[str]]:
    """Refresh; return the report, and the first words of each statement that was sent, with how often."""
    sent: Counter[str] = Counter()
    store.tracer = lambda statement, _: sent.update([re.sub(r"\s+", " ", statement)[:100]])
    report = refresh(store, job, mode=mode)
    store.tracer = None
    return report, sent


def main() -> None:
    """Count the statements of a first run and of three refreshes."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.statements", description=__doc__)
    parser.add_argument("--version", default="5.26")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    job = make_job(gate=Gate(1.0, 1.0, 0.0))
    with (
        server_settings(options.version) as (uri, user, password),
        Neo4jStore.open(uri, auth=(user, password)) as store,
        open_cypher(SimpleNamespace(uri=uri, user=user, password=password, database=None)) as cypher,
    ):
        papers = Papers(cypher)
        try:
            for name, change, mode in (
                ("the first run", lambda: None, "auto"),
                ("a full run", lambda: None, "full"),
                ("another full run", lambda: None, "full"),
                ("a node placed", papers.add, "auto"),
                ("nothing to do", lambda: None, "auto"),
            ):
                change()
                report, sent = counted(store, job, mode)
                print(f"{name:<18}{report.decision:<9}{sum(sent.values()):>5} statements")
                for statement, count in sent.most_common() if options.list else ():
                    print(f"    {count:>3}  {statement}")
        finally:
            store.clear(model=MODEL)
            papers.remove()


if __name__ == "__main__":
    main()
