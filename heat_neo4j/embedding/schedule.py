"""Training schedule, progress, and result."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.geometry.hyperboloid import add_to_centroid

_AVERAGED = 0.5  # points are averaged over this last share of the training
_SNAPSHOTS = 32  # maximum number of snapshots averaged
_FEWEST_ROUNDS = 6  # minimum rounds of buckets; each pair of parts is trained once per round
_ROWS = 1 << 12  # rows averaged at a time; they fit the cache


@dataclass(frozen=True)
class Schedule:
    """Training parameters: HEAT's s, c and m, and sigma, the width of the Gaussian."""

    walks_per_node: int
    window_size: int
    n_negatives: int
    sigma: float
    learning_rate: float  # initial step per pair, decaying linearly to 0; see `BUCKET_RATE`
    batch_size: int | None  # source positions per batch of frozen coordinates; None for the default
    n_epochs: int  # passes over all walks
    n_parts: int | None = None  # parts of the nodes in training by buckets; None for the default
    fewest_rounds: int = _FEWEST_ROUNDS

    @property
    def n_walks(self) -> int:
        """Walks from each node, in all epochs."""
        return self.n_epochs * self.walks_per_node


@dataclass(frozen=True)
class Trained:
    """The result of training."""

    # (N, d + 1): centroid of each node's points over the last half of training (Polyak-Ruppert averaging).
    points: NDArray[np.float64]
    losses: NDArray[np.float64]  # mean loss per pair, for each round of walks
    n_pairs: int
    n_skipped: int
    n_damped: int
    share: float  # share of the training completed within the time limit
    n_parts: int = 1  # number of parts of the nodes
    n_halved: int = 0  # number of restarts with half the learning rate


class Pace:
    """Progress of the training, in batches, or in time if the time limit would be exceeded.

    The learning rate decays to 0 in both cases. Progress counts batches until a tenth of the limit has passed
    and the rest would not suffice. So a limit that is not reached does not change a bit of the result.
    """

    def __init__(self, total: int, time_limit: float | None) -> None:
        self.total = total
        self.done = 0
        self.share = 0.0
        self._limit = np.inf if time_limit is None else time_limit
        self._began = perf_counter()
        self._hurried: tuple[float, float] | None = None  # share and time at which time took over

    @property
    def hurried(self) -> bool:
        """Whether the learning rate decays with time instead of batches."""
        return self._hurried is not None

    @property
    def over(self) -> bool:
        """Whether the training is complete."""
        return self.share >= 1.0

    def progress(self, count: int) -> NDArray[np.float64]:
        """Return the share of the training done before each of the next `count` batches."""
        if self._hurried is None:
            return np.arange(self.done, self.done + count) / self.total
        return np.full(count, self.share)

    def advance(self, count: int) -> None:
        """Record that `count` more batches are trained."""
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
    """Return the number of rounds of buckets over which one walk from each node is split."""
    return -(-fewest_rounds // n_walks)


def late_moments() -> list[float]:
    """Return the shares of the training at which snapshots are averaged; the last is 1."""
    late = 1.0 - _AVERAGED
    return [late + (1.0 - late) * i / _SNAPSHOTS for i in range(1, _SNAPSHOTS + 1)]


class LateMean:
    """Centroid of each node's points over snapshots of the last part of the training, including its end."""

    def __init__(self) -> None:
        self._moments = late_moments()
        self._points: NDArray[np.float64] | None = None
        self._weight = np.empty(0)

    def look(self, points: NDArray[np.float64], share: float) -> None:
        """Add the points to the mean if a snapshot is due after this share of the training."""
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
