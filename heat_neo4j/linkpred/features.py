"""What the graph and the embedding say of an ordered pair, for a pattern: the features of a link's score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.embedding.postprocessing import with_neighbours
from heat_neo4j.geometry.hyperboloid import centroids, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import AttributeRows, centred_rows, placed, unit_rows
from heat_neo4j.linkpred.baselines import (
    adamic_adar,
    largest_singular,
    paths_of_three,
    steps,
    unit_attributes,
)
from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.implications import Implications, TypedSteps
from heat_neo4j.linkpred.scorers import (
    DirectedScorer,
    DistanceScorer,
    NodeScorer,
    ProductScorer,
    SparseProductScorer,
    SumScorer,
    VectorScorer,
)
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

FEATURES = (
    "distance",  # minus the distance
    "neighbourhood_distance",  # minus that of the centroids of each node with its neighbours
    "source_out", "source_in", "target_out", "target_in",  # log(1 + relationships of the type there)
    "common_neighbours", "paths_of_three",  # of any type: log(1 + Adamic-Adar), log(1 + degree-normalised)
    # Of a graph without types: paths of three by the degrees of both ends, and what the most like nodes link
    # with, log(1 + cosines).
    "paths_by_degree", "linked_alike",
    # Nodes in common by the type alone: s -> w -> t, s -> w <- t, s <- w -> t, s <- w <- t.
    "chain", "shared_target", "shared_source", "return_chain",
    "taste_8", "taste_24", "taste_64",  # by the singular values 1-8, 9-24 and 25-64 of the type
    "attributes", "scaled_attributes",  # cosines, as they are and over their deviations
    "targets_alike",  # cosine of the target with the targets that the source has already
    "sources_alike",  # cosine of the source with the sources that the target has already
    "target_like_sources", "source_like_targets",  # the same with what leads to the source, from the target
    "ends_alike",  # cosine of the source with its targets and the target with its sources
    "targets_related", "sources_related",  # as targets_alike, sources_alike: by what other types join
    "implied_by_joins",  # how much what joins the two already, of other types or back, raises the odds
    "implied_by_paths",  # log(1 + odds of a link at the ends of typed paths of two steps, over those of any)
)  # fmt: skip
"""Features of a link, in the order of their weights."""

DIRECTION = (
    "ratio", "out", "in", "degree", "radius",  # of the two ends: log(out / in), log(1 + ...), radii
    "chain", "path_ooo", "path_ooi", "path_oio", "path_ioo",  # of paths there and back: each step out or in
    "targets_alike", "sources_alike",
)  # fmt: skip
"""Features of a direction: differences that change their sign with the order of the pair."""

_OF_DIRECTIONS = (
    "source_in", "target_out", "shared_target", "shared_source", "return_chain", "target_like_sources",
    "source_like_targets",
)  # fmt: skip
_BANDS = (("taste_8", 0, 8), ("taste_24", 8, 24), ("taste_64", 24, 64))
_ITERATIONS = 7  # of the singular vectors; more rank no better
_STEPS = {"path_ooo": "ooo", "path_ooi": "ooi", "path_oio": "oio", "path_ioo": "ioo"}


@dataclass(frozen=True)
class Feature(DirectedScorer):
    """A scorer, or the logarithm of 1 + its scores; minus that of the pair turned round, if that is asked."""

    scorer: DirectedScorer
    log: bool = False
    back: DirectedScorer | None = None  # the scorer of the pair turned round, where that is subtracted

    @property
    def n_nodes(self) -> int:  # type: ignore[override]
        """Number of second nodes."""
        return self.scorer.n_nodes

    def pairs(self, pairs: Rows) -> Array:
        """Return the feature of pairs, shape (m,)."""
        there = self._shaped(self.scorer.pairs(pairs))
        return there if self.back is None else there - self._shaped(self.back.pairs(pairs))

    def rows(self, begin: int, end: int) -> Array:
        """Return the feature of some first nodes with every second node."""
        there = self._shaped(self.scorer.rows(begin, end))
        return there if self.back is None else there - self._shaped(self.back.rows(begin, end))

    def reversed(self) -> Feature:
        """Return the feature of (v, u)."""
        return Feature(self.scorer.reversed(), self.log, None if self.back is None else self.back.reversed())

    def between(self, first: Rows, second: Rows) -> Feature:
        """Return the feature of some nodes only."""
        back = None if self.back is None else self.back.between(first, second)
        return Feature(self.scorer.between(first, second), self.log, back)

    def _shaped(self, scores: Array) -> Array:
        return np.log1p(np.maximum(scores, 0.0)) if self.log else scores


class PairFeatures:
    """The features of pairs of one graph and its embedding, points of the hyperboloid, shape (N, d + 1)."""

    def __init__(self, embedding: Array, graph: Graph) -> None:
        self.embedding, self.graph = embedding, graph

    def of(self, pattern: Pattern | None) -> PatternFeatures:
        """Return the features of a pattern, or of all pairs of a graph without directions."""
        return PatternFeatures(self, pattern)

    @cached_property
    def of_any_pattern(self) -> dict[str, Feature]:
        """Features that are the same for all types."""
        graph = self.graph
        around = with_neighbours(graph, 1.0)
        features = {
            "distance": Feature(DistanceScorer(self.embedding)),
            "neighbourhood_distance": Feature(DistanceScorer(centroids(around, self.embedding))),
            "common_neighbours": Feature(adamic_adar(graph), log=True),
            "paths_of_three": Feature(paths_of_three(graph), log=True),
        }
        if self._unit is not None:
            features["attributes"] = Feature(self._unit.product(self._unit))
        return features

    @cached_property
    def neighbours_by_type(self) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """The neighbours of each node, a column for each neighbour by each type, and the types of columns.

        An entry is one over the root of the entries of its column.
        """
        relationships, n = self.graph.relationships, self.graph.n_nodes
        assert relationships is not None
        source, target = (ends.astype(np.int64) for ends in (relationships.source, relationships.target))
        kind = np.tile(np.repeat(np.arange(len(relationships.types)), np.diff(relationships.starts)), 2)
        node, neighbour = np.append(source, target), np.append(target, source)
        codes, column = np.unique(kind * n + neighbour, return_inverse=True)
        matrix = sparse.csr_array((np.ones(len(node)), (node, column.ravel())), shape=(n, len(codes)))
        matrix.data[:] = 1.0
        popular = np.sqrt(np.maximum(matrix.sum(axis=0), 1.0))
        return sparse.csr_array(matrix @ sparse.diags_array(1.0 / popular)), codes // max(n, 1)

    @cached_property
    def _unit(self) -> AttributeRows | None:
        return unit_attributes(self.graph)

    @cached_property
    def of_pairs_alone(self) -> dict[str, Feature]:
        """Features of a graph without types, where the order of a pair does not matter."""
        graph = self.graph
        degrees = NodeScorer(np.log1p(graph.degrees.astype(np.float64)), np.add)
        features = {"paths_by_degree": Feature(ProductScorer(self.of_any_pattern["paths_of_three"], degrees))}
        if self._unit is not None:
            links, _ = steps(graph, None)
            one = SparseProductScorer(self._unit.alike(graph.degrees > 0), links)
            features["linked_alike"] = Feature(SumScorer(one, one.reversed()), log=True)
        return features

    @cached_property
    def steps(self) -> TypedSteps:
        """The steps from each node by type and way."""
        return TypedSteps.of(self.graph)

    @cached_property
    def damping(self) -> Array:
        """One over the neighbours of each node."""
        return np.asarray(1.0 / np.maximum(self.graph.degrees, 1))


class PatternFeatures:
    """The features of pairs of a pattern; those of attributes only if the graph has some."""

    def __init__(self, shared: PairFeatures, pattern: Pattern | None) -> None:
        self._shared, self._graph, self._pattern = shared, shared.graph, pattern
        if pattern is None:
            self._sources = self._targets = np.arange(shared.graph.n_nodes)
        else:
            self._sources, self._targets = (np.flatnonzero(ends) for ends in ends_of(shared.graph, pattern))

    @cached_property
    def link(self) -> dict[str, Feature]:
        """Those of a link."""
        out, back = self._out, self._back
        degrees = {"out": np.log1p(np.diff(out.indptr)), "in": np.log1p(np.diff(back.indptr))}
        nothing = np.zeros(self._graph.n_nodes)
        features = {
            **self._shared.of_any_pattern,
            **{f"source_{way}": _of_source(values, nothing) for way, values in degrees.items()},
            **{f"target_{way}": _of_target(values, nothing) for way, values in degrees.items()},
            "chain": self._chain,
            "shared_target": self._wedge(out, back),
            "shared_source": self._wedge(back, out),
            "return_chain": self._wedge(back, back),
            **self._tastes(),
            **self._alike,
            **self._related(),
            **self._implied(),
        }
        if self._pattern is None:  # out is in
            features |= self._shared.of_pairs_alone
            for name in _OF_DIRECTIONS:
                features.pop(name, None)
        return {name: features[name] for name in FEATURES if name in features}

    @cached_property
    def direction(self) -> dict[str, Feature]:
        """Those of a direction."""
        out, back = self._out, self._back
        n_out, n_in = np.diff(out.indptr).astype(np.float64), np.diff(back.indptr).astype(np.float64)
        of_nodes = {
            "ratio": np.log((n_out + 0.5) / (n_in + 0.5)),
            "out": np.log1p(n_out),
            "in": np.log1p(n_in),
            "degree": np.log1p(self._graph.degrees.astype(np.float64)),
            "radius": radius(self._shared.embedding),
        }
        steps = {"o": out, "i": back}
        paths = {name: self._path(*(steps[way] for way in ways)) for name, ways in _STEPS.items()}
        of_pairs = {"chain": self._chain, **paths, **self._alike}
        return {
            **{name: Feature(NodeScorer(values, np.add, -values)) for name, values in of_nodes.items()},
            **{name: _odd(feature) for name, feature in of_pairs.items() if name in DIRECTION},
        }

    @property
    def _out(self) -> sparse.csr_array:
        """Steps along relationships of the type."""
        return self._steps[0]

    @property
    def _back(self) -> sparse.csr_array:
        """Steps back along them."""
        return self._steps[1]

    @cached_property
    def _steps(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        return steps(self._graph, self._pattern)

    @cached_property
    def _chain(self) -> Feature:
        return self._wedge(self._out, self._out)

    def _wedge(self, first: sparse.csr_array, second: sparse.csr_array) -> Feature:
        """Return what the nodes between two steps count, each one over its neighbours.

        T. Zhou, L. Lue and Y.-C. Zhang, "Predicting missing links via local information", EPJ B 71 (2009).
        """
        left = sparse.csr_array(first @ sparse.diags_array(self._shared.damping))
        return Feature(SparseProductScorer(left, sparse.csr_array(second.T.tocsr())), log=True)

    def _path(self, first: sparse.csr_array, second: sparse.csr_array, third: sparse.csr_array) -> Feature:
        """Return what paths of three steps count, each node on it one over the root of its neighbours."""
        damping = sparse.diags_array(np.sqrt(self._shared.damping))
        left, middle = sparse.csr_array(first @ damping), sparse.csr_array(second @ damping)
        return Feature(SparseProductScorer(left, sparse.csr_array(third.T.tocsr()), middle), log=True)

    @cached_property
    def _alike(self) -> dict[str, Feature]:
        """Return the features of attributes, each scaled among the nodes that it compares.

        Among all nodes a column that all of one label share would hide all others.
        """
        attributes = self._graph.attributes
        if attributes is None or not self._graph.n_attributes:
            return {}
        sources, targets, out, back = self._sources, self._targets, self._out, self._back
        ends = np.union1d(sources, targets)
        of_ends = of_targets = of_sources = centred_rows(attributes, ends, ends)
        if not np.array_equal(sources, targets):
            of_targets, of_sources = (centred_rows(attributes, each, ends) for each in (targets, sources))
        ahead, behind = of_targets.summed(out).unit(), of_sources.summed(back).unit()
        features = {
            "scaled_attributes": of_ends.product(of_ends),
            "targets_alike": ahead.product(of_targets),
            "sources_alike": of_sources.product(behind),
        }
        if np.intersect1d(sources, targets).size:
            if of_targets is not of_ends:
                ahead, behind = (of_ends.summed(way).unit() for way in (out, back))
            features |= {
                "target_like_sources": behind.product(of_ends),
                "source_like_targets": of_ends.product(ahead),
                "ends_alike": of_ends.plus(ahead).unit().product(of_ends.plus(behind).unit()),
            }
        return {name: Feature(scorer) for name, scorer in features.items()}

    def _related(self) -> dict[str, Feature]:
        """Return how alike targets, or sources, are by what relationships of other types join them to."""
        relationships, out = self._graph.relationships, self._out
        if (
            self._pattern is None
            or relationships is None
            or not set(relationships.types) - {self._pattern.type}
        ):
            return {}
        of_targets = self._by_other_types(self._targets)
        of_sources = self._by_other_types(self._sources)
        root = sparse.diags_array(1.0 / np.sqrt(np.maximum(np.diff(out.indptr), 1)))
        return {
            # Of a source with a hub among its targets the sum of their rows is long: some are made at a time.
            "targets_related": Feature(
                SparseProductScorer(sparse.csr_array(root @ out), of_targets, middle=of_targets)
            ),
            "sources_related": Feature(
                SparseProductScorer(of_sources, sparse.csr_array(out.T.tocsr() @ of_sources)), log=True
            ),
        }

    def _implied(self) -> dict[str, Feature]:
        """Return what typed relationships between and around the two nodes imply."""
        relationships = self._graph.relationships
        if self._pattern is None or relationships is None or self._pattern.type not in relationships.types:
            return {}
        implications = Implications(self._graph, self._pattern, self._shared.steps)
        features = {"implied_by_joins": Feature(implications.by_joins())}
        if len(relationships.types) > 1:  # paths of the type alone are features of their own
            features["implied_by_paths"] = Feature(implications.by_paths(), log=True)
        return features

    def _by_other_types(self, nodes: Rows) -> sparse.csr_array:
        """Return rows of length 1 of the neighbours of some nodes by other types; others are empty."""
        neighbours, kinds = self._shared.neighbours_by_type
        own = neighbours[nodes]
        types = list(self._graph.relationships.types)  # type: ignore[union-attr]
        assert self._pattern is not None
        if self._pattern.type in types:
            own.data[kinds[own.indices] == types.index(self._pattern.type)] = 0.0
            own.eliminate_zeros()
        return placed(unit_rows(own), nodes, self._graph.n_nodes)

    def _tastes(self) -> dict[str, Feature]:
        """Return parts of the best approximation of the relationships, over the root of both degrees.

        A mean degree is added to each: otherwise small components have the largest values.
        A. Amini et al., "Pseudo-likelihood methods for community detection", Annals of Statistics 41 (2013).
        """
        sources, targets = self._sources, self._targets
        own = sparse.csr_array(self._out[sources][:, targets])
        rank = min(_BANDS[-1][2], min(own.shape) - 1)
        if rank < 2 or own.nnz == 0:
            return {}
        degrees = [np.asarray(own.sum(axis=way), dtype=np.float64) for way in (1, 0)]
        left, right = (sparse.diags_array(1.0 / np.sqrt(each + each.mean())) for each in degrees)
        scaled = sparse.csr_array(left @ own @ right)
        # Of a rare type few nodes have any: the others have vectors of zeros.
        linked = [np.flatnonzero(each) for each in degrees]
        some = sparse.csr_array(scaled[linked[0]][:, linked[1]])
        n, rank = self._graph.n_nodes, min(rank, *some.shape)
        of_sources, values, of_targets = largest_singular(some, rank, _ITERATIONS)
        of_source, of_target = np.zeros((n, rank)), np.zeros((n, rank))
        of_source[sources[linked[0]]], of_target[targets[linked[1]]] = of_sources * values, of_targets.T
        return {
            name: Feature(VectorScorer(of_source[:, low:high], other=of_target[:, low:high]))
            for name, low, high in _BANDS
            if low < rank
        }


def _of_source(values: Array, nothing: Array) -> Feature:
    return Feature(NodeScorer(values, np.add, nothing))


def _of_target(values: Array, nothing: Array) -> Feature:
    return Feature(NodeScorer(nothing, np.add, values))


def _odd(feature: Feature) -> Feature:
    return Feature(feature.scorer, feature.log, feature.scorer.reversed())
