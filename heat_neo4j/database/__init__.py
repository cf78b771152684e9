"""Everything that talks to Neo4j; no other package imports the driver."""

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore

__all__ = ["Neo4jStore", "Projection", "RunRecord", "WriteNames"]
