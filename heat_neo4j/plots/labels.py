"""Names beside the nodes of a disk, placed so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._display import printable
from heat_neo4j.plots.style import INK, REST

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Box", "by_importance", "draw_labels"]

Array = NDArray[np.float64]
Box = tuple[float, float, float, float]
"""Left, low, right, high."""

_SHIFT = 0.013  # from a node to its label, in units of the disk's radius
_GAP = 0.005  # between labels


def by_importance(degrees: NDArray[np.int64], colours: Sequence[str]) -> NDArray[np.int64]:
    """Return the rows in the order in which they deserve a label: the hub of each colour, then by degree."""
    rows = np.argsort(-degrees, kind="stable")
    hubs = {colours[row]: row for row in reversed(rows) if colours[row] != REST}
    is_hub = np.array([hubs.get(colours[row]) == row for row in rows], dtype=np.bool_)
    return np.concatenate([rows[is_hub], rows[~is_hub]])


def draw_labels(
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
    named = [row for row in order.tolist() if names[row]]
    for rank, row in enumerate(named[: 4 * most]):
        if written == most:
            break
        size = 10.5 - 2.5 * rank / (4 * most)
        text = ax.text(
            0,
            0,
            printable(names[row]),
            fontsize=size,
            color=_dark(colours[row]),
            va="center",
            path_effects=halo,
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
    return INK if colour == REST else (0.6 * red, 0.6 * green, 0.6 * blue)
