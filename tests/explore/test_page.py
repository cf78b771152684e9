"""The page in a real browser: it pans like the hyperbolic plane, and matches Python."""

from __future__ import annotations

import cmath
import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._utils.display import printable
from heat_neo4j.explore.facets import Groups
from heat_neo4j.explore.page import build_page
from heat_neo4j.geometry.hyperboloid import distance, lift, to_poincare
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.prediction import predict_links
from tests.support.slow import slow

SCRIPT = files("heat_neo4j.explore") / "assets" / "panel.js"

pytestmark = pytest.mark.browser

N = 60
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<!--<script>",
    "\"'&lt;{{program}}\\u003c",
    "\u2028\u2029\u202e abc",
]


def cloud(n=N, seed=0, spread=1.1):
    return lift(np.random.default_rng(seed).normal(size=(n, 2)) * spread)


def ring_graph(n=N):
    ring = np.arange(n)
    chords = np.concatenate([(ring + 1) % n, (ring + 7) % n])
    return Graph(sparse.csr_array((np.ones(2 * n), (np.tile(ring, 2), chords)), shape=(n, n)))


def names_of(n=N):
    return [f"node {row:03}" for row in range(n)]


@pytest.fixture(scope="module")
def points():
    return cloud()


@pytest.fixture(scope="module")
def deep():
    """The embedding in more dimensions that neighbours come from."""
    return lift(np.random.default_rng(5).normal(size=(N, 4)))


@pytest.fixture(scope="module")
def links(deep):
    nearest = predict_links(deep, ring_graph(), k=3)
    return replace(nearest, probability=np.exp(-nearest.distance))


@pytest.fixture(scope="module")
def html(points, deep, links):
    return build_page(
        points,
        ring_graph(),
        names=names_of(),
        facets=[Groups("labels", [f"group {row % 3}" for row in range(N)])],
        properties={"year": [2000 + row for row in range(N)], "words": [["a", "b"], *[None] * (N - 1)]},
        neighbours=nearest_neighbours(deep, 5),
        predicted=links,
        title="A test & more",
        note="of the page",
    )


@pytest.fixture
def walk(open_page, html):
    return open_page(html)


def complex_of(pair):
    return complex(*pair)


def translation(p, q):
    """Return the isometry of the disk, as (a, b), that moves p to q along their geodesic."""

    def product(first, second):
        return (
            first[0] * second[0] + first[1] * second[1].conjugate(),
            first[0] * second[1] + first[1] * second[0].conjugate(),
        )

    def from_centre(z):
        size = 1 / np.sqrt(1 - abs(z) ** 2)
        return size + 0j, z * size

    step = (q - p) / (1 - p.conjugate() * q)
    return product(from_centre(p), product(from_centre(step), from_centre(-p)))


def act(isometry, z):
    a, b = isometry
    return (a * z + b) / (b.conjugate() * z + a.conjugate())


def disk_place(walk, x, y):
    state = walk.state
    scale, size = state["zoom"] * state["radius"], walk.page.viewport_size
    centre_x, centre_y = size["width"] / 2 + state["shift"][0], size["height"] / 2 + state["shift"][1]
    return complex((x - centre_x) / scale, (centre_y - y) / scale)


def drag(walk, start, *stops):
    walk.page.mouse.move(*start)
    walk.page.mouse.down()
    for stop in stops:
        walk.page.mouse.move(*stop)
    walk.page.mouse.up()
    walk.still()


def test_it_loads_without_a_complaint_or_a_request(walk):
    assert walk.complaints == []
    assert [url for url in walk.requests if not url.startswith("file:")] == []
    assert len(walk.requests) == 1
    assert walk.page.title() == "A test & more"
    assert walk.page.inner_text("#facts").startswith("60 nodes, 120 relationships, ")
    assert walk.state["painter"] == "canvas"  # this machine has no graphics processor
    assert walk.state["edgesDrawn"] == 120


def test_node_positions_match_python(walk, points):
    expected = to_poincare(points)
    shown = [walk.node(row) for row in range(N)]
    assert np.allclose([node["disk"] for node in shown], expected, atol=1e-12)
    for row in (0, 17):
        assert abs(disk_place(walk, shown[row]["x"], shown[row]["y"]) - complex_of(expected[row])) < 1e-5


def test_a_drag_is_the_translation_that_moves_the_grabbed_point_to_the_pointer(walk, points):
    before = [complex_of(z) for z in to_poincare(points)]
    start, end = (560.0, 330.0), (700.0, 450.0)
    drag(walk, start, (600, 300), (650, 500), end)
    moved = translation(disk_place(walk, *start), disk_place(walk, *end))
    after = [complex_of(walk.node(row)["disk"]) for row in range(N)]
    assert max(abs(act(moved, z) - w) for z, w in zip(before, after, strict=True)) < 1e-10


def test_the_point_under_the_pointer_stays_under_it_after_many_drags(walk):
    rng = np.random.default_rng(1)
    for _ in range(12):
        start, end = np.round(rng.normal((600, 400), 80, size=(2, 2)))
        held = disk_place(walk, *start)
        view = walk.state["view"]
        model_point = act((complex(view[0], -view[1]), -complex(*view[2:])), held)
        drag(walk, start.tolist(), end.tolist())
        view = walk.state["view"]
        shown = act((complex(*view[:2]), complex(*view[2:])), model_point)
        assert abs(shown - disk_place(walk, *end)) < 1e-9


def test_drags_keep_all_distances(walk, points):
    drag(walk, (500, 400), (720, 300))
    drag(walk, (650, 250), (560, 560))
    after = np.array([walk.node(row)["disk"] for row in range(N)])
    z = 2 * np.sum((after[:-1] - after[1:]) ** 2, axis=1)
    z /= (1 - np.sum(after[:-1] ** 2, axis=1)) * (1 - np.sum(after[1:] ** 2, axis=1))
    expected = distance(points[:-1], points[1:])
    assert np.allclose(np.arccosh(1 + z), expected, rtol=1e-6)
    from_page = walk.ask("(n) => Array.from({length: n - 1}, (_, i) => heat.distance(i, i + 1))", N)
    assert np.allclose(from_page, expected, rtol=1e-12)


def test_coming_back_within_a_drag_brings_the_old_view_back(walk):
    before = walk.node(3)["disk"]
    drag(walk, (500, 400), (700, 300), (720, 600), (400, 500), (500, 400))
    assert np.allclose(walk.node(3)["disk"], before, atol=1e-12)


def test_the_isometry_stays_one_over_ten_thousand_translations(walk):
    a_r, a_i, b_r, b_i = walk.ask(
        """() => {
          const { composed, moved, translation } = heat.geometry;
          let view = [1, 0, 0, 0], seed = 1;
          const home = () => translation(moved(view, [0, 0]), [0, 0]);
          const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647 - 0.5;
          const place = () => [random(), random()];
          for (let i = 0; i < 10000; i++) {
            view = composed(translation(place(), place()), view);
            if (Math.hypot(...view.slice(2)) > 40) view = composed(home(), view); // not away for ever
          }
          return view;
        }"""
    )
    size = a_r * a_r + a_i * a_i
    assert abs(size - b_r * b_r - b_i * b_i - 1) < 1e-12 * size
    assert np.isfinite([a_r, a_i, b_r, b_i]).all()


def test_formulas_match_python(walk):
    rng = np.random.default_rng(3)
    pairs = rng.uniform(-0.65, 0.65, size=(20, 2, 2))
    for p, q in pairs.tolist():
        view = walk.ask("([p, q]) => heat.geometry.translation(p, q)", [p, q])
        expected = translation(complex_of(p), complex_of(q))
        assert np.allclose(view, [expected[0].real, expected[0].imag, expected[1].real, expected[1].imag])
        image = walk.ask("([m, p]) => heat.geometry.moved(m, p)", [view, p])
        assert np.allclose(image, q)
        x, y, weight = walk.ask(
            "([p, q]) => { const o = []; heat.geometry.geodesic(...p, ...q, o, 0); return o; }", [p, q]
        )
        # The middle of the rational curve is the hyperbolic middle of p and q.
        middle = (complex_of(p) + 2 * weight * complex(x, y) + complex_of(q)) / (2 + 2 * weight)
        step = (complex_of(q) - complex_of(p)) / (1 - complex_of(p).conjugate() * complex_of(q))
        half = cmath.rect(np.tanh(np.arctanh(abs(step)) / 2), cmath.phase(step))
        on_arc = (half + complex_of(p)) / (1 + complex_of(p).conjugate() * half)
        # Both lie on the circle that meets the rim at right angles: |z - c|^2 = |c|^2 - 1.
        rows = np.array([[p[0], p[1]], [q[0], q[1]]])
        centre = complex_of(np.linalg.solve(rows, 0.5 * (1 + np.sum(rows**2, axis=1))))
        for z in (middle, on_arc):
            assert abs(abs(z - centre) ** 2 - abs(centre) ** 2 + 1) < 1e-9 * abs(centre) ** 2
    found = walk.ask("() => heat.geometry.circle([0.3, -0.4], 1.2)")
    for angle in np.linspace(0, 6, 7):
        rim = complex(found["x"], found["y"]) + cmath.rect(found["size"], angle)
        back = (rim - (0.3 - 0.4j)) / (1 - (0.3 + 0.4j) * rim)
        assert abs(2 * np.arctanh(abs(back)) - 1.2) < 1e-9


def test_panning_is_bounded(walk, points):
    for _ in range(12):
        drag(walk, (300, 400), (880, 400))
    farthest = np.arccosh(points[:, 2].max())
    away = 2 * np.arcsinh(abs(complex(*walk.state["view"][2:])))
    assert farthest < away < farthest + 3
    drag(walk, (880, 400), (300, 400))
    assert 2 * np.arcsinh(abs(complex(*walk.state["view"][2:]))) < away


def test_the_wheel_zooms_around_the_pointer(walk):
    pointer = (700.0, 300.0)
    before = disk_place(walk, *pointer)
    walk.page.mouse.move(*pointer)
    walk.page.mouse.wheel(0, -300)
    walk.until(lambda: walk.state["zoom"] > 1.2)
    walk.still()
    assert abs(disk_place(walk, *pointer) - before) < 1e-12
    assert walk.state["view"] == [1, 0, 0, 0]


def lonely_row(walk):
    """Return a row whose node no other covers."""
    nodes = [walk.node(row) for row in range(N)]
    for row, node in enumerate(nodes):
        gaps = [
            np.hypot(node["x"] - other["x"], node["y"] - other["y"]) for other in nodes if other is not node
        ]
        if min(gaps) > 25 and 250 < node["x"] < 850 and 120 < node["y"] < 700:
            return row
    raise AssertionError("all nodes lie close together")


def test_hovering_shows_the_node_and_its_properties(walk):
    row = lonely_row(walk)
    node = walk.node(row)
    walk.page.mouse.move(node["x"], node["y"])
    walk.until(lambda: walk.page.is_visible("#tooltip"))
    lines = walk.page.inner_text("#tooltip").splitlines()
    assert lines[:2] == [f"node {row:03}", f"year: {2000 + row}"]
    assert walk.state["hovered"] == row
    walk.page.mouse.move(5, 500)
    walk.until(lambda: not walk.page.is_visible("#tooltip"))


def test_a_click_selects_the_node_and_glides_it_to_the_centre(walk, deep, links):
    row = lonely_row(walk)
    node = walk.node(row)
    walk.page.mouse.click(node["x"], node["y"])
    walk.still()
    assert walk.state["selected"] == row
    assert np.allclose(walk.node(row)["disk"], 0, atol=1e-9)
    assert walk.page.inner_text("#panel h2") == f"node {row:03}"
    assert listed(walk, "#nearest") == expected_neighbours(deep, row)
    pairs = zip(links.source.tolist(), links.target.tolist(), links.probability.tolist(), strict=True)
    own = [(b if a == row else a, chance) for a, b, chance in pairs if row in (a, b)]
    shown = listed(walk, "#predicted")
    assert [entry[0] for entry in shown] == [other for other, _ in own]
    for (_, text), (_, chance) in zip(shown, own, strict=True):
        assert text == f"{chance:.1%}" or (text, chance > 0.999) == (">99.9%", True)


def listed(walk, section):
    """Return rows and remarks of a list of the panel."""
    return [
        (int(button.get_attribute("data-node")), button.query_selector("small").inner_text())
        for button in walk.page.query_selector_all(f"{section} li button")
    ]


def expected_neighbours(deep, row):
    others = [other for other in range(N) if other != row]
    apart = distance(deep[row], deep[others])
    order = np.argsort(apart, kind="stable")[:5]
    return [(others[place], f"{apart[place]:.3f}") for place in order]


def test_listed_neighbours_are_the_exact_ones_and_lead_on(walk, deep):
    for row in (0, 20, 59):
        walk.select(row)
        assert listed(walk, "#nearest") == expected_neighbours(deep, row)
    first = expected_neighbours(deep, 59)[0][0]
    walk.page.click("#nearest li button")
    walk.still()
    assert walk.state["selected"] == first
    assert np.allclose(walk.node(first)["disk"], 0, atol=1e-9)


def test_search_runs_while_typing(walk):
    walk.page.keyboard.press("/")
    walk.page.keyboard.type("NODE 04")
    names = [item.inner_text() for item in walk.page.query_selector_all("#matches li")]
    assert names == [f"node 04{digit}" for digit in range(10)]
    walk.page.keyboard.press("ArrowDown")
    walk.page.keyboard.press("Enter")
    walk.still()
    assert walk.state["selected"] == 41
    walk.page.keyboard.press("Escape")
    assert walk.state["selected"] == -1
    assert not walk.page.is_visible("#panel")
    walk.page.keyboard.press("/")
    walk.page.keyboard.type("no such name")
    assert walk.page.inner_text("#matches") == "no node has a name like that"


def test_search_needs_no_accents(walk):
    function = re.search(r"^function plain.*?^}$", SCRIPT.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]
    texts = ("Côte d'Ivoire", "ÅLAND", "가나", "İzmir", "𝒳é")
    plain = [walk.page.evaluate(f"({function})({json.dumps(text)})") for text in texts]
    assert plain == ["cote d'ivoire", "aland", "가나", "izmir", "𝒳e"]
    walk.page.keyboard.press("/")
    walk.page.keyboard.type("nöde 04")
    assert walk.page.inner_text("#matches li") == "node 040"
    assert walk.page.inner_text("#matches li mark") == "node 04"


def test_keys_walk_and_the_reset_goes_home(walk):
    walk.page.keyboard.press("ArrowLeft")
    walk.still()
    origin = complex_of(walk.state["view"][2:]) / complex(walk.state["view"][0], -walk.state["view"][1])
    assert abs(2 * np.arctanh(origin.real) - 0.4) < 1e-9  # what lay on the left comes nearer
    assert abs(origin.imag) < 1e-12
    walk.page.keyboard.press("+")
    assert walk.state["zoom"] == 1.25
    walk.page.keyboard.press("Enter")
    walk.still()
    assert walk.state["selected"] >= 0
    walk.page.click("#reset")
    walk.still()
    state = walk.state
    assert (state["view"], state["zoom"], state["shift"], state["selected"]) == ([1, 0, 0, 0], 1, [0, 0], -1)


def test_every_control_has_an_accessible_name(walk):
    walk.select(3)
    nameless = walk.ask(
        """() => {
          const controls = "button, input, select, canvas[role], table, section, aside, [role=dialog], #bar";
          const named = (each) => each.ariaLabel || each.textContent.trim() || each.labels?.length;
          return [...document.querySelectorAll(controls)].filter((each) => !named(each)).map(({ id }) => id);
        }"""
    )
    assert nameless == ["bar"]  # hidden, and named when it is filled
    walk.page.keyboard.press("?")
    assert walk.ask("() => document.activeElement.id") == "keys"
    walk.page.keyboard.press("Escape")
    assert walk.ask("() => document.activeElement.id") == "labels"
    assert walk.state["selected"] == 3  # the help alone was closed


def test_the_legend_filters(walk):
    buttons = walk.page.query_selector_all("#legend button")
    assert [button.inner_text().split() for button in buttons] == [["group", str(k), "20"] for k in range(3)]
    buttons[1].click()
    walk.still()
    assert [walk.node(row)["size"] > 0 for row in range(6)] == [True, False, True] * 2
    assert buttons[1].get_attribute("aria-pressed") == "false"
    buttons[1].click()
    walk.still()
    assert walk.node(1)["size"] > 0


def test_touch_drags_and_pinches(open_page, html):
    walk = open_page(html, has_touch=True)
    session = walk.page.context.new_cdp_session(walk.page)

    def touch(kind, *fingers):
        places = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(fingers)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    before = disk_place(walk, 560, 330)
    touch("touchStart", (560, 330))
    touch("touchMove", (600, 360))
    touch("touchMove", (660, 420))
    touch("touchEnd")
    walk.still()
    view = walk.state["view"]
    shown = act((complex(*view[:2]), complex(*view[2:])), before)
    assert abs(shown - disk_place(walk, 660, 420)) < 1e-9
    touch("touchStart", (500, 400), (700, 400))
    touch("touchMove", (450, 400), (750, 400))
    touch("touchEnd")
    walk.still()
    assert abs(walk.state["zoom"] - 1.5) < 1e-9


def test_hostile_names_stay_text(open_page, points):
    n = len(HOSTILE)
    values = {HOSTILE[0]: HOSTILE, "plain": HOSTILE[::-1]}
    page = build_page(
        points[:n], ring_graph(n), names=HOSTILE, facets=[Groups(HOSTILE[0], HOSTILE)], properties=values,
        title=HOSTILE[0], note=HOSTILE[1], neighbours=nearest_neighbours(points[:n], 2),
    )  # fmt: skip
    walk = open_page(page)
    for row in range(n):
        walk.select(row)
        assert walk.page.text_content("#panel h2") == printable(HOSTILE[row])
        node = walk.node(row)
        walk.page.mouse.move(node["x"] + 1, node["y"])
        walk.until(lambda: walk.page.is_visible("#tooltip"))
        assert walk.page.text_content("#tooltip b") == printable(HOSTILE[row])
    walk.page.fill("#search", "<")
    assert len(walk.page.query_selector_all("#matches li")) == 3
    assert walk.page.text_content("h1") == printable(HOSTILE[0])
    assert walk.page.query_selector_all("img, iframe, body > script:not([type]) ~ script ~ *") == []
    assert walk.complaints == []


def test_the_policy_stops_scripts_and_requests(walk):
    walk.ask(
        """() => {
          const image = document.createElement("img");
          image.src = "https://example.invalid/x.png";
          document.body.append(image);
          document.body.insertAdjacentHTML("beforeend", "<b onclick='window.broken = 1'>x</b>");
          document.body.lastElementChild.click();
          const script = document.createElement("script");
          script.textContent = "window.broken = 2";
          document.body.append(script);
        }"""
    )
    walk.page.wait_for_timeout(200)
    assert walk.ask("() => window.broken ?? null") is None
    assert sum("Content Security Policy" in text for text in walk.complaints) >= 3
    assert walk.refused == ["https://example.invalid/x.png csp"]


@pytest.mark.parametrize(
    ("painter", "scheme"),
    [("canvas", "light"), ("webgl", "dark"), slow("canvas", "dark"), slow("webgl", "light")],
)
def test_both_painters_draw_nodes_and_edges_in_their_colours(open_page, painter, scheme):
    # Two nodes of one group and their geodesic, which bends towards the centre; a third alone in its group.
    # A single type has no colour of its own.
    points = lift(np.array([[1.5, 0.3], [0.3, 1.5], [-1.0, -1.0]]))
    joins = Relationships.from_pairs({"JOINS": (np.array([0, 1]), np.array([1, 0]))})
    relationships = joins if scheme == "dark" else None
    graph = Graph(sparse.csr_array((np.ones(1), ([0], [1])), shape=(3, 3)), relationships=relationships)
    html = build_page(points, graph, names=["", "", ""], facets=[Groups("", ["pair", "pair", "one"])])
    walk = open_page(html, painter, color_scheme=scheme)
    assert walk.state["painter"] == painter
    assert walk.complaints == []
    palette = {"light": ((53, 103, 176), (224, 128, 44)), "dark": ((108, 158, 232), (240, 154, 78))}[scheme]
    pixels = walk.screen()
    for row, colour in ((0, palette[0]), (1, palette[0]), (2, palette[1])):
        node = walk.node(row)
        assert np.abs(pixels[round(node["y"]), round(node["x"])] - colour).max() < 24
    start, end = (complex_of(z) for z in to_poincare(points[:2]))
    step = (end - start) / (1 - start.conjugate() * end)
    half = cmath.rect(np.tanh(np.arctanh(abs(step)) / 2), cmath.phase(step))
    on_arc = (half + start) / (1 + start.conjugate() * half)
    background = pixels[400, 470]
    painted, wanted = strongest(walk, pixels, on_arc) - background, palette[0] - background
    assert np.abs(painted).max() > 25
    assert painted @ wanted > 0.97 * np.linalg.norm(painted) * np.linalg.norm(wanted)
    assert np.abs(strongest(walk, pixels, (start + end) / 2) - background).max() < 12  # not the chord
    assert walk.page.is_visible("#types") == (scheme == "dark")


def strongest(walk, pixels, z):
    """Return that pixel around a place of the disk which differs most from the background."""
    state, size = walk.state, walk.page.viewport_size
    x = round(size["width"] / 2 + state["radius"] * z.real)
    y = round(size["height"] / 2 - state["radius"] * z.imag)
    near = pixels[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3)
    return near[np.abs(near - pixels[400, 470]).max(axis=1).argmax()]


@pytest.mark.slow
def test_fifty_thousand_nodes_load_and_drag(open_page, record_property, capsys):
    n = 50_000
    rng = np.random.default_rng(0)
    radius = np.arccosh(1 + (np.cosh(9.0) - 1) * rng.random(n))
    angle = 2 * np.pi * rng.random(n)
    points = lift(np.sinh(radius)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    along = np.argsort(angle)
    near = np.concatenate([np.roll(along, shift) for shift in range(1, 6)])
    graph = Graph(sparse.csr_array((np.ones(5 * n), (np.tile(along, 5), near)), shape=(n, n)))
    html = build_page(points, graph, facets=[Groups("", [f"sector {int(turn)}" for turn in angle])])
    walk = open_page(html)
    assert walk.complaints == []
    start, end = (600.0, 300.0), (690.0, 420.0)
    before = complex_of(walk.node(7)["disk"])
    stops = [(600 + 3 * k, 300 + 4 * k) for k in range(1, 31)]
    drag(walk, start, *stops)
    moved = translation(disk_place(walk, *start), disk_place(walk, *end))
    assert abs(act(moved, before) - complex_of(walk.node(7)["disk"])) < 1e-6
    frames = sorted(walk.ask("() => heat.frames().moving"))
    assert len(frames) > 5
    figures = {"frames": len(frames), "median_ms": round(1000 * frames[len(frames) // 2], 1)}
    figures["worst_ms"] = round(1000 * frames[-1], 1)
    record_property("frame_times", json.dumps(figures))
    with capsys.disabled():
        print(f"\n50,000 nodes, {graph.n_edges:,} edges, software rendering: {figures}")
