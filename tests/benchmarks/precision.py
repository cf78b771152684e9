"""What coordinates of single precision would cost: distances and AUROC after points were rounded to float32.

::

    python -m tests.benchmarks.precision [--datasets cora_ml citeseer ppi] [--dim 10]

First pairs at a given distance, far out from the origin: the largest error of the distance. Then embeddings
of the datasets, rounded once after training; during training the smallest steps would be lost too. Both are
measured, points of the hyperboloid (the time is found again from the others) and those of the Poincare ball.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from heat_neo4j import HEAT
from heat_neo4j.geometry.hyperboloid import distance, from_poincare, lift, radius, to_poincare
from heat_neo4j.linkpred.splits import split_edges
from tests.support import datasets
from tests.support.link_auroc import link_auroc

__all__ = ["main", "rounded", "rounded_ball"]

PAIRS = 20_000
HELD_OUT = 0.15

Points = NDArray[np.float64]


def rounded(points: Points) -> Points:
    """Return points whose spatial coordinates went through float32."""
    return lift(points[:, :-1].astype(np.float32).astype(np.float64))


def rounded_ball(points: Points) -> Points:
    """Return points whose Poincare coordinates went through float32; those on the rim stay just inside."""
    ball = to_poincare(points).astype(np.float32).astype(np.float64)
    length = np.linalg.norm(ball, axis=1, keepdims=True)
    return from_poincare(ball / np.maximum(length / (1.0 - 1e-12), 1.0))


def pairs_at(far: float, apart: float, dim: int) -> tuple[Points, Points]:
    """Return pairs at radius `far`, about `apart` from each other across the radius."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=(PAIRS, dim))
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    turn = rng.normal(size=(PAIRS, dim))
    turn -= (turn * one).sum(axis=1, keepdims=True) * one
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    angle = 2.0 * np.arcsin(np.sinh(apart / 2.0) / np.sinh(far))
    other = np.cos(angle) * one + np.sin(angle) * turn
    return lift(np.sinh(far) * one), lift(np.sinh(far) * other)


def main() -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=datasets.DATASETS, default=datasets.DATASETS)
    parser.add_argument("--dim", type=int, default=10)
    options = parser.parse_args()
    print(
        f"largest error of a distance of 0.5, dim {options.dim}\n{'radius':>8}{'hyperboloid':>14}{'ball':>14}"
    )
    for far in (1.0, 2.0, 4.0, 6.0, 8.0, 10.0):
        one, other = pairs_at(far, 0.5, options.dim)
        errors = [
            np.abs(distance(of(one), of(other)) - distance(one, other)).max()
            for of in (rounded, rounded_ball)
        ]
        print(f"{far:8.0f}{errors[0]:14.2e}{errors[1]:14.2e}")
    print(f"\n{'':10}{'largest radius':>16}{'AUROC':>10}{'hyperboloid':>14}{'ball':>10}")
    for name in options.datasets:
        split = split_edges(datasets.load_graph(name), HELD_OUT, random_state=0)
        points = HEAT(options.dim, random_state=0).fit(split.train).embedding_
        scores = [link_auroc(of, split) for of in (points, rounded(points), rounded_ball(points))]
        print(
            f"{name:10}{radius(points).max():16.2f}{scores[0]:10.6f}{scores[1]:14.6f}{scores[2]:10.6f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
