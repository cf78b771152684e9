"""``heat explore --serve`` on a live server: a page that asks the database for what it shows."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.explore import live
from heat_neo4j.explore.colour_scale import N_SHADES
from heat_neo4j.explore.live import LiveModel, OutOfDateError
from heat_neo4j.explore.page_data import PARTS
from heat_neo4j.explore.server import PageServer
from heat_neo4j.geometry.search import nearest_neighbours
from tests.explore.conftest import LABEL, MODEL, N, opened
from tests.explore.test_page_data import pairs_of, unpacked

pytestmark = pytest.mark.live


@pytest.fixture
def model(store, publish):
    """A model of four dimensions, and its points and links."""
    points, links = publish(4)
    return LiveModel(store, MODEL, caption="title", n_threads=1), points, links


@pytest.fixture
def page(model):
    server = PageServer(model[0], title="Papers & more")
    with server.running():
        yield server


def ask(address, path="", host=None, method="GET", **query):
    """Return status, JSON or text, and headers."""
    url = f"{address}{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, method=method, headers={} if host is None else {"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status, body, headers = answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        status, body, headers = error.code, error.read().decode(), error.headers
    return status, json.loads(body) if headers.get_content_type() == "application/json" else body, headers


def run_of(html):
    return json.loads(html.split('id="about">')[1].split("<")[0])["run"]


def test_parts_and_details_are_those_of_the_database(store, cypher, model):
    live_model, points, links = model
    run = live_model.heading()["run"]
    assert run == store.published_run(MODEL).run_id
    parts = {name: live_model.part(name, run) for name in PARTS}
    json.dumps(parts, allow_nan=False)
    assert parts["nodes"]["count"] == N
    assert parts["names"] == [f"<b>{key}" for key in range(N)]
    assert list(zip(*pairs_of(parts["edges"]), strict=True)) == [
        *((key, key + 1) for key in range(N - 1)), (N - 1, 0)
    ]  # fmt: skip
    assert parts["links"]["total"] == len(links)
    assert parts["lists"]["choices"] == ["key", "title", "year"]  # nothing that runs of ours wrote
    (last,) = parts["runs"]
    assert (last["run"], last["status"]) == (run, "published")
    cypher(f"MATCH (n:`{LABEL}` {{key: 7}}) SET n.title = 'renamed', n.place = point({{x: 1, y: 2}})")
    nearest = nearest_neighbours(points, 10)
    for row in (0, 7, 29):
        found = live_model.details(row, run)
        assert [entry["node"] for entry in found["neighbours"]] == nearest.partner[row].tolist()
        assert np.allclose([entry["distance"] for entry in found["neighbours"]], nearest.distance[row])
        own = [
            (b if a == row else a, pytest.approx(distance), "EXPLORE_NEXT", "out" if a == row else "in")
            for a, b, distance in zip(
                links.source.tolist(), links.target.tolist(), links.distance, strict=True
            )
            if row in (a, b)
        ]
        listed = [(each["node"], each["distance"], each["type"], each["way"]) for each in found["links"]]
        assert sorted(listed) == sorted(own, key=lambda link: link[0])
        assert [(entry["node"], entry["type"], entry["way"]) for entry in found["relationships"]] == sorted(
            [((row + 1) % N, "EXPLORE_NEXT", "out"), ((row - 1) % N, "EXPLORE_NEXT", "in")]
        )
        assert (found["gone"], found["newer"], found["relationshipCount"]) == (False, False, 2)
    assert dict(live_model.details(7, run)["properties"])["title"] == "renamed"  # as it is now
    with pytest.raises(IndexError):
        live_model.details(N, run)
    with pytest.raises(IndexError):
        live_model.details(-1, run)
    with pytest.raises(KeyError):
        live_model.part("secrets", run)


def test_only_the_shortest_of_too_many_relationships_are_drawn(monkeypatch, store, publish):
    points, _ = publish(2)
    monkeypatch.setattr(live, "_MOST_EDGES", 12)
    live_model = LiveModel(store, MODEL)
    heading = live_model.heading()
    assert heading["note"].endswith("; the 12 shortest relationships are drawn, and all of a selected node")
    drawn = set(zip(*pairs_of(live_model.part("edges", heading["run"])), strict=True))
    ring = np.arange(N)
    apart = np.arccosh(
        np.maximum(
            points[ring, 2] * points[(ring + 1) % N, 2]
            - np.sum(points[ring, :2] * points[(ring + 1) % N, :2], axis=1),
            1,
        )
    )
    assert drawn == {(int(key), int(key + 1) % N) for key in np.argsort(apart)[:12]}
    assert live_model.details(3, heading["run"])["relationshipCount"] == 2


def test_colours_by_any_property(store, model):
    live_model, *_ = model
    run = live_model.heading()["run"]
    by_key = live_model.colours("key", run)
    assert by_key["scale"]["ticks"] == ["0", "14", "29"]
    assert unpacked(by_key["group"]).max() == N_SHADES - 1
    by_year = live_model.colours("year", run)
    assert [entry["name"] for entry in by_year["legend"]] == ["2000", "2001", "2002"]
    assert len(live_model.colours(None, run)["legend"]) == 2
    with pytest.raises(ProjectionError, match="no node of the projection has a property 'yaer'"):
        live_model.colours("yaer", run)
    with pytest.raises(ProjectionError, match="no node of the projection has a property 'yaer'"):
        LiveModel(store, MODEL, color_by="yaer", n_threads=1).heading()


def test_what_is_published_anew_is_told_and_read_when_the_page_is_loaded_again(model, publish, cypher):
    live_model, *_ = model
    run = live_model.heading()["run"]
    cypher(f"MATCH (n:`{LABEL}` {{key: 11}}) DETACH DELETE n")
    gone = live_model.details(11, run)
    assert (gone["gone"], gone["newer"], gone["properties"], gone["links"]) == (True, False, [], [])
    publish(2)
    assert live_model.details(3, run)["newer"] is True
    assert live_model.details(3, run)["links"] == []  # they are others
    newer = live_model.heading()["run"]
    assert newer != run
    assert live_model.part("nodes", newer)["count"] == N - 1
    with pytest.raises(OutOfDateError):
        live_model.part("nodes", run)
    with pytest.raises(OutOfDateError):
        live_model.details(3, run)
    runs = live_model.part("runs", newer)
    assert [each["run"] for each in runs] == [newer, run]
    assert [each["status"] for each in runs] == ["published", "superseded"]


def test_the_server_answers_this_machine_and_who_has_the_token_alone(page):
    status, html, headers = ask(page.address)
    assert status == 200
    assert "<title>Papers &amp; more</title>" in html
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "connect-src 'self'" in html
    assert page.address.startswith("http://127.0.0.1:")
    assert len(page.address.split("/")[3]) == 32
    run = run_of(html)
    assert ask(page.address, "parts/names", run=run)[1][5] == "<b>5"
    assert ask(page.address, "nodes/5", run=run)[1]["newer"] is False
    assert ask(page.address, "colours", run=run, by="year")[0] == 200
    for path, query, status in (
        ("parts/nodes", {"run": "another"}, 409), ("parts/nodes", {}, 409),
        ("parts/secrets", {"run": run}, 404), ("nodes/30", {"run": run}, 404),
        ("nodes/x", {"run": run}, 404),
        (f"nodes/{'9' * 5000}", {"run": run}, 404),
        ("colours", {"run": run, "by": "yaer"}, 503),
    ):  # fmt: skip
        assert ask(page.address, path, **query)[0] == status, path
    root = page.address.rsplit("/", 2)[0]
    for wrong in ("/", "/parts/nodes", f"/{page.address.split('/')[3][:-1]}/", "/x/parts/nodes"):
        assert ask(root, wrong)[0] == 404
    assert ask(page.address, host="attacker.example")[0] == 400  # a name that leads here
    assert ask(page.address, method="POST")[0] == 405
    message = ask(page.address, "colours", run=run, by="yaer")[1]["error"]
    assert message.startswith("no node of the projection has a property 'yaer'")


def test_the_page_in_a_browser(browser, model, publish, cypher):
    server = PageServer(model[0])
    with server.running():
        walk = opened(browser, server.address, reduced_motion="reduce")
        assert walk.complaints == []
        assert all(url.startswith(server.address) for url in walk.requests)
        facts = walk.page.inner_text("#facts")
        assert facts == f"{N} nodes, {N} relationships, {len(model[2])} predicted links"
        assert walk.state["edgesDrawn"] == N
        # By the keyboard: search, choose, go on to a neighbour. The focus stays where one reads.
        walk.page.keyboard.press("/")
        walk.page.keyboard.type("<b>12")
        walk.page.keyboard.press("Enter")
        walk.still()
        assert walk.state["selected"] == 12
        assert walk.page.text_content("#panel h2") == "<b>12"
        values = walk.page.query_selector_all("#values dt, #values dd")
        assert [each.inner_text() for each in values[:6]] == ["key", "12", "title", "<b>12", "year", "2000"]
        first = int(walk.page.get_attribute("#nearest li button", "data-node"))
        assert first == nearest_neighbours(model[1], 1).partner[12, 0]
        assert walk.page.text_content("#spoken").startswith(
            f"Selected <b>12, 2 neighbours; nearest <b>{first}, "
        )
        arrows = [each.inner_text() for each in walk.page.query_selector_all("#linked code")]
        assert sorted(arrows) == ["-[EXPLORE_NEXT]->", "<-[EXPLORE_NEXT]-"]
        walk.page.focus("#nearest li button")
        walk.page.keyboard.press("Enter")
        walk.still()
        assert walk.state["selected"] == first
        assert walk.ask("() => document.activeElement.tagName") == "H2"
        walk.page.select_option("#colours", "key")
        walk.until(lambda: walk.page.is_visible("#scale"))
        assert walk.page.inner_text("#scale p") == "key"
        dots = [each.get_attribute("style") for each in walk.page.query_selector_all("#nearest .dot")]
        assert len(set(dots)) == len(dots)  # each key is a shade of its own
        walk.page.click("#history")
        assert walk.page.query_selector_all("#runs tbody tr.published") != []
        walk.page.keyboard.press("Escape")
        assert not walk.page.is_visible("#runs")
        assert not walk.page.is_visible("#alert")
        cypher(f"MATCH (n:`{LABEL}` {{key: 11}}) DETACH DELETE n")
        walk.select(11)
        assert walk.page.inner_text("#alert span") == "This node is no longer in the database."
        assert not walk.page.is_visible("#reload")
        publish(2)
        walk.select(3)
        assert walk.page.inner_text("#alert span") == "Another version of the model has been published."
        walk.page.click("#reload")
        walk.until(lambda: walk.ask("() => Boolean(window.heat && heat.state().still)"))
        assert not walk.page.is_visible("#alert")
        assert len(walk.page.query_selector_all("#runs tbody tr")) == 2
    walk.ask("() => heat.select(5)")
    walk.until(lambda: walk.page.is_visible("#alert"))
    assert walk.page.inner_text("#alert span") == "the server of this page has stopped"
    walk.page.close()


def test_the_command_serves_until_it_is_stopped(server, publish):
    publish(2)
    program = [
        sys.executable,
        "-m",
        "heat_neo4j",
        "explore",
        "--serve",
        "--model",
        MODEL,
        "--title",
        "Mine",
        "--json",
    ]
    known = {**os.environ, **server.environment}
    with subprocess.Popen(program, stdout=subprocess.PIPE, env=known, text=True) as process:
        lines = [process.stdout.readline() for _ in range(4)]
        address = json.loads("".join(lines))["address"]
        assert "<title>Mine</title>" in ask(address)[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_what_cannot_be_served_is_one_clear_line(server, model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"^port {port} of 127\.0\.0\.1 cannot be had: Address already in use$"
        ):
            PageServer(model[0], port)
    for given, line in (
        (["--port", "8080"], "--port goes with --serve"),
        (["--serve", "--output", "x.html"], "give --serve or --output, not both"),
    ):
        result = CliRunner().invoke(heat, ["explore", *given], prog_name="heat", env=server.environment)
        assert (result.exit_code, line in result.stderr) == (2, True), result.output
