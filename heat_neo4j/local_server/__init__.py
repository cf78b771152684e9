"""A Neo4j Community server on this machine, on 127.0.0.1 only: for the demo, the tests and first steps.

It may import: `errors`, `_utils`.
"""
