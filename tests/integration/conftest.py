"""What several files of live tests share beside the server."""

import pytest

from tests.query_toy import N, toys_on


@pytest.fixture(scope="module")
def toys(server):
    """Graphs with many, one and no embedded nodes."""
    with toys_on(server, (N, 1, 0)) as made:
        yield made


@pytest.fixture
def toy(toys):
    return toys[N]
