"""How the server carries the library's queries out: by indexes, on a graph on which a scan would show."""

import re

import neo4j
import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import list_queries, load_query
from heat_neo4j.linkpred.prediction import PredictedLinks
from tests.docs.reference import columns
from tests.support.live_graph import open_cypher, open_store, random_points, ring_graph
from tests.support.query_toy import write_same_as
from tests.support.slow import slow

pytestmark = pytest.mark.live

N = 3_000
LABEL, CONSTRAINT = "PlannedNode", "planned_key"
NAMES = WriteNames(model="planned")
SAME_AS = WriteNames.of_duplicates(NAMES.model).link_type
QUERIES = [query.name for query in list_queries()]
QUICK = ("explain_link", "most_general", "nearest", "recommend", "search/nearest", "shortest_path")
ALL = re.compile("ooks at all (nodes|relationships)")
SCANS = ("AllNodesScan", "NodeByLabelScan", "IndexScan", "AllRelationshipsScan", "RelationshipTypeScan")
OF_ALL, OF_ONE = 60 * N, N
"""Database hits at most, of queries that look at all nodes and of the others; procedures tell none."""
VALUES = {
    "model": NAMES.model, "value": 17, "other": 23, "values": [17, 23], "group": "group",
    "attributes": ["tags"], "minDegree": 2, "missing": "topic", "cluster": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def session(server):
    """A ring of nodes with a constraint on their key, with coordinates, an index and predicted links."""
    with (
        open_cypher(server) as cypher,
        open_store(server) as store,
        cypher.driver.session(database=server.database, default_access_mode=neo4j.READ_ACCESS) as session,
    ):
        cypher(f"CREATE CONSTRAINT {CONSTRAINT} FOR (n:{LABEL}) REQUIRE n.key IS UNIQUE")
        cypher(
            f"UNWIND range(0, $n - 1) AS i CREATE (:{LABEL} {{key: i, group: i % 2, tags: ['a', 'b']}})", n=N
        )
        cypher(
            f"UNWIND range(0, $n - 1) AS i MATCH (a:{LABEL} {{key: i}}) "
            f"MATCH (b:{LABEL} {{key: (i + 1) % $n}}) CREATE (a)-[:NEXT]->(b)",
            n=N,
        )
        graph = ring_graph(cypher, LABEL)
        store.write_embedding(graph, random_points(N, 0), names=NAMES)
        ends = np.arange(300)
        store.write_links(graph, PredictedLinks(ends, ends + 2, np.ones(300)), names=NAMES)
        classes, clusters = WriteNames.of_classes(NAMES.model, "topic"), WriteNames.of_clusters(NAMES.model)
        for names, columns in ((classes, (["a"] * 300, [0.5] * 300)), (clusters, ([1] * 300, ["a"] * 300))):
            store.write_values(graph, ends, dict(zip(names.values, columns, strict=False)), names=names)
        write_same_as(store, graph, NAMES.model, ends[:20])
        cypher("CALL db.prepareForReplanning()")  # until then the planner may know nothing of the new index
        yield session
        store.clear(model=NAMES.model)
        cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")
        cypher(f"DROP CONSTRAINT {CONSTRAINT}")


def steps(plan):
    """Return all operators of a plan that was carried out."""
    return [plan, *(step for child in plan.get("children", ()) for step in steps(child))]


def profile(session, name, names=None):
    """Return the operators by which a query was carried out, and its database hits."""
    query = load_query(name)
    chosen = {"label": LABEL, "property": "key", "type": NAMES.link_type, "index": NAMES.index_of(LABEL)}
    chosen |= {"embedding": NAMES.plain.embedding, "radius": NAMES.plain.radius, "same_as": SAME_AS}
    known = [each.name for each in query.parameters]
    given = {each: chosen[each] for each in query.names if each in ("label", "property")}
    _, values = query.divide(given | {each: value for each, value in VALUES.items() if each in known})
    statement = query.written({each: chosen[each] for each in query.names} if names is None else names)
    version = statement.split("\n")[0] if statement.startswith("CYPHER") else ""
    result = session.run(f"{version} PROFILE {statement.removeprefix(version)}", values)
    rows = list(result)
    found = steps(result.consume().profile)
    return rows, found, sum(step.get("dbHits", 0) for step in found)


def scans(found):
    """Return the operators that look at all nodes or relationships of a kind that is the user's."""
    ran = [step for step in found if step.get("rows")]  # with an index, the scan beside it does not run
    kinds = [(step["operatorType"].split("@")[0], step["args"].get("Details", "")) for step in ran]
    return [
        kind
        for kind, details in kinds
        if kind.endswith(SCANS) and not any(ours in details for ours in (":Heat", NAMES.link_type, SAME_AS))
    ]


@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in QUERIES])
def test_a_query_looks_nodes_up_where_it_can(server, session, name):
    if name.startswith("search/") and server.series == "5.26":
        pytest.skip("Neo4j 5.26 has no SEARCH")
    rows, found, hits = profile(session, name)
    assert rows
    assert tuple(rows[0].keys()) == columns(load_query(name))  # as the reference has them
    if ALL.search(load_query(name).text):
        assert hits <= OF_ALL
        assert scans(found)
    else:
        assert scans(found) == []
        assert hits <= OF_ONE, "\n".join(
            f"{step['operatorType']} {step['args'].get('Details')}: {step.get('dbHits')}" for step in found
        )
    if "label" in load_query(name).names:
        assert any(step["operatorType"].startswith("NodeUniqueIndexSeek") for step in found)


@pytest.mark.slow
def test_the_example_of_a_file_looks_nodes_up_too_once_there_is_an_index(session):
    """The names of the file are those of the demo, and nothing else in it stands in the way of an index."""
    query = load_query("distance")
    assert query.written({"label": LABEL, "property": "key"}).replace(LABEL, "Module") != query.statement
    _, found, _ = profile(session, "distance", {"label": LABEL})
    assert set(scans(found)) == {"NodeByLabelScan"}  # no index over this property: so the check can fail
