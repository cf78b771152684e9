"""Features of a link score: values of an ordered pair, from the graph and the embedding, for a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.csr import first_of_rows, scaled_columns, scaled_rows
from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.embedding.placement import with_neighbours
from heat_neo4j.geometry.hyperboloid import centroids, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import placed, unit_rows
from heat_neo4j.linkpred.baselines import (
    adamic_adar,
    largest_singular,
    paths_of_three,
    steps,
)
from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.differences import DifferenceScorer, difference_scorers, differences_of
from heat_neo4j.linkpred.implications import Implications, TypedSteps
from heat_neo4j.linkpred.likeness import Likeness
from heat_neo4j.linkpred.places import Places
from heat_neo4j.linkpred.scorers import (
    CombinedScorer,
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
    "neighbourhood_distance",  # minus the distance between the centroids of both neighbourhoods
    "source_out", "source_in", "target_out", "target_in",  # log(1 + relationships of the type at that end)
    # target_in if the source has no relationships, else 0: a new node links to popular ones first.
    "target_in_if_isolated",
    "common_neighbours", "paths_of_three",  # all types: log(1 + Adamic-Adar), log(1 + degree-normalised)
    # Graphs without types only: paths of three times log degrees of both ends; log(1 + cosines) of the nodes
    # most similar to one end that are linked to the other.
    "paths_by_degree", "linked_alike",
    # Common neighbours by the type alone: s -> w -> t, s -> w <- t, s <- w -> t, s <- w <- t.
    "chain", "shared_target", "shared_source", "return_chain",
    "taste_8", "taste_24", "taste_64",  # SVD of the type's link matrix: singular values 1-8, 9-24, 25-64
    "attributes", "scaled_attributes",  # cosines of raw and of standardised attributes
    "targets_alike",  # cosine of the target with the source's existing targets
    "sources_alike",  # cosine of the source with the target's existing sources
    "target_like_sources", "source_like_targets",  # target ~ source's sources, source ~ target's targets
    "ends_alike",  # cosine of (source + its targets) with (target + its sources)
    # log(1 + cosines) of the nodes most similar to the source that link to the target, over 1 + the source's
    # links; and of those most similar to the target that the source links to, over 1 + the target's.
    "source_like_linked", "target_like_linked",
    "targets_related", "sources_related",  # as targets_alike, sources_alike, by neighbours of other types
    "implied_by_joins",  # increase in log odds given the pair's other relationships, of other types or back
    "implied_by_paths",  # log(1 + odds given typed paths of two steps, relative to the base odds)
)  # fmt: skip
"""Features of a link, in the order of their weights."""

ISOLATED = ("source_isolated", "target_isolated")  # 1 if the end has no relationships, else 0
"""Further features, where a link of such ends is likelier or less likely than others; see `link_score`."""

AGES = ("source_age", "target_age")  # time since the end's latest relationship; -1 if none has a time
"""Further features, of graphs whose relationships have times; see `link_score`."""

NAMED = ("target_named", "source_named")  # how much the texts of one node mention the other
"""Further features, of graphs with texts."""

APART = "apart"  # log(1 + squared distance of their points)
"""A further feature, of graphs with a property of points."""

DIRECTION = (
    "ratio", "out", "in", "degree", "radius",  # differences of both ends: log(out / in), log(1 + ...), radius
    "chain", "path_ooo", "path_ooi", "path_oio", "path_ioo",  # paths forward minus back; steps out or in
    "targets_alike", "sources_alike",
)  # fmt: skip
"""Direction features: differences that change sign when the pair is reversed."""

_OF_DIRECTIONS = (
    "source_in", "target_out", "shared_target", "shared_source", "return_chain", "target_like_sources",
    "source_like_targets",
)  # fmt: skip
_BANDS = (("taste_8", 0, 8), ("taste_24", 8, 24), ("taste_64", 24, 64))
_NEAR_VECTORS = 20  # nodes with similar vectors whose links count
_NOW = 0.99  # quantile of the times
_ITERATIONS = 7  # power iterations of the SVD; more did not improve the ranking
_STEPS = {"path_ooo": "ooo", "path_ooi": "ooi", "path_oio": "oio", "path_ioo": "ioo"}


def features_of(graph: Graph) -> tuple[str, ...]:
    """Return the names of the features that a graph's links can have."""
    every = np.arange(graph.n_nodes)
    has_text = any(map(is_text, graph.provenance.attribute_recipe))
    has_points = Places.of(graph, every, every) is not None
    more = (*(NAMED if has_text else ()), *((APART,) if has_points else ()))
    return (*FEATURES, *more, *differences_of(graph))


def ages(graph: Graph) -> Array:
    """Return the time since each node's latest relationship, shape (N,); -1 if none of them has a time.

    Now is the 99th percentile of all times, as a wrong one may be far in the future.
    """
    times, latest = graph.edge_times, np.full(graph.n_nodes, np.nan)
    if times is None or np.isnan(times).all():
        return np.full(graph.n_nodes, -1.0)
    edges = graph.edges
    for ends in (edges.row, edges.col):
        np.fmax.at(latest, ends, times)
    passed = np.maximum(np.nanquantile(times, _NOW) - latest, 0.0)
    return np.where(np.isnan(passed), -1.0, passed)


class Feature(CombinedScorer):
    """A scorer, optionally as log(1 + x), minus the value of the reversed pair if `back` is given."""

    def __init__(
        self, scorer: DirectedScorer, *, log: bool = False, back: DirectedScorer | None = None
    ) -> None:
        super().__init__(*([scorer] if back is None else [scorer, back]))
        self._log = log

    def odd(self) -> Feature:
        """Return the feature minus that of the reversed pair."""
        (scorer,) = self._scorers
        return Feature(scorer, log=self._log, back=scorer.reversed())

    def ceiling(self) -> Array | None:
        """Return an upper bound of each first node's values; None for a difference."""
        return super().ceiling() if len(self._scorers) == 1 else None

    def _combined(self, scores: Sequence[Array]) -> Array:
        there, *back = [np.log1p(np.maximum(each, 0.0)) if self._log else each for each in scores]
        return there - back[0] if back else there


class PairFeatures:
    """Pair features of one graph and its embedding: points on the hyperboloid, shape (N, d + 1).

    `likeness` is that of the graph; it need not be computed twice. `names` are those of the features that
    the score has, or can have: the differences among them are features, too.
    """

    def __init__(
        self, embedding: Array, graph: Graph, likeness: Likeness | None = None, names: Sequence[str] = ()
    ) -> None:
        self.embedding, self.graph, self.likeness = embedding, graph, likeness or Likeness(graph)
        self._names = names

    def of(self, pattern: Pattern | None) -> PatternFeatures:
        """Return the features of a pattern, or of all pairs of an undirected graph."""
        return PatternFeatures(self, pattern)

    @cached_property
    def of_any_pattern(self) -> dict[str, Feature]:
        """Features that do not depend on the type."""
        graph = self.graph
        around = with_neighbours(graph, 1.0)
        features = {
            "distance": Feature(DistanceScorer(self.embedding)),
            "neighbourhood_distance": Feature(DistanceScorer(centroids(around, self.embedding))),
            "common_neighbours": Feature(adamic_adar(graph), log=True),
            "paths_of_three": Feature(paths_of_three(graph), log=True),
        }
        if (unit := self.likeness.unit) is not None:
            features["attributes"] = Feature(unit.product(unit))
        if (mentions := self.likeness.mentions) is not None:
            named = mentions.of_targets()
            features |= {"target_named": Feature(named), "source_named": Feature(named.reversed())}
        return features

    @cached_property
    def neighbours_by_type(self) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Matrix of neighbours, one column per (type, neighbour), and the type of each column.

        Entries are 1 / sqrt(number of entries in the column).
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
        return scaled_columns(matrix, 1.0 / popular), codes // max(n, 1)

    @cached_property
    def most_similar(self) -> sparse.csr_array | None:
        """Cosines of each node with the most similar ones that have a link, shape (N, N)."""
        alike, near = self.likeness.most_similar(self.graph.degrees > 0), self.likeness.near_vectors
        if alike is None or near is None:
            return alike
        return sparse.csr_array(alike + first_of_rows(near, _NEAR_VECTORS))

    @cached_property
    def of_pairs_alone(self) -> dict[str, Feature]:
        """Symmetric features for graphs without types."""
        graph = self.graph
        degrees = NodeScorer(np.log1p(graph.degrees.astype(np.float64)), np.add)
        features = {"paths_by_degree": Feature(ProductScorer(self.of_any_pattern["paths_of_three"], degrees))}
        if (alike := self.most_similar) is not None:
            links, _ = steps(graph, None)
            one = SparseProductScorer(alike, links)
            features["linked_alike"] = Feature(SumScorer(one, one.reversed()), log=True)
        return features

    @cached_property
    def steps(self) -> TypedSteps:
        """Steps from each node, by type and direction."""
        return TypedSteps.of(self.graph)

    @cached_property
    def age(self) -> Array:
        """Time since each node's latest relationship; see `ages`."""
        return ages(self.graph)

    @cached_property
    def differences(self) -> dict[str, DifferenceScorer]:
        """Scorers of the differences of numbers."""
        return difference_scorers(self.graph, self._names)

    @cached_property
    def damping(self) -> Array:
        """1 / degree of each node."""
        return np.asarray(1.0 / np.maximum(self.graph.degrees, 1))


class PatternFeatures:
    """Pair features of one pattern; attribute features only if the graph has attributes."""

    def __init__(self, shared: PairFeatures, pattern: Pattern | None) -> None:
        self._shared, self._graph, self._pattern = shared, shared.graph, pattern
        if pattern is None:
            self._sources = self._targets = np.arange(shared.graph.n_nodes)
        else:
            self._sources, self._targets = (np.flatnonzero(ends) for ends in ends_of(shared.graph, pattern))

    @cached_property
    def link(self) -> dict[str, Feature]:
        """Features of a link, by name."""
        out, back = self._out, self._back
        degrees = {"out": np.log1p(np.diff(out.indptr)), "in": np.log1p(np.diff(back.indptr))}
        nothing, isolated = np.zeros(self._graph.n_nodes), (self._graph.degrees == 0).astype(np.float64)
        like_linked = self._like_linked()  # uses the threads, so it is none of the parts
        parts = (self._tastes, lambda: self._alike, self._related, self._implied, self._wedges)
        tastes, alike, related, implied, wedges = self._shared.likeness.workers.map(
            lambda part: part(), parts
        )
        features = {
            **self._shared.of_any_pattern,
            ISOLATED[0]: _of_source(isolated, nothing),
            ISOLATED[1]: _of_target(isolated, nothing),
            **{f"source_{way}": _of_source(values, nothing) for way, values in degrees.items()},
            **{f"target_{way}": _of_target(values, nothing) for way, values in degrees.items()},
            "target_in_if_isolated": Feature(NodeScorer(isolated, np.multiply, degrees["in"])),
            **wedges,
            **tastes,
            **alike,
            **like_linked,
            **related,
            **implied,
        }
        if self._pattern is None:  # undirected: out equals in
            features |= self._shared.of_pairs_alone
            for name in _OF_DIRECTIONS:
                features.pop(name, None)
        if self._graph.edge_times is not None:
            age = self._shared.age
            features |= {AGES[0]: _of_source(age, nothing), AGES[1]: _of_target(age, nothing)}
        if (places := Places.of(self._graph, self._sources, self._targets)) is not None:
            features[APART] = Feature(places.squares(), log=True)
        names = (*FEATURES, *NAMED, *ISOLATED, *AGES, APART)
        return {name: features[name] for name in names if name in features} | self._differences()

    def _differences(self) -> dict[str, Feature]:
        """Return the differences of numbers that nodes at both ends have."""
        ends = self._sources, self._targets
        own = {} if self._pattern is None else self._shared.differences
        return {name: Feature(each) for name, each in own.items() if each.is_known_of(*ends)}

    @cached_property
    def direction(self) -> dict[str, Feature]:
        """Features of a direction, by name."""
        out, back = self._out, self._back
        n_out, n_in = np.diff(out.indptr).astype(np.float64), np.diff(back.indptr).astype(np.float64)
        of_nodes = {
            "ratio": np.log((n_out + 0.5) / (n_in + 0.5)),
            "out": np.log1p(n_out),
            "in": np.log1p(n_in),
            "degree": np.log1p(self._graph.degrees.astype(np.float64)),
            "radius": radius(self._shared.embedding),
        }
        steps, turned = {"o": out, "i": back}, {"o": back, "i": out}
        paths = {
            name: self._path(steps[ways[0]], steps[ways[1]], turned[ways[2]]) for name, ways in _STEPS.items()
        }
        of_pairs = {"chain": self._chain, **paths, **self._alike}
        return {
            **{name: Feature(NodeScorer(values, np.add, -values)) for name, values in of_nodes.items()},
            **{name: feature.odd() for name, feature in of_pairs.items() if name in DIRECTION},
        }

    @property
    def _out(self) -> sparse.csr_array:
        """Matrix of the type's relationships."""
        return self._steps[0]

    @property
    def _back(self) -> sparse.csr_array:
        """Matrix of the type's reversed relationships."""
        return self._steps[1]

    @cached_property
    def _steps(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        return steps(self._graph, self._pattern)

    @cached_property
    def _chain(self) -> Feature:
        return self._wedge(self._out, self._back)

    def _wedges(self) -> dict[str, Feature]:
        """Return the common neighbours by the type alone."""
        out, back = self._out, self._back
        return {
            "chain": self._chain,
            "shared_target": self._wedge(out, out),
            "shared_source": self._wedge(back, back),
            "return_chain": self._wedge(back, out),
        }

    def _wedge(self, first: sparse.csr_array, last: sparse.csr_array) -> Feature:
        """Return log(1 + sum of 1 / deg(w)) over nodes w, a step from the source and one from the target.

        Resource allocation: T. Zhou, L. Lue and Y.-C. Zhang, "Predicting missing links via local
        information", EPJ B 71 (2009).
        """
        return Feature(SparseProductScorer(scaled_columns(first, self._shared.damping), last), log=True)

    def _path(self, first: sparse.csr_array, second: sparse.csr_array, last: sparse.csr_array) -> Feature:
        """Return the feature of three-step paths, with each inner node weighted 1 / sqrt(degree).

        The last step is one from the target.
        """
        left, middle = (scaled_columns(each, np.sqrt(self._shared.damping)) for each in (first, second))
        return Feature(SparseProductScorer(left, last, middle), log=True)

    @cached_property
    def _alike(self) -> dict[str, Feature]:
        """Return the attribute features, each standardised over the nodes that it compares.

        Over all nodes, a column that one whole label shares would dominate all others.
        """
        if not self._graph.n_attributes:
            return {}
        centred = self._shared.likeness.centred
        sources, targets, out, back = self._sources, self._targets, self._out, self._back
        ends = np.union1d(sources, targets)
        of_ends = of_targets = of_sources = centred.of(ends, ends)
        if not np.array_equal(sources, targets):
            of_targets, of_sources = (centred.of(each, ends) for each in (targets, sources))
        ahead, behind = of_targets.summed(out).unit(), of_sources.summed(back).unit()
        features = {
            "scaled_attributes": of_ends.product(of_ends),
            "targets_alike": ahead.product(of_targets),
            "sources_alike": of_sources.product(behind),
        }
        if np.intersect1d(sources, targets).size:
            if of_targets is not of_sources:
                ahead, behind = (of_ends.summed(way).unit() for way in (out, back))
            features |= {
                "target_like_sources": behind.product(of_ends),
                "source_like_targets": of_ends.product(ahead),
                "ends_alike": of_ends.plus(ahead).unit().product(of_ends.plus(behind).unit()),
            }
        return {name: Feature(scorer) for name, scorer in features.items()}

    def _like_linked(self) -> dict[str, Feature]:
        """Return features of the links of each end's most similar nodes, for nodes with few links."""
        alike = None if self._pattern is None else self._shared.most_similar
        if alike is None:
            return {}
        nothing = np.zeros(self._graph.n_nodes)
        source = Feature(SparseProductScorer(alike, self._back), log=True)
        target = Feature(SparseProductScorer(self._out, alike), log=True)
        few_out, few_in = (1.0 / (1.0 + np.diff(way.indptr)) for way in (self._out, self._back))
        return {
            "source_like_linked": Feature(ProductScorer(source, _of_source(few_out, nothing))),
            "target_like_linked": Feature(ProductScorer(target, _of_target(few_in, nothing))),
        }

    def _related(self) -> dict[str, Feature]:
        """Return the similarity of targets, and of sources, by their neighbours of other types."""
        relationships, out = self._graph.relationships, self._out
        if (
            self._pattern is None
            or relationships is None
            or not set(relationships.types) - {self._pattern.type}
        ):
            return {}
        of_targets = self._by_other_types(self._targets)
        of_sources = self._by_other_types(self._sources)
        root = 1.0 / np.sqrt(np.maximum(np.diff(out.indptr), 1))
        return {
            # A hub among the targets makes the sum of their rows long, so few sums are held at a time.
            "targets_related": Feature(
                SparseProductScorer(scaled_rows(out, root), of_targets, middle=of_targets)
            ),
            "sources_related": Feature(
                SparseProductScorer(of_sources, sparse.csr_array(self._back @ of_sources)), log=True
            ),
        }

    def _implied(self) -> dict[str, Feature]:
        """Return the features implied by typed relationships between and around the two nodes."""
        relationships = self._graph.relationships
        if self._pattern is None or relationships is None or self._pattern.type not in relationships.types:
            return {}
        implications = Implications(self._graph, self._pattern, self._shared.steps)
        features = {"implied_by_joins": Feature(implications.by_joins())}
        if len(relationships.types) > 1:  # paths of a single type are covered by the chain features
            features["implied_by_paths"] = Feature(implications.by_paths(), log=True)
        return features

    def _by_other_types(self, nodes: Rows) -> sparse.csr_array:
        """Return unit rows of the given nodes' neighbours by other types; rows of other nodes are empty."""
        neighbours, kinds = self._shared.neighbours_by_type
        own = neighbours[nodes]
        types = list(self._graph.relationships.types)  # type: ignore[union-attr]
        assert self._pattern is not None
        if self._pattern.type in types:
            own.data[kinds[own.indices] == types.index(self._pattern.type)] = 0.0
            own.eliminate_zeros()
        return placed(unit_rows(own), nodes, self._graph.n_nodes)

    def _tastes(self) -> dict[str, Feature]:
        """Return bands of the SVD of the degree-normalised link matrix.

        The mean degree is added to each degree; otherwise small components have the largest singular values.
        A. Amini et al., "Pseudo-likelihood methods for community detection", Annals of Statistics 41 (2013).
        """
        sources, targets = self._sources, self._targets
        own = sparse.csr_array(self._out[sources][:, targets])
        rank = min(_BANDS[-1][2], min(own.shape) - 1)
        if rank < 2 or own.nnz == 0:
            return {}
        degrees = [np.asarray(own.sum(axis=way), dtype=np.float64) for way in (1, 0)]
        left, right = (1.0 / np.sqrt(each + each.mean()) for each in degrees)
        scaled = scaled_columns(scaled_rows(own, left), right)
        # Few nodes have links of a rare type; the others get zero vectors.
        linked = [np.flatnonzero(each) for each in degrees]
        some = sparse.csr_array(scaled[linked[0]][:, linked[1]])
        n, rank = self._graph.n_nodes, min(rank, *some.shape)
        of_sources, values, of_targets = largest_singular(some, rank, _ITERATIONS)
        of_source, of_target = np.zeros((n, rank)), np.zeros((n, rank))
        of_source[sources[linked[0]]], of_target[targets[linked[1]]] = of_sources * values, of_targets.T
        return {
            name: Feature(VectorScorer(of_source[:, low:high], of_target[:, low:high]))
            for name, low, high in _BANDS
            if low < rank
        }


def _of_source(values: Array, nothing: Array) -> Feature:
    return Feature(NodeScorer(values, np.add, nothing))


def _of_target(values: Array, nothing: Array) -> Feature:
    return Feature(NodeScorer(nothing, np.add, values))
