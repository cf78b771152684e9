"""What the user may do in a database, found out without doing it."""

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
"""By which actions, as the server calls them, each right is granted."""
_TRANSACTIONS = {"show_transaction", "transaction_management"}
"""By which actions the right to see the transactions of other users is granted."""
_HERE = ("*", "HOME", "DEFAULT")
"""What the server calls all databases, and the user's own."""


@dataclass(frozen=True)
class Rights:
    """Whether the user may read, write, and make indexes; None where the server does not say.

    `denied` names those of the rights that are denied in part, for some labels, types or properties.
    """

    read: bool | None
    write: bool | None
    index: bool | None
    denied: tuple[str, ...] = ()


def read_rights(connection: Connection) -> Rights:
    """Ask what the user has been granted; on Community, which has no roles, everybody may do everything."""
    if connection.server.edition == "community":
        return Rights(read=True, write=True, index=True)
    try:
        rows = connection.read(load_statement("read/privileges"), doing="reading the user's privileges")
    except ProjectionError:  # refused: nobody is told
        return Rights(None, None, None)
    return privileged(rows, connection.server.database)


def privileged(rows: Sequence[Mapping[str, Any]], database: str) -> Rights:
    """Return what some privileges amount to in a database.

    Each row has `access` ("GRANTED" or "DENIED"), `action` and `graph`. A right counts as granted if it is
    for anything: which labels and properties a run needs, only the run knows.
    """
    here = [row for row in rows if row["graph"] in (database, *_HERE)]

    def any_of(access: str, actions: set[str]) -> bool:
        return any(row["access"] == access and row["action"] in actions for row in here)

    granted = {right: any_of("GRANTED", actions) for right, actions in _ACTIONS.items()}
    denied = tuple(right for right, actions in _ACTIONS.items() if any_of("DENIED", actions))
    return Rights(**granted, denied=denied)


def sees_all_transactions(connection: Connection) -> bool:
    """Return whether the server lists every transaction of the database; False if that is not known.

    It lists those of other users only to users with that right, and of other servers none.
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
