"""The hyperboloid: distances, isometries, drift, and exact searches for near points.

It may import: `_utils`, `_kernels`.
"""
