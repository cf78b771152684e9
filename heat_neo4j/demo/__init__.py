"""The import graph of the Python standard library, embedded and queried in Cypher.

It may import: `pipeline`, `plots` and what those may import.
"""

from heat_neo4j.demo.stdlib import read_import_graph

__all__ = ["read_import_graph"]
