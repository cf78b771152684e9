"""Diagrams: what is drawn is what was given, nothing overlaps, and nonsense is refused."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

from heat_neo4j import plots
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import lift, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.calibration import reliability
from heat_neo4j.plots.diagrams import _running_median
from tests.support.full_disk import full_disk
from tests.support.palette import with_palette

RELIABILITY = reliability(
    np.array([0.1, 0.9, 0.8]), np.array([False, True, True]), np.ones(3), np.zeros(3, dtype=np.int64)
)
CURVES = {"HEAT": ([0.0, 0.1, 1.0], [0.0, 0.9, 1.0]), "_other $x$": ([0.0, 1.0], [0.0, 1.0])}
SCORES = {"HEAT": ([0.5, 0.6, 0.7], [0.01, 0.02, 0.03]), "_b $": ([0.4, 0.4, 0.4], [0.0, 0.0, 0.1])}


@pytest.fixture
def generator():
    return np.random.default_rng(5)


def legend(axes):
    texts = axes.get_legend().get_texts()
    assert not any(text.get_parse_math() for text in texts), "a dollar sign is no formula"
    return [text.get_text() for text in texts]


def bars(patch):
    """Return heights and edges of a histogram drawn as stairs."""
    values, edges, _ = patch.get_data()
    return values, edges


def stars(n, generator):
    """A graph of hubs and leaves, and points whose radius falls with the degree."""
    ends = generator.integers(0, 8, size=n) ** 2 // 8
    graph = Graph(sparse.csr_array((np.ones(n), (np.arange(n), ends)), shape=(n, n)))
    angle = generator.random(n) * 2 * np.pi
    depth = np.sinh(3.0 - 0.5 * np.log1p(graph.degrees))
    return graph, lift(depth[:, None] * np.stack((np.cos(angle), np.sin(angle)), axis=1))


def every_diagram(generator, ax=None):
    graph, points = stars(50, generator)
    yield plots.plot_roc(CURVES, ax=ax)
    yield plots.plot_radius_by_degree(points, graph, ax=ax)
    yield plots.plot_reliability({"A-B->C": RELIABILITY}, ax=ax)


@pytest.mark.parametrize("draw", [plots.plot_roc])
def test_curves_are_drawn_as_given_under_their_names(draw):
    axes = draw(CURVES)
    lines = [line for line in axes.lines if line.get_color() in ("#3567b0", "#e0802c")]
    for line, curve in zip(lines, CURVES.values(), strict=True):
        np.testing.assert_array_equal(line.get_data(), curve)
    assert legend(axes) == list(CURVES)
    assert axes.get_aspect() == 1.0


def test_each_pattern_has_a_panel_under_its_name():
    names = [f"A-$x_{place}$->B" for place in range(5)]
    first = plots.plot_roc_panels(dict.fromkeys(names, CURVES))
    panels = first.figure.axes
    titles = [axes._left_title for axes in panels]
    assert [title.get_text() for title in titles] == names
    assert not any(title.get_parse_math() for title in titles), "a dollar sign is no formula"
    assert {axes.get_gridspec().get_geometry() for axes in panels} == {(2, 3)}
    assert all(legend(axes) == list(CURVES) for axes in panels)


def test_more_curves_than_colours_can_still_be_told_apart():
    many = {f"method {place}": CURVES["HEAT"] for place in range(23)}
    lines = [line for line in plots.plot_roc(many).lines if line.get_xdata()[1] == 0.1]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 23


def test_reliability_shows_the_share_of_links_of_each_bin_and_its_interval(generator):
    scores = generator.normal(size=4000)
    curve = reliability(
        scores, generator.random(4000) < 1 / (1 + np.exp(3 - scores)), np.ones(4000), np.arange(4000) % 2
    )
    axes = plots.plot_reliability({"A-B->C": curve})
    line, _, (whiskers,) = next(each for each in axes.containers if hasattr(each, "has_yerr")).lines
    share = np.array(curve.n_links) / np.array(curve.n_pairs)
    np.testing.assert_allclose(line.get_data(), (curve.expected, share))
    low, high = np.array(whiskers.get_segments())[:, :, 1].T
    np.testing.assert_allclose(low, np.minimum(curve.low, share))
    np.testing.assert_allclose(high, np.maximum(curve.high, share))
    assert legend(axes) == ["calibrated", "A-B->C"]


def test_radius_by_degree_shows_every_node_that_has_a_neighbour(generator):
    graph, points = stars(300, generator)
    alone = Graph(sparse.block_diag((graph.adjacency, sparse.csr_array((2, 2))), format="csr"))
    points = np.concatenate((points, lift(np.zeros((2, 2)))))
    axes = plots.plot_radius_by_degree(points, alone)
    linked = alone.degrees > 0
    drawn = axes.collections[0].get_offsets()
    np.testing.assert_allclose(drawn[:, 1], radius(points)[linked])
    assert np.abs(np.log(drawn[:, 0] / alone.degrees[linked])).max() <= 0.06 + 1e-12
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == f"number of neighbours ({(~linked).sum()} without any left out)"
    assert legend(axes)[0] == f"{linked.sum()} nodes"


def test_the_median_is_that_of_nodes_of_like_degree(generator):
    degrees = np.repeat([1.0, 4.0, 5.0, 6.0, 30.0, 33.0], [20, 10, 10, 10, 3, 4])
    radii = generator.random(degrees.size)
    places, medians = _running_median(degrees, radii)
    expected = {}
    for place in np.unique(degrees):
        near = radii[(degrees >= place / 1.25) & (degrees <= place * 1.25)]
        if near.size >= 5:
            expected[place] = np.median(near)
    assert places.tolist() == list(expected)
    np.testing.assert_array_equal(medians, list(expected.values()))
    assert _running_median(np.array([2.0, 2.0]), np.array([1.0, 3.0]))[1].tolist() == [2.0]


def test_a_graph_without_any_edge_gives_an_empty_diagram(tmp_path):
    axes = plots.plot_radius_by_degree(lift(np.zeros((3, 2))), Graph(sparse.csr_array((3, 3))))
    plots.save_picture(axes, tmp_path / "empty.png")
    assert legend(axes) == ["0 nodes", "median"]


def test_nothing_written_overlaps_or_is_cut_off(generator):
    for axes in every_diagram(generator):
        plots.add_title(axes, "A title of the usual length $x$")
        axes.figure.draw_without_rendering()
        frame = axes.figure.bbox
        rows = [axes.get_legend(), axes.xaxis.label, axes.yaxis.label, axes.figure._suptitle]
        boxes = [row.get_window_extent() for row in rows]
        ticks = [text.get_window_extent() for text in axes.get_xticklabels() if text.get_text()]
        assert all(one.x1 < other.x0 for one, other in pairwise(ticks))
        for place, box in enumerate(boxes):
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1
            assert frame.y0 <= box.y0 < box.y1 <= frame.y1
            assert not any(box.overlaps(other) for other in boxes[:place])


def test_axes_of_the_callers_own_are_used(generator):
    for place in range(3):
        own = Figure().add_subplot()
        assert list(every_diagram(generator, ax=own))[place] is own


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_is_the_same_file(kind, tmp_path, monkeypatch):
    for place in range(2):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(place))  # a date would come from here
        plots.save_picture(plots.plot_roc(CURVES), tmp_path / f"{place}.{kind}")
    assert (tmp_path / f"0.{kind}").read_bytes() == (tmp_path / f"1.{kind}").read_bytes()


def test_the_palette_of_the_docs_keeps_the_colours(tmp_path, generator):
    from PIL import Image

    n = 900
    dense = np.triu(generator.random((n, n)) < 0.01, 1)
    graph = Graph(sparse.csr_array((dense + dense.T).astype(float)))
    points = lift(generator.normal(size=(n, 2)) * 2)
    groups = [f"group {row % 10}" for row in range(n)]
    axes = plots.plot_disk(points, graph, groups=groups)
    plots.save_picture(axes, tmp_path / "plain.png")
    (tmp_path / "small.png").write_bytes(with_palette((tmp_path / "plain.png").read_bytes()))
    assert (tmp_path / "small.png").stat().st_size < 0.5 * (tmp_path / "plain.png").stat().st_size
    with Image.open(tmp_path / "plain.png") as plain, Image.open(tmp_path / "small.png") as small:
        assert (small.mode, small.size) == ("P", plain.size)
        before, after = (np.asarray(image.convert("RGB"), dtype=int) for image in (plain, small))
    assert np.abs(before - after).mean() < 4
    for colour in ("#3567b0", "#d9a520", "#a9afba", "#fbfaf7", "#ffffff"):
        exact = (after == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(axis=2).any()
        assert exact or colour == "#a9afba", colour


def test_a_file_that_cannot_be_written_is_one_line_and_leaves_the_old_one(tmp_path):
    axes = plots.plot_roc(CURVES)
    with pytest.raises(ConfigError, match=r"must end in \.png, \.svg, \.pdf, got 'x.gif'"):
        plots.save_picture(axes, tmp_path / "x.gif")
    with pytest.raises(ConfigError, match=r"picture .*x\.png: cannot be written: No such file or directory"):
        plots.save_picture(axes, tmp_path / "none" / "x.png")
    (tmp_path / "old.png").write_bytes(b"old")
    with full_disk(100), pytest.raises(ConfigError, match="File too large"):
        plots.save_picture(axes, tmp_path / "old.png")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old.png", b"old")]


@pytest.mark.parametrize(
    ("draw", "complaint"),
    [
        (lambda: plots.plot_roc({}), "must not be empty"),
        (lambda: plots.plot_reliability({}), "no reliability to draw"),
        (
            lambda: plots.plot_radius_by_degree(lift(np.zeros((2, 2))), Graph(sparse.csr_array((3, 3)))),
            "one row per node: 2 for 3",
        ),
    ],
)
def test_nonsense_is_refused(draw, complaint):
    with pytest.raises(ValueError, match=complaint):
        draw()


def test_a_legend_of_long_names_takes_more_rows_and_stays_in_the_picture():
    scores = {f"a method with a rather long name, number {place}": CURVES["HEAT"] for place in range(5)}
    axes = plots.plot_roc(scores)
    axes.figure.draw_without_rendering()
    box, frame = axes.get_legend().get_window_extent(), axes.figure.bbox
    assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    assert box.y1 <= frame.y1
    assert legend(axes) == list(scores)
