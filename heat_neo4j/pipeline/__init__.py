"""From a graph in Neo4j to a published version: read, compare, plan, fit, judge, publish.

It may import: `database`, `linkpred`, `attributes` and what those may import.
"""
