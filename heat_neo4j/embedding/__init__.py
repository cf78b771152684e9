"""HEAT: similarity, walks, pairs, training, the estimator; new nodes, and training on.

It may import: `geometry`, `graph`, `_utils`, `_kernels`.
"""
