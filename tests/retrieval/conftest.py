"""Published papers that the retrievers and the MCP server are asked about; no test changes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import LiveServer
from tests.support.retrieval_toy import RetrievalToy, published_toy


@pytest.fixture(scope="module")
def toy(server: LiveServer) -> Iterator[RetrievalToy]:
    """Papers in the plane."""
    with published_toy(server, 90) as made:
        yield made
