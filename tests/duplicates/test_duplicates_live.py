"""Duplicates of a published model on a live server: found, written, asked for, rolled back and cleared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_neo4j import HEAT
from heat_neo4j.client import Database
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ProjectionError, WriteRefused
from tests.duplicates.test_duplicates import Case
from tests.support.commands import invoker, json_of
from tests.support.live_graph import open_cypher, open_store, snapshot

pytestmark = pytest.mark.live

MODEL = "clubs"
NAMES = WriteNames.of_duplicates(MODEL)
WHAT = ("--model", MODEL, "--label", "Club", "--caption", "Club=name")
READ_BACK = "MATCH (a)-[p:CLUBS_SAME_AS]->(b) RETURN a.id AS a, b.id AS b, properties(p) AS p ORDER BY p.rank"


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


@pytest.fixture(scope="module")
def database(server, case) -> Iterator[Database]:
    """Clubs and their members, embedded; three clubs are doubled."""
    nodes = [
        {"id": f"n{row:03}", "name": name or None, "founded": year}
        for row, (name, year) in enumerate(zip(case.names, case.founded, strict=True))
    ]
    source, target = case.graph.relationships.of("HAS")
    pairs = [[f"n{a:03}", f"n{b:03}"] for a, b in zip(source.tolist(), target.tolist(), strict=True)]
    with open_cypher(server) as cypher, open_store(server, index=False) as store:
        cypher("UNWIND $nodes AS row CREATE (n:DuplicatesTest) SET n = row", nodes=nodes)
        cypher("MATCH (n:DuplicatesTest) WHERE n.name IS NOT NULL SET n:Club")
        cypher(
            "UNWIND $pairs AS pair MATCH (a:DuplicatesTest {id: pair[0]}) "
            "MATCH (b:DuplicatesTest {id: pair[1]}) CREATE (a)-[:HAS]->(b)",
            pairs=pairs,
        )
        database = Database(store)
        graph = database.project(Projection(["DuplicatesTest"], ["HAS"], key="id"))
        heat = HEAT(3, alpha=0.0, walks_per_node=4, random_state=0, n_threads=1).fit(graph)
        database.publish(graph, heat, model=MODEL)
        yield database
        store.clear(model=MODEL)
        cypher("MATCH (n:DuplicatesTest) DETACH DELETE n")


@pytest.fixture
def invoke(server, database):
    return invoker(server)


def written(cypher):
    return [(row["a"], row["b"]) for row in cypher(READ_BACK)]


def test_a_dry_run_prints_the_pairs_and_writes_nothing(invoke, cypher, case):
    before = snapshot(cypher)
    shown = invoke("duplicates", *WHAT, "-k", "3").stdout
    assert snapshot(cypher) == before
    assert "3 pairs; nothing is written: --write writes CLUBS_SAME_AS\n" in shown
    for first, second in case.pairs:
        assert f"  {case.names[first]} (n{first:03})  =  {case.names[second]} (n{second:03})\n" in shown
    assert "acronym" in shown
    found = json_of(invoke("duplicates", *WHAT, "-k", "3", "--unique", "founded", "--json"))
    assert found["pairs"] == []
    assert any(note.startswith("founded identifies nodes") for note in found["notes"])


def test_pairs_are_written_read_back_and_cleared(invoke, database, cypher, case):
    before = snapshot(cypher)
    expected = {(f"n{first:03}", f"n{second:03}") for first, second in case.pairs}
    first = json_of(invoke("duplicates", *WHAT, "-k", "3", "--write", "--json"))
    links = cypher(READ_BACK)
    assert {(row["a"], row["b"]) for row in links} == expected
    assert [row["p"]["rank"] for row in links] == [1, 2, 3]
    for row, pair in zip(links, first["pairs"], strict=True):
        assert (row["p"]["type"], row["p"]["run"]) == ("SAME_AS", first["run"])
        assert row["p"]["reason"] == pair["reason"]
        assert row["p"]["probability"] == pair["probability"]

    asked = database.query("same_as", property="name", k=2, model=MODEL)
    assert [(row["node"], row["other"]) for row in asked] == [
        (pair["first_name"], pair["second_name"]) for pair in first["pairs"][:2]
    ]
    (copied,) = (
        line for line in database._store.copy_query("same_as", MODEL).splitlines() if "MATCH" in line
    )
    assert copied.startswith("MATCH (a)-[p:`CLUBS_SAME_AS`]->(b)")
    assert not database.query("same_as", property="name", model=MODEL, minProbability=1.1)
    every = database.project(["DuplicatesTest"], key="id")
    assert list(every.relationships.types) == ["HAS"]

    invoke("duplicates", *WHAT, "-k", "1", "--write")
    assert len(written(cypher)) == 1
    database.rollback(NAMES.model)
    assert set(written(cypher)) == expected
    everything = json_of(invoke("clear", "--model", MODEL, "--dry-run", "--json"))
    assert everything["models"] == [MODEL, NAMES.model]

    invoke("clear", "--model", NAMES.model, "--yes")
    assert snapshot(cypher) == before


def test_relationships_of_the_type_that_others_made_stop_a_write(database, cypher):
    cypher(
        "MATCH (a:Club {id: 'n000'}) MATCH (b:Club {id: 'n007'}) CREATE (a)-[:CLUBS_SAME_AS {by: 'me'}]->(b)"
    )
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match="'CLUBS_SAME_AS' on 1 relationship"):
        database.duplicates(label="Club", caption="name", write=True, model=MODEL)
    assert snapshot(cypher) == before
    cypher("MATCH ()-[p:CLUBS_SAME_AS]->() DELETE p")


def test_what_cannot_be_compared_is_named(database):
    with pytest.raises(ProjectionError, match="no node has the label 'Clib': did you mean 'Club'"):
        database.duplicates(label="Clib", caption="name", model=MODEL)
    with pytest.raises(ProjectionError, match="no node of the projection has a property 'foundet'"):
        database.duplicates(properties=["foundet"], model=MODEL)
    with pytest.raises(ProjectionError, match="model 'club' has no published coordinates"):
        database.duplicates(model="club")
