"""Draw docs/neighbours.png: why a vector index is asked around another point than the node.

::

    python -m tests.benchmarks.neighbours_picture [--dataset cora_ml] [--k 60] [FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

from heat_neo4j import HEAT
from heat_neo4j.geometry.hyperboloid import radius, to_poincare
from tests.support.datasets import load_graph

FILE = Path(__file__).parents[2] / "docs" / "neighbours.png"
GREY, NODE, FOUND, MISSED, WRONG = "#c8ccd2", "#111111", "#1f77b4", "#d62728", "#e8a33d"


def distances(points: NDArray[np.float64], row: int) -> NDArray[np.float64]:
    """Return the hyperbolic distances of all points to one, infinite to itself, shape (N,)."""
    apart = points - points[row]
    chord = np.sum(apart[:, :-1] ** 2, axis=1) - apart[:, -1] ** 2
    found = 2.0 * np.arcsinh(np.sqrt(np.maximum(chord, 0.0)) / 2.0)
    found[row] = np.inf
    return np.asarray(found)


def draw(points: NDArray[np.float64], row: int, k: int, file: Path) -> None:
    """Draw the disk, and a part of it larger: the ball of the k nearest, and the k nearest in the plane."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ball = to_poincare(points)
    u = ball[row]
    apart = distances(points, row)
    nearest = np.argsort(apart)[:k]
    in_plane = np.argsort(np.where(np.isinf(apart), np.inf, np.linalg.norm(ball - u, axis=1)))[:k]
    z = np.cosh(apart[nearest[-1]]) - 1.0
    c = 4.0 / (1.0 - u @ u)
    centre, size = u * c / (c + 2 * z), 2.0 * np.sqrt(z * (z + 2.0)) / (c + 2 * z)
    circle_in_plane = float(np.linalg.norm(ball[in_plane[-1]] - u))
    figure, axes = plt.subplots(1, 2, figsize=(11.4, 5.6), dpi=110)
    for axis, large in zip(axes, (False, True), strict=True):
        axis.set_aspect("equal")
        axis.axis("off")
        axis.add_patch(plt.Circle((0, 0), 1, fill=False, color="#999999", lw=1))
        axis.scatter(*ball.T, s=14 if large else 4, color=GREY, lw=0, zorder=1)
        only_plane = np.setdiff1d(in_plane, nearest)
        missed = np.setdiff1d(nearest, in_plane)
        both = np.intersect1d(nearest, in_plane)
        dots = 42 if large else 12
        axis.scatter(*ball[both].T, s=dots, color=FOUND, zorder=3, label="near in both ways")
        axis.scatter(
            *ball[missed].T, s=dots, color=MISSED, zorder=3, label=f"of the {k} nearest, missed by the index"
        )
        axis.scatter(*ball[only_plane].T, s=dots, color=WRONG, zorder=2, label="given by the index instead")
        axis.add_patch(plt.Circle(u, circle_in_plane, fill=False, color=WRONG, lw=1.6, ls="--", zorder=2))
        axis.add_patch(plt.Circle(centre, size, fill=False, color=FOUND, lw=1.8, zorder=2))
        axis.scatter(*u, s=dots * 2, color=NODE, marker="*", zorder=4, label="the node")
        axis.scatter(
            *centre,
            s=dots * 1.6,
            color=FOUND,
            marker="+",
            lw=2,
            zorder=4,
            label="where the index is asked again",
        )
        axis.plot([0, u[0]], [0, u[1]], color="#999999", lw=0.8, zorder=0)
        if large:
            reach = 1.35 * max(size, circle_in_plane)
            middle = (u + centre) / 2
            axis.set_xlim(middle[0] - reach, middle[0] + reach)
            axis.set_ylim(middle[1] - reach, middle[1] + reach)
        else:
            axis.set_xlim(-1.03, 1.03)
            axis.set_ylim(-1.03, 1.03)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=10)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.13, wspace=0.03)
    figure.savefig(file)
    common = len(np.intersect1d(nearest, in_plane))
    print(f"{file}: node {row} of radius {radius(points)[row]:.2f}, {common} of {k} in common")


def main() -> None:
    """Read the command line, embed in the plane, draw the node for which it matters most."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=FILE)
    parser.add_argument("--dataset", default="cora_ml")
    parser.add_argument("--k", type=int, default=60)
    options = parser.parse_args()
    points = HEAT(n_components=2, random_state=0).fit(load_graph(options.dataset)).embedding_
    ball = to_poincare(points)
    plain = np.sum(ball**2, axis=1)
    rows = np.flatnonzero((radius(points) > 2.0) & (plain < 0.94))

    def common(row: int) -> int:
        apart = distances(points, row)
        flat = np.where(np.isinf(apart), np.inf, np.linalg.norm(ball - ball[row], axis=1))
        return len(np.intersect1d(np.argsort(apart)[: options.k], np.argsort(flat)[: options.k]))

    row = min(
        rows[:: max(1, len(rows) // 300)].tolist(), key=lambda candidate: (common(candidate), candidate)
    )
    draw(points, row, options.k, options.file)


if __name__ == "__main__":
    main()
