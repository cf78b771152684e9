"""A parameter of a test for `make test-all` alone."""

from typing import Any

import pytest

__all__ = ["slow"]


def slow(value: object) -> Any:
    """Return a parameter that marks the test with it ``slow``."""
    return pytest.param(value, marks=pytest.mark.slow)
