"""Columns sent to the server in batches, each in one transaction that also holds the run's node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heat_neo4j._progress import Progress
from heat_neo4j.database.connection import Connection, Parameters, Transaction
from heat_neo4j.database.payload import Coordinates, LinkColumns
from heat_neo4j.database.publication import hold_run
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.transactions import BatchTooLarge, fitting, write
from heat_neo4j.errors import WriteFailed

__all__ = ["Columns", "coordinate_columns", "link_columns", "send"]

Columns = Callable[[int, int], Parameters]

_FEWEST_ROWS = 100


def send(
    connection: Connection,
    record: RunRecord,
    statement: str,
    columns: Columns,
    *,
    stage: str,
    total: int,
    rows: int,
    on_progress: Progress,
) -> int:
    """Write rows 0 to `total` by `statement`, `rows` at a time; return how many the server matched.

    A batch that is more than the memory of the server's transactions holds is written in halves, and so are
    those after it.

    Parameters
    ----------
    connection : Connection
        Where to.
    record : RunRecord
        The run that writes; it must still be "incomplete" in the graph.
    statement : str
        Takes ``run`` and what `columns` gives, returns ``written``. To repeat it must change nothing.
    columns : callable
        ``columns(begin, end)`` gives the parameters of rows begin to end.
    stage : str
        Name for progress and messages.
    total, rows : int
        Number of rows in all, and in a batch at first.
    on_progress : callable
        Called after each batch.

    Raises
    ------
    WriteFailed
        If the run was taken over, the server refuses, or it knows none of the rows.
    ConnectionFailed
        If the server is lost.
    """
    written = begin = 0
    on_progress(stage, 0, total)
    while begin < total:
        end = min(begin + rows, total)
        parameters = {"run": record.run_id, **columns(begin, end)}

        def work(transaction: Transaction, parameters: Parameters = parameters) -> int:
            hold_run(transaction, record.run_id, record.model)
            with fitting():
                return int(transaction.run(statement, parameters).records[0]["written"])

        try:
            written += write(connection, work, doing=f"in stage {stage!r}")
        except BatchTooLarge:
            if rows <= _FEWEST_ROWS:
                raise
            rows //= 2
            continue
        begin = end
        on_progress(stage, end, total)
    if total and not written:
        raise WriteFailed("none of the graph's nodes is in this database (any more)")
    return written


def coordinate_columns(coordinates: Coordinates, node_ids: Sequence[str]) -> Columns:
    """Return what gives the columns of a batch of nodes: flat, as the server takes them fastest."""
    width = coordinates.values.shape[1]

    def columns(begin: int, end: int) -> Parameters:
        return {
            "ids": list(node_ids[begin:end]),
            "values": coordinates.values[begin:end].ravel().tolist(),
            "width": width,
            "radii": coordinates.radii[begin:end].tolist(),
        }

    return columns


def link_columns(links: LinkColumns, node_ids: Sequence[str]) -> Columns:
    """Return what gives the columns of a batch of links, each node's long id once."""

    def columns(begin: int, end: int) -> Parameters:
        pairs = np.stack([links.source[begin:end], links.target[begin:end]])
        nodes, positions = np.unique(pairs, return_inverse=True)
        source, target = positions.reshape(pairs.shape)
        return {
            "ids": [node_ids[node] for node in nodes.tolist()],
            "source": source.tolist(),
            "target": target.tolist(),
            "distance": links.distance[begin:end].tolist(),
            "rank": links.rank[begin:end].tolist(),
            "probability": None if links.probability is None else links.probability[begin:end].tolist(),
        }

    return columns
