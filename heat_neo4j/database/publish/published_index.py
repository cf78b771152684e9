"""The vector index over published coordinates: show, create and drop it."""

from dataclasses import dataclass

from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.index.vector_indexes import (
    NO_INDEX,
    VectorIndex,
    build_indexes,
    drop_indexes,
    own_indexes,
    read_cover,
    show_indexes,
)
from heat_neo4j.database.publish.publication import (
    await_readers,
    index_plan,
    read_core,
    switch_version,
    write_lease,
)
from heat_neo4j.database.publish.reach import Reach
from heat_neo4j.database.runs import Bookkeeping, RunRecord, read_bookkeeping
from heat_neo4j.database.versions import at_rest, labels_of


@dataclass(frozen=True, repr=False)
class IndexStatus(Result):
    """Status of a model's vector index.

    Parameters
    ----------
    model : str
        Name of the model.
    run : str
        Run of the published coordinates.
    dimension : int
        Dimension of the space.
    indexes : tuple of VectorIndex
        Indexes that readers use, as reported by the server.
    problems : tuple of str
        One line each; empty if the index can be used.
    """

    model: str
    run: str
    dimension: int
    indexes: tuple[VectorIndex, ...]
    problems: tuple[str, ...]


def index_status(connection: Connection, model: str = "heat") -> IndexStatus:
    """Show the index and its problems.

    Raises
    ------
    ProjectionError
        If the model has no published coordinates.
    """
    book, record = _published(connection, model)
    version = book.published(model)
    # During a publication, readers also use indexes over staged coordinates.
    plan, staged = (
        index_plan(version, book.names(model), record.labels, copy) for copy in ("plain", "staged")
    )
    wanted = list(version.get("indexes") or ())
    indexes = tuple(show_indexes(connection, [], wanted))
    problems = [] if wanted else [f"model {model!r} has no vector index: run `heat index create`"]
    existing = {index.name for index in indexes}
    problems += [
        f"index {name!r} is missing: run `heat index create`" for name in wanted if name not in existing
    ]
    for index in indexes:
        if not index.serves(plan) and not index.serves(staged):
            problems.append(f"index {index.name!r} has wrong settings: run `heat index create`")
        elif index.state != "ONLINE":
            problems.append(f"index {index.name!r} is being built: {index.percent:.0f} %")
    return IndexStatus(model, record.run_id, plan.dimension, indexes, tuple(problems))


def create_index(
    connection: Connection, model: str = "heat", *, on_progress: Progress | bool = False
) -> IndexStatus:
    """Create the index if it is missing or wrong.

    Returns
    -------
    IndexStatus
        The new status.

    Raises
    ------
    ProjectionError
        If the model has no published coordinates.
    WriteRefused
        If a node has no label, a foreign index is in the way, or the user may not write.
    """
    status = index_status(connection, model)
    if not status.problems:
        return status
    with write_lease(connection, model) as lease:
        book, record = _published(connection, model)
        version, names = book.published(model), book.names(model)
        plan = index_plan(version, names, record.labels)
        reach = Reach(connection, names, labels_of(version))
        reach.extend(version)
        cover = read_cover(connection, plan, reach.nodes)
        indexes = build_indexes(
            connection, plan, cover, check_lease=lease.check, on_progress=as_progress(on_progress)
        )
        core = read_core(connection, version, reach.nodes)
        switch_version(lease, at_rest(version, {"indexes": indexes, "core": core}), doing="indexing")
    return index_status(connection, model)


def drop_index(connection: Connection, model: str = "heat") -> tuple[str, ...]:
    """Drop the index and keep the coordinates. Return the names of the dropped indexes."""
    _published(connection, model)
    with write_lease(connection, model) as lease:
        book, _ = _published(connection, model)
        version, names = book.published(model), book.names(model)
        indexes = [index.name for index in own_indexes(connection, names)]
        if version.get("indexes"):
            switch_version(lease, at_rest(version, NO_INDEX), doing="taking the index away")
            await_readers(connection)
        drop_indexes(connection, indexes, lease.check)
    return tuple(indexes)


def _published(connection: Connection, model: str) -> tuple[Bookkeeping, RunRecord]:
    """Return the bookkeeping, and the run of a model's published coordinates."""
    book = read_bookkeeping(connection)
    return book, book.required_run(model)
