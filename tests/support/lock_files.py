"""`python -m tests.support.lock_files 5.26` resolves the jars of a release and writes its lock file."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from heat_neo4j.local_server import jars
from heat_neo4j.local_server.jars import LockedJar
from heat_neo4j.local_server.releases import find_release

__all__ = ["write_lock"]


def write_lock(artifacts: Sequence[str], path: Path, *, provided: Collection[LockedJar] = ()) -> int:
    """Resolve Maven coordinates; write every jar with its SHA-256 to `path`; return how many.

    Jars of `provided` are left out, in any version, because the server has them already.
    """
    from jgo.env import LockFile
    from jgo.maven import MavenContext, PythonResolver

    left_out = {(jar.group, jar.artifact) for jar in provided}
    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(resolver=PythonResolver(), repo_cache=Path(repository), timeout=60)
        roots = [context.create_dependency(artifact) for artifact in artifacts]
        resolved, transitive = context.resolver.resolve(roots)
        needed = [*resolved, *(entry for entry in transitive if entry.scope in {"compile", "runtime"})]
        locked = [entry for entry in needed if (entry.groupId, entry.artifactId) not in left_out]
        LockFile.from_resolved_dependencies(locked).save(path)
    return len(locked)


if __name__ == "__main__":
    chosen = find_release(sys.argv[1])
    target = Path(jars.__file__).parent / "locks" / chosen.lock_name
    sys.stdout.write(f"{target}: {write_lock(chosen.artifacts, target)} jars\n")
