"""Schema rules: which links a graph's relationships rule out, learned with counts and stated in words.

A rule is learned where exceptions are rare, and far rarer than by chance. The chance is that of a graph with
the same degrees (cardinality, cycles, chains), or of pairs near a relationship of the type (exclusion). Rules
of this kind are the cardinalities, irreflexivity, asymmetry and disjointness of ontologies; see E. Munoz,
P. Minervini and M. Nickles, "Embedding cardinality constraints in neural link predictors", SAC (2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import betaincinv, pdtrc

from heat_neo4j._kernels.chains import choose, have_chain
from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import ends_of, entries, relationships_of
from heat_neo4j.patterns import Pattern

__all__ = [
    "Bound",
    "Evidence",
    "Exclusion",
    "PatternRules",
    "Rule",
    "SchemaRules",
    "Selection",
    "learn_schema_rules",
]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_RARE = 0.05  # share of exceptions, by the end of its interval
_RARELY_BACK = 0.01  # the same of links that lead back, or close a cycle
_BELOW_CHANCE = 0.2  # exceptions, by the end of their interval, for each that chance would bring
_TAIL = 0.05  # probability beyond an interval's end
_SAMPLE = 20_000  # relationships of a pattern that are looked at
_MOVES = 8  # pairs nearby for each of them
_SEARCHED_LINKS = 2_000  # for one pair, by the search for chains
_LONGEST = 40  # characters of a name in a sentence


class Rule(IntEnum):
    """Why a pair is not proposed; the first that applies."""

    ALLOWED = 0
    SELF = 1  # a node with itself
    LINKED = 2  # a relationship of the type joins the pair already
    PER_SOURCE = 3  # the source has as many as it may
    PER_TARGET = 4  # the target has as many as it may
    ONE_WAY = 5  # a relationship of the type leads back, which relationships of the pattern do not answer
    CYCLE = 6  # relationships of the type lead back, and they form no cycles
    IMPLIED = 7  # a chain of the type's relationships leads there, beside which there are no direct ones
    EXCLUDED = 8  # a relationship of a type that excludes this one joins the pair, or a likelier proposal
    ONE_OF_PAIR = 9  # a likelier proposal of the type joins the two nodes
    MOST_LINKS = 10  # likelier proposals are as many as the pattern may get


@dataclass(frozen=True)
class Evidence:
    """How often relationships are exceptions to a rule, and how often they would be by chance."""

    n: int  # relationships, or nodes, that were looked at
    n_exceptions: int
    by_chance: float  # exceptions among as many


@dataclass(frozen=True)
class Bound:
    """Most relationships of a pattern at a node."""

    most: int
    n_full: int  # nodes with exactly so many
    evidence: Evidence  # of the nodes that have any: those with more


@dataclass(frozen=True)
class Exclusion:
    """A type whose relationships join no pair that the pattern's relationships join."""

    type: str
    same_way: bool  # whether both lead the same way, or one of them back
    evidence: Evidence


@dataclass(frozen=True)
class PatternRules:
    """What the relationships of a pattern say about further ones; None where they say nothing."""

    pattern: Pattern | None
    max_links: int
    per_source: Bound | None = None
    per_target: Bound | None = None
    one_way: Evidence | None = None
    acyclic: Evidence | None = None
    direct: Evidence | None = None  # beside a chain of the type's relationships there is no direct one
    exclusions: tuple[Exclusion, ...] = ()


class Selection(NamedTuple):
    """Which proposals are kept, and why others are not."""

    kept: NDArray[np.bool_]  # (m,)
    rule: NDArray[np.int8]  # (m,): the `Rule` by which each is dropped; 0 if it is kept
    dropped: tuple[dict[Rule, int], ...]  # for each pattern, how many by which rule


@dataclass(frozen=True)
class SchemaRules:
    """The rules of some patterns; see `learn_schema_rules`."""

    rules: tuple[PatternRules, ...]

    def forbidden(self, graph: Graph, pattern: Pattern | None, pairs: Rows) -> NDArray[np.int8]:
        """Return the `Rule` that forbids each pair, shape (m,); 0 if it may be proposed."""
        raise NotImplementedError

    def apply(
        self, graph: Graph, patterns: Sequence[Pattern | None], pattern: Rows, pairs: Rows, scores: Array
    ) -> Selection:
        """Return which proposals are kept."""
        raise NotImplementedError

    def sentences(self, dropped: Sequence[Mapping[Rule, int]] = ()) -> list[str]:
        """Return the rules in words."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON data; `from_dict` reads it."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the rules that `to_dict` described."""
        raise NotImplementedError


def learn_schema_rules(graph: Graph, patterns: Sequence[Pattern | None]) -> SchemaRules:
    """Return what a graph's relationships rule out."""
    raise NotImplementedError
