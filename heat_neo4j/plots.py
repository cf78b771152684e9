"""Pictures of an embedding (matplotlib, the extra ``plot``). Functions take and return Axes; none shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.errors import ConfigError
from heat_neo4j.graph import Graph
from heat_neo4j.hyperboloid import check_points, from_klein, radius, to_klein, to_poincare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_installed", "geodesics", "plot_disk"]

Array = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, low, right, high

_COLOURS = (
    "#3567b0", "#e0802c", "#3a9a58", "#c9403f", "#7c5fb0",
    "#1f9fb5", "#cf6fae", "#8a6a4a", "#9aa02c", "#d9a520",
)  # fmt: skip
_REST = "#a9afba"
_INK = "#23272f"
_PALE = "#8d94a0"
_FACE = "#fbfaf7"
_POINTS_PER_GEODESIC = 24
_SHIFT = 0.013  # from a node to its label, in units of the disk's radius
_GAP = 0.005  # between labels


def plot_disk(
    embedding: Array,
    graph: Graph,
    *,
    names: Sequence[str] = (),
    groups: Sequence[str] = (),
    n_labels: int = 48,
    n_groups: int = 10,
    title: str = "",
    caption: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a 2-dimensional embedding in the Poincare disk.

    Relationships are geodesics (circle arcs that meet the rim at right angles), thin rings mark whole
    hyperbolic distances from the centre, the area of a node grows with the square root of its degree.

    Parameters
    ----------
    embedding : float64 array of shape (N, 3)
        Points of the hyperboloid, time last, fitted with two components. (An embedding of more
        dimensions has no faithful picture; fit another one for it.)
    graph : Graph
        The relationships to draw.
    names : sequence of str
        One per node, for the labels; empty for none.
    groups : sequence of str
        One per node: the `n_groups` largest groups get a colour, the others share grey.
    n_labels : int
        Most nodes to label: the hub of each coloured group, then those of highest degree whose label
        finds room.
    n_groups : int
        Most groups to colour, up to 10.
    title, caption : str
        Lines above and below the disk.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure of 11 x 12.5 inches if not given (``plot_disk(...).figure.savefig``).

    Raises
    ------
    ValueError
        If the embedding is not of two dimensions, or lengths disagree.
    ConfigError
        If matplotlib is not installed.
    """
    check_installed()
    check_points(embedding)
    if embedding.shape != (graph.n_nodes, 3):
        raise ValueError(f"embedding must have shape ({graph.n_nodes}, 3), got {embedding.shape}")
    for argument, values in (("names", names), ("groups", groups)):
        if len(values) not in (0, graph.n_nodes):
            raise ValueError(f"{argument} must have one entry per node: {len(values)} for {graph.n_nodes}")
    axes = _new_axes() if ax is None else ax
    legend = _legend_of(groups, min(n_groups, len(_COLOURS)))
    colours = [legend.get(group, _REST) for group in groups] or [_COLOURS[0]] * graph.n_nodes
    rings = np.tanh(np.arange(1, int(radius(embedding).max(initial=0.0)) + 1) / 2)
    _draw_disk(axes, rings)
    _draw_edges(axes, embedding, graph, colours)
    points = to_poincare(embedding)
    _draw_nodes(axes, points, graph.degrees, colours)
    if names:
        taken: list[Box] = [(-0.02, -size - 0.01, 0.02, -size + 0.01) for size in rings.tolist()]
        order = _by_importance(graph.degrees, colours)
        _draw_labels(axes, points, names, colours, order, n_labels, taken)
    _draw_text(axes, title, caption, legend)
    return axes


def geodesics(start: Array, end: Array, n_points: int = _POINTS_PER_GEODESIC) -> Array:
    """Return points along geodesics of the Poincare disk.

    In the Klein disk a geodesic is the straight chord, so the chord is cut up there and mapped back.

    Parameters
    ----------
    start, end : float64 arrays of shape (M, d + 1)
        Points of the hyperboloid.
    n_points : int
        Points per geodesic, both ends included.

    Returns
    -------
    float64 array of shape (M, n_points, d)
        Poincare coordinates.
    """
    share = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, n_points))  # closer steps near the rim
    a, b = to_klein(start)[:, None, :], to_klein(end)[:, None, :]
    return to_poincare(from_klein(a + share[None, :, None] * (b - a)))


def check_installed() -> None:
    """Check that matplotlib is there, before long work whose end would be a picture.

    Raises
    ------
    ConfigError
        If it is not.
    """
    if find_spec("matplotlib") is None:
        raise ConfigError("a picture needs matplotlib: pip install 'heat-neo4j[plot]'")


def _new_axes() -> Axes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 12.5), dpi=160, facecolor="white")
    axes: Axes = figure.add_axes((0.02, 0.117, 0.96, 0.845))
    return axes


def _legend_of(groups: Sequence[str], n_groups: int) -> dict[str, str]:
    """Colour of each of the largest groups; ties by name."""
    counts = sorted(Counter(groups).items(), key=lambda entry: (-entry[1], entry[0]))
    return {
        name: colour for (name, size), colour in zip(counts[:n_groups], _COLOURS, strict=False) if size > 1
    }


def _draw_disk(ax: Axes, rings: Array) -> None:
    """Draw the rim, and circles of the given sizes, numbered: whole hyperbolic distances from the centre."""
    from matplotlib.patches import Circle

    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
    ax.add_patch(Circle((0, 0), 1.0, facecolor=_FACE, edgecolor=_INK, linewidth=1.1, zorder=0))
    ax.apply_aspect()  # now, because labels are measured before anything is drawn
    for ring, size in enumerate(rings.tolist(), start=1):
        ax.add_patch(Circle((0, 0), size, fill=False, edgecolor=_PALE, linewidth=0.6, alpha=0.6, zorder=1))
        box = {"facecolor": _FACE, "edgecolor": "none", "pad": 1.0}
        ax.text(0, -size, f"{ring}", color=_PALE, fontsize=8, ha="center", va="center", zorder=6, bbox=box)


def _draw_edges(ax: Axes, embedding: Array, graph: Graph, colours: Sequence[str]) -> None:
    """Draw relationships, in colour if both ends have the same; the more there are, the paler."""
    from matplotlib.collections import LineCollection

    entries = graph.adjacency.tocoo()
    once = entries.row < entries.col
    source, target = entries.row[once], entries.col[once]
    if not len(source):
        return
    within = np.array([colours[a] == colours[b] != _REST for a, b in zip(source, target, strict=True)])
    curves = geodesics(embedding[source], embedding[target])
    alpha = float(np.clip(6.0 / np.sqrt(len(source)), 0.03, 0.5))
    lines = LineCollection(list(curves[~within]), colors=_REST, linewidths=0.6, alpha=1.2 * alpha, zorder=2)
    ax.add_collection(lines)
    shades = [colours[row] for row in source[within]]
    lines = LineCollection(list(curves[within]), colors=shades, linewidths=0.7, alpha=2.0 * alpha, zorder=2)
    ax.add_collection(lines)


def _draw_nodes(ax: Axes, points: Array, degrees: NDArray[np.int64], colours: Sequence[str]) -> None:
    order = np.argsort(-degrees, kind="stable")  # small nodes on top of large ones
    x, y = points[order].T
    sizes, shades = 8.0 + 13.0 * np.sqrt(degrees[order]), [colours[row] for row in order]
    ax.scatter(x, y, s=sizes, c=shades, alpha=0.92, edgecolors="white", linewidths=0.5, zorder=3)


def _by_importance(degrees: NDArray[np.int64], colours: Sequence[str]) -> NDArray[np.int64]:
    """Return the rows in the order in which they deserve a label: the hub of each colour, then by degree."""
    rows = np.argsort(-degrees, kind="stable")
    hubs = {colours[row]: row for row in reversed(rows) if colours[row] != _REST}
    is_hub = np.array([hubs.get(colours[row]) == row for row in rows], dtype=np.bool_)
    return np.concatenate([rows[is_hub], rows[~is_hub]])


def _draw_labels(
    ax: Axes,
    points: Array,
    names: Sequence[str],
    colours: Sequence[str],
    order: NDArray[np.int64],
    most: int,
    taken: list[Box],
) -> None:
    """Write names beside their nodes, the first of `order` first, each where nothing is written yet."""
    from matplotlib.patheffects import withStroke

    to_data = ax.transData.inverted()
    halo = [withStroke(linewidth=2.4, foreground="white", alpha=0.85)]
    written = 0
    for rank, row in enumerate(order[: 4 * most]):
        if written == most:
            break
        size = 10.5 - 2.5 * rank / (4 * most)
        text = ax.text(
            0, 0, names[row], fontsize=size, color=_dark(colours[row]), va="center", path_effects=halo
        )
        text.set(zorder=5, parse_math=False)
        extent = text.get_window_extent()
        corners = to_data.transform([(extent.x0, extent.y0), (extent.x1, extent.y1)])
        width, height = corners[1] - corners[0]
        place = _free_place(points, points[row], float(width), float(height), taken)
        if place is None:
            text.remove()
            continue
        text.set_position((place[0], 0.5 * (place[1] + place[3])))
        taken.append(place)
        written += 1


def _free_place(points: Array, point: Array, width: float, height: float, taken: Sequence[Box]) -> Box | None:
    """Return (left, low, right, high) of a free box beside `point` that covers fewest nodes, or None."""
    x, y = float(point[0]), float(point[1])
    corners = [
        (x + _SHIFT, y - height / 2), (x - _SHIFT - width, y - height / 2),
        (x - width / 2, y + _SHIFT), (x - width / 2, y - _SHIFT - height),
        (x + 0.7 * _SHIFT, y + 0.6 * _SHIFT), (x - 0.7 * _SHIFT - width, y + 0.6 * _SHIFT),
        (x + 0.7 * _SHIFT, y - 0.6 * _SHIFT - height), (x - 0.7 * _SHIFT - width, y - 0.6 * _SHIFT - height),
    ]  # fmt: skip
    boxes = [(left, low, left + width, low + height) for left, low in corners]
    free = [
        box for box in boxes if max(map(abs, box)) < 1.0 and not any(_overlap(box, other) for other in taken)
    ]
    return min(free, key=lambda box: _covered(points, box), default=None)


def _covered(points: Array, box: Box) -> int:
    x, y = points.T
    return int(np.sum((box[0] < x) & (x < box[2]) & (box[1] < y) & (y < box[3])))


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] + _GAP and b[0] < a[2] + _GAP and a[1] < b[3] + _GAP and b[1] < a[3] + _GAP


def _dark(colour: str) -> tuple[float, float, float] | str:
    """Return a colour of the palette dark enough for text; nodes without a group get ink."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return _INK if colour == _REST else (0.6 * red, 0.6 * green, 0.6 * blue)


def _draw_text(ax: Axes, title: str, caption: str, legend: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    ax.set_title(title, loc="left", fontsize=18, color=_INK, fontweight="bold", pad=8)
    ax.text(0.0, -0.05, caption, transform=ax.transAxes, fontsize=9.5, color=_PALE, va="top", linespacing=1.5)
    if legend:
        style: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 7}
        entries = [*legend.items(), ("others", _REST)]
        handles = [Line2D([], [], color=colour, label="group", **style) for _, colour in entries]
        layout = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.005), "ncols": len(handles)}
        drawn = ax.legend(
            handles=handles, frameon=False, fontsize=9.5, handletextpad=0.0, columnspacing=0.9, **layout
        )
        for text, (name, _) in zip(drawn.get_texts(), entries, strict=True):
            text.set_text(name)  # only now: as a label, a name such as "_ast" would be taken for a hidden one
            text.set_parse_math(False)
