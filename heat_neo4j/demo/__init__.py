"""The import graph of the Python standard library, embedded and asked in Cypher.

It may import: `pipeline`, `plots` and what those may import.
"""
