"""`connect` and `Database`: the Python API of a Neo4j database."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from heat_neo4j._utils.closing import Closing
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.database.connection import Auth, Driver, ServerInfo
from heat_neo4j.database.index.nearest import find_neighbours
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.inspection import inspect_server
from heat_neo4j.database.publish.publication import rollback
from heat_neo4j.database.publish.published_index import create_index, drop_index, index_status
from heat_neo4j.database.publish.removal import clear, prune
from heat_neo4j.database.read.checking import ProjectionReport
from heat_neo4j.database.read.queries import run_cypher, run_query
from heat_neo4j.database.runs import read_runs
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.loader import load_graph
from heat_neo4j.errors import ConfigError
from heat_neo4j.evaluation.hierarchy import evaluate_hierarchy
from heat_neo4j.evaluation.link_tasks import evaluate_links
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.local_server.server import resolve_server
from heat_neo4j.pipeline import class_questions, cluster_questions, duplicate_questions, link_questions
from heat_neo4j.pipeline import embed as jobs
from heat_neo4j.pipeline.embed import RefreshReport
from heat_neo4j.pipeline.estimate import estimate_run
from heat_neo4j.pipeline.job import published_job
from heat_neo4j.pipeline.plan import AUTO
from heat_neo4j.pipeline.published_model import matching_recipe, model_of, read_published, read_score
from heat_neo4j.pipeline.verify import verify

P = ParamSpec("P")
R = TypeVar("R")


def connect(
    uri: str | Driver | None = None,
    auth: Auth | str = "environment",
    *,
    database: str | None = None,
    trusted: Sequence[str] = (),
) -> Database:
    """Connect to a database.

    Parameters
    ----------
    uri : str or neo4j.Driver, optional
        Address, such as ``neo4j://localhost:7687``, ``bolt://...`` or ``neo4j+s://...`` for Aura. By default
        NEO4J_URI, or else the local server that ``heat server start`` started. A driver that you pass stays
        open when the database is closed.
    auth : tuple of str, or neo4j.Auth, or None
        User name and password, another token of the driver, or None for a server without authentication; by
        default NEO4J_USERNAME (or "neo4j") and NEO4J_PASSWORD. Ignored for the local server.
    database : str, optional
        Database name; the environment's NEO4J_DATABASE, or the user's home database, if not given.
    trusted : sequence of str
        Filters that you trust. A filter that only the database records is refused unless listed here or used
        on this machine before.

    Returns
    -------
    Database
        Open; close it, or use it as a context manager.

    Raises
    ------
    ConfigError
        If there is no address and no local server runs, or there is no password.
    ConnectionFailed
        If nothing answers, the login is refused, the address is malformed or there is no such database.
    """
    database = database or os.environ.get("NEO4J_DATABASE")
    if isinstance(uri, Driver):
        return Database(Neo4jStore(uri, database=database, trusted=trusted))
    uri, login = resolve_server(uri or os.environ.get("NEO4J_URI"), partial(_login, auth))
    return Database(Neo4jStore.open(uri, auth=login, database=database, trusted=trusted))


def _login(auth: Auth | str) -> Auth:
    if not isinstance(auth, str):
        return auth
    if auth != "environment" or "NEO4J_PASSWORD" not in os.environ:
        raise ConfigError("no password: give auth=(user name, password), or set NEO4J_PASSWORD")
    return os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ["NEO4J_PASSWORD"]


def _verb(function: Callable[Concatenate[Neo4jStore, P], R]) -> Callable[Concatenate[Database, P], R]:
    """Return a function of a store as a method of `Database`, with its signature and docstring."""

    @wraps(function)
    def verb(self: Database, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self._store, *args, **kwargs)

    return verb


def _evaluation(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Database, Any, P], R]:
    """Return a function of a graph as a method of `Database` that reads a projection first."""

    @wraps(function)
    def evaluate(self: Database, projection: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        on_progress: Any = kwargs.get("on_progress", False)
        return function(self.project(projection, on_progress=on_progress), *args, **kwargs)

    own = signature(function)
    taken = Parameter("self", Parameter.POSITIONAL_ONLY), *own.parameters.values()
    evaluate.__signature__ = own.replace(parameters=taken)  # type: ignore[attr-defined]
    return evaluate


class Database(Closing):
    """A Neo4j database: reads graphs from it, and publishes, refreshes and queries models in it.

    `connect` opens one. Most commands of ``heat`` are methods of the same name; `load` reads a model.

    Raises
    ------
    ConnectionFailed
        By every method: if the server is lost or refuses the user.
    ProjectionError
        By every method that reads: if the server refuses a statement or a value of it.
    WriteRefused
        By every method that writes: if the user may not write, or foreign values would be overwritten.
    LeaseHeld
        By every method that writes or removes coordinates, links or indexes: if another process is writing
        the model.
    WriteFailed
        By every method that writes: if it stopped half-way. What was published before is untouched; call the
        method again to complete the work.

    Notes
    -----
    Everywhere `model` is the name of a published model, and `on_progress` is called as
    ``on_progress(stage, done, total)``; True draws bars.

    Examples
    --------
    ::

        with connect("neo4j://localhost", auth=("neo4j", password)) as db:
            graph = db.project("Paper", "CITES", attributes=["year"], key="id")
            heat = HEAT(random_state=0).fit(graph)
            db.publish(graph, heat, heat.predict_links(k=10))
    """

    def __init__(self, store: Neo4jStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"Database({self._store.address})"

    def close(self) -> None:
        """Close the connection; a driver that you passed stays open."""
        self._store.close()

    @property
    def server(self) -> ServerInfo:
        """Version, edition and address of the server, and the database in use."""
        return self._store.server

    doctor = _verb(inspect_server)
    run = _verb(run_cypher)
    query = _verb(run_query)
    load_graph = _verb(load_graph)

    def project(
        self,
        labels: str | Sequence[str] | Projection | None = None,
        relationships: str | Sequence[str] | None = None,
        *,
        scratch: str | Path | None = None,
        on_progress: Progress | bool = False,
        **options: Any,
    ) -> Graph:
        """Read a part of the database into a graph.

        The same data gives the same bits in any order of the server and, with a `key`, even after it is
        inserted again.

        Parameters
        ----------
        labels : str or sequence of str, or Projection, optional
            Node labels, by default all; or a `Projection` that says everything.
        relationships : str or sequence of str, optional
            Relationship types, by default all.
        scratch : path of a folder, optional
            Folder for memory-mapped files of the graph's matrix, relationships, times and numeric attributes.
            Memory use then does not grow with the number of relationships; the bits are the same.
        on_progress : callable or bool
            Called with the stages of reading; True draws bars.
        **options
            `weight`, `attributes`, `key` and others, as for `Projection`. Results name nodes by `key`, or by
            element id without one.

        Returns
        -------
        Graph

        Raises
        ------
        TypeError, ValueError
            As for `Projection`.
        ProjectionError
            If a name does not exist, nothing matches, or a weight, time, key or attribute value cannot be
            used.
        ConfigError
            If files cannot be made in `scratch`, or its disk is full.
        """
        if not isinstance(labels, Projection):
            labels = Projection(labels, relationships, **options)
        elif relationships is not None or options:
            raise TypeError("project takes a Projection, or its parameters, not both")
        return self._store.read_graph(labels, scratch=scratch, on_progress=as_progress(on_progress))

    def check(
        self, projection: Projection, *, model: str = "heat", on_progress: Progress | bool = False
    ) -> ProjectionReport:
        """Read all that `embed` would read, and report what it found and its problems.

        Nothing is written.

        Parameters
        ----------
        projection : Projection
            What to read.
        model : str
            Model whose attribute recipe is used, if published.
        on_progress : callable or bool
            Called with the stages of reading; True draws bars.

        Returns
        -------
        ProjectionReport
            With one line per problem; none if `embed` can run.
        """
        published = matching_recipe(projection, self._store.published_run(model))
        report = self._store.check(projection, published.entries, on_progress=as_progress(on_progress))
        why = report.recipe_problem or next(iter(published.notes), "")
        known = "new" if published.run is None else f"as in run {published.run}"
        return replace(report, recipe=f"new: {why}" if why else known)

    estimate = _verb(estimate_run)
    evaluate_links = _evaluation(evaluate_links)
    evaluate_hierarchy = _evaluation(evaluate_hierarchy)

    embed = _verb(jobs.embed)
    links = _verb(jobs.predict)

    publish = _verb(jobs.publish)

    def load(self, model: str = "heat", *, on_progress: Progress | bool = False) -> HEAT:
        """Return a published model as if it had been fitted here: parameters, points, graph and link score.

        Parameters
        ----------
        model : str
            Its name.
        on_progress : callable or bool
            Called with the stages of reading; True draws bars.

        Returns
        -------
        HEAT
            Nodes newer than the version are left out.

        Raises
        ------
        ProjectionError
            If the model is not published, its graph cannot be read, or its record is damaged.
        """
        published = read_published(self._store, model, with_keys=True, on_progress=as_progress(on_progress))
        parameters = model_of(published.run).get_params()
        loaded = HEAT.from_points(published.graph, published.embedding, **parameters)
        score = read_score(self._store, published)
        if score is not None:
            loaded.link_score_ = score
        return loaded

    def refresh(
        self,
        model: str = "heat",
        *,
        estimator: HEAT | None = None,
        mode: str = AUTO,
        dry_run: bool = False,
        on_progress: Progress | bool = False,
    ) -> RefreshReport:
        """Bring a published model up to date, with the settings it was published with. Repeating is harmless.

        Parameters
        ----------
        model : str
            Its name.
        estimator : HEAT, optional
            Estimator whose parameters replace the published ones; not modified.
        mode : {"auto", "local", "warm", "full"}
            local trains new and changed nodes, warm all nodes, full from scratch; auto chooses.
        dry_run : bool
            Only read and plan; write nothing.
        on_progress : callable or bool
            Called with the stages of the work; True draws bars.

        Returns
        -------
        RefreshReport

        Raises
        ------
        ValueError
            If there is no such mode.
        QualityRejected
            If a full run of the same graph was rejected and `mode` is "auto".
        ProjectionError
            If the model is not published: `embed` makes its first version.
        """
        books = self._store.bookkeeping()
        job = published_job(books, books.required_run(model), self._store.trust, estimator)
        return jobs.refresh(
            self._store, job, mode=mode, dry_run=dry_run, on_progress=as_progress(on_progress)
        )

    rollback = _verb(rollback)
    prune = _verb(prune)
    clear = _verb(clear)
    verify = _verb(verify)
    neighbours = _verb(find_neighbours)
    recommend = _verb(link_questions.recommend)
    explain = _verb(link_questions.explain)
    classify = _verb(class_questions.classify)
    clusters = _verb(cluster_questions.clusters)
    duplicates = _verb(duplicate_questions.duplicates)
    runs = _verb(read_runs)
    index_status = _verb(index_status)
    create_index = _verb(create_index)
    drop_index = _verb(drop_index)
