"""A random graph of a run's size."""

from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.dense import make_unit
from heat_neo4j.attributes.kinds import Kind
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.linkpred.attribute_rows import unit_rows
from heat_neo4j.pipeline.memory import DENSE_SHARE, RunSize


def made_graph(size: RunSize, most_nodes: int) -> Graph:
    """Return a random graph with the run's degrees and attributes, and at most `most_nodes` nodes."""
    rng = np.random.default_rng(0)
    n = max(min(size.nodes, most_nodes), 2)
    joined = max(round(n * (1.0 - size.isolated_share)), 2)
    here = n / max(size.nodes, 1)
    has_hierarchy = size.hierarchy is not None
    others = size.relationships - size.hierarchical
    fewest = 1 if others or not has_hierarchy else 0
    pairs = {"LINK": tuple(rng.integers(0, joined, (2, max(round(others * here), fewest))))}
    if has_hierarchy:
        # All levels have as many nodes, so that a node has as many above it, on average, as in the run.
        level = max(round(n / max(2 * size.closure / size.nodes, 1)), 1)
        below = np.arange(1, min(max(round(size.hierarchical * here), 1), n - 1) + 1)
        pairs["UNDER"] = below, np.maximum(below - level, 0)
    attributes: Any = None
    recipe: list[dict[str, Any]] = []
    if size.attribute_columns and size.attribute_share >= DENSE_SHARE:
        attributes = rng.random((n, size.attribute_columns))
    elif size.attribute_columns:
        filled = max(round(size.attribute_columns * size.attribute_share), 1)
        columns = rng.integers(0, size.attribute_columns, n * filled)
        entries = (np.ones(n * filled), (np.repeat(np.arange(n), filled), columns))
        attributes = unit_rows(sparse.csr_array(entries, shape=(n, size.attribute_columns)))
    if attributes is not None and (size.texts or size.vector_columns):
        kind = Kind.TEXT if size.texts else Kind.TAGS
        recipe.append({"property": "others", "kind": kind, "n_columns": size.attribute_columns})
    if size.vector_columns:
        vectors = rng.normal(size=(n, size.vector_columns)).astype(np.float32)
        make_unit(vectors)
        recipe.append(
            {"property": "vector", "kind": Kind.VECTOR, "centre": [], "n_columns": size.vector_columns}
        )
        if attributes is None:
            attributes = vectors
        else:
            blocks = sparse.csr_array(attributes), sparse.csr_array(vectors)
            attributes = sparse.csr_array(sparse.hstack(blocks))
            attributes = attributes.toarray() if size.is_dense else attributes
    every = np.hstack(list(pairs.values()))
    adjacency = sparse.csr_array((np.ones(every.shape[1]), tuple(every)), shape=(n, n))
    relationships = Relationships.from_pairs(pairs)
    provenance = Provenance(attribute_recipe=recipe)
    return Graph(adjacency, attributes, relationships=relationships, provenance=provenance)
