"""Diagrams of curves: the loss of a training, and how well methods tell edges and classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j.plots.style import COLOURS, PALE, add_legend, diagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_alpha", "plot_label_share", "plot_loss", "plot_precision_recall", "plot_roc"]

Curve = tuple[ArrayLike, ArrayLike]

_LINES = ("-", "--", "-.", ":")
_MARKS = "osD^vP"


def plot_loss(
    loss_curve: ArrayLike,
    *,
    n_negatives: int | None = None,
    n_rounds: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loss of a training by rounds (one walk from every node each).

    Parameters
    ----------
    loss_curve : array of float of shape (T,), T at least 1
        Mean loss per pair in nats, such as `HEAT.loss_curve_`.
    n_negatives : int, optional
        Negatives per pair: a line marks the loss at chance, ln(1 + n_negatives).
    n_rounds : int, optional
        Rounds that `loss_curve` is spread over evenly, the first and the last included; T if not given.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If `loss_curve` is empty, not one-dimensional or not finite, or `n_rounds` is below T.
    ConfigError
        If matplotlib is not installed.
    """
    losses = np.asarray(loss_curve, dtype=np.float64)
    if losses.ndim != 1 or not losses.size or not np.isfinite(losses).all():
        raise ValueError(f"loss_curve must hold finite numbers, got shape {losses.shape}")
    last = losses.size if n_rounds is None else n_rounds
    if last < losses.size:
        raise ValueError(f"n_rounds must be at least {losses.size}, the length of loss_curve, got {n_rounds}")
    axes = diagram(ax, 7.2, 4.6, x="round: one walk from every node", y="mean loss per pair (nats)")
    rounds = np.linspace(1, last, losses.size)
    marker = "o" if losses.size <= 40 else ""
    (line,) = axes.plot(rounds, losses, color=COLOURS[0], linewidth=1.8, marker=marker, markersize=4.5)
    entries = {"training": line}
    top = float(losses.max())
    if n_negatives is not None:
        chance = float(np.log1p(n_negatives))
        name = f"chance: ln(1 + {n_negatives}) = {chance:.2f}"
        entries[name] = axes.axhline(chance, color=PALE, linewidth=1.2, linestyle="--")
        top = max(top, chance)
    axes.set_ylim(0.0, 1.06 * top or 1.0)
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]  # of MaxNLocator
    if last == 1:
        axes.set_xlim(0.5, 1.5)
    add_legend(axes, entries)
    return axes


def plot_roc(curves: Mapping[str, Curve], *, ax: Axes | None = None) -> Axes:
    """Draw receiver operating characteristics.

    Parameters
    ----------
    curves : mapping of str to (fpr, tpr)
        For each method, false and true positive rates in [0, 1], arrays of one length. The names are the
        legend, as they are and in this order: a figure may stand in them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If there is no curve, or its arrays disagree or lie outside [0, 1].
    ConfigError
        If matplotlib is not installed.
    """
    axes = _draw_rates(curves, "false positive rate", "true positive rate", "lower right", ax)
    axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.0, linestyle=(0, (4, 4)), zorder=1)
    return axes


def plot_precision_recall(curves: Mapping[str, Curve], *, ax: Axes | None = None) -> Axes:
    """Draw precision by recall.

    Parameters
    ----------
    curves : mapping of str to (recall, precision)
        For each method, as scikit-learn's ``precision_recall_curve`` orders them (recall falling) or the
        other way round; in [0, 1], arrays of one length. The names are the legend, as for `plot_roc`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If there is no curve, or its arrays disagree or lie outside [0, 1].
    ConfigError
        If matplotlib is not installed.
    """
    return _draw_rates(curves, "recall", "precision", "lower left", ax)


def plot_label_share(
    shares: ArrayLike, scores: Mapping[str, Curve], *, metric: str, ax: Axes | None = None
) -> Axes:
    """Draw how well classes are told by the share of nodes whose class is known.

    Parameters
    ----------
    shares : array of float of shape (S,)
        Shares of labelled nodes, in (0, 1].
    scores : mapping of str to (mean, sd)
        For each method, mean and standard deviation over seeds, arrays of shape (S,).
    metric : str
        What is drawn, such as ``"F1 macro"``: the name of the axis.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If there is nothing to draw, or lengths disagree.
    ConfigError
        If matplotlib is not installed.
    """
    axes = _draw_scores(shares, scores, "share of nodes with a known class", metric, ax)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
    return axes


def plot_alpha(alphas: ArrayLike, scores: Mapping[str, Curve], *, ax: Axes | None = None) -> Axes:
    """Draw AUROC by alpha, the share of steps that follow attributes.

    Parameters
    ----------
    alphas : array of float of shape (A,)
        In [0, 1].
    scores : mapping of str to (mean, sd)
        For each task or graph, mean and standard deviation of AUROC over seeds, arrays of shape (A,).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Raises
    ------
    ValueError
        If there is nothing to draw, or lengths disagree.
    ConfigError
        If matplotlib is not installed.
    """
    return _draw_scores(alphas, scores, "alpha: share of steps that follow attributes", "AUROC", ax)


def _draw_rates(curves: Mapping[str, Curve], x: str, y: str, legend: str, ax: Axes | None) -> Axes:
    if not curves:
        raise ValueError("curves must hold at least one")
    for name, curve in curves.items():
        for values in map(np.asarray, curve):
            if values.shape != np.shape(curve[0]) or values.ndim != 1 or not values.size:
                raise ValueError(f"curve {name!r} must be two arrays of one length")
            if not ((values >= 0.0) & (values <= 1.0)).all():
                raise ValueError(f"curve {name!r} leaves [0, 1]")
    axes = diagram(ax, 6.4, 6.0, x=x, y=y)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    entries = {}
    for (name, (xs, ys)), style in zip(curves.items(), _styles(), strict=False):
        (entries[name],) = axes.plot(xs, ys, **style)
    add_legend(axes, entries, loc=legend)
    return axes


def _draw_scores(positions: ArrayLike, scores: Mapping[str, Curve], x: str, y: str, ax: Axes | None) -> Axes:
    """Draw means with bars of one standard deviation each way."""
    xs = np.asarray(positions, dtype=np.float64)
    if not scores or xs.ndim != 1 or not xs.size:
        raise ValueError("there must be at least one place and one score to draw")
    for name, pair in scores.items():
        if any(np.shape(values) != xs.shape for values in pair):
            raise ValueError(f"scores of {name!r} must be mean and sd of shape {xs.shape}")
    axes = diagram(ax, 7.2, 4.8, x=x, y=y)
    entries: dict[str, Any] = {}
    for (name, (mean, sd)), style, marker in zip(scores.items(), _styles(), cycle(_MARKS), strict=False):
        bars: dict[str, Any] = {"marker": marker, "markersize": 5, "capsize": 2.5, "elinewidth": 1.0}
        entries[name] = axes.errorbar(xs, mean, yerr=sd, **bars, **style)
    axes.set_xticks(_readable(xs))
    axes.xaxis.set_major_formatter(lambda position, _: f"{position:.4g}")
    add_legend(axes, entries)
    return axes


def _readable(positions: NDArray[np.float64]) -> list[float]:
    """Return the positions far enough from the one before to have their number written."""
    shown: list[float] = []
    for position in np.unique(positions).tolist():
        if not shown or position - shown[-1] >= 0.045 * np.ptp(positions):
            shown.append(position)
    return shown


def _styles() -> Iterator[dict[str, Any]]:
    """Yield how lines are drawn: the first boldest, and dashed where colours repeat."""
    width, zorder = 2.2, 4
    for dashes in cycle(_LINES):
        for colour in COLOURS:
            yield {"color": colour, "linestyle": dashes, "linewidth": width, "zorder": zorder}
            width, zorder = 1.4, 3
