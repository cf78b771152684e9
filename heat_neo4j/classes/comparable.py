"""Leave out features that hardly any node without a class has.

A city is often both a property and the end of a relationship, so nodes have both or neither. A model that
uses the relationship is right on every held-out node and useless on the nodes to predict. So is one that uses
the words of a text from which the classes were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binom

from heat_neo4j._utils.display import plural
from heat_neo4j.attributes.kinds import Kind, is_text
from heat_neo4j.graph import Graph

Rows = NDArray[np.int64]

_WORDS = (Kind.TEXT, Kind.CATEGORY, Kind.TAGS)
_USUAL, _HARDLY_ANY = 0.5, 0.1  # shares of the nodes with a class, and without one, that have something
_BY_CHANCE = 0.01  # probability that so few of the others have it if as many of them should


@dataclass(frozen=True)
class Telltale:
    """A relationship type or a property that hardly any node without a class has."""

    name: str
    known: float  # share of the nodes with a class that have it
    asked: float  # of those without


def note_on(found: Sequence[Telltale]) -> str:
    """Return a line on features that are not used; there is at least one."""
    known, asked = min(each.known for each in found), max(each.asked for each in found)
    names = [each.name for each in found]
    shares = f"{known:.0%} of the nodes with a value have {names[0]}, {asked:.0%} of those without"
    if len(names) > 1:
        shares = f"at least {known:.0%} of the nodes with a value have each, at most {asked:.0%} without one"
    return f"{', '.join(names)} and the coordinates are not used: {shares}"


def telltale_types(graph: Graph, known: Rows, asked: Rows) -> tuple[Telltale, ...]:
    """Return the relationship types that nodes with a class have and nodes without one lack."""
    own = graph.relationships
    ends = () if own is None else ((name, end) for name in own.types for end in own.of(name))
    have = ((name, np.bincount(end, minlength=graph.n_nodes) > 0) for name, end in ends)
    return _telltale(have, known, asked)


def telltale_properties(graph: Graph, known: Rows, asked: Rows) -> tuple[Telltale, ...]:
    """Return the attributes that nodes with a class have and nodes without one lack."""
    return _telltale(_has(graph), known, asked)


def without_telltale_words(
    graph: Graph, known: Rows, asked: Rows, without: Collection[str]
) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph without words and values that hardly any asked node has, and a note for each property.

    Rare words are kept: that no asked node has them may be chance.
    """
    attributes: Any = graph.attributes
    kept, notes = np.ones(graph.n_attributes), []
    for entry, columns, _ in graph.attribute_blocks():
        if entry["kind"] not in _WORDS or entry["property"] in without or not len(asked):
            continue
        own: Any = sparse.csr_array(attributes[:, columns])
        share, found = (own[known] != 0.0).sum(axis=0) / len(known), (own[asked] != 0.0).sum(axis=0)
        by_chance = binom.cdf(found, len(asked), share) * graph.n_attributes
        telltale = (found <= _HARDLY_ANY * share * len(asked)) & (by_chance < _BY_CHANCE)
        if telltale.any():
            kept[columns] = ~telltale
            n = int(telltale.sum())
            left_out = f"{plural(n, 'word' if is_text(entry) else 'value')} of {entry['property']} left out"
            them = "it" if n == 1 else "them"
            notes.append(f"{left_out}, as hardly any of the nodes without a value has {them}")
    if not notes:
        return graph, ()
    attributes = sparse.csr_array(sparse.csr_array(attributes).multiply(kept))
    return replace(graph, attributes=attributes), tuple(notes)


def has_attributes(graph: Graph, without: Collection[str]) -> NDArray[np.bool_]:
    """Return which nodes have any attribute other than some, shape (N,)."""
    found = np.zeros(graph.n_nodes, dtype=np.bool_)
    for name, has in _has(graph):
        if name not in without:
            found |= has
    if not graph.provenance.attribute_recipe and graph.attributes is not None:
        found |= _filled(graph.attributes)
    return found


def _has(graph: Graph) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the name of each attribute, and which nodes have it."""
    attributes: Any = graph.attributes
    for entry, columns, known in graph.attribute_blocks():
        filled, mean = known, entry.get("mean")
        if mean is None:  # as of texts and categories: a row of zeros is a missing value
            filled = known & _filled(attributes[:, columns])
        elif isinstance(mean, float) and not entry["missing"]:
            # A number that no node lacked when the recipe was made: nodes that lack it since have the mean.
            filled = known & (sparse.csr_array(attributes[:, columns]).toarray()[:, 0] != mean)
        yield entry["property"], filled


def _filled(columns: Any) -> NDArray[np.bool_]:
    """Return which rows have anything but zeros."""
    return np.asarray((columns != 0.0).sum(axis=1)).ravel() > 0


def without_types(graph: Graph, names: set[str]) -> Graph:
    """Return the graph without the relationships of some types; pairs that others join stay."""
    own = graph.relationships
    if own is None or not names:
        return graph
    kept = own.some(np.repeat([name not in names for name in own.types], np.diff(own.starts)))
    ends = (np.ones(2 * len(kept)), (np.r_[kept.source, kept.target], np.r_[kept.target, kept.source]))
    joined = sparse.csr_array(ends, shape=graph.adjacency.shape)
    joined.data[:] = 1.0
    return replace(graph, adjacency=graph.adjacency.multiply(joined), edge_times=None, relationships=kept)


def _telltale(
    have: Iterable[tuple[str, NDArray[np.bool_]]], known: Rows, asked: Rows
) -> tuple[Telltale, ...]:
    found = {}
    for name, has in have:
        each = Telltale(name, float(has[known].mean()), float(has[asked].sum() / max(len(asked), 1)))
        by_chance = binom.cdf(has[asked].sum(), len(asked), each.known)
        if each.known >= _USUAL and each.asked <= _HARDLY_ANY and by_chance < _BY_CHANCE:
            found[name] = each
    return tuple(found.values())
