"""`connect`: a database to work with from Python, in a notebook or a program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.database.connection import Auth
from heat_neo4j.database.keys import Key
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord, nothing_published
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConfigError
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.pipeline.embed import RefreshReport, publish, refresh
from heat_neo4j.pipeline.job import published_job
from heat_neo4j.pipeline.plan import AUTO
from heat_neo4j.pipeline.published_model import model_of, read_published, read_score


def connect(
    uri: str | None = None,
    auth: Auth | str = "environment",
    *,
    database: str | None = None,
    trusted: Sequence[str] = (),
) -> Database:
    """Connect to a database.

    Parameters
    ----------
    uri : str, optional
        Such as ``neo4j://localhost:7687``, ``bolt://...`` or ``neo4j+s://...`` for Aura; the environment's
        NEO4J_URI if not given.
    auth : tuple of str, or neo4j.Auth, or None
        User name and password, another token of the driver, or None for a server without authentication; the
        environment's NEO4J_USERNAME (or "neo4j") and NEO4J_PASSWORD if not given.
    database : str, optional
        Database name; the environment's NEO4J_DATABASE, or the user's home database, if not given.
    trusted : sequence of str
        Filters, and names of node properties, that you vouch for; needed only for those of a published model
        that was embedded on another machine.

    Returns
    -------
    Database
        Open; close it, or use it as a context manager.

    Raises
    ------
    ConfigError
        If the address or the password is neither given nor in the environment.
    ConnectionFailed
        If nothing answers, the login is refused, the address is malformed or there is no such database.
    """
    uri = uri or os.environ.get("NEO4J_URI")
    if not uri:
        raise ConfigError("no server given: name its address, or set NEO4J_URI")
    if isinstance(auth, str):
        if auth != "environment" or "NEO4J_PASSWORD" not in os.environ:
            raise ConfigError("no password: give auth=(user name, password), or set NEO4J_PASSWORD")
        auth = os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ["NEO4J_PASSWORD"]
    database = database or os.environ.get("NEO4J_DATABASE")
    return Database.connect(uri, auth=auth, database=database, trusted=trusted)


class Database(Neo4jStore):
    """A `Neo4jStore` that also does the whole work in a few calls.

    Examples
    --------
    ::

        with connect("neo4j://localhost", auth=("neo4j", password)) as db:
            graph = db.project("Paper", "CITES", attributes=["year"], key="id")
            model = HEAT(random_state=0).fit(graph)
            db.publish(graph, model, model.predict_links(k=10))
    """

    def project(
        self,
        labels: str | Sequence[str] | None = None,
        relationships: str | Sequence[str] | None = None,
        *,
        weight: str | None = None,
        attributes: Sequence[str] = (),
        key: Key | None = None,
        on_progress: Progress | bool = False,
        **options: Any,
    ) -> Graph:
        """Read a part of the database into a graph.

        Parameters
        ----------
        labels, relationships : str or sequence of str, optional
            Labels of nodes and types of relationships to read, all if not given.
        weight, attributes, key, **options
            As for `Projection`. Results call the nodes by their values of `key`, without it by their element
            ids.
        on_progress : callable or bool
            Called with the stages of reading; True draws bars.

        Returns
        -------
        Graph

        Raises
        ------
        TypeError, ValueError, ProjectionError
            As for `Projection` and `Neo4jStore.read_graph`.
        """
        projection = Projection(
            [labels] if isinstance(labels, str) else labels,
            [relationships] if isinstance(relationships, str) else relationships,
            weight=weight,
            attributes=attributes,
            key=key,
            **options,
        )
        return self.read_graph(projection, on_progress=as_progress(on_progress))

    def publish(
        self,
        graph: Graph,
        model: HEAT,
        links: PredictedLinks | None = None,
        *,
        name: str = "heat",
        names: WriteNames | None = None,
        overwrite: bool = False,
        on_progress: Progress | bool = False,
    ) -> RunRecord:
        """Publish coordinates, and predicted links, as one version of a model.

        Parameters
        ----------
        graph : Graph
            As read from this database.
        model : HEAT
            Fitted on it, loaded, or made by `HEAT.from_points`. If a model was fitted elsewhere, such as on
            data frames with the same keys, publish ``HEAT.from_points(graph, model.transform(graph))``.
        links : PredictedLinks, optional
            As predicted from it; earlier ones stay published if not given.
        name : str
            Name of the model in the database.
        names : WriteNames, optional
            Other names of the properties and relationships to write; `name` is then its `model`.
        overwrite, on_progress
            As for `pipeline.embed`; True draws bars.

        Returns
        -------
        RunRecord
            What was published.

        Raises
        ------
        ValueError
            If the graph came from no database, or model and links are not of it: then the message counts the
            nodes that the model lacks.
        WriteRefused, LeaseHeld, WriteFailed, ConnectionFailed
            As for `Neo4jStore`.
        """
        names = names or WriteNames(model=name)
        progress = as_progress(on_progress)
        _check_is_of(model, graph)
        report = publish(self, graph, model, links, names=names, overwrite=overwrite, on_progress=progress)
        model.published_as_ = names.model
        return report.run

    def load(self, name: str = "heat", *, on_progress: Progress | bool = False) -> HEAT:
        """Return a published model as if it had been fitted here: parameters, points, graph and link score.

        Parameters
        ----------
        name : str
            Name of the model in the database.
        on_progress : callable or bool
            Called with the stages of reading; True draws bars.

        Returns
        -------
        HEAT
            Without nodes that are newer than its version.

        Raises
        ------
        ProjectionError
            If the model is not published, its graph cannot be read, or its run's node is damaged.
        """
        published = read_published(self, name, with_keys=True, on_progress=as_progress(on_progress))
        parameters = model_of(published.run).get_params()
        model = HEAT.from_points(published.graph, published.embedding, **parameters)
        model.published_as_ = name
        score = read_score(self, published)
        if score is not None:
            model.link_score_ = score
        return model

    def refresh(
        self,
        model: HEAT | str = "heat",
        *,
        mode: str = AUTO,
        on_progress: Progress | bool = False,
    ) -> RefreshReport:
        """Bring a published model up to date, with the settings it was published with.

        Parameters
        ----------
        model : HEAT or str
            A model as it was published or loaded, whose parameters then count, or its name. It is left as it
            is: `load` returns the new version.
        mode : {"auto", "local", "warm", "full"}
            What to do; by what has changed if "auto".
        on_progress : callable or bool
            Called with the stages of the work; True draws bars.

        Returns
        -------
        RefreshReport

        Raises
        ------
        ProjectionError
            If the model is not published.
        ValueError, LeaseHeld, QualityRejected, WriteRefused, WriteFailed, ConnectionFailed
            As for `pipeline.refresh`.
        """
        name = _name_of(model)
        book = self.bookkeeping()
        run = book.published_run(name)
        if run is None:
            raise nothing_published(name, book)
        job = published_job(book, run, self.trust, None if isinstance(model, str) else model)
        return refresh(self, job, mode=mode, on_progress=as_progress(on_progress))

    def rollback(self, model: HEAT | str = "heat") -> tuple[str | None, str | None]:
        """Publish the version before the published one again; again, to undo it.

        Parameters
        ----------
        model : HEAT or str
            A model as it was published or loaded, or its name.

        Returns
        -------
        tuple of str or None
            The runs whose coordinates and whose links are published now.

        Raises
        ------
        ProjectionError, WriteRefused, LeaseHeld, WriteFailed, ConnectionFailed
            As for `Neo4jStore.roll_back`.
        """
        return self.roll_back(_name_of(model))

    def __repr__(self) -> str:
        return f"Database({self._connection.address})"


def _check_is_of(model: HEAT, graph: Graph) -> None:
    """Raise a ValueError if a model was fitted on another graph, or its nodes are in another order."""
    own = getattr(model, "graph_", None)
    if own is None or own is graph or not graph.node_ids:  # other checks deal with these
        return
    same_nodes = own.node_ids == graph.node_ids if own.node_ids else own.names == graph.names
    if same_nodes and (not hasattr(model, "training_") or own.digest() == graph.digest()):
        return
    missing = list(set(graph.names) - set(own.names))
    what = "it has the same nodes, and was fitted elsewhere"
    if missing:
        lacks = plural(len(missing), "node")
        what = f"it lacks {lacks} of {graph.n_nodes:,}, such as {min(missing, key=str)!r}"
    raise ValueError(
        f"the model was not fitted on this graph ({what}): publish HEAT.from_points(graph, "
        "model.transform(graph)), which takes its points by the names of nodes"
    )


def _name_of(model: HEAT | str) -> str:
    return model if isinstance(model, str) else getattr(model, "published_as_", "heat")
