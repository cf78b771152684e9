"""A small embedded graph in a live database, and the same in slow Python, for the queries of cypher/query."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import load_query
from heat_neo4j.graph import Graph, Provenance
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.patterns import Pattern
from tests.support.live_graph import open_cypher, open_store

FOLDER = Path(__file__).parents[2] / "cypher" / "query"
QUERIES = sorted(path.stem for path in FOLDER.glob("*.cypher"))
SEARCHES = sorted(f"search/{path.stem}" for path in FOLDER.glob("search/*.cypher"))
PARAMETER = re.compile(r"^// :param (\w+) => (\[[^\]]*\]|\S+)  +\S", re.MULTILINE)
N = 14
NEW = "new since the run"
WORDS = [f"word {letter}" for letter in "abcdefghi"]


class Toy:
    """A graph with a published embedding and links, held twice: in the database and here.

    One node lies in the centre and two lie at one point. A node is newer than the run, and so are some
    relationships: some join what was predicted. Another model has predicted links between the same nodes.
    """

    def __init__(self, cypher, store, label, n, furthest=4.0):
        self.label, self.type, self.later = label, f"TIE_{label}", f"LATER_{label}"
        self.model = f"query {self.label}"
        self.names = [f"n{i:02}" for i in range(n)]
        self._place(np.random.default_rng(n), furthest)
        generator = np.random.default_rng(n)
        self.group = {name: "ab"[int(name[1:]) % 2] for name in self.names}
        self.year = {name: 2000 + int(name[1:]) % 3 for name in self.names}
        self.words = {name: [w for w in WORDS if generator.random() < 0.8] for name in self.names[1:]}
        for words in self.words.values():
            words[:] = words[::-1] + words[:1]  # neither sorted nor each once
        pairs = [(i, j) for i in range(n) for j in range(i)]
        chosen = generator.random(len(pairs)) < 0.3
        ties = [(self.names[i], self.names[j]) for (i, j), yes in zip(pairs, chosen, strict=True) if yes]
        self.ties = [(a, self.type, b) for a, b in sorted(ties)] + [
            (name, self.type, NEW) for name in self.names[1:7]
        ]
        self.links = []
        self._create(cypher)
        if n:
            self._publish(
                cypher,
                store,
                [
                    pair[:: 1 if sum(pair) % 3 == 0 else -1]
                    for pair, yes in zip(pairs, chosen, strict=True)
                    if not yes
                ],
            )
        # Some links have come true; beside others there is one of another type, or the other way round.
        younger = [(a, self.later, b) for a, kind, b, _ in self.links[1:4:2] if kind == self.later]
        younger += [(a, self.later, b) for a, kind, b, _ in self.links[:1] if kind == self.type]
        younger += [(b, self.later, a) for a, kind, b, _ in self.links[10:11] if kind == self.later]
        younger += self.ties[:1]
        self._tie(cypher, younger)
        self.ties += younger

    def _place(self, generator, furthest):
        n = len(self.names)
        directions = generator.normal(size=(n, 4))
        self.directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        self.radii = generator.uniform(0, furthest, n)
        if n > 1:
            self.radii[n // 2] = 0.0
            self.radii[-1], self.directions[-1] = self.radii[-2], self.directions[-2]

    @property
    def points(self):
        """Points of the hyperboloid, time last."""
        return np.column_stack((self.directions * np.sinh(self.radii)[:, None], np.cosh(self.radii)))

    def _create(self, cypher):
        rows = [
            {"name": name, "group": self.group[name], "year": self.year[name], "words": self.words.get(name)}
            for name in self.names
        ]
        cypher(f"UNWIND $rows AS row CREATE (n:{self.label}) SET n = row", rows=rows)
        cypher(f"CREATE (:{self.label} {{name: $name, group: 'a'}})", name=NEW)
        self._tie(cypher, self.ties)

    def _tie(self, cypher, ties):
        for kind in (self.type, self.later):
            cypher(
                f"UNWIND $ties AS tie MATCH (a:{self.label} {{name: tie[0]}}) "
                f"MATCH (b:{self.label} {{name: tie[2]}}) CREATE (a)-[:{kind}]->(b)",
                ties=[tie for tie in ties if tie[1] == kind],
            )

    def graph(self, cypher):
        rows = cypher(
            f"MATCH (n:{self.label}) WHERE n.name IN $names RETURN elementId(n) AS id ORDER BY n.name",
            names=self.names,
        )
        n = len(self.names)
        return Graph(
            sparse.csr_array((n, n)),
            node_ids=[row["id"] for row in rows],
            labels={self.label: np.ones(n, dtype=bool)},
            provenance=Provenance({"labels": [self.label], "relationships": [self.type]}, {"nodes": n}, ()),
        )

    def _publish(self, cypher, store, absent):
        graph, names = self.graph(cypher), WriteNames(model=self.model)
        store.write_embedding(graph, self.points, names=names)
        found = sorted((self.distance(i, j), i, j) for i, j in absent[: 3 * N])
        kinds = [self.later if place % 4 else self.type for place in range(len(found))]
        self.links = [
            (self.names[i], kind, self.names[j], d) for (d, i, j), kind in zip(found, kinds, strict=True)
        ]
        columns = [np.array(column) for column in zip(*found, strict=True)] or [np.empty(0)] * 3
        d, i, j = columns
        i, j = i.astype(np.int64), j.astype(np.int64)
        patterns = tuple(Pattern(self.label, kind, self.label) for kind in (self.type, self.later))
        place = np.array([kind == self.later for kind in kinds], dtype=np.int64)
        links = PredictedLinks(i, j, d, patterns=patterns, pattern=place)
        store.write_links(graph, links, names=names)
        i, j = np.triu_indices(len(self.names), 1)
        store.write_links(graph, PredictedLinks(i[::2], j[::2], np.ones(len(i[::2]))), names=self.others)
        self._publish_tables(store, graph)

    def _publish_tables(self, store, graph):
        """Publish classes of a property that nodes lack, and clusters on two levels."""
        rows = range(len(self.names))
        of_topic = [[self.topic(row)[part] for row in rows] for part in (0, 1)]
        of_level = [[self.cluster(row, level)[part] for row in rows] for level in (1, 2) for part in (0, 1)]
        of_price = [[self.price(row)[part] for row in rows] for part in range(3)]
        classes, clusters = WriteNames.of_classes(self.model, "topic"), WriteNames.of_clusters(self.model)
        numbers = WriteNames.of_classes(self.model, "price", numbers=True)
        for names, columns in ((classes, of_topic), (numbers, of_price), (clusters, of_level)):
            values = dict(zip(names.values, columns, strict=False))
            store.write_values(graph, np.arange(len(self.names)), values, names=names)
        write_same_as(store, graph, self.model, np.arange(len(self.names)))

    def topic(self, row):
        """Return the predicted topic of a node, and its probability."""
        return f"topic {row % 3}", 1 - row * 5 % 14 / 20

    def price(self, row):
        """Return the predicted price of a node, and the ends of its interval."""
        return 2.0 * row, 2.0 * row - 1.0, 2.0 * row + row * 5 % 14

    def cluster(self, row, level):
        """Return the cluster of a node on a level, and its name."""
        number = 1 + (row > 2) + (level == 2 and row > 7)
        return number, f"about {number} of {level}"

    @property
    def others(self):
        """Names of the other model."""
        return WriteNames(model=f"other {self.label}")

    @property
    def own_names(self):
        """What the model's names are called, by the words of `LibraryQuery.names`."""
        names = WriteNames(model=self.model)
        index = names.index_of(self.label)
        return {
            "embedding": names.plain.embedding, "radius": names.plain.radius,
            "type": names.link_type, "index": index,
            "same_as": WriteNames.of_duplicates(self.model).link_type,
        }  # fmt: skip

    def clear(self, cypher, store):
        if self.names:
            store.clear(model=self.model)
            store.clear(model=self.others.model)
        cypher(f"MATCH (n:{self.label}) DETACH DELETE n")

    def distance(self, i, j):
        """Return the distance by the hyperbolic law of cosines, written so that it keeps small ones."""
        r, s = self.radii[i], self.radii[j]
        chord = math.sinh(r) * math.sinh(s) * sum((self.directions[i] - self.directions[j]) ** 2) / 2
        return 2 * math.asinh(math.sqrt((2 * math.sinh((r - s) / 2) ** 2 + chord) / 2))

    def apart(self, a, b):
        """Return the distance of two nodes by name."""
        return self.distance(self.names.index(a), self.names.index(b))

    def radius(self, i):
        return float(self.radii[i])

    def angle(self, i, j):
        """Return the angle at the centre in degrees; 0 if one of the two lies there."""
        if 0.0 in (self.radii[i], self.radii[j]):
            return 0.0
        return math.degrees(2 * math.asin(np.linalg.norm(self.directions[i] - self.directions[j]) / 2))

    def neighbours(self, name):
        return {b if a == name else a for a, _, b in self.ties if name in (a, b)}

    def pattern_rank(self, place):
        """Return the rank of a link among those of its type."""
        return sum(link[1] == self.links[place][1] for link in self.links[: place + 1])

    def arrows(self, a, b):
        """Return what joins two nodes, in the order of the texts."""
        there = {f"-{kind}->" for first, kind, second in self.ties if (first, second) == (a, b)}
        return sorted(
            there | {f"<-{kind}-" for first, kind, second in self.ties if (first, second) == (b, a)}
        )

    def degree(self, name):
        return sum(name in (a, b) for a, _, b in self.ties)

    def values(self, **changes):
        usual = {
            "model": self.model, "label": self.label, "property": "name", "value": "n03", "other": "n05",
            "group": "group", "minDegree": 2, "k": 5, "hops": 6,
            "attributes": ["year", "words"], "types": [], "fetch": 60, "values": ["n03", "n05"],
            "among": None, "filter": None, "equals": None, "kind": None,
            "missing": "topic", "above": 0.5, "level": 2, "cluster": 1,
            "minProbability": 0.5,
        }  # fmt: skip
        return usual | changes


def write_same_as(store, graph, model, rows):
    """Publish neighbouring rows as duplicates, ever less likely."""
    first, rank = rows[:-1], np.arange(1, len(rows))
    links = SimpleNamespace(
        source=first,
        target=rows[1:],
        distance=np.ones(len(first)),
        probability=0.9 / rank,
        types=["SAME_AS"] * len(first),
        rank=rank,
        pattern_rank=rank,
        reasons=["same name"] * len(first),
    )
    names = WriteNames.of_duplicates(model)
    store.write_links(graph, links, names=names, parameters={"duplicates": {}})


@contextmanager
def toys_on(server, sizes, furthest=4.0, *, index=True) -> Iterator[dict[int, Toy]]:
    """Give toys of some numbers of embedded nodes, and remove them in the end."""
    with open_cypher(server) as cypher, open_store(server, index=index) as store:
        # Those that a test makes for itself have one name: the server plans all anew for others.
        made = {n: Toy(cypher, store, f"QueryToy{n}" if index else "QueryOwn", n, furthest) for n in sizes}
        try:
            yield made
        finally:
            for toy in made.values():
                toy.clear(cypher, store)


def declared(name):
    text = (FOLDER / f"{name}.cypher").read_text()
    return [(parameter, json.loads(default)) for parameter, default in PARAMETER.findall(text)]


def chosen(name, values):
    """Return the values of those parameters that a query has."""
    return {parameter: values[parameter] for parameter, _ in declared(name)}


def named(name, values):
    """Return the label and the property of a query, as far as it has them."""
    return {each: values[each] for each in ("label", "property") if each in load_query(name).names}


def ask(store, name, values):
    given = named(name, values) | chosen(name, values)
    if set(load_query(name).names) - {"label", "property"}:
        given["model"] = values["model"]
    return store.query(name, **given)


def same(rows, expected):
    """Compare rows with tuples, numbers to 9 digits."""
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert tuple(row.values()) == tuple(
            pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
            for value in wanted
        )
