"""Versions: made, published, rolled back, removed, and who may do so.

It may import: all of `database` but `store`.
"""
