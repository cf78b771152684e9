"""Measure the jobs that are due, and print all tables: ``python -m tests.benchmarks.results``.

Two jobs at a time, each on one thread. Figures are kept in docs/results.jsonl with the fingerprint of the
code that gave them. When the fingerprint changes, all jobs are due again; until then the tables show the
earlier figures. After an interruption, the next call continues. ``--minutes 0`` only prints the tables.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from tests.benchmarks.results.store import STORE, read_store


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure for as long as there is time, then print the tables; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.results", description=__doc__)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", help="only jobs of these kinds")
    chosen = parser.parse_args(arguments)
    # Before numba is imported, here and in the workers.
    os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    from tests.benchmarks.results.fingerprint import fingerprint
    from tests.benchmarks.results.jobs import run_job
    from tests.benchmarks.results.plan import all_jobs
    from tests.benchmarks.results.tables import all_tables, stored_tables

    ends = time.monotonic() + 60 * chosen.minutes
    code = fingerprint()
    current = {key for key, (its_code, _) in read_store().items() if its_code == code}
    jobs = [job for job in all_jobs() if job.key not in current]
    if chosen.kinds:
        jobs = [job for job in jobs if job.kind in chosen.kinds]
    with multiprocessing.get_context("spawn").Pool(chosen.workers) as pool, STORE.open("a") as store:
        waiting = iter(jobs)
        running: list[tuple[Any, Any]] = []
        done = 0
        while True:
            while len(running) < chosen.workers and time.monotonic() < ends and (job := next(waiting, None)):
                running.append((job, pool.apply_async(run_job, (job,))))
            if not running:
                break
            finished = [entry for entry in running if entry[1].ready()]
            for job, answer in finished:
                figures = answer.get()
                line = {"code": code, "job": json.loads(job.key), "figures": figures}
                print(json.dumps(line), file=store, flush=True)
                done += 1
                print(f"{done} of {len(jobs)}: {job.key} {figures['seconds']:.0f} s", file=sys.stderr)
                running.remove((job, answer))
            time.sleep(0.05)
    print(all_tables(stored_tables()))
    print(f"{len(jobs) - done} jobs are still due with this code", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
