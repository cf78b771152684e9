"""``heat doctor``: what it says of this machine and of a server, and how it ends."""

import json
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import heat_neo4j
from heat_neo4j._utils.threads import available_processors
from heat_neo4j.cli import heat, installation
from heat_neo4j.cli.commands.doctor import _lines_there
from heat_neo4j.database.connection import ServerInfo
from heat_neo4j.database.publish.inspection import ModelState, ServerReport
from heat_neo4j.database.read.rights import Rights
from heat_neo4j.embedding.compiling import CompiledCode
from tests.support.commands import invoker
from tests.support.live_graph import snapshot

OLD = "old; python_version < '3.11' and extra == 'plot'"
NOBODY = ("--uri", "bolt://127.0.0.1:1")


def run(*arguments, code=0, **variables):
    result = CliRunner().invoke(heat, ["doctor", *arguments], prog_name="heat", env=variables)
    assert result.exit_code == code, result.output
    return result


def said(result):
    """Return {name: texts} of the lines."""
    found, name = {}, ""
    for line in result.stdout.splitlines():
        name = line[:14].strip() or name
        found.setdefault(name, []).append(line[14:])
    return found


def test_this_machine_without_a_server():
    result = run()
    lines = said(result)
    of_machine = ["Heat", "Python", "Libraries", "Processors", "Memory", "Compiled code", "Extras"]
    assert [*lines] == [*of_machine, "Server", "Problems"]
    assert lines["Heat"] == [f"{heat_neo4j.__version__} in {Path(heat_neo4j.__file__).parent}"]
    assert f"numba {metadata.version('numba')}" in lines["Libraries"][0]
    assert lines["Processors"] == ["{}: {}".format(*available_processors())]
    assert f"plot: matplotlib {metadata.version('matplotlib')}" in lines["Extras"]
    assert {"distributed", "local"} <= {line.split(":")[0] for line in lines["Extras"]}
    assert lines["Server"][0].startswith("none: set NEO4J_URI")
    assert lines["Problems"] == ["none"]
    assert result.stderr == ""


def test_as_json_it_says_the_same():
    document = json.loads(run("--json").stdout)
    assert document["version"] == heat_neo4j.__version__
    assert document["processors"] == available_processors()[0]
    assert 0 < document["free_memory"] <= document["memory"]
    assert document["compiled"] == {"folder": document["compiled"]["folder"], "is_there": True}
    assert document["extras"]["plot"] == {"matplotlib": metadata.version("matplotlib")}
    assert (document["server"], document["problems"]) == (None, [])


def test_an_extra_that_is_missing_is_no_problem(monkeypatch):
    find = installation._version
    monkeypatch.setattr(installation, "_version", lambda name: None if name == "jgo" else find(name))
    assert "local: jgo missing; pip install 'heat-neo4j[local]'" in said(run())["Extras"]


@pytest.mark.parametrize("name", ["a", "a.b-c"])
@pytest.mark.parametrize("extra", ["plot", "two-words"])
@pytest.mark.parametrize(
    "form", ["{}; extra == '{}'", '{}[x]<4,>=3 ; (python_version < "3.99") and extra == "{}"']
)
def test_a_requirement_of_an_extra_is_read(monkeypatch, name, extra, form):
    monkeypatch.setattr(
        metadata, "requires", lambda _: [form.format(name, extra), "click>=8", "x; a == 'b'", OLD]
    )
    assert [*installation._asked_for()] == [(extra, name)]


def test_what_is_not_installed_but_runs_is_told(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert said(run())["Extras"] == ["unknown: heat runs from a folder, not installed"]


@pytest.mark.parametrize(
    ("compiled", "text", "code"),
    [
        (CompiledCode(None, False), "not cached", 14),
        (CompiledCode(Path("/x"), True), "kept in /x", 0),
        (
            CompiledCode(Path("/x"), False),
            "none yet; the first run compiles it in about two minutes, kept in /x",
            0,
        ),
    ],
)
def test_where_compiled_code_is_kept(monkeypatch, compiled, text, code):
    monkeypatch.setattr(installation, "compiled_code", lambda: compiled)
    result = run(code=code)
    assert said(result)["Compiled code"] == [text]
    if code:
        problem = said(result)["Problems"][0]
        assert problem.startswith("compiled code cannot be cached")
        assert result.stderr == f"heat: problems found: {problem}\n"
        both = run(*NOBODY, code=14)
        assert len(said(both)["Problems"]) == 2
        assert both.stderr.startswith("heat: problems found in 2 places, first: compiled code cannot")


def test_a_server_that_cannot_be_reached_is_a_problem():
    result = run(*NOBODY, code=14, NEO4J_PASSWORD="of nobody")
    assert "no Neo4j answers at bolt://127.0.0.1:1" in said(result)["Problems"][0]
    assert result.stderr.startswith("heat: problems found: no Neo4j answers")
    assert result.stderr.count("\n") == 1
    assert "of nobody" not in result.output
    document = json.loads(run(*NOBODY, "--json", code=14, NEO4J_PASSWORD="of nobody").stdout)
    assert document["server"] is None
    assert len(document["problems"]) == 1


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("bolt://127.0.0.1:1", "no password for user 'neo4j'"),
        ("bolt://me:secret@127.0.0.1:1", "no password for user"),
        ("http://127.0.0.1", "no password for user"),
    ],
)
def test_what_keeps_from_connecting_is_a_problem_and_no_end(uri, problem):
    result = run(code=14, NEO4J_URI=uri)
    assert problem in said(result)["Problems"][0]
    assert "secret" not in result.output


def test_a_report_on_a_server_in_lines():
    server = ServerInfo("2026.08.0", "enterprise", "there:7687", "films")
    models = (
        ModelState("films", "r1", "r2", 60, 20, ("films_Film",), 1),
        ModelState("plain", "r3", None, 1, 0, (), 0),
        ModelState("new", None, None, 0, 0, (), 0),
    )
    rights = Rights(read=True, write=None, index=False, denied=("read",))
    report = ServerReport(server, "read-write", rights, True, ("GDS 2.13.9", "APOC"), models)
    assert [*_lines_there(report)] == [
        ("Server", "Neo4j 2026.08.0 enterprise at there:7687"),
        ("Database", "films, read-write"),
        ("Rights", "read: yes, denied in part; write: the server does not say; make indexes: no"),
        ("Vector index", "supported"),
        ("Plugins", "GDS 2.13.9, APOC"),
        (
            "Published",
            "films: coordinates of 60 nodes by run r1, vector index films_Film; "
            "20 predicted links by run r2; 1 run incomplete, being written or dead: `heat runs`",
        ),
        ("", "plain: coordinates of 1 node by run r3, no vector index"),
        ("", "new: nothing"),
    ]


@pytest.mark.live
@pytest.mark.one_release
def test_a_live_server(server, cypher):
    before = snapshot(cypher)
    invoke = invoker(server)
    shown, document = invoke("doctor"), json.loads(invoke("doctor", "--json").stdout)
    assert snapshot(cypher) == before
    lines = said(shown)
    info = document["server"]["server"]
    assert lines["Server"] == [f"Neo4j {info['version']} {info['edition']} at {info['address']}"]
    assert info["address"] in server.uri
    assert lines["Database"] == [f"{info['database']}, read-write"]
    assert lines["Rights"] == ["read: yes; write: yes; make indexes: yes"]
    assert lines["Vector index"] == ["supported"]
    assert lines["Plugins"] == ["neither GDS nor APOC; none is needed"]
    assert lines["Problems"] == ["none"]
    assert server.password not in shown.output + json.dumps(document)


@pytest.mark.live
@pytest.mark.one_release
def test_a_live_server_that_refuses_the_password(server):
    settings = {"NEO4J_URI": server.uri, "NEO4J_USERNAME": "nobody", "NEO4J_PASSWORD": "wrong password"}
    result = run(code=14, **settings)
    assert "refused the login" in said(result)["Problems"][0]
    assert "wrong password" not in result.output
