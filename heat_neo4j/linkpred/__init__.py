"""Link prediction: candidates, scores, probabilities, and their metrics.

It may import: `embedding` and what that may import.
"""
