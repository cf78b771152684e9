"""Vector indexes over coordinates, and nearest nodes by them.

It may import: `database.write`, `database.read` and the modules of `database` but `store`.
"""
