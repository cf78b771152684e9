"""A parameter of a test for `make test-all` alone."""

from typing import Any

import pytest

__all__ = ["slow"]


def slow(*values: object) -> Any:
    """Return parameters that mark the test with them ``slow``."""
    return pytest.param(*values, marks=pytest.mark.slow)
