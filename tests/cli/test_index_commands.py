"""heat index, heat neighbours and heat cypher on a live server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from tests.support.commands import invoker, json_of
from tests.support.live_graph import apart_from_versions, open_cypher, snapshot

pytestmark = [pytest.mark.live, pytest.mark.vector_index]

EMBED = (
    *(
        "embed",
        "--label",
        "CliNear",
        "--relationship",
        "CLI_NEXT",
        "--model",
        "cli near",
        "--random-state",
        "3",
    ),
    *("--n-components", "2", "--walks-per-node", "2", "--walk-length", "8", "--n-threads", "1", "--no-links"),
    *("--key", "code"),
)
INDEX = "cliNear_CliNear"
GONE = "4:00000000-0000-0000-0000-000000000000:99"
MODEL = ("--model", "cli near")
FOLDER = Path(__file__).parents[2] / "cypher" / "query"


@pytest.fixture(scope="module")
def cypher(server):
    """Embedded nodes, for tests that leave them as they are or make good what they change."""
    with open_cypher(server) as run:
        run(
            "UNWIND range(0, 39) AS i CREATE "
            "(:CliNear {code: 'c' + i, number: i, year: 2000 + i % 5, "
            "day: date('2020-01-01') + duration({days: i})})"
        )
        run(
            "MATCH (a:CliNear) MATCH (b:CliNear) WHERE (b.number - a.number + 40) % 40 IN [1, 3] "
            "CREATE (a)-[:CLI_NEXT]->(b)"
        )
        shown = invoker(server)(*EMBED)
        assert f"vector index: {INDEX}" in shown.stdout
        yield run
        invoker(server)("clear", *MODEL, "--yes")
        run("MATCH (n:CliNear) DETACH DELETE n")


@pytest.fixture
def invoke(server, cypher):
    return invoker(server)


def error_of(result):
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


# --- heat index --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_index_is_shown_dropped_and_made_again(invoke, cypher):
    shown = invoke("index", "status", *MODEL)
    header, line = shown.stdout.splitlines()
    assert header.split() == ["INDEX", "LABEL", "PROPERTY", "DIMENSION", "STATE", "BUILT"]
    assert line.split() == [INDEX, "CliNear", "cliNearEmbedding", "2", "online", "100", "%"]
    status = json_of(invoke("index", "status", *MODEL, "--json"))
    assert (status["model"], status["dimension"], status["problems"]) == ("cli near", 2, [])
    assert [(each["name"], each["state"]) for each in status["indexes"]] == [(INDEX, "ONLINE")]
    before = snapshot(cypher)

    assert invoke("index", "create", *MODEL).stdout == shown.stdout
    assert snapshot(cypher) == before

    dropped = invoke("index", "drop", *MODEL)
    assert dropped.stdout == f"dropped {INDEX}\n"
    assert dropped.stderr == ""
    nothing = "model 'cli near' has no vector index"
    assert invoke("index", "drop", *MODEL).stdout == f"{nothing}\n"
    assert json_of(invoke("index", "drop", *MODEL, "--json")) == {"model": "cli near", "dropped": []}
    assert invoke("index", "status", *MODEL).stdout == f"{nothing}: run `heat index create`\n"
    assert json_of(invoke("index", "status", *MODEL, "--json"))["indexes"] == []
    assert "all nodes were scanned" in invoke("neighbours", "c3", *MODEL).stderr

    before = apart_from_versions(before)
    made = invoke("index", "create", *MODEL)
    assert made.stdout == shown.stdout
    assert [line.split(":")[0] for line in made.stderr.splitlines()] == ["build index"]
    assert apart_from_versions(snapshot(cypher)) == before
    assert json_of(invoke("index", "drop", *MODEL, "--json"))["dropped"] == [INDEX]
    assert json_of(invoke("index", "create", *MODEL, "--json"))["problems"] == []
    assert apart_from_versions(snapshot(cypher)) == before


def commands_of_a_model(command=heat, path=()):
    """Yield the path of each command with an option --model, and the command."""
    options = {option for parameter in command.params for option in parameter.opts}
    if "--model" in options:
        yield path, command
    context = click.Context(command)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from commands_of_a_model(command.get_command(context, name), (*path, name))


ARGUMENTS = {"cypher": ["most_general"], "serve": ["--every", "1h"]}


def test_every_command_suggests_the_model_that_is_meant(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no picture and no page is saved
    may_be_new = {("check",), ("estimate",), ("embed",)}
    commands = [
        (*path, *ARGUMENTS.get(path[0], ["c3"] * count))
        for path, command in commands_of_a_model()
        if path not in may_be_new
        for count in [sum(isinstance(each, click.Argument) and each.required for each in command.params)]
    ]
    silent = [
        arguments
        for arguments in commands
        if not error_of(invoke(*arguments, "--model", "cli naer", code=4)).endswith(
            "did you mean 'cli near'?"
        )
    ]
    assert silent == []
    assert {command[0] for command in commands} >= {"serve", "mcp", "clear", "runs"}
    assert list(tmp_path.iterdir()) == []
    assert error_of(invoke("index", "status", "--model", "nosuch", code=4)) == (
        "heat: model 'nosuch' has no published coordinates in this database: run `heat embed`, or choose a "
        "model of `heat runs`"
    )


@pytest.mark.slow
def test_embedding_without_index(invoke):
    run = json_of(invoke(*EMBED, "--model", "cli bare", "--no-index", "--json"))
    assert (run["status"], run["indexes"]) == ("complete", [])
    assert "has no vector index" in invoke("index", "status", "--model", "cli bare").stdout
    invoke("clear", "--model", "cli bare", "--yes")


@pytest.mark.slow
def test_embedding_nodes_without_labels_says_that_there_is_no_index(server, invoke, cypher):
    """In a process of its own, as a user sees it: tests collect warnings before they reach stderr."""
    cypher("CREATE ({code: 'cb', bare: true})-[:CLI_NEXT]->({code: 'cc', bare: true})")
    any_label = [part for part in EMBED if part not in ("--label", "CliNear")]
    filtered = ["--model", "cli bare", "--node-filter", "n:CliNear OR n.bare"]
    done = subprocess.run(
        [sys.executable, "-m", "heat_neo4j", *any_label, *filtered],
        env={**os.environ, **server.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    invoke("clear", "--model", "cli bare", "--yes")
    cypher("MATCH (n) WHERE n.bare DETACH DELETE n")
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "vector index" in line)
    assert re.fullmatch(
        r"heat: model 'cli bare' is published without a vector index: 2 nodes without a label that .*", line
    )
    assert "vector index" not in done.stdout


# --- heat neighbours ---------------------------------------------------------------------------------------


def test_neighbours_are_a_table(invoke, cypher):
    result = invoke("neighbours", "c3", *MODEL, "--k", "4", "--show", "code", "--show", "day")
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["CODE", "DAY", "DISTANCE", "RADIUS", "LABELS"]
    assert len(lines) == 4
    assert all(re.fullmatch(r"c\d+ +2020-\d\d-\d\d +\d+\.\d{4} +\d+\.\d{4} +CliNear", line) for line in lines)
    distances = [float(line.split()[2]) for line in lines]
    assert distances == sorted(distances)
    assert result.stderr == "from the vector index, complete\n"
    exact = invoke("neighbours", "c3", *MODEL, "--k", "4", "--show", "code", "--show", "day", "--exact")
    assert (exact.stdout, exact.stderr) == (result.stdout, "all nodes were scanned\n")


def test_neighbours_are_named_by_their_keys(invoke, cypher):
    header, *lines = invoke("neighbours", "c3", *MODEL, "--k", "2").stdout.splitlines()
    assert header.split() == ["CODE", "DISTANCE", "RADIUS", "LABELS"]
    assert all(re.fullmatch(r"c\d+ .* CliNear", line) for line in lines)
    near = json_of(invoke("neighbours", "c3", *MODEL, "--k", "1", "--json"))["nodes"][0]
    cypher("MATCH (n) WHERE elementId(n) = $id SET n.was = n.code REMOVE n.code", id=near["element_id"])
    try:
        shown = invoke("neighbours", "c3", *MODEL, "--k", "1").stdout
    finally:
        cypher("MATCH (n:CliNear) WHERE n.was IS NOT NULL SET n.code = n.was REMOVE n.was")
    assert shown.splitlines()[1].startswith(f"CliNear {near['element_id'].rpartition(':')[2]}  ")


def test_neighbours_are_named_by_a_caption(invoke, cypher):
    header, *lines = invoke("neighbours", "c3", *MODEL, "--k", "3", "--caption", "day").stdout.splitlines()
    assert header.split() == ["DAY", "DISTANCE", "RADIUS", "LABELS"]
    assert all(re.fullmatch(r"2020-\d\d-\d\d .* CliNear", line) for line in lines)
    asked = ("neighbours", "c3", *MODEL, "--k", "39", "--caption", "CliNear=alias", "--json")
    cypher("MATCH (n:CliNear {code: 'c4'}) SET n.alias = 'four'")
    try:
        names = {each["key"]: each["name"] for each in json_of(invoke(*asked))["nodes"]}
    finally:
        cypher("MATCH (n:CliNear {code: 'c4'}) REMOVE n.alias")
    assert names == {f"c{i}": "four" if i == 4 else f"c{i}" for i in range(40) if i != 3}


def test_headings_of_neighbours_are_all_different(invoke, cypher):
    shown = ("--show", "distance", "--show", "Radius", "--show", "year", "--show", "YEAR", "--show", "node")
    cypher("MATCH (n:CliNear) SET n += {distance: 7, Radius: 1, YEAR: 2, node: 3}")
    try:
        header = invoke("neighbours", "c3", *MODEL, "--k", "1", *shown).stdout.splitlines()[0]
        captioned = invoke("neighbours", "c3", *MODEL, "--caption", "distance", "--show", "node").stdout
    finally:
        cypher("MATCH (n:CliNear) REMOVE n.distance, n.Radius, n.YEAR, n.node")
    assert re.split("  +", header) == [
        "NODE", "distance (property)", "Radius (property)", "year (property)", "YEAR (property)",
        "node (property)", "DISTANCE", "RADIUS", "LABELS",
    ]  # fmt: skip
    assert re.split("  +", captioned.splitlines()[0])[:3] == ["distance (property)", "NODE", "DISTANCE"]


def test_neighbours_as_json(invoke, cypher):
    found = json_of(
        invoke("neighbours", "3", "--property", "number", "--label", "CliNear", *MODEL, "--k", "2", "--json")
    )
    assert (found["model"], found["certified"]) == ("cli near", True)
    ids = cypher("MATCH (n:CliNear {number: 3}) RETURN elementId(n) AS id")
    assert found["element_id"] == ids[0]["id"]
    assert [list(each["properties"]) for each in found["nodes"]] == [["number"]] * 2
    again = json_of(
        invoke("neighbours", found["element_id"], *MODEL, "--k", "2", "--show", "day", "--exact", "--json")
    )
    assert again["fetch"] is None
    assert [each["element_id"] for each in again["nodes"]] == [each["element_id"] for each in found["nodes"]]
    assert all(re.fullmatch(r"2020-\d\d-\d\d", each["properties"]["day"]) for each in again["nodes"])


def test_neighbours_are_filtered(invoke):
    lines = invoke("neighbours", "c3", *MODEL, "--node-filter", "n.year = 2001", "--show", "year").stdout
    header, *lines = [line.split() for line in lines.splitlines()]
    assert header == ["NODE", "YEAR", "DISTANCE", "RADIUS", "LABELS"]  # the names stay beside what is shown
    assert all(re.fullmatch(r"c\d+", line[0]) for line in lines)
    assert {line[1] for line in lines} == {"2001"}
    nothing = invoke("neighbours", "c3", *MODEL, "--node-filter", "n.year > 3000")
    assert (nothing.stdout, nothing.stderr) == ("", "no matches\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["c999"], 4, "there is no CliNear with code 'c999' in database"),
        (["c3", "--node-filter", "n.year >"], 4, "refused a statement while looking for neighbours"),
        (
            ["c3", "--show", "day", "--show", "yaer"],
            4,
            "no property 'yaer' in database 'neo4j': did you mean 'year'?",
        ),
        (["c3", "--caption", "yaer"], 4, "no property 'yaer' in database 'neo4j': did you mean 'year'?"),
        (["c3", "--caption", "Nera=yaer"], 4, "no node label 'Nera' in database 'neo4j'"),
        (["c3", "--model", "nosuch"], 4, "model 'nosuch' has no published coordinates"),
        (["c3", "--k", "0"], 2, "'--k'"),
        ([], 2, "Missing argument 'NODE'"),
    ],
)
def test_neighbours_that_cannot_be_had(invoke, arguments, code, message):
    assert message in error_of(invoke("neighbours", *MODEL, *arguments, code=code))


# --- heat recommend, heat explain --------------------------------------------------------------------------


def test_without_a_probability_the_nearest_are_recommended(invoke):
    near = json_of(invoke("neighbours", "c3", *MODEL, "--k", "39", "--json"))["nodes"]
    joined = {f"c{(3 + step) % 40}" for step in (1, 3, -1, -3)}
    free = [each["name"] for each in near if each["name"] not in joined]
    for to, arrow in (((), "c3 -CLI_NEXT-> ?"), (("--to",), "? -CLI_NEXT-> c3")):
        result = invoke("recommend", "c3", *MODEL, "-k", "4", *to)
        title, header, *rows, note = result.stdout.splitlines()
        assert title == f"{arrow}  (CliNear-CLI_NEXT->CliNear, of 35 possible CliNear nodes)"
        assert header.split() == ["RANK", "NAME", "PROBABILITY", "DISTANCE"]
        assert [row.split()[:3] for row in rows] == [
            [str(rank), name, "-"] for rank, name in enumerate(free[:4], start=1)
        ]
        assert note.startswith("Note          no link score: `heat links` fits one")
    shown = invoke("explain", "c3", "c4", *MODEL).stdout
    assert re.search(r"^Link +c3 -CLI_NEXT-> c4\nJoined +c3 -CLI_NEXT-> c4\nWhere +distance", shown)
    assert re.search(r"^Paths +c3 <?-CLI_NEXT->? c\d+ <?-", shown, re.MULTILINE)
    assert re.search(r"^Similar +c\d+ -CLI_NEXT-> c\d+  \((cosine|distance) \d", shown, re.MULTILINE)
    assert "linked already" not in shown  # that raises no score
    shown = json_of(invoke("explain", "c3", "c5", *MODEL, "--json"))
    assert shown["joined"] == []
    ways = [(way["nodes"], way["steps"]) for way in shown["shared_neighbours"]["first"]]
    assert (["c4"], [["-CLI_NEXT->"], ["-CLI_NEXT->"]]) in ways
    assert (["c2"], [["<-CLI_NEXT-"], ["-CLI_NEXT->"]]) in ways


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["recommend", "c999"], 4, "there is no CliNear with code 'c999' in database"),
        (["recommend", GONE], 4, f"node {GONE!r} has no coordinates of model 'cli near'"),
        (
            ["recommend", "c3", "--predict", "CliNear"],
            2,
            "'CliNear' is not a pattern: write User-RATED->Movie",
        ),
        (["recommend", "c3", "--predict", "CliNear-CLI_NXET->*"], 4, "did you mean 'CLI_NEXT'"),
        (["recommend", "c3", "--model", "nosuch"], 4, "model 'nosuch' has no published coordinates"),
        (["recommend", "c3", "-k", "0"], 2, "'--k'"),
        (["explain", "c3", "c3"], 4, "are the same node"),
        (["explain", "c3", "c999"], 4, "there is no CliNear with code 'c999'"),
        (["explain", "c3"], 2, "Missing argument 'TARGET'"),
        (["classify"], 2, "Missing argument 'PROPERTY'"),
        (["classify", "yaer"], 4, "no node of the projection has a property 'yaer': did you mean 'year'?"),
        (["classify", "code"], 4, "code cannot be predicted: 40 classes for 40 nodes: nothing to learn"),
        (["classify", "year", "--label", "Film"], 4, "no node of the graph has the label 'Film'"),
    ],
)
def test_what_cannot_be_asked_cannot_be_asked_about(invoke, arguments, code, message):
    result = invoke(*arguments[:1], *MODEL, *arguments[1:], code=code)
    assert result.stdout == ""
    assert message in result.stderr.splitlines()[-1]


# --- heat cypher -------------------------------------------------------------------------------------------


def test_queries_are_listed_and_shown(invoke):
    names = sorted(p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.cypher"))
    lines = invoke("cypher", "list").stdout.splitlines()
    assert lines[0].split() == ["QUERY", "ANSWERS"]
    assert [line.split()[0] for line in lines[1:]] == names
    listed = json_of(invoke("cypher", "list", "--json"))
    assert [each["name"] for each in listed] == names
    assert all(each["title"] for each in listed)
    for name in names:
        assert invoke("cypher", "show", name).stdout == (FOLDER / f"{name}.cypher").read_text()
    assert "there is no query 'nosuch'" in error_of(invoke("cypher", "show", "nosuch", code=2))


def test_a_query_is_shown_with_names_of_ones_own(invoke):
    file = invoke("cypher", "show", "nearest").stdout
    shown = invoke("cypher", "show", "nearest", "--label", "Pa`per", "--property", "id").stdout
    assert "MATCH (a:`Pa``per` {`id`: $value})" in shown
    assert "Module" not in shown
    assert "in the place of" not in shown
    assert shown.count("\n") == file.count("\n") - 1
    message = error_of(invoke("cypher", "show", "published", "--label", "Paper", code=2))
    assert message == "heat: query 'published' has no label"


WHICH = ("-p", "model=cli near", "--label", "CliNear")


def test_without_a_property_the_key_of_the_model_names_nodes(invoke):
    asked = ("cypher", "run", "nearest", *WHICH, "-p", "value=c3", "--json")
    assert json_of(invoke(*asked)) == json_of(invoke(*asked, "--property", "code"))
    rows = json_of(invoke("cypher", "run", "most_general", "-p", "model=cli near", "-p", "k=2", "--json"))
    assert all(re.fullmatch(r"c\d+", row["node"]) for row in rows)


def test_a_query_reads_the_model_of_the_option_or_of_the_configuration(invoke, tmp_path):
    config = tmp_path / "own.toml"
    config.write_text('[write]\nmodel = "cli near"\n')
    asked = ("cypher", "run", "most_general", "-p", "k=2", "--json")
    rows = json_of(invoke(*asked, "-p", "model=cli near"))
    assert len(rows) == 2
    assert json_of(invoke(*asked, "--model", "cli near")) == rows
    assert json_of(invoke(*asked, "--config", str(config))) == rows
    assert json_of(invoke(*asked, "--model", "no such model", "-p", "model=cli near")) == rows
    assert json_of(invoke("cypher", "run", "published", "--config", str(config), "--json"))  # of all models


def test_a_query_is_run_with_values_of_any_type(invoke):
    asked = ("cypher", "run", "nearest", *WHICH, "--property", "code", "-p", "value=c3", "-p", "k=5")
    shown = invoke(*asked)
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["NODE", "DISTANCE", "RADIUS", "CERTIFIED"]
    assert len(lines) == 6
    assert shown.stderr == "5 rows\n"
    rows = json_of(invoke(*asked, "--json"))
    assert [row["node"] for row in rows] == [line.split()[0] for line in lines[1:]]
    quoted = json_of(invoke(*[part.replace("=c3", '="c3"') for part in asked], "--json"))
    assert quoted == rows  # JSON, or else text
    number = (*WHICH, "--property", "number", "-p", "value=3", "-p", "k=5")
    found = json_of(invoke("cypher", "run", "nearest", *number, "--json"))
    assert [f"c{row['node']}" for row in found] == [row["node"] for row in rows]
    text = (*WHICH, "--property", "number", "-p", 'value="3"')
    nothing = invoke("cypher", "run", "nearest", *text)
    assert (nothing.stdout, nothing.stderr) == ("", "no rows\n")
    assert json_of(invoke("cypher", "run", "nearest", *text, "--json")) == []


def test_rows_with_times_are_shown(invoke):
    (row,) = (r for r in json_of(invoke("cypher", "run", "published", "--json")) if r["model"] == "cli near")
    assert row["dimension"] == 2
    assert "cli near" in invoke("cypher", "run", "published").stdout


NEAREST = ("nearest", "--label", "CliNear", "-p", "value=c3")
SEARCH = ("search/nearest", "--label", "CliNear", "--property", "code", "-p", "value=c3")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nosuch"], 2, "there is no query 'nosuch'"),
        (["neerest"], 2, "nearest"),
        (
            ["nearest", "-p", "node=c3"],
            2,
            "query 'nearest' has no parameter 'node': it has label, property, value",
        ),
        (["nearest", "-p", "value"], 2, "-p 'value': give NAME=VALUE"),
        (["nearest", "-p", "=3"], 2, "-p '=3': give NAME=VALUE"),
        (
            ["nearest", *WHICH, "--property", "code", "-p", "value=c3", "-p", "k=many"],
            4,
            "refused a statement",
        ),
        (
            ["nearest", "-p", "model=cli near", "--label", "CliNaer", "-p", "value=c3"],
            4,
            "no node label 'CliNaer' in database 'neo4j': did you mean 'CliNear'?",
        ),
        (["nearest"], 2, "query 'nearest' needs label, value: `heat cypher show nearest` explains"),
        (["most_general", *WHICH], 2, "query 'most_general' has no parameter 'label'"),
        (
            ["nearest", "--label", "", "--property", "code", "-p", "value=c3"],
            2,
            "a name in Neo4j cannot be empty",
        ),
        ([*SEARCH, "-p", "model=nosuch"], 4, "model 'nosuch' has no published coordinates"),
        ([*NEAREST, "--property", "code", "-p", "model=cli naer"], 4, "did you mean 'cli near'?"),
        (
            [*NEAREST, "--property", "code", "-p", "model=3"],
            2,
            "the model of query 'nearest' must be a text, got 3",
        ),
        (
            [*NEAREST, "--property", "cdoe", "-p", "model=cli near"],
            4,
            "no property 'cdoe' in database 'neo4j': did you mean 'code'?",
        ),
        (
            [*NEAREST, "--label", "CliNaer", "--property", "code", "-p", "model=cli near"],
            4,
            "no node label 'CliNaer' in database 'neo4j': did you mean 'CliNear'?",
        ),
    ],
)
def test_a_query_that_cannot_be_run(invoke, arguments, code, message):
    assert message in error_of(invoke("cypher", "run", *arguments, code=code))


def test_a_wrong_name_is_told_without_a_server(server):
    result = CliRunner().invoke(
        heat, ["cypher", "run", "nearest", "-p", "x=1", "--uri", "bolt://127.0.0.1:1"], prog_name="heat"
    )
    assert result.exit_code == 2
    assert "has no parameter 'x'" in result.stderr
