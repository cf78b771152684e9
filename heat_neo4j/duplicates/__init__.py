"""Which nodes are the same thing: candidate pairs, comparisons, and probabilities without labelled pairs.

It may import: `graph`, `geometry`, `attributes` and what these may import.
"""
