"""What all pictures share: colours, fonts, axes of a new figure, legends, and saving to a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heat_neo4j._utils.display import printable
from heat_neo4j._utils.output_file import write_output
from heat_neo4j.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    "#3567b0", "#e0802c", "#3a9a58", "#c9403f", "#7c5fb0",
    "#1f9fb5", "#cf6fae", "#8a6a4a", "#9aa02c", "#d9a520",
)  # fmt: skip
"""Of groups and curves, the first for the first."""

REST = "#a9afba"
"""Of what belongs to no group."""

INK = "#23272f"
PALE = "#8d94a0"
FACE = "#fbfaf7"

FORMATS = (".png", ".svg", ".pdf")  # endings that `save_picture` takes
_DOTS_PER_INCH = 160
_LETTER = 9.5
_LETTERS_PER_INCH = 12.0
_HANDLE = 6  # letters that a legend's sign takes, and the space after its text


def check_installed() -> None:
    """Raise a `ConfigError` if matplotlib is missing, before long work that would end in a picture."""
    if find_spec("matplotlib") is None:
        raise ConfigError("a picture needs matplotlib: pip install 'heat-neo4j[plot]'")


def new_axes(
    width: float,
    height: float,
    *,
    dots_per_inch: int = _DOTS_PER_INCH,
    rectangle: tuple[float, float, float, float] | None = None,
) -> Axes:
    """Return the axes of a new figure, whose size is in inches.

    The rectangle is left, bottom, width and height of the axes as shares of the figure; without one they take
    what labels leave room for.
    """
    figure = _new_figure(width, height, dots_per_inch, fitted=rectangle is None)
    axes: Axes = figure.add_subplot() if rectangle is None else figure.add_axes(rectangle)
    return axes


def new_panels(count: int, width: float, height: float) -> list[Axes]:
    """Return the axes of that many panels in one new figure, arranged in a square.

    Each panel has the size in inches.
    """
    columns = math.isqrt(count - 1) + 1
    rows = -(-count // columns)
    figure = _new_figure(columns * width, rows * height)
    return [figure.add_subplot(rows, columns, place + 1) for place in range(count)]


def _new_figure(
    width: float, height: float, dots_per_inch: int = _DOTS_PER_INCH, *, fitted: bool = True
) -> Figure:
    """Return a figure; a fitted one leaves room for the labels of its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dots_per_inch, facecolor="white")
    if fitted:
        figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)  # inches
    return figure


def diagram(ax: Axes | None, width: float, height: float, *, x: str, y: str) -> Axes:
    """Return `ax`, or new axes if it is None, with titles, background and grid."""
    check_installed()
    axes = new_axes(width, height) if ax is None else ax
    axes.set_facecolor(FACE)
    axes.set_axisbelow(True)
    axes.grid(color=PALE, linewidth=0.6, alpha=0.3)
    axes.set_xlabel(x, color=INK, fontsize=10.5)
    axes.set_ylabel(y, color=INK, fontsize=10.5)
    axes.tick_params(colors=INK, labelsize=_LETTER, color=PALE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    return axes


def add_legend(ax: Axes, entries: Mapping[str, Artist], **layout: Any) -> None:
    """Draw a legend: in rows above the axes, or where `layout` says."""
    if layout:
        chosen = {"frameon": True, "framealpha": 0.85, "edgecolor": "none", "facecolor": FACE, **layout}
    else:
        columns = _columns([len(name) for name in entries], ax.get_window_extent().width / ax.figure.dpi)
        chosen = {"frameon": False, "loc": "lower left", "bbox_to_anchor": (-0.01, 1.0), "ncols": columns}
    handles, labels = list(entries.values()), ["entry"] * len(entries)  # the names themselves only below
    name_legend(ax.legend(handles=handles, labels=labels, fontsize=_LETTER, **chosen), list(entries))


def name_legend(legend: Any, names: Sequence[str]) -> None:
    """Write names unchanged: matplotlib hides labels such as ``_ast`` and reads ``$`` as a formula."""
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(printable(name))
        text.set_parse_math(False)
        text.set_color(INK)


def _columns(lengths: Sequence[int], inches: float) -> int:
    """Return how many columns of a legend fit side by side, for names of so many characters."""
    for columns in range(len(lengths), 1, -1):
        widths = [int(part.max()) + _HANDLE for part in np.array_split(np.array(lengths), columns)]
        if sum(widths) <= inches * _LETTERS_PER_INCH:
            return columns
    return 1


def add_title(ax: Axes, title: str) -> None:
    """Write a title over a diagram that has a figure of its own."""
    if title:
        text = ax.figure.suptitle(
            printable(title), x=0.015, ha="left", fontsize=14, color=INK, fontweight="bold"
        )
        text.set_parse_math(False)


def add_heading(ax: Axes, text: str) -> None:
    """Write a heading above one of several panels."""
    ax.set_title(printable(text), loc="left", fontsize=11, color=INK).set_parse_math(False)


def save_picture(ax: Axes, path: str | Path) -> None:
    """Save the figure of `ax` in the format of the ending (`FORMATS`); the same figure gives the same bytes.

    An existing regular file is replaced atomically. A `ConfigError` is raised for an unknown ending, or if
    the file cannot be written.
    """
    from matplotlib import rc_context

    target = Path(path)
    kind = target.suffix.lower()
    if kind not in FORMATS:
        raise ConfigError(f"a picture's name must end in {', '.join(FORMATS)}, got {target.name!r}")
    undated: dict[str, Any] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "heat"}):  # no random names
        ax.figure.savefig(buffer, format=kind[1:], metadata=undated)  # type: ignore[union-attr]
    write_output(target, buffer.getvalue(), "picture")
