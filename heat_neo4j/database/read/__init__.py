"""From Neo4j: a projection as a graph, what it would cost, and what is published.

It may import: `database.write` and the modules of `database` but `store`.
"""
