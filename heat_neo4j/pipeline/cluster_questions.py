"""Clusters of a published model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.clusters.result import Clusters, cluster_nodes
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.pipeline.published_model import node_names, read_published


def clusters(
    store: Neo4jStore,
    *,
    levels: Sequence[int] = (),
    previous: Clusters | Path | str | None = None,
    model: str = "heat",
    on_progress: Progress | bool = False,
) -> Clusters:
    """Group the nodes of a published model on several levels, and name the groups; nothing is written.

    There are few large groups, each of which consists of smaller ones. A group is named by its most general
    node, and by values of attributes that set it apart.

    Parameters
    ----------
    levels : sequence of int, at least 1, default: about ten and the root of the number of nodes
        Number of clusters of a level, fewest first.
    previous : existing file, or Clusters
        Clusters of an earlier version, as --output wrote them. Nodes keep theirs unless they have plainly
        moved, new nodes join one, and clusters keep their numbers.
    model : str
        Name of the published model.
    on_progress : callable or bool
        Called with the stages of reading.

    Returns
    -------
    Clusters
        Nodes are called by their keys; without a key by their element ids, which Neo4j reuses.

    Raises
    ------
    ValueError
        If `levels` do not ascend or are given with `previous`, or `previous` has no node of the model.
    ConfigError
        If the file cannot be read, or is another one.
    ProjectionError
        If the model is not published, or its graph cannot be read.
    """
    before = previous if isinstance(previous, Clusters | None) else Clusters.read(previous)
    published = read_published(store, model, with_keys=True, on_progress=as_progress(on_progress))
    graph = published.graph
    found = cluster_nodes(
        published.embedding,
        graph,
        levels=levels or None,
        previous=before,
        seed=int(published.run.seed or 0),
    )
    name_of = dict(zip(graph.names, node_names(store, published), strict=True))
    named = tuple(each._replace(name=name_of[each.name]) for each in found.clusters)
    return replace(found, clusters=named, notes=published.notes)
