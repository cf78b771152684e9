"""Predict the class of nodes that lack one: views of the nodes, a model of each, and their pool.

It may import: `embedding` and what that may import.
"""
