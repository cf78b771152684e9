"""FastRP and node2vec of a live server's Graph Data Science, on graphs that are in no database."""

import logging
import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.gds import fastrp, has_gds, node2vec
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.local_server.releases import RELEASES
from heat_neo4j.local_server.server import LocalServer
from tests.conftest import HEAP, OUTSIDE, PAGE_CACHE, START_TIMEOUT, new_home
from tests.support.gds_server import GDS_VERSIONS, add_gds
from tests.support.live_graph import make_ring, open_cypher, snapshot

pytestmark = [pytest.mark.live, pytest.mark.slow]

K = 16


def pytest_generate_tests(metafunc):
    if "gds_server" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--server-version")
        series = [chosen] if chosen else sorted(RELEASES)
        groups = [pytest.param(one, marks=pytest.mark.xdist_group(f"gds {one}")) for one in series]
        metafunc.parametrize("gds_server", groups, indirect=True, scope="module")


@pytest.fixture(scope="module")
def gds_server(request, tmp_path_factory):
    """A running server of this module's own with GDS and a little data."""
    home = new_home(tmp_path_factory.mktemp("gds") / "home")
    local = LocalServer(request.param, name="gds", home=home, heap=HEAP, page_cache=PAGE_CACHE)
    add_gds(local)
    try:
        local.start(START_TIMEOUT)
        uri, user, password = local.connection()
        server = SimpleNamespace(uri=uri, user=user, password=password, database=None, series=request.param)
        with open_cypher(server) as cypher:
            make_ring(cypher, "Untouched", 7)
        yield server
    finally:
        local.stop()


def connected(server):
    return Connection.open(server.uri, auth=(server.user, server.password), database=server.database)


@pytest.fixture
def cypher(gds_server):
    with open_cypher(gds_server) as run:
        yield run


@pytest.fixture
def connection(gds_server, cypher, caplog):
    """A connection; afterwards the database must be as it was, and nothing left in the memory of GDS."""
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    before = snapshot(cypher)
    opened = connected(gds_server)
    yield opened
    opened.close()
    assert cypher("CALL gds.graph.list() YIELD graphName RETURN graphName") == []
    assert snapshot(cypher) == before
    assert caplog.records == []


def two_groups(n=24, seed=0, weights=None):
    """Two dense groups, the even and the odd rows, and a last row without an edge."""
    generator = np.random.default_rng(seed)
    u, v = np.triu_indices(n, 1)
    kept = ((u - v) % 2 == 0) & (generator.random(len(u)) < 0.8)
    u, v = u[kept], v[kept]
    values = np.ones(len(u)) if weights is None else weights(u, v)
    attributes = np.round(generator.normal(size=(n + 1, 5)) * (generator.random((n + 1, 5)) < 0.5), 3)
    return Graph(sparse.csr_array((values, (u, v)), shape=(n + 1, n + 1)), attributes=attributes)


def cosines(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


def assert_rows_are_those_of(graph, vectors):
    """Nodes must be likest to those of their own group."""
    linked = graph.degrees > 0
    own = (np.arange(linked.sum())[:, None] - np.arange(linked.sum())) % 2 == 0
    similarity = cosines(vectors[linked])
    assert similarity[own].min() > similarity[~own].max()


def test_the_version_is_told(connection, gds_server):
    assert has_gds(connection) == GDS_VERSIONS[gds_server.series]


def test_a_server_without_gds_is_told_from_one_with_it(server, caplog):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    connection = connected(server)
    try:
        assert has_gds(connection) is None or server.series == OUTSIDE
        assert caplog.records == []
        if server.series != OUTSIDE:
            with pytest.raises(
                ProjectionError, match=r"^GDS at \S+ is not installed: fastrp needs its plugin$"
            ):
                fastrp(connection, two_groups(), K, 0, attributes=False)
    finally:
        connection.close()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_gds_sees_exactly_the_graph(connection, cypher, weighted, form):
    toy = two_groups(weights=(lambda u, v: 0.5 + u + v / 64) if weighted else None)
    graph = Graph(toy.adjacency, attributes=form(toy.attributes))
    seen = {}

    def look(statement, parameters):
        if "gds.fastRP" not in statement:
            return
        name = parameters["name"]
        weight = "relationshipProperty" if weighted else "relationships"
        value = "propertyValue" if weighted else "1.0"
        seen["edges"] = cypher(
            f"CALL gds.graph.{weight}.stream($name{', $weight' if weighted else ''}) "
            f"YIELD sourceNodeId AS u, targetNodeId AS v{', propertyValue' if weighted else ''} "
            f"RETURN u, v, {value} AS w",
            name=name,
            weight="weight",
        )
        seen["features"] = cypher(
            "CALL gds.graph.nodeProperty.stream($name, 'features') YIELD nodeId, propertyValue "
            "RETURN nodeId, propertyValue ORDER BY nodeId",
            name=name,
        )

    connection.tracer = look
    fastrp(connection, graph, K, 0, attributes=True)
    found = np.zeros(graph.adjacency.shape)
    for row in seen["edges"]:
        assert found[row["u"], row["v"]] == 0
        found[row["u"], row["v"]] = row["w"]
    assert np.array_equal(found, graph.adjacency.toarray())
    assert [row["nodeId"] for row in seen["features"]] == list(range(graph.n_nodes))
    assert np.array_equal([row["propertyValue"] for row in seen["features"]], toy.attributes)


def test_fastrp(connection):
    graph = two_groups()
    vectors = fastrp(connection, graph, K, 3, attributes=False)
    assert vectors.shape == (graph.n_nodes, K)
    assert vectors.dtype == np.float64
    assert np.isfinite(vectors).all()
    assert not vectors[-1].any()  # no edge
    assert_rows_are_those_of(graph, vectors)
    assert np.array_equal(vectors, fastrp(connection, graph, K, 3, attributes=False))
    assert not np.array_equal(vectors, fastrp(connection, graph, K, 4, attributes=False))


def test_fastrp_with_attributes(connection):
    graph = two_groups()
    vectors = fastrp(connection, graph, K, 3, attributes=True)
    assert vectors.shape == (graph.n_nodes, K)
    assert np.array_equal(vectors, fastrp(connection, graph, K, 3, attributes=True))
    other = Graph(graph.adjacency, attributes=graph.attributes[::-1])
    assert not np.array_equal(vectors, fastrp(connection, other, K, 3, attributes=True))
    with pytest.raises(ValueError, match="no attributes"):
        fastrp(connection, Graph(graph.adjacency), K, 3, attributes=True)


@pytest.mark.parametrize("embed", [lambda *given: fastrp(*given, attributes=False), node2vec])
def test_weights_count_unless_all_are_equal(connection, embed):
    plain = embed(connection, two_groups(), K, 0)
    assert np.array_equal(plain, embed(connection, two_groups(weights=lambda u, v: 3.0 + 0 * u), K, 0))
    assert not np.array_equal(plain, embed(connection, two_groups(weights=lambda u, v: 1.0 + 50 * u), K, 0))


def test_node2vec(connection):
    graph = two_groups()
    vectors = node2vec(connection, graph, K, 3)
    assert vectors.shape == (graph.n_nodes, K)
    assert vectors.dtype == np.float64
    assert np.isfinite(vectors).all()
    assert vectors[-1].any()
    assert_rows_are_those_of(graph, vectors)
    assert np.array_equal(vectors, node2vec(connection, graph, K, 3))
    assert not np.array_equal(vectors, node2vec(connection, graph, K, 4))


def test_a_graph_without_edges(connection):
    graph = Graph(sparse.csr_array((3, 3)), attributes=np.eye(3))
    assert not fastrp(connection, graph, K, 0, attributes=False).any()
    assert fastrp(connection, graph, K, 0, attributes=True).shape == (3, K)
    assert node2vec(connection, graph, K, 0).shape == (3, K)


@pytest.mark.parametrize("given", [(0, 0), (K, -1)])
def test_impossible_numbers_are_refused(connection, given):
    with pytest.raises(ValueError, match="must be at least"):
        node2vec(connection, two_groups(), *given)


def test_want_of_memory_is_one_line(connection):
    graph = two_groups(n=400)
    line = r"^GDS at \S+ refused fastrp: Memory required [^\n]+; give the server more heap [^\n]+$"
    with pytest.raises(ProjectionError, match=line):
        fastrp(connection, graph, 300_000, 0, attributes=False)


def interrupt_at(statement_part):
    def tracer(statement, parameters):
        if statement_part in statement:
            raise KeyboardInterrupt

    return tracer


@pytest.mark.parametrize("part", ["gds.graph.project", "gds.fastRP"])
def test_an_interrupt_between_two_statements_leaves_nothing(connection, part):
    connection.tracer = interrupt_at(part)
    with pytest.raises(KeyboardInterrupt):
        fastrp(connection, two_groups(), K, 0, attributes=False)


def test_an_interrupt_ends_the_statement_that_runs(connection, cypher):
    graph = two_groups(n=1000)  # minutes of work
    ours = "SHOW TRANSACTIONS YIELD currentQuery, metaData WHERE metaData.app STARTS WITH 'heat_neo4j' "
    over = threading.Event()

    def press():
        while not over.is_set():
            if cypher(f"{ours} AND currentQuery CONTAINS 'gds.node2vec' RETURN 1"):
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.05)

    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            node2vec(connection, graph, 128, 0)
    finally:
        over.set()
        presser.join()
    assert cypher(f"{ours} RETURN metaData.doing") == []
    assert "terminated" in str(raised.value.__cause__)  # what the driver reported: not run to its end
