"""Embedded graphs that the queries of this folder are asked about; none of its tests changes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import LiveServer
from tests.support.query_toy import N, Toy, toys_on


# Made once: the server plans each query anew for labels and types that it has not met.
@pytest.fixture(scope="package")
def toy(server: LiveServer) -> Iterator[Toy]:
    """A graph with many embedded nodes."""
    with toys_on(server, (N,)) as made:
        yield made[N]


@pytest.fixture(scope="package")
def toys(server: LiveServer, toy: Toy) -> Iterator[dict[int, Toy]]:
    """Graphs with many, one and no embedded nodes."""
    with toys_on(server, (1, 0)) as made:
        yield {N: toy, **made}
