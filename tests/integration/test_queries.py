"""Every query of cypher/query on a live server, against slow Python that computes the same."""

import json
import logging
import math
import re
import uuid
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database import WriteNames
from heat_neo4j.graph import Graph, Provenance
from heat_neo4j.hyperboloid import from_poincare
from heat_neo4j.links import PredictedLinks
from tests.live_graph import open_cypher

pytestmark = pytest.mark.live

FOLDER = Path(__file__).parents[2] / "cypher" / "query"
QUERIES = sorted(path.stem for path in FOLDER.glob("*.cypher"))
PARAMETER = re.compile(r"^// :param (\w+) => (\S+)  +\S", re.MULTILINE)
N = 14


class Toy:
    """A small graph in the database with a published embedding and links, and the same in Python."""

    def __init__(self, cypher, store, n):
        self.label, self.type = f"Query{uuid.uuid4().hex[:8]}", f"TIE_{uuid.uuid4().hex[:8]}"
        self.model = f"query {self.label}"
        self.names = [f"n{i:02}" for i in range(n)]
        generator = np.random.default_rng(n)
        directions = generator.normal(size=(n, 4))
        sizes = np.tanh(generator.uniform(0, 4, n) / 2)  # radii from 0 to 4
        self.points = directions / np.linalg.norm(directions, axis=1, keepdims=True) * sizes[:, None]
        self.group = {name: "ab"[int(name[1:]) % 2] for name in self.names}
        pairs = [(i, j) for i in range(n) for j in range(i)]
        chosen = generator.random(len(pairs)) < 0.3
        self.ties = {(self.names[i], self.names[j]) for (i, j), yes in zip(pairs, chosen, strict=True) if yes}
        self._create(cypher)
        self._publish(cypher, store, [pair[::-1] for pair, yes in zip(pairs, chosen, strict=True) if not yes])

    def _create(self, cypher):
        rows = [[name, self.group[name]] for name in self.names]
        cypher(f"UNWIND $rows AS row CREATE (:{self.label} {{name: row[0], group: row[1]}})", rows=rows)
        cypher(f"CREATE (:{self.label} {{name: 'new since the run', group: 'a'}})")
        cypher(
            f"UNWIND $ties AS tie MATCH (a:{self.label} {{name: tie[0]}}) "
            f"MATCH (b:{self.label} {{name: tie[1]}}) CREATE (a)-[:{self.type}]->(b)",
            ties=sorted(self.ties),
        )

    def _publish(self, cypher, store, absent):
        rows = cypher(
            f"MATCH (n:{self.label}) WHERE n.name IN $names RETURN elementId(n) AS id ORDER BY n.name",
            names=self.names,
        )
        n = len(self.names)
        graph = Graph(
            sparse.csr_array((n, n)),
            node_ids=[row["id"] for row in rows],
            labels={self.label: np.ones(n, dtype=bool)},
            provenance=Provenance({"labels": [self.label], "relationships": [self.type]}, {"nodes": n}, ()),
        )
        if n == 0:
            return
        names = WriteNames(model=self.model)
        store.write_embedding(graph, from_poincare(self.points), names=names)
        found = sorted((self.distance(i, j), i, j) for i, j in absent[: 3 * N])
        self.links = [(self.names[i], self.names[j], d) for d, i, j in found]
        columns = [np.array(column) for column in zip(*found, strict=True)] or [np.empty(0)] * 3
        d, i, j = columns
        store.write_links(graph, PredictedLinks(i.astype(np.int64), j.astype(np.int64), d), names=names)

    def distance(self, i, j):
        """Return the distance by the textbook formula."""
        u, v = self.points[i], self.points[j]
        gap = (1 - sum(x * x for x in u)) * (1 - sum(x * x for x in v))
        return math.acosh(1 + 2 * sum((x - y) ** 2 for x, y in zip(u, v, strict=True)) / gap)

    def radius(self, i):
        return 2 * math.atanh(math.sqrt(sum(x * x for x in self.points[i])))

    def neighbours(self, name):
        return {b if a == name else a for a, b in self.ties if name in (a, b)}

    def values(self, **changes):
        usual = {
            "model": self.model, "label": self.label, "property": "name", "value": "n03", "other": "n05",
            "group": "group", "minDegree": 2, "k": 5,
        }  # fmt: skip
        return usual | changes


@pytest.fixture(scope="module")
def toys(server):
    """Graphs with many, one and no embedded nodes."""
    from heat_neo4j.database import Neo4jStore

    auth = (server.user, server.password)
    with (
        open_cypher(server) as cypher,
        Neo4jStore.connect(server.uri, auth=auth, database=server.database) as store,
    ):
        made = {n: Toy(cypher, store, n) for n in (N, 1, 0)}
        yield made
        for toy in made.values():
            store.clear(model=toy.model) if toy.names else None
            cypher(f"MATCH (n:{toy.label}) DETACH DELETE n")


@pytest.fixture
def toy(toys):
    return toys[N]


def ask(store, name, values):
    wanted = [parameter for parameter, _ in declared(name)]
    return store.query(name, **{parameter: values[parameter] for parameter in wanted})


def declared(name):
    text = (FOLDER / f"{name}.cypher").read_text()
    return [(parameter, json.loads(default)) for parameter, default in PARAMETER.findall(text)]


def same(rows, expected):
    """Compare rows with tuples, numbers to 9 digits."""
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert tuple(row.values()) == tuple(
            pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
            for value in wanted
        )


@pytest.mark.parametrize("name", QUERIES)
def test_parameters_stand_at_the_top_with_defaults(name):
    text = (FOLDER / f"{name}.cypher").read_text()
    comments = text[: text.index("MATCH")].splitlines()
    assert comments[0].startswith("// ")
    assert comments[0].rstrip(".:") != comments[0]
    assert all(line.startswith("//") for line in comments)
    used = set(
        re.findall(r"\$(?!\()(\w+)", "\n".join(line for line in text.splitlines() if line[:2] != "//"))
    )
    assert {parameter for parameter, _ in declared(name)} == used
    assert len(declared(name)) == text.count(":param")


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("n", [N, 1, 0])
def test_each_query_runs_without_a_notification_on_many_one_and_no_nodes(store, toys, caplog, name, n):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    rows = ask(store, name, toys[n].values(value="n00"))
    assert caplog.records == []
    ours = [row for row in rows if row.get("model", toys[n].model) == toys[n].model]
    if n == 0 or (n == 1 and name not in ("most_specific", "published")):
        assert ours == []
    else:
        assert ours


def test_nearest(store, toy):
    i = 3
    others = sorted((toy.distance(i, j), toy.names[j], toy.radius(j)) for j in range(N) if j != i)
    same(ask(store, "nearest", toy.values()), [(name, d, radius) for d, name, radius in others[:5]])
    assert len(ask(store, "nearest", toy.values(k=100))) == N - 1
    assert ask(store, "nearest", toy.values(value="new since the run")) == []


def test_nearest_elsewhere(store, toy):
    i = 3
    others = sorted(
        (toy.distance(i, j), name) for j, name in enumerate(toy.names) if toy.group[name] != toy.group["n03"]
    )
    expected = [(name, toy.group[name], d) for d, name in others[:5]]
    same(ask(store, "nearest_elsewhere", toy.values()), expected)


def test_distance(store, toy):
    same(
        ask(store, "distance", toy.values()),
        [("n03", "n05", toy.distance(3, 5), toy.radius(3), toy.radius(5))],
    )
    (row,) = ask(store, "distance", toy.values(other="n03"))
    assert row["distance"] == 0.0


def test_most_general_leaves_out_nodes_with_few_relationships(store, toy):
    found = sorted((toy.radius(i), name, len(toy.neighbours(name))) for i, name in enumerate(toy.names))
    expected = [(name, radius, degree) for radius, name, degree in found if degree >= 5]
    assert 0 < len(expected) < N  # predicted links do not count as relationships
    same(ask(store, "most_general", toy.values(minDegree=5, k=N)), expected)


def test_most_specific(store, toy):
    found = sorted(((toy.radius(i), name) for i, name in enumerate(toy.names)), reverse=True)
    same(ask(store, "most_specific", toy.values()), [(name, radius) for radius, name in found[:5]])


def test_missing_links_are_explained_by_the_neighbours_in_common(store, toy):
    expected = []
    for rank, (a, b, d) in enumerate(toy.links[:5], start=1):
        shared = toy.neighbours(a) & toy.neighbours(b)
        rarest = sorted(shared, key=lambda name: (len(toy.neighbours(name)), name))
        expected.append((rank, a, b, None, d, len(shared), rarest[:3]))
    assert any(row[5] for row in expected)
    same(ask(store, "missing_links", toy.values()), expected)


def test_links_of_a_node(store, toy):
    expected = [
        (b if a == "n03" else a, None, d, rank)
        for rank, (a, b, d) in enumerate(toy.links, start=1)
        if "n03" in (a, b)
    ]
    assert expected
    same(ask(store, "links_of", toy.values(k=100)), expected)


def test_published(store, toy):
    (row,) = (row for row in ask(store, "published", {}) if row["model"] == toy.model)
    (written,) = (run.run_id for run in store.runs(toy.model) if "embedding" in run.parts)
    assert (row["run"], row["dimension"], row["coordinates"]) == (written, 4, "poincare")
    assert row["linkType"] == WriteNames(model=toy.model).link_type
