"""HEAT: similarity, walks, pairs, training, the estimator; new nodes and warm starts.

It may import: `geometry`, `graph`, `_utils`, `_kernels`.
"""
