"""The Neo4j releases that can run locally, and their differences."""

from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_SERIES = "5.26"  # the long-term support series
BROWSER = "org.neo4j.client:neo4j-browser:5.24.0"
"""The newest in Maven Central. No dependency of the server, which serves it when it is on the class path."""


@dataclass(frozen=True)
class Release:
    """One Neo4j Community release."""

    series: str  # of releases that open each other's data
    version: str
    main_class: str
    settings: Mapping[str, str]  # of neo4j.conf that only this series knows: an unknown one stops a server

    @property
    def artifacts(self) -> tuple[str, ...]:
        """Maven coordinates to install; the rest are their dependencies."""
        return (f"org.neo4j:neo4j:{self.version}", f"org.neo4j.app:neo4j-server:{self.version}", BROWSER)

    @property
    def lock_name(self) -> str:
        """File name of the shipped lock file."""
        return f"neo4j-{self.version}.toml"


QUIET_PERIOD = "internal.dbms.bolt.netty_server_shutdown_quiet_period"
"""After its databases are closed, a server waits twice that long (5 s) for late clients; ours has none."""

RELEASES: Mapping[str, Release] = {
    "5.26": Release("5.26", "5.26.31", "org.neo4j.server.CommunityEntryPoint", {QUIET_PERIOD: "0"}),
    "2026": Release(
        "2026",
        "2026.09.0",
        "org.neo4j.server.Neo4jCommunity",
        {
            f"{QUIET_PERIOD}_duration": "0s",
            # By default it announces itself on the network, accepts a remote manager, and trusts
            # X-Forwarded-* headers of any client.
            "dbms.fleet_manager.enabled": "false",
            "server.fleet_discovery.enabled": "false",
            "server.http.x_forward.enabled": "false",
        },
    ),
}


def find_release(version: str) -> Release:
    """Return the release of a series or of an exact version; any other version is a ValueError."""
    for release in RELEASES.values():
        if version in {release.series, release.version}:
            return release
    versions = ", ".join(f"{release.series} ({release.version})" for release in RELEASES.values())
    raise ValueError(f"version must be one of {versions}, got {version!r}")
