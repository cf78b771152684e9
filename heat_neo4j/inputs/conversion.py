"""`as_graph`: convert graphs of Python libraries to a `Graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from scipy import sparse

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.errors import errors_as
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.columns import edge_columns
from heat_neo4j.inputs.edges import edge_types, edge_weights, make_matrix, make_relationships
from heat_neo4j.inputs.networks import graph_of_data, graph_of_hetero_data, graph_of_igraph, graph_of_networkx
from heat_neo4j.inputs.properties import NodeProperties, column_names, column_values
from heat_neo4j.inputs.values import check_names, plain_column, plain_name


def as_graph(
    data: Any,
    attributes: Any = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    type: str | None = None,
    key: str | None = None,
    label: str | None = None,
    text: Sequence[str] = (),
    encode: Sequence[str] = (),
    recipe: Sequence[Mapping[str, Any]] | None = None,
) -> Graph:
    """Convert a graph of another Python library to a `Graph`.

    ================================== ============================================== =====================
    `data`                             rows, and what results call them               directions and types
    ================================== ============================================== =====================
    `Graph`                            as they are                                    as they are
    SciPy matrix, NumPy array (N, N)   as they are, by their numbers                  none
    NetworkX graph                     in the order of ``data.nodes``                 of a directed graph
    igraph graph                       by number, by the attribute "name"             of a directed graph
    PyTorch Geometric ``Data``         by number                                      of a directed graph
    PyTorch Geometric ``HeteroData``   type by type, by (type, number)                always
    data frame of edges                as in the frame of nodes; else sorted by name  unless it says none
    ================================== ============================================== =====================

    Data frames can be from pandas, polars, PyArrow or any other library that narwhals supports. The names of
    columns determine their roles, by the same rules as for files. Both directions of a pair are summed, as in
    `Graph`. ``Graph.provenance.readings`` records how each column was read.

    Parameters
    ----------
    data : see above
        The graph.
    attributes : array or sparse matrix of shape (N, F), data frame, or sequence of str, optional
        Node attributes: numbers, one row per node; a data frame, whose columns are encoded like database
        properties; or names of node attributes of a NetworkX or igraph graph. With edges, NetworkX or igraph,
        the data frame has the node names in a column; otherwise it has one row per node. By default, "x" of
        PyTorch Geometric.
    source, target : str, optional
        Column with this end of an edge; by default by the rules for files.
    weight : str, optional
        Column or edge attribute with the weight, 0 or more; by default by the rules for files. Edges without
        a weight have weight 1.
    type : str, optional
        Column or edge attribute with the type; by default by the rules for files. Edges without a type have
        the type "EDGE".
    key : str, optional
        Column or index of the node data frame with the node names. By default a pandas index that has a name
        or does not hold integers; otherwise a column "id", "node" or "node_id"; otherwise the first column.
    label : str, optional
        Attribute of NetworkX or igraph nodes, or column of the node data frame, with a node's label or list
        of labels; it is not used as an attribute. By default "label", if it has at most half as many distinct
        values as nodes; otherwise it holds display names and is left out.
    text : sequence of str
        Names of attributes whose strings are texts, not categories; with a recipe, those of the recipe.
    encode : sequence of str
        Names of attributes whose texts become vectors, by the encoder of the extra ``text``; `text` may name
        them too. With a recipe, those of the recipe.
    recipe : sequence of mappings, optional
        `Provenance.attribute_recipe` of an earlier graph, to encode named attributes with; by default a new
        recipe is learned.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError
        If `data` or `attributes` have an unsupported type.
    ValueError
        If shapes disagree, names are not unique, edges and attributes have no names in common, a weight is
        negative or not finite, columns are ambiguous, or a column does not exist.
    ProjectionError
        If attribute values cannot be encoded; a `RecipeError` if they do not match the recipe.

    Warns
    -----
    UserWarning
        If an attribute holds strings that make poor categories: nearly all distinct, numbers, or dates.
    """
    if isinstance(data, Graph):
        if attributes is not None:
            raise TypeError("a Graph already has attributes: leave out attributes")
        return data
    properties = NodeProperties(attributes, label, tuple(text), tuple(encode), recipe, key)
    chosen = {"source": source, "target": target, "weight": weight, "type": type}
    if is_into_dataframe(data):
        return graph_of_frame(nw.from_native(data, eager_only=True), properties, chosen)
    if sparse.issparse(data) or isinstance(data, list) or hasattr(data, "__array__"):
        matrix = _matrix(data)
        columns, names = properties.of_rows(matrix.shape[0])
        return properties.graph(matrix, columns, keys=names)
    for module, name, read in _KINDS:
        if any(
            (each.__module__.partition(".")[0], each.__name__) == (module, name)
            for each in data.__class__.__mro__
        ):
            return read(data, properties, chosen)
    kinds = "a Graph, a SciPy matrix, a NumPy array, a data frame of edges, NetworkX, igraph or PyG data"
    raise TypeError(f"a graph must be {kinds}; got {data.__class__.__name__}")


_KINDS: tuple[tuple[str, str, Callable[[Any, NodeProperties, Mapping[str, str | None]], Graph]], ...] = (
    ("networkx", "Graph", graph_of_networkx),
    ("igraph", "GraphBase", graph_of_igraph),
    ("torch_geometric", "HeteroData", graph_of_hetero_data),
    ("torch_geometric", "Data", graph_of_data),
)
"""Recognised by class name, as these libraries may not be installed."""


def _matrix(data: Any) -> sparse.csr_array:
    try:
        values: Any = data if sparse.issparse(data) else np.asarray(data)
        values = values if values.dtype.kind == "c" else values.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"a matrix of weights must hold numbers, in rows of one length: {error}") from error
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: weights are numbers of 0 or more")
    if values.ndim != 2:
        raise ValueError(
            "a matrix of weights must be square, a row and a column for each node, and has "
            f"{values.ndim} dimensions: shape {values.shape}"
        )
    if values.shape[0] != values.shape[1]:
        rows, columns = values.shape
        raise ValueError(
            f"a matrix of weights must be square, a row and a column for each node, and has "
            f"{plural(rows, 'row')} and {plural(columns, 'column')}: a graph cannot be split by rows, as "
            "GridSearchCV and cross_val_score do; evaluate_links holds out edges"
        )
    return sparse.csr_array(values)


def graph_of_frame(
    edges: nw.DataFrame[Any], properties: NodeProperties, chosen: Mapping[str, str | None]
) -> Graph:
    """Return the graph of a data frame of edges; see `as_graph`."""
    with errors_as(ValueError, prefix="the data frame of edges: "):
        held = edge_columns(column_names(edges), chosen)
    sources, targets = (
        list(map(plain_name, column_values(edges, place).to_list())) for place in (held.source, held.target)
    )
    missing = [row for row, ends in enumerate(zip(sources, targets, strict=True)) if None in ends]
    if missing:
        count = f"{len(missing):,} of {plural(len(edges), 'edge')} of the data frame"
        raise ValueError(f"{count} are without a source or a target, first row {missing[0]}")
    columns, names = properties.by_name({*sources, *targets})
    others = _sorted({*sources, *targets} - {*names})
    names = [*names, *others]
    row_of = check_names(names)
    source, target = (np.array([row_of[name] for name in ends], np.int64) for ends in (sources, targets))
    weights = np.ones(len(edges))
    if held.weight is not None:
        values = plain_column(column_values(edges, held.weight))
        if None in values:
            where = f"the edge in row {values.index(None)} has no {held.names[held.weight]!r}"
            count = f"{values.count(None):,} of {len(values):,} have none"
            raise ValueError(f"{where}; {count}: give all edges a weight, or drop the column")
        weights = edge_weights(values, held.names[held.weight])
    kinds = None if held.type is None else plain_column(column_values(edges, held.type))
    types, is_directed = edge_types(kinds)
    matrix = make_matrix(source, target, weights, len(names))
    directed = is_directed and held.is_directed
    without = ["time"] if kinds is None or types is not None else ["time", "type"]
    first = (sources[0], targets[0]) if sources else ()
    return properties.graph(
        sparse.csr_array(matrix + matrix.T),
        {name: [*values, *[None] * len(others)] for name, values in columns.items()},
        keys=names,
        relationships=make_relationships(source, target, weights, types) if directed else None,
        readings=[f"data frame of edges: {held.reading(without, len(edges), first, is_directed=directed)}"],
    )


def _sorted(names: set[Any]) -> Sequence[Any]:
    try:
        return sorted(names)
    except TypeError as error:
        kinds = " and ".join(sorted({type(name).__name__ for name in names}))
        raise ValueError(f"the names of nodes must be of one kind, and are {kinds}") from error
