"""What tests of link prediction share."""

from __future__ import annotations

import pytest


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for links in many blocks of small graphs; how they are cut is decided in this process."""
    monkeypatch.setattr("heat_neo4j.geometry.search._ROWS_PER_REPORT", 20)
    monkeypatch.setattr("heat_neo4j.linkpred.best_scored.BLOCK_SOURCES", 25)
    for module in ("best_scored", "shortlists"):
        monkeypatch.setattr(f"heat_neo4j.linkpred.{module}.PART", 10)
