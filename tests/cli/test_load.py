"""``heat load``: what it says, and what it refuses before or after it has looked at the server."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from heat_neo4j.cli.commands import load
from heat_neo4j.database.write.loader import LoadNames, LoadReport
from tests.support.live_graph import open_cypher, snapshot


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("a,b,1\nb,c,2\na,b,3\n")
    return str(path)


def invoke(*arguments, code=0, **environment):
    result = CliRunner().invoke(heat, ["load", *arguments], prog_name="heat", env=environment)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        yield run
        run("MATCH (n:LoadedByCli) DETACH DELETE n")
        for row in run("SHOW CONSTRAINTS YIELD name WHERE name STARTS WITH 'heat_load_LoadedByCli'"):
            run(f"DROP CONSTRAINT {row['name']}")


@pytest.mark.live
@pytest.mark.constraint
def test_it_says_what_was_loaded_and_what_comes_next(server, cypher, edges, tmp_path):
    (tmp_path / "f.csv").write_text(",x,y\na,1,0\nb,0,1\n")
    (tmp_path / "l.csv").write_text(",class\na,one\nb,two\nc,two\n")
    files = (edges, "--attribute-file", str(tmp_path / "f.csv"), "--class-file", str(tmp_path / "l.csv"))
    names = ("--label", "LoadedByCli", "--relationship", "CLI_TIE", "--key", "name")
    result = invoke(*files, *names, **server.environment)
    assert result.stdout.splitlines() == [
        "Read          edges.csv: no header; source = column 1, target = column 2, weight = column 3; "
        "3 undirected edges; first: a -> b",
        "              f.csv: header; node = the first column; x: number, y: number; 2 nodes; first: a",
        "              l.csv: header; node = the first column; class: label; 3 nodes; first: a",
        "Loaded        3 nodes of label LoadedByCli, 3 of them new",
        "              2 relationships of type CLI_TIE, 2 of them new",
        "              1 line with the source and target of an earlier one: weights were summed",
        "              1 node without a line of attributes",
        "Next          heat embed --label LoadedByCli --relationship CLI_TIE --weight weight --key name "
        "--attribute features",
    ]
    rows = cypher("MATCH (a:LoadedByCli)-[r:CLI_TIE]->(b) RETURN a.name + b.name AS ends, r.weight AS weight")
    assert {row["ends"]: row["weight"] for row in rows} == {"ab": 4.0, "bc": 2.0}
    document = json.loads(invoke(*files, *names, "--json", **server.environment).stdout)
    assert (document["nodes"], document["nodes_created"], document["merged"]) == (3, 0, 1)


@pytest.mark.live
@pytest.mark.constraint
def test_what_is_there_stays_unless_told_otherwise(server, cypher, edges):
    cypher("CREATE (:LoadedByCli {id: 'a'})-[:LINK {weight: 9.0}]->(:LoadedByCli {id: 'b'})")
    before = snapshot(cypher)
    result = invoke(edges, "--label", "LoadedByCli", code=5, **server.environment)
    where = "relationship 'LINK' from 'a' to 'b' has another 'weight' already"
    last = result.stderr.splitlines()[-1]
    assert last == f"heat: {where}, nothing was loaded: choose another type, or overwrite"
    assert snapshot(cypher) == before
    invoke(edges, "--label", "LoadedByCli", "--overwrite", **server.environment)
    (row,) = cypher("MATCH (:LoadedByCli {id: 'a'})-[r]->() RETURN r.weight AS weight")
    assert row["weight"] == 4.0


def test_the_next_command_has_both_labels_and_only_columns_that_make_attributes(monkeypatch, tmp_path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target\n" + "".join(f"u{row},f{row}\n" for row in range(30)))
    lines = [f"u{row},sku {row},about {row},{row % 3},{'ab'[row % 2]},\n" for row in range(30)]
    nodes.write_text("node,sku,about,year,kind,none\n" + "".join(lines))
    asked = []

    class Store:
        def load_graph(self, graph, names, **options):
            asked.append(names)
            return LoadReport(60, 30, 60, 30)

    monkeypatch.setattr(load, "open_store", lambda options: nullcontext(Store()))
    result = invoke(
        str(edges),
        "--attribute-file",
        str(nodes),
        "--as-columns",
        "--label",
        "User",
        "--target-label",
        "Film",
    )
    assert asked == [LoadNames("User", target_label="Film")]
    *_, loaded, _, _, left_out, after = result.stdout.splitlines()
    assert loaded == "Loaded        60 nodes of label User and Film, 60 of them new"
    assert left_out == (
        "Not in Next   sku, about (too many different texts: if they are not identifiers, use --text); "
        "none (no value)"
    )
    assert after == (
        "Next          heat embed --label User --label Film --relationship LINK --weight weight "
        "--key User=id --key Film=id --attribute year --attribute kind"
    )


def test_times_come_with_the_option_that_uses_them(monkeypatch, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,time\na,b,2020-01-01\nb,c,2021-01-01\n")
    store = SimpleNamespace(load_graph=lambda graph, names, **options: LoadReport(3, 2, 3, 2))
    monkeypatch.setattr(load, "open_store", lambda options: nullcontext(store))
    after, times = invoke(str(tmp_path / "edges.csv")).stdout.splitlines()[-2:]
    assert after.startswith("Next          heat embed --label Node")
    assert times == "              add --time time to predict future links, not links that are missing now"


def test_nothing_comes_next_if_nothing_was_loaded(monkeypatch, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n")
    store = SimpleNamespace(load_graph=lambda graph, names, **options: LoadReport(0, 0, 0, 0))
    monkeypatch.setattr(load, "open_store", lambda options: nullcontext(store))
    printed = invoke(str(tmp_path / "edges.csv")).stdout
    assert printed.endswith("0 relationships of type LINK, 0 of them new\n")


def test_a_bad_file_is_found_before_a_server_is_asked(edges, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\nb\n")
    result = invoke(str(tmp_path / "bad.csv"), code=4)
    assert result.stderr == f"heat: {tmp_path}/bad.csv:2: 1 column where the first line has 2\n"
    (tmp_path / "types.csv").write_text("source,target,type\na,b,KNOWS\nb,c,KNOWS\n")
    result = invoke(str(tmp_path / "types.csv"), code=4)
    assert "has relationships of type 'KNOWS', not 'LINK': name this type in --relationship" in result.stderr
    result = invoke(str(tmp_path / "types.csv"), "--relationship", "KNOWS", code=2)
    assert result.stderr.startswith("heat: no server given: ")
    result = invoke(edges, code=2)
    assert result.stderr.startswith("heat: no server given: ")
    assert "does not exist" in invoke(str(tmp_path / "none.csv"), code=2).stderr
    assert "cannot be empty" in invoke(edges, "--label", "", code=2).stderr
    given = ["--label", "User", "--target-label", "Film", "--key", "Film=code"]
    assert "all labels share one key here: --key code" in invoke(edges, *given, code=2).stderr
