"""Small graphs in a live database, and everything a database holds as one comparable value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import neo4j
import numpy as np
from neo4j import exceptions as driver_errors
from scipy import sparse
from scipy.special import expit

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import check_coordinates
from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.graph import Graph, Provenance
from heat_neo4j.linkpred.prediction import PredictedLinks
from tests.support.store import Store

_DEFAULTS = Limits()
IMPATIENT = Limits(grace_seconds=0.0)
"""For publications while a transaction of a reader is open, which they would wait for."""
EASY_GATE = "[refresh]\nmax_auroc_drop = 1\nmax_below_degree = 1\nmin_overlap = 0\n"
"""Settings by which the gate rejects no full training, whose seed is random."""

Cypher = Callable[..., list[dict[str, Any]]]


@contextmanager
def open_cypher(server: Any) -> Iterator[Cypher]:
    """Give a function that runs any statement, past the package under test."""
    with neo4j.GraphDatabase.driver(
        server.uri, auth=(server.user, server.password), notifications_min_severity="OFF"
    ) as driver:

        def cypher(statement: str, **parameters: Any) -> list[dict[str, Any]]:
            return driver.execute_query(statement, parameters, database_=server.database).records

        cypher.driver = driver
        yield cypher


class WithoutIndex(Store):
    """A store whose publications make no vector index.

    Each change of the schema makes Neo4j plan every statement anew, ten times the rest of a publication.
    """

    def start_run(self, *arguments: Any, **options: Any) -> Any:
        return super().start_run(*arguments, **{**options, "index": False})


@contextmanager
def open_store(
    server: Any,
    *,
    limits: Limits = _DEFAULTS,
    kind: type[Connection] = Connection,
    uri: str | None = None,
    index: bool = True,
) -> Iterator[Store]:
    """Give a connected store; over a connection of another kind, or with other limits, if given."""
    auth = (server.user, server.password)
    store_type = Store if index else WithoutIndex
    made: Any = store_type if kind is Connection else type(kind.__name__, (kind, store_type), {})
    with made.open(uri or server.uri, auth=auth, database=server.database, limits=limits) as store:
        yield store


@contextmanager
def before_first(store: Neo4jStore, words: str, act: Callable[[], object]) -> Iterator[list[bool]]:
    """Act once, before the first statement of the store that holds `words`; the list tells whether it did.

    The statement's transaction is open by then, so the store does not wait for readers until the end; other
    stores that publish in `act` need `IMPATIENT` limits.
    """
    acted: list[bool] = []

    def trace(statement: str, parameters: Any) -> None:
        if words in statement and not acted:
            acted.append(True)
            act()

    plain = store.limits
    store.tracer = trace
    store.limits = replace(plain, grace_seconds=0.0)
    yield acted
    store.limits = plain
    store.tracer = None


def expire_lease(cypher: Cypher, model: str) -> None:
    """Let the lease of a model be over, as if its holder had been held up."""
    cypher("MATCH (m:HeatModel {name: $m}) SET m.leaseUntil = datetime() - duration('PT1S')", m=model)


class LossyConnection(Connection):
    """Every commit succeeds without an answer when it is tried first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.lost: set[tuple[Any, str]] = set()

    def _driver_session(self, access: str, database: str | None) -> Any:
        session: Any = super()._driver_session(access, database)
        execute, run = session.execute_write, session.run
        if access == neo4j.WRITE_ACCESS:
            session.execute_write = lambda work: self._lose((work, work.metadata["doing"]), execute(work))
            session.run = lambda query, values: self._lose(
                (query.text, query.metadata["doing"]), run(query, values)
            )
        return session

    def _lose(self, commit: tuple[Any, str], result: Any) -> Any:
        if commit in self.lost:
            return result
        self.lost.add(commit)
        if isinstance(result, neo4j.Result):
            result.consume()
        raise driver_errors.IncompleteCommit()


def make_ring(cypher: Cypher, label: str, n: int) -> None:
    """Create a ring of `n` nodes with properties that nobody may touch."""
    cypher(
        f"UNWIND range(0, $n - 1) AS i "
        f"CREATE (:`{label}` {{key: i, name: 'node ' + i, tags: ['a', 'b'], embedding: [0.5]}})",
        n=n,
    )
    cypher(
        f"MATCH (a:`{label}`) MATCH (b:`{label}` {{key: (a.key + 1) % $n}}) "
        f"CREATE (a)-[:NEXT {{weight: 1.5, run: 'mine'}}]->(b)",
        n=n,
    )


def ring_graph(cypher: Cypher, label: str, **projection: Any) -> Graph:
    """Return the ring as a graph, rows in order of key."""
    records = cypher(f"MATCH (n:`{label}`) RETURN elementId(n) AS id ORDER BY n.key")
    n = len(records)
    ring = np.arange(n)
    adjacency = sparse.csr_array((np.ones(n), (ring, (ring + 1) % n)), shape=(n, n))
    return Graph(
        adjacency,
        node_ids=[record["id"] for record in records],
        labels={label: np.ones(n, dtype=bool)},
        provenance=Provenance({"labels": [label], "relationships": ["NEXT"], **projection}, {"nodes": n}, ()),
    )


def random_points(n: int, seed: int, d: int = 3) -> np.ndarray:
    """Return `n` points of the hyperboloid, shape (n, d + 1)."""
    return lift(np.random.default_rng(seed).normal(size=(n, d)))


def nearest_keys(points: np.ndarray, row: int) -> list[int]:
    """Return the other rows, nearest first."""
    apart = [(float(distance(points[row], other)), i) for i, other in enumerate(points) if i != row]
    return [i for _, i in sorted(apart)]


def random_links(n: int, seed: int, count: int = 30) -> PredictedLinks:
    """Return `count` predicted links between `n` rows."""
    generator = np.random.default_rng(seed)
    upper = np.stack(np.triu_indices(n, 2), axis=1)
    pairs = upper[generator.choice(len(upper), count, replace=False)]
    apart = np.sort(generator.random(count) * 4)
    return PredictedLinks(pairs[:, 0], pairs[:, 1], apart, expit((1.25 - apart) / 0.5))


def drop_indexes(cypher: Cypher, model: str, label: str) -> None:
    """Drop what publications of a model leave: once in a file, as Neo4j then plans all statements anew."""
    names = WriteNames(model=model)
    for name in (names.index_of(label), names.staged_index_of(label)):
        cypher(f"DROP INDEX `{name}` IF EXISTS")


def snapshot(cypher: Cypher) -> dict[str, Any]:
    """Return all nodes, relationships, indexes and constraints of the database."""
    nodes = cypher("MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties")
    relationships = cypher(
        "MATCH (a)-[r]->(b) RETURN elementId(r) AS id, elementId(a) AS a, type(r) AS type, "
        "elementId(b) AS b, properties(r) AS properties"
    )
    return {
        "nodes": {row["id"]: (sorted(row["labels"]), row["properties"]) for row in nodes},
        "relationships": {row["id"]: tuple(row.values()) for row in relationships},
        "indexes": sorted(row["name"] for row in cypher("SHOW INDEXES YIELD name")),
        "constraints": sorted(row["name"] for row in cypher("SHOW CONSTRAINTS YIELD name")),
    }


def apart_from_versions(state: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot without what tells how many versions there were, and when the last was published."""
    kept = {
        identity: (labels, {name: value for name, value in found.items() if labels != ["HeatModel"]})
        for identity, (labels, found) in state["nodes"].items()
        if labels != ["HeatVersion"]
    }
    return state | {"nodes": kept}


def published_node(cypher: Cypher, model: str) -> dict[str, Any]:
    """Return the properties of a model and of its published version, those of the latter's own left out."""
    rows = cypher(
        "MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'}) "
        "OPTIONAL MATCH (v:HeatVersion {model: m.name, number: m.version}) "
        "RETURN properties(m) AS m, properties(v) AS v",
        model=model,
    )
    if not rows:
        return {}
    (row,) = rows
    version = row["v"] or {}
    return dict(row["m"]) | {name: version[name] for name in version.keys() - {"model", "number", "token"}}


def published_values(cypher: Cypher, label: str, model: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `published_node` does and, by key, what readers see on the nodes of `label`."""
    node = published_node(cypher, model)
    rows = cypher(
        f"MATCH (n:`{label}`) WHERE n[$e] IS NOT NULL "
        "RETURN n.key AS key, n[$e] AS e, n[$r] AS r, n[$u] AS u",
        e=node["embeddingProperty"],
        r=node["radiusProperty"],
        u=node["runProperty"],
    )
    return node, {row["key"]: (row["e"], row["r"], row["u"]) for row in rows}


def runs_in_graph(cypher: Cypher, label: str, names: Any) -> dict[str, Counter[str]]:
    """Count the values in the graph by the id that they carry: in each copy, and links of each type.

    "torn" counts nodes that have some of a copy's properties and not the others, or lack the label.
    """
    counts: dict[str, Counter[str]] = {"torn": Counter()}
    for copy in ("plain", "staged", "previous"):
        properties = getattr(names, copy)
        counts[copy] = Counter()
        for row in cypher(
            "MATCH (n) WHERE n[$e] IS NOT NULL OR n[$r] IS NOT NULL OR n[$u] IS NOT NULL "
            "RETURN n[$u] AS run, "
            f"n[$e] IS NOT NULL AND n[$r] IS NOT NULL AND n[$u] IS NOT NULL AND n:`{label}` AS whole, "
            "count(*) AS c",
            e=properties.embedding,
            r=properties.radius,
            u=properties.run,
        ):
            counts[copy if row["whole"] else "torn"][row["run"]] += row["c"]
        rows = cypher(
            "MATCH ()-[p]->() WHERE type(p) = $type RETURN p.run AS run, count(*) AS c",
            type=getattr(names.links, copy),
        )
        counts[f"{copy} links"] = Counter({row["run"]: row["c"] for row in rows})
    return {name: found for name, found in counts.items() if found}


def assert_at_rest(cypher: Cypher, label: str, names: Any) -> dict[str, Any]:
    """See that the plain copy is the published version and nothing is staged; return what is published."""
    node, counts = published_node(cypher, names.model), runs_in_graph(cypher, label, names)
    rows = cypher("SHOW VECTOR INDEXES YIELD name, properties RETURN name, properties[0] AS property")
    ours = {names.plain.embedding, names.previous.embedding}  # indexes of staged coordinates stay, empty
    indexes = sorted(row["name"] for row in rows if row["property"] in ours)
    assert not counts.keys() & {"staged", "staged links", "torn"}
    assert not node.keys() & {"publishing", "staging", "stagedRun", "stagedLinkType"}
    assert indexes == sorted(node.get("indexes") or [])
    assert set(counts.get("plain", ())) == ({node["space"]} if "run" in node else set())
    assert set(counts.get("plain links", ())) == ({node["linkRun"]} if "linkRun" in node else set())
    return node


def publish_random(
    store: Store, graph: Graph, seed: int, changed: Any = None, *, names: WriteNames
) -> RunRecord:
    """Publish coordinates and links of a seed; with `changed` only those of some rows are of the seed."""
    points = random_points(graph.n_nodes, seed)
    with store.start_run(graph, parts=["embedding", "links"], names=names) as run:
        if changed is None:
            run.write_embedding(points)
        else:
            stored = store.read_stored(graph, names.model)
            assert stored is not None
            kept = type(stored)(stored.run, stored.kind, stored.values, stored.radii, ~changed)
            coordinates = kept.kept_in(check_coordinates(points, graph.n_nodes, "poincare"))
            run.send_coordinates(coordinates, {}, changed)
        run.write_links(random_links(graph.n_nodes, seed))
        return run.publish()
