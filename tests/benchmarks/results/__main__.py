"""Measure what is not measured yet and write RESULTS.md: ``python -m tests.benchmarks.results``.

Two jobs at a time, each on one thread. Results are kept in docs/results.jsonl with the fingerprint of the
code that they are of; where that has changed, a job is done again, and until then RESULTS.md shows what the
earlier code gave, and says so. Interrupted, it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
STORE = ROOT / "docs" / "results.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure for as long as there is time, then write the document; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.results", description=__doc__)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", help="only jobs of these kinds")
    chosen = parser.parse_args(arguments)
    # Before numba is imported, here and in the workers.
    os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    from tests.benchmarks.results.document import write_document
    from tests.benchmarks.results.fingerprint import fingerprint
    from tests.benchmarks.results.jobs import run_job
    from tests.benchmarks.results.plan import all_jobs

    ends = time.monotonic() + 60 * chosen.minutes
    code = fingerprint()
    known, earlier = read_store(code)
    jobs = [job for job in all_jobs() if job.key not in known or job.key in earlier]
    if chosen.kinds:
        jobs = [job for job in jobs if job.kind in chosen.kinds]
    STORE.parent.mkdir(exist_ok=True)
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
                known[job.key] = figures
                earlier.discard(job.key)
                line = {"code": code, "job": json.loads(job.key), "figures": figures}
                print(json.dumps(line), file=store, flush=True)
                done += 1
                print(f"{done} of {len(jobs)}: {job.key} {figures['seconds']:.0f} s", file=sys.stderr)
                running.remove((job, answer))
            time.sleep(0.05)
    planned = {job.key: known[job.key] for job in all_jobs() if job.key in known}
    write_document(planned, len(earlier & planned.keys()))
    return 0


def read_store(code: str, path: Path = STORE) -> tuple[dict[str, dict[str, object]], set[str]]:
    """Return the last results of each job by its key, and which of them are of an earlier code."""
    known: dict[str, dict[str, object]] = {}
    code_of: dict[str, str] = {}
    for line in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
        key = json.dumps(line["job"])
        known[key], code_of[key] = line["figures"], line["code"]
    return known, {key for key, its_code in code_of.items() if its_code != code}


if __name__ == "__main__":
    sys.exit(main())
