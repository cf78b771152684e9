"""The demo: the import graph of the Python standard library, embedded and asked in Cypher."""
