"""The Poincare disk: geometry of what is drawn, labels that can be read, arguments that are refused."""

import sys

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import plots
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import distance, from_poincare, lift, to_poincare
from heat_neo4j.graph import Graph

N = 60


@pytest.fixture
def points():
    return lift(np.random.default_rng(1).normal(size=(N, 2)) * 1.5)


@pytest.fixture
def graph():
    dense = np.triu(np.random.default_rng(2).random((N, N)) < 0.05, 1)
    return Graph(sparse.csr_array((dense + dense.T).astype(float)))


def names(n=N):
    return [f"some node {i}" for i in range(n)]


def test_geodesics_are_shortest_paths(points):
    start, end = points[:30], points[30:]
    curves = plots.geodesics(start, end, 9)
    assert curves.shape == (30, 9, 2)
    np.testing.assert_allclose(curves[:, 0], to_poincare(start), atol=1e-12)
    np.testing.assert_allclose(curves[:, -1], to_poincare(end), atol=1e-12)
    for place in range(9):
        between = from_poincare(curves[:, place])
        np.testing.assert_allclose(
            distance(start, between) + distance(between, end), distance(start, end), rtol=1e-9, atol=1e-9
        )


def test_all_nodes_and_relationships_are_drawn_where_they_are(points, graph):
    axes = plots.plot_disk(points, graph, names=names(), groups=["ab"[i % 2] for i in range(N)])
    *lines, dots = axes.collections
    drawn = {tuple(row) for row in np.round(dots.get_offsets(), 12)}
    assert drawn == {tuple(row) for row in np.round(to_poincare(points), 12)}
    assert sum(len(each.get_segments()) for each in lines) == graph.n_edges
    sizes = dict(zip(map(tuple, np.round(dots.get_offsets(), 12)), dots.get_sizes(), strict=True))
    by_row = [sizes[tuple(row)] for row in np.round(to_poincare(points), 12)]
    assert np.argmax(by_row) == np.argmax(graph.degrees)
    rings = sorted(patch.get_radius() for patch in axes.patches)
    furthest = int(distance(points, lift(np.zeros((1, 2)))).max())
    np.testing.assert_allclose(rings, [*(np.tanh(r / 2) for r in range(1, furthest + 1)), 1.0])


def test_labels_neither_overlap_nor_leave_the_picture(points, graph):
    axes = plots.plot_disk(points, graph, names=names(), groups=["ab"[i % 2] for i in range(N)], n_labels=20)
    axes.figure.draw_without_rendering()
    labels = [text for text in axes.texts if text.get_text().startswith("some node")]
    assert 5 < len(labels) <= 20
    boxes = [text.get_window_extent() for text in labels]
    frame = axes.get_window_extent()
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    hub = int(np.argmax(graph.degrees))
    assert f"some node {hub}" in [text.get_text() for text in labels]


def test_only_the_largest_groups_get_a_colour(points, graph):
    groups = ["big"] * 30 + ["middle"] * 20 + ["small"] * 9 + ["alone"]
    axes = plots.plot_disk(points, graph, groups=groups, n_groups=2, title="A title", caption="A caption")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["big", "middle", "others"]
    assert axes.get_title(loc="left") == "A title"
    assert "A caption" in [text.get_text() for text in axes.texts]
    nothing = plots.plot_disk(points, graph, groups=["big"] * 30 + [None] * 30).get_legend()
    assert [text.get_text() for text in nothing.get_texts()] == ["big", "others"]
    assert plots.plot_disk(points, graph).get_legend() is None


def test_names_are_drawn_as_they_are(points, graph, tmp_path):
    groups = ["_private", "$a$ \\frac{"] * (N // 2)
    axes = plots.plot_disk(points, graph, names=["$x^$ _{"] * N, groups=groups, n_labels=3)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["$a$ \\frac{", "_private"]
    axes.figure.savefig(tmp_path / "names.png")


def test_names_may_be_the_nodes_of_a_model(points, graph):
    drawn = plots.plot_disk(points, graph, names=np.array(names(), dtype=object), n_labels=5)
    same = plots.plot_disk(points, graph, names=names(), n_labels=5)
    assert [text.get_text() for text in drawn.texts] == [text.get_text() for text in same.texts]


def test_an_axes_of_the_callers_own(points, graph, tmp_path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    canvas = figure.canvas
    axes = figure.add_subplot(1, 2, 2)
    assert plots.plot_disk(points, graph, names=names(), ax=axes) is axes
    assert figure.canvas is canvas
    figure.savefig(tmp_path / "two.png")
    assert (tmp_path / "two.png").stat().st_size > 5000


def test_a_graph_without_relationships_and_one_without_nodes(tmp_path):
    for n in (1, 0):
        empty = Graph(sparse.csr_array((n, n)))
        axes = plots.plot_disk(lift(np.zeros((n, 2))), empty, names=names(n), groups=["x"] * n)
        axes.figure.savefig(tmp_path / f"{n}.svg")


def test_wrong_arguments_are_named(points, graph):
    with pytest.raises(ValueError, match=r"embedding must have shape \(60, 3\), got \(60, 4\)"):
        plots.plot_disk(lift(np.zeros((N, 3))), graph)
    with pytest.raises(ValueError, match="names must have one entry per node: 2 for 60"):
        plots.plot_disk(points, graph, names=["a", "b"])
    with pytest.raises(ValueError, match="groups must have one entry per node: 1 for 60"):
        plots.plot_disk(points, graph, groups=["a"])


def test_predicted_links_are_dashed_geodesics(points, graph):
    predicted = np.array([[3, 40], [7, 8]])
    axes = plots.plot_disk(points, graph, predicted=predicted)
    (dashed,) = [each for each in axes.collections if each.get_linestyle()[0][1] is not None]
    for (u, v), curve in zip(predicted, dashed.get_segments(), strict=True):
        np.testing.assert_allclose(curve, plots.geodesics(points[[u]], points[[v]])[0], atol=1e-12)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["predicted links"]
    none = plots.plot_disk(points, graph, predicted=np.empty((0, 2), dtype=np.int64))
    assert none.get_legend() is None
    one = plots.plot_disk(points, graph, groups=["x"] * N, predicted=predicted[:1]).get_legend()
    assert [text.get_text() for text in one.get_texts()] == ["x", "predicted link"]


def test_predicted_links_to_nowhere_are_refused(points, graph):
    with pytest.raises(ValueError, match="predicted has rows outside those of the 60 nodes"):
        plots.plot_disk(points, graph, predicted=np.array([[0, N]]))
    with pytest.raises(ValueError, match=r"whole numbers of shape \(m, 2\), got shape \(2, 3\)"):
        plots.plot_disk(points, graph, predicted=np.zeros((2, 3), dtype=np.int64))
    with pytest.raises(ValueError, match="whole numbers"):
        plots.plot_disk(points, graph, predicted=np.zeros((2, 2)))


def test_of_many_relationships_an_even_sample_is_drawn(points, graph):
    def drawn(most):
        *lines, _ = plots.plot_disk(points, graph, n_edges=most).collections
        return {tuple(curve[[0, -1]].ravel()) for each in lines for curve in each.get_segments()}

    assert len(drawn(20)) == 20
    assert drawn(20) < drawn(graph.n_edges)
    assert len(drawn(graph.n_edges)) == graph.n_edges


def test_a_node_without_a_name_takes_no_label_from_another(points, graph):
    hub = int(np.argmax(graph.degrees))
    some = ["" if row == hub else f"some node {row}" for row in range(N)]
    axes = plots.plot_disk(points, graph, names=some, n_labels=5)
    labels = [text.get_text() for text in axes.texts if text.get_text().startswith("some node")]
    assert len(labels) == 5
    assert f"some node {hub}" not in labels


def test_a_long_legend_takes_more_rows_and_stays_in_the_picture(points, graph):
    groups = [f"a group with quite a long name, number {row % 10}" for row in range(N)]
    axes = plots.plot_disk(points, graph, groups=groups, caption="A caption")
    axes.figure.draw_without_rendering()
    legend, frame = axes.get_legend().get_window_extent(), axes.figure.bbox
    assert frame.x0 <= legend.x0 < legend.x1 <= frame.x1
    (caption,) = [text for text in axes.texts if text.get_text() == "A caption"]
    assert caption.get_window_extent().y1 <= legend.y0
    assert caption.get_window_extent().y0 >= frame.y0


def test_without_matplotlib_the_way_to_get_it_is_said(points, graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"a picture needs matplotlib: pip install 'heat-neo4j\[plot\]'"):
        plots.plot_disk(points, graph)
