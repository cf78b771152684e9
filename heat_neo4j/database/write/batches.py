"""Columns sent to the server in batches, each in one transaction that also holds a write lock."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress
from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection, Parameters, Transaction
from heat_neo4j.database.write.payload import Coordinates, LinkColumns
from heat_neo4j.errors import HeatError, WriteFailed

Columns = Callable[[int, int], Parameters]
"""``columns(begin, end)`` returns the parameters of rows [begin, end)."""
NodeParameters = Callable[[NDArray[np.int64]], Parameters]
"""``nodes(rows)`` returns the parameters that identify the nodes of some rows."""
Rounds = Sequence[Sequence[tuple[int, int]]]
"""Ranges of rows (begin, end), by round; the ranges of a round can be written concurrently."""


def equal_parts(total: int, parts: int) -> Rounds:
    """Return one round of `parts` ranges of about equal length, for rows that share no node."""
    bounds = [total * part // parts for part in range(parts + 1)]
    return [list(pairwise(bounds))]


def conflict_free_rounds(
    source: NDArray[np.int64], target: NDArray[np.int64], parts: int
) -> tuple[NDArray[np.int64], Rounds]:
    """Arrange pairs of nodes so that no two ranges of one round share a node.

    Nodes are divided into 2 `parts` groups that meet in a round-robin tournament: in each of 2 `parts` - 1
    rounds every group meets one other, and each meeting is one range. Pairs within a group belong to its
    first meeting. Returns an order of the pairs, stable within each range, and the rounds of ranges in that
    order.
    """
    groups = 2 * parts
    meetings = np.zeros((groups, groups), dtype=np.int64)
    circle = list(range(groups))
    for played in range(groups - 1):
        for part in range(parts):
            one, other = circle[part], circle[-1 - part]
            meetings[one, other] = meetings[other, one] = played * parts + part
            if played == 0:
                meetings[one, one] = meetings[other, other] = part
        circle = [circle[0], circle[-1], *circle[1:-1]]
    meeting = meetings[source % groups, target % groups]
    order = np.argsort(meeting, kind="stable")
    bounds = np.searchsorted(meeting[order], np.arange((groups - 1) * parts + 1)).tolist()
    ranges = list(pairwise(bounds))
    return order, [ranges[begin : begin + parts] for begin in range(0, len(ranges), parts)]


def send(
    connection: Connection,
    statement: str,
    columns: Columns,
    *,
    held: Parameters,
    check: Callable[[], None],
    stage: str,
    rounds: Rounds,
    rows: int,
    on_progress: Progress,
    may_miss_all: bool = False,
) -> int:
    """Write rows by `statement`, `rows` at a time, with as many write locks as a round has ranges.

    The parameters of the statement are ``lock``, `held` (the same for all batches) and the result of
    `columns`; batches run in several threads. The statement returns ``written``, 0 if the lock is gone, and
    must be idempotent. If the lock is gone, `check` raises `LeaseHeld` if the lease was lost. `BatchSize`
    reduces the batch size if the server's limits require it.

    Returns the number of rows that the server matched. Raises WriteFailed if it found none of the nodes,
    unless `may_miss_all`.
    """

    def batch(lock: int, begin: int, end: int) -> int:
        parameters = {**held, "lock": lock, **columns(begin, end)}

        def work(transaction: Transaction) -> int:
            return int(transaction.run(statement, parameters).records[0]["written"])

        rows_written = connection.write_transaction(work, doing=f"in stage {stage!r}", divisible=True)
        if not rows_written:
            check()
        return rows_written

    total = sum(end - begin for ranges in rounds for begin, end in ranges)
    written = done = 0
    on_progress(stage, 0, total)
    size, threads = BatchSize(rows), max(map(len, rounds), default=1)
    with ThreadPoolExecutor(threads, "heat-write") as pool:  # waits for running batches at the end
        for ranges in rounds:
            idle = {lock: rows_left for lock, rows_left in enumerate(ranges) if rows_left[0] < rows_left[1]}
            running: dict[Future[int], tuple[int, int, int, int]] = {}
            while idle or running:
                for lock, (begin, end) in idle.items():
                    stop = min(begin + size.rows, end)
                    running[pool.submit(batch, lock, begin, stop)] = lock, begin, stop, end
                idle = {}
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    lock, begin, stop, end = running.pop(future)
                    try:
                        written += future.result()
                    except HeatError as error:
                        size.shrink(error, stop - begin, lock)
                        stop = begin
                    else:
                        size.succeeded(lock)
                        done += stop - begin
                        on_progress(stage, done, total)
                    if stop < end:
                        idle[lock] = stop, end
    if total and not (written or may_miss_all):
        raise WriteFailed("none of the graph's nodes is in this database (any more)")
    return written


def coordinate_columns(coordinates: Coordinates, rows: NDArray[np.int64], nodes: NodeParameters) -> Columns:
    """Return a function that builds the columns of a batch of rows: flat lists, the fastest form to send.

    `nodes` returns the parameters that identify the nodes of some rows.
    """
    width = coordinates.values.shape[1]

    def columns(begin: int, end: int) -> Parameters:
        batch = rows[begin:end]
        factors = None if coordinates.factors is None else coordinates.factors[batch].tolist()
        return {
            **nodes(batch),
            "values": coordinates.values[batch].ravel().tolist(),
            "width": width,
            "radii": coordinates.radii[batch].tolist(),
            "factors": factors,
            "dimension": coordinates.dimension,
        }

    return columns


def value_columns(
    values: Mapping[str, Sequence[Any]], rows: NDArray[np.int64], nodes: NodeParameters
) -> Columns:
    """Return a function that builds a map of properties for each row of a batch.

    `values` holds a value for each of `rows`, by property; `nodes` returns the parameters that identify the
    nodes of some rows.
    """

    def columns(begin: int, end: int) -> Parameters:
        own = zip(*(column[begin:end] for column in values.values()), strict=True)
        return {**nodes(rows[begin:end]), "values": [dict(zip(values, row, strict=True)) for row in own]}

    return columns


def link_columns(links: LinkColumns, order: NDArray[np.int64], nodes: NodeParameters) -> Columns:
    """Return a function that builds the columns of a batch of links in some order, each node once.

    `nodes` returns the parameters that identify the nodes of some rows.
    """

    def columns(begin: int, end: int) -> Parameters:
        rows = order[begin:end]
        pairs = np.stack([links.source[rows], links.target[rows]])
        ends, positions = np.unique(pairs, return_inverse=True)
        source, target = positions.reshape(pairs.shape)
        return {
            **nodes(ends),
            "source": source.tolist(),
            "target": target.tolist(),
            "distance": links.distance[rows].tolist(),
            "type": links.types[rows].tolist(),
            "rank": links.rank[rows].tolist(),
            "pattern_rank": links.pattern_rank[rows].tolist(),
            "probability": None if links.probability is None else links.probability[rows].tolist(),
            "reason": None if links.reason is None else links.reason[rows].tolist(),
        }

    return columns
