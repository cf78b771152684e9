"""Is an embedding any good: link prediction and network reconstruction."""

from __future__ import annotations

from heat_neo4j.evaluation.links import link_auroc
from heat_neo4j.evaluation.reconstruction import reconstruction_auroc

__all__ = ["link_auroc", "reconstruction_auroc"]
