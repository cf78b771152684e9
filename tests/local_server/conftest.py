"""What tests of local servers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_neo4j.local_server.folders import ServerFolder


@pytest.fixture
def folder(tmp_path: Path) -> ServerFolder:
    """The folder of a server that has never run."""
    made = ServerFolder(tmp_path / "home", "unit", "5.26")
    made.create()
    return made
