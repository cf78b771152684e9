"""An interactive HTML page of the Poincare disk in one file; graphs for neo4j-viz.

It may import: `pipeline` and what that may import.
"""
