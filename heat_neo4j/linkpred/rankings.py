"""How well a score ranks held-out links among all targets of their sources, on a sample of sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.linkpred.candidates import CandidatePairs
from heat_neo4j.linkpred.metrics import node_ranking

__all__ = ["RankedSources", "Rankings", "Sample", "draw_sources"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_SCORED = 1_500_000  # pairs of sampled sources and all targets
_FEWEST = 8  # sources of each kind, whatever the number of targets
_SHOWN = 20  # best pairs of a source that its probabilities are measured on


class Sample(NamedTuple):
    """Some sources, rising, and how many each stands for."""

    sources: Rows
    weight: Array


@dataclass(frozen=True)
class Rankings:
    """How held-out links rank among all targets that their source is not linked to."""

    mrr: float  # mean reciprocal rank
    hits_at_10: float  # share of links among the ten best of their source
    precision_at_10: float  # share of the ten best, of sources with a held-out link, that are held-out links


def draw_sources(candidates: CandidatePairs, links: Rows, seed: list[int]) -> Sample:
    """Draw sources with a held-out link, and others, so that few pairs are scored; each kind is weighted."""
    generator = np.random.default_rng(seed)
    most = max(_SCORED // max(2 * len(candidates.targets), 1), _FEWEST)
    linked = np.unique(links[:, 0])
    kinds = linked, np.setdiff1d(candidates.sources, linked)
    drawn = [np.sort(generator.choice(each, min(most, len(each)), replace=False)) for each in kinds]
    weights = [
        np.full(len(some), len(each) / max(len(some), 1)) for each, some in zip(kinds, drawn, strict=True)
    ]
    sources, weight = np.concatenate(drawn), np.concatenate(weights)
    order = np.argsort(sources)
    return Sample(sources[order], weight[order])


class RankedSources:
    """Ranks that grow source by source, of several scores, and the best pairs of the first of them."""

    def __init__(self) -> None:
        self._ranks: dict[str, list[float]] = {}
        self._hits: dict[str, list[float]] = {}
        self._scores: list[Array] = []
        self._links: list[NDArray[np.bool_]] = []
        self._weights: list[Array] = []

    def add(self, scores: Mapping[str, Array], allowed: NDArray[np.bool_], held: Rows, weight: float) -> None:
        """Add a source: its scores of all targets, which it may get, and places of its held-out links."""
        is_link = np.zeros(len(allowed), dtype=np.bool_)
        is_link[held] = True
        open_ = np.flatnonzero(allowed)
        others = allowed & ~is_link
        for name, row in scores.items():
            if len(held):
                ranks = node_ranking(row[others], row[held]).ranks
                self._ranks.setdefault(name, []).extend(ranks.tolist())
                best = open_[np.argsort(-row[open_], kind="stable")[:10]]
                self._hits.setdefault(name, []).append(float(is_link[best].mean()))
        first = next(iter(scores.values()))
        best = open_[np.argsort(-first[open_], kind="stable")[:_SHOWN]]
        self._scores.append(first[best])
        self._links.append(is_link[best])
        self._weights.append(np.full(len(best), weight))

    def rankings(self) -> dict[str, Rankings]:
        """Return the figures of each score; none if no source had a held-out link."""
        found = {}
        for name, each in self._ranks.items():
            ranks = np.array(each)
            figures = (1.0 / ranks).mean(), (ranks <= 10).mean(), np.mean(self._hits[name])
            found[name] = Rankings(*map(float, figures))
        return found

    def best_pairs(self) -> tuple[Array, NDArray[np.bool_], Array]:
        """Return score, whether it is a link, and weight of the best pairs of each source."""
        if not self._scores:
            return np.empty(0), np.empty(0, dtype=np.bool_), np.empty(0)
        return np.concatenate(self._scores), np.concatenate(self._links), np.concatenate(self._weights)
