"""`heat serve`: refreshes by a schedule, and does what is asked for in Cypher, until it is stopped.

It may import: `pipeline` and what that may import.
"""
