"""Types, directions and numbers in a real browser, as both painters draw them."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._utils.display import printable
from heat_neo4j.explore.facets import colour_scale
from heat_neo4j.explore.page import build_page
from heat_neo4j.geometry.hyperboloid import from_poincare
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.patterns import Pattern
from tests.explore.conftest import opened_page
from tests.support.slow import slow

pytestmark = pytest.mark.browser

# Four lines across the disk, and below and above them nodes that nothing joins.
LIKES, KNOWS, HOSTILE, PREDICTED = 0.45, 0.15, -0.15, -0.45
NAME = "</script><img src=x onerror=alert(1)>\u202e"
PLACES = [(x, y) for y in (LIKES, KNOWS, HOSTILE, PREDICTED) for x in (-0.6, 0.6)]
PLACES += [(x, y) for y in (0.75, -0.75) for x in (-0.3, -0.1, 0.1, 0.3)]
N, N_YEARS = len(PLACES), 12
YEARS = [*range(1990, 1990 + N_YEARS), None, math.nan, math.inf, 10**400]


@pytest.fixture(scope="module")
def html():
    relationships = Relationships.from_pairs(
        {
            "KNOWS": (np.array([2, 3, 8]), np.array([3, 2, 9])),
            "LIKES": (np.array([0, 8]), np.array([1, 9])),
            NAME: (np.array([5]), np.array([4])),
        }
    )
    ends = (relationships.source, relationships.target)
    graph = Graph(sparse.csr_array((np.ones(6), ends), shape=(N, N)), relationships=relationships)
    predicted = PredictedLinks(
        np.array([6]), np.array([7]), np.array([0.5]), np.array([0.75]),
        patterns=(Pattern("", "LIKES", ""),), pattern=np.array([0]),
    )  # fmt: skip
    return build_page(
        from_poincare(np.array(PLACES)), graph, names=list("abcdefghijklmnop"),
        facets=[colour_scale(NAME, YEARS)], properties={"year": YEARS}, predicted=predicted,
    )  # fmt: skip


@pytest.fixture(scope="module", params=[slow("canvas"), "webgl"])
def shared(page_with, html, request, tmp_path_factory):
    path = tmp_path_factory.mktemp("types") / "page.html"
    walk = opened_page(page_with(reduced_motion="reduce"), path, html, request.param)
    assert walk.state["painter"] == request.param
    yield walk
    walk.leave()


@pytest.fixture
def walk(shared):
    yield shared
    shared.ask("() => { heat.select(-1); heat.reset(); }")
    shared.still()


def without(walk, button):
    """Return the pixels with and without what a button shows, which stays hidden."""
    before = walk.screen()
    walk.page.click(button)
    walk.still()
    walk.page.mouse.move(5, 400)
    return before[:, 250:950], walk.screen()[:, 250:950]  # the disk without legends and buttons


def around(walk, pixels, line, half="left"):
    """Return the pixels around a line, between its nodes, in its left or right half."""
    radius, (high, wide, _) = walk.state["radius"], pixels.shape
    heights = (line + 0.07, line - 0.14) if line > 0 else (line + 0.14, line - 0.07)  # as lines bend inwards
    widths = (-0.5, -0.3) if half == "left" else (0.3, 0.5)
    rows = slice(*(round(high / 2 - radius * y) for y in heights))
    return pixels[rows, slice(*(round(wide / 2 + radius * x) for x in widths))]


def ink(walk, before, after, line, half):
    """Return how much of what was there before is gone around a line."""
    return int(np.abs(around(walk, before - after, line, half)).sum())


def has_colour(walk, before, after, line, place):
    """Tell whether what is gone of a line had the colour of an entry of the legend, before it was blended."""
    before, after = around(walk, before, line), around(walk, after, line)
    find = "(k) => getComputedStyle(document.querySelectorAll('#types .streak')[k]).backgroundColor"
    wanted = np.array([int(part) for part in re.findall(r"\d+", walk.ask(find, place))])
    at = np.unravel_index(np.abs(before - after).sum(axis=-1).argmax(), before.shape[:2])
    painted, full = before[at] - after[at], wanted - after[at]
    return painted @ full > 0.97 * np.linalg.norm(painted) * np.linalg.norm(full)


def test_a_type_has_a_colour_and_can_be_switched_off(walk):
    buttons = walk.page.query_selector_all("#types button")
    said = [button.inner_text().split("\n") for button in buttons]
    assert said == [["KNOWS", "3"], ["LIKES", "2"], [printable(NAME), "1"]]
    before, after = without(walk, "#types button:nth-of-type(1)")
    assert buttons[0].get_attribute("aria-pressed") == "false"
    assert ink(walk, before, after, KNOWS, "left") > 1000
    assert not any(ink(walk, before, after, line, "left") for line in (LIKES, HOSTILE, PREDICTED))
    assert has_colour(walk, before, after, KNOWS, 0)
    buttons[0].focus()
    walk.page.keyboard.press("Enter")
    walk.still()
    assert buttons[0].get_attribute("aria-pressed") == "true"
    assert np.array_equal(walk.screen()[:, 250:950], before)


def test_lines_narrow_from_source_to_target(walk):
    walk.page.click("#links")
    before, after = without(walk, "#types button:nth-of-type(2)")
    assert ink(walk, before, after, LIKES, "left") > 2 * ink(walk, before, after, LIKES, "right") > 0
    assert ink(walk, before, after, PREDICTED, "left") == 0
    middle = np.abs(before - after)[:400, 350].sum(axis=1).argmax()
    centre = (1 + 0.6**2 + LIKES**2) / (2 * LIKES)  # of the circle that meets the rim at right angles
    assert 400 - middle == pytest.approx((centre - math.sqrt(centre**2 - 1)) * walk.state["radius"], abs=1.5)
    walk.page.click("#types button:nth-of-type(2)")
    walk.still()
    before, after = without(walk, "#types button:nth-of-type(3)")  # from right to left
    assert ink(walk, before, after, HOSTILE, "right") > 2 * ink(walk, before, after, HOSTILE, "left") > 0
    before, after = without(walk, "#types button:nth-of-type(1)")  # both ways
    left, right = (ink(walk, before, after, KNOWS, half) for half in ("left", "right"))
    assert 0.9 < left / right < 1.1
    walk.page.click("#links")
    walk.still()
    before, after = without(walk, "#types button:nth-of-type(2)")
    assert ink(walk, before, after, PREDICTED, "left") > 2 * ink(walk, before, after, PREDICTED, "right") > 0


def test_a_predicted_link_is_dashed_in_the_colour_of_its_type(walk):
    before, after = without(walk, "#links")
    assert has_colour(walk, before, after, PREDICTED, 1)
    gone = np.abs(around(walk, before - after, PREDICTED)).sum(axis=(0, 2)) > 0
    assert 0.3 < gone.mean() < 0.8
    walk.page.click("#links")


def arrows(walk, row, section):
    walk.select(row)
    return [button.inner_text() for button in walk.page.query_selector_all(f"{section} li button")]


def test_the_panel_says_type_and_direction(walk):
    assert arrows(walk, 0, "#linked") == ["-[LIKES]-> b"]
    assert arrows(walk, 1, "#linked") == ["<-[LIKES]- a"]
    assert arrows(walk, 2, "#linked") == ["<-[KNOWS]-> d"]
    assert arrows(walk, 4, "#linked") == [f"<-[{printable(NAME)}]- f"]
    assert arrows(walk, 8, "#linked") == ["-[KNOWS]-> j", "-[LIKES]-> j"]
    assert walk.page.inner_text("#values").split("\n")[-3:-2] == ["1"]  # neighbour
    assert arrows(walk, 6, "#predicted") == ["-[LIKES]-> h\n75.0%"]
    assert arrows(walk, 7, "#predicted") == ["<-[LIKES]- g\n75.0%"]


def test_names_of_types_and_of_the_scale_stay_text(walk):
    assert walk.page.text_content("#types button:nth-of-type(3) span:not(.streak)") == printable(NAME)
    assert walk.page.text_content("#scale p") == printable(NAME)
    assert walk.page.query_selector_all("img") == []
    assert walk.page.inner_text("#facts") == "16 nodes, 6 relationships, 1 predicted link"
    assert walk.complaints == []


def test_colours_of_nodes_follow_their_numbers(walk):
    pixels = walk.screen()
    nodes = [walk.node(row) for row in range(N)]
    colours = np.array([pixels[round(node["y"]), round(node["x"])] for node in nodes])
    light = colours @ (0.2126, 0.7152, 0.0722)
    assert (np.diff(light[:N_YEARS]) > 2).all()
    assert np.ptp(colours[N_YEARS:], axis=0).max() < 4  # all of one grey
    assert np.ptp(colours[-1]) < 30
    assert walk.page.inner_text("#ticks").split() == ["1990", "1995", "2001"]
    assert walk.page.inner_text("#scale button").split("\n") == ["no value", "4"]
    walk.page.click("#scale button")
    walk.still()
    assert [walk.node(row)["size"] > 0 for row in range(N)] == [True] * N_YEARS + [False] * 4
