"""Keeping an embedding fresh: what changed, how much to compute anew, and whether it is good enough."""

from heat_neo4j.refresh.decision import MODES, Limits
from heat_neo4j.refresh.gate import Gate
from heat_neo4j.refresh.job import Job, RefreshReport
from heat_neo4j.refresh.run import refresh

__all__ = ["MODES", "Gate", "Job", "Limits", "RefreshReport", "refresh"]
