"""The best-scored pairs of each source, among the targets on its short lists."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.lists import best_of_rows
from heat_neo4j._utils.progress import Progress
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.linkpred.link_score import LinkScorer
from heat_neo4j.linkpred.pruning import PrunedScorer
from heat_neo4j.linkpred.shortlists import PART, Shortlists

BLOCK_SOURCES = 4096
"""Sources per worker task."""
_SPANS, _SPAN = 8, 32  # samples of adjacent sources, which decide on the order of features
# The direction features are the most expensive, so they rerank only the best pairs by the other features.
_TIMES, _LEAST = 3, 12  # reranked pairs per source: _TIMES * width, at least _LEAST

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


def best_of_shortlists(
    scorer: LinkScorer,
    lists: Shortlists,
    width: int,
    workers: WorkerThreads,
    on_progress: Progress,
    least: float = -np.inf,
) -> tuple[Rows, Array]:
    """Return at most `width` best-scored pairs of each source, as rows, and their scores.

    Pairs with scores below `least` may be missing. Calls `on_progress` with ("links", sources done, total
    sources).
    """
    total = len(lists.sources)
    pruned = None
    if scorer.features and least > -np.inf:
        pruned = PrunedScorer(scorer, least, _sample(lists), workers)
    block = _Block(scorer, pruned, lists, width)
    found = [(np.empty((0, 2), dtype=np.int64), np.empty(0))]
    on_progress("links", 0, total)
    for begin in range(0, total, BLOCK_SOURCES):
        end = min(begin + BLOCK_SOURCES, total)
        found.append(block.best(workers, begin, end))
        on_progress("links", end, total)
    pairs, scores = zip(*found, strict=True)
    return np.concatenate(pairs), np.concatenate(scores)


def _sample(lists: Shortlists) -> Rows:
    """Return the pairs of a few sources from all parts of the graph."""
    spans = np.linspace(0, len(lists.sources), _SPANS, endpoint=False).astype(np.int64)
    parts = [lists.pairs(begin, min(begin + _SPAN, len(lists.sources))) for begin in np.unique(spans)]
    return np.asfortranarray(np.concatenate(parts))


@dataclass(frozen=True, eq=False)
class _Block:
    """Scores the sources of one block."""

    scorer: LinkScorer
    pruned: PrunedScorer | None
    lists: Shortlists
    width: int

    def best(self, team: WorkerThreads, begin: int, end: int) -> tuple[Rows, Array]:
        """Return the best pairs of some sources, and their scores."""
        found = team.map(lambda first: self._best(first, min(first + PART, end)), range(begin, end, PART))
        pairs, scores = zip(*found, strict=True)
        return np.concatenate(pairs), np.concatenate(scores)

    def _best(self, begin: int, end: int) -> tuple[Rows, Array]:
        pairs, scorer = self.lists.pairs(begin, end), self.scorer
        scores = np.zeros(len(pairs))
        if self.pruned is not None:
            pairs, scores = self.pruned.pairs(pairs)
        elif scorer.features:
            scores = replace(scorer, direction=None).pairs(pairs)
        few = best_of_rows(np.ascontiguousarray(pairs[:, 0]), scores, max(_TIMES * self.width, _LEAST))
        pairs, scores = pairs[few], scores[few]
        for _, _, term in replace(scorer, features={}).terms(lambda feature: feature.pairs(pairs)):
            scores += term
        best = best_of_rows(np.ascontiguousarray(pairs[:, 0]), scores, self.width)
        return pairs[best], scores[best]
