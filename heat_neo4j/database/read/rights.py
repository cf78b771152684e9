"""The user's privileges in a database, determined without writing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

_ACTIONS = {
    "read": {"match", "read", "graph_actions"},
    "write": {"write", "set_property", "graph_actions"},
    "index": {"index", "create_index", "database_actions"},
}
"""Server actions that grant each right."""
_TRANSACTIONS = {"show_transaction", "transaction_management"}
"""Server actions that grant the right to see other users' transactions."""
_HERE = ("*", "HOME", "DEFAULT")
"""The server's names for all databases, and for the user's home database."""


@dataclass(frozen=True)
class Rights:
    """Whether the user may read, write, and create indexes; None if the server does not reveal it.

    `denied` names the rights that are denied in part, for some labels, types or properties.
    """

    read: bool | None
    write: bool | None
    index: bool | None
    denied: tuple[str, ...] = ()


def read_rights(connection: Connection) -> Rights:
    """Query the user's privileges; on Community, which has no roles, every user may do everything."""
    if connection.server.edition == "community":
        return Rights(read=True, write=True, index=True)
    try:
        rows = connection.read(load_statement("read/privileges"), doing="reading the user's privileges")
    except ProjectionError:  # access denied: unknown
        return Rights(None, None, None)
    return privileged(rows, connection.server.database)


def privileged(rows: Sequence[Mapping[str, Any]], database: str) -> Rights:
    """Derive the rights in a database from privileges.

    Each row has `access` ("GRANTED" or "DENIED"), `action` and `graph`. A right counts as granted if it is
    granted for anything, because only a run knows which labels and properties it needs.
    """
    here = [row for row in rows if row["graph"] in (database, *_HERE)]

    def any_of(access: str, actions: set[str]) -> bool:
        return any(row["access"] == access and row["action"] in actions for row in here)

    granted = {right: any_of("GRANTED", actions) for right, actions in _ACTIONS.items()}
    denied = tuple(right for right, actions in _ACTIONS.items() if any_of("DENIED", actions))
    return Rights(**granted, denied=denied)


def sees_all_transactions(connection: Connection) -> bool:
    """Return whether the server lists every transaction of the database; False if unknown.

    It lists other users' transactions only with the right, and never those of other cluster members.
    """
    if connection.server.edition == "community":
        return True
    doing = "asking which transactions are listed"
    try:
        (row,) = connection.read(load_statement("read/server_count"), doing=doing)
        rows = connection.read(load_statement("read/privileges"), doing=doing)
    except ProjectionError:
        return False
    here = [
        each
        for each in rows
        if each["graph"] in (connection.server.database, *_HERE) and each["action"] in _TRANSACTIONS
    ]
    is_granted = any(each["access"] == "GRANTED" and each["segment"] == "USER(*)" for each in here)
    return row["servers"] == 1 and is_granted and all(each["access"] == "GRANTED" for each in here)
