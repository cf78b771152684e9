"""Everything that talks to Neo4j; no other package imports the driver, and this one does no training.

It may import: `attributes`, `geometry`, `graph`, `_utils`.
"""
