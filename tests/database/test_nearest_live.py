"""Nearest nodes from a live server: what slow Python finds, from the index and by looking at every node."""

import json
import logging
import math
import re
import uuid

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.limits import Limits
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph, Provenance
from tests.support.live_graph import open_cypher, open_store
from tests.support.slow import slow

pytestmark = [pytest.mark.live, pytest.mark.vector_index]

N = 400
BORDER = 12.0


class Cloud:
    """Embedded nodes, in the database and here: a centre, some at one point, many close to the border."""

    def __init__(self, cypher, store, n, d, furthest, *, coordinates="poincare", index=True, clustered=False):
        self.label = f"Cloud{uuid.uuid4().hex[:8]}"
        self.names = WriteNames(model=f"cloud {self.label}")
        generator = np.random.default_rng(n + d)
        directions = generator.normal(size=(n, d))
        if clustered:  # a few narrow bundles: neighbours are much nearer than others
            directions = directions[generator.integers(0, 8, n)] + 1e-3 * directions
        self.directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        self.radii = furthest * np.sqrt(generator.uniform(0, 1, n))
        if n > 20:
            self.radii[0] = 0.0
            self.radii[10:14], self.directions[10:14] = self.radii[10], self.directions[10]
            self.radii[14:18] = furthest
        self.groups = [str(i % 7) for i in range(n)]
        cypher(
            f"UNWIND range(0, $n - 1) AS i CREATE (:`{self.label}` "
            "{key: i, name: 'n' + i, only: $label + i, group: $groups[i], rare: i % 97 = 5})",
            n=n,
            label=self.label,
            groups=self.groups,
        )
        ids = cypher(f"MATCH (n:`{self.label}`) RETURN elementId(n) AS id ORDER BY n.key")
        self.ids = [row["id"] for row in ids]
        graph = Graph(
            sparse.csr_array((n, n)),
            node_ids=self.ids,
            labels={self.label: np.ones(n, dtype=bool)},
            provenance=Provenance({"labels": [self.label], "key": "name"}, {"nodes": n}, ()),
        )
        points = np.column_stack((self.directions * np.sinh(self.radii)[:, None], np.cosh(self.radii)))
        store.write_embedding(graph, points, names=self.names, coordinates=coordinates, index=index)

    @property
    def model(self):
        return self.names.model

    def distance(self, i, j):
        """Return the distance by the hyperbolic law of cosines, written so that it keeps small ones."""
        r, s = self.radii[i], self.radii[j]
        chord = math.sinh(r) * math.sinh(s) * sum((self.directions[i] - self.directions[j]) ** 2) / 2
        return 2 * math.asinh(math.sqrt((2 * math.sinh((r - s) / 2) ** 2 + chord) / 2))

    def nearest(self, i, keep=lambda j: True):
        """Return the distances of all other nodes that are kept, the nearest first."""
        return sorted(self.distance(i, j) for j in range(len(self.ids)) if j != i and keep(j))

    def clear(self, cypher, store):
        store.clear(model=self.model)
        cypher(f"MATCH (n:`{self.label}`) DETACH DELETE n")


def opened(server, *arguments, **options):
    with (
        open_cypher(server) as cypher,
        open_store(server) as store,
    ):
        made = Cloud(cypher, store, *arguments, **options)
        yield made
        made.clear(cypher, store)


@pytest.fixture(scope="module")
def cloud(server):
    yield from opened(server, N, 4, BORDER)


@pytest.fixture(scope="module")
def bundles(server):
    yield from opened(server, N, 3, BORDER, clustered=True)


@pytest.fixture(scope="module")
def plane(server):
    yield from opened(server, N, 2, 6.0)


@pytest.fixture(scope="module")
def bare(server):
    yield from opened(server, N, 4, BORDER, index=False)


@pytest.fixture(params=["cloud", slow("bundles"), slow("plane"), "bare"])
def any_cloud(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def own(server):
    """A small cloud that a test may harm."""
    yield from opened(server, 30, 3, 4.0)


@pytest.fixture(scope="module")
def small(server):
    yield from opened(server, 30, 3, 4.0)


@pytest.fixture
def lent(small, cypher):
    """A small cloud that a test may write to; putting it back costs a tenth of a new one and its index."""
    nodes = cypher(f"MATCH (n:`{small.label}`) RETURN elementId(n) AS id, properties(n) AS properties")
    (run,) = cypher("MATCH (r:HeatRun {model: $model}) RETURN properties(r) AS p", model=small.model)
    yield small
    cypher(f"MATCH (n:`{small.label}`) WHERE NOT elementId(n) IN $ids DELETE n", ids=small.ids)
    cypher(
        "UNWIND $nodes AS node MATCH (n) WHERE elementId(n) = node.id "
        "SET n = node.properties REMOVE n:CloudEven:CloudOdd",
        nodes=[node.data() for node in nodes],
    )
    cypher("MATCH (r:HeatRun {model: $model}) SET r = $p", model=small.model, p=run["p"])


# Far out a distance below 1 is a difference of numbers that are alike to some digits.
def digits(values):
    return pytest.approx(values, rel=1e-5, abs=1e-5)


ROWS = [0, 1, 10, 13, 14, *range(20, N, 38)]


@pytest.mark.parametrize("exact", [False, True])
def test_neighbours_are_those_of_a_look_at_all(store, any_cloud, exact):
    for i in ROWS:
        answer = store.neighbours(f"n{i}", model=any_cloud.model, k=7, exact=exact, show=["key"])
        assert (answer.element_id, answer.model, answer.certified) == (
            any_cloud.ids[i],
            any_cloud.model,
            True,
        )
        found = [each.properties["key"] for each in answer.nodes]
        assert len(set(found)) == 7
        assert i not in found
        distances = [each.distance for each in answer.nodes]
        assert distances == sorted(distances)
        assert distances == digits(any_cloud.nearest(i)[:7])
        assert distances == digits([any_cloud.distance(i, j) for j in found])
        assert [each.radius for each in answer.nodes] == pytest.approx([any_cloud.radii[j] for j in found])
        assert [each.element_id for each in answer.nodes] == [any_cloud.ids[j] for j in found]
        assert {each.labels for each in answer.nodes} == {(any_cloud.label,)}
        assert (answer.fetch is None) == (exact or any_cloud.names.model not in indexed(store, any_cloud))


def indexed(store, cloud):
    """Return the model's name if it has an index."""
    return {cloud.model} if store.index_status(cloud.model).indexes else set()


def test_nodes_at_one_point_are_each_others_neighbours(store, cloud):
    for i in range(10, 14):
        near = store.neighbours(f"n{i}", model=cloud.model, k=3).nodes
        assert {each.properties["name"] for each in near} == {f"n{j}" for j in range(10, 14)} - {f"n{i}"}
        assert [each.distance for each in near] == pytest.approx([0.0] * 3, abs=1e-6)


@pytest.mark.parametrize("exact", [False, True])
def test_more_are_asked_for_than_there_are(store, cloud, exact):
    answer = store.neighbours("n40", model=cloud.model, k=10 * N, exact=exact)
    assert len(answer.nodes) == N - 1
    assert answer.certified
    assert [each.distance for each in answer.nodes] == digits(cloud.nearest(40))


@pytest.mark.parametrize("fetch", [1, 2, 3, 5])
def test_a_certified_answer_lacks_no_nearer_node(store, any_cloud, fetch):
    """However few candidates the index gives at first: it is asked again, or all are looked at."""
    asked = []
    store.tracer = lambda statement, parameters: asked.append(parameters.get("heat_fetch"))
    rounds = set()
    for i in ROWS:
        asked.clear()
        answer = store.neighbours(f"n{i}", model=any_cloud.model, k=5, fetch=fetch)
        assert answer.certified
        assert [each.distance for each in answer.nodes] == digits(any_cloud.nearest(i)[:5])
        sizes = [size for size in asked if size is not None]
        assert sizes == [fetch * 2**turn for turn in range(len(sizes))]
        assert answer.fetch == (sizes[-1] if sizes else None)
        rounds.add(len(sizes))
    assert max(rounds) > 1 or fetch > 1 or answer.fetch is None


def test_in_the_end_every_node_is_looked_at(store, cloud):
    store.limits = Limits(candidates=8)
    answer = store.neighbours("n77", model=cloud.model, k=50, fetch=3)
    assert (answer.fetch, answer.certified) == (None, True)
    assert [each.distance for each in answer.nodes] == digits(cloud.nearest(77)[:50])


@pytest.mark.parametrize("exact", [False, True])
def test_a_filter_keeps_what_it_says(store, any_cloud, caplog, exact):
    """One node in 97: the nearest of them are far beyond what the index gives at first."""
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    cases = [
        ("n.rare", {}, lambda j: j % 97 == 5),
        ("n.group = $group", {"group": "3"}, lambda j: any_cloud.groups[j] == "3"),
        ("n.key IN $keys // of mine", {"keys": [1, 2, 399]}, lambda j: j in (1, 2, 399)),
        ("n.key < 0 OR n.key > 1000", {}, lambda j: False),
        ("n.missing > 1", {}, lambda j: False),
    ]
    for i in (5, 10, 201):
        for text, values, keep in cases:
            answer = store.neighbours(
                f"n{i}",
                model=any_cloud.model,
                k=4,
                exact=exact,
                fetch=4,
                node_filter=text,
                filter_parameters=values,
            )
            assert [each.distance for each in answer.nodes] == digits(any_cloud.nearest(i, keep)[:4])
            assert all(keep(int(each.properties["name"][1:])) for each in answer.nodes)
            assert answer.certified
    assert caplog.messages == []


@pytest.mark.parametrize("exact", [False, True])
def test_a_filter_that_the_server_refuses_is_told(store, cloud, exact):
    def ask(text, **values):
        store.neighbours("n1", model=cloud.model, exact=exact, node_filter=text, filter_parameters=values)

    with pytest.raises(ProjectionError, match="refused a statement while looking for"):
        ask("n.key >")
    with pytest.raises(ProjectionError, match=r"looking for neighbours: .*since"):
        ask("n.key > $since")
    with pytest.raises(ProjectionError, match="looking for neighbours"):
        ask("true) SET n.key = 1 WITH n WHERE (true")
    for name in ("heat_k", "heat_fetch", "heat_mine"):
        with pytest.raises(ValueError, match=f"{name!r} is reserved"):
            ask("true", **{name: 3})
    ask("n.key > $model AND n.key < $node", model=3, node=9)  # free names


def test_properties_are_shown_as_asked(store, cloud):
    def properties(**options):
        return store.neighbours("n3", model=cloud.model, k=1, **options).nodes[0].properties

    assert list(properties()) == ["name"]
    assert properties(show=[]) == {}
    shown = properties(show=["group", "createdBy", "key"])  # which only nodes of the bookkeeping have
    assert list(shown) == ["group", "createdBy", "key"]
    assert shown["createdBy"] is None
    assert shown["group"] == str(shown["key"] % 7)
    with pytest.raises(ProjectionError, match="no property 'property of none' in database"):
        properties(show=["group", "property of none"])


# --- which node --------------------------------------------------------------------------------------------


def test_a_node_is_found_by_key_or_element_id(store, cloud):
    wanted = store.neighbours(cloud.ids[21], model=cloud.model)
    assert wanted.element_id == cloud.ids[21]
    assert store.neighbours("n21", model=cloud.model) == wanted
    by_number = store.neighbours("21", key="key", model=cloud.model, show=["name"])
    unlike = store.neighbours(f"{cloud.label}21", key="only", labels=[], model=cloud.model, show=["name"])
    assert unlike.element_id == by_number.element_id == wanted.element_id
    assert [each.name for each in wanted.nodes] == [each.properties["name"] for each in by_number.nodes]
    assert [each.name for each in by_number.nodes] == [each.name[1:] for each in wanted.nodes]
    assert [each.properties for each in unlike.nodes] == [each.properties for each in wanted.nodes]
    assert store.neighbours("n21", labels=["Elsewhere", cloud.label], model=cloud.model) == wanted


def test_a_node_that_is_not_there_is_told(store, cloud):
    for node, options, message in [
        ("n999", {}, f"there is no {cloud.label} with name 'n999' in database"),
        ("21", {}, f"there is no {cloud.label} with name '21'"),
        ("n21", {"key": "naem"}, "no property 'naem' in database .*: did you mean 'name'?"),
        ("n21", {"labels": [f"{cloud.label}y"]}, f"no node label .*: did you mean '{cloud.label}'?"),
        ("n21", {"key": {f"{cloud.label}y": "name"}}, f"no node label .*: did you mean '{cloud.label}'?"),
        ("4:00000000-0000-0000-0000-000000000000:1", {}, "there is no node '4:00000000.*' in database"),
        ("0", {"key": "group"}, "there are several nodes like that: .* with group '0'; give an element id"),
        ("9" * 30, {"key": "key"}, "there is no .* with key '9999"),
        ("n21", {"model": "nosuch"}, "model 'nosuch' has no published coordinates"),
    ]:
        for exact in (False, True):
            with pytest.raises(ProjectionError, match=message):
                store.neighbours(node, exact=exact, **{"model": cloud.model, **options})


def test_a_node_that_may_be_meant_is_suggested(store, cypher, cloud):
    which = f"MATCH (n:`{cloud.label}` {{name: 'n21'}})"
    cypher(f"{which} SET n.title = 'The Only One', n.words = ['The Only One']")
    try:
        for text, hint in (
            ("N21", "did you mean 'n21'?"),
            ("the only one", "did you mean 'n21', which has this title?"),
            ("21", None),  # the value of a number
            ("words", None),
        ):
            end = re.escape(f": {hint}") if hint else "in database '[^']*'"
            with pytest.raises(ProjectionError, match=f"{end}$"):
                store.neighbours(text, model=cloud.model)
    finally:
        cypher(f"{which} REMOVE n.title, n.words")


def test_each_label_is_found_and_named_by_its_own_key(store, cypher, lent):
    key = {"CloudEven": "name", "CloudOdd": "code"}
    cypher(
        f"MATCH (n:`{lent.label}`) WHERE n.key < 20 "
        "FOREACH (_ IN CASE n.key % 2 WHEN 0 THEN [1] ELSE [] END | SET n:CloudEven) "
        "FOREACH (_ IN CASE n.key % 2 WHEN 1 THEN [1] ELSE [] END | SET n:CloudOdd, n.code = 'c' + n.key)"
    )
    cypher(
        "MATCH (r:HeatRun {model: $model}) SET r.projection = $projection",
        model=lent.model,
        projection=json.dumps({"labels": [lent.label], "key": key}),
    )
    for node in ("n4", "c5"):
        answer = store.neighbours(node, model=lent.model, k=40)
        assert answer.element_id == lent.ids[int(node[1:])]
        calls = dict(zip(lent.ids, range(30), strict=True))
        for each in answer.nodes:
            i = calls[each.element_id]
            number = each.element_id.rpartition(":")[2]
            assert each.name == (f"{lent.label} {number}" if i >= 20 else f"{'nc'[i % 2]}{i}")
            assert list(each.properties) == ["name", "code"]
    assert store.neighbours("5", key={"CloudOdd": "key"}, model=lent.model).element_id == lent.ids[5]
    cypher(f"MATCH (n:`{lent.label}` {{key: 5}}) SET n.code = 'n4'")
    with pytest.raises(
        ProjectionError, match="CloudEven with name 'n4' and CloudOdd with code 'n4'; give a label"
    ):
        store.neighbours("n4", model=lent.model)
    assert store.neighbours("n4", labels=["CloudOdd"], model=lent.model).element_id == lent.ids[5]


def test_a_key_may_be_text_that_looks_like_a_number(store, cypher, lent):
    cypher(f"MATCH (n:`{lent.label}` {{key: 4}}) SET n.code = '007'")
    assert store.neighbours("007", key="code", model=lent.model).element_id == lent.ids[4]
    cypher(f"MATCH (n:`{lent.label}` {{key: 5}}) SET n.code = -7")
    assert store.neighbours("-7", key="code", model=lent.model).element_id == lent.ids[5]
    cypher(f"MATCH (n:`{lent.label}` {{key: 6}}) SET n.code = '-7'")
    with pytest.raises(ProjectionError, match="there are several nodes"):
        store.neighbours("-7", key="code", model=lent.model)


def test_a_node_without_a_key_is_asked_for_by_element_id(store, cypher, lent):
    cypher("MATCH (r:HeatRun {model: $model}) SET r.projection = '{}'", model=lent.model)
    near = store.neighbours(lent.ids[4], model=lent.model, k=2)
    assert [each.properties for each in near.nodes] == [{}, {}]
    with pytest.raises(ProjectionError, match="the model has no key to find 'n4' by: give an element id"):
        store.neighbours("n4", model=lent.model)


def test_a_node_newer_than_the_run_has_no_neighbours_yet(store, cypher, lent):
    cypher(f"CREATE (:`{lent.label}` {{name: 'new'}})")
    for exact in (False, True):
        with pytest.raises(
            ProjectionError, match=r"has no coordinates of model .*; `heat refresh` places new nodes"
        ):
            store.neighbours("new", model=lent.model, exact=exact)


@pytest.mark.parametrize(("k", "fetch"), [(0, 1), (-1, 1), (1, 0)])
def test_numbers_out_of_range_are_told(store, cloud, k, fetch):
    with pytest.raises(ValueError, match="must be at least 1"):
        store.neighbours("n1", model=cloud.model, k=k, fetch=fetch)


# --- the index ---------------------------------------------------------------------------------------------


def test_nodes_deleted_since_are_not_among_the_neighbours(store, cypher, own):
    cypher(f"MATCH (n:`{own.label}`) WHERE n.key IN [0, 1, 2, 20, 21] DELETE n")
    for exact in (False, True):
        answer = store.neighbours("n4", model=own.model, k=40, exact=exact)
        left = own.nearest(4, lambda j: j not in (0, 1, 2, 20, 21))
        assert [each.distance for each in answer.nodes] == digits(left)
    cypher(f"MATCH (n:`{own.label}`) WHERE n.key <> 4 DELETE n")
    for exact in (False, True):
        alone = store.neighbours("n4", model=own.model, exact=exact)
        assert (alone.nodes, alone.certified) == ((), True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [slow("hyperboloid"), "klein"])
def test_other_coordinates_have_points_of_the_ball_beside_them(server, store, kind):
    def ask(model, exact):
        answer = store.neighbours("n4", model=model, exact=exact)
        assert [each.distance for each in answer.nodes] == digits(other.nearest(4)[:10])
        return answer

    for other in opened(server, 60, 3, 9.0, coordinates=kind):
        assert ask(other.model, exact=False).fetch is not None
        assert ask(other.model, exact=True).fetch is None
        asked = {"model": other.model, "label": other.label, "property": "name", "value": "n4"}
        rows = store.query("nearest_scan", **asked)
        assert [row["distance"] for row in rows] == digits(other.nearest(4)[:10])
        store.drop_index(other.model)
        for exact in (False, True):
            assert ask(other.model, exact).fetch is None
        store.create_index(other.model)
        assert ask(other.model, exact=False).fetch is not None


@pytest.mark.slow
def test_an_index_that_somebody_dropped_is_told(store, cypher, own):
    (name,) = (index.name for index in store.index_status(own.model).indexes)
    cypher(f"DROP INDEX `{name}`")
    with pytest.raises(ProjectionError, match=r"an index of model .* is missing: run `heat index create`"):
        store.neighbours("n4", model=own.model)
    assert store.neighbours("n4", model=own.model, exact=True).fetch is None
    store.create_index(own.model)
    answer = store.neighbours("n4", model=own.model)
    assert [each.distance for each in answer.nodes] == digits(own.nearest(4)[:10])


@pytest.mark.slow
def test_a_query_of_the_library_asks_the_models_own_index(server, store, own):
    if store.server.version.startswith("5."):
        with pytest.raises(ProjectionError, match="refused a statement"):  # no SEARCH there
            store.query("search/nearest", model=own.model, label=own.label, property="name", value="n4")
        return
    rows = store.query("search/nearest", model=own.model, label=own.label, property="name", value="n4", k=5)
    assert [row["distance"] for row in rows] == digits(own.nearest(4)[:5])
    store.drop_index(own.model)
    with pytest.raises(ProjectionError, match="the model has no vector index"):
        store.query("search/nearest", model=own.model, label=own.label, property="name", value="n4")
