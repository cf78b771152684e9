"""`Neo4jStore`: reading graphs from, and writing results to, one database of a Neo4j server."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import neo4j
import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.frames import Rows
from heat_neo4j._utils.progress import Progress, as_progress, no_progress
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Auth, Connection, ServerInfo, Tracer
from heat_neo4j.database.index.nearest import Among, Neighbours, find_neighbours
from heat_neo4j.database.keys import Key
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.inspection import ServerReport, inspect_server
from heat_neo4j.database.publish.lease import LEASE_SECONDS, Lease
from heat_neo4j.database.publish.publication import rollback, version_before, write_lease
from heat_neo4j.database.publish.published_index import IndexStatus, create_index, drop_index, index_status
from heat_neo4j.database.publish.removal import RECORDS, ClearReport, clear, count_needless, prune
from heat_neo4j.database.publish.writer import Run, WriteOptions, model_facts
from heat_neo4j.database.published_nodes import NodeLink, find_node, read_node_links, read_scope
from heat_neo4j.database.query_files import LibraryQuery, load_query
from heat_neo4j.database.read.checking import ProjectionReport, check_projection
from heat_neo4j.database.read.counts import ProjectionCounts, count_projection, full_sources, sample_schema
from heat_neo4j.database.read.published import (
    StoredCoordinates,
    StoredLinks,
    read_embedding,
    read_kept,
    read_links,
    read_stored,
)
from heat_neo4j.database.read.reader import read_graph, read_properties_of, read_property
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.database.runs import (
    EMBEDDING,
    LINKS,
    Bookkeeping,
    RunRecord,
    nothing_published,
    read_bookkeeping,
    read_version,
)
from heat_neo4j.database.statements import identifier_to_copy
from heat_neo4j.database.trust import Trust
from heat_neo4j.database.versions import Version, runs_of
from heat_neo4j.database.write.loader import Loadable, LoadNames, LoadReport, load_graph
from heat_neo4j.database.write.payload import Links, check_coordinates, check_links
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph, Triple


class Neo4jStore:
    """One database of a Neo4j server, as the rooms above use it; users call `heat_neo4j.Database`.

    Its constructor takes a driver, which stays open when the store is closed; `connect` opens its own.
    """

    def __init__(
        self, driver: neo4j.Driver, *, database: str | None = None, trusted: Sequence[str] = ()
    ) -> None:
        self.connection = Connection(driver, database)
        self.connection.trust = Trust(trusted)

    @classmethod
    def connect(
        cls, uri: str, *, auth: Auth, database: str | None = None, trusted: Sequence[str] = ()
    ) -> Self:
        """Connect to the server at `uri`; see `heat_neo4j.connect`."""
        store = cls.__new__(cls)
        store.connection = Connection.open(uri, auth=auth, database=database)
        store.connection.trust = Trust(trusted)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Neo4jStore({self.connection.address})"

    @property
    def address(self) -> str:
        """How messages name the server."""
        return self.connection.address

    def close(self) -> None:
        """Close the connection; a driver that was handed in stays open."""
        self.connection.close()

    @property
    def server(self) -> ServerInfo:
        """Version, edition and address of the server, and the database in use."""
        return self.connection.server

    @property
    def trust(self) -> Trust:
        """The filters and the property names that the operator vouches for."""
        return self.connection.trust

    def doctor(self) -> ServerReport:
        """Return what the server offers the user, what is published there, and what is wrong.

        Nothing is written, and nothing of the user's own graph is read.

        Returns
        -------
        ServerReport
            With one line per problem; none if the server is fit for use.
        """
        return inspect_server(self.connection)

    def tracer(self, callback: Tracer | None) -> None:
        """Have `callback(statement, parameters)` called before each statement is sent; None ends it."""
        self.connection.tracer = callback

    def run(self, cypher: str, /, **parameters: Any) -> Rows:
        """Run a Cypher statement in a transaction and return its rows.

        Parameters
        ----------
        cypher : str
            The statement, which may write.
        **parameters
            Values of its ``$parameters``.

        Returns
        -------
        Rows
            A list of dicts, with `to_frame`.

        Raises
        ------
        WriteFailed
            If the server refuses the statement.

        Examples
        --------
        ::

            db.run("MATCH (p:Paper) WHERE p.year > $since RETURN p.id AS id", since=2000).to_frame()
        """
        records = self.connection.write_transaction(
            lambda current: current.run(cypher, parameters).records, doing="running Cypher"
        )
        return Rows(dict(record) for record in records)

    def query(self, name: str, /, **parameters: Any) -> Rows:
        """Run one of the queries that come with the package, ``cypher/query/<name>.cypher``.

        Parameters
        ----------
        name : str
            Such as ``"nearest"``; one of ``search/`` asks the model's index, whatever index the file names.
        **parameters
            ``label`` and ``property`` where the query has them, which are written in the statement, so that
            an index over them is used; and values of the parameters that the file names. Those that it does
            not call required have defaults.

        Returns
        -------
        Rows
            A list of dicts, with `to_frame`.

        Raises
        ------
        ConfigError
            If there is no such query, it has no such parameter, or a required one is not given.
        ProjectionError
            If the model is not published here, or there are no rows and no such label or property.
        """
        query = load_query(name)
        names, values = query.divide(parameters)
        own = self._names_of(query, values["model"]) if set(query.names) - set(names) else {}
        if set(query.names) - set(names) - set(own):
            return Rows()  # not published: the names in the file could be those of another model
        names |= own
        values = {each.name: values[each.name] for each in query.parameters}
        records = self.connection.read(query.written(names), values, doing="querying")
        if not records:
            chosen = [[names[each]] if each in names else [] for each in ("label", "property")]
            if any(chosen):
                require_names(self.connection, *chosen)
            if "model" in values and not read_version(self.connection, values["model"]):
                raise nothing_published(values["model"], self.connection)
        return Rows(dict(record) for record in records)

    def copy_query(self, name: str, model: str = "heat", **names: str) -> str:
        """Return the file of one of the queries that users copy, with the names that a model has here.

        Parameters
        ----------
        name : str
            Such as ``"nearest"``.
        model : str
            Whose properties, vector index and type of links are written in the place of the example's.
        **names
            ``label`` and ``property``, where the query has them and others than the example's are wanted.

        Raises
        ------
        ConfigError
            If there is no such query, or it has no such name.
        ProjectionError
            If the model is not published here, has not what the query asks, or has a name that cannot be
            printed as it is.
        ConnectionFailed
            If the server is lost.
        """
        query = load_query(name)
        own = self._names_of(query, model)
        missing = [each for each in query.names if each not in own and each not in ("label", "property")]
        if missing:
            raise ProjectionError(f"model {model!r} has no {' and '.join(missing)} in this database")
        try:
            for own_name in own.values():
                identifier_to_copy(own_name)
        except ValueError as error:
            raise ProjectionError(
                f"a name that model {model!r} has in this database {error}; somebody may have changed it"
            ) from error
        return query.copy(own | names, model)

    def _names_of(self, query: LibraryQuery, model: str) -> dict[str, str]:
        """Return the properties, the index and the type of links of a model, as far as a query names them."""
        version = read_version(self.connection, model)
        if not version:
            raise nothing_published(model, self.connection)
        properties = {"type": "linkType", "embedding": "vectorProperty", "radius": "radiusProperty"}
        names = {name: version[held] for name, held in properties.items() if held in version}
        if "index" in query.names:
            indexes = list(version.get("indexes") or ())
            if len(indexes) != 1:
                there = "no vector index" if not indexes else f"{len(indexes)} vector indexes"
                raise ProjectionError(
                    f"{query.name!r} asks one index, and the model has {there}: use another query"
                )
            names["index"] = indexes[0]
        return {name: value for name, value in names.items() if name in query.names}

    def neighbours(
        self,
        node: str,
        n_neighbors: int = 10,
        *,
        model: str = "heat",
        labels: Sequence[str] | None = None,
        key: Key | None = None,
        node_filter: str | None = None,
        filter_parameters: Mapping[str, Any] | None = None,
        show: Sequence[str] | None = None,
        fetch: int | None = None,
        exact: bool = False,
        among: Among = "all",
        n_links: int = 0,
    ) -> Neighbours:
        """Return the nodes nearest to one by hyperbolic distance.

        The vector index is asked for twice as many candidates, and again, until it was asked beyond the
        border of the ball that holds the answer. A nearer node can then be missing only where the index, an
        approximate one, overlooks it (docs/how-to/similar.md has figures); with `exact` none can. Of a model
        without an index every node is looked at.

        Parameters
        ----------
        node : str
            Element id of the node, or the value of its key.
        n_neighbors : int
            How many, 1 or more.
        labels : sequence of str, optional
            Labels that a node found by its key may have; those of the run if not given.
        key : str or mapping of str to str, optional
            Property that tells nodes apart, or one for each label; as in the run's projection if not given.
        node_filter : str, optional
            Cypher predicate over a neighbour ``n``, e.g. ``"n.year >= $since"``, sent as it is, in a
            transaction that cannot write.
        filter_parameters : mapping of str to value, optional
            Values of the ``$parameters`` in it. Names that start with ``heat_`` are reserved.
        show : sequence of str, optional
            Properties of the neighbours to return; those of the keys, if there are any, when not given.
        fetch : int, optional
            How many candidates the index gives around the node at first, 1 or more; 60, or twice
            `n_neighbors`, if not given.
        exact : bool
            Look at every node, and do not use the index.
        among : {"all", "more_general", "more_specific"}
            Look among all nodes, or only among those that are nearer to the centre than the node, or farther
            from it.
        n_links : int
            Most predicted links of each neighbour to return with it, 0 or more: the likeliest of those that
            are written.

        Returns
        -------
        Neighbours
            Nearest first.

        Raises
        ------
        ValueError
            If a number is out of range, there is no such `among`, or a name in `filter_parameters` is
            reserved.
        ProjectionError
            If the model is not published, the node is not there, not the only one of that value or without
            coordinates, there is no such property to show, or the server refuses the filter.
        """
        found = find_neighbours(
            self.connection,
            node,
            n_neighbors=n_neighbors,
            model=model,
            labels=labels,
            key=key,
            node_filter=node_filter,
            filter_parameters=filter_parameters,
            show=show,
            fetch=fetch,
            exact=exact,
            among=among,
            n_links=n_links,
        )
        empty = [name for name in show or () if all(each.properties[name] is None for each in found.nodes)]
        if found.nodes and empty:
            there = sorted({label for each in found.nodes for label in each.labels})
            require_names(self.connection, there, empty)
        return found

    def links_of(
        self, nodes: Sequence[str], *, k: int = 10, model: str = "heat", key: Key | None = None
    ) -> dict[str, tuple[NodeLink, ...]]:
        """Return the likeliest predicted links of some nodes, of those that are written.

        Parameters
        ----------
        nodes : sequence of str
            Element ids.
        k : int
            How many of each node, 1 or more; they lead from it or to it.
        key : str or mapping of str to str, optional
            Property that names the other ends, or one for each label; as in the run's projection if not
            given.

        Returns
        -------
        dict of str to tuple of NodeLink
            The likeliest first, for each of the nodes; none for a node that has no predicted link.

        Raises
        ------
        ValueError
            If `k` is out of range.
        ProjectionError
            If the model is not published.
        """
        return read_node_links(self.connection, nodes, k=k, model=model, key=key)

    def find_node(self, node: str, *, model: str = "heat", labels: Sequence[str] | None = None) -> str:
        """Return the element id of a node by the value of its key, as `neighbours` finds it.

        Parameters are those of `neighbours`; an element id, there or not, is returned as it is.

        Raises
        ------
        ProjectionError
            If the model is not published, or there is not exactly one node of that key.
        """
        return find_node(self.connection, read_scope(self.connection, model).nodes, node, labels)

    def index_status(self, model: str = "heat") -> IndexStatus:
        """Return what there is of the vector index of a model's published coordinates.

        Raises
        ------
        ProjectionError
            If it has no published coordinates.
        """
        return index_status(self.connection, model)

    def start_run(
        self, graph: Graph, *, parts: Sequence[str] = (EMBEDDING,), **options: Unpack[WriteOptions]
    ) -> Run:
        """Return a run to write into, for coordinates and links that are to be published together.

        The parameters are those of `Run`. Use it as a context manager and end with its `publish`::

            with store.start_run(graph, parts=["embedding", "links"]) as run:
                run.write_embedding(model)
                run.write_links(links)
                record = run.publish()
        """
        return Run(self.connection, graph, parts=parts, **options)

    def write_embedding(
        self,
        graph: Graph,
        model: Any,
        *,
        coordinates: str = "poincare",
        dry_run: bool = False,
        **options: Unpack[WriteOptions],
    ) -> RunRecord:
        """Write coordinates, radius and run id onto the nodes of `graph`, and publish them.

        Parameters
        ----------
        model : HEAT or array of shape (N, d + 1)
            A fitted model, whose parameters, seed and loss are recorded too, or points of the hyperboloid.
        coordinates : {"poincare", "hyperboloid", "klein"}
            What to store: Poincare ball (what a vector index can serve), Klein ball, or the points as given.
        dry_run : bool
            Check everything and say what would be written, without writing.
        **options
            ``names``, ``parameters``, ``stage_seconds``, ``facts``, ``overwrite``, ``index``, ``batch_size``,
            ``lease``, ``on_progress``: as for `Run`.

        Returns
        -------
        RunRecord
            The published run, or the plan of a dry run.

        Raises
        ------
        ValueError
            If the shape is wrong or the points are not on the hyperboloid.
        WriteRefused
            Also if a value is not finite, or names are taken.
        """
        columns, facts = check_coordinates(model, graph.n_nodes, coordinates), model_facts(model)
        options["parameters"] = {**facts.get("parameters", {}), **(options.get("parameters") or {})}
        run = self.start_run(graph, parts=(EMBEDDING,), **options)
        if dry_run:
            return run.plan(coordinates=columns)
        with run:
            run.send_coordinates(columns, facts)
            return run.publish()

    def write_links(
        self, graph: Graph, links: Links, *, dry_run: bool = False, **options: Unpack[WriteOptions]
    ) -> RunRecord:
        """Write predicted links between the nodes of `graph`, and publish them.

        Parameters
        ----------
        links : PredictedLinks
            What `predict_links` gave for it.
        dry_run, **options
            As for `write_embedding`.

        Returns
        -------
        RunRecord
            The published run, or the plan of a dry run.

        Raises
        ------
        ValueError
            If the links are not of this graph or come twice.
        WriteRefused
            Also if a distance or probability is not finite.
        """
        columns = check_links(links, graph.n_nodes)
        run = self.start_run(graph, parts=(LINKS,), **options)
        if dry_run:
            return run.plan(links=columns)
        with run:
            run.send_links(columns)
            return run.publish()

    def read_embedding(self, graph: Graph, *, names: WriteNames | None = None) -> NDArray[np.float64]:
        """Return the published coordinates of the rows of `graph`.

        Parameters
        ----------
        names : WriteNames, optional
            Whose `model` to read; the default model if not given.

        Returns
        -------
        float64 array of shape (N, d + 1)
            Points of the hyperboloid: exactly those written if they were stored as such, else as near as the
            stored ball coordinates are.

        Raises
        ------
        ProjectionError
            If the model has nothing published, or a node has no coordinates of the published run.
        """
        return read_embedding(self.connection, graph, (names or WriteNames()).model)

    def read_stored(
        self, graph: Graph, model: str = "heat", version: Version | None = None
    ) -> StoredCoordinates | None:
        """Return the published coordinates of those rows of `graph` that have some, as they are stored.

        Parameters
        ----------
        version : mapping, optional
            What is published of it, if nobody can publish another version meanwhile; read if not given.

        Returns
        -------
        StoredCoordinates or None
            None if the model has nothing published.

        Raises
        ------
        ProjectionError
            If the values were changed by others, or are published anew again and again.
        """
        return read_stored(self.connection, graph, model, version)

    def read_kept(self, graph: Graph, model: str = "heat") -> StoredCoordinates | None:
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
        return read_kept(self.connection, graph, model)

    def read_links(self, graph: Graph, model: str = "heat") -> StoredLinks | None:
        """Return the published predicted links between rows of `graph`.

        Returns
        -------
        StoredLinks or None
            Nearest first, without links to nodes that are not in `graph`; None if none are published.

        Raises
        ------
        ProjectionError
            If the links are published anew while they are read.
        """
        return read_links(self.connection, graph, model)

    def create_index(self, model: str = "heat", *, on_progress: Progress | bool = False) -> IndexStatus:
        """Make the vector index of a model's published coordinates, unless it is there and as it must be.

        Returns
        -------
        IndexStatus
            What there is then.

        Raises
        ------
        ProjectionError
            If the model has no published coordinates.
        WriteRefused
            If a node has no label, an index of others is in the way, or the user may not.
        """
        return create_index(self.connection, model, as_progress(on_progress))

    def drop_index(self, model: str = "heat") -> tuple[str, ...]:
        """Drop the vector index of a model's published coordinates; return the names, if there were any."""
        return drop_index(self.connection, model)

    def bookkeeping(self) -> Bookkeeping:
        """Return what is published of each model, and all runs, as one transaction saw them."""
        return read_bookkeeping(self.connection, history=True)

    def runs(self, model: str | None = None) -> list[RunRecord]:
        """Return the runs in this database (of one `model`, if given), latest first."""
        return [run for run in self.bookkeeping().runs if model in (None, run.model)]

    def published_run(self, model: str = "heat") -> RunRecord | None:
        """Return the run whose coordinates are published; None if there is none."""
        return read_bookkeeping(self.connection).published_run(model)

    def rollback(
        self, model: str = "heat", *, dry_run: bool = False, on_progress: Progress | bool = False
    ) -> tuple[str | None, str | None]:
        """Publish the version before the published one again; again, to undo it.

        The steps are those of any publication, so it takes as long as to write a version.

        Parameters
        ----------
        model : str
            Which model.
        dry_run : bool
            Publish nothing.
        on_progress : callable or bool
            Called with the stages "index new version", "settle" and "build index".

        Returns
        -------
        tuple of str or None
            The runs whose coordinates and whose links are published now, or would be.

        Raises
        ------
        ProjectionError
            If there is no such model, or no version before is kept.
        WriteRefused
            If the user may not write.
        LeaseHeld
            If another process writes versions of the model.
        ConnectionFailed, WriteFailed
            If the server is lost or refuses.
        """
        self._check_model(model)
        if dry_run:
            return runs_of(version_before(read_version(self.connection, model), model))
        with self.lease(model) as lease:
            return rollback(lease, as_progress(on_progress))

    def prune(
        self,
        model: str = "heat",
        *,
        records: int = RECORDS,
        previous: bool = False,
        dry_run: bool = False,
        lease: Lease | None = None,
        on_progress: Progress | bool = False,
    ) -> int:
        """Remove what no reader needs: remains of dead runs, versions nobody can go back to, old run nodes.

        Parameters
        ----------
        records : int
            Run nodes to keep of those of which nothing else is in the graph, the latest, at least 0.
        previous : bool
            Remove the version before the published one too; there is no rollback then.
        dry_run : bool
            Count, but remove nothing.
        lease : Lease, optional
            The model's lease, if the caller holds it; taken here if not given.

        Returns
        -------
        int
            How many run nodes were deleted, or would be.

        Raises
        ------
        ProjectionError
            If there is no such model.
        """
        check_integer("records", records, minimum=0)
        if lease is None:
            self._check_model(model)
        if dry_run:
            return count_needless(read_bookkeeping(self.connection, history=True), model, records, previous)
        with nullcontext(lease) if lease else self.lease(model) as held:
            return prune(held, records=records, previous=previous, on_progress=as_progress(on_progress))

    def _check_model(self, model: str) -> None:
        """Raise a ProjectionError if there is no such model here."""
        read_bookkeeping(self.connection, history=True).check_model(model)

    def lease(self, model: str = "heat", seconds: float = LEASE_SECONDS) -> AbstractContextManager[Lease]:
        """Return a context manager that holds the lease of a model; see `Lease`.

        A publication that was interrupted is finished, or undone, before.
        """
        return write_lease(self.connection, model, seconds)

    def check_reachable(self) -> None:
        """Raise a `ConnectionFailed` at once if the server does not answer."""
        self.connection.read_once("RETURN 1", doing="asking whether the server answers")

    def clear(
        self,
        *,
        run_id: str | None = None,
        model: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        on_progress: Progress | bool = False,
    ) -> ClearReport:
        """Remove exactly what one run, one model, or all runs of this package wrote.

        A published run is taken out of publication first. Run nodes go too, and a model's node with its
        last run.

        Parameters
        ----------
        run_id, model : str, optional
            The run, or the model, to clear; of a model that is not there nothing goes.
        everything : bool
            Clear all runs of all models.
        dry_run : bool
            Count, but remove nothing.

        Returns
        -------
        ClearReport
            What went, or would go.

        Raises
        ------
        ValueError
            Unless exactly one of `run_id`, `model` and `everything` is given.
        WriteRefused
            If there is no such run, or the user may not write.
        """
        return clear(
            self.connection,
            run_id=run_id,
            model=model,
            everything=everything,
            dry_run=dry_run,
            on_progress=as_progress(on_progress),
        )

    def read_graph(
        self,
        projection: Projection,
        recipe: Sequence[Mapping[str, Any]] | None = None,
        *,
        scratch: str | Path | None = None,
        with_keys: bool = True,
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
        scratch : path of a folder, optional
            Where the graph's matrix, relationships, times and numeric attributes are made, in files that are
            mapped into memory: the same bits, in memory that does not grow with the number of relationships.
            The files have no names, and go with the graph or the process. In memory if not given.
        with_keys : bool
            Whether the graph keeps the values of the projection's key, if it names one, as `Graph.keys`.

        Returns
        -------
        Graph
            With element ids, label masks, attribute names, and provenance with the counts met.

        Raises
        ------
        ProjectionError
            If a name does not exist, nothing matches, or a weight, time, key or attribute value cannot be
            used; as `RecipeError` if values do not fit the recipe.
        ConfigError
            If files cannot be made in `scratch`, or its disk is full.
        """
        graph = read_graph(self.connection, projection, recipe, on_progress, scratch, with_keys=with_keys)
        self.trust.remember_filters(projection.node_filter, projection.relationship_filter)
        return graph

    def read_property(self, graph: Graph, name: str) -> list[Any]:
        """Read the property `name` of a graph's nodes as it is stored, whatever its type.

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
        """
        return read_property(self.connection, graph, name)

    def properties_of(self, nodes: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Read all properties of some nodes, as they are now, without what runs of this package wrote there.

        Parameters
        ----------
        nodes : sequence of str
            Element ids.

        Returns
        -------
        dict
            Of each node that is still there its properties, by name.
        """
        return read_properties_of(self.connection, nodes)

    def check(
        self,
        projection: Projection,
        recipe: Sequence[Mapping[str, Any]] | None = None,
        *,
        on_progress: Progress = no_progress,
    ) -> ProjectionReport:
        """Read everything that `read_graph` would, and report what there is and all that would be wrong.

        Where `recipe` does not fit, the report says so and is of one learnt from the values.

        Returns
        -------
        ProjectionReport
            With one line per problem; none if `read_graph` and training will take it.
        """
        return check_projection(self.connection, projection, recipe, on_progress)

    def count(self, projection: Projection) -> ProjectionCounts:
        """Return how large the projection is, from counts and a sample of its attributes.

        Raises
        ------
        ProjectionError
            If a name does not exist, nothing matches, or a sampled attribute value cannot be used.
        """
        return count_projection(self.connection, projection)

    def sample_schema(self, projection: Projection) -> tuple[dict[Triple, int], dict[str, int]]:
        """Return some relationships by labels of source, type and labels of target, and nodes by label.

        At most 10,000 relationships of each type are looked at; filters are left aside.
        """
        return sample_schema(self.connection, projection)

    def full_sources(self, label: str, kind: str) -> float:
        """Return the share of a label's nodes that have the one relationship of a type they may have."""
        return full_sources(self.connection, label, kind)

    def load_graph(
        self,
        graph: Loadable,
        names: LoadNames | None = None,
        *,
        overwrite: bool = False,
        on_progress: Progress | bool = False,
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

        Raises
        ------
        WriteRefused
            If something there would be overwritten, two nodes there share a key, keys there are texts and
            those of the graph numbers or the other way round, a property is named like the key, or weight and
            time are. Nothing was written.
        """
        names = names or LoadNames()
        return load_graph(
            self.connection, graph, names, overwrite=overwrite, on_progress=as_progress(on_progress)
        )


def store_of(database: Any) -> Any:
    """Return the store of a `heat_neo4j.Database`; anything else as it is."""
    return getattr(database, "_store", database)
