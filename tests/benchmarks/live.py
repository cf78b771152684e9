"""A live server for benchmarks: the one NEO4J_URI names, else a local one with data of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from heat_neo4j.local_server import LocalServer
from heat_neo4j.local_server.folders import heat_home

__all__ = ["own_server", "server_settings"]


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
