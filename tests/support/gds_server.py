"""A local server with Graph Data Science (GDS), which is a plugin: for the tests of what needs it.

Its jars are pinned by ``tests/locks/gds-<series>.toml``. To write these anew (about 30 s each)::

    python -m tests.support.gds_server 5.26
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from heat_neo4j._utils.progress import no_progress
from heat_neo4j.local_server.jars import install, parse_lock, read_lock
from heat_neo4j.local_server.releases import find_release
from heat_neo4j.local_server.server import LocalServer
from tests.support.lock_files import write_lock

__all__ = ["GDS_VERSIONS", "add_gds"]

GDS_VERSIONS = {"5.26": "2.13.9", "2026": "2.26.0"}
"""The newest open GDS in Maven Central for each release series."""

UNRESTRICTED = "dbms.security.procedures.unrestricted"
LOCKS = Path(__file__).parent / "locks"


def add_gds(server: LocalServer) -> None:
    """Have `server`, which does not run yet, start with GDS; download its jars if they are not there."""
    version = GDS_VERSIONS[server.release.series]
    jars = parse_lock(_lock(server.release.series).read_text(encoding="utf-8"))
    cache = server.folder.home / "jars"
    server.folder.create()
    for jar in install(jars, cache, name=f"GDS {version}", on_progress=no_progress):
        link = server.folder.path / "plugins" / jar.name
        link.unlink(missing_ok=True)
        link.symlink_to(jar)
    settings = MappingProxyType({**server.release.settings, UNRESTRICTED: "gds.*"})
    server.release = replace(server.release, settings=settings)


def _lock(series: str) -> Path:
    return LOCKS / f"gds-{series}.toml"


if __name__ == "__main__":
    series = sys.argv[1]
    # proc without opengds-extension knows no procedures. What the server has is left out, in any version: a
    # plugin sees the server's classes first.
    artifacts = [f"org.neo4j.gds:{name}:{GDS_VERSIONS[series]}" for name in ("proc", "opengds-extension")]
    count = write_lock(artifacts, _lock(series), provided=read_lock(find_release(series)))
    sys.stdout.write(f"{_lock(series)}: {count} jars\n")
