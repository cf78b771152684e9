"""Why a link has its probability: what each feature adds to its log odds, and what its two nodes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.geometry.hyperboloid import pair_distances, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.link_score import Contribution, LinkScore
from heat_neo4j.patterns import Pattern

__all__ = ["MEANINGS", "LinkExplanation", "SharedAttribute", "Tie", "Way", "explain_pair"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MEANINGS: Mapping[str, str] = {
    "base": "an average pair of the pattern",
    "distance": "how near they are",
    "neighbourhood_distance": "how near their neighbourhoods are",
    "source_out": "how many of the type leave the source",
    "source_in": "how many of the type lead to the source",
    "target_out": "how many of the type leave the target",
    "target_in": "how many of the type lead to the target",
    "common_neighbours": "common neighbours",
    "paths_of_three": "paths of three relationships",
    "chain": "source to a node to target, by the type",
    "shared_target": "both lead to a node, by the type",
    "shared_source": "a node leads to both, by the type",
    "return_chain": "target to a node to source, by the type",
    "taste_8": "broad taste: who links with what, in few groups",
    "taste_16": "finer taste: in more groups",
    "taste_32": "finest taste: in many groups",
    "attributes": "like attributes",
    "scaled_attributes": "like attributes, rare ones first",
    "targets_alike": "target like those that the source has already",
    "sources_alike": "source like those that the target has already",
    "target_like_sources": "target like those that lead to the source",
    "source_like_targets": "source like those that the target leads to",
    "ends_alike": "source with its targets like target with its sources",
    "targets_related": "target related to those that the source has already",
    "sources_related": "source related to those that the target has already",
    "direction": "the direction: this way, not the other",
}
"""What the features of a `LinkScore` say, in plain English."""

_MOST = 10  # of what is shared that is listed; all is counted


class Tie(NamedTuple):
    """A relationship from a first node to a second one, or back."""

    type: str
    forward: bool

    def __str__(self) -> str:
        """Return it as an arrow, such as ``-RATED->``."""
        return f"-{self.type}->" if self.forward else f"<-{self.type}-"


class Way(NamedTuple):
    """A way from the source to the target through other nodes."""

    nodes: tuple[int, ...]  # rows of the graph, from the source on
    steps: tuple[tuple[Tie, ...], ...]  # what joins each to the next: one step more than there are nodes
    degrees: tuple[int, ...]  # neighbours of each node


class SharedAttribute(NamedTuple):
    """A column of attributes that both nodes have."""

    name: str
    nodes: int  # of the graph that have it


@dataclass(frozen=True, eq=False)
class LinkExplanation:
    """Why a link of a pattern between two nodes has its probability.

    Parameters
    ----------
    pattern : Pattern
        Of the link.
    source, target : int
        Rows of the graph.
    probability, log_odds : float, optional
        Share of pairs with such a score that turned out to be links; None without a score.
    contributions : tuple of Contribution
        What adds up to the log odds: that of an average pair, then of each feature, the largest first.
    direction : float, optional
        Probability that a link of the two leads this way; None if the pattern allows one way only.
    distance, source_radius, target_radius : float
        Where the two lie: hyperbolic distance, and that of each from the origin.
    joined : tuple of Tie
        What joins the two already.
    shared : tuple of Way
        Common neighbours, the rarest (of fewest neighbours) first, 10 at most; and `n_shared`, how many.
    paths : tuple of Way
        Paths of three relationships of the type, whichever way each leads, likewise; and `n_paths`.
    attributes : tuple of SharedAttribute
        What both have among the columns of attributes, the rarest first, likewise; and `n_attributes`.
    """

    pattern: Pattern
    source: int
    target: int
    probability: float | None
    log_odds: float | None
    contributions: tuple[Contribution, ...]
    direction: float | None
    distance: float
    source_radius: float
    target_radius: float
    joined: tuple[Tie, ...]
    shared: tuple[Way, ...]
    n_shared: int
    paths: tuple[Way, ...]
    n_paths: int
    attributes: tuple[SharedAttribute, ...]
    n_attributes: int


@one_blas_thread()
def explain_pair(
    embedding: Array,
    graph: Graph,
    pattern: Pattern,
    pair: tuple[int, int],
    score: LinkScore | None = None,
) -> LinkExplanation:
    """Explain the link of a pattern between two rows of the graph, the source first; joined or not.

    `embedding` has points of the hyperboloid, shape (N, d + 1).
    """
    pairs = np.array([pair], dtype=np.int64)
    radii = radius(embedding[list(pair)])
    parts: tuple[Contribution, ...] = ()
    log_odds = probability = direction = None
    if score is not None:
        scorer = score.scorers(embedding, graph)(pattern)
        base, *others = scorer.contributions(pair)
        parts = (base, *sorted(others, key=lambda part: -abs(part.log_odds)))
        log_odds = float(scorer.pairs(pairs)[0])
        probability = float(scorer.probability(log_odds))
        ways = scorer.direction_log_odds(pairs)
        direction = None if ways is None else float(expit(ways)[0])
    ties = _Ties(graph)
    shared, paths = _common(graph, pair), _paths(graph, pattern.type, pair)
    attributes = sorted(_attributes(graph, pair), key=lambda each: each.nodes)
    return LinkExplanation(
        pattern=pattern,
        source=pair[0],
        target=pair[1],
        probability=probability,
        log_odds=log_odds,
        contributions=parts,
        direction=direction,
        distance=float(pair_distances(embedding, pairs)[0]),
        source_radius=float(radii[0]),
        target_radius=float(radii[1]),
        joined=ties.between(*pair),
        shared=tuple(ties.way(pair, nodes) for nodes in shared[:_MOST]),
        n_shared=len(shared),
        paths=tuple(ties.way(pair, nodes, pattern.type) for nodes in paths[:_MOST]),
        n_paths=len(paths),
        attributes=tuple(attributes[:_MOST]),
        n_attributes=len(attributes),
    )


class _Ties:
    """What joins any two nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        assert graph.relationships is not None
        self._graph = graph
        self._matrices = {
            name: graph.relationships.matrix(name, graph.n_nodes) for name in graph.relationships.types
        }

    def between(self, first: int, second: int, only: str | None = None) -> tuple[Tie, ...]:
        """Return the relationships from one node to another and back, of one type if that is given."""
        return tuple(
            Tie(name, forward)
            for name, matrix in self._matrices.items()
            if only in (None, name)
            for forward, ends in ((True, (first, second)), (False, (second, first)))
            if matrix[ends] != 0.0
        )

    def way(self, pair: tuple[int, int], nodes: Sequence[int], only: str | None = None) -> Way:
        stops = (pair[0], *nodes, pair[1])
        steps = tuple(self.between(first, second, only) for first, second in pairwise(stops))
        return Way(tuple(nodes), steps, tuple(self._graph.degrees[list(nodes)].tolist()))


def _common(graph: Graph, pair: tuple[int, int]) -> list[tuple[int]]:
    """Return the common neighbours, those with fewest neighbours first."""
    adjacency = graph.adjacency
    first, second = (adjacency.indices[slice(*adjacency.indptr[row : row + 2])] for row in pair)
    common = np.intersect1d(first, second)
    order = np.argsort(graph.degrees[common], kind="stable")
    return [(row,) for row in common[order].tolist()]


def _paths(graph: Graph, kind: str, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the nodes between on paths of three relationships of a type, the rarest first."""
    assert graph.relationships is not None
    matrix = graph.relationships.matrix(kind, graph.n_nodes)
    either = sparse.csr_array(matrix + matrix.T)
    degrees = np.diff(either.indptr)
    near = [np.setdiff1d(either.indices[slice(*either.indptr[row : row + 2])], pair) for row in pair]
    between = sparse.coo_array(either[near[0]][:, near[1]])
    first, second = near[0][between.row], near[1][between.col]
    order = np.lexsort((second, first, degrees[first].astype(np.int64) * degrees[second]))
    return list(zip(first[order].tolist(), second[order].tolist(), strict=True))


def _attributes(graph: Graph, pair: tuple[int, int]) -> Iterator[SharedAttribute]:
    """Yield the columns of attributes in which both nodes have the same value, but 0."""
    if graph.attributes is None or not graph.n_attributes:
        return
    columns = _known_values(graph)
    first, second = columns[list(pair)].toarray()
    for column in np.flatnonzero((first != 0.0) & (first == second)).tolist():
        name = graph.attribute_names[column] if graph.attribute_names else f"column {column}"
        yield SharedAttribute(name, int(np.diff(columns.indptr[column : column + 2])[0]))


def _known_values(graph: Graph) -> sparse.csc_array:
    """Return the attributes without the means that stand for missing numbers, and without their marks."""
    assert graph.attributes is not None
    columns = sparse.csc_array(graph.attributes)
    blocks, start = [], 0
    for entry in graph.provenance.attribute_recipe:
        block = columns[:, start : start + len(entry["columns"])]
        start += block.shape[1]
        knows = graph.labels.get(entry.get("label", ""), np.ones(graph.n_nodes, dtype=np.bool_))
        counts = np.ones(block.shape[1])
        if entry.get("missing"):
            knows = knows & (block[:, [-1]].toarray().ravel() == 0.0)
            counts[-1] = 0.0
        blocks.append(sparse.diags_array(knows.astype(np.float64)) @ block @ sparse.diags_array(counts))
    known = sparse.csc_array(sparse.hstack(blocks)) if blocks else columns
    known.eliminate_zeros()
    return known
