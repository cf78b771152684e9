"""Clusters: groups of nodes by level, and what to call them."""
