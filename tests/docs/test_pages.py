"""README.md and the pages of docs/ are followed to the letter on a live server, each page on its own."""

import contextlib
import io
import json
import re
import shlex
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import load_query
from heat_neo4j.pipeline import class_questions
from tests.docs.pages import COMMAND, PAGES, PageReader, commands_of, executable_blocks, page_blocks
from tests.docs.tables import first_column
from tests.explore.test_page_data import part_of
from tests.support.commands import parse
from tests.support.live_graph import open_cypher, snapshot

CONNECTION = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD")
N_PAPERS = 60
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
COLUMNS = ["source", "target", "type", "distance", "probability", "rank"]

README, START, TOUR = "README.md", "docs/index.md", "docs/tour.md"  # the tour has a test of its own
COMMAND_LINE, LOADING, PYTHON = "docs/command-line.md", "docs/how-to/projection.md", "docs/how-to/python.md"


class Live(NamedTuple):
    """A server with a graph of papers: a function that runs Cypher there, a store, how to reach it."""

    cypher: Any
    store: Any
    server: Any


class Papers:
    """The graph that pages are about. It is made again only after a page that changed it."""

    def __init__(self, cypher):
        self.cypher = cypher
        self.state = None  # "loaded", "embedded" or, after a page that changed it, None

    def prepare(self, reader, wanted):
        """Load the files of the reader's folder into an empty database; embed the graph if that is wanted."""
        if self.state != wanted:
            self.remove()
            reader.run_command(load_command())
            if wanted == "embedded":
                reader.run_command(embed_command())
        self.state = None

    def remove(self):
        """Remove the papers, and everything that was written."""
        self.cypher("MATCH (n) WHERE n:Paper|User|Film|Genre DETACH DELETE n")
        self.cypher(
            "MATCH (n) WHERE (n:HeatRun|HeatVersion AND n.model IN ['heat', 'films']) "
            "OR (n:HeatModel AND n.name IN ['heat', 'films']) DETACH DELETE n"
        )
        self.cypher("DROP CONSTRAINT heat_load_Paper_id IF EXISTS")
        for index in ("heat_Paper", "_heatStaged_Paper", "films_User", "films_Film", "films_Genre"):
            self.cypher(f"DROP INDEX {index} IF EXISTS")


@pytest.fixture(scope="module")
def papers(server):
    with open_cypher(server) as run:
        assert not run("MATCH (n:Paper) RETURN n LIMIT 1")
        papers = Papers(run)
        yield papers
        papers.remove()


@pytest.fixture
def files(tmp_path):
    """The folder of files that begin as the page shows and go on for 60 papers of three fields."""
    edges, attributes, labels = page_blocks(LOADING, "csv")
    for i in range(3, N_PAPERS + 1):
        attributes += f"p{i},{2000 + i % 3 * 8 + i % 5},{8 + i % 3 * 10 + i % 7}\n"
        labels += f"p{i},{FIELDS[i % 3]}\n"
    for i in range(2, N_PAPERS + 1):
        for step in STEPS:
            target = (i + step - 1) % N_PAPERS + 1
            edges += f"p{i},p{target},{1 + step % 2},{2000 + i // 3}-0{1 + step % 9}-01\n"
    for name, text in (("edges.csv", edges), ("attributes.csv", attributes), ("labels.csv", labels)):
        assert f"`{name}`\n\n```csv" in PAGES[LOADING]
        (tmp_path / name).write_text(text)
    return tmp_path


def load_command():
    """Return the command that loads the files."""
    (command,) = (command for command in commands_of(LOADING) if command.startswith("heat load"))
    return command


def embed_command():
    """Return the command that embeds the papers."""
    (command,) = (command for command in commands_of(COMMAND_LINE) if command.startswith("heat embed"))
    return command


# --- pages that only read ---------------------------------------------------------------------------------


def find_similar(page, reader, live):
    """The page filters by a year, which the loaded files put into `features`."""
    neighbours, shown, status, scan = reader.run_commands(page).values()
    assert [line.split()[0] for line in neighbours.splitlines()[1:6]] == nearest(live)
    assert shown == load_query("nearest").copy({"label": "Paper", "property": "id"})
    assert "ONLINE" in status.upper()
    (block,) = reader.take(page, "python")
    live.cypher("MATCH (n:Paper) SET n.year = n.features[0]")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block, {"db": live.store})
    live.cypher("MATCH (n:Paper) REMOVE n.year")
    header, *nodes, certified = printed.getvalue().splitlines()
    assert header.split()[:3] == ["node", "distance", "radius"]
    assert len(nodes) == 10
    assert certified == "True"
    assert [row["node"] for row in live.cypher(scan, value="p1", k=5)] == nearest(live)


def find_the_hierarchy(page, reader, live):
    live.cypher(
        "UNWIND range(0, 120) AS i CREATE (:Topic {name: 't' + i}) "
        "WITH count(*) AS done UNWIND range(1, 120) AS i "
        "MATCH (a:Topic {name: 't' + i}) MATCH (b:Topic {name: 't' + (i - 1) / 3}) CREATE (a)-[:BROADER]->(b)"
    )
    embedded, general, above, below = reader.run_commands(page).values()
    words = "target is more general: 100% of 120 sources have one target, no cycles, 5 levels"
    assert f"Hierarchy     BROADER, {words}\n" in embedded
    (by_radius,) = reader.take(page, "cypher")
    names = [[line.split()[0] for line in text.splitlines()[1:]] for text in (general, above, below)]
    assert names[0] == [row["node"] for row in live.cypher(by_radius)]
    assert (names[0][0], {*names[0][1:4]}) == ("t0", {"t1", "t2", "t3"})
    assert names[1] == ["t14", "t4", "t1"]
    assert set(names[2]) == {"t4", "t5", "t6"}
    live.store.clear(model="topics")
    live.cypher("MATCH (n:Topic) DETACH DELETE n")


def recommend(page, reader, live):
    recommended, turned, explained = reader.run_commands(page).values()
    for text, arrow in ((recommended, "p1 -CITES-> ?"), (turned, "? -CITES-> p1")):
        title, header, *rows = text.splitlines()
        assert title.startswith(arrow)
        assert (header.split()[0], len(rows)) == ("RANK", 5)
    assert re.match(r"Link +p1 -CITES-> p9: probability 0\.\d+", explained)
    assert "together" in explained
    (asked,) = reader.run_python(page)
    assert asked.splitlines()[0].split() == ["pattern", "node", "probability", "distance"]
    assert [line.split()[1] for line in asked.splitlines()[1:6]] == ["Paper-CITES->Paper"] * 5


def classify(page, reader, live):
    """Every sixth paper lacks its topic, which is the label of the loaded files."""
    live.cypher("MATCH (n:Paper) WHERE toInteger(substring(n.id, 1)) % 6 > 0 SET n.topic = n.label")
    live.cypher("MATCH (n:Paper) SET n.title = 'title of ' + n.id")
    live.cypher(
        "MATCH (n:Paper) WITH n, toInteger(substring(n.id, 1)) AS own WHERE own % 6 > 0 "
        "SET n.year = 1900 + 40 * (own % 3) + own / 3 % 9"
    )
    show, explain, write, numbers, *undo = reader.take_commands(page)
    shown = reader.run_command(numbers)
    assert re.search(r"^Off by        \S+ on average of held-out nodes \(always the median", shown, re.M)
    assert shown.splitlines()[-11].split() == ["NODE", "YEAR", "FROM", "TO", "(80%", "SURE)"]
    shown = reader.run_command(show)
    assert "Predicted     10 nodes without topic; nothing is written\n" in shown
    assert shown.splitlines()[-11].split() == ["NODE", "TOPIC", "PROBABILITY", "OR", "PROBABILITY"]
    assert reader.run_command(explain).splitlines()[-1].split()[1:] == ["together"]
    for _ in range(2):
        reader.run_command(write)
    predicted = class_questions.classify(live.store, "topic").to_dict()["predicted"]
    (likely,) = reader.take(page, "cypher")
    assert {tuple(row.values()) for row in live.cypher(likely)} == {
        (row["node"], row["class"], row["probability"]) for row in predicted if row["probability"] > 0.8
    }
    for command in undo:
        reader.run_command(command)
    (printed,) = reader.run_python(page)
    assert [len(text.splitlines()) > 1 for text in printed.split("log_odds")] == [True, True]
    live.cypher("MATCH (n:Paper) REMOVE n.topic, n.year, n.title")


def find_groups(page, reader, live):
    live.cypher("MATCH (n:Paper) SET n.title = 'title of ' + n.id")
    show, choose, write, *undo, save, keep = reader.take_commands(page)
    found = reader.run_command(show)
    assert found.splitlines()[0] == "Level 1: 2 clusters of 60 nodes"
    finest = reader.run_command(choose).split("\n\n")[1].splitlines()
    live.cypher("MATCH (n:Paper) REMOVE n.title")
    assert finest[0] == "Level 2: 12 clusters of 60 nodes"
    assert finest[1].split() == ["CLUSTER", "IN", "NODES", "NAME", "TELLING", "VALUES"]
    for _ in range(2):
        assert reader.run_command(write).startswith(found)
    (largest,) = reader.take(page, "cypher")
    rows = [tuple(row.values()) for row in live.cypher(largest)]
    lines = [line.split() for line in found.splitlines()[2:4]]
    assert [(str(cluster), str(size), name) for cluster, name, size in rows] == [
        tuple(each[:3]) for each in lines
    ]
    for command in (*undo, save):
        reader.run_command(command)
    assert json.loads((reader.folder / "clusters.json").read_text())["nodes"][0]["clusters"]
    assert reader.run_command(keep) == found
    (printed,) = reader.run_python(page)
    assert printed.split()[:7] == ["level", "cluster", "parent", "size", "name", "labels", "words"]


def ask_for_language_models(page, reader, live):
    """An MCP client finds what the example names, too."""
    (index,) = reader.take(page, "cypher")
    live.cypher(index)
    live.cypher("CALL db.awaitIndexes(300)")
    with ThreadPoolExecutor(1) as thread:  # tests in a browser leave a loop of asyncio running in this one
        items, documents, found, drawn = thread.submit(reader.run_python, page).result()
    live.cypher("DROP INDEX papers")
    assert "p1 {'fulltext': 1" in found
    assert found.count("'space'") >= 3
    expected = [each.name for each in live.store.neighbours("p1", k=3).nodes]
    assert [line.split()[0] for line in items.splitlines() if " from the centre" in line] == expected
    assert items.count("'probability': ") >= 1  # of the three items, those with a predicted link
    general = live.store.neighbours("p1", k=3, among="more_general")
    assert [line.split()[0] for line in documents.splitlines()] == [each.name for each in general.nodes]
    nodes, relationships, rendered = drawn.split()
    cited, predicted = (
        live.cypher(f"MATCH (:Paper)-[r:{name}]->() RETURN count(r) AS n")[0]["n"]
        for name in ("CITES", "HEAT_PREDICTED")
    )
    assert (int(nodes), int(relationships), rendered) == (N_PAPERS, cited + predicted, "True")
    (example,) = page_blocks(page, "json")
    (started,) = json.loads(example)["mcpServers"].values()
    parse(*started["args"])
    assert set(started["env"]) <= set(CONNECTION)


def read_by_version(page, reader, live):
    (verified,) = reader.run_commands(page).values()
    assert f"radii of {N_PAPERS} nodes\nResult        the same bits\n" in verified
    by_version, links_by_version = reader.take(page, "cypher")
    links = live.cypher("MATCH ()-[p:HEAT_PREDICTED]->() RETURN p")
    assert len(live.cypher(links_by_version)) == len(links) > 0
    plain = "MATCH (n:Paper) RETURN n, n.heatEmbedding AS embedding"
    seen, expected = (
        {row["n"]["id"]: row["embedding"] for row in live.cypher(each)} for each in (by_version, plain)
    )
    assert len(seen) == N_PAPERS
    assert seen == expected


def look(page, reader, live):
    explored, *pictures = reader.run_commands(page).values()
    assert explored.startswith("Page  ")
    assert len(pictures) == 2
    html = (reader.folder / "heat-explore.html").read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert "p1" in part_of(html, "names")
    for name in ("heat-disk.png", "heat-reliability.png"):
        assert (reader.folder / name).read_bytes().startswith(b"\x89PNG")


# --- pages that change what is published -------------------------------------------------------------------


def find_duplicates(page, reader, live):
    """Three papers are doubled: other orders of the words of a title, and all citations but two."""
    live.cypher(
        "MATCH (n:Paper) WITH n, toInteger(substring(n.id, 1)) AS i, split($words, ' ') AS words "
        "SET n.doi = 'doi ' + i, n.title = words[i % 7] + ' of ' + words[i % 11] + ' in volume' + i",
        words="amber birch cedar delta ember flint grove heron islet jasper knoll",
    )
    live.cypher(
        "UNWIND [5, 22, 41] AS i MATCH (n:Paper {id: 'p' + i}) "
        "CREATE (d:Paper {id: 'd' + n.id, note: 'double', features: n.features, label: n.label, "
        "title: reduce(text = '', word IN reverse(split(n.title, ' ')) | text + word + ' ')}) "
        "WITH n, d MATCH (n)-[r:CITES]-(m) WITH d, r, m, startNode(r) = n AS cites SKIP 2 "
        "FOREACH (_ IN CASE WHEN cites THEN [1] ELSE [] END | CREATE (d)-[:CITES {weight: 1.0}]->(m)) "
        "FOREACH (_ IN CASE WHEN cites THEN [] ELSE [1] END | CREATE (d)<-[:CITES {weight: 1.0}]-(m))"
    )
    reader.run_command(embed_command())
    shown, without, written, listed = reader.run_commands(page).values()
    assert "nothing is written: --write writes HEAT_SAME_AS\n" in shown
    assert "  =  " in shown
    assert "doi identifies nodes" in without
    assert "of type HEAT_SAME_AS\n" in written
    assert listed.splitlines()[0].split() == ["RANK", "NODE", "OTHER", "PROBABILITY", "DISTANCE", "REASON"]
    pairs, merge = reader.take(page, "cypher")
    found = live.cypher(pairs)
    assert len(found) == len(listed.splitlines()) - 1 == 3
    (printed,) = reader.run_python(page)
    assert printed.split()[:2] == ["first", "second"]
    cited = "MATCH (:Paper {id: $id})-[:CITES]-(m) WHERE NOT m.id IN ['p5', 'dp5'] RETURN DISTINCT m.id AS id"
    both = {row["id"] for key in ("p5", "dp5") for row in live.cypher(cited, id=key)}
    live.cypher(
        "MATCH (d:Paper {id: 'dp5'})-[r:CITES]-(m) WHERE m.id <> 'p5' WITH d, m LIMIT 1 "
        "SET d:Draft CREATE (d)-[:CITES {page: 1}]->(m) CREATE (d)-[:CITES {page: 2}]->(m) "
        "WITH d, m MATCH (k:Paper {id: 'p5'}) CREATE (k)-[:CITES {page: 1}]->(m) "
        "CREATE (d)-[:HEAT_LOSS {loop: true}]->(d) "
        "CREATE (:HeatRun {linkType: 'FILMS_PREDICTED'}), (d)-[:FILMS_PREDICTED]->(m), "
        "(d)<-[:FILMS_PREDICTED_STAGED]-(m), (d)-[:HEAT_LOSS]->(m)"
    )
    live.cypher(merge, keep="p5", gone="dp5")
    kinds = live.cypher("MATCH (:Paper {id: 'p5'})-[r]-() RETURN DISTINCT type(r) AS type")
    loops = live.cypher("MATCH (n:Paper {id: 'p5'})-[r]->(n) RETURN type(r) AS type, r.loop AS loop")
    assert [dict(row) for row in loops] == [{"type": "HEAT_LOSS", "loop": True}]
    live.cypher("MATCH (h:HeatRun {linkType: 'FILMS_PREDICTED'}) DELETE h")
    live.cypher("MATCH ()-[r:HEAT_LOSS]->() DELETE r")
    kinds = {row["type"] for row in kinds}
    assert kinds - {"HEAT_PREDICTED", "HEAT_PREDICTED_PREVIOUS"} == {"CITES", "HEAT_LOSS"}
    assert {row["id"] for row in live.cypher(cited, id="p5")} == both
    parallel = live.cypher("MATCH (:Paper:Draft {id: 'p5'})-[r:CITES]->() RETURN r.page AS page")
    assert sorted(row["page"] for row in parallel if row["page"]) == [1, 2]
    equal = live.cypher(
        "MATCH (:Paper {id: 'p5'})-[r:CITES]-(m) RETURN m.id, startNode(r) = m, properties(r), count(*) AS n"
    )
    assert {row["n"] for row in equal} == {1}, "equal relationships were doubled"
    (kept,) = live.cypher(
        "MATCH (n:Paper) WHERE n.id IN ['p5', 'dp5'] RETURN n.id AS id, n.note AS note, n.doi AS doi"
    )
    assert dict(kept) == {"id": "p5", "note": "double", "doi": "doi 5"}
    live.store.clear(model="heat-duplicates")


def predict_links(page, reader, live):
    *linked, came_true = reader.run_commands(page).values()
    for text in linked:
        (published,) = re.findall(r"^Published +(\d+) predicted links of type HEAT_PREDICTED$", text, re.M)
        assert 3 < int(published) <= 20  # at most as asked for, and none below the least probability
    assert len(came_true.splitlines()) >= 6
    likeliest, accept, named, not_predicted = reader.take(page, "cypher")
    cited = live.cypher(named)
    assert [row["type"] for row in cited] == ["CITES"]
    assert cited[0] in live.cypher(not_predicted)
    assert not any(row["type"].startswith("HEAT_PREDICTED") for row in live.cypher(not_predicted))
    links = live.cypher(likeliest)
    assert [row["rank"] for row in links] == list(range(1, len(links) + 1))
    assert len(links) > 3
    joined = "MATCH (:Paper {id: $source})-[r:CITES]->(:Paper {id: $target}) RETURN r.weight AS weight"
    ends = {name: links[0][name] for name in ("source", "target")}
    assert live.cypher(joined, **ends) == []
    live.cypher(accept)
    assert live.cypher(joined, **ends) == [{"weight": 1.0}]


def begin_at_the_start_page(page, reader, live):
    embedded, near = reader.run_commands(page).values()
    assert f"coordinates of {N_PAPERS} nodes" in embedded
    assert len(near.splitlines()) == 11  # with the names of columns
    reader.run_python(page)
    (links,) = reader.take(page, "cypher")
    found = live.cypher(links)
    assert [row["p.type"] for row in found] == ["CITES"] * min(n_predicted(live), 10)
    assert found
    assert len(live.store.runs("heat")) == 2


def n_predicted(live):
    (row,) = live.cypher("MATCH (:Paper)-[p:HEAT_PREDICTED]->(:Paper) RETURN count(p) AS n")
    return row["n"]


def follow_the_readme(page, reader, live):
    (printed,) = reader.run_python(page)
    (statement,) = reader.take(page, "cypher")
    assert [line.split()[0] for line in printed.splitlines()] == nearest(live)
    assert len(live.cypher(statement)) == min(n_predicted(live), 10) > 0


def set_up(page, reader, live):
    said = reader.run_commands(page)
    assert [command.split()[1] for command in said] == [
        "server", "doctor", "check", "estimate", "embed", "runs",
    ]  # fmt: skip
    (embedded,) = (text for command, text in said.items() if command.startswith("heat embed"))
    written = "Published     poincare coordinates of 60 nodes in heatEmbedding, heatRadius, heatRun"
    assert written in embedded
    (settings,) = reader.take(page, "toml")
    write_settings(reader, live, settings)
    assert "Nodes         60: Paper 60\n" in reader.run("heat", "check", without=CONNECTION)


def migrate(page, reader, live):
    embedded, near, shown = reader.run_commands(page).values()
    assert f"coordinates of {N_PAPERS} nodes" in embedded
    assert [line.split()[0] for line in near.splitlines()[1:]] == nearest(live, k=10)
    assert shown == load_query("nearest").copy({"label": "Paper", "property": "id"})
    (links,) = reader.take(page, "cypher")
    assert len(live.cypher(links)) > 0
    (printed,) = reader.run_python(page)
    assert printed == f"{10 * N_PAPERS} ['a', 'b', 'distance']\n"


def work_in_python(page, reader, live):
    published, characters, from_frame, from_files = reader.run_python(page)
    header, *links, chance, near = published.splitlines()
    assert header.split() == COLUMNS
    assert len(links) == 5
    assert 0.0 < float(chance.strip("[]")) < 1.0
    assert near.split() == nearest(live)
    assert "Valjean" in characters
    tables = [place for place, line in enumerate(from_frame.splitlines()) if line.split() == COLUMNS]
    assert len(tables) == 2
    assert 0 == tables[0] < tables[1] - 1
    assert re.search(r"^4 +\w+ ", from_frame, re.MULTILINE), "five features of the explanation"
    assert from_files == f"({N_PAPERS}, 11)\n"


def load_and_choose(page, reader, live):
    reader.take(page, "csv")
    live.cypher("MATCH (n:Paper) DETACH DELETE n")
    live.cypher(FILMS)
    loaded, checked, embedded, recommended, described = reader.run_commands(page).values()
    assert "60 nodes of label Paper, 60 of them new" in loaded
    (row,) = live.cypher("MATCH (n:Paper {id: 'p1'}) RETURN properties(n) AS p")
    assert set(row["p"]) == {"id", "features", "label"}
    assert row["p"]["features"] == [2008.0, 24.0]
    assert {"User-RATED->Film:", "Film-OF->Genre:"} <= set(checked.split())
    assert "coordinates of 75 nodes in filmsEmbedding, filmsRadius, filmsRun" in embedded
    assert recommended.startswith("ann -RATED-> ?")
    (shown,) = page_blocks(page, "text")
    assert shown in described


def use_vectors(page, reader, live):
    live.cypher(FILMS)
    assert reader.run_python(page) == ["30\n"]
    checked, embedded, explained, encoded, *evaluated = reader.run_commands(page).values()
    (shown,) = page_blocks(page, "text")
    assert all(line.strip() in checked for line in shown.splitlines())
    assert "coordinates of 70 nodes in filmsEmbedding" in embedded
    assert "probability" in explained
    assert "wordllama" in encoded
    assert all("User-RATED->Film" in text for text in evaluated)


def train_over_files(page, reader, live):
    (over_files,) = reader.run_commands(page).values()
    assert f"Published     poincare coordinates of {N_PAPERS} nodes" in over_files


def undo(would_roll_back, roll_back, would_clear, clear, reader, live):
    published = (
        "MATCH (m:HeatModel {name: 'heat'}) MATCH (v:HeatVersion {model: 'heat', number: m.version}) "
        "RETURN v.run AS run, v.previousRun AS previous"
    )
    (before,) = live.cypher(published)
    reader.run_command(would_roll_back)
    assert live.cypher(published) == [before]
    reader.run_command(roll_back)
    (after,) = live.cypher(published)
    assert after["run"] == before["previous"] != before["run"]

    looked = reader.run_command(would_clear)
    assert looked.startswith("would remove 2 runs, values of 62 nodes, ")  # 2 of the previous version
    assert reader.run_command(clear) == looked.replace("would remove", "removed")
    assert live.cypher("MATCH (n:Paper) WHERE any(k IN keys(n) WHERE k STARTS WITH 'heat') RETURN n") == []
    assert live.cypher("MATCH ()-[p]->() WHERE type(p) = 'HEAT_PREDICTED' RETURN p") == []
    assert live.store.runs("heat") == []


def deploy(page, reader, live):
    follow_the_schedule(page, reader, live)
    (refreshed,) = reader.run_python(page)
    assert refreshed.startswith("nothing the graph is unchanged ")
    (watch,) = reader.take(page, "cypher")
    (row,) = live.cypher(watch)
    assert row["published"] is not None
    assert row["decision"] == "local"
    assert row["until"] is None
    by_interval, by_cron, *undoing, diagnose = reader.take_commands(page)
    (metrics,) = reader.take(page, "toml")
    metrics = re.sub(r"= 9464", f"= {free_port()}", metrics)
    metrics = metrics.replace("/var/lib/node_exporter", str(reader.folder))
    write_settings(reader, live, *page_blocks(COMMAND_LINE, "toml"), metrics)
    for command in (by_interval, f"{by_cron} --health-file /run/heat/health"):
        serve(reader, command)
    assert "Neo4j" in reader.run_command(diagnose)
    undo(*undoing, reader, live)


def follow_the_schedule(page, reader, live):
    """Run the line for cron with the heat.toml of the command line, which alone says where the server is."""
    (line,) = reader.take(page, "crontab")
    fields, command = line.split(maxsplit=5)[:5], line.split(maxsplit=5)[5]
    assert all(re.fullmatch(r"\*|\d+", field) for field in fields)
    write_settings(reader, live, *page_blocks(COMMAND_LINE, "toml"))
    here = command.replace("/srv/papers", shlex.quote(str(reader.folder)))
    assert here != command
    live.cypher("MATCH (:Paper {id: 'p60'})-[r:CITES]->() WITH r LIMIT 1 SET r.weight = r.weight + 1")
    reader.run("sh", "-c", here, without=CONNECTION)
    assert "Published     poincare coordinates of 60 nodes" in (reader.folder / "heat.log").read_text()


def serve(reader, command):
    """Run a worker by a command of the page, with heat.toml, until it waits; then stop it."""
    for place, name in (("/etc/heat.toml", "heat.toml"), ("/run/heat/health", "health")):
        command = command.replace(place, shlex.quote(str(reader.folder / name)))
    health = reader.folder / "health"
    worker = reader.start(*shlex.split(command), without=CONNECTION)
    try:
        state = None
        while state != "waiting":
            assert worker.poll() is None
            time.sleep(0.2)
            with contextlib.suppress(FileNotFoundError):
                state = json.loads(health.read_text()).get("state")  # its first lines have none
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0
        assert not health.exists()
    finally:
        worker.kill()


def measure(page, reader, live):
    """Run what measures, with heat.toml; nothing is written."""
    write_settings(reader, live, *page_blocks(COMMAND_LINE, "toml"))
    before = snapshot(live.cypher)
    said = {" ".join(command.split()): reader.run_command(command) for command in reader.take_commands(page)}
    assert [" ".join(command.split()[1:3]) for command in said] == ["evaluate links", "evaluate links"]
    links, temporal = said.values()
    _, shown = page_blocks(page, "text")
    printed = links[links.index("\nPaper-CITES->Paper ") + 1 :].partition("\n\n")[0]
    cells = [[re.split(r" {2,}", line) for line in text.splitlines()] for text in (shown, printed)]
    assert [row[0] for row in cells[0][1:]] == [row[0] for row in cells[1][1:]]
    assert [*cells[0][0][1:], "seconds"] == cells[1][0][1:]
    assert "\nNotes  " in links
    assert "latest edges are held out" in temporal
    assert snapshot(live.cypher) == before

    (measured,) = reader.run_python(page)
    alpha, *methods = measured.splitlines()
    assert alpha.startswith("0.2 [{'name': 'attributes', 'auroc': 0.7")
    assert [line.rsplit(maxsplit=1)[0] for line in methods[:2]] == ["HEAT", "HEAT, link score"]
    assert all(0.5 < float(line.rsplit(maxsplit=1)[1]) <= 1 for line in methods[:2])


def nearest(live, k=5):
    """Return the names of the nodes nearest to p1."""
    rows = live.store.query("nearest", model="heat", label="Paper", property="id", value="p1", k=k)
    return [row["node"] for row in rows]


def write_settings(reader, live, *texts):
    """Write a heat.toml of the pages, with the address of the live server."""
    password = reader.folder / "password"
    password.write_text(live.server.password)
    settings = "".join(texts).replace("neo4j://localhost:7687", live.server.uri)
    settings = settings.replace("/etc/heat/password", str(password))
    settings = settings.replace("[connection]", f"[connection]\nusername = {json.dumps(live.server.user)}")
    (reader.folder / "heat.toml").write_text(settings)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


# Page: who follows it, and whether the papers must be embedded before. Pages that only read come first.
READING = {
    "docs/guarantees.md": read_by_version,
    "docs/how-to/similar.md": find_similar,
    "docs/how-to/hierarchy.md": find_the_hierarchy,
    "docs/how-to/recommend.md": recommend,
    "docs/how-to/classify.md": classify,
    "docs/how-to/clusters.md": find_groups,
    "docs/how-to/language-models.md": ask_for_language_models,
}
CHANGING = {
    "docs/how-to/duplicates.md": (find_duplicates, "embedded"),
    "docs/how-to/links.md": (predict_links, "embedded"),
    "docs/how-to/deploy.md": (deploy, "embedded"),
    README: (follow_the_readme, "loaded"),
    START: (begin_at_the_start_page, "loaded"),
    COMMAND_LINE: (set_up, "loaded"),
    LOADING: (load_and_choose, "loaded"),
    "docs/how-to/gds.md": (migrate, "loaded"),
    PYTHON: (work_in_python, "loaded"),
    "docs/how-to/vectors.md": (use_vectors, "loaded"),
    "docs/how-to/larger-than-memory.md": (train_over_files, "loaded"),
}
MEASURING = {"docs/how-to/parameters.md": (measure, "loaded"), "docs/gallery.md": (look, "embedded")}
QUICK = (README, START)


def marked(pages):
    return [pytest.param(page, marks=[] if page in QUICK else pytest.mark.slow) for page in pages]


@pytest.fixture
def follow(files, papers, cypher, store, server):
    """Return a function that follows every block of a page, and returns what the database held before."""

    def all_of(page, act, state):
        reader = PageReader(files, server, [page])
        papers.prepare(reader, state)
        before = snapshot(cypher)
        act(page, reader, Live(cypher, store, server))
        assert reader.unread == set()
        return before

    return all_of


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("page", READING)
def test_a_page_that_only_reads(page, follow, papers, cypher):
    before = follow(page, READING[page], "embedded")
    assert snapshot(cypher) == before
    papers.state = "embedded"


@pytest.mark.live
@pytest.mark.parametrize("page", marked(CHANGING))
def test_a_page_that_changes_what_is_published(page, follow):
    follow(page, *CHANGING[page])


@pytest.mark.live
@pytest.mark.one_release
@pytest.mark.slow
@pytest.mark.parametrize("page", MEASURING)
def test_a_page_that_measures_or_draws(page, follow):
    follow(page, *MEASURING[page])


def test_every_page_with_code_is_followed():
    with_code = {page for page in PAGES if executable_blocks(page)}
    assert with_code == {*READING, *CHANGING, *MEASURING, TOUR}


@pytest.mark.parametrize("page", [page for page in PAGES if page != TOUR])
def test_every_line_of_a_shell_block_belongs_to_a_command_that_is_run(page):
    for block in page_blocks(page, "sh"):
        assert COMMAND.sub("", block).strip() == ""


@pytest.mark.live
@pytest.mark.slow
def test_the_data_model_lists_everything_that_is_written(files, papers, cypher, server):
    papers.prepare(PageReader(files, server, []), "embedded")
    text = PAGES["docs/data-model.md"]
    (keys,) = cypher("MATCH (m:HeatModel {name: 'heat'}) RETURN keys(m) AS keys")
    at_times = {"rolledBackAt", "leaseHolder", "leaseUntil", "staging"}
    assert first_column(text, "## One `(:HeatModel)`") - at_times == set(keys["keys"])
    (keys,) = cypher(
        "MATCH (m:HeatModel {name: 'heat'}) MATCH (v:HeatVersion {model: 'heat', number: m.version}) "
        "RETURN keys(v) AS keys"
    )
    while_published = {"publishing", "indexWanted", "stagedLinkType"}
    while_published |= {f"staged{name}" for name in ("Embedding", "Radius", "Run", "Vector", "Values")}
    of_others = {
        "previous",
        "previousRun",
        "previousSpace",
        "previousLinkRun",
        "vectorProperty",
        "valueProperties",
    }
    listed = first_column(text, "## `(:HeatVersion)`") - while_published
    assert listed - of_others <= set(keys["keys"]) <= listed
    keys = cypher("MATCH (r:HeatRun {model: 'heat'}) UNWIND keys(r) AS key RETURN DISTINCT key")
    ours = {row["key"] for row in keys}
    # Of runs that stopped, refreshed, followed another one, or wrote classes or clusters.
    of_others = {"error", "heartbeat", "auroc", "overlap", "meanMove", "previousRun", "valueProperties"}
    assert first_column(text, "## One `(:HeatRun)`") - of_others == ours
    keys = cypher("MATCH ()-[p:HEAT_PREDICTED]->() UNWIND keys(p) AS key RETURN DISTINCT key")
    assert first_column(text, "## Predicted links") == {row["key"] for row in keys}
    keys = cypher("MATCH (n:Paper) UNWIND keys(n) AS key RETURN DISTINCT key")
    ours = {row["key"] for row in keys if row["key"].startswith("heat")}
    assert ours == set(WriteNames().plain[:3])


@pytest.mark.live
def test_files_and_database_give_the_same_bits(files, papers, server):
    reader = PageReader(files, server, ())
    papers.prepare(reader, "loaded")
    first, *_, second = page_blocks(PYTHON, "python")
    keep = "\nimport numpy\nnumpy.save('{}.npy', model.embedding_)\n"
    for place, block in enumerate((first, second)):
        reader.run_block(block + keep.format(place))
    assert (reader.folder / "0.npy").read_bytes() == (reader.folder / "1.npy").read_bytes()
