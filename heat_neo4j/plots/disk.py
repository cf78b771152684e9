"""The Poincare disk: a 2-dimensional embedding with its relationships and predicted links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import printable
from heat_neo4j.geometry.hyperboloid import check_points, from_klein, radius, to_klein, to_poincare
from heat_neo4j.graph import Graph
from heat_neo4j.plots.style import COLOURS, FACE, INK, PALE, REST, check_installed, name_legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]

_SHIFT = 0.013  # from a node to its label, in units of the disk's radius
_GAP = 0.005  # between labels
_POINTS_PER_GEODESIC = 24
_DASHES = (0, (3, 2))
_RECTANGLE = (0.02, 0.137, 0.96, 0.825)  # of the disk in its figure; text above and below
_LEGEND_WIDTH = 125  # characters in a row
_LEGEND_ROW = 0.022  # height of a row, in shares of the axes
_MOST_VECTORS = 3_000  # more lines than this are stored as pixels in .svg and .pdf, which stay small so


def plot_disk(
    embedding: Array,
    graph: Graph,
    *,
    names: Sequence[str] | NDArray[Any] = (),
    groups: Sequence[str | None] = (),
    predicted: NDArray[np.integer[Any]] | None = None,
    n_labels: int = 48,
    n_groups: int = 10,
    n_edges: int = 50_000,
    title: str = "",
    caption: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a 2-dimensional embedding, N points of the hyperboloid with time last, in the Poincare disk.

    Relationships are geodesics (circle arcs that meet the rim at right angles), thin rings mark whole
    hyperbolic distances from the centre, the area of a node grows with the square root of its degree.
    Predicted links, given as pairs of rows, are geodesics too, dashed.

    The `n_groups` largest groups (10 at most) have a colour each; the others and None are grey. The hub of
    each coloured group is labelled, then the nodes of highest degree whose labels fit. If there are more than
    `n_edges` relationships, an even sample of that size is drawn.
    """
    check_installed()
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox

    check_points(embedding)
    if embedding.shape != (graph.n_nodes, 3):
        raise ValueError(f"embedding must have shape ({graph.n_nodes}, 3), got {embedding.shape}")
    for argument, values in (("names", names), ("groups", groups)):
        if len(values) not in (0, graph.n_nodes):
            raise ValueError(f"{argument} must have one entry per node: {len(values)} for {graph.n_nodes}")
    links = _checked_links(predicted, graph.n_nodes)
    axes = new_axes(11.0, 12.8, dots_per_inch=92, rectangle=_RECTANGLE) if ax is None else ax
    legend = _legend_of([group for group in groups if group is not None], min(n_groups, len(COLOURS)))
    colours = [REST if group is None else legend.get(group, REST) for group in groups]
    colours = colours or [COLOURS[0]] * graph.n_nodes
    rings = np.tanh(np.arange(1, int(radius(embedding).max(initial=0.0)) + 1) / 2)
    _draw_disk(axes, rings)
    _draw_edges(axes, embedding, graph, colours, n_edges)
    _draw_predicted(axes, embedding, links)
    points = to_poincare(embedding)
    _draw_nodes(axes, points, graph.degrees, colours)
    if len(names):
        taken = [Bbox.from_extents(-0.02, -size - 0.01, 0.02, -size + 0.01) for size in rings.tolist()]
        order = _by_importance(graph.degrees, colours)
        _draw_labels(axes, points, names, colours, order, n_labels, taken)
    dot: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 7}
    signs: list[tuple[str, Any]] = [
        (name, Line2D([], [], color=colour, **dot)) for name, colour in legend.items()
    ]
    if legend and REST in colours:
        signs.append(("others", Line2D([], [], color=REST, **dot)))
    if len(links):
        dashes = Line2D([], [], color=INK, linewidth=1.1, linestyle=_DASHES)
        signs.append((f"predicted link{'s' if len(links) > 1 else ''}", dashes))
    _draw_text(axes, title, caption, signs)
    return axes


def geodesics(start: Array, end: Array, n_points: int = _POINTS_PER_GEODESIC) -> Array:
    """Return points along geodesics of the Poincare disk: Poincare coordinates of shape (M, n_points, d).

    `start` and `end` are M points of the hyperboloid each, and included. In the Klein disk a geodesic is the
    straight chord, so the chord is cut up there and mapped back.
    """
    share = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, n_points))  # closer steps near the rim
    a, b = to_klein(start)[:, None, :], to_klein(end)[:, None, :]
    return to_poincare(from_klein(a + share[None, :, None] * (b - a)))


def _checked_links(predicted: NDArray[np.integer[Any]] | None, n: int) -> Pairs:
    """Return the predicted links as an array of shape (m, 2)."""
    if predicted is None:
        return np.empty((0, 2), dtype=np.int64)
    links = np.asarray(predicted)
    if links.ndim != 2 or links.shape[1] != 2 or not np.issubdtype(links.dtype, np.integer):
        raise ValueError(f"predicted must hold whole numbers of shape (m, 2), got shape {links.shape}")
    if links.size and not 0 <= links.min() <= links.max() < n:
        raise ValueError(f"predicted has rows outside those of the {n} nodes")
    return links.astype(np.int64)


def _legend_of(groups: Sequence[str], n_groups: int) -> dict[str, str]:
    """Colour of each of the largest groups; ties by name."""
    counts = sorted(Counter(groups).items(), key=lambda entry: (-entry[1], entry[0]))
    return {
        name: colour for (name, size), colour in zip(counts[:n_groups], COLOURS, strict=False) if size > 1
    }


def _draw_disk(ax: Axes, rings: Array) -> None:
    """Draw the rim, and circles of the given sizes, numbered: whole hyperbolic distances from the centre."""
    from matplotlib.patches import Circle

    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
    ax.add_patch(Circle((0, 0), 1.0, facecolor=FACE, edgecolor=INK, linewidth=1.1, zorder=0))
    ax.apply_aspect()  # now, because labels are measured before anything is drawn
    for ring, size in enumerate(rings.tolist(), start=1):
        ax.add_patch(Circle((0, 0), size, fill=False, edgecolor=PALE, linewidth=0.6, alpha=0.6, zorder=1))
        box = {"facecolor": FACE, "edgecolor": "none", "pad": 1.0}
        ax.text(0, -size, f"{ring}", color=PALE, fontsize=8, ha="center", va="center", zorder=6, bbox=box)


def _draw_edges(ax: Axes, embedding: Array, graph: Graph, colours: Sequence[str], most: int) -> None:
    """Draw relationships, in colour if both ends have the same; the more there are, the paler."""
    edges = np.column_stack(graph.edges.coords).astype(np.int64)
    if len(edges) > most:
        edges = edges[np.linspace(0, len(edges) - 1, most).round().astype(np.int64)]
    if not len(edges):
        return
    within = np.array([colours[a] == colours[b] != REST for a, b in edges.tolist()])
    alpha = float(np.clip(6.0 / np.sqrt(len(edges)), 0.03, 0.5))
    shades = [colours[row] for row in edges[within, 0]]
    rest: dict[str, Any] = {"colors": REST, "linewidths": 0.6, "alpha": 1.2 * alpha, "zorder": 2}
    coloured: dict[str, Any] = {"colors": shades, "linewidths": 0.7, "alpha": 2.0 * alpha, "zorder": 2}
    for pairs, style in ((edges[~within], rest), (edges[within], coloured)):
        _draw_geodesics(ax, embedding, pairs, rasterized=len(edges) > _MOST_VECTORS, **style)


def _draw_predicted(ax: Axes, embedding: Array, links: Pairs) -> None:
    """Draw predicted links, dashed, over the relationships; the more there are, the paler."""
    if len(links):
        alpha = float(np.clip(12.0 / np.sqrt(len(links)), 0.2, 0.9))
        style: dict[str, Any] = {"linewidths": 0.9, "linestyles": _DASHES, "alpha": alpha, "zorder": 2.5}
        _draw_geodesics(ax, embedding, links, colors=INK, **style)


def _draw_geodesics(ax: Axes, embedding: Array, pairs: Pairs, **style: Any) -> None:
    from matplotlib.collections import LineCollection

    curves = geodesics(embedding[pairs[:, 0]], embedding[pairs[:, 1]])
    ax.add_collection(LineCollection(list(curves), **style))


def _draw_nodes(ax: Axes, points: Array, degrees: NDArray[np.int64], colours: Sequence[str]) -> None:
    order = np.argsort(-degrees, kind="stable")  # small nodes on top of large ones
    x, y = points[order].T
    sizes, shades = 8.0 + 13.0 * np.sqrt(degrees[order]), [colours[row] for row in order]
    ax.scatter(x, y, s=sizes, c=shades, alpha=0.92, edgecolors="white", linewidths=0.5, zorder=3)


def _draw_text(ax: Axes, title: str, caption: str, signs: Sequence[tuple[str, Any]]) -> None:
    """Write the title above the disk, and the legend and the caption below it."""
    heading = ax.set_title(printable(title), loc="left", fontsize=18, color=INK, fontweight="bold", pad=8)
    heading.set_parse_math(False)
    names = [name for name, _ in signs]
    rows = -(-sum(len(name) + 6 for name in names) // _LEGEND_WIDTH)
    if signs:
        layout = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.005), "ncols": -(-len(signs) // rows)}
        spacing = {"handlelength": 1.6, "handletextpad": 0.3, "columnspacing": 1.2}
        handles = [sign for _, sign in signs]
        labels = ["entry"] * len(signs)  # the names themselves only below
        name_legend(ax.legend(handles, labels, frameon=False, fontsize=9.5, **spacing, **layout), names)
    low = -0.05 - _LEGEND_ROW * max(rows - 1, 0)
    style: dict[str, Any] = {"fontsize": 9.5, "color": PALE, "va": "top", "linespacing": 1.5}
    ax.text(0.0, low, caption, transform=ax.transAxes, **style).set_parse_math(False)


def _by_importance(degrees: NDArray[np.int64], colours: Sequence[str]) -> NDArray[np.int64]:
    """Return the rows in the order of labelling: the hub of each colour, then by degree."""
    rows = np.argsort(-degrees, kind="stable")
    hubs = {colours[row]: row for row in reversed(rows) if colours[row] != REST}
    is_hub = np.array([hubs.get(colours[row]) == row for row in rows], dtype=np.bool_)
    return np.concatenate([rows[is_hub], rows[~is_hub]])


def _draw_labels(
    ax: Axes,
    points: Array,
    names: Sequence[str] | NDArray[Any],
    colours: Sequence[str],
    order: NDArray[np.int64],
    most: int,
    taken: list[Bbox],
) -> None:
    """Write names beside their nodes in the order `order`, each where there is space."""
    from matplotlib.patheffects import withStroke

    to_data = ax.transData.inverted()
    halo = [withStroke(linewidth=2.4, foreground="white", alpha=0.85)]
    written = 0
    named = [row for row in order.tolist() if names[row]]
    for rank, row in enumerate(named[: 4 * most]):
        if written == most:
            break
        size = 10.5 - 2.5 * rank / (4 * most)
        text = ax.text(0, 0, printable(names[row]), fontsize=size, color=_dark(colours[row]), va="center")
        text.set(zorder=5, parse_math=False, path_effects=halo)
        extent = text.get_window_extent().transformed(to_data)
        box = _free_box(points, points[row], extent.width, extent.height, taken)
        if box is None:
            text.remove()
            continue
        text.set_position((box.x0, 0.5 * (box.y0 + box.y1)))
        taken.append(box)
        written += 1


def _free_box(points: Array, point: Array, width: float, height: float, taken: Sequence[Bbox]) -> Bbox | None:
    """Return a free box beside `point` that covers fewest nodes, or None."""
    from matplotlib.transforms import Bbox

    x, y = float(point[0]), float(point[1])
    corners = [
        (x + _SHIFT, y - height / 2), (x - _SHIFT - width, y - height / 2),
        (x - width / 2, y + _SHIFT), (x - width / 2, y - _SHIFT - height),
        (x + 0.7 * _SHIFT, y + 0.6 * _SHIFT), (x - 0.7 * _SHIFT - width, y + 0.6 * _SHIFT),
        (x + 0.7 * _SHIFT, y - 0.6 * _SHIFT - height), (x - 0.7 * _SHIFT - width, y - 0.6 * _SHIFT - height),
    ]  # fmt: skip
    boxes = [Bbox.from_bounds(left, low, width, height) for left, low in corners]
    inside = [box for box in boxes if np.abs(box.get_points()).max() < 1.0]
    free = [box for box in inside if not box.padded(_GAP).count_overlaps(taken)]
    return min(free, key=lambda box: box.count_contains(points), default=None)


def _dark(colour: str) -> tuple[float, float, float] | str:
    """Return a colour of the palette dark enough for text; nodes without a group get ink."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return INK if colour == REST else (0.6 * red, 0.6 * green, 0.6 * blue)
