"""A Dask scheduler and workers, each a process of its own, that a test may kill."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

__all__ = ["connected", "scheduler", "worker"]

Process = subprocess.Popen[bytes]


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[Process, Path]]:
    """Yield a scheduler on this machine, and the file that tells where it is."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    with _process("scheduler", "--port", "0", "--scheduler-file", str(file)) as running:
        yield running, file


@contextmanager
def worker(file: Path) -> Iterator[Process]:
    """Yield a worker with one thread, without a nanny that would bring it back."""
    own = ("--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--death-timeout", "60")
    with _process("worker", *own) as running:
        yield running


@contextmanager
def connected(file: Path, workers: int) -> Iterator[Client]:
    """Yield a client, once so many workers are there."""
    with Client(scheduler_file=str(file), set_as_default=False, timeout=60) as client:
        client.wait_for_workers(workers, timeout=60)
        yield client


@contextmanager
def _process(command: str, *arguments: str) -> Iterator[Process]:
    program = [sys.executable, "-m", f"distributed.cli.dask_{command}", *arguments]
    running = subprocess.Popen(
        [*program, "--host", "127.0.0.1", "--no-dashboard"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()
