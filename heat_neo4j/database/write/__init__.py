"""To Neo4j, in batches: coordinates, predicted links, graphs from files; and what must stay untouched.

It may import: the modules of `database` but `store`.
"""
