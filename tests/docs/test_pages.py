"""README.md and the pages of docs/ are followed to the letter on a live server."""

import contextlib
import io
import json
import re
import shlex
import signal
import socket
import time
from ast import literal_eval
from concurrent.futures import ThreadPoolExecutor

import click
import pytest

from heat_neo4j.cli import heat
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import load_query
from tests.docs.pages import COMMAND, PAGES, PageReader, commands_of, executable_blocks, page_blocks
from tests.docs.tables import first_column
from tests.explore.test_page_data import part_of
from tests.support.live_graph import open_cypher, snapshot

CONNECTION = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD")
PAPERS = 60
STEPS = (3, 6, 9, 12, 15, 21, 27)  # of edges; so many that some can be held out twice
FIELDS = ("biology", "physics", "music")
FILMS = """
UNWIND range(0, 4) AS g CREATE (:Genre {name: 'genre ' + g})
WITH count(*) AS done UNWIND range(0, 29) AS f
MATCH (g:Genre {name: 'genre ' + f % 5})
CREATE (:Film {title: 'film ' + f, year: CASE WHEN f % 7 > 0 THEN 1990 + f END,
               country: ['DK', 'PT', 'IN'][f % 3], genres: ['a', 'b'][..1 + f % 2],
               plot: 'somebody leaves home and finds number ' + f % 4})-[:OF]->(g)
WITH count(*) AS done UNWIND range(0, 39) AS u
CREATE (n:User {name: CASE u WHEN 0 THEN 'ann' ELSE 'user ' + u END})
WITH n, u UNWIND range(0, 4) AS i
MATCH (f:Film {title: 'film ' + (u % 5 + 5 * ((u + i) % 6) + CASE i WHEN 0 THEN 1 ELSE 0 END) % 30})
CREATE (n)-[:RATED {stars: 1 + (u + i) % 5}]->(f)
"""

COMMAND_LINE, LOADING = "docs/command-line.md", "docs/how-to/load-files.md"
TYPES, LINKS, WORKER = "docs/how-to/types-and-directions.md", "docs/how-to/links.md", "docs/how-to/worker.md"
NO_DATABASE, START = "docs/how-to/without-a-database.md", "docs/index.md"
WORK = (
    "README.md", LOADING, COMMAND_LINE, LINKS, "docs/reproducibility.md", "docs/python.md", NO_DATABASE,
    "docs/retrieval.md", "docs/cypher.md", "docs/queries.md", "docs/refresh.md", "docs/publication.md",
    WORKER, "docs/operations.md", "docs/reference/metrics.md", "docs/how-to/aura.md",
    "docs/how-to/roll-back.md", "docs/how-to/clear.md", TYPES, "docs/attributes.md",
    "docs/how-to/larger-than-memory.md", START,
)  # fmt: skip
MEASURING = ("docs/evaluation.md", "docs/pictures.md")
TOUR = "docs/tour.md"  # has a test of its own


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        assert not run("MATCH (n:Paper) RETURN n LIMIT 1")
        yield run
        run("MATCH (n) WHERE n:Paper|User|Film|Genre|HeatRequest DETACH DELETE n")
        run(
            "MATCH (n) WHERE (n:HeatRun|HeatVersion AND n.model IN ['heat', 'films']) "
            "OR (n:HeatModel AND n.name IN ['heat', 'films']) DETACH DELETE n"
        )
        run("DROP CONSTRAINT heat_load_Paper_id IF EXISTS")
        for index in ("heat_Paper", "_heatStaged_Paper", "films_User", "films_Film", "films_Genre"):
            run(f"DROP INDEX {index} IF EXISTS")


@pytest.fixture
def files(tmp_path):
    """The folder of files that begin as the page shows and go on for 60 papers of three fields."""
    edges, attributes, labels = page_blocks(LOADING, "csv")
    for i in range(3, PAPERS + 1):
        attributes += f"p{i},{2000 + i % 3 * 8 + i % 5},{8 + i % 3 * 10 + i % 7}\n"
        labels += f"p{i},{FIELDS[i % 3]}\n"
    for i in range(2, PAPERS + 1):
        for step in STEPS:
            target = (i + step - 1) % PAPERS + 1
            edges += f"p{i},p{target},{1 + step % 2},{2000 + i // 3}-0{1 + step % 9}-01\n"
    for name, text in (("edges.csv", edges), ("attributes.csv", attributes), ("labels.csv", labels)):
        assert f"`{name}`\n\n```csv" in PAGES[LOADING]
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.live
@pytest.mark.vector_index
def test_the_start_page_and_the_readme(files, cypher, store, server):
    reader = PageReader(files, server, (START, "README.md"))
    reader.run_command(load_command())
    begin_at_the_start_page(reader, cypher, store)
    follow_the_readme(reader, cypher, store)
    assert reader.unread == set()


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.vector_index
def test_work_from_beginning_to_end(files, cypher, store, server):
    reader = PageReader(files, server, WORK)
    reader.take(LOADING, "csv")
    reader.run_commands(LOADING)
    said = reader.run_commands(COMMAND_LINE)
    assert [command.split()[1] for command in said] == [
        "server", "doctor", "check", "estimate", "embed", "runs",
    ]  # fmt: skip
    (embedded,) = (text for command, text in said.items() if command.startswith("heat embed"))
    assert "Published     poincare coordinates of 60 nodes in heatEmbedding, heatRadius, heatRun" in embedded
    first, again, came_true, recommended, turned, explained = reader.run_commands(LINKS).values()
    for linked in (first, again):
        assert "Published     20 predicted links of type HEAT_PREDICTED" in linked
    assert len(came_true.splitlines()) >= 6
    (verified,) = reader.run_commands("docs/reproducibility.md").values()
    for text, arrow in ((recommended, "p1 -CITES-> ?"), (turned, "? -CITES-> p1")):
        title, header, *rows = text.splitlines()
        assert title.startswith(arrow)
        assert (header.split()[0], len(rows)) == ("RANK", 5)
    assert re.match(r"Link +p1 -CITES-> p9: probability 0\.\d+", explained)
    assert "together" in explained
    assert f"radii of {PAPERS} nodes\nResult        the same bits\n" in verified
    (row,) = cypher("MATCH (n:Paper {id: 'p1'}) RETURN properties(n) AS p")
    assert {"id", "features", "label"} == {name for name in row["p"] if not name.startswith("heat")}
    assert row["p"]["features"] == [2008.0, 24.0]

    check_tables(cypher)
    follow_the_readme(reader, cypher, store)

    (asked,) = reader.run_python(LINKS)
    review(reader, cypher)
    (live,) = reader.run_python("docs/python.md")
    characters, from_frame, from_files = reader.run_python(NO_DATABASE)
    columns = ["source", "target", "type", "distance", "probability", "rank"]
    assert [from_frame.splitlines()[place].split() for place in (0, 6)] == [columns, columns]
    assert "an average pair of the pattern" in from_frame
    assert [line.split()[0] for line in asked.splitlines()[:5]] == ["Paper-CITES->Paper"] * 5
    assert "Valjean" in characters
    assert from_files.startswith(f"({PAPERS}, 11)\n")
    header, *links = from_files.splitlines()[1:]
    assert header.split() == ["source", "target", "type", "distance", "probability", "rank"]
    assert len(links) == 5
    header, *links, chance, nearest = live.splitlines()
    assert 0.0 < float(chance.strip("[]")) < 1.0
    assert header.split() == ["source", "target", "type", "distance", "probability", "rank"]
    assert len(links) == 5
    assert nearest.split() == [
        row["node"]
        for row in store.query("nearest", model="heat", label="Paper", property="id", value="p1", k=5)
    ]
    ask_for_language_models(reader, store)

    asked = reader.run_commands("docs/cypher.md")
    neighbours, listed, missing, shown = asked.values()
    assert [line.split()[0] for line in neighbours.splitlines()[1:6]] == [
        row["node"] for row in store.query("nearest", label="Paper", property="id", value="p1", k=5)
    ]
    assert {line.split()[0] for line in listed.splitlines()[1:]} >= {"nearest", "missing_links"}
    assert len(missing.splitlines()) >= 4
    assert shown == load_query("nearest").copy({"label": "Paper", "property": "id"})

    nearest, links = reader.take("docs/cypher.md", "cypher")
    values = {"model": "heat", "value": "p1", "k": 3}
    assert len(cypher(nearest, **values)) == 3
    assert len(cypher(links)) == 10
    by_version, links_by_version = reader.take("docs/publication.md", "cypher")
    assert len(cypher(links_by_version)) == len(cypher("MATCH ()-[p:HEAT_PREDICTED]->() RETURN p"))
    plain = "MATCH (n:Paper) RETURN n, n.heatEmbedding AS embedding"
    seen, expected = (
        {row["n"]["id"]: row["embedding"] for row in cypher(each)} for each in (by_version, plain)
    )
    assert len(seen) == PAPERS
    assert seen == expected
    ask_for_nearest_nodes(reader, cypher, store)

    embed_films(reader, cypher)
    follow_the_schedule(reader, server, cypher)
    refresh_from_python(reader)
    operate(reader, cypher, store)
    (over_files,) = reader.run_commands("docs/how-to/larger-than-memory.md").values()
    assert f"Published     poincare coordinates of {PAPERS} nodes" in over_files
    runs = len(store.runs("heat"))

    said = reader.run_commands("docs/how-to/clear.md")
    first, second = said.values()
    assert first.startswith(f"would remove {runs} runs, coordinates of 120 nodes, ")  # of two versions
    assert second == first.replace("would remove", "removed")
    assert cypher("MATCH (n:Paper) WHERE any(k IN keys(n) WHERE k STARTS WITH 'heat') RETURN n") == []
    assert cypher("MATCH ()-[p]->() WHERE type(p) = 'HEAT_PREDICTED' RETURN p") == []
    assert store.runs("heat") == []
    begin_at_the_start_page(reader, cypher, store)
    assert reader.unread == set()


@pytest.mark.live
@pytest.mark.vector_index
@pytest.mark.one_release
@pytest.mark.slow
def test_measuring_and_pictures(files, cypher, server):
    reader = PageReader(files, server, MEASURING)
    reader.run_command(load_command())
    (embed,) = (command for command in commands_of(COMMAND_LINE) if command.startswith("heat embed"))
    reader.run_command(embed)  # as a schedule refreshes what is published already
    follow_the_schedule(reader, server, cypher)
    measure(reader, cypher)
    look(reader)
    assert reader.unread == set()


def test_every_page_with_code_is_followed():
    with_code = {page for page in PAGES if executable_blocks(page)}
    assert with_code == {*WORK, *MEASURING, TOUR}


@pytest.mark.parametrize("page", [page for page in PAGES if page != TOUR])
def test_every_line_of_a_shell_block_belongs_to_a_command_that_is_run(page):
    for block in page_blocks(page, "sh"):
        assert COMMAND.sub("", block).strip() == ""


def load_command():
    """Return the command that loads the files."""
    (command,) = commands_of(LOADING)
    return command


def check_tables(cypher):
    """Compare the tables of what is written with what is written."""
    text = PAGES["docs/data-model.md"]
    (keys,) = cypher("MATCH (m:HeatModel {name: 'heat'}) RETURN keys(m) AS keys")
    at_times = {"rolledBackAt", "leaseHolder", "leaseUntil", "staging"}
    assert first_column(text, "## One `(:HeatModel)`") - at_times == set(keys["keys"])
    (keys,) = cypher(
        "MATCH (m:HeatModel {name: 'heat'}) MATCH (v:HeatVersion {model: 'heat', number: m.version}) "
        "RETURN keys(v) AS keys"
    )
    while_published = {"publishing", "indexWanted", "stagedLinkType"}
    while_published |= {f"staged{name}" for name in ("Embedding", "Radius", "Run", "Vector")}
    assert first_column(text, "## `(:HeatVersion)`") - while_published == set(keys["keys"])
    keys = cypher("MATCH (r:HeatRun {model: 'heat'}) UNWIND keys(r) AS key RETURN DISTINCT key")
    ours = {row["key"] for row in keys} - {"createdBy"}
    of_others = {"error", "heartbeat", "auroc", "overlap", "meanMove"}  # of runs that stopped, or refreshed
    assert first_column(text, "## One `(:HeatRun)`") - of_others == ours
    keys = cypher(
        "MATCH ()-[p]->() WHERE type(p) = 'HEAT_PREDICTED' UNWIND keys(p) AS key RETURN DISTINCT key"
    )
    assert first_column(text, "## Predicted links") == {row["key"] for row in keys}
    keys = cypher("MATCH (n:Paper) UNWIND keys(n) AS key RETURN DISTINCT key")
    ours = {row["key"] for row in keys if row["key"].startswith("heat")}
    names = WriteNames()
    assert ours == {names.embedding, names.radius, names.run}


def follow_the_readme(reader, cypher, store):
    """Run the README's Python block and its statement."""
    (printed,) = reader.run_python("README.md")
    (statement,) = reader.take("README.md", "cypher")
    assert [line.split()[0] for line in printed.splitlines()] == [
        row["node"] for row in store.query("nearest", label="Paper", property="id", value="p1", k=5)
    ]
    assert len(cypher(statement)) == 10


def review(reader, cypher):
    """Ask for the predicted links, take the first of them over, and take that back."""
    likeliest, accept, named, not_predicted = reader.take(LINKS, "cypher")
    cited = cypher(named)
    assert [row["type"] for row in cited] == ["CITES"]
    assert "HEAT_PREDICTED" in {
        row["type"] for row in cypher("MATCH (:Paper {id: 'p1'})-[r]-() RETURN type(r) AS type")
    }
    assert cited[0] in cypher(not_predicted)
    assert not any(row["type"].startswith("HEAT_PREDICTED") for row in cypher(not_predicted))
    links = cypher(likeliest)
    assert [row["rank"] for row in links] == list(range(1, 11))
    joined = "MATCH (:Paper {id: $source})-[r:CITES]->(:Paper {id: $target}) "
    ends = {name: links[0][name] for name in ("source", "target")}
    assert cypher(joined + "RETURN r", **ends) == []
    cypher(accept)
    (made,) = cypher(joined + "RETURN r.weight AS weight", **ends)
    assert made["weight"] == 1.0
    cypher(joined + "DELETE r", **ends)


def ask_for_nearest_nodes(reader, cypher, store):
    """Ask as docs/queries.md does, which filters by a year that the loaded files put into `features`."""
    neighbours, shown, status = reader.run_commands("docs/queries.md").values()
    assert len(neighbours.splitlines()) >= 6
    assert shown == load_query("nearest").copy({"label": "Paper", "property": "id"})
    assert "ONLINE" in status.upper()
    (block,) = reader.take("docs/queries.md", "python")
    cypher("MATCH (n:Paper) SET n.year = n.features[0]")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block, {"store": store})
    cypher("MATCH (n:Paper) REMOVE n.year")
    *nodes, certified = printed.getvalue().splitlines()
    assert len(nodes) == 10
    assert certified == "True"


def ask_for_language_models(reader, store):
    """Run the blocks of docs/retrieval.md, and see that an MCP client would find what its example names."""
    with ThreadPoolExecutor(1) as thread:  # tests in a browser leave a loop of asyncio running in this one
        items, documents, together, drawn = thread.submit(reader.run_python, "docs/retrieval.md").result()
    nearest = [each.name for each in store.neighbours("p1", k=3).nodes]
    assert [line.split()[0] for line in items.splitlines() if " from the centre" in line] == nearest
    assert items.count("'probability': ") == 3
    general = store.neighbours("p1", k=3, among="more_general")
    assert [line.split()[0] for line in documents.splitlines()] == [each.name for each in general.nodes]
    assert together.split() == [store.neighbours(node, k=1).nodes[0].name for node in ("p1", "p2")]
    assert drawn == f"{PAPERS} {415 + 100} True\n"  # with the likeliest predicted links
    (example,) = page_blocks("docs/retrieval.md", "json")
    (started,) = json.loads(example)["mcpServers"].values()
    context = click.Context(heat)
    heat.get_command(context, started["args"][0]).make_context("mcp", started["args"][1:])
    assert set(started["env"]) <= set(CONNECTION)


def follow_the_schedule(reader, server, cypher):
    """Run the line for cron with the heat.toml of the command line, which alone says where the server is."""
    (line,) = reader.take("docs/refresh.md", "crontab")
    fields, command = line.split(maxsplit=5)[:5], line.split(maxsplit=5)[5]
    assert all(re.fullmatch(r"\*|\d+", field) for field in fields)
    (settings,) = reader.take(COMMAND_LINE, "toml")
    password = reader.folder / "password"
    password.write_text(server.password)
    settings = settings.replace("neo4j://localhost:7687", server.uri)
    settings = settings.replace("/etc/heat/password", str(password))
    settings = settings.replace("[connection]", f"[connection]\nusername = {json.dumps(server.user)}")
    (reader.folder / "heat.toml").write_text(settings)
    here = command.replace("/srv/papers", shlex.quote(str(reader.folder)))
    assert here != command
    cypher("MATCH (:Paper {id: 'p60'})-[r:CITES]->() WITH r LIMIT 1 SET r.weight = r.weight + 1")
    reader.run("sh", "-c", here, without=CONNECTION)
    assert "Published     poincare coordinates of 60 nodes" in (reader.folder / "heat.log").read_text()
    said = reader.run("heat", "check", without=CONNECTION)
    assert "Nodes         60: Paper 60\nRelationships 415: CITES 415\n" in said


def refresh_from_python(reader):
    """Run the block that refreshes, once the schedule has just done so."""
    (said,) = reader.run_python("docs/refresh.md")
    assert said.startswith("nothing the graph is as it was ")


def ask_the_worker(reader, cypher, command, request):
    """Have a worker answer a request, with heat.toml; return what its health file says, if it has one."""
    health = reader.folder / "health"
    worker = reader.start(*shlex.split(command), without=CONNECTION)
    try:
        cypher(request)
        statuses = []
        while "done" not in statuses:
            assert worker.poll() is None
            time.sleep(0.2)
            statuses = [row["s"] for row in cypher("MATCH (q:HeatRequest) RETURN q.status AS s")]
        state = json.loads(health.read_text())["state"] if health.exists() else None
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0
        assert not health.exists()
    finally:
        worker.kill()
    (shown,) = cypher(page_blocks(WORKER, "cypher")[1])
    assert shown["q.status"] == "done"
    assert shown["q.progress"] == 1.0
    cypher("MATCH (q:HeatRequest) DELETE q")
    return state


def operate(reader, cypher, store):
    """Run what is said about workers, requests, watching and going back."""
    by_interval, by_cron = reader.take_commands(WORKER)
    request, _, remove_old = reader.take(WORKER, "cypher")
    (watch,) = reader.take("docs/operations.md", "cypher")
    (metrics,) = reader.take("docs/reference/metrics.md", "toml")
    metrics = re.sub(r"= 9464", f"= {free_port()}", metrics)
    metrics = metrics.replace("/var/lib/node_exporter", str(reader.folder))
    (reader.folder / "served.toml").write_text((reader.folder / "heat.toml").read_text() + metrics)
    places = {"/etc/heat.toml": "served.toml", "/run/heat/health": "health"}
    states = []
    for command in (by_interval, by_cron):
        here = command
        for place, name in places.items():
            here = here.replace(place, shlex.quote(str(reader.folder / name)))
        states.append(ask_the_worker(reader, cypher, here, request))
    assert states[0] in {"waiting", "working"}
    assert states[1] is None

    for age in ("P31D", "P1D"):
        cypher("CREATE (:HeatRequest {finishedAt: datetime() - duration($age)})", age=age)
    cypher(remove_old)
    assert len(cypher("MATCH (q:HeatRequest) RETURN q")) == 1
    cypher("MATCH (q:HeatRequest) DELETE q")
    (row,) = cypher(watch)
    assert row["published"] is not None
    assert row["decision"] == "local"
    assert row["until"] is None

    published = (
        "MATCH (m:HeatModel {name: 'heat'}) MATCH (v:HeatVersion {model: 'heat', number: m.version}) "
        "RETURN v.run AS run, v.previousRun AS previous"
    )
    (before,) = cypher(published)
    reader.run_commands("docs/how-to/roll-back.md")
    (after,) = cypher(published)
    assert after["run"] == before["previous"] != before["run"]
    (diagnosed,) = reader.run_commands("docs/how-to/aura.md").values()
    assert "Neo4j" in diagnosed


def embed_films(reader, cypher):
    """Embed users, films and genres, and see what becomes of the properties of films."""
    cypher(FILMS)
    checked, embedded, recommended = reader.run_commands(TYPES).values()
    assert {"User-RATED->Film:", "Film-OF->Genre:"} <= set(checked.split())
    assert "coordinates of 75 nodes in filmsEmbedding, filmsRadius, filmsRun" in embedded
    assert recommended.startswith("ann -RATED-> ?")
    (checked,) = reader.run_commands("docs/attributes.md").values()
    (shown,) = page_blocks("docs/attributes.md", "text")
    assert shown in checked
    assert reader.run_command("heat clear --model films --yes").startswith("removed 1 run")


def begin_at_the_start_page(reader, cypher, store):
    """Embed from a shell, then from Python, and ask for the links of the latter."""
    embedded, near = reader.run_commands(START).values()
    assert f"coordinates of {PAPERS} nodes" in embedded
    assert len(near.splitlines()) == 11  # with the names of columns
    reader.run_python(START)
    (links,) = reader.take(START, "cypher")
    found = cypher(links)
    assert [row["p.type"] for row in found] == ["CITES"] * 10
    assert len(store.runs("heat")) == 2


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def measure(reader, cypher):
    """Run what measures and chooses, with heat.toml; it writes nothing until `heat embed`."""
    before = snapshot(cypher)
    commands = reader.take_commands("docs/evaluation.md")
    assert [command.split()[1:3] for command in commands] == [
        ["evaluate", "links"], ["evaluate", "links"], ["evaluate", "reconstruction"], ["evaluate", "classes"],
        ["evaluate", "alpha"], ["evaluate", "links"], ["embed", "--alpha"],
    ]  # fmt: skip
    links, temporal, reconstruction, classes, alphas, auto = (
        reader.run_command(command) for command in commands[:-1]
    )
    (shown,) = page_blocks("docs/evaluation.md", "text")
    printed = links[links.index("\nPaper-CITES->Paper ") + 1 :].partition("\n\n")[0]
    cells = [[re.split(r" {2,}", line) for line in text.splitlines()] for text in (shown, printed)]
    assert [row[0] for row in cells[0][1:]] == [row[0] for row in cells[1][1:]]
    assert [*cells[0][0][1:], "seconds"] == cells[1][0][1:]
    assert "\nNotes  " in links
    assert "latest edges are held out" in temporal
    assert "Task          network reconstruction" in reconstruction
    assert "Task          node classification: 3 classes" in classes
    assert re.findall(r"^(0\S*) ", alphas, re.MULTILINE) == ["0", "0.2", "0.5"]
    assert "chosen for seed 1: alpha " in auto
    assert snapshot(cypher) == before

    (chosen,) = reader.run_python("docs/evaluation.md")
    parameters, *methods = chosen.splitlines()
    assert set(literal_eval(parameters)) == {"alpha"}
    assert [line.rsplit(maxsplit=1)[0] for line in methods[:2]] == ["HEAT", "HEAT, combined score"]
    assert all(0.5 < float(line.rsplit(maxsplit=1)[1]) <= 1 for line in methods[:2])

    said = reader.run_command(commands[-1])
    assert " held out: MRR " in said
    assert "\nChosen        alpha " in said
    (row,) = cypher(
        "MATCH (m:HeatModel {name: 'heat'})-[:HEAT_PUBLISHED]->(r:HeatRun) RETURN DISTINCT r.parameters AS p"
    )
    assert {"choice", "link_score"} <= set(json.loads(row["p"]))


def look(reader):
    """Run what makes pictures."""
    page, *pictures = reader.run_commands("docs/pictures.md").values()
    assert page.startswith("Page  ")
    assert len(pictures) == 2
    html = (reader.folder / "heat-explore.html").read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert "p1" in part_of(html, "names")
    for name in ("heat-disk.png", "heat-reliability.png"):
        assert (reader.folder / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.live
@pytest.mark.vector_index
def test_files_and_database_give_the_same_bits(files, server, cypher):
    reader = PageReader(files, server, ())
    reader.run_command(load_command())
    (first,), (*_, second) = page_blocks("docs/python.md", "python"), page_blocks(NO_DATABASE, "python")
    keep = "\nimport numpy\nnumpy.save('{}.npy', model.embedding_)\n"
    for place, block in enumerate((first, second)):
        reader.run_block(block + keep.format(place))
    assert (reader.folder / "0.npy").read_bytes() == (reader.folder / "1.npy").read_bytes()
