"""The half of `Neo4jStore` that writes, and reads back what was written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._validation import check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.facts import model_facts
from heat_neo4j.database.lease import LEASE_SECONDS, Lease
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.options import WriteOptions
from heat_neo4j.database.payload import Links, check_coordinates, check_links
from heat_neo4j.database.publication import roll_back
from heat_neo4j.database.published import StoredCoordinates, read_embedding, read_stored
from heat_neo4j.database.published_index import IndexStatus, create_index, drop_index
from heat_neo4j.database.published_links import StoredLinks, read_links
from heat_neo4j.database.removal import RECORDS, ClearReport, clear, prune
from heat_neo4j.database.requests import RequestQueue
from heat_neo4j.database.runs import EMBEDDING, LINKS, RunRecord, read_bookkeeping
from heat_neo4j.database.writer import Run
from heat_neo4j.graph import Graph

__all__ = ["StoreWrites"]


class StoreWrites:
    """Methods of `Neo4jStore` that write coordinates and links, list runs and clear them."""

    _connection: Connection

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
        return Run(self._connection, graph, parts=parts, **options)

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
        graph : Graph
            As read from this database.
        model : HEAT or array of shape (N, d + 1)
            A fitted model, or points of the hyperboloid.
        coordinates : {"poincare", "hyperboloid", "klein"}
            What to store.
        dry_run : bool
            Check everything and say what would be written, without writing.
        **options
            ``names``, ``parameters``, ``stage_seconds``, ``facts``, ``overwrite``, ``index``, ``batch_size``,
            ``on_progress``: as for `Run`.

        Returns
        -------
        RunRecord
            The published run, or the plan of a dry run.

        Raises
        ------
        ValueError
            If the shape is wrong or the points are not on the hyperboloid.
        WriteRefused
            If a value is not finite, names are taken, or the user may not write.
        WriteFailed
            If writing stopped half-way; what was published before is untouched.
        ConnectionFailed
            If the server cannot be reached.
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
        self,
        graph: Graph,
        links: Links,
        *,
        dry_run: bool = False,
        **options: Unpack[WriteOptions],
    ) -> RunRecord:
        """Write predicted links between the nodes of `graph`, and publish them.

        Parameters
        ----------
        graph : Graph
            As read from this database.
        links : PredictedLinks
            What `predict_links` gave for it.
        dry_run : bool
            Check everything and say what would be written, without writing.
        **options
            As for `write_embedding`.

        Returns
        -------
        RunRecord
            The published run, or the plan of a dry run.

        Raises
        ------
        ValueError
            If the links are not of this graph.
        WriteRefused, WriteFailed, ConnectionFailed
            As for `write_embedding`.
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
        graph : Graph
            As read from this database.
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
        return read_embedding(self._connection, graph, (names or WriteNames()).model)

    def read_stored(self, graph: Graph, model: str = "heat") -> StoredCoordinates | None:
        """Return the published coordinates of those rows of `graph` that have some, as they are stored.

        Parameters
        ----------
        graph : Graph
            As read from this database.
        model : str
            Whose coordinates.

        Returns
        -------
        StoredCoordinates or None
            None if the model has nothing published.

        Raises
        ------
        ProjectionError
            If the values were changed by others, or are published anew again and again.
        ConnectionFailed
            If the server is lost or refuses.
        """
        return read_stored(self._connection, graph, model)

    def read_links(self, graph: Graph, model: str = "heat") -> StoredLinks | None:
        """Return the published predicted links between rows of `graph`.

        Parameters
        ----------
        graph : Graph
            As read from this database. Links to nodes that are not in it are left out.
        model : str
            Whose links.

        Returns
        -------
        StoredLinks or None
            Nearest first; None if the model has none published.

        Raises
        ------
        ProjectionError
            If the links are published anew while they are read.
        ConnectionFailed
            If the server is lost or refuses.
        """
        return read_links(self._connection, graph, model)

    def create_index(self, model: str = "heat", *, on_progress: Progress = no_progress) -> IndexStatus:
        """Make the vector index of a model's published coordinates, unless it is there and as it must be.

        Parameters
        ----------
        model : str
            Which model.
        on_progress : callable
            Called with the stages "write vectors" and "build index".

        Returns
        -------
        IndexStatus
            What there is then.

        Raises
        ------
        ProjectionError
            If the model has no published coordinates.
        WriteRefused
            If the vectors' property holds values of others, a node has no label, or the user may not.
        ConnectionFailed, WriteFailed
            If the server is lost or refuses, or another run was published meanwhile. To repeat completes it.
        """
        return create_index(self._connection, model, on_progress)

    def drop_index(self, model: str = "heat", *, on_progress: Progress = no_progress) -> tuple[str, ...]:
        """Take the vector index of a model's published coordinates away, and the vectors in it.

        Parameters
        ----------
        model : str
            Which model.
        on_progress : callable
            Called with the stage "write vectors".

        Returns
        -------
        tuple of str
            Names of the indexes; none if there were none.

        Raises
        ------
        ProjectionError, WriteRefused, ConnectionFailed, WriteFailed
            As for `create_index`.
        """
        return drop_index(self._connection, model, on_progress)

    def runs(self, model: str | None = None) -> list[RunRecord]:
        """Return the runs in this database (of one `model`, if given), latest first."""
        book = read_bookkeeping(self._connection, history=True)
        return [run for run in book.runs if model in (None, run.model)]

    def published_run(self, model: str = "heat") -> RunRecord | None:
        """Return the run whose coordinates are published; None if there is none."""
        return read_bookkeeping(self._connection).published_run(model)

    def roll_back(self, model: str = "heat") -> tuple[str | None, str | None]:
        """Publish the version before the published one again, in one transaction; again, to undo it.

        Returns
        -------
        tuple of str or None
            The runs whose coordinates and whose links are published now.

        Raises
        ------
        ProjectionError
            If no version before is kept.
        WriteRefused
            If the user may not write.
        ConnectionFailed, WriteFailed
            If the server is lost or refuses, or another run was published meanwhile.
        """
        return roll_back(self._connection, model)

    def prune(
        self,
        model: str = "heat",
        *,
        records: int = RECORDS,
        previous: bool = False,
        lease: Lease | None = None,
        on_progress: Progress = no_progress,
    ) -> int:
        """Remove what no reader needs: remains of dead runs, versions nobody can go back to, old run nodes.

        Parameters
        ----------
        model : str
            Which model.
        records : int
            Run nodes to keep of those of which nothing else is in the graph, the latest, at least 0.
        previous : bool
            Remove the version before the published one too; there is no rollback then.
        lease : Lease, optional
            The model's lease, if the caller holds it; taken here if not given.
        on_progress : callable
            Called with the stage "remove old version".

        Returns
        -------
        int
            How many run nodes were deleted.

        Raises
        ------
        LeaseHeld
            If the model is being refreshed.
        ConnectionFailed, WriteRefused, WriteFailed
            If the server is lost or refuses. To repeat completes it.
        """
        check_integer("records", records, minimum=0)
        with nullcontext() if lease is not None else self.lease(model):
            return prune(self._connection, model, records=records, previous=previous, on_progress=on_progress)

    def lease(self, model: str = "heat", seconds: float = LEASE_SECONDS) -> Lease:
        """Return the lease of a model, a context manager; see `Lease`."""
        return Lease(self._connection, model, seconds)

    def requests(self, model: str = "heat") -> RequestQueue:
        """Return the queue of the requests for a model; see `RequestQueue`."""
        return RequestQueue(self._connection, model)

    def clear(
        self,
        *,
        run_id: str | None = None,
        model: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        on_progress: Progress = no_progress,
    ) -> ClearReport:
        """Remove exactly what one run, one model, or all runs of this package wrote.

        A published run is taken out of publication first. Run nodes go too, and a model's node with its
        last run.

        Parameters
        ----------
        run_id, model : str, optional
            The run, or the model, to clear.
        everything : bool
            Clear all runs of all models.
        dry_run : bool
            Count, but remove nothing.
        on_progress : callable
            Called with the stage "remove".

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
        ConnectionFailed, WriteFailed
            If the server is lost or refuses; `clear` again goes on where it stopped.
        """
        return clear(
            self._connection,
            run_id=run_id,
            model=model,
            everything=everything,
            dry_run=dry_run,
            on_progress=on_progress,
        )
