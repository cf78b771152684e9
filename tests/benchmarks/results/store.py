"""The figures of all jobs: a line each in docs/results.jsonl, with the fingerprint of the code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["STORE", "Figures", "read_store"]

STORE = Path(__file__).resolve().parents[3] / "docs" / "results.jsonl"

Figures = Mapping[str, Mapping[str, Any]]
"""The figures of jobs, by the job's key."""


def read_store(path: Path = STORE) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the fingerprint and the figures that each job had last, by the job's key."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {json.dumps(line["job"]): (line["code"], line["figures"]) for line in map(json.loads, lines)}
