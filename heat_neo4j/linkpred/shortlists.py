"""Candidate targets of a source within a pattern, merged by rank from several cheap short lists.

No list scans all nodes. Each follows relationships or words from the source, rare ones first, up to a fixed
number of entries, so hubs and common words cost no more than others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.lists import NOBODY, best_products, fused
from heat_neo4j._kernels.sweeps import NO_PARTNER
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.geometry.search import PartnerSearch
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import steps
from heat_neo4j.linkpred.candidates import CandidatePairs
from heat_neo4j.linkpred.differences import DifferenceScorer, difference_scorers, expected_places
from heat_neo4j.linkpred.likeness import Likeness
from heat_neo4j.linkpred.places import NearPlaces, Places

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Lists = NDArray[np.int32]

LISTED = 64
"""Maximum candidates per source. A source without relationships, whose lists agree less, has up to twice as
many: 3 to 9 % more of the links of Debian's and Citeseer's new nodes rank in the first ten."""
PART = 512
"""Sources whose pairs one thread holds in memory."""
_NEAR = 32  # length of the list of nearest nodes, the most expensive list
_EPSILON = 1.0  # approximation of the nearest search: recall 98 % in two fifths of the time
_EACH = 64  # length of every other list
_SIMILAR = 32  # similar sources whose targets are listed
_POPULAR = 256  # most popular targets considered for each source
_ENTRIES = 4_096
_WORDS = 1_024
_RANK = 60.0  # constant of reciprocal rank fusion (Cormack et al., 2009)


class _Steps(NamedTuple):
    """Two steps of a list from a source, largest weights of the first step first."""

    first: CsrParts
    second: CsrParts
    entries: int = _ENTRIES


class Surroundings:
    """Data shared by all patterns' short lists: a graph and its points on the hyperboloid, (N, d + 1).

    `likeness` is that of the graph; it need not be computed twice. `names` are those of the score's features.
    """

    def __init__(
        self, embedding: Array, graph: Graph, likeness: Likeness | None = None, names: Sequence[str] = ()
    ) -> None:
        self._embedding, self._graph, self.likeness = embedding, graph, likeness or Likeness(graph)
        self._names = names
        links, _ = steps(graph, None)
        rare_first = CsrParts.of(links @ sparse.diags_array(1.0 / np.maximum(graph.degrees, 1)))
        self._two_steps = _Steps(rare_first, CsrParts.of(links))
        self._itself = CsrParts.of(sparse.eye_array(graph.n_nodes))
        self._one_step = _Steps(self._itself, rare_first)
        self._near: dict[bytes, Lists] = {}

    @cached_property
    def _by_names(self) -> Mapping[str, _Steps]:
        """Steps from a text to the nodes that it names, and from a name to the texts with it."""
        if self.likeness.mentions is None:
            return {}
        texts, names = self.likeness.mentions
        return {
            "named": _Steps(CsrParts.of(texts), CsrParts.of(names.T), _WORDS),
            "names": _Steps(CsrParts.of(names), CsrParts.of(texts.T), _WORDS),
        }

    @cached_property
    def _by_vectors(self) -> Mapping[str, _Steps]:
        """Steps from a node to those with the most similar vectors."""
        near = self.likeness.near_vectors
        return {} if near is None else {"like vectors": _Steps(CsrParts.of(near), self._itself)}

    @cached_property
    def _differences(self) -> Mapping[str, DifferenceScorer]:
        """Scorers of the differences of numbers among the features."""
        return difference_scorers(self._graph, self._names)

    def of(
        self,
        candidates: CandidatePairs,
        asked: CandidatePairs,
        on_progress: Progress = no_progress,
    ) -> Shortlists:
        """Return the short lists of a pattern, restricted to the sources and targets of `asked`.

        Calls `on_progress` with ("nearest", sources done, total sources).
        """
        graph, ends = self._graph, (candidates.sources, candidates.targets)
        out, back = steps(graph, candidates.pattern)
        n_out, n_in = (np.diff(way.indptr) for way in (out, back))
        rare_first = CsrParts.of(out @ sparse.diags_array(1.0 / np.maximum(n_in, 1)))
        by_source = CsrParts.of(back @ sparse.diags_array(1.0 / np.sqrt(np.maximum(n_out, 1))))
        direct = {"two steps": self._two_steps, "popular": _popular(asked.targets, n_in)}
        similar = {"paths of three": _Steps(rare_first, by_source)}
        if candidates.pattern is not None:
            direct["joined otherwise"] = self._one_step
        if graph.attributes is not None and graph.n_attributes:
            of_sources, of_targets = (self.likeness.centred.of(nodes, candidates.nodes) for nodes in ends)
            own, words = CsrParts.of(of_sources.thin), CsrParts.of(of_targets.thin.T)
            direct["alike targets"] = _Steps(CsrParts.of(of_targets.summed(out).unit().thin), words, _WORDS)
            similar["targets of alike"] = _Steps(own, CsrParts.of(of_sources.thin.T), _WORDS)
            if of_sources is of_targets:
                direct["alike"] = _Steps(own, words, _WORDS)
        direct |= {**self._by_names, **self._by_vectors}
        similar |= {f"targets of {name}": two for name, two in self._by_vectors.items()}
        near: dict[str, NearPlaces] = {}
        if (places := Places.of(graph, *ends)) is not None:
            near["near places"] = NearPlaces(places, asked.targets, _EACH)
        numbers = expected_places(graph, candidates.pattern, self._differences, candidates.targets, _EACH)
        if numbers is not None:
            near["expected numbers"] = NearPlaces(numbers[0], asked.targets, _EACH, numbers[1])
        return Shortlists(
            sources=asked.sources,
            near=self._nearest(candidates, asked.sources, on_progress),
            is_target=asked.is_target,
            is_isolated=graph.degrees == 0,
            has_targets=candidates.is_source & (n_out > 0),
            joined=CsrParts.of(asked.joined),
            out=CsrParts.of(out),
            direct=direct,
            similar=similar,
            near_places=near,
            itself=self._itself,
        )

    def _nearest(self, candidates: CandidatePairs, sources: Rows, on_progress: Progress) -> Lists:
        """Return each source's nearest nodes without an edge to it; cached for patterns with equal ends."""
        nodes = candidates.nodes
        key = b"/".join(each.tobytes() for each in (candidates.is_source, candidates.is_target, sources))
        if key not in self._near:
            found = np.full((len(sources), _NEAR), NOBODY, dtype=np.int32)
            k = min(_NEAR, len(nodes) - 1)
            if len(sources) and k > 0:
                search = PartnerSearch(candidates.in_space(self._embedding, self._graph.adjacency))
                places = np.searchsorted(nodes, sources)
                workers = self.likeness.workers
                _, partner = search.nearest(places, k, np.inf, workers, on_progress, "nearest", _EPSILON)
                found[:, :k] = np.where(partner == NO_PARTNER, NOBODY, nodes[partner])
            self._near[key] = found
        return self._near[key]


@dataclass(frozen=True, eq=False)
class Shortlists:
    """The short lists of some sources of a pattern."""

    sources: Rows  # sorted ascending
    near: Lists  # nearest nodes of each source
    is_target: NDArray[np.bool_]  # (N,)
    is_isolated: NDArray[np.bool_]  # (N,): nodes without relationships
    has_targets: NDArray[np.bool_]  # (N,): sources with at least one target
    joined: CsrParts
    out: CsrParts
    direct: Mapping[str, _Steps]  # two steps to targets
    similar: Mapping[str, _Steps]  # two steps to other sources, whose targets are listed
    near_places: Mapping[str, NearPlaces]
    itself: CsrParts  # a step from each node to itself

    def pairs(self, begin: int, end: int) -> Rows:
        """Return the candidate pairs of sources `begin` to `end` - 1, sorted and distinct, shape (m, 2).

        No pair is linked already.
        """
        lists = np.stack(list(self.lists(begin, end).values()))
        found = fused(lists, self.is_target, _RANK, 2 * LISTED)
        found[~self.is_isolated[self.sources[begin:end]], LISTED:] = NOBODY
        found.sort(axis=1)
        row, place = np.nonzero(found != NOBODY)
        # Column-major: kernels need contiguous columns.
        return np.stack((self.sources[begin + row], found[row, place].astype(np.int64))).T

    def every_pair(self, workers: WorkerThreads) -> Rows:
        """Return the candidate pairs of all sources."""
        n = len(self.sources)
        parts = workers.map(lambda begin: self.pairs(begin, min(begin + PART, n)), range(0, n, PART))
        return np.asfortranarray(np.concatenate([np.empty((0, 2), dtype=np.int64), *parts]))

    def lists(self, begin: int, end: int) -> dict[str, Lists]:
        """Return the lists of sources `begin` to `end` - 1 by list name, each of shape (m, 64)."""
        sources, own = self.sources[begin:end], np.arange(end - begin)
        near = np.full((len(sources), _EACH), NOBODY, dtype=np.int32)
        near[:, :_NEAR] = self.near[begin:end]
        found = {"near": near}
        for name, two in self.direct.items():
            found[name], _ = self._best(sources, two, sources, self.is_target, _EACH)
        for name, two in self.similar.items():
            alike = CsrParts.of_lists(*self._best(sources, two, sources, self.has_targets, _SIMILAR))
            targets = _Steps(alike, self.out)
            found[name], _ = self._best(own, targets, sources, self.is_target, _EACH)
        for name, places in self.near_places.items():
            near_places = _Steps(places.of(sources), self.itself)
            found[name], _ = self._best(own, near_places, sources, self.is_target, _EACH)
        return found

    def _best(
        self, rows: Rows, two: _Steps, sources: Rows, suits: NDArray[np.bool_], k: int
    ) -> tuple[Lists, Array]:
        """Return the k nodes with the largest two-step weights from each row, and these weights."""
        (left, right, most), (links, linked, _) = two, self.joined
        if suits is not self.is_target:  # sources may be joined to each other
            links = np.zeros_like(links)
        best: tuple[Lists, Array] = best_products(rows, *left, *right, suits, sources, links, linked, most, k)
        return best


def _popular(targets: Rows, n_in: Rows) -> _Steps:
    """Return steps from every node to the most popular targets of the type."""
    n = len(n_in)
    most = np.sort(targets[np.argsort(-n_in[targets], kind="stable")[:_POPULAR]])
    from_all = CsrParts(np.arange(n + 1), np.zeros(n, dtype=np.int32), np.ones(n))
    weights = n_in[most].astype(np.float64)
    return _Steps(from_all, CsrParts(np.array([0, len(most)]), most.astype(np.int32), weights))
