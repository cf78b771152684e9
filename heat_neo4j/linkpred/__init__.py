"""Which links are missing: candidates, scores, probabilities; what they are measured by.

It may import: `embedding` and what that may import.
"""
