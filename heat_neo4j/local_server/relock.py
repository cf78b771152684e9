"""Write the lock file of a release: ``python -m heat_neo4j.local_server.relock 5.26``.

For whoever raises a version in `releases`: resolves the dependencies anew (about 80 s) and writes the lock
file beside this module. Not used when a server is installed or started.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from heat_neo4j.local_server.releases import Release, find_release

__all__ = ["write_lock"]


def write_lock(release: Release, path: Path) -> int:
    """Resolve `release` in Maven Central and write every jar with its SHA-256 to `path`.

    Parameters
    ----------
    release : Release
        What to resolve.
    path : Path
        The lock file, in jgo's own format.

    Returns
    -------
    int
        The number of jars.
    """
    from jgo.env import LockFile
    from jgo.maven import MavenContext, PythonResolver

    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(resolver=PythonResolver(), repo_cache=Path(repository), timeout=60)
        roots = [context.create_dependency(artifact) for artifact in release.artifacts]
        resolved, transitive = context.resolver.resolve(roots)
        needed = [entry for entry in transitive if entry.scope in {"compile", "runtime"}]
        LockFile.from_resolved_dependencies([*resolved, *needed]).save(path)
    return len(resolved) + len(needed)


if __name__ == "__main__":
    chosen = find_release(sys.argv[1])
    target = Path(__file__).parent / "locks" / chosen.lock_name
    sys.stdout.write(f"{target}: {write_lock(chosen, target)} jars\n")
