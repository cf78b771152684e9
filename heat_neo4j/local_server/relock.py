"""Write the lock file of a release: ``python -m heat_neo4j.local_server.relock 5.26``.

For whoever raises a version in `releases`: resolves the dependencies anew (about 80 s) and writes the lock
file beside this module. Not used when a server is installed or started.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from heat_neo4j.local_server.jars import LockedJar
from heat_neo4j.local_server.releases import find_release

__all__ = ["write_lock"]


def write_lock(artifacts: Sequence[str], path: Path, *, provided: Collection[LockedJar] = ()) -> int:
    """Resolve `artifacts` in Maven Central and write every jar with its SHA-256 to `path`.

    Parameters
    ----------
    artifacts : sequence of str
        Maven coordinates, ``group:artifact:version``; their dependencies follow.
    path : Path
        The lock file, in jgo's own format.
    provided : collection of LockedJar
        Jars to leave out, in whatever version: those that the server a plugin runs in has already.

    Returns
    -------
    int
        The number of jars.
    """
    from jgo.env import LockFile
    from jgo.maven import MavenContext, PythonResolver

    there = {(jar.group, jar.artifact) for jar in provided}
    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(resolver=PythonResolver(), repo_cache=Path(repository), timeout=60)
        roots = [context.create_dependency(artifact) for artifact in artifacts]
        resolved, transitive = context.resolver.resolve(roots)
        needed = [entry for entry in transitive if entry.scope in {"compile", "runtime"}]
        kept = [entry for entry in [*resolved, *needed] if (entry.groupId, entry.artifactId) not in there]
        LockFile.from_resolved_dependencies(kept).save(path)
    return len(kept)


if __name__ == "__main__":
    chosen = find_release(sys.argv[1])
    target = Path(__file__).parent / "locks" / chosen.lock_name
    sys.stdout.write(f"{target}: {write_lock(chosen.artifacts, target)} jars\n")
