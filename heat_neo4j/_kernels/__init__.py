"""Compiled code: arrays in, arrays out, no checks; each kernel has a slow, plain twin in the tests.

It may import: nothing of this package.
"""
