"""Graphs from elsewhere than a database: files, matrices, data frames, NetworkX, igraph, PyTorch Geometric.

It may import: `attributes` and what that may import.
"""
