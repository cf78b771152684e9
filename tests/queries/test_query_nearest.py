"""The queries of nearest nodes: what they give is what slow Python finds, and what they certify is true."""

import logging

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import ProjectionError
from heat_neo4j.geometry.hyperboloid import lift
from tests.support.live_graph import make_ring, open_cypher, open_store, ring_graph
from tests.support.query_toy import NEW, N, ask, same
from tests.support.slow import slow

pytestmark = pytest.mark.live

CERTIFIED = ("nearest", "nearest_where", "nearest_to_point")
CROWD = 1500


@pytest.fixture(params=["", "search/"])
def words(request, server):
    """The same queries by the procedure, and by SEARCH where the server has it."""
    if request.param and server.series == "5.26":
        pytest.skip("Neo4j 5.26 has no SEARCH")
    return request.param


def nearest(toy, i, k, among=None):
    """Return name, distance and radius of the k nearest nodes to row i."""
    others = [j for j in range(len(toy.names)) if j != i and (among is None or j in among)]
    found = sorted((toy.distance(i, j), toy.names[j], toy.radius(j)) for j in others)
    return [(name, distance, radius) for distance, name, radius in found[:k]]


def test_nearest(store, toy, words):
    expected = [(*row, True) for row in nearest(toy, 3, 5)]
    same(ask(store, words + "nearest", toy.values()), expected)
    assert len(ask(store, words + "nearest", toy.values(k=100))) == N - 1
    assert ask(store, words + "nearest", toy.values(value=NEW)) == []


def test_a_node_that_does_not_exist_is_named_with_the_one_that_may_be_meant(store, toy):
    with pytest.raises(ProjectionError, match=r"there is no .* with .* 'n033' .*did you mean 'n0?3'"):
        ask(store, "nearest", toy.values(value="n033"))
    with pytest.raises(ProjectionError, match=r"there is no .* with .* 'nobody' in database"):
        ask(store, "distance", toy.values(value="n03", other="nobody"))


def test_a_number_names_a_node_whose_key_is_that_text(store, toy, server):
    with open_cypher(server) as cypher:
        cypher(f"MATCH (n:{toy.label} {{name: 'n03'}}) SET n.kind = '155'")
        try:
            rows = ask(store, "nearest", toy.values(value=155, property="kind"))
        finally:
            cypher(f"MATCH (n:{toy.label} {{name: 'n03'}}) REMOVE n.kind")
    assert [row["distance"] for row in rows] == pytest.approx([row[1] for row in nearest(toy, 3, 5)])


@pytest.mark.parametrize("i", range(N))
def test_nearest_to_each_node_the_one_in_the_centre_and_two_at_one_point_included(store, toy, i):
    rows = ask(store, "nearest", toy.values(value=toy.names[i], k=N))
    same(rows, [(*row, True) for row in nearest(toy, i, N)])


def test_nearest_quick_and_by_a_scan(store, toy, words):
    same(ask(store, words + "nearest_quick", toy.values()), nearest(toy, 3, 5))
    same(ask(store, "nearest_scan", toy.values()), nearest(toy, 3, 5))


def test_nearest_where(store, toy, words):
    in_group = [j for j in range(N) if toy.group[toy.names[j]] == "a"]
    rows = ask(store, words + "nearest_where", toy.values(filter="group", equals="a"))
    same(rows, [(*row, True) for row in nearest(toy, 3, 5, in_group)])
    same(
        ask(store, words + "nearest_where", toy.values(among=toy.label)),
        [(*row, True) for row in nearest(toy, 3, 5)],
    )
    assert ask(store, words + "nearest_where", toy.values(among="Nobody")) == []
    assert ask(store, words + "nearest_where", toy.values(filter="group", equals="z")) == []


def test_nearest_to_the_middle_of_several_nodes(store, toy, words):
    members = [3, 5, 8]
    total = toy.points[members].sum(axis=0)
    middle = total / np.sqrt(total[-1] ** 2 - (total[:-1] ** 2).sum())
    found = sorted(
        (float(np.arccosh(middle[-1] * point[-1] - middle[:-1] @ point[:-1])), toy.names[j], toy.radius(j))
        for j, point in enumerate(toy.points)
        if j not in members
    )
    rows = ask(store, words + "nearest_to_point", toy.values(values=[toy.names[j] for j in members], k=4))
    same(rows, [(name, distance, radius, True) for distance, name, radius in found[:4]])
    assert ask(store, words + "nearest_to_point", toy.values(values=["nobody"])) == []


def test_the_middle_of_one_node_is_that_node(store, toy):
    rows = ask(store, "nearest_to_point", toy.values(values=["n03"]))
    same(rows, [(*row, True) for row in nearest(toy, 3, 5)])


def test_nearest_elsewhere(store, toy):
    others = [j for j in range(N) if toy.group[toy.names[j]] != toy.group["n03"]]
    expected = [(name, toy.group[name], distance) for name, distance, _ in nearest(toy, 3, 5, others)]
    same(ask(store, "nearest_elsewhere", toy.values()), expected)


@pytest.mark.parametrize("name", ["nearest", "nearest_where", "nearest_to_point", "nearest_quick"])
@pytest.mark.parametrize("n", [N, slow(1), slow(0)])
def test_queries_by_search_run_without_a_notification(server, store, request, caplog, name, n):
    if server.series == "5.26":
        pytest.skip("Neo4j 5.26 has no SEARCH")
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    toy = request.getfixturevalue("toy") if n == N else request.getfixturevalue("toys")[n]
    if n == 0:
        with pytest.raises(ProjectionError, match="has no published coordinates in this database"):
            ask(store, f"search/{name}", toy.values())
    else:
        rows = ask(store, f"search/{name}", toy.values(value="n00", values=["n00"]))
        assert bool(rows) == (n > 1)
    assert caplog.records == []


# --- what is certified is true -----------------------------------------------------------------------------


class Crowd:
    """Nodes of all radii in all directions: their Euclidean neighbours are others than the hyperbolic."""

    label, model = "QueryCrowd", "query crowd"

    def __init__(self):
        generator = np.random.default_rng(5)
        directions = generator.normal(size=(CROWD, 10))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = np.minimum(generator.gamma(8.0, 0.5, CROWD), 12.0)
        self.points = lift(directions * np.sinh(radii)[:, None])

    def distances(self, i):
        apart = self.points - self.points[i]
        chord = (apart[:, :-1] ** 2).sum(axis=1) - apart[:, -1] ** 2
        return 2 * np.arcsinh(np.sqrt(np.maximum(chord, 0)) / 2)

    def nearest(self, i, k, among=slice(None)):
        order = np.lexsort((np.arange(CROWD), self.distances(i)))
        allowed = np.arange(CROWD)[among]
        return [int(j) for j in order if j != i and j in allowed][:k]


@pytest.fixture(scope="module")
def crowd(server):

    made = Crowd()
    with (
        open_cypher(server) as cypher,
        open_store(server) as store,
    ):
        make_ring(cypher, made.label, CROWD)
        names = WriteNames(model=made.model)
        store.write_embedding(ring_graph(cypher, made.label), made.points, names=names)
        yield made
        store.clear(model=made.model)
        cypher(f"MATCH (n:{made.label}) DETACH DELETE n")


@pytest.mark.parametrize("fetch", [slow(1), 12, slow(60)])
def test_what_is_certified_is_true_and_what_is_not_gets_there_with_a_larger_fetch(store, crowd, fetch):
    certified = wrong = 0
    for i in range(0, CROWD, 7):
        rows = store.query(
            "nearest", model=crowd.model, label=crowd.label, property="key", value=i, k=10, fetch=fetch
        )
        found = [row["node"] for row in rows]
        if rows[0]["certified"]:
            certified += 1
            wrong += found != crowd.nearest(i, 10)
        assert len({row["certified"] for row in rows}) == 1
        np.testing.assert_allclose([row["distance"] for row in rows], crowd.distances(i)[found], rtol=1e-6)
    asked = len(range(0, CROWD, 7))
    assert (
        wrong <= 0.03 * asked
    )  # an index may overlook a node of its own; a wrong ball is wrong for a quarter
    assert {1: certified < asked, 12: certified > 0, 60: certified == asked}[fetch]


def test_a_filter_that_few_pass_is_not_certified_until_enough_is_fetched(store, crowd):
    values = {
        "model": crowd.model, "label": crowd.label, "property": "key", "value": 1, "k": 3,
        "among": None, "filter": "name", "equals": "node 77",
    }  # fmt: skip
    few = store.query("nearest_where", fetch=20, **values)
    assert not any(row["certified"] for row in few)
    (row,) = store.query("nearest_where", fetch=CROWD + 1, **values)
    assert (row["node"], row["certified"]) == (77, True)


# --- the index on the way to the centre --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "side"), [("ancestors", -1), ("descendants", 1)])
def test_the_index_finds_what_a_look_at_all_nodes_finds_on_the_way(server, store, crowd, name, side):
    with open_cypher(server) as cypher:
        bare = WriteNames(model="query crowd without index")
        store.write_embedding(ring_graph(cypher, crowd.label), crowd.points, names=bare, index=False)
    try:
        asked = {"label": crowd.label, "property": "key", "k": 10}
        radii, common = np.arccosh(crowd.points[:, -1]), []
        # Farther out, in so thin a crowd, no node lies behind another.
        for i in np.flatnonzero(radii < 5.0)[::75].tolist():
            order = crowd.distances(i) - (side == 1) * (radii - radii[i])
            others = np.flatnonzero(side * radii > side * radii[i])
            best = others[np.argsort(order[others], kind="stable")][:10].tolist()
            whole = store.query(name, model=bare.model, value=i, **asked)
            assert [row["node"] for row in whole] == best
            found = store.query(name, model=crowd.model, value=i, **asked)
            column = "distance" if side == -1 else "detour"
            measured = [row[column] for row in found]
            np.testing.assert_allclose(measured, order[[row["node"] for row in found]], atol=1e-6)
            common += [len({row["node"] for row in found} & set(best)) / len(best)] if best else []
        assert np.mean(common) > 0.95
    finally:
        store.clear(model=bare.model)
