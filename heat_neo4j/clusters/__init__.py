"""Clusters: groups of nodes by level, and their names."""
