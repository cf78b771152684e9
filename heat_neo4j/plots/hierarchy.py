"""Diagrams of the hierarchy in an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.geometry.hyperboloid import check_points, radius
from heat_neo4j.graph import Graph
from heat_neo4j.plots.style import COLOURS, add_legend, check_installed, diagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_radius_by_degree"]

Array = NDArray[np.float64]

_MOST_VECTORS = 3000  # more points are stored as pixels in .svg and .pdf
_FEWEST = 5  # nodes that a median is drawn from


def plot_radius_by_degree(embedding: Array, graph: Graph, *, ax: Axes | None = None) -> Axes:
    """Draw the distance of nodes from the centre by their degree.

    In a hierarchy, nodes with many neighbours lie near the centre. Points are spread a
    little along the logarithmic degree axis, so that nodes of equal degree can be told apart; the line is the
    median over degrees within a factor of about 1.5. Nodes without a neighbour are left out and counted.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points of the hyperboloid, time last.
    graph : Graph
        The graph of the same N nodes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If the lengths disagree, or the embedding is not on the hyperboloid.
    ConfigError
        If matplotlib is not installed.
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
    add_legend(axes, {f"{degrees.size:,} nodes": opaque_dot, "median": line})
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
