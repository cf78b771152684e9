"""Fingerprint of a graph: a compact sketch to compare a later graph with, without keeping the graph.

A fingerprint holds count sketches of the graph's nodes, of its edges with weights, types and directions, and
of its attribute rows. Each item is hashed to a bucket and a sign, and adds its sign to the bucket's counter.
Sketches are linear: the difference of two sketches is the sketch of the items that only one graph has, and
its sum of squares estimates their number (Charikar, Chen and Farach-Colton, "Finding frequent items in data
streams", 2002; Alon, Matias and Szegedy, "The space complexity of approximating the frequency moments",
1996). With 512 buckets the standard error is 1/16. The sum of all hashes modulo 2^64 detects any difference.
If there are few differences, an invertible sketch identifies the edges and attribute rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.packing import pack, unpack
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.invertible_sketch import InvertibleSketch, mixed, shortened

Hashes = NDArray[np.uint64]

_BUCKETS = 512
_NODE, _EDGE, _ATTRIBUTE, _COLUMN = (np.uint64(stream) for stream in (0x9E37, 0x79B9, 0x7F4A, 0x7C15))
_ROWS = 1 << 16  # of dense attributes, looked at together


@dataclass(frozen=True, eq=False)
class Sketch:
    """Items of one kind."""

    count: int
    total: int  # the sum of their hashes modulo 2^64
    counters: NDArray[np.int64]  # sums of the signs of the items in each of 512 buckets

    @classmethod
    def of(cls, hashes: Hashes) -> Self:
        """Return the sketch of items with these hashes."""
        bucket = (hashes % np.uint64(_BUCKETS)).astype(np.int64)
        signs = 1 - 2 * (hashes >> np.uint64(63)).astype(np.int64)
        counters = np.zeros(_BUCKETS, dtype=np.int64)
        np.add.at(counters, bucket, signs)
        return cls(len(hashes), int(hashes.sum(dtype=np.uint64)), counters)

    def differ(self, other: Sketch) -> float:
        """Estimate the number of items that only one of the two has: 0 if equal, otherwise at least 1."""
        if (self.count, self.total) == (other.count, other.total) and (self.counters == other.counters).all():
            return 0.0
        gap = (self.counters - other.counters).astype(np.float64)
        return max(float(gap @ gap), float(abs(self.count - other.count)), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as JSON data."""
        return {"count": self.count, "total": str(self.total), "counters": pack(self.counters, "<i8")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore the sketch that `to_dict` described; raises an error if it is damaged."""
        count, total = int(data["count"]), int(data["total"])
        if not (0 <= count < 2**63 and 0 <= total < 2**64):
            raise ValueError("the count or the total of a sketch is out of range")
        return cls(count, total, unpack(data["counters"], "<i8", _BUCKETS).astype(np.int64))


@dataclass(frozen=True)
class Fingerprint:
    """Sketches of a graph's nodes, of its edges with weights, types and directions, and of attribute rows.

    A row of attributes that are all 0 counts as none. `items` holds edges by their ends, and nodes with their
    attribute rows as pairs of a node with itself.
    """

    nodes: Sketch
    edges: Sketch
    attributes: Sketch
    items: InvertibleSketch

    def to_dict(self) -> dict[str, Any]:
        """Return the fingerprint as JSON data."""
        counted = {name: getattr(self, name).to_dict() for name in ("nodes", "edges", "attributes")}
        return {**counted, "items": self.items.to_text()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore the fingerprint that `to_dict` described; raises ValueError if it is damaged."""
        try:
            nodes, edges, rows = (Sketch.from_dict(data[name]) for name in ("nodes", "edges", "attributes"))
            return cls(nodes, edges, rows, InvertibleSketch.from_text(data["items"]))
        except KeyError as error:
            raise ValueError(f"not a fingerprint: no {error}") from error
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a fingerprint: {error}") from error


@dataclass(frozen=True)
class Change:
    """Estimated numbers of nodes, edges and attribute rows that only one of two graphs has.

    A replaced item, such as an edge with another weight or direction, counts twice. Each number is 0 if and
    only if nothing differs, up to a probability of 2^-64, and otherwise at least 1.
    """

    nodes: float
    edges: float
    attributes: float


@dataclass(frozen=True)
class NodeChanges:
    """The changes at each node of a graph; both arrays have shape (N,)."""

    edges: NDArray[np.int64]  # number of edges added, removed, or changed in weight, type or direction
    attributes: NDArray[np.bool_]  # whether the attribute row changed
    n_edges: int  # of the whole graph, those to removed nodes included


def fingerprint(graph: Graph, rows: NDArray[np.bool_] | None = None) -> Fingerprint:
    """Return the fingerprint of a graph, or of the part of it between the nodes in the mask `rows`.

    It does not depend on the order of rows or on the storage of attributes. Raises ValueError if the graph
    has no node ids.
    """
    if len(graph.node_ids) != graph.n_nodes:
        raise ValueError("only a graph read from a database has a fingerprint: this one has no node_ids")
    chosen = np.ones(graph.n_nodes, dtype=np.bool_) if rows is None else np.asarray(rows, dtype=np.bool_)
    nodes = _node_hashes(graph)
    edges = graph.edges
    inside = chosen[edges.row] & chosen[edges.col]
    u, v = nodes[edges.row[inside]], nodes[edges.col[inside]]
    contents = np.ascontiguousarray(edges.data).view(np.uint64) + _relationship_hashes(graph, nodes)
    weights = mixed(contents[inside] ^ _EDGE)
    ends = mixed(u + v) ^ mixed(u ^ v)  # the same for both directions
    attributes = _attribute_hashes(graph)
    filled = chosen & (attributes != 0)
    short = shortened(nodes)
    first, second = short[edges.row[inside]], short[edges.col[inside]]
    items = InvertibleSketch.of(
        np.concatenate((short[chosen], np.minimum(first, second))),
        np.concatenate((short[chosen], np.maximum(first, second))),
        np.concatenate((mixed(attributes[chosen]), weights)),
    )
    return Fingerprint(
        nodes=Sketch.of(nodes[chosen]),
        edges=Sketch.of(mixed(ends + weights)),
        attributes=Sketch.of(mixed((nodes[filled] ^ _ATTRIBUTE) + attributes[filled])),
        items=items,
    )


def changes(before: Fingerprint, now: Fingerprint) -> Change:
    """Estimate the differences between the graphs of two fingerprints."""
    return Change(
        nodes=before.nodes.differ(now.nodes),
        edges=before.edges.differ(now.edges),
        attributes=before.attributes.differ(now.attributes),
    )


def node_changes(before: Fingerprint, now: Fingerprint, graph: Graph) -> NodeChanges | None:
    """Return the changes at each node; None if there are too many to identify (about 1,500).

    `graph` is the graph of `now`. Exclude new nodes and their edges from `now` if possible.
    """
    ends = before.items.differences(now.items)  # of an edge; of a node with its attributes, twice the node
    if ends is None:
        return None
    nodes = shortened(_node_hashes(graph))
    order = np.argsort(nodes, kind="stable")
    rows = order[np.searchsorted(nodes[order], ends) % max(len(nodes), 1)]
    in_graph, is_edge = nodes[rows] == ends, ends[0] != ends[1]
    attributes = np.zeros(graph.n_nodes, dtype=np.bool_)
    attributes[rows[0][in_graph[0] & ~is_edge]] = True
    at_nodes = np.bincount(rows[in_graph & is_edge], minlength=graph.n_nodes)
    return NodeChanges(at_nodes, attributes, int(np.count_nonzero(is_edge)))


def _node_hashes(graph: Graph) -> Hashes:
    return mixed(_text_hashes(graph.node_ids) ^ _NODE)


def _relationship_hashes(graph: Graph, nodes: Hashes) -> Hashes:
    """Return a hash of each edge's relationships (types and directions), in the order of `Graph.edges`."""
    edges = graph.edges
    sums = np.zeros(edges.nnz, dtype=np.uint64)
    if graph.relationships is None:
        return sums
    pairs = edges.row * np.int64(graph.n_nodes) + edges.col
    for name, kind in zip(graph.relationships.types, _text_hashes(graph.relationships.types), strict=True):
        source, target = (ends.astype(np.int64) for ends in graph.relationships.of(name))
        codes = np.minimum(source, target) * graph.n_nodes + np.maximum(source, target)
        hashes = mixed(nodes[source] + mixed(nodes[target] ^ kind))
        np.add.at(sums, np.searchsorted(pairs, codes), hashes)
    return sums


def _text_hashes(texts: Any) -> Hashes:
    digests = b"".join(blake2b(str(text).encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _attribute_hashes(graph: Graph) -> Hashes:
    """Return a hash of each node's nonzero attributes: a sum, which is 0 if there are none."""
    sums = np.zeros(graph.n_nodes, dtype=np.uint64)
    if graph.attributes is None:
        return sums
    names = graph.attribute_names or range(graph.n_attributes)
    columns = mixed(_text_hashes(names) ^ _COLUMN)
    if sparse.issparse(graph.attributes):
        entries = graph.attributes.tocoo()
        _add(sums, entries.row, columns[entries.col], entries.data)
        return sums
    for begin in range(0, graph.n_nodes, _ROWS):
        values = graph.attributes[begin : begin + _ROWS]
        row, column = np.nonzero(values)
        _add(sums, row + begin, columns[column], values[row, column])
    return sums


def _add(sums: Hashes, rows: NDArray[np.integer[Any]], columns: Hashes, values: NDArray[Any]) -> None:
    filled = values != 0
    bits = np.ascontiguousarray(values[filled], dtype=np.float64).view(np.uint64)
    np.add.at(sums, rows[filled], mixed(columns[filled] + mixed(bits)))
