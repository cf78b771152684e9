"""One HTML page of the Poincare disk that a person can walk in.

It may import: `pipeline` and what that may import.
"""
