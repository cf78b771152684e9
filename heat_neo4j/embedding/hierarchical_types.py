"""Hierarchical relationship types: found from a graph's relationships alone, with the general end of each.

In a hierarchy, relationships lead from many specific nodes to few general ones, over several levels and
without cycles. Either most specific nodes have one direct general node, as in a tree; or half of them have,
and no relationship skips a level, as in an ontology; or the type is transitive, as in a tree's closure.
Networks of dependencies, citations or friends are none of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.graph import Graph, Relationships

Rows = NDArray[np.int64]
End = Literal["source", "target"]

_FEWEST = 50  # relationships: fewer are no evidence
_CYCLIC = 0.01  # maximum share of relationships on a cycle
_BRANCHING = 2.0  # minimum number of specific nodes for each general one
_DEEP = 0.2  # minimum share of relationships that lead to a node that is specific itself
_LEVELS = 3  # minimum number of levels
_MIDDLE = 5  # nodes on the levels between: with fewer, a relationship or two in error could make the levels
_ONE = 0.8  # minimum share of specific nodes with one general node, in a tree
_HALF = 0.5  # the same in an ontology
_SKIPPING = 0.001  # maximum share of two-step paths that a relationship shortens, in an ontology
_TRANSITIVE = 0.75  # minimum share of two-step paths that a relationship shortens, in a closure
_SAMPLE = 5_000  # two-step paths sampled
_MOST_LEVELS = 100  # levels counted; with as many, the type orders nodes along a line
_LONGEST = 60  # characters of a type that are shown


@dataclass(frozen=True, eq=False)
class HierarchyEvidence:
    """How hierarchical a relationship type is, with the evidence.

    Parameters
    ----------
    type : str
        The relationship type.
    general_end : {"target", "source"}
        The more general end: the one that leads to fewer tops, nodes from which no relationship leads on.
    n_relationships : int
        Number of relationships, parallel ones counted once.
    n_specific, n_general : int
        Number of nodes at the specific and at the general end; a node can be at both.
    n_with_one : int
        Specific nodes with exactly one direct general node.
    n_middle : int
        Nodes that are both specific and general.
    deep : float in [0, 1]
        Share of relationships whose general end has a general node itself; 0 in a bipartite type.
    transitive : float in [0, 1]
        Share of two-step paths that a relationship shortens, in a sample of 5,000; 0 if there are none.
    up : csr_array of shape (N, N)
        Entries (specific node, general node).
    """

    type: str
    general_end: End
    n_relationships: int
    n_specific: int
    n_general: int
    n_with_one: int
    n_middle: int
    deep: float
    transitive: float
    up: sparse.csr_array

    @cached_property
    def component(self) -> NDArray[np.int32]:
        """Number of the cycle, or of connected cycles, that each node is in, shape (N,)."""
        return np.asarray(connected_components(self.up, connection="strong")[1])

    @cached_property
    def between(self) -> Rows:
        """Pairs of components that relationships lead between, shape (m, 2)."""
        ends = self.up.tocoo()
        pairs = np.column_stack((self.component[ends.row], self.component[ends.col])).astype(np.int64)
        return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])

    @property
    def n_cyclic(self) -> int:
        """Number of relationships on a directed cycle."""
        return self.n_relationships - len(self.between)

    @cached_property
    def levels(self) -> int:
        """Number of nodes on the longest path, 100 at most; a cycle counts as one node. 2 if bipartite."""
        return _levels(np.unique(self.between, axis=0), int(self.component.max()) + 1)

    @property
    def is_clear(self) -> bool:
        """Whether the evidence suffices to call the type a hierarchy."""
        is_tree = self.n_with_one >= _ONE * self.n_specific
        is_ontology = self.n_with_one >= _HALF * self.n_specific and self.transitive <= _SKIPPING
        return (
            self.n_relationships >= _FEWEST
            and self.n_specific >= _BRANCHING * self.n_general
            and self.deep >= _DEEP
            and self.n_middle >= _MIDDLE
            and (is_tree or is_ontology or self.transitive >= _TRANSITIVE)
            and self.n_cyclic <= _CYCLIC * self.n_relationships
            and _LEVELS <= self.levels < _MOST_LEVELS
        )

    def __str__(self) -> str:
        """Return the type and the evidence, such as ``PART_OF, target is more general: ...``."""
        return f"{display_text(self.type, _LONGEST)}, {self.in_words}"

    @property
    def in_words(self) -> str:
        """The evidence, such as ``target is more general: 97% of 79,901 sources have one target, ...``."""
        specific = "source" if self.general_end == "target" else "target"
        share = self.n_with_one / self.n_specific
        order = f"{share:.0%} of {plural(self.n_specific, specific)} have one {self.general_end}"
        if share < _ONE <= _ONE + self.transitive - _TRANSITIVE:
            order = f"{self.transitive:.0%} of grandparents are linked directly"
        cycles = "no cycles"
        if self.n_cyclic:
            cycles = f"{plural(self.n_cyclic, 'relationship')} on cycles"
        more = " or more" if self.levels == _MOST_LEVELS else ""
        levels = f"{self.levels}{more} levels"
        return f"{self.general_end} is more general: {order}, {cycles}, {levels}"


def find_hierarchies(graph: Graph) -> tuple[HierarchyEvidence, ...]:
    """Return the hierarchical relationship types of a graph, the largest first.

    A type is hierarchical if at least 50 relationships lead to at most half as many general nodes as there
    are specific ones; at most 1 % of them are on a cycle; a fifth or more leads to a node that is specific
    itself, and 5 nodes or more are both; there are 3 to 99 levels; and either 80 % of the specific nodes have
    one general node; or half of them have, and at most .1 % of two-step paths are relationships themselves;
    or at least 75 % are. Bipartite types, such as User-RATED->Film, have two levels and are never
    hierarchical.

    Parameters
    ----------
    graph : Graph
        A graph; one without types and directions has no hierarchies.

    Returns
    -------
    tuple of HierarchyEvidence

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from heat_neo4j.graph import Graph, Relationships
    >>> child = np.arange(1, 364)
    >>> parent = (child - 1) // 3
    >>> graph = Graph(
    ...     sparse.csr_array((np.ones(363), (child, parent)), shape=(364, 364)),
    ...     relationships=Relationships.from_pairs({"PART_OF": (child, parent)}),
    ... )
    >>> print(*find_hierarchies(graph))
    PART_OF, target is more general: 100% of 363 sources have one target, no cycles, 6 levels
    """
    if graph.relationships is None:
        return ()
    types = (inspect_hierarchy(graph, name) for name in graph.relationships.types)
    found = [each for each in types if each.is_clear]
    return tuple(sorted(found, key=lambda each: (-each.n_relationships, each.type)))


def inspect_hierarchy(graph: Graph, name: str) -> HierarchyEvidence:
    """Return the general end of any relationship type, and the evidence that it is a hierarchy.

    Parameters
    ----------
    graph : Graph
        A graph with types and directions.
    name : str
        A relationship type of the graph.

    Returns
    -------
    HierarchyEvidence

    Raises
    ------
    ValueError
        If the graph knows no types, or has no such type.
    """
    relationships = require_type(graph, name)
    n = graph.n_nodes
    source, target = (ends.astype(np.int64) for ends in relationships.of(name))
    out, into = (np.bincount(ends, minlength=n) for ends in (source, target))
    tops, bottoms = np.count_nonzero((out == 0) & (into > 0)), np.count_nonzero((into == 0) & (out > 0))
    general_end: End = "target" if tops <= bottoms else "source"
    ahead = relationships.matrix(name, n)
    up, down, above = (out, into, target) if general_end == "target" else (into, out, source)
    return HierarchyEvidence(
        name,
        general_end,
        n_relationships=len(source),
        n_specific=int(np.count_nonzero(up)),
        n_general=int(np.count_nonzero(down)),
        n_with_one=int(np.count_nonzero(up == 1)),
        n_middle=int(np.count_nonzero((up > 0) & (down > 0))),
        deep=float(np.mean(up[above] > 0)),
        transitive=_transitive(source, target, out),
        up=sparse.csr_array(ahead if general_end == "target" else ahead.T),
    )


def require_type(graph: Graph, name: str) -> Relationships:
    """Return the relationships of a graph; raises ValueError unless some are of type `name`."""
    if graph.relationships is None:
        raise ValueError("a hierarchy needs a graph with relationship types and directions")
    if name not in graph.relationships.types:
        known = ", ".join(map(display_text, graph.relationships.types))
        raise ValueError(f"no relationships of type {display_text(name)}: the graph has {known or 'none'}")
    return graph.relationships


def _transitive(source: Rows, target: Rows, out: Rows) -> float:
    """Return the share of two-step paths that a relationship shortens; ends are sorted by source, target."""
    n = len(out)
    rng = np.random.default_rng(0)
    first = np.flatnonzero(out[target])
    if not len(first):
        return 0.0
    first = first[rng.integers(len(first), size=_SAMPLE)]
    middle = target[first]
    second = (np.cumsum(out) - out)[middle] + (rng.random(_SAMPLE) * out[middle]).astype(np.int64)
    ends = np.column_stack((source[first], target[second]))
    ends = ends[ends[:, 0] != ends[:, 1]]
    codes, wanted = source * n + target, ends[:, 0] * n + ends[:, 1]
    place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return float(np.mean(codes[place] == wanted)) if len(wanted) else 0.0


def _levels(edges: Rows, n_nodes: int) -> int:
    """Return the number of nodes on the longest path of an acyclic graph, or the most that are counted."""
    above, below = edges[:, 1], edges[:, 0]
    down = sparse.csr_array((np.ones(len(edges), np.int8), (above, below)), shape=(n_nodes, n_nodes))
    starts, sizes = down.indptr.astype(np.int64), np.diff(down.indptr).astype(np.int64)
    left = np.bincount(below, minlength=n_nodes)  # relationships to nodes that have no level yet
    level = np.unique(above[left[above] == 0])
    levels = 1
    while len(level) and levels < _MOST_LEVELS:
        counts = sizes[level]
        places = np.repeat(starts[level] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        reached, times = np.unique(down.indices[places], return_counts=True)
        left[reached] -= times
        level = reached[left[reached] == 0]
        levels += len(level) > 0
    return levels
