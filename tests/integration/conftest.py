"""What several files of live tests share beside the server."""

import pytest

from tests.query_toy import N, toys_on
from tests.refresh_toy import MODEL, Papers


@pytest.fixture(scope="module")
def toys(server):
    """Graphs with many, one and no embedded nodes."""
    with toys_on(server, (N, 1, 0)) as made:
        yield made


@pytest.fixture
def toy(toys):
    return toys[N]


@pytest.fixture
def papers(cypher, store):
    """A small graph that changes; what was published of it is removed."""
    papers = Papers(cypher)
    yield papers
    store.clear(model=MODEL)
    papers.remove()
