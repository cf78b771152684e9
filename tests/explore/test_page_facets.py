"""What a person chooses on the page: colours, filters, how many edges, an address, a picture to keep."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread
from scipy import sparse

from heat_neo4j._utils.display import printable
from heat_neo4j.explore.facets import Groups, colour_scale
from heat_neo4j.explore.page import build_page
from heat_neo4j.geometry.hyperboloid import from_poincare, lift, radius
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import PredictedLinks

pytestmark = pytest.mark.browser

N, N_EDGES = 60, 300
HOSTILE = "</option><img src=x onerror=alert(1)>\u202e & 'q'"
YEARS = [1900 + row % 40 if row % 3 else None for row in range(N)]
KEYS = [f"k{row // 2}" for row in range(N)]  # each of two nodes
ALIKE = PredictedLinks(np.array([3, 3]), np.array([33, 9]), np.array([0.5, 0.7]), np.array([0.9, 0.6]))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def space():
    return lift(np.random.default_rng(5).normal(size=(N, 4)))


@pytest.fixture(scope="module")
def html(space):
    angles = 2 * np.pi * np.arange(N) / N
    places = 0.8 * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    ring = np.tile(np.arange(N), 5)
    chords = (ring + np.repeat(np.arange(1, 6), N)) % N
    graph = Graph(sparse.csr_array((np.ones(N_EDGES), (ring, chords)), shape=(N, N)))
    return build_page(
        from_poincare(places), graph, names=[HOSTILE, *[""] * (N - 1)], keys=KEYS,
        facets=[
            Groups("half", ["low" if row < N // 2 else "high" for row in range(N)]),
            Groups(HOSTILE, ["even" if row % 2 == 0 else HOSTILE for row in range(N)]),
            colour_scale("year", YEARS),
        ],
        neighbours=nearest_neighbours(space, 5), space=space, duplicates=ALIKE,
    )  # fmt: skip


@pytest.fixture
def walk(open_page, html):
    return open_page(html, reduced_motion="reduce")


def shown(walk):
    return np.array(walk.ask("(n) => Array.from({ length: n }, (_, i) => heat.project(i).size > 0)", N))


def colour_of(walk, row):
    node = walk.node(row)
    return walk.screen()[round(node["y"]), round(node["x"])]


def test_a_filter_stays_while_nodes_are_coloured_by_something_else(walk):
    rows, years = np.arange(N), np.array([year or 0 for year in YEARS])
    choice = "#facets select"
    assert walk.page.text_content(f"{choice} option:nth-of-type(2)") == printable(HOSTILE)
    assert np.abs(colour_of(walk, 6) - colour_of(walk, 7)).max() < 24  # both low
    walk.page.click("#legend button:has-text('high')")
    walk.page.select_option(choice, "1")
    walk.still()
    assert np.array_equal(shown(walk), rows < N // 2)
    assert np.abs(colour_of(walk, 6) - colour_of(walk, 7)).max() > 60
    walk.page.click("#legend button:has-text('even')")
    walk.page.select_option(choice, "2")
    walk.still()
    assert walk.page.text_content("#scale p") == "year"
    walk.page.fill("#scale input >> nth=0", "30")
    lowest = int(walk.page.inner_text("#range").split()[0])
    assert 1910 < lowest < 1930
    walk.page.click("#scale button")  # those without
    walk.still()
    assert np.array_equal(shown(walk), (rows < N // 2) & (rows % 2 == 1) & (years >= lowest))
    assert walk.page.inner_text("#filtered span") == f"{np.sum(~shown(walk))} nodes hidden"
    walk.page.click("#filtered button")
    walk.still()
    assert shown(walk).all()
    assert not walk.page.is_visible("#filtered")
    assert walk.page.input_value("#scale input >> nth=0") == "0"
    assert walk.complaints == []


def test_fewer_edges_are_drawn_if_a_person_wants(walk):
    assert (walk.state["edgesDrawn"], walk.page.inner_text("#most output")) == (N_EDGES, "all")
    walk.page.fill("#most input", "0")
    walk.still()
    assert (walk.state["edgesDrawn"], walk.page.inner_text("#most output")) == (200, "the nearest 200")


def fragment(walk):
    return walk.ask("() => location.hash")


def test_an_address_leads_to_a_node(walk):
    walk.select(7)
    assert fragment(walk) == "#node=k3&nth=2"
    walk.select(8)
    assert fragment(walk) == "#node=k4"
    walk.page.go_back()
    walk.until(lambda: walk.state["selected"] == 7)
    address = walk.ask("() => location.href")
    walk.page.keyboard.press("Escape")
    assert fragment(walk) == ""
    walk.page.goto("about:blank")
    walk.page.goto(address)
    walk.until(lambda: walk.ask("() => Boolean(window.heat && heat.state().still)"))
    assert walk.state["selected"] == 7
    walk.ask("() => { location.hash = 'node=gone'; }")
    walk.until(lambda: walk.page.is_visible("#matches"))
    assert (walk.state["selected"], walk.page.input_value("#search")) == (-1, "gone")


def test_the_panel_is_about_one_geometry(walk, space):
    walk.select(5)
    assert walk.page.inner_text("#values").split("\n")[-1] == f"{radius(space)[5]:.3f}"
    assert walk.page.inner_text("#nearest small >> nth=0") == "distance in 4 dimensions"


def test_duplicates_are_pairs_to_look_at(walk):
    walk.select(33)
    assert walk.page.inner_text("#alike").split("\n") == ["PERHAPS THE SAME", "probability", "90.0%"]
    walk.page.click("#alike button")
    walk.still()
    assert walk.state["selected"] == 3
    assert [each.inner_text() for each in walk.page.query_selector_all("#alike li small")] == [
        "90.0%",
        "60.0%",
    ]
    for selected, contrast in ((True, 150), (False, 30)):  # those of the selected node are stronger
        if not selected:
            walk.page.keyboard.press("Escape")
        walk.page.mouse.move(5, 400)
        walk.still()
        before = walk.screen()[:, 300:850]
        walk.page.click("#duplicates")
        walk.still()
        changed = np.abs(walk.screen()[:, 300:850] - before).max(axis=2) > contrast
        assert changed.any(axis=1).sum() > 80  # rows that the two lines cross
    assert not walk.page.is_visible("#links")


def saved(walk, kind):
    with walk.page.expect_download() as found:
        walk.page.click(f"#{kind}")
    assert found.value.suggested_filename == f"Hyperbolic-embedding.{kind}"
    return Path(found.value.path()).read_bytes()


def test_pictures_are_saved_as_they_are_on_the_screen(walk):
    walk.select(0)
    node, colour = walk.node(20), colour_of(walk, 20)
    pixels = imread(io.BytesIO(saved(walk, "png")), format="png")
    assert pixels.shape[:2] == (1600, 1200 * 2)
    assert np.abs(255 * pixels[round(2 * node["y"]), round(2 * node["x"]), :3] - colour).max() < 24
    root = ElementTree.fromstring(saved(walk, "svg"))
    assert {each.tag for each in root.iter()} == {f"{SVG}{name}" for name in ("svg", "rect", "path", "text")}
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert any(text.startswith(printable(HOSTILE)[:20]) for text in texts)
    assert {"half", "low", "high", "30", "60 nodes, 300 relationships"} <= set(texts)
    paths = [(each.get("d"), each.get("fill")) for each in root.iter(f"{SVG}path")]
    begin = f"M{round(node['x'] + node['size'], 2):g} {round(node['y'], 2):g}"
    assert [fill for d, fill in paths if d.split("A")[0] == begin] == ["rgb(224,128,44)"]
    # Edges bend towards the middle of the disk, which is that of the window.
    arc = re.compile(r"M(\S+) ([^AML]+)A\S+ \S+ 0 0 ([01]) (\S+) ([^MZ]+)")
    found = [np.array(each, dtype=float) for d, _ in paths for each in arc.findall(d)]
    assert len(found) > N_EDGES / 2
    for ax, ay, sweep, bx, by in found:
        to_arc = np.array([by - ay, ax - bx]) * (1 if sweep else -1)
        assert to_arc @ (np.array([600, 400]) - [(ax + bx) / 2, (ay + by) / 2]) > 0
    assert walk.complaints == []
