"""Diagrams of pairs of nodes: their distances, and whether a probability is what comes true."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j.linkpred.metrics import expected_calibration_error
from heat_neo4j.plots.style import COLOURS, FACE, INK, PALE, REST, add_legend, diagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_distances", "plot_reliability"]

Array = NDArray[np.float64]

_MOST_BINS = 60
_FEWEST_BINS = 10


def plot_distances(
    edges: ArrayLike,
    non_edges: ArrayLike,
    *,
    probability: Callable[[Array], Array] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how distances of edges and of non-edges are distributed.

    Two histograms over the same bins, each of area 1.

    Parameters
    ----------
    edges, non_edges : arrays of float
        Hyperbolic distances of pairs, finite and at least 0; neither may be empty.
    probability : callable, optional
        Probability of a link by distance, such as a `LinkProbability`: drawn on a second axis from 0 to 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Those of the histograms.

    Raises
    ------
    ValueError
        If an array is empty or holds what is no distance.
    ConfigError
        If matplotlib is not installed.
    """
    groups = {"edges": _distances("edges", edges), "non-edges": _distances("non_edges", non_edges)}
    axes = diagram(ax, 7.6, 4.8, x="hyperbolic distance", y="density of pairs")
    bins = _shared_bins(np.concatenate(list(groups.values())))
    entries: dict[str, Any] = {}
    for (name, values), colour in zip(groups.items(), (COLOURS[0], COLOURS[1]), strict=True):
        density, _ = np.histogram(values, bins, density=True)
        style: dict[str, Any] = {"facecolor": (colour, 0.45), "edgecolor": colour, "linewidth": 1.2}
        entries[f"{values.size:,} {name}"] = axes.stairs(density, bins, fill=True, **style)
    axes.set_xlim(0.0, float(bins[-1]))
    if probability is not None:
        second = axes.twinx()
        distances = np.linspace(0.0, float(bins[-1]), 400)
        (entries["link probability"],) = second.plot(
            distances, probability(distances), color=INK, linewidth=1.8
        )
        second.set_ylim(0.0, 1.05)
        second.set_ylabel("link probability at even odds", color=INK, fontsize=10.5)
        second.tick_params(colors=INK, labelsize=9.5, color=PALE)
        second.spines[["top", "left", "bottom"]].set_visible(False)
        second.spines["right"].set_color(PALE)
    add_legend(axes, entries)
    return axes


def plot_reliability(
    probabilities: ArrayLike, is_edge: ArrayLike, *, n_bins: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw a reliability diagram: of the pairs given some probability, the share that are edges.

    A calibrated probability lies on the diagonal. Bars mark the share of all pairs in each bin; the whiskers
    are one standard error of the share of edges in it. The expected calibration error is written in.

    Parameters
    ----------
    probabilities : array of float of shape (m,), m at least 1
        In [0, 1].
    is_edge : array of bool of shape (m,)
        Whether each pair is an edge.
    n_bins : int
        Bins of equal width.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If lengths disagree, there is no pair, or a probability lies outside [0, 1].
    ConfigError
        If matplotlib is not installed.

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, "Predicting Good Probabilities with Supervised Learning", ICML 2005.
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    outcomes = np.asarray(is_edge, dtype=np.bool_)
    if chances.ndim != 1 or chances.shape != outcomes.shape or not chances.size:
        raise ValueError(f"there must be one is_edge per probability: {outcomes.shape} for {chances.shape}")
    if not ((chances >= 0.0) & (chances <= 1.0)).all():
        raise ValueError("probabilities must lie in [0, 1]")
    error = expected_calibration_error(chances, outcomes, n_bins)
    axes = diagram(ax, 6.8, 6.4, x="predicted probability of a link", y="share")
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02), aspect="equal")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    bin_of = np.minimum((chances * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(bin_of, minlength=n_bins)
    some = counts > 0
    mean = np.bincount(bin_of, chances, n_bins)[some] / counts[some]
    share = np.bincount(bin_of, outcomes, n_bins)[some] / counts[some]
    entries: dict[str, Any] = {}
    (entries["calibrated"],) = axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.0, linestyle=(0, (4, 4)))
    spread = np.sqrt(share * (1.0 - share) / counts[some])
    entries["edges, of the bin"] = axes.errorbar(
        mean, share, yerr=spread, color=COLOURS[0], marker="o", markersize=5, linewidth=1.6, capsize=2.5,
        elinewidth=1.0, zorder=3,
    )  # fmt: skip
    entries["bin, of all pairs"] = axes.bar(
        edges[:-1], counts / chances.size, width=1.0 / n_bins, align="edge", color=REST, alpha=0.55,
        edgecolor=FACE, zorder=2,
    )  # fmt: skip
    note = (
        f"expected calibration error {error:.3f}\n{chances.size:,} pairs, {outcomes.mean():.0%} of them edges"
    )
    box = {"facecolor": FACE, "edgecolor": "none", "alpha": 0.85, "pad": 2.0}
    axes.text(
        0.03, 0.97, note, transform=axes.transAxes, fontsize=9.5, color=INK, va="top", bbox=box, zorder=5
    )
    add_legend(axes, entries)
    return axes


def _distances(argument: str, values: ArrayLike) -> Array:
    distances = np.asarray(values, dtype=np.float64).ravel()
    if not distances.size or not np.isfinite(distances).all() or (distances < 0.0).any():
        raise ValueError(f"{argument} must hold distances: finite, at least 0, and at least one")
    return distances


def _shared_bins(distances: Array) -> Array:
    """Return bins of equal width over all distances; numpy's rule says how many, within reason."""
    top = float(distances.max()) or 1.0
    count = len(np.histogram_bin_edges(distances, "auto", (0.0, top))) - 1
    return np.linspace(0.0, top, min(max(count, _FEWEST_BINS), _MOST_BINS) + 1)
