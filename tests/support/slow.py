"""A parameter of a test for `make test-all` alone."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["slow", "slow_with_index"]


def slow(*values: object, marks: Iterable[pytest.MarkDecorator] = ()) -> Any:
    """Return parameters that mark the test with them ``slow``, and with `marks`."""
    return pytest.param(*values, marks=(pytest.mark.slow, *marks))


def slow_with_index(*values: object) -> Any:
    """Return parameters with which a test publishes with the vector index, so that it is ``slow``."""
    return slow(*values, marks=[pytest.mark.vector_index])
