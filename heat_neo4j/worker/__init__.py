"""The worker: refreshes by a schedule, and does what is asked for in Cypher, until it is stopped."""

from heat_neo4j.worker.health import HealthFile
from heat_neo4j.worker.loop import Worker
from heat_neo4j.worker.schedule import Schedule

__all__ = ["HealthFile", "Schedule", "Worker"]
