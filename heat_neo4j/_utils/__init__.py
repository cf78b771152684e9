"""What every room may use: progress, validation, seeds, threads, files, values as text.

It may import: `errors`, `_kernels`.
"""
