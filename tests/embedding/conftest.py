"""A small training by buckets in memory, to compare others with."""

import pytest

from heat_neo4j import HEAT
from tests.support.small_training import OPTIONS, make_graph


@pytest.fixture(scope="session")
def graph():
    return make_graph()


@pytest.fixture(scope="session")
def in_memory(graph):
    return HEAT(**OPTIONS).fit(graph)
