"""`heat serve`: refreshes a model on a schedule until it is stopped.

It may import: `pipeline` and what that may import.
"""
