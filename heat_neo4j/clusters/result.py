"""`Clusters`: the groups of a graph's nodes by level, and a summary of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j._utils.frames import Result, column_of, make_frame
from heat_neo4j._utils.output_file import write_output
from heat_neo4j.clusters.grouping import (
    UNKNOWN,
    Groups,
    find_groups,
    smoothed_directions,
    updated_groups,
    usual_levels,
)
from heat_neo4j.clusters.naming import centre_of, label_counts, telling_values
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import radius
from heat_neo4j.graph import Graph


class Cluster(NamedTuple):
    """A group of nodes on a level."""

    level: int  # from 1, the coarsest
    cluster: int  # its number on the level, from 1
    parent: int | None  # the number of the group on the level above that it is part of
    size: int  # nodes
    name: Any  # the name of its most central node
    labels: Mapping[str, int]  # how many members have which label; empty if all nodes have the same
    words: tuple[str, ...]  # values of attributes, and words, that set it apart, at most three


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(Result):
    """Groups of nodes on one or more levels; each group is part of one on the level above.

    Parameters
    ----------
    groups : int64 array of shape (N, L)
        The number of each node's group on each level, from 1; the coarsest level first.
    names : sequence
        Names of the nodes, by row.
    clusters : tuple of Cluster
        The groups, by level, the largest of each level first.
    notes : tuple of str
        Differences between the graph and the published version, one line each.
    written : str or None
        Id of the run that wrote them into the database.

    Examples
    --------
    >>> import networkx as nx
    >>> from heat_neo4j import HEAT
    >>> clusters = HEAT(n_components=2, random_state=0).fit(nx.les_miserables_graph()).clusters()
    >>> clusters
    Clusters(77 nodes in 3 and 9 clusters)
    >>> list(clusters.to_frame("pandas")), list(clusters.summary("pandas"))
    (['node', 'cluster1', 'cluster2'], ['level', 'cluster', 'parent', 'size', 'name', 'labels', 'words'])
    """

    groups: Groups
    names: Sequence[Any]
    clusters: tuple[Cluster, ...]
    notes: tuple[str, ...] = ()
    written: str | None = None

    def summary(self, backend: str | None = None) -> Any:
        """Return a data frame of the clusters, one row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.

        Returns
        -------
        data frame
            Columns "level", "cluster", "parent" (0 on the first level), "size", "name", "labels" with the
            number of members, and "words"; these two are joined by commas.
        """
        columns: dict[str, Any] = {
            field: [getattr(each, field) for each in self.clusters] for field in Cluster._fields
        }
        columns["parent"] = [parent or UNKNOWN for parent in columns["parent"]]
        columns["name"] = column_of(columns["name"])
        columns["labels"] = [
            ", ".join(f"{label} {count}" for label, count in labels.items()) for labels in columns["labels"]
        ]
        columns["words"] = [", ".join(words) for words in columns["words"]]
        return make_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the clusters, and the groups of each node, as JSON data."""
        return {
            "clusters": [each._asdict() | {"name": _plain(each.name)} for each in self.clusters],
            "nodes": [
                {"node": _plain(name), "clusters": own}
                for name, own in zip(self.names, self.groups.tolist(), strict=True)
            ],
            "notes": list(self.notes),
            "written": self.written,
        }

    def save(self, path: str | Path) -> None:
        """Write the clusters of all nodes to a file, as JSON, from which `read` returns them.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
        write_output(Path(path), text.encode(errors="replace"), "clusters")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the clusters that `save` wrote to a file, or ``heat clusters --output``.

        Raises
        ------
        ConfigError
            If the file cannot be read or is invalid.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            nodes, clusters = data["nodes"], data["clusters"]
            groups = np.array([each["clusters"] for each in nodes], dtype=np.int64)
            if groups.ndim != 2 or not groups.size or groups.min() <= UNKNOWN:
                raise ValueError("no number of a cluster for each node and level")
            found = tuple(Cluster(**{**each, "words": tuple(each["words"])}) for each in clusters)
            return cls(groups, [each["node"] for each in nodes], found)
        except OSError as error:
            raise ConfigError(f"clusters {path}: cannot be read: {error.strerror or error}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"clusters {path}: is not what `heat clusters --output` wrote") from error

    def __repr__(self) -> str:
        counts = " and ".join(str(len(np.unique(column))) for column in self.groups.T)
        return f"Clusters({plural(len(self.groups), 'node')} in {counts} clusters)"

    def _columns(self) -> dict[str, Any]:
        levels = {f"cluster{level}": column for level, column in enumerate(self.groups.T, start=1)}
        return {"node": column_of(self.names), **levels}

    def _of(self, names: Sequence[Any]) -> Groups:
        """Return the groups of nodes by their names; unknown ones have none."""
        row_of = {_plain(name): row for row, name in enumerate(self.names)}
        rows = np.array([row_of.get(_plain(name), -1) for name in names], dtype=np.int64)
        found = self.groups[rows]
        found[rows < 0] = UNKNOWN
        return found


def cluster_nodes(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    levels: Sequence[int] | None = None,
    previous: Clusters | None = None,
    texts: Sequence[str] = (),
    seed: int = 0,
    n_threads: int | None = None,
) -> Clusters:
    """Return clusters of the nodes of an embedded graph; parameters as of `HEAT.clusters`.

    Words that set a cluster apart come from `texts`, one for each node.
    """
    if levels is not None and previous is not None:
        raise ValueError("give either `levels` or `previous`, which has levels of its own")
    points = smoothed_directions(embedding, graph.adjacency, n_threads)
    if previous is None:
        wanted = usual_levels(graph.n_nodes) if levels is None else _checked_levels(levels, graph.n_nodes)
        groups = find_groups(points, wanted, seed)
    else:
        before = previous._of(graph.names)
        if not before.any():
            raise ValueError("no node of the graph is in the previous clusters: do the names match?")
        groups = updated_groups(points, before)
    return Clusters(groups, graph.names, tuple(_summaries(groups, graph, radius(embedding), texts)))


def _summaries(
    groups: Groups, graph: Graph, radii: NDArray[np.float64], texts: Sequence[str]
) -> Iterator[Cluster]:
    """Yield a summary of each group, by level, the largest first."""
    found = [
        (level, number, np.flatnonzero(column == number))
        for level, column in enumerate(groups.T, start=1)
        for number in np.unique(column).tolist()
    ]
    found.sort(key=lambda each: (each[0], -len(each[2]), each[1]))
    members_of = [members for _, _, members in found]
    labels, words = label_counts(graph, members_of), telling_values(graph, members_of, texts=texts)
    for (level, number, members), own, telling in zip(found, labels, words, strict=True):
        parent = int(groups[members[0], level - 2]) if level > 1 else None
        name = graph.names[centre_of(graph, radii, members)]
        yield Cluster(level, number, parent, len(members), name, own, telling)


def _plain(name: Any) -> str | int | float:
    """Return a name as JSON holds it."""
    name = name.item() if isinstance(name, np.generic) else name
    return name if isinstance(name, str | int | float) else display_text(name)


def _checked_levels(levels: Sequence[int], n_nodes: int) -> tuple[int, ...]:
    wanted = tuple(levels)
    if not wanted or any(not isinstance(each, int | np.integer) for each in wanted):
        raise TypeError(f"levels must be whole numbers of clusters, such as (10, 50), got {levels!r}")
    if wanted[0] < 1 or wanted[-1] > n_nodes or any(low >= high for low, high in pairwise(wanted)):
        given = ", ".join(map(str, wanted))
        raise ValueError(f"levels must ascend from 1 or more to the {n_nodes:,} nodes at most, got {given}")
    return wanted
