"""What tests of the database share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_neo4j.database.store import Neo4jStore
from tests.conftest import LiveServer
from tests.support.live_graph import open_store


@pytest.fixture
def indexed(request: pytest.FixtureRequest) -> bool:
    """Whether publications make the vector index, as users' do: in tests marked ``vector_index``.

    Hundreds of publications are tested here for everything else.
    """
    return request.node.get_closest_marker("vector_index") is not None


@pytest.fixture
def store(server: LiveServer, indexed: bool) -> Iterator[Neo4jStore]:
    """A connected store."""
    with open_store(server, index=indexed) as opened:
        yield opened
