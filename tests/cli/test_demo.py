"""``heat demo``: the whole of it, on its own server; its refusals; and twice in one database."""

import json
import re

import neo4j
import pytest
from click.testing import CliRunner
from PIL import Image

from heat_neo4j.cli import heat
from heat_neo4j.demo import stdlib
from heat_neo4j.demo.questions import QUESTIONS
from heat_neo4j.local_server.server import LocalServer
from tests.support.live_graph import open_cypher, snapshot


def invoke(*arguments, code=0, **environment):
    result = CliRunner().invoke(heat, ["demo", *arguments], prog_name="heat", env=environment)
    assert result.exit_code == code, result.output
    return result


def keep_of_library(monkeypatch, names):
    """Let the library have no modules but those whose names begin so."""
    real, kept = stdlib._module_files, re.compile(names)
    monkeypatch.setattr(
        stdlib,
        "_module_files",
        lambda folder: ((name, path) for name, path in real(folder) if kept.match(name)),
    )


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        yield run
        run("MATCH (n) WHERE n:Module OR n:HeatRun OR n:HeatModel OR n:HeatVersion DETACH DELETE n")
        run("DROP CONSTRAINT heat_load_Module_name IF EXISTS")


@pytest.mark.live
def test_the_whole_demo_on_a_server_of_its_own(heat_home_folder, tmp_path):
    picture = tmp_path / "library.png"
    try:
        shown = invoke("--picture", str(picture)).stdout
        status = LocalServer(name="demo").status()
        assert status.running, "the server stays, to look around in"
        uri, *login = LocalServer(name="demo").connection()
        with neo4j.GraphDatabase.driver(uri, auth=tuple(login)) as driver:
            assert driver.execute_query(re.search(r"^Try (.*?)^Queries", shown, re.M | re.S)[1]).records
    finally:
        LocalServer(name="demo").stop()
    assert re.search(r"^ +\d{3,4} modules, \d,\d{3} imports$", shown, re.MULTILINE)
    sections = re.split(r"^\d\. ", shown, flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == [question.text for question in QUESTIONS]
    nearest, elsewhere, general, missing, tied = (section.split("\n\n")[1] for section in sections)
    assert nearest.count(" asyncio.") >= 2
    assert " asyncio." not in elsewhere
    assert general.splitlines()[1].split()[0] == "sys"
    assert len(missing.splitlines()) == 9
    assert 2 <= len(tied.splitlines()) <= 9  # those that are likely enough
    assert str(picture) in shown
    assert str(status.browser) in shown
    assert str(status.password_file) in shown
    assert status.password_file.read_text().strip() not in shown
    with Image.open(picture) as image:
        assert image.size > (1000, 1000)
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50  # a palette of our own tints


@pytest.mark.live
@pytest.mark.slow
def test_twice_in_a_given_database_is_the_same_as_once(server, cypher, tmp_path, monkeypatch):
    keep_of_library(monkeypatch, r"asyncio|concurrent|email|http|json|urllib|[a-s]\w*$")
    cypher("CREATE (:Book {name: 'asyncio', weight: 3})")
    answers, graphs = [], []
    for place in range(2):
        picture = tmp_path / f"{place}.svg"
        result = invoke("--picture", str(picture), "--json", **server.environment)
        document = json.loads(result.stdout)
        assert document["server"] is None
        assert picture.stat().st_size > 10_000
        answers.append(document["answers"])
        (row,) = cypher(
            "MATCH (n:Module) RETURN count(n) AS nodes, COUNT { (:Module)-[:IMPORTS]->() } AS imports"
        )
        graphs.append(tuple(row.values()))
    assert answers[0] == answers[1]
    assert graphs[0] == graphs[1]
    assert graphs[0][0] > 100
    assert len(cypher("MATCH (m:HeatModel) RETURN m.name AS name")) == 1
    cypher("MATCH (b:Book) DELETE b")


@pytest.mark.live
def test_modules_that_are_not_the_demos_are_left_alone(server, cypher, tmp_path, monkeypatch):
    keep_of_library(monkeypatch, "asyncio|email|http|json")
    cypher("CREATE (:Module {name: 'engine', id: 1})")
    before = snapshot(cypher)
    result = invoke("--picture", str(tmp_path / "x.png"), code=5, **server.environment)
    assert result.stderr.splitlines()[-1] == (
        "heat: label 'Module' is on 1 node that 'heat demo' did not make, nothing was loaded: "
        "use another database (--database) or server (--uri)"
    )
    assert snapshot(cypher) == before


def test_what_would_go_wrong_at_the_end_is_found_first(tmp_path):
    assert "--picture must end in .png, .svg, .pdf" in invoke("--picture", "x.gif", code=2).stderr
    nowhere = str(tmp_path / "none" / "x.png")
    assert "there is no folder" in invoke("--picture", nowhere, code=2).stderr
    both = invoke(
        "--version", "2026", "--uri", "bolt://127.0.0.1:1", "--picture", str(tmp_path / "x.png"), code=2
    )
    assert "--version is for the local server" in both.stderr
