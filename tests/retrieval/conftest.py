"""Published papers that the retrievers and the MCP server are asked about; no test changes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import LiveServer
from tests.support.live_graph import open_cypher
from tests.support.retrieval_toy import RetrievalToy, published_toy


@pytest.fixture(scope="package")
def toy(server: LiveServer) -> Iterator[RetrievalToy]:
    """Papers in the plane."""
    with published_toy(server, 90) as made:
        yield made


def vector(i: float) -> list[float]:
    """Return the vector of the paper of a number: near numbers have near ones."""
    return [1.0, i / 10.0, (i / 10.0) ** 2]


@pytest.fixture(scope="package")
def indexes(server: LiveServer, toy: RetrievalToy) -> Iterator[tuple[str, str]]:
    """Names of a full-text index over titles and keys, and of an index over `vector`."""
    words, vectors = f"words_{toy.label}", f"vectors_{toy.label}"
    with open_cypher(server) as run:
        rows = [{"i": i, "vector": vector(i)} for i in range(len(toy.keys))]
        run(f"UNWIND $rows AS row MATCH (n:{toy.label} {{i: row.i}}) SET n.vector = row.vector", rows=rows)
        run(f"CREATE FULLTEXT INDEX {words} FOR (n:{toy.label}) ON EACH [n.title, n.key]")
        run(
            f"CREATE VECTOR INDEX {vectors} FOR (n:{toy.label}) ON n.vector OPTIONS {{indexConfig: "
            "{`vector.dimensions`: 3, `vector.similarity_function`: 'euclidean'}}"
        )
        run("CALL db.awaitIndexes(300)")
        yield words, vectors
        for name in (words, vectors):
            run(f"DROP INDEX {name}")
