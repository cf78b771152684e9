"""One file per command of `heat`.

It may import: everything.
"""
