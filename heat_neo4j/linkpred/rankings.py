"""Ranking metrics of held-out links among their sources' candidates, on a sample of sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.linkpred.candidates import CandidatePairs
from heat_neo4j.linkpred.metrics import part_of_first

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


_OTHERS_IN_ALL = 20_000  # over all patterns; each of them has up to 128 candidates with some 30 features


class MostSources(NamedTuple):
    """Limits on the number of sampled sources, and of links to fit to."""

    linked: int = 400  # maximum sources with a held-out link
    others: int = 200  # maximum other sources to fit to; more do not improve the ranking
    per_root: float = 8.0  # other sources measured per square root of their number: few have the best pairs
    measured: int = 4_000  # but at most so many, and no fewer than are fitted
    fewest: int = 8  # minimum sources with a held-out link, regardless of their number of links
    fitted_links: int = 4_000  # maximum links to fit to; of more, every second, third, ... is taken

    @classmethod
    def of_each(cls, n_patterns: int) -> Self:
        """Return the limits of each pattern of a graph, such that many patterns fit into memory."""
        limits = cls()
        share = max(_OTHERS_IN_ALL // max(n_patterns, 1), limits.fewest)
        return limits._replace(others=min(limits.others, share), measured=min(limits.measured, share))

    def n_measured(self, n_others: int) -> int:
        """Return how many of the sources without a held-out link are measured."""
        return min(max(min(int(self.per_root * n_others**0.5), self.measured), self.others), n_others)


_MOST = MostSources()


class DrawnSources(NamedTuple):
    """Sampled sources, and a larger sample of those with a held-out link."""

    sources: Rows  # sorted ascending
    weight: Array  # number of sources that each stands for
    weight_fitted: Array  # the same in the fit; infinite for sources that are only measured
    linked: Rows  # sources with a held-out link, sorted ascending
    share_of_linked: float  # share of all sources with a held-out link that are in `sources`


@dataclass(frozen=True)
class Rankings:
    """Ranks of held-out links among their sources' candidates; a link outside them counts as not found."""

    mrr: float  # mean reciprocal rank; 0 for links not found
    hits_at_10: float  # share of links among the top ten of their source
    precision_at_10: float  # share of held-out links in the top ten of sources that have one


def draw_sources(
    candidates: CandidatePairs,
    links: Rows,
    most_links: int,
    seed: list[int],
    most: MostSources = _MOST,
) -> DrawnSources:
    """Sample sources with and without a held-out link; `linked` covers up to `most_links` links."""
    generator = np.random.default_rng(seed)
    linked, n_links = np.unique(links[:, 0], return_counts=True)
    order = generator.permutation(len(linked))
    enough = max(int(np.searchsorted(np.cumsum(n_links[order]), most_links)) + 1, most.fewest)
    others = np.setdiff1d(candidates.sources, linked)
    own = linked[order[: min(enough, most.linked)]]
    fitted = generator.choice(others, min(most.others, len(others)), replace=False)
    rest, n_more = np.setdiff1d(others, fitted), most.n_measured(len(others)) - len(fitted)
    more = generator.choice(rest, n_more, replace=False)
    of_linked = len(linked) / max(len(own), 1)
    of_others = len(others) / max(len(fitted) + len(more), 1)
    weights = (of_linked, of_others, of_others), (of_linked, len(others) / max(len(fitted), 1), np.inf)
    sources, sizes = np.concatenate((own, fitted, more)), (len(own), len(fitted), len(more))
    rising = np.argsort(sources)
    weight, weight_fitted = (np.repeat(each, sizes)[rising] for each in weights)
    share = len(own) / max(len(linked), 1)
    return DrawnSources(sources[rising], weight, weight_fitted, linked[np.sort(order[:enough])], share)


def rankings(
    source: Rows, is_link: NDArray[np.bool_], scores: Mapping[str, Array], n_links: int, n_sources: int
) -> dict[str, Rankings]:
    """Return the ranking metrics of each score; candidates are sorted by source, ties count half.

    `n_links` is the number of held-out links of these sources, including links outside the candidates.
    `n_sources` is the number of sources that have one.

    A. Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (NIPS 2013).
    """
    return {name: _rankings(source, is_link, each, n_links, n_sources) for name, each in scores.items()}


def _rankings(
    source: Rows, is_link: NDArray[np.bool_], scores: Array, n_links: int, n_sources: int
) -> Rankings:
    order = np.lexsort((-scores, source))
    row, score, link = source[order], scores[order], is_link[order]
    is_first = np.diff(row, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    place = np.arange(len(row)) - np.repeat(starts, np.diff(np.append(starts, len(row))))
    others = np.concatenate(([0], np.cumsum(~link)))  # non-links before each place, over all sources
    ties = np.flatnonzero(is_first | (np.diff(score, prepend=np.inf) != 0))
    tie = np.searchsorted(ties, np.flatnonzero(link), side="right") - 1
    above = others[ties[tie]] - others[np.flatnonzero(link) - place[link]]
    tied = others[np.append(ties, len(row))[tie + 1]] - others[ties[tie]]
    ranks = 1.0 + above + 0.5 * tied
    is_of_linked = np.isin(row, row[link])
    best = place < 10
    shown = np.minimum(np.bincount(row[best & is_of_linked]), 10)
    found = np.bincount(row[best & link], minlength=len(shown))
    return Rankings(
        mrr=float(np.sum(1.0 / ranks) / max(n_links, 1)),
        hits_at_10=float(np.count_nonzero(ranks <= 10) / max(n_links, 1)),
        precision_at_10=float(np.sum(found / np.maximum(shown, 1)) / max(n_sources, 1)),
    )


def precision_at(n: int, scores: Array, is_link: NDArray[np.bool_], weight: Array) -> float | None:
    """Return the weighted precision of the `n` best pairs; None if there are no pairs."""
    order = np.argsort(-scores, kind="stable")
    part = part_of_first(weight[order], n)
    return float(np.average(is_link[order], weights=part)) if part.any() else None
