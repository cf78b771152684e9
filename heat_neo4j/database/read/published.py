"""Read published coordinates and predicted links."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import neo4j
import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.published_nodes import damaged_links, is_sound_link
from heat_neo4j.database.read.node_identity import NodeIdentity
from heat_neo4j.database.runs import nothing_published, read_bookkeeping, read_version
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.versions import Version, being_published, holds_values, labels_of, previous_of
from heat_neo4j.database.write.payload import Coordinates, ball_factors
from heat_neo4j.errors import ProjectionError
from heat_neo4j.geometry.hyperboloid import from_coordinates, lift
from heat_neo4j.graph import Graph

T = TypeVar("T")
_BATCH = 10_000
_ATTEMPTS = 3


@dataclass(frozen=True, eq=False)
class StoredCoordinates:
    """The stored coordinates of a graph's N rows, where they have any."""

    run: str  # id of the run that wrote them
    kind: str  # one of `COORDINATES`
    values: NDArray[np.float64]  # (N, width); 0 where a row has none
    radii: NDArray[np.float64]  # (N,); 0 where a row has none
    found: NDArray[np.bool_]  # (N,): which rows have some

    def points(self) -> NDArray[np.float64]:
        """Return points on the hyperboloid, shape (N, d + 1); rows without coordinates are at the origin."""
        dimension = self.values.shape[1] - (self.kind == "hyperboloid")
        points = lift(np.zeros((len(self.values), dimension)))
        points[self.found] = from_coordinates(self.values[self.found], self.kind)
        return points

    def kept_in(self, coordinates: Coordinates) -> Coordinates:
        """Return `coordinates`, of the same kind and rows, with the exact values of stored rows."""
        values, radii = coordinates.values.copy(), coordinates.radii.copy()
        values[self.found], radii[self.found] = self.values[self.found], self.radii[self.found]
        return Coordinates(self.kind, values, radii, ball_factors(values, self.kind))


def read_stored(
    connection: Connection, graph: Graph, model: str = "heat", version: Version | None = None
) -> StoredCoordinates | None:
    """Return the published coordinates of those rows of `graph` that have some, as they are stored.

    Parameters
    ----------
    version : mapping, optional
        The published version, if known and protected by a lease; read otherwise.

    Returns
    -------
    StoredCoordinates or None
        None if the model has nothing published.

    Raises
    ------
    ProjectionError
        If values were changed by others, or new versions are published repeatedly.
    """
    if version is not None:
        return _read_run(connection, graph, version) if "run" in version else None
    return _read_whole(connection, model, partial(_read_run, connection, graph), "run", "stagedRun")


def covers(connection: Connection, graph: Graph, version: Version) -> bool:
    """Return whether as many nodes have coordinates of a version as the graph has nodes.

    If the version was written for this graph, each of them has some. Returns False while another version is
    being published.
    """
    labels = labels_of(version)
    if not labels or being_published(version):
        return False
    statement = load_statement(
        "read/covered_nodes",
        labels=labels,
        run=version["runProperty"],
        embedding=version["embeddingProperty"],
        radius=version["radiusProperty"],
    )
    (row,) = connection.read(statement, {"space": version["space"]}, doing="counting published nodes")
    return bool(row["nodes"] == graph.n_nodes)


def read_kept(connection: Connection, graph: Graph, model: str = "heat") -> StoredCoordinates | None:
    """Return the coordinates of the version before the published one, which is kept for a rollback.

    Returns
    -------
    StoredCoordinates or None
        Of those rows of `graph` that had some; None if no coordinates are kept.

    Raises
    ------
    ProjectionError
        As for `read_stored`.
    """
    names = read_bookkeeping(connection).names(model)
    read = partial(_read_previous, connection, graph, names)
    return _read_whole(connection, model, read, "previousRun", "run")


def read_embedding(connection: Connection, graph: Graph, model: str = "heat") -> NDArray[np.float64]:
    """Return the published coordinates of the rows of `graph`.

    Parameters
    ----------
    model : str
        Name of the published model.

    Returns
    -------
    float64 array of shape (N, d + 1)
        Points of the hyperboloid: exact if stored as such, otherwise accurate to the rounding of the stored
        ball coordinates.

    Raises
    ------
    ProjectionError
        If the model has nothing published, or a node has no coordinates of the published run.
    """
    stored = read_stored(connection, graph, model)
    if stored is None:
        raise nothing_published(model, connection)
    missing = int((~stored.found).sum())
    if missing:
        raise ProjectionError(
            f"{missing:,} of {graph.n_nodes:,} nodes have no coordinates of model {model!r}: they are newer "
            f"than run {stored.run}; `heat refresh` places new nodes"
        )
    return stored.points()


def read_values(connection: Connection, graph: Graph, model: str) -> dict[str, list[Any]] | None:
    """Return the published values of the rows of `graph`, as `write_values` wrote them.

    Parameters
    ----------
    model : str
        Name of the table.

    Returns
    -------
    dict of str to list, or None
        The N values of each property, None for nodes without; None if nothing is published.

    Raises
    ------
    ProjectionError
        If new versions are published repeatedly.
    """
    identity = NodeIdentity.of(graph)

    def read(version: Version) -> dict[str, list[Any]]:
        names = version["valueProperties"]
        statement = load_statement("read/values", same=identity.predicate, run=version["runProperty"])
        parameters = {
            "space": version["space"],
            "names": names,
            "staged_run": version.get("stagedRun"),
            "staged": version.get("stagedValues"),
        }
        found: dict[str, list[Any]] = {name: [None] * graph.n_nodes for name in names}
        for batch, columns in _batches(connection, identity, statement, parameters, "values"):
            for position, values in zip(columns["positions"], columns["values"], strict=True):
                for name, value in zip(names, values, strict=True):
                    found[name][batch[position]] = value
        return found

    return _read_whole(connection, model, read, "run", "stagedRun", of_table=True)


def _read_whole(
    connection: Connection,
    model: str,
    read: Callable[[Version], T],
    run: str,
    staged: str,
    *,
    of_table: bool = False,
) -> T | None:
    """Return the result of `read` for the published version; None if nothing is published.

    `read` may use several transactions. It is called again if they may have seen two versions, or if values
    were unstaged in between, as detected by the version's properties `run` and `staged`.
    """
    for _ in range(_ATTEMPTS):
        version = read_version(connection, model)
        if run not in version or holds_values(version) != of_table:
            return None
        result, now = read(version), read_version(connection, model)
        if (now.get(run), now.get(staged)) == (version.get(run), version.get(staged)):
            return result
    raise ProjectionError(f"model {model!r} is republished repeatedly: retry later")


def _read_run(connection: Connection, graph: Graph, version: Version) -> StoredCoordinates:
    """Return the coordinates of a version."""
    identity = NodeIdentity.of(graph)
    statement = load_statement(
        "read/coordinates",
        same=identity.predicate,
        run=version["runProperty"],
        embedding=version["embeddingProperty"],
        radius=version["radiusProperty"],
    )
    parameters = {
        "space": version["space"],
        "staged_run": version.get("stagedRun"),
        "staged_embedding": version.get("stagedEmbedding"),
        "staged_radius": version.get("stagedRadius"),
    }
    return _read_rows(connection, identity, version, statement, parameters)


def _read_previous(
    connection: Connection, graph: Graph, names: WriteNames, version: Version
) -> StoredCoordinates | None:
    """Return the coordinates of the version that `version` replaced; None if none is recorded."""
    before = previous_of(version)
    if "run" not in before:
        return None
    plain, previous = names.plain, names.previous
    identity = NodeIdentity.of(graph)
    statement = load_statement(
        "read/coordinates_kept",
        same=identity.predicate,
        run=plain.run,
        embedding=plain.embedding,
        radius=plain.radius,
        previous_run=previous.run,
        previous_embedding=previous.embedding,
        previous_radius=previous.radius,
    )
    parameters = {"before": before["run"], "space": before["space"]}
    return _read_rows(connection, identity, before, statement, parameters)


def _read_rows(
    connection: Connection,
    identity: NodeIdentity,
    version: Version,
    statement: str,
    parameters: Mapping[str, Any],
) -> StoredCoordinates:
    """Return the coordinates that a statement finds for the rows of a graph, in batches."""
    n = identity.graph.n_nodes
    values = np.zeros((n, version["dimension"]))
    radii = np.zeros(n)
    found = np.zeros(n, dtype=np.bool_)

    for batch, columns in _batches(connection, identity, statement, parameters, "coordinates"):
        rows = batch[np.asarray(columns["positions"], dtype=np.int64)]
        if rows.size:
            values[rows] = _matrix(columns["coordinates"], version["embeddingProperty"], version["dimension"])
            column = [[radius] for radius in columns["radii"]]
            radii[rows] = _matrix(column, version["radiusProperty"], 1)[:, 0]
            found[rows] = True
    return StoredCoordinates(version["run"], version["coordinates"], values, radii, found)


def _batches(
    connection: Connection, identity: NodeIdentity, statement: str, parameters: Mapping[str, Any], what: str
) -> Iterator[tuple[NDArray[np.int64], neo4j.Record]]:
    """Yield the rows of a graph in batches, each with the record that a statement returns for them."""

    def read(batch: NDArray[np.int64]) -> neo4j.Record:
        own = {**parameters, **identity.parameters(batch)}
        return connection.read(statement, own, doing=f"reading {what}", divisible=True)[0]

    return BatchSize(_BATCH).parts(read, np.arange(identity.graph.n_nodes))


def _matrix(lists: list[list[float]], name: str, width: int) -> NDArray[np.float64]:
    """Convert the property `name`, lists of floats, to rows; raises an error if values were changed."""
    try:
        matrix = np.array(lists, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProjectionError(f"{name!r} holds values that are not {width} numbers") from error
    if matrix.shape != (len(lists), width) or not np.isfinite(matrix).all():
        raise ProjectionError(f"{name!r} holds values that are not {width} finite numbers")
    return matrix


@dataclass(frozen=True, eq=False)
class StoredLinks:
    """L predicted links between rows of a graph, by rank; columns of shape (L,)."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    types: list[str]
    distance: NDArray[np.float64]
    probability: NDArray[np.float64] | None  # None if the run gave none

    def __len__(self) -> int:
        return len(self.source)


def read_links(connection: Connection, graph: Graph, model: str = "heat") -> StoredLinks | None:
    """Return the published predicted links between rows of `graph`.

    Returns
    -------
    StoredLinks or None
        Nearest first, without links to nodes that are not in `graph`; None if none are published.

    Raises
    ------
    ProjectionError
        If the links are republished while they are read.
    """
    read = partial(_read_links_of, connection, NodeIdentity.of(graph))
    links = _read_whole(connection, model, read, "linkRun", "stagedLinkType")
    if links is None:
        return None
    if not all(is_sound_link(link[0], *link[3:]) for link in links):
        raise damaged_links(model)
    links.sort(key=lambda link: link[:4])
    have_probability = bool(links) and all(link[5] is not None for link in links)
    return StoredLinks(
        np.array([link[1] for link in links], dtype=np.int64),
        np.array([link[2] for link in links], dtype=np.int64),
        [link[3] for link in links],
        np.array([link[4] for link in links], dtype=np.float64),
        np.array([link[5] for link in links], dtype=np.float64) if have_probability else None,
    )


def _read_links_of(
    connection: Connection, identity: NodeIdentity, version: Version
) -> list[tuple[int, int, int, str, float, float | None]]:
    """Return rank, rows, type, distance and probability of the links of a version between rows of a graph."""
    link_type = version.get("stagedLinkType", version["linkType"])
    statement = load_statement("read/links", same=identity.predicate, type=link_type)
    graph, links, there = identity.graph, list[tuple[int, int, int, str, float, float | None]](), set[int]()
    row_of = {element_id: row for row, element_id in enumerate(graph.node_ids)}

    run = {"run": version["linkRun"]}
    for batch, (positions, *columns) in _batches(connection, identity, statement, run, "predicted links"):
        there.update(batch[np.asarray(positions, dtype=np.int64)].tolist())
        for rank, place, target, *rest in zip(*columns, strict=True):
            if target in row_of:
                links.append((rank, int(batch[place]), row_of[target], *rest))
    return [link for link in links if link[2] in there]
