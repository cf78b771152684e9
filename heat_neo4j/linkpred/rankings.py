"""How well scores rank held-out links among the candidates of their sources, on a sample of sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.linkpred.candidates import CandidatePairs

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class MostSources(NamedTuple):
    """How many sources are drawn at most."""

    linked: int = 400  # with a held-out link
    others: int = 200
    fewest: int = 8  # with a held-out link, however many links these have


_MOST = MostSources()


class DrawnSources(NamedTuple):
    """Some sources, rising, and how many each stands for; and more of those that have a held-out link."""

    sources: Rows
    weight: Array
    linked: Rows
    share_of_linked: float  # of all sources with a held-out link, how many `sources` has


@dataclass(frozen=True)
class Rankings:
    """How held-out links rank among the candidates of their sources; a link that is none is not found."""

    mrr: float  # mean reciprocal rank, 0 for what is not found
    hits_at_10: float  # share of links among the ten best of their source
    precision_at_10: float  # share of the ten best, of sources with a held-out link, that are held-out links


def draw_sources(
    candidates: CandidatePairs,
    links: Rows,
    most_links: int,
    seed: list[int],
    most: MostSources = _MOST,
) -> DrawnSources:
    """Draw sources with a held-out link and others, and more of the former: up to `most_links` in all."""
    generator = np.random.default_rng(seed)
    linked, n_links = np.unique(links[:, 0], return_counts=True)
    order = generator.permutation(len(linked))
    enough = max(int(np.searchsorted(np.cumsum(n_links[order]), most_links)) + 1, most.fewest)
    others = np.setdiff1d(candidates.sources, linked)
    drawn = [
        linked[order[: min(enough, most.linked)]],
        generator.choice(others, min(most.others, len(others)), replace=False),
    ]
    weights = [
        np.full(len(some), len(each) / max(len(some), 1))
        for each, some in zip((linked, others), drawn, strict=True)
    ]
    sources, weight = np.concatenate(drawn), np.concatenate(weights)
    rising = np.argsort(sources)
    return DrawnSources(
        sources[rising], weight[rising], linked[np.sort(order[:enough])], len(drawn[0]) / max(len(linked), 1)
    )


def rankings(
    source: Rows, is_link: NDArray[np.bool_], scores: Mapping[str, Array], n_links: int, n_sources: int
) -> dict[str, Rankings]:
    """Return the figures of each score of some candidates, whose sources rise; ties count half.

    `n_links` and `n_sources` are the held-out links of these sources, candidates or not, and the sources
    that have one.

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
    others = np.concatenate(([0], np.cumsum(~link)))  # of all sources, before each place
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
    """Return the share of links among the `n` best pairs, each standing for so many; None of no pair."""
    order = np.argsort(-scores, kind="stable")
    first = np.cumsum(weight[order]) <= max(n, weight.max(initial=0.0))
    if not first.any():
        return None
    return float(np.average(is_link[order][first], weights=weight[order][first]))
