"""Slow, plain twins of the compiled core: loops and numpy, written from the method and not from the kernels.

They draw from the same random streams (SplitMix64), so walks, pairs and negatives must agree exactly and
trained points to rounding.
"""

from __future__ import annotations

import itertools
import operator

import numpy as np
from sklearn.covariance import empirical_covariance, oas, shrunk_covariance

from heat_neo4j.geometry.hyperboloid import distance, exp_map, log_map, project_tangent

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Stream:
    """Random numbers of stream `index` under `key`."""

    def __init__(self, key, index):
        self.state = mix((int(key) ^ mix((int(index) * GOLDEN + GOLDEN) & MASK)) & MASK)

    def unit(self):
        self.state = (self.state + GOLDEN) & MASK
        return (mix(self.state) >> 11) * 2.0**-53

    def slot(self, table):
        """A position drawn by an alias table of (threshold, alias) rows, from one random number."""
        self.state = (self.state + GOLDEN) & MASK
        bits = mix(self.state)
        position = ((bits >> 32) * len(table)) >> 32
        threshold, alias = table[position]
        return position if (bits & (2**32 - 1)) / 2**32 < threshold else alias


def alias_rows(slots):
    """Unpack an alias table into (threshold, alias) rows."""
    return [(int(slot >> 32) / 2**32, int(slot & (2**32 - 1))) for slot in slots.tolist()]


def similarity(attributes):
    """Y as a dense matrix."""
    x = np.asarray(attributes, dtype=float)
    std = x.std(axis=0)
    z = (x - x.mean(axis=0))[:, std > 1e-9] / std[std > 1e-9]
    norm = np.linalg.norm(z, axis=1, keepdims=True)
    z = np.divide(z, norm, out=np.zeros_like(z), where=norm > 0)
    y = np.maximum(z @ z.T, 0.0)
    np.fill_diagonal(y, 0.0)
    return y


def draw(cumulative, target):
    """First position whose cumulative weight exceeds the target."""
    for position, value in enumerate(cumulative):
        if value > target:
            return position
    return len(cumulative) - 1


def walk(adjacency, table, alpha, length, key, index, start):
    """One teleport walk; `table` holds cumulative similarities per row (the kernel's float32 ones)."""
    stream = Stream(key, index)
    nodes = [start]
    while len(nodes) < length:
        node = nodes[-1]
        neighbours = np.flatnonzero(adjacency[node])
        teleport = len(neighbours) == 0
        u = stream.unit()
        if not teleport:
            teleport = u < alpha
        following = None
        if teleport:
            u = stream.unit()
            if table is not None and table[node][-1] > 0:
                following = draw(table[node], u * float(table[node][-1]))
        if following is None:
            if len(neighbours) == 0:
                break
            weights = np.cumsum(adjacency[node][neighbours])
            following = int(neighbours[draw(weights, stream.unit() * weights[-1])])
        nodes.append(following)
    return nodes


def pairs(walks, window):
    """D as a list with multiplicity, both directions."""
    found = []
    for nodes in walks:
        for i, u in enumerate(nodes):
            for j in range(max(i - window, 0), min(i + window + 1, len(nodes))):
                if u != nodes[j]:
                    found.append((u, nodes[j]))
    return found


def negatives(source, contexts, table, stream, count, listed=(), listed_table=(), tries=200):
    """`count` nodes of Gamma(source): from its list if it has one, else by repeated draws.

    After `tries` draws in vain any node but the source will do.
    """
    found = []
    for _ in range(count):
        if len(listed):
            found.append(int(listed[stream.slot(listed_table)]))
            continue
        for tried in itertools.count():
            v = stream.slot(table)
            if v != source and (tried >= tries or v not in contexts[source]):
                found.append(v)
                break
    return found


def loss_and_directions(points, source, candidates, sigma):
    """Loss of one pair (candidate 0 is the context), descent direction at each point, delta - p of each.

    At u: sum_w (delta - p) log_u(w) / sigma^2; at w: (delta - p) log_w(u) / sigma^2 (method, section 3).
    """
    x, others = points[source], points[candidates]
    d = distance(np.broadcast_to(x, others.shape), others)
    scores = -(d**2) / (2 * sigma**2)
    p = np.exp(scores - scores.max())
    p /= p.sum()
    coefficient = (np.arange(len(candidates)) == 0) - p
    at_source = sum(c * log_map(x, w) for c, w in zip(coefficient, others, strict=True)) / sigma**2
    at_candidates = [c * log_map(w, x) / sigma**2 for c, w in zip(coefficient, others, strict=True)]
    return -np.log(p[0]), at_source, at_candidates, coefficient


def train_batch(points, segments, sigma, rate, frozen):
    """Sum every pair's directions with the points frozen, then move each node once.

    `segments` holds (source, candidates) pairs, `frozen` says which nodes stay. Returns the new points, the
    summed loss, and how many steps were damped: where rate * sum |delta - p| / sigma^2 is over 1, to that, or
    if that is less, to rate * sum |delta - p| d coth(d) / sigma^2 = 1.9.
    """
    moves, along, across = np.zeros_like(points), np.zeros(len(points)), np.zeros(len(points))
    total = 0.0
    for source, candidates in segments:
        loss, at_source, at_candidates, coefficient = loss_and_directions(points, source, candidates, sigma)
        total += loss
        moves[source] += at_source
        for node, move, c in zip(candidates, at_candidates, coefficient, strict=True):
            moves[node] += move
            d = distance(points[source], points[node])
            for end in (source, node):
                along[end] += abs(c) / sigma**2
                across[end] += abs(c) / sigma**2 * d / np.tanh(d)
    new = points.copy()
    damped = ~frozen & (rate * along > 1)
    for node in np.flatnonzero(moves.any(axis=1) & ~frozen):
        length = min(1 / along[node], 1.9 / across[node]) if damped[node] else rate
        new[node] = exp_map(points[node], project_tangent(points[node], length * moves[node]))
    return new, total, int(damped.sum())


def unit_rows(values):
    """Rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.divide(values, lengths, out=np.zeros(np.shape(values)), where=lengths > 0)


def centred_directions(values):
    """Directions less their mean, as directions."""
    unit = unit_rows(values)
    return unit_rows(unit - unit.mean(axis=0))


def whitened(rows, least=0.25):
    """Directions of centred rows in the basis of their principal components, each scaled to one variance."""
    covariance, shrinkage = (
        empirical_covariance(rows, assume_centered=True),
        oas(rows, assume_centered=True)[1],
    )
    variances, components = np.linalg.eigh(shrunk_covariance(covariance, max(shrinkage, least)))
    return unit_rows(rows @ components / np.sqrt(variances))


def projected(rows, signs):
    """Rows times signs, one sum at a time."""
    return np.array([[sum(map(operator.mul, row, column)) for column in signs.T] for row in rows])


def near_lists(rows, k):
    """The k most similar rows of each, by descending cosine, and the cubes of their cosines, cumulated."""
    cosines = unit_rows(rows) @ unit_rows(rows).T
    np.fill_diagonal(cosines, -1.0)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    kept = np.maximum(np.take_along_axis(cosines, near, axis=1), 0.0)
    return np.where(kept > 0.0, near, -1), np.cumsum(kept**3, axis=1)
