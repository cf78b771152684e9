"""Predict missing classes of nodes: one model per view (feature group), and their weighted pool.

It may import: `embedding` and what that may import.
"""
