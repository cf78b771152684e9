"""Clusters of a published model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.attributes.kinds import Kind
from heat_neo4j.clusters.result import Clusters, cluster_nodes
from heat_neo4j.database.keys import Key
from heat_neo4j.database.naming import MOST_LEVELS, WriteNames
from heat_neo4j.database.runs import VALUES
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConfigError
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.published_model import PublishedModel, node_names, read_published


def clusters(
    store: Neo4jStore,
    *,
    levels: Sequence[int] = (),
    previous: Clusters | Path | str | None = None,
    caption: Key | None = None,
    write: bool = False,
    model: str = "heat",
    on_progress: Progress | bool = False,
) -> Clusters:
    """Group the nodes of a published model on several levels, and name the groups.

    There are few large groups, each of which consists of smaller ones. A group is named by its most central
    node, and by values of attributes and words of names and texts that set it apart.

    Parameters
    ----------
    levels : sequence of int, at least 1, default: as published, or up to 10 and sqrt(nodes)
        Number of clusters of a level, fewest first. Earlier clusters are ignored.
    previous : existing file, or Clusters, default: those in the database
        Clusters of an earlier version, as --output wrote them. Nodes keep their cluster unless they clearly
        moved, new nodes join one, and numbers stay.
    caption : str, or mapping of str to str, default: the projection's key
        Node property that names clusters, or one for nodes with a label.
    write : bool
        Publish the clusters as node properties, replacing earlier ones. They are a model of their own, such
        as "heat-cluster": `rollback` and `clear` take its name.
    model : str
        Name of the published model.
    on_progress : callable or bool
        Called with the stages of reading, and those of writing.

    Returns
    -------
    Clusters
        Nodes are named by their keys, or without a key by their element ids, which Neo4j reuses.

    Raises
    ------
    ConfigError
        If `levels` do not ascend or are given with `previous`, or `previous` has no node of the model; if
        more than five levels are to be written; if the file is unreadable or invalid.
    ProjectionError
        If the model is not published, or its graph cannot be read.
    WriteRefused
        If `write` is true and nodes have values of others under the names of the clusters.
    """
    if write and len(levels) > MOST_LEVELS:
        raise ConfigError(f"at most {MOST_LEVELS} levels of clusters can be written, got {len(levels)}")
    progress = as_progress(on_progress)
    before = previous if isinstance(previous, Clusters | None) else Clusters.read(previous)
    published = read_published(store, model, with_keys=True, on_progress=progress)
    graph, table = published.graph, WriteNames.of_clusters(model)
    if before is None and not levels:
        before = _read(store, graph, table)
    names, recipe = node_names(store, published, caption), graph.provenance.attribute_recipe
    read = dict.fromkeys(each["property"] for each in recipe if each["kind"] in (Kind.TEXT, Kind.ENCODED))
    columns = [names, *(store.read_property(graph, name) for name in read)]
    texts = [" ".join(each for each in own if isinstance(each, str)) for own in zip(*columns, strict=True)]
    with errors_as(ConfigError):
        found = find_clusters(published, names, levels=levels or None, previous=before, texts=texts)
    found = replace(found, notes=published.notes)
    return replace(found, written=_write(store, published, table, found, progress)) if write else found


def find_clusters(
    published: PublishedModel,
    names: Sequence[str],
    *,
    levels: Sequence[int] | None = None,
    previous: Clusters | None = None,
    texts: Sequence[str] = (),
    n_threads: int | None = None,
) -> Clusters:
    """Return the clusters of a model's nodes, called by `names`, one for each node; see `cluster_nodes`."""
    found = cluster_nodes(
        published.embedding,
        published.graph,
        levels=levels,
        previous=previous,
        texts=texts,
        seed=int(published.run.seed or 0),
        n_threads=n_threads,
    )
    name_of = dict(zip(published.graph.names, names, strict=True))
    return replace(found, clusters=tuple(each._replace(name=name_of[each.name]) for each in found.clusters))


def _read(store: Neo4jStore, graph: Graph, table: WriteNames) -> Clusters | None:
    """Return the published clusters of the nodes of a graph; None if it has none."""
    columns = store.read_values(graph, table.model)
    if columns is None:
        return None
    levels = [columns[name] for name in table.values[::2] if any(columns.get(name, ()))]
    known = [
        row for row, own in enumerate(zip(*levels, strict=True)) if all(type(each) is int for each in own)
    ]
    groups = np.array([[level[row] for level in levels] for row in known], dtype=np.int64)
    return Clusters(groups, [graph.names[row] for row in known], ()) if known else None


def _write(
    store: Neo4jStore, published: PublishedModel, table: WriteNames, found: Clusters, on_progress: Progress
) -> str:
    """Publish clusters; return the id of the run."""
    name_of = {(each.level, each.cluster): each.name for each in found.clusters}
    columns: dict[str, list[Any]] = {}
    for level, column in enumerate(found.groups.T.tolist(), start=1):
        of_number, of_name = table.values[2 * level - 2 : 2 * level]
        columns |= {of_number: column, of_name: [name_of[level, number] for number in column]}
    recorded = {**published.origin, "levels": [len(set(column)) for column in found.groups.T.tolist()]}
    graph = published.graph
    with store.start_run(
        graph, parts=[VALUES], names=table, parameters=recorded, on_progress=on_progress
    ) as writer:
        writer.send_values(np.arange(graph.n_nodes), columns)
        return writer.publish().run_id
