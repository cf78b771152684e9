"""README.md is followed to the letter on a live server, and what it states is compared with the code."""

import inspect
import json
import re
import shlex
import signal
import sys
import time
from ast import literal_eval
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import heat_neo4j
from heat_neo4j import errors
from heat_neo4j.cli import heat
from heat_neo4j.cli.config import read_config
from heat_neo4j.database.query_files import load_query
from tests.benchmarks.results.document import BEGIN, END
from tests.support import documents
from tests.support.documents import Reader
from tests.support.live_graph import open_cypher, snapshot

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "cypher/README.md", "docs/queries.md", "docs/tour.md",
    "docs/operations.md", "docker/README.md",
)  # fmt: skip
COMMAND = re.compile(r"^heat (?:.*\\\n)*.*$", re.MULTILINE)
CONNECTION = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD")
PAPERS = 60
STEPS = (3, 6, 9, 12, 15, 21, 27)  # of edges; so many that some can be held out twice
FIELDS = ("biology", "physics", "music")


def section(title):
    """Return the text under a heading of level 2."""
    return documents.section(README, title)


def blocks(language, text=README):
    """Return the contents of all code blocks of one language."""
    return documents.blocks(text, language)


def commands_of(title):
    """Return all ``heat`` commands of a section."""
    return [command for block in blocks("sh", section(title)) for command in COMMAND.findall(block)]


def table(text, heading):
    """Return {first cell: second cell} of the first table that follows `heading`, without backticks."""
    rows = re.search(r"^\|.*?(?=\n\n)", text[text.index(heading) :], re.MULTILINE | re.DOTALL)
    cells = [re.findall(r"[^|]+", row) for row in rows[0].splitlines()[2:]]
    return {first.strip(): second.strip() for first, second in cells}


def names(text, heading):
    """Return the names between backticks in the first column of the table that follows `heading`."""
    return set(re.findall(r"`(\w+)`", " ".join(table(text, heading))))


class ReadmeReader(Reader):
    """Somebody who follows the README."""

    def run_commands(self, title):
        """Run all ``heat`` commands of a section; return {command: what it said}."""
        return {" ".join(command.split()): self.run("sh", "-c", command) for command in commands_of(title)}

    def run_python(self, title):
        """Run the Python blocks of a section; return what each said."""
        return [self.run(sys.executable, "-c", block) for block in blocks("python", section(title))]


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        assert not run("MATCH (n:Paper) RETURN n LIMIT 1")
        yield run
        run("MATCH (n:Paper) DETACH DELETE n")
        run(
            "MATCH (n) WHERE (n:HeatRun|HeatVersion AND n.model = 'heat') "
            "OR (n:HeatModel AND n.name = 'heat') DETACH DELETE n"
        )
        run("DROP CONSTRAINT heat_load_Paper_id IF EXISTS")
        for slot in (1, 2):
            run(f"DROP INDEX heatVector{slot}_Paper IF EXISTS")


@pytest.fixture
def reader(server, tmp_path):
    """A reader whose files begin as the README shows and go on for 60 papers of three fields."""
    edges, attributes, labels = blocks("csv")
    for i in range(3, PAPERS + 1):
        attributes += f"p{i},{2000 + i % 3 * 8 + i % 5},{8 + i % 3 * 10 + i % 7}\n"
        labels += f"p{i},{FIELDS[i % 3]}\n"
    for i in range(2, PAPERS + 1):
        for step in STEPS:
            target = (i + step - 1) % PAPERS + 1
            edges += f"p{i},p{target},{1 + step % 2},{2000 + i // 3}-0{1 + step % 9}-01\n"
    for name, text in (("edges.csv", edges), ("attributes.csv", attributes), ("labels.csv", labels)):
        assert f"`{name}`\n\n```csv" in README
        (tmp_path / name).write_text(text)
    return ReadmeReader(tmp_path, server)


@pytest.mark.live
def test_own_data_from_beginning_to_end(reader, cypher, store, server):
    said = reader.run_commands("Your own data")
    assert [command.split()[1] for command in said] == [
        "server", "load", "check", "estimate", "embed", "runs", "links",
    ]  # fmt: skip
    (embedded,) = (text for command, text in said.items() if command.startswith("heat embed"))
    assert (
        "Published     poincare coordinates of 60 nodes in heatEmbedding1, heatRadius1, heatRun1" in embedded
    )
    (linked,) = (text for command, text in said.items() if command.startswith("heat links"))
    assert "Published     20 predicted links of type HEAT_PREDICTED" in linked
    (row,) = cypher("MATCH (n:Paper {id: 'p1'}) RETURN properties(n) AS p")
    assert {"id", "features", "label"} == {name for name in row["p"] if not name.startswith("heat")}
    assert row["p"]["features"] == [2008.0, 24.0]

    check_tables(cypher)

    from_files, live, chosen = reader.run_python("From Python")
    assert from_files.startswith(f"({PAPERS}, 11)\np")
    assert len(from_files.splitlines()) == 6
    assert [line.split()[0] for line in live.splitlines()] == [
        row["node"]
        for row in store.query("nearest", model="heat", label="Paper", property="id", value="p1", k=5)
    ]
    parameters, *methods = chosen.splitlines()
    assert set(literal_eval(parameters)) == {"alpha"}
    assert [line.rsplit(maxsplit=1)[0] for line in methods[:2]] == ["HEAT", "HEAT, combined score"]
    assert all(0.5 < float(line.rsplit(maxsplit=1)[1]) <= 1 for line in methods[:2])

    asked = reader.run_commands("Ask in Cypher")
    neighbours, listed, missing, shown = asked.values()
    assert [line.split()[0] for line in neighbours.splitlines()[1:6]] == [
        row["node"] for row in store.query("nearest", label="Paper", property="id", value="p1", k=5)
    ]
    assert {line.split()[0] for line in listed.splitlines()[1:]} >= {"nearest", "missing_links"}
    assert len(missing.splitlines()) >= 4
    assert shown == load_query("nearest").copy({"label": "Paper", "property": "id"})

    nearest, links = blocks("cypher", section("Ask in Cypher"))
    values = {"model": "heat", "value": "p1", "k": 3}
    assert len(cypher(nearest, **values)) == 3
    assert len(cypher(links)) == 10

    follow_the_schedule(reader, server)
    ask_the_worker(reader, cypher)
    assert len(store.runs("heat")) == 5

    said = reader.run_commands("Safety")
    first, second = said.values()
    assert first.startswith("would remove 5 runs, coordinates of 120 nodes, ")  # of two versions
    assert second == first.replace("would remove", "removed")
    assert cypher("MATCH (n:Paper) WHERE any(k IN keys(n) WHERE k STARTS WITH 'heat') RETURN n") == []
    assert cypher("MATCH ()-[p]->() WHERE type(p) = 'HEAT_PREDICTED' RETURN p") == []
    assert store.runs("heat") == []


@pytest.mark.live
@pytest.mark.one_release
def test_measuring_and_pictures(reader, cypher, server):
    reader.run("sh", "-c", load_command())
    follow_the_schedule(reader, server)
    measure(reader, cypher)
    look(reader)


def load_command():
    """Return the command of "Your own data" that loads the files."""
    (command,) = (found for found in commands_of("Your own data") if found.startswith("heat load"))
    return command


def check_tables(cypher):
    """Compare the tables of what is written with what is written."""
    text = section("What is written")
    (keys,) = cypher("MATCH (m:HeatModel {name: 'heat'}) RETURN keys(m) AS keys")
    at_times = {"rolledBackAt", "leaseHolder", "leaseUntil"}
    assert names(text, "**One `(:HeatModel)`") - at_times == set(keys["keys"])
    (keys,) = cypher(
        "MATCH (m:HeatModel {name: 'heat'}) MATCH (v:HeatVersion {model: 'heat', number: m.version}) "
        "RETURN keys(v) AS keys"
    )
    assert names(text, "**`(:HeatVersion)`") == set(keys["keys"])
    keys = cypher("MATCH (r:HeatRun {model: 'heat'}) UNWIND keys(r) AS key RETURN DISTINCT key")
    of_others = {"error", "auroc", "overlap", "meanMove"}  # runs that stopped, and those of a refresh
    assert names(text, "**One `(:HeatRun)`") - of_others == {row["key"] for row in keys}
    keys = cypher(
        "MATCH ()-[p]->() WHERE type(p) = 'HEAT_PREDICTED' UNWIND keys(p) AS key RETURN DISTINCT key"
    )
    assert names(text, "**Predicted links**") == {row["key"] for row in keys}
    keys = cypher("MATCH (n:Paper) UNWIND keys(n) AS key RETURN DISTINCT key")
    ours = {row["key"] for row in keys if row["key"].startswith("heat")}
    assert {name[:-1] for name in names(text, "**On your nodes**")} == {name[:-1] for name in ours}
    assert ours <= names(text, "**On your nodes**")


def follow_the_schedule(reader, server):
    """Run the line for cron with the README's heat.toml, which alone says where the server is."""
    (line,) = blocks("crontab")
    fields, command = line.split(maxsplit=5)[:5], line.split(maxsplit=5)[5]
    assert all(re.fullmatch(r"\*|\d+", field) for field in fields)
    (settings,) = blocks("toml")
    password = reader.folder / "password"
    password.write_text(server.password)
    settings = settings.replace("neo4j://localhost:7687", server.uri)
    settings = settings.replace("/etc/heat/password", str(password))
    settings = settings.replace("[connection]", f"[connection]\nusername = {json.dumps(server.user)}")
    (reader.folder / "heat.toml").write_text(settings)
    here = command.replace("/srv/papers", shlex.quote(str(reader.folder)))
    assert here != command
    reader.run("sh", "-c", here, without=CONNECTION)
    assert "Published     poincare coordinates of 60 nodes" in (reader.folder / "heat.log").read_text()
    said = reader.run("heat", "check", without=CONNECTION)
    assert "Nodes         60: Paper 60\nRelationships 415: CITES 415\n" in said
    (said,) = reader.run_python("On a schedule")
    assert said.startswith("nothing the graph is as it was ")


def ask_the_worker(reader, cypher):
    """Have the README's worker answer its request, with heat.toml from before."""
    (command,) = (shlex.split(found) for found in commands_of("On a schedule"))
    (request,) = blocks("cypher", section("On a schedule"))
    worker = reader.start(*command, without=CONNECTION)
    try:
        cypher(request)
        statuses = []
        while "done" not in statuses:
            assert worker.poll() is None
            time.sleep(0.2)
            statuses = [row["s"] for row in cypher("MATCH (q:HeatRequest) RETURN q.status AS s")]
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0
    finally:
        worker.kill()
        cypher("MATCH (q:HeatRequest) DELETE q")


def measure(reader, cypher):
    """Run what measures and chooses, with the README's heat.toml; it writes nothing until `heat embed`."""
    before = snapshot(cypher)
    commands = commands_of("Is it any good?")
    assert [command.split()[1:3] for command in commands] == [
        ["evaluate", "links"], ["evaluate", "links"], ["evaluate", "reconstruction"], ["evaluate", "classes"],
        ["evaluate", "alpha"], ["evaluate", "links"], ["embed", "--alpha"],
    ]  # fmt: skip
    links, temporal, reconstruction, classes, alphas, auto = (
        reader.run("sh", "-c", command) for command in commands[:-1]
    )
    (shown,) = blocks("text", section("Is it any good?"))
    printed = links[links.index("\nmethod ") + 1 :].partition("\n\n")[0]
    cells = [[re.split(r" {2,}", line) for line in text.splitlines()] for text in (shown, printed)]
    assert [row[0] for row in cells[0]] == [row[0] for row in cells[1]]
    assert cells[0][0] == cells[1][0][: len(cells[0][0])]
    assert "ECE" in cells[1][0]
    assert "\nNotes  " in links
    assert "latest edges are held out" in temporal
    assert "Task          network reconstruction" in reconstruction
    assert "Task          node classification: 3 classes" in classes
    assert re.findall(r"^(0\S*) ", alphas, re.MULTILINE) == ["0", "0.2", "0.5"]
    assert "chosen for seed 1: alpha " in auto
    assert snapshot(cypher) == before

    said = reader.run("sh", "-c", commands[-1])
    assert "\nScore         combined; " in said
    assert "\nChosen        alpha " in said
    (row,) = cypher(
        "MATCH (m:HeatModel {name: 'heat'})-[:HEAT_PUBLISHED]->(r:HeatRun) "
        "MATCH (v:HeatVersion {model: 'heat', number: m.version}) "
        "RETURN DISTINCT r.parameters AS p, keys(v) AS keys"
    )
    assert {"choice", "link_score"} <= set(json.loads(row["p"]))
    assert {"linkRadius", "linkTemperature"}.isdisjoint(row["keys"])


def look(reader):
    """Run what makes pictures."""
    page, *pictures = reader.run_commands("Pictures").values()
    assert page.startswith("Page  ")
    assert len(pictures) == 2
    html = (reader.folder / "heat-explore.html").read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert '"p1"' in html
    for name in ("heat-disk.png", "heat-reliability.png"):
        assert (reader.folder / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.live
def test_files_and_database_give_the_same_bits(reader, cypher):
    reader.run("sh", "-c", load_command())
    first, second = blocks("python", section("From Python"))[:2]
    keep = "\nimport numpy\nnumpy.save('{}.npy', model.embedding_)\n"
    for place, block in enumerate((first, second)):
        reader.run(sys.executable, "-c", block + keep.format(place))
    assert (reader.folder / "0.npy").read_bytes() == (reader.folder / "1.npy").read_bytes()


def test_the_cypher_shown_is_that_of_the_library():
    shown = load_query("nearest_scan").copy({"label": "Paper", "property": "id"})
    assert shown.strip() in [block.strip() for block in blocks("cypher")]


def test_heat_toml_is_read_and_ends_as_the_options_above_it(tmp_path):
    (tmp_path / "heat.toml").write_text(blocks("toml")[0])
    values = read_config(tmp_path / "heat.toml")
    assert values["projection.labels"] == ["Paper"]
    assert values["heat.random_state"] == 0


def test_exit_codes_are_those_of_the_errors():
    stated = {int(code) for code in table(README, "### Exit codes")}
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    assert stated == {0, 130} | {kind.exit_code for kind in kinds}


def test_every_command_and_option_exists():
    flags, commands = set(), set(heat.list_commands(None))
    for command in walk(heat):
        flags |= {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    mentioned = re.sub(r"^\| `python -m.*$", "", README, flags=re.MULTILINE)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", mentioned)) <= flags | {"--help"}
    called = set(re.findall(r"(?:^|`|bin/)heat ([a-z]+)", README, re.MULTILINE))
    assert called <= commands


def walk(command):
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_points_to_is_there(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [target for target in targets if not ((ROOT / document).parent / target).exists()] == []
    goals = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= goals
    modules = set(re.findall(r"python -m ((?:heat_neo4j|tests)[\w.]*)", text))
    assert [module for module in sorted(modules) if find_spec(module) is None] == []


def test_there_is_one_place_for_the_digest_of_results():
    assert README.count(BEGIN) == README.count(END) == 1
    assert BEGIN in section("Benchmarks").partition(END)[0]


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first[1] == heat_neo4j.__version__
