"""`connect`: from the database to a published version and back in ten lines, read back past the package."""

import numpy as np
import pandas as pd
import pytest

from heat_neo4j import HEAT, Database, LinkOptions, Projection, connect
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConfigError, NotVerifiable, ProjectionError, WriteFailed
from heat_neo4j.geometry.hyperboloid import to_poincare
from heat_neo4j.local_server import server as local_server
from heat_neo4j.pipeline.published_model import read_published, read_score
from tests.support.live_graph import drop_indexes, open_cypher

PROGRAM = """
from heat_neo4j import HEAT, connect
with connect(uri, auth=auth) as db:
    g = db.project("ClientPaper", "CLIENT_CITES", weight="weight", attributes=["year"], key="id")
    model = HEAT(alpha=0.2, random_state=0).fit(g)
    dist, near = model.kneighbors(["p1"], n_neighbors=5)
    links = model.predict_links(k=10, min_probability=0)
    print(links.to_frame().head())
    db.publish(g, model, links)
    db.refresh()
    db.rollback()
"""
"""The ten lines; there is a version to go back to, as another one was published before."""
N = 40


@pytest.fixture(scope="module")
def _no_index_is_left(server):
    yield
    with open_cypher(server) as run:
        drop_indexes(run, "heat", "ClientPaper")


@pytest.fixture
def papers(server, cypher, _no_index_is_left, monkeypatch):
    if server.database is not None:
        monkeypatch.setenv("NEO4J_DATABASE", server.database)
    cypher("UNWIND range(0, $n - 1) AS i CREATE (:ClientPaper {id: 'p' + i, year: 1990 + i % 9})", n=N)
    cypher(
        "MATCH (a:ClientPaper), (b:ClientPaper) "
        "WHERE (toInteger(substring(b.id, 1)) - toInteger(substring(a.id, 1)) + $n) % $n IN [1, 2, 5] "
        "CREATE (a)-[:CLIENT_CITES {weight: 1.0}]->(b)",
        n=N,
    )
    yield cypher
    cypher(
        "MATCH (n) WHERE n:ClientPaper OR (n:HeatRun|HeatVersion AND n.model = 'heat') "
        "OR (n:HeatModel AND n.name = 'heat') DETACH DELETE n"
    )


def published(cypher):
    rows = cypher("MATCH (n:ClientPaper) RETURN n.id AS id, n.heatEmbedding AS point ORDER BY id")
    return {row["id"]: row["point"] for row in rows}


def small(**changed):
    options = {"n_components": 3, "walks_per_node": 3, "walk_length": 10, "random_state": 1, "n_threads": 1}
    return HEAT(**{**options, **changed})


@pytest.mark.live
def test_ten_lines_read_embed_predict_publish_refresh_and_go_back(server, papers, capsys):
    auth = (server.user, server.password)
    with connect(server.uri, auth) as db:
        before = small()
        graph = db.project("ClientPaper", "CLIENT_CITES", key="id")
        db.publish(graph, before.fit(graph))
    first = published(papers)
    names = {"uri": server.uri, "auth": auth}
    exec(PROGRAM, names)
    assert capsys.readouterr().out.split()[:5] == ["source", "target", "type", "distance", "probability"]
    assert set(names["near"][0]) <= set(first) - {"p1"}
    assert names["dist"].shape == (1, 5)
    assert published(papers) == first  # the program went back to it
    links = papers("MATCH (:ClientPaper)-[p:HEAT_PREDICTED]->(:ClientPaper) RETURN count(p) AS n")
    assert links[0]["n"] == 0
    with connect(server.uri, auth) as db:
        db.rollback()
        own = dict(zip(names["model"].nodes_, to_poincare(names["model"].embedding_).tolist(), strict=True))
        assert published(papers) == own
        stored = papers(
            "MATCH (a)-[p:HEAT_PREDICTED]->(b) "
            "RETURN a.id AS source, b.id AS target, p.probability AS probability"
        )
        frame = names["links"].to_frame()
        expected = zip(frame["source"], frame["target"], frame["probability"], strict=True)
        assert {(row["source"], row["target"], row["probability"]) for row in stored} == set(expected)


@pytest.mark.live
def test_what_is_published_is_recorded_as_embed_would_and_a_refresh_goes_on_from_it(server, papers):
    auth = (server.user, server.password)
    with connect(server.uri, auth) as db:
        graph = db.project("ClientPaper", "CLIENT_CITES", attributes=["year"], key="id")
        model = small().fit(graph)
        ours = db.publish(graph, model, model.predict_links(k=2, min_probability=0.0))
        projection = Projection(["ClientPaper"], ["CLIENT_CITES"], attributes=["year"], key="id")
        theirs = db.embed(projection, small(), links=LinkOptions(k=2, min_probability=0.0)).run
        for part in (
            "settings",
            "fingerprint",
            "parameters",
            "seed",
            "final_loss",
            "decision",
            "links_written",
        ):
            assert getattr(ours, part) == getattr(theirs, part), part
        assert db.refresh(estimator=model).outcome == "nothing"
        papers(
            "MATCH (a:ClientPaper {id: 'p0'}) "
            "CREATE (:ClientPaper {id: 'q', year: 1991})-[:CLIENT_CITES]->(a)"
        )
        report = db.refresh("heat", on_progress=True)
        assert (report.outcome, report.decision) == ("published", "local")
        loaded = db.load()
        assert "q" in loaded.nodes_
        assert "q" in loaded.kneighbors(["p0"], n_neighbors=N)[1]
        assert loaded.get_params()["walks_per_node"] == 3
        rows = [list(loaded.nodes_).index(name) for name in model.nodes_]
        assert np.allclose(loaded.embedding_[rows], model.embedding_)
        assert loaded.link_score_ == read_score(db._store, read_published(db._store))
        assert loaded.recommend("p0", k=2).probability is not None
        assert db.refresh("heat").outcome == "nothing"
        now = db.project("ClientPaper", "CLIENT_CITES", attributes=["year"], key="id")
        again = db.publish(now, loaded)
        assert (again.seed, again.final_loss) == (1, None)
        with pytest.raises(NotVerifiable, match="points that were not trained in one fit"):
            db.verify(again.run_id)
        assert_only_models_of_the_graph_are_published(db, now)
        assert repr(db).startswith("Database(")


def assert_only_models_of_the_graph_are_published(db, graph):
    """Publish models of data frames with the same keys."""
    edges = pd.DataFrame({"source": graph.names, "target": [*graph.names[1:], graph.names[0]]})
    model = small().fit(edges)
    with pytest.raises(
        ValueError, match=r"has the same nodes, and was fitted elsewhere\): publish HEAT.from_poi"
    ):
        db.publish(graph, model)
    placed = HEAT.from_points(graph, model.transform(graph))
    db.publish(graph, placed)
    loaded = db.load()
    rows = [list(model.nodes_).index(name) for name in loaded.nodes_]
    assert np.allclose(loaded.embedding_, model.embedding_[rows])
    fewer = small().fit(edges[~edges.source.isin(["q", "p7"]) & ~edges.target.isin(["q", "p7"])])
    with pytest.raises(
        ValueError, match=rf"it lacks 2 nodes of {N + 1}, such as 'p7'\): publish HEAT.from_poi"
    ):
        db.publish(graph, fewer)


@pytest.mark.live
def test_other_names_and_graphs_of_elsewhere(server, papers):
    with connect(server.uri, (server.user, server.password)) as db:
        graph = db.project(
            ["ClientPaper"], key="id", node_filter="n.year > $since", filter_parameters={"since": 0}
        )
        model = small().fit(graph)
        pattern = ("ClientPaper", "CLIENT_CITES", "ClientPaper")
        links = model.predict_links(k=2, score="distance", patterns=[pattern], rules=False)
        record = db.publish(graph, model, links, model="client")
        assert record.settings["links"]["patterns"] == ["ClientPaper-CLIENT_CITES->ClientPaper"]
        assert (record.settings["links"]["score"], record.settings["links"]["rules"]) == ("distance", False)
        assert record.model == "client"
        with pytest.raises(ProjectionError, match="no previous version"):
            db.rollback("client")
        with pytest.raises(ValueError, match="only a graph read from a database can be published"):
            db.publish(small().fit(np.ones((4, 4)) - np.eye(4)).graph_, model)
        db.clear(model="client")


def test_what_is_not_given_comes_from_the_environment(monkeypatch):
    for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="no server given: set NEO4J_URI, give an address"):
        connect()
    with pytest.raises(ConfigError, match="no password: give auth"):
        connect("neo4j://localhost")
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    with pytest.raises(ConfigError, match="no password: give auth"):
        connect("neo4j://localhost", "neo4j")


def test_the_running_local_server_is_found(monkeypatch):
    class Running:
        def connection(self):
            return "bolt://127.0.0.1:4711", "neo4j", "its own"

    opened = []
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("NEO4J_PASSWORD", "of another server")
    monkeypatch.setattr(local_server, "running_server", Running)
    monkeypatch.setattr(Neo4jStore, "open", lambda uri, auth, **_: opened.append((uri, auth)))
    connect()
    assert opened == [("bolt://127.0.0.1:4711", ("neo4j", "its own"))]


def test_only_the_verbs_are_public():
    others = {"close", "server"}  # beside what `heat` does
    methods = {name for name in dir(Database) if not name.startswith("_")} - others
    assert methods == {
        "check", "classify", "clear", "clusters", "create_index", "doctor", "drop_index", "duplicates",
        "embed", "estimate", "evaluate_hierarchy", "evaluate_links", "explain", "index_status", "links",
        "load", "load_graph", "neighbours", "project", "prune", "publish", "query", "recommend", "refresh",
        "rollback", "run", "runs", "verify",
    }  # fmt: skip
    for name in methods:
        assert getattr(Database, name).__doc__


@pytest.mark.live
def test_a_statement_gives_rows(server, papers):
    with connect(server.uri, (server.user, server.password)) as db:
        rows = db.run("MATCH (n:ClientPaper) WHERE n.year = $year RETURN n.id AS id ORDER BY id", year=1990)
        assert rows[0] == {"id": "p0"}
        assert list(rows.to_frame("pandas")["id"]) == [row["id"] for row in rows]
        db.run("MATCH (n:ClientPaper {id: $id}) SET n.year = 0", id="p0")
        assert db.run("MATCH (n:ClientPaper) WHERE n.year = 0 RETURN count(n) AS n") == [{"n": 1}]
        with pytest.raises(WriteFailed, match="running Cypher"):
            db.run("MTCH (n)")


@pytest.mark.live
def test_alpha_by_the_attributes_is_no_change(server, papers):
    with connect(server.uri, (server.user, server.password)) as db:
        projection = Projection(["ClientPaper"], ["CLIENT_CITES"], attributes=["year"], key="id")
        db.embed(projection, small(), links=None)
        assert db.refresh().decision == "nothing"
        assert db.refresh(estimator=db.load()).decision == "nothing"
        other = db.refresh(estimator=db.load().set_params(alpha=0.9))
        assert (other.decision, other.reason) == ("full", "alpha was auto and is 0.9")
        assert db.refresh().decision == "nothing"


@pytest.mark.live
def test_what_only_reads_is_sent_as_a_read_and_batches_commit_alone(server, papers):
    with connect(server.uri, (server.user, server.password)) as db:
        sent = []
        for name in ("read", "write_once", "write_transaction"):
            method = getattr(db._store, name)
            setattr(
                db._store,
                name,
                lambda *given, _as=name, _call=method, **more: sent.append(_as) or _call(*given, **more),
            )
        assert db.run("MATCH (n:ClientPaper) RETURN count(n) AS n")[0]["n"] > 1
        db.run("MATCH (n:ClientPaper) SET n.seen = 1")
        db.run("MATCH (n:ClientPaper) CALL (n) { SET n.seen = 2 } IN TRANSACTIONS OF 2 ROWS")
        assert db.run("MATCH (n:ClientPaper) RETURN DISTINCT n.seen AS seen") == [{"seen": 2}]
        assert db.run("MATCH (n:ClientPaper {id: 'p0'}) SET n.seen = 3 RETURN n.seen AS seen") == [
            {"seen": 3}
        ]
        assert sent == ["read", "write_transaction", "write_once", "read", "write_transaction"]
