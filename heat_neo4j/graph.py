"""`Graph`: the attributed graph that all other modules use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import plural

_AT_ONCE = 2**16
_SHOWN = 20  # maximum names of each kind in a notebook
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-290, 1e290

Triple = tuple[tuple[str, ...], str, tuple[str, ...]]
"""Labels of the source, type, labels of the target."""


@dataclass(frozen=True)
class Provenance:
    """The origin of a graph, as JSON data."""

    projection: Mapping[str, Any] = field(default_factory=dict)  # labels, types, weight, attributes, filters
    counts: Mapping[str, int] = field(default_factory=dict)  # nodes, relationships read, dropped, ...
    attribute_recipe: Sequence[Mapping[str, Any]] = ()  # for each property, how its values became columns
    readings: Sequence[str] = ()  # for files and frames: how each column was read, with an example


@dataclass(frozen=True, eq=False)
class Relationships:
    """Sources and targets of the relationships of each type; parallel relationships count once.

    Parameters
    ----------
    types : sequence of str
        The T distinct types, in any order.
    starts : int64 array of shape (T + 1,)
        Relationships of type t are entries ``starts[t]`` to ``starts[t + 1] - 1``.
    source, target : int32 arrays of shape (R,)
        Rows of the graph, source != target; sorted by source, then target, within each type.
    """

    types: Sequence[str]
    starts: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]

    @classmethod
    def from_pairs(
        cls, pairs: Mapping[str, tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]]
    ) -> Relationships:
        """Build the relationships of each type from int arrays (sources, targets), each (m,), in any order.

        Duplicates are merged. Self-loops are dropped, and types without other relationships.
        """
        names, sources, targets = [], [], []
        for name in sorted(pairs):
            source, target = _each_once(*pairs[name])
            if len(source):
                names.append(name)
                sources.append(source)
                targets.append(target)
        starts = np.cumsum([0, *map(len, sources)], dtype=np.int64)
        empty = np.empty(0, dtype=np.int32)
        return cls(tuple(names), starts, np.concatenate((empty, *sources)), np.concatenate((empty, *targets)))

    def of(self, name: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the sources and targets, shape (m,), of one type, sorted; empty if it has none."""
        if name not in self.types:
            return self.source[:0], self.target[:0]
        place = list(self.types).index(name)
        own = slice(*self.starts[place : place + 2])
        return self.source[own], self.target[own]

    def matrix(self, name: str, n_nodes: int) -> sparse.csr_array:
        """Return the directed 0/1 matrix of one type, shape (n_nodes, n_nodes)."""
        source, target = self.of(name)
        entries = (np.ones(len(source)), (source, target))
        return sparse.csr_array(entries, shape=(n_nodes, n_nodes))

    def among(self, nodes: NDArray[np.int64], n_nodes: int) -> Relationships:
        """Return the relationships among some of `n_nodes` nodes (rows, sorted ascending), renumbered."""
        row_of = np.full(n_nodes, -1, dtype=np.int64)
        row_of[nodes] = np.arange(len(nodes))
        renumbered = {name: [row_of[ends] for ends in self.of(name)] for name in self.types}
        both = {name: (source >= 0) & (target >= 0) for name, (source, target) in renumbered.items()}
        return Relationships.from_pairs(
            {name: (source[both[name]], target[both[name]]) for name, (source, target) in renumbered.items()}
        )

    def schema(self, label_sets: Sequence[tuple[str, ...]], codes: NDArray[np.int64]) -> dict[Triple, int]:
        """Count relationships by source labels, type and target labels.

        Node i has the labels ``label_sets[codes[i]]``.
        """
        counts: dict[Triple, int] = {}
        for name in self.types:
            source, target = self.of(name)
            pairs, count = np.unique(codes[source] * len(label_sets) + codes[target], return_counts=True)
            for pair, number in zip(pairs.tolist(), count.tolist(), strict=True):
                first, second = divmod(pair, len(label_sets))
                counts[label_sets[first], name, label_sets[second]] = number
        return counts

    def without(self, pairs: NDArray[np.int64], n_nodes: int) -> Relationships:
        """Return the relationships that join none of the `pairs`, shape (m, 2), in either direction."""
        gone = np.sort(np.sort(pairs, axis=1) @ (n_nodes, 1))
        source, target = self.source.astype(np.int64), self.target.astype(np.int64)
        codes = np.minimum(source, target) * n_nodes + np.maximum(source, target)
        return self.some(~np.isin(codes, gone))

    def some(self, stays: NDArray[np.bool_]) -> Relationships:
        """Return the relationships selected by a mask of shape (R,)."""
        kept = {}
        for name, low, high in zip(self.types, self.starts[:-1], self.starts[1:], strict=True):
            own = stays[low:high]
            kept[name] = self.source[low:high][own], self.target[low:high][own]
        return Relationships.from_pairs(kept)

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        return f"Relationships({len(self):,} of {plural(len(self.types), 'type')})"


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected, weighted, attributed graph as sparse matrices.

    Parameters
    ----------
    adjacency : sparse matrix or array of shape (N, N)
        Non-negative finite weights W. A symmetric matrix holds the weights of undirected edges. Any other
        matrix holds weights of directed edges, and both directions of each pair are summed. Scaling all
        weights does not change the embedding. Zero weights and self-loops are dropped, as walks learn nothing
        from them. Stored as `scipy.sparse.csr_array`, float64, sorted indices.
    attributes : sparse or dense array of shape (N, F), optional
        Finite raw attribute values X; `HEAT` scales them. Stored as CSR array, or C-ordered float64 array;
        float32 if all attributes are vectors.
    node_ids : sequence of str, optional
        Element ids of the database, in row order. Empty if the graph does not come from a database.
    keys : sequence, optional
        The user's name for each node, such as a property value or a NetworkX node; hashable and unique.
    labels : mapping of str to bool array of shape (N,), optional
        For each node label, a mask of the rows that have it.
    attribute_names : sequence of str, optional
        Names of the F columns.
    provenance : Provenance, optional
        Origin of the graph.
    edge_times : float64 array of shape (n_edges,), optional
        Creation time of each edge, NaN if unknown: seconds since 1970 UTC if `times_are_dates`, otherwise any
        number. In the order of ``scipy.sparse.triu(adjacency, k=1)`` as CSR: pairs u < v, sorted by u, then
        v.
    times_are_dates : bool
        Whether `edge_times` are dates.
    relationships : Relationships, optional
        Directions and types of the pairs in `adjacency`; None if unknown.
    checked : csr_array, optional
        `adjacency` itself, if it already has the stored form: symmetric, finite positive weights, no
        diagonal, sorted unique indices. It is then neither checked nor copied.

    Raises
    ------
    TypeError
        If `adjacency` is not a scipy sparse matrix.
    ValueError
        If shapes disagree, a weight is not 0 or between 1e-290 and 1e290, an attribute is not finite, a time
        is infinite, or a relationship refers to a row that does not exist.
    """

    adjacency: sparse.csr_array
    attributes: sparse.csr_array | NDArray[np.float64] | NDArray[np.float32] | None = None
    node_ids: Sequence[str] = ()
    keys: Sequence[Any] = ()
    labels: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    attribute_names: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)
    edge_times: NDArray[np.float64] | None = None
    times_are_dates: bool = False
    relationships: Relationships | None = None
    checked: sparse.csr_array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        adjacency = (
            self.adjacency if self.adjacency is self.checked else _symmetric(self.adjacency, self.keys)
        )
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "checked", adjacency)
        if self.attributes is not None:
            recipe = self.provenance.attribute_recipe
            is_short = bool(recipe) and all("centre" in entry for entry in recipe)
            checked = _checked_attributes(
                self.attributes, adjacency.shape[0], self.keys, self.attribute_names, is_short=is_short
            )
            object.__setattr__(self, "attributes", checked)
        n = adjacency.shape[0]
        for name in ("node_ids", "keys"):  # arrays and Series have no truth value
            names = getattr(self, name)
            object.__setattr__(self, name, names if isinstance(names, Sequence) else list(names))
            if len(names) not in (0, n):
                raise ValueError(f"{name} must have one entry per node: {len(names)} for {n} nodes")
        for label, mask in self.labels.items():
            if np.shape(mask) != (n,):
                raise ValueError(f"labels[{label!r}] must have shape ({n},), got {np.shape(mask)}")
        if self.attribute_names and len(self.attribute_names) != self.n_attributes:
            raise ValueError(f"{len(self.attribute_names)} attribute_names for {self.n_attributes} columns")
        if self.edge_times is not None:
            object.__setattr__(self, "edge_times", _checked_times(self.edge_times, self.n_edges))
        if self.relationships is not None:
            _check_relationships(self.relationships, n)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N, including isolated ones."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.adjacency.nnz // 2)

    @property
    def edges(self) -> sparse.coo_array:
        """The undirected edges (u, v) with their weights, u < v, sorted by u, then v."""
        return sparse.coo_array(sparse.triu(self.adjacency, k=1, format="csr"))

    @property
    def n_attributes(self) -> int:
        """Number of attribute columns F."""
        return 0 if self.attributes is None else int(self.attributes.shape[1])

    def attribute_blocks(self) -> Iterator[tuple[Mapping[str, Any], slice, NDArray[np.bool_]]]:
        """Yield the recipe of each attribute, its columns, and a mask of the nodes whose value is known."""
        start = 0
        for entry in self.provenance.attribute_recipe:
            columns = slice(start, start + entry["n_columns"])
            start = columns.stop
            known = self.labels.get(entry.get("label", ""), np.ones(self.n_nodes, dtype=np.bool_))
            if entry.get("missing"):  # the last column marks missing values
                assert self.attributes is not None
                mark = self.attributes[:, [start - 1]]
                known = known & (sparse.csr_array(mark).toarray().ravel() == 0.0)
            yield entry, columns, known

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Number of distinct neighbours of each node, shape (N,)."""
        return np.diff(self.adjacency.indptr).astype(np.int64)

    @property
    def names(self) -> Sequence[Any]:
        """Node names in results (`keys`, otherwise `node_ids`, otherwise row numbers), length N."""
        return self.keys or self.node_ids or range(self.n_nodes)

    def labels_at(self, row: int) -> list[str]:
        """Return the labels of a node."""
        return [label for label, carries in self.labels.items() if carries[row]]

    def among(self, nodes: NDArray[np.int64]) -> Graph:
        """Return the induced subgraph of some nodes.

        Parameters
        ----------
        nodes : int64 array of shape (M,)
            Rows of this graph, sorted ascending; the order of the new graph's rows.
        """
        edges, inside = self.edges, np.isin(np.arange(self.n_nodes), nodes)
        joins_two = inside[edges.row] & inside[edges.col]
        return replace(
            self,
            adjacency=self.adjacency[nodes][:, nodes],
            attributes=None if self.attributes is None else self.attributes[nodes],
            node_ids=[self.node_ids[row] for row in nodes.tolist()] if self.node_ids else (),
            keys=[self.keys[row] for row in nodes.tolist()] if self.keys else (),
            labels={label: carries[nodes] for label, carries in self.labels.items()},
            edge_times=None if self.edge_times is None else self.edge_times[joins_two],
            relationships=None
            if self.relationships is None
            else self.relationships.among(nodes, self.n_nodes),
        )

    def packed(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the graph as arrays and JSON data, from which `unpacked` restores it exactly."""
        facts = {
            "node_ids": list(self.node_ids),
            "keys": list(map(_plain_name, self.keys)),
            "labels": list(self.labels),
            "attribute_names": list(self.attribute_names),
            "provenance": asdict(self.provenance),
            "times_are_dates": self.times_are_dates,
            "types": None if self.relationships is None else list(self.relationships.types),
        }
        arrays = _packed_matrix("adjacency", self.adjacency)
        if sparse.issparse(self.attributes):
            arrays |= _packed_matrix("attributes", self.attributes)
        elif self.attributes is not None:
            arrays["dense_attributes"] = self.attributes
        if self.labels:
            arrays["label_masks"] = np.stack(list(self.labels.values()))
        if self.edge_times is not None:
            arrays["edge_times"] = self.edge_times
        if self.relationships is not None:
            own = self.relationships
            arrays |= {"starts": own.starts, "source": own.source, "target": own.target}
        return arrays, facts

    @classmethod
    def unpacked(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Graph:
        """Restore the graph that `packed` described; raises an error if the parts do not match."""
        own: dict[str, Any] = {
            name: tuple(each) if isinstance(each, list) else each for name, each in facts.items()
        }
        types, provenance = own.pop("types"), Provenance(**own.pop("provenance"))
        masks = dict(zip(own.pop("labels"), arrays.get("label_masks", ()), strict=True))
        keys = [_name_of_plain(key) for key in own.pop("keys")]
        attributes: Any = arrays.get("dense_attributes")
        if "attributes_data" in arrays:
            attributes = _unpacked_matrix("attributes", arrays)
        relationships = None
        if types is not None:
            ends = (arrays[name] for name in ("starts", "source", "target"))
            relationships = Relationships(tuple(types), *ends)
        return cls(
            _unpacked_matrix("adjacency", arrays),
            attributes,
            keys=keys,
            labels=masks,
            provenance=provenance,
            edge_times=arrays.get("edge_times"),
            relationships=relationships,
            **own,
        )

    def digest(self) -> str:
        """Return a hash of all inputs of an embedding: nodes, weights, attributes, types."""
        digest = blake2b(digest_size=16)
        for begin in range(0, len(self.node_ids), _AT_ONCE):
            digest.update(json.dumps(list(self.node_ids[begin : begin + _AT_ONCE])).encode())
        types = () if self.relationships is None else self.relationships.types
        digest.update(json.dumps(list(types)).encode())
        parts: list[NDArray[Any]] = [self.adjacency.indptr, self.adjacency.indices, self.adjacency.data]
        if isinstance(self.attributes, np.ndarray):
            parts.append(self.attributes)
        elif self.attributes is not None:
            parts += [self.attributes.indptr, self.attributes.indices, self.attributes.data]
        if self.relationships is not None:
            parts += [self.relationships.starts, self.relationships.source, self.relationships.target]
        for part in parts:
            digest.update(f"{part.dtype} {part.shape} ".encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def schema(self) -> dict[Triple, int]:
        """Count relationships by source labels, type and target labels.

        Labels are sorted tuples, empty for nodes without labels. The result is empty if `relationships` is
        None.
        """
        if self.relationships is None:
            return {}
        return self.relationships.schema(*self.label_sets())

    def label_sets(self) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
        """Return the sets of labels that nodes have, each a sorted tuple, and each node's set, shape (N,)."""
        names = sorted(self.labels)
        carried = np.zeros((self.n_nodes, len(names)), dtype=np.bool_)
        for column, name in enumerate(names):
            carried[:, column] = self.labels[name]
        sets, code = np.unique(carried, axis=0, return_inverse=True)
        labels = [tuple(names[column] for column in np.flatnonzero(row).tolist()) for row in sets]
        return labels, code.ravel()

    def __repr__(self) -> str:
        sizes = {"node": self.n_nodes, "edge": self.n_edges, "attribute": self.n_attributes}
        return f"Graph({', '.join(plural(count, noun) for noun, count in sizes.items())})"

    def _repr_html_(self) -> str:
        types = () if self.relationships is None else self.relationships.types
        rows = (("labels", self.labels), ("types", types), ("attributes", self.attribute_names))
        lines = [
            f"<li>{what}: {escape(', '.join(list(names)[:_SHOWN]))}</li>" for what, names in rows if names
        ]
        return f"{escape(repr(self))}<ul>{''.join(lines)}</ul>"


def _packed_matrix(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    parts = {part: getattr(matrix, part) for part in ("data", "indices", "indptr")}
    return {f"{name}_{part}": values for part, values in (parts | {"shape": np.array(matrix.shape)}).items()}


def _unpacked_matrix(name: str, arrays: Mapping[str, NDArray[Any]]) -> sparse.csr_array:
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    return sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


def _plain_name(name: Any) -> Any:
    """Convert a node's name to JSON data, tuples to lists; raises TypeError if JSON cannot represent it."""
    if isinstance(name, tuple):
        return list(map(_plain_name, name))
    if isinstance(name, np.generic):
        name = name.item()
    if name is None or isinstance(name, str | int | float):
        return name
    raise TypeError(f"a graph with node names such as {name!r} cannot be saved: use strings or numbers")


def _name_of_plain(name: Any) -> Any:
    return tuple(map(_name_of_plain, name)) if isinstance(name, list) else name


def entries(matrix: sparse.csr_array, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entries of a sparse matrix at `pairs`, shape (m, 2)."""
    if not len(pairs):  # SciPy returns a sparse array for an empty index
        return np.empty(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


def earliest_times(
    u: NDArray[np.int64], v: NDArray[np.int64], times: NDArray[np.float64], n_nodes: int
) -> NDArray[np.float64]:
    """Return the creation time of each undirected edge: the earliest time of its relationships.

    `u` and `v` are rows, u != v, in either order; pairs may repeat, with NaN for unknown times. The result is
    in the order of `Graph.edge_times`, NaN for a pair without times, and does not depend on the order of
    pairs.
    """
    pairs = np.minimum(u, v) * np.int64(n_nodes) + np.maximum(u, v)
    times = times + 0.0  # turns -0.0 into 0.0, so that equal times have equal bits
    order = np.lexsort((times, pairs))  # NaN last
    first = np.diff(pairs[order], prepend=-1) != 0
    earliest: NDArray[np.float64] = times[order[first]]
    return earliest


def check_weights(weights: NDArray[np.float64]) -> None:
    """Raise ValueError if a positive weight is too small or too large to be summed and divided."""
    odd = weights[(weights < _SMALLEST_WEIGHT) | (weights > _LARGEST_WEIGHT)]
    if odd.size:
        raise ValueError(f"a weight is {odd[0]:g}: weights must be 0 or between 1e-290 and 1e290")


def _is_sparse(values: Any) -> bool:
    """Return `issparse` as a plain bool; it would narrow the type to a base class without a shape."""
    return bool(sparse.issparse(values))


def _symmetric(matrix: Any, names: Sequence[Any]) -> sparse.csr_array:
    """Check weights; return a symmetric CSR array without zeros and without a diagonal."""
    if not _is_sparse(matrix):
        raise TypeError(f"adjacency must be a scipy sparse matrix, got {type(matrix).__name__}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"adjacency must be square, got shape {matrix.shape}")
    csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    for bad, what in ((~np.isfinite(csr.data), "NaN or infinite"), (csr.data < 0, "negative")):
        if bad.any():
            entries = csr.tocoo()
            first = int(np.argmax(bad))
            ends = " to ".join(_called(names, int(end[first])) for end in (entries.row, entries.col))
            count = f"{int(bad.sum()):,} of {csr.nnz:,} weights"
            raise ValueError(f"the weight from {ends} is {what} ({count}): weights must be 0 or more")
    csr.sum_duplicates()
    transpose = sparse.csr_array(csr.T)
    transpose.sort_indices()
    if not _same(csr, transpose):
        csr = sparse.csr_array(csr + transpose)
    entries = csr.tocoo()
    keep = (entries.row != entries.col) & (entries.data != 0)
    check_weights(entries.data[keep])
    indices = (entries.row[keep], entries.col[keep])
    csr = sparse.csr_array((entries.data[keep], indices), shape=csr.shape)
    csr.sort_indices()
    return csr


def _same(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    return (
        a.nnz == b.nnz
        and np.array_equal(a.indptr, b.indptr)
        and np.array_equal(a.indices, b.indices)
        and np.array_equal(a.data, b.data)
    )


def _checked_attributes(
    values: Any, n: int, names: Sequence[Any], columns: Sequence[str], *, is_short: bool
) -> sparse.csr_array | NDArray[np.float64] | NDArray[np.float32]:
    """Check shape and finiteness; return a CSR array or a C-ordered array, float32 if `is_short`."""
    result: sparse.csr_array | NDArray[np.float64] | NDArray[np.float32]
    if _is_sparse(values):
        result = sparse.csr_array(values, dtype=np.float64)
        result.sum_duplicates()
        numbers = result.data
    else:
        result = numbers = np.ascontiguousarray(values, dtype=np.float32 if is_short else np.float64)
    if result.ndim != 2 or result.shape[0] != n:
        raise ValueError(f"attributes must have shape ({n}, F), got {result.shape}")
    bad = [~np.isfinite(numbers[part]) for part in _parts(len(numbers))]
    count = sum(int(part.sum()) for part in bad)
    if count:
        where = np.argwhere(np.concatenate(bad))[0]
        if isinstance(result, np.ndarray):
            row, column = where.tolist()
        else:
            row = int(np.searchsorted(result.indptr, where[0], side="right")) - 1
            column = int(result.indices[where[0]])
        attribute = repr(columns[column]) if column < len(columns) else f"column {column}"
        values_are = "value is" if count == 1 else "values are"
        what = f"{count:,} attribute {values_are} NaN or infinite"
        raise ValueError(f"{what}, first {attribute} of {_called(names, row)}: set or remove it")
    return result


def _called(names: Sequence[Any], row: int) -> str:
    """Return the name of a row's node, or the row number if it has no name."""
    return f"node {names[row]!r}" if row < len(names) else f"row {row}"


def _checked_times(values: Any, n_edges: int) -> NDArray[np.float64]:
    times = np.ascontiguousarray(values, dtype=np.float64)
    if times.shape != (n_edges,):
        raise ValueError(f"edge_times must have one entry per edge: shape {times.shape} for {n_edges} edges")
    if any(np.isinf(times[part]).any() for part in _parts(len(times))):
        raise ValueError("edge_times has an infinite time: use NaN for unknown times")
    return times


def _parts(length: int) -> Iterator[slice]:
    """Yield slices of an array that may not fit in memory."""
    return (slice(begin, begin + _AT_ONCE) for begin in range(0, length, _AT_ONCE))


def _each_once(
    source: NDArray[np.integer[Any]], target: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct pairs without self-loops, sorted by source, then target."""
    source, target = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    width = int(target.max(initial=0)) + 1
    codes = np.sort((source * width + target)[source != target])  # np.unique is ten times slower
    codes = codes[np.diff(codes, prepend=-1) != 0]
    return (codes // width).astype(np.int32), (codes % width).astype(np.int32)


def _check_relationships(relationships: Relationships, n: int) -> None:
    for ends in (relationships.source, relationships.target):
        if len(ends) and not (ends.min() >= 0 and ends.max() < n):
            raise ValueError(f"relationships must join rows 0 to {n - 1}")
