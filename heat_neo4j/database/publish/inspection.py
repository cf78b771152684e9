"""Inspect a server: its version, the user's privileges, and the published models."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from heat_neo4j.database.connection import Connection, ServerInfo
from heat_neo4j.database.publish.published_index import index_status
from heat_neo4j.database.read.rights import Rights, read_rights
from heat_neo4j.database.runs import Bookkeeping, read_bookkeeping
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.versions import holds_values, runs_of
from heat_neo4j.errors import ProjectionError

OLDEST = "5.26"
"""The oldest Neo4j release that supports all our statements."""

_PROCEDURES = ("db.labels", "db.propertyKeys", "db.relationshipTypes", "db.index.vector.queryNodes")
_VECTORS, _GDS, _APOC = "vector.similarity.euclidean", "gds.version", "apoc.version"
"""Functions that indicate vector indexes and plugins; looking up a function never fails."""
_RIGHTS = {"read": "read", "write": "write to", "index": "make indexes in"}


@dataclass(frozen=True)
class ModelState:
    """The published state of one model."""

    name: str
    run: str | None  # run of the published coordinates, or values
    link_run: str | None  # run of the published links
    nodes: int
    links: int
    indexes: tuple[str, ...]  # names of the vector indexes that readers use
    incomplete: int  # runs that are being written, or crashed
    has_values: bool = False  # whether it has classes or clusters instead of coordinates


@dataclass(frozen=True)
class ServerReport:
    """The capabilities of a server for the user, and its problems.

    Parameters
    ----------
    server : ServerInfo
        The server, and the database in use.
    access : str, optional
        "read-write" or "read-only"; None if the server does not reveal it.
    rights : Rights, optional
        Whether the user may `read`, `write`, and create an `index`; `denied` names rights that are denied in
        part. None if the server is too old.
    vector_index : bool
        Whether the server supports vector indexes.
    plugins : tuple of str
        With versions if relevant, such as "GDS 2.13.9".
    models : tuple of ModelState
        The published models.
    problems : tuple of str
        One line per problem that would stop a run or a reader. Nothing else is queried on a server that is
        too old.
    """

    server: ServerInfo
    access: str | None = None
    rights: Rights | None = None
    vector_index: bool = False
    plugins: tuple[str, ...] = ()
    models: tuple[ModelState, ...] = ()
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return asdict(self)


def inspect_server(connection: Connection) -> ServerReport:
    """Inspect the server's capabilities, the published models and problems.

    Writes nothing, and reads nothing of the user's own graph.

    Returns
    -------
    ServerReport
        With one line per problem; none if the server is fit for use.
    """
    server = connection.server
    if _number(server.version) < _number(OLDEST):
        problem = f"Neo4j {server.version} is older than {OLDEST}, the oldest that heat works on: update it"
        return ServerReport(server, problems=(problem,))
    access, of_database = _database(connection)
    rights = read_rights(connection)
    procedures = _callable(connection, "procedures", _PROCEDURES)
    missing = [name for name in _PROCEDURES if name not in procedures]
    functions = _callable(connection, "functions", (_VECTORS, _GDS, _APOC))
    models, of_models = _published(connection)
    return ServerReport(
        server,
        access,
        rights,
        vector_index=_VECTORS in functions,
        plugins=tuple(_plugins(connection, functions)),
        models=models,
        problems=(*of_database, *_lacking(rights, missing, server.database), *of_models),
    )


def _number(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version: (5, 26) of "5.26.31" and of "5.26-aura"."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _database(connection: Connection) -> tuple[str | None, list[str]]:
    """Return the database's access mode, and problems that prevent writing."""
    database = connection.server.database
    rows = connection.read(
        load_statement("read/database_access"), {"database": database}, doing="reading the database's state"
    )
    rows = [row for row in rows if row["writer"]] or rows  # on a cluster: the member that accepts writes
    if not rows:  # not visible to some users
        return None, []
    row = rows[0]
    problems = []
    if row["status"] != "online":
        why = f" ({row['message']})" if row["message"] else ""
        problems.append(f"database {database!r} is {row['status']}{why}: SHOW DATABASES says more")
    if row["access"] != "read-write":
        problems.append(
            f"database {database!r} is {row['access']}: ALTER DATABASE ... SET ACCESS READ WRITE changes that"
        )
    return row["access"], problems


def _lacking(rights: Rights, procedures: Sequence[str], database: str) -> Iterator[str]:
    """Yield one line per privilege that the user lacks."""
    advice = "docker/roles.cypher lists what a role for heat needs"
    for right, what in _RIGHTS.items():
        if getattr(rights, right) is False:
            yield f"the user may not {what} database {database!r}: {advice}"
    for name in procedures:
        yield f"the user may not call the procedure {name}, or the server has none of that name: {advice}"


def _callable(connection: Connection, kind: str, names: Sequence[str]) -> Sequence[str]:
    """Return the "procedures" or "functions" among `names` that the user may call."""
    statement, parameters = load_statement(f"read/{kind}"), {"names": list(names)}
    found: Sequence[str] = connection.read(statement, parameters, doing=f"looking for {kind}")[0]["names"]
    return found


def _plugins(connection: Connection, functions: Sequence[str]) -> Iterator[str]:
    if _GDS in functions:
        yield f"GDS {connection.read(load_statement('gds/version'), doing='looking for GDS')[0]['version']}"
    if _APOC in functions:
        yield "APOC"


def _published(connection: Connection) -> tuple[tuple[ModelState, ...], list[str]]:
    """Return the published state of each model, and its problems."""
    book = read_bookkeeping(connection)
    names = sorted({node["name"] for node in book.models} | {run.model for run in book.runs})
    problems: list[str] = []
    for name in names:
        try:
            if book.published(name).get("indexes"):
                problems += index_status(connection, name).problems
            book.published_run(name)
        except ProjectionError as error:
            problems.append(str(error))
    return tuple(_state(book, name) for name in names), problems


def _state(book: Bookkeeping, name: str) -> ModelState:
    version, runs = book.remains(name), book.runs_of(name)
    run, link_run = runs_of(version)
    return ModelState(
        name,
        run,
        link_run,
        nodes=sum(each.nodes_written for each in runs if each.run_id == run),
        links=sum(each.links_written for each in runs if each.run_id == link_run),
        indexes=tuple(version.get("indexes") or ()),
        incomplete=sum(each.status == "incomplete" for each in runs),
        has_values=holds_values(version),
    )
