"""Figures measured job by job, kept in docs/results.jsonl, and their tables."""
