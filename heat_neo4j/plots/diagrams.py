"""Diagrams: losses, rates and scores of methods; distances, probabilities and radii of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.geometry.hyperboloid import check_points, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.calibration import Reliability
from heat_neo4j.plots.style import (
    COLOURS,
    PALE,
    add_heading,
    add_legend,
    check_installed,
    diagram,
    new_panels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Curve = tuple[ArrayLike, ArrayLike]

_LINES = ("-", "--", "-.", ":")
_MOST_VECTORS = 3000  # more points are stored as pixels in .svg and .pdf
_LEAST_SHARE = 1e-6
_FEWEST = 5  # nodes that a median is drawn from


def plot_roc(curves: Mapping[str, Curve], *, ax: Axes | None = None) -> Axes:
    """Draw receiver operating characteristics: for each method, false and true positive rates in [0, 1].

    The legend shows the names unchanged and in this order; they may contain figures.
    """
    if not curves:
        raise ValueError("curves must not be empty")
    axes = diagram(ax, 6.4, 6.0, x="false positive rate", y="true positive rate")
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    entries = {}
    for (name, (xs, ys)), style in zip(curves.items(), _styles(), strict=False):
        (entries[name],) = axes.plot(xs, ys, **style)
    add_legend(axes, entries, loc="lower right")
    axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.0, linestyle=(0, (4, 4)), zorder=1)
    return axes


def plot_roc_panels(curves: Mapping[str, Mapping[str, Curve]]) -> Axes:
    """Draw receiver operating characteristics in a panel for each name; return the axes of the first."""
    check_installed()
    panels = new_panels(len(curves), 5.6, 5.4)
    for axes, (name, of_methods) in zip(panels, curves.items(), strict=True):
        plot_roc(of_methods, ax=axes)
        add_heading(axes, name)
    return panels[0]


def _styles() -> Iterator[dict[str, Any]]:
    """Yield the style of each line: the first is boldest; dashes mark repeated colours."""
    width, zorder = 2.2, 4
    for dashes in cycle(_LINES):
        for colour in COLOURS:
            yield {"color": colour, "linestyle": dashes, "linewidth": width, "zorder": zorder}
            width, zorder = 1.4, 3


def plot_reliability(curves: Mapping[str, Reliability], *, ax: Axes | None = None) -> Axes:
    """Draw a reliability diagram: the share of pairs with some probability that were links.

    One line for each pattern with its bins as points. The probabilities of a source come from the links
    of other sources; whiskers are the 95 % interval of the share. Both axes are logarithmic, as most
    probabilities are small.

    Parameters
    ----------
    curves : mapping of str to Reliability
        `LinkScore.reliability`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, "Predicting Good Probabilities with Supervised Learning", ICML 2005.
    """
    if not curves:
        raise ValueError("there is no reliability to draw: the score was fitted to too few held-out links")
    axes = diagram(ax, 6.8, 6.4, x="predicted probability of a link", y="share of links")
    least = min(min(curve.expected) for curve in curves.values())
    lowest = max(least / 3.0, _LEAST_SHARE)
    axes.set(xscale="log", yscale="log", xlim=(lowest, 1.0), ylim=(lowest, 1.0), aspect="equal")
    entries: dict[str, Any] = {}
    (entries["calibrated"],) = axes.plot(
        [lowest, 1], [lowest, 1], color=PALE, linewidth=1.0, linestyle=(0, (4, 4))
    )
    shown = sorted(curves.items(), key=lambda each: -sum(each[1].n_links))[: len(COLOURS)]
    for (name, curve), colour in zip(shown, COLOURS, strict=False):
        mean, low, high = (np.array(each) for each in (curve.expected, curve.low, curve.high))
        share = np.array(curve.n_links) / np.array(curve.n_pairs)
        spread = np.maximum(np.stack((share - low, high - share)), 0.0)
        entries[display_text(name, 60) or "all pairs"] = axes.errorbar(
            mean, share, yerr=spread, color=colour, marker="o", markersize=5, linewidth=1.6, capsize=2.5,
            elinewidth=1.0, zorder=3,
        )  # fmt: skip
    add_legend(axes, entries)
    return axes


def plot_radius_by_degree(embedding: Array, graph: Graph, *, ax: Axes | None = None) -> Axes:
    """Draw the distance of nodes from the centre by their degree.

    In a hierarchy, nodes with many neighbours lie near the centre. Points are spread a
    little along the logarithmic degree axis, so that nodes of equal degree can be distinguished; the line is
    the median over degrees within a factor of about 1.5. Nodes without a neighbour are left out and counted.
    """
    check_installed()
    from matplotlib.lines import Line2D

    check_points(embedding)
    if embedding.shape[0] != graph.n_nodes:
        raise ValueError(f"embedding must have one row per node: {embedding.shape[0]} for {graph.n_nodes}")
    alone = int((graph.degrees == 0).sum())
    left_out = f" ({alone:,} without any left out)" if alone else ""
    x, y = f"number of neighbours{left_out}", "hyperbolic distance from the centre"
    axes = diagram(ax, 7.2, 4.8, x=x, y=y)
    linked = graph.degrees > 0
    degrees, radii = graph.degrees[linked].astype(np.float64), radius(embedding)[linked]
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda degree, _: f"{degree:,.0f}")
    alpha = float(np.clip(12.0 / np.sqrt(max(degrees.size, 1)), 0.08, 0.6))
    spread = np.exp(0.12 * (np.random.default_rng(0).random(degrees.size) - 0.5))
    dots = axes.scatter(degrees * spread, radii, s=9, color=COLOURS[0], alpha=alpha, linewidths=0)
    dots.set_rasterized(degrees.size > _MOST_VECTORS)
    distinct, medians = _running_median(degrees, radii)
    (line,) = axes.plot(distinct, medians, color=COLOURS[1], linewidth=2.2)
    axes.set_xlim(0.85, 1.25 * float(degrees.max(initial=1.0)))
    axes.set_ylim(0.0, 1.05 * float(radii.max(initial=0.0)) or 1.0)
    opaque_dot = Line2D([], [], color=COLOURS[0], marker="o", linestyle="", markersize=4)
    add_legend(axes, {plural(degrees.size, "node"): opaque_dot, "median": line})
    return axes


def _running_median(degrees: Array, radii: Array) -> tuple[Array, Array]:
    """Return degrees that occur, and the median radius of the nodes whose degree is within a factor."""
    order = np.argsort(degrees, kind="stable")
    ordered, values = degrees[order], radii[order]
    distinct = np.unique(ordered)
    begins = np.searchsorted(ordered, distinct / 1.25, side="left")
    ends = np.searchsorted(ordered, distinct * 1.25, side="right")
    enough = ends - begins >= min(_FEWEST, degrees.size)
    bounds = zip(begins[enough].tolist(), ends[enough].tolist(), strict=True)
    return distinct[enough], np.array([np.median(values[begin:end]) for begin, end in bounds])
