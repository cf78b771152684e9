"""Property values of nodes as attribute columns.

It may import: `errors`.
"""
