"""What is trained, how far training has come, and what it leaves."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.geometry.hyperboloid import add_to_centroid

_AVERAGED = 0.5  # last share of the training whose points are averaged
_SNAPSHOTS = 32  # taken of it, at most
_FEWEST_ROUNDS = 6  # of buckets: in each of them two parts meet once
_ROWS = 1 << 12  # averaged at a time: they fit a cache


@dataclass(frozen=True)
class Schedule:
    """What is trained, in which portions: HEAT's s, c and m, and sigma, the width of the Gaussian."""

    walks_per_node: int
    window_size: int
    n_negatives: int
    sigma: float
    learning_rate: float  # step per pair at the start, falling linearly to 0; see `BUCKET_RATE`
    batch_size: int | None  # source positions trained with the coordinates frozen; None for a usual number
    n_epochs: int  # passes over all walks
    n_parts: int | None = None  # of the nodes, in training by buckets; None for a usual number
    fewest_rounds: int = _FEWEST_ROUNDS

    @property
    def n_walks(self) -> int:
        """Walks from each node, in all epochs."""
        return self.n_epochs * self.walks_per_node


@dataclass(frozen=True)
class Trained:
    """What training leaves."""

    # (N, d + 1): centroids of where each node was over the last half of training (Polyak-Ruppert averaging).
    points: NDArray[np.float64]
    losses: NDArray[np.float64]  # mean per pair, of each round of walks
    n_pairs: int
    n_skipped: int
    n_damped: int
    share: float  # of the training that the time limit allowed
    n_parts: int = 1  # in which the nodes were trained
    n_halved: int = 0  # how often training began anew with half the learning rate


class Pace:
    """How far training has come, in batches, or in time where they would take longer than they may.

    The learning rate falls to 0 either way. Until it is plain that the time will not do, which is asked from
    a tenth of it on, only batches count, so that a limit that is kept changes no bit of the result.
    """

    def __init__(self, total: int, time_limit: float | None) -> None:
        self.total = total
        self.done = 0
        self.share = 0.0
        self._limit = np.inf if time_limit is None else time_limit
        self._began = perf_counter()
        self._hurried: tuple[float, float] | None = None  # since which share, and which moment

    @property
    def hurried(self) -> bool:
        """Whether the learning rate falls with the time."""
        return self._hurried is not None

    @property
    def over(self) -> bool:
        """Whether nothing more is to be trained."""
        return self.share >= 1.0

    def progress(self, count: int) -> NDArray[np.float64]:
        """Return the share of the training that lies before each of the next `count` batches."""
        if self._hurried is None:
            return np.arange(self.done, self.done + count) / self.total
        return np.full(count, self.share)

    def advance(self, count: int) -> None:
        """Take note that `count` batches more are trained."""
        self.done += count
        spent = perf_counter() - self._began
        if self._hurried is None:
            self.share = self.done / self.total
            if self._limit / 10 < spent and spent > self._limit * self.share:
                self._hurried = self.share, spent
        if self._hurried is not None:
            share, since = self._hurried
            left = self._limit - since
            by_time = share + (1.0 - share) * (spent - since) / left if spent < self._limit else 1.0
            self.share = max(self.done / self.total, by_time)


def portions_of(n_walks: int, fewest_rounds: int = _FEWEST_ROUNDS) -> int:
    """Return among how many rounds of buckets a walk from each node is shared out, if it has so many."""
    return -(-fewest_rounds // n_walks)


def late_moments() -> list[float]:
    """Return the shares of the training after which points are averaged; the last is 1."""
    late = 1.0 - _AVERAGED
    return [late + (1.0 - late) * i / _SNAPSHOTS for i in range(1, _SNAPSHOTS + 1)]


class LateMean:
    """Centroid of each node's points at some moments of the last part of the training, its end among them."""

    def __init__(self) -> None:
        self._moments = late_moments()
        self._points: NDArray[np.float64] | None = None
        self._weight = np.empty(0)

    def look(self, points: NDArray[np.float64], share: float) -> None:
        """Take in the points after a share of the training, if one of the moments has come."""
        due = len(self._moments)
        self._moments = [moment for moment in self._moments if moment > share]
        if len(self._moments) == due:
            return
        if self._points is None:
            self._points, self._weight = points.copy(), np.ones(len(points))
            return
        for first in range(0, len(points), _ROWS):
            rows = slice(first, first + _ROWS)
            self._points[rows], self._weight[rows] = add_to_centroid(
                self._points[rows], self._weight[rows], points[rows]
            )

    @property
    def points(self) -> NDArray[np.float64]:
        """The centroids."""
        assert self._points is not None  # the last moment is the end
        return self._points
