"""A live server for benchmarks: the one NEO4J_URI names, else a local one of their own; and `heat` on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heat_neo4j.local_server.folders import heat_home
from heat_neo4j.local_server.server import LocalServer

__all__ = ["heat", "own_server", "server_settings"]


@contextmanager
def server_settings(version: str = "5.26") -> Iterator[tuple[str, str, str]]:
    """Yield address, user and password of a server; one started here is stopped, and its data removed."""
    if "NEO4J_URI" in os.environ:
        user = os.environ.get("NEO4J_USERNAME", "neo4j")
        yield os.environ["NEO4J_URI"], user, os.environ.get("NEO4J_PASSWORD", "")
        return
    with own_server(version) as server:
        yield server.connection()


@contextmanager
def own_server(
    version: str, prepare: Callable[[LocalServer], None] = lambda server: None
) -> Iterator[LocalServer]:
    """Yield a local server with data of its own, prepared before it starts; its data goes with it."""
    jars = heat_home() / "jars"
    jars.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="heat-benchmark-") as folder:
        (Path(folder) / "jars").symlink_to(jars, target_is_directory=True)
        server = LocalServer(version, name="benchmark", home=Path(folder))
        prepare(server)
        with server:
            yield server


def heat(command: str, *options: str, settings: tuple[str, str, str]) -> tuple[dict[str, Any], int]:
    """Run a command of ours in a process of its own; return its JSON and its peak memory in bytes.

    A refresh that is rejected has an exit code, and JSON all the same.
    """
    uri, user, password = settings
    known = {**os.environ, "NEO4J_URI": uri, "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password}
    program = [sys.executable, "-c", _MEASURED, command, *options, "--json"]
    done = subprocess.run(program, stdout=subprocess.PIPE, env=known, text=True, check=False)
    printed, _, kilobytes = done.stdout.rstrip().rpartition("\n")
    if not printed:
        raise RuntimeError(f"heat {command} ended with exit code {done.returncode}")
    return json.loads(printed), int(kilobytes) * 1024


_MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "heat_neo4j", *sys.argv[1:]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, flush=True)
sys.exit(done.returncode)
"""
"""Linux counts what a process held before it became another program: a small one has to start ours."""
