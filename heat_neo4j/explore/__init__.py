"""One HTML page of the Poincare disk that a person can walk in, saved as a file; neo4j-viz.

It may import: `pipeline` and what that may import.
"""
