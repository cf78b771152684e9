"""`Neo4jStore`: reading graphs from, and writing results to, one database of a Neo4j server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import neo4j
import numpy as np
from numpy.typing import NDArray

from heat_neo4j._progress import Progress, no_progress
from heat_neo4j.database import gds
from heat_neo4j.database.checking import ProjectionReport, check_projection
from heat_neo4j.database.connection import Auth, Connection, ServerInfo, Tracer
from heat_neo4j.database.counts import ProjectionCounts, count_projection
from heat_neo4j.database.loader import Loadable, LoadNames, LoadReport, load_graph, make_room
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.properties import read_property
from heat_neo4j.database.reader import read_graph
from heat_neo4j.database.store_queries import StoreQueries
from heat_neo4j.database.store_writes import StoreWrites
from heat_neo4j.graph import Graph

__all__ = ["Neo4jStore"]


class Neo4jStore(StoreQueries, StoreWrites):
    """One database of a Neo4j server, as this package uses it.

    Parameters
    ----------
    driver : neo4j.Driver
        A ready driver. It stays open when the store is closed; `connect` opens (and closes) its own.
    database : str, optional
        Database name; the user's home database if not given.

    Examples
    --------
    ::

        with Neo4jStore.connect("neo4j://localhost:7687", auth=("neo4j", password)) as store:
            graph = store.read_graph(Projection(labels=["Paper"], relationships=["CITES"]))
    """

    def __init__(self, driver: neo4j.Driver, *, database: str | None = None) -> None:
        self._connection = Connection(driver, database)

    @classmethod
    def connect(cls, uri: str, *, auth: Auth, database: str | None = None) -> Self:
        """Connect to the server at `uri`.

        Parameters
        ----------
        uri : str
            Such as ``neo4j://localhost:7687``, ``bolt://...`` or ``neo4j+s://...`` for Aura.
        auth : tuple of str, or neo4j.Auth, or None
            User name and password, another token of the driver, or None for a server without authentication.
        database : str, optional
            Database name; the user's home database if not given.

        Returns
        -------
        Neo4jStore
            Open; close it, or use it as a context manager.

        Raises
        ------
        ConnectionFailed
            If nothing answers, the login is refused, the address is malformed or there is no such database.
        """
        store = cls.__new__(cls)
        store._connection = Connection.open(uri, auth=auth, database=database)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a driver that was handed in stays open."""
        self._connection.close()

    @property
    def server(self) -> ServerInfo:
        """Version, edition and address of the server, and the database in use."""
        return self._connection.server

    def tracer(self, callback: Tracer | None) -> None:
        """Have `callback(statement, parameters)` called before each statement is sent; None ends it."""
        self._connection.tracer = callback

    def read_graph(
        self,
        projection: Projection,
        recipe: Sequence[Mapping[str, Any]] | None = None,
        *,
        on_progress: Progress = no_progress,
    ) -> Graph:
        """Read nodes, relationships and attributes into a `Graph`.

        The same data gives the same bits whatever order the server returns it in, and after it has been
        inserted anew if the projection names a `key`.

        Parameters
        ----------
        projection : Projection
            What to read.
        recipe : sequence of mappings, optional
            `Provenance.attribute_recipe` or `RunRecord.attribute_recipe` of an earlier reading, to encode the
            attributes by: strings unknown to it go to its column ``:other`` or nowhere, and a missing number
            takes its mean. Learnt from the values if not given.
        on_progress : callable
            Called as ``on_progress(stage, done, total)``.

        Returns
        -------
        Graph
            With element ids, label masks, attribute names, and provenance with the counts met.

        Raises
        ------
        ProjectionError
            If a name does not exist, nothing matches, or a weight, key or attribute value cannot be used; as
            `RecipeError` if values do not fit the recipe.
        ConnectionFailed
            If the server is lost or refuses.
        """
        return read_graph(self._connection, projection, recipe, on_progress)

    def read_property(self, graph: Graph, name: str) -> list[Any]:
        """Read one property of a graph's nodes as it is stored, whatever its type.

        Parameters
        ----------
        graph : Graph
            From `read_graph` of this database.
        name : str
            The node property.

        Returns
        -------
        list
            One value per row; None where a node has none.

        Raises
        ------
        ValueError
            If the graph came from no database.
        ProjectionError
            If no node of the graph has the property, or nodes have been deleted since it was read.
        ConnectionFailed
            If the server is lost or refuses.
        """
        return read_property(self._connection, graph, name)

    def gds_version(self) -> str | None:
        """Return the version of Graph Data Science on the server; None without it."""
        return gds.has_gds(self._connection)

    def fastrp(self, graph: Graph, n_components: int, seed: int, *, attributes: bool) -> NDArray[np.float64]:
        """Embed any graph by the server's FastRP, for comparison; see `database.gds.fastrp`."""
        return gds.fastrp(self._connection, graph, n_components, seed, attributes=attributes)

    def node2vec(self, graph: Graph, n_components: int, seed: int) -> NDArray[np.float64]:
        """Embed any graph by the server's node2vec, for comparison; see `database.gds.node2vec`."""
        return gds.node2vec(self._connection, graph, n_components, seed)

    def check(
        self,
        projection: Projection,
        recipe: Sequence[Mapping[str, Any]] | None = None,
        *,
        on_progress: Progress = no_progress,
    ) -> ProjectionReport:
        """Read everything that `read_graph` would, and report what there is and all that would be wrong.

        Parameters
        ----------
        projection : Projection
            What to check.
        recipe : sequence of mappings, optional
            As for `read_graph`.
        on_progress : callable
            Called as ``on_progress(stage, done, total)``.

        Returns
        -------
        ProjectionReport
            With one line per problem; none if `read_graph` and training will take it.

        Raises
        ------
        ConnectionFailed
            If the server is lost or refuses.
        """
        return check_projection(self._connection, projection, recipe, on_progress)

    def count(self, projection: Projection) -> ProjectionCounts:
        """Return how large the projection is, from counts and a sample of its attributes.

        Raises
        ------
        ProjectionError
            If a name does not exist, nothing matches, or a sampled attribute value cannot be used.
        ConnectionFailed
            If the server is lost or refuses.
        """
        return count_projection(self._connection, projection)

    def load_graph(
        self,
        graph: Loadable,
        names: LoadNames | None = None,
        *,
        overwrite: bool = False,
        on_progress: Progress = no_progress,
    ) -> LoadReport:
        """Load a graph from outside: nodes by key, then weighted relationships. Twice is the same as once.

        Parameters
        ----------
        graph : Loadable
            Such as `FileGraph`: keys, properties, and relationships between rows.
        names : LoadNames, optional
            Label, relationship type and properties to use; "Node", "LINK", "id" and "weight" if not given.
        overwrite : bool
            Set values even where nodes or relationships that are there hold others.
        on_progress : callable
            Called as ``on_progress(stage, done, total)``.

        Returns
        -------
        LoadReport

        Raises
        ------
        WriteRefused
            If something there would be overwritten, or two nodes there share a key. Nothing was written.
        ConnectionFailed, WriteFailed
            If the server is lost or refuses; loading again completes the work.
        """
        chosen = names or LoadNames()
        return load_graph(self._connection, graph, chosen, overwrite=overwrite, on_progress=on_progress)

    def make_room(self, label: str, *, family: str, origin: str) -> int:
        """Remove from a label what earlier loads of a family left; return how many nodes.

        Parameters
        ----------
        label : str
            Label of the family's nodes.
        family : str
            How their property ``origin`` begins.
        origin : str
            The full ``origin`` of the load that is to come; nodes that have it stay.

        Raises
        ------
        WriteRefused
            If there are other nodes of that label. Nothing was removed.
        ConnectionFailed, WriteFailed
            If the server is lost or refuses.
        """
        return make_room(self._connection, label, family=family, origin=origin)

    def __repr__(self) -> str:
        return f"Neo4jStore({self._connection.address})"
