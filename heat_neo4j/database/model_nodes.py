"""The node of a model: made, and locked."""

from __future__ import annotations

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write

__all__ = ["lock_model", "make_model"]


def make_model(connection: Connection, model: str, *, doing: str) -> None:
    """Make the node of `model` if there is none, in a transaction of its own.

    Neo4j keeps no two processes from making it at the same moment, as neither sees the other's before the
    commit. So it is committed first and locked next: `lock_model` then sees both, and leaves one. It may find
    none, if another process removed it in between.
    """
    statement = load_statement("write/model_create")
    write(connection, lambda making: making.run(statement, {"model": model}), doing=doing)


def lock_model(transaction: Transaction, model: str) -> str | None:
    """Lock all model nodes and drop duplicates of `model`; return the element id of its node, if it has one.

    What the transaction then does to the node goes by this id: by its name it would also meet a duplicate
    that was made in between and that nobody holds.
    """
    rows = transaction.run(load_statement("write/models_lock")).records
    mine = [row for row in rows if row["model"].get("name") == model]
    mine.sort(key=lambda row: -len(row["model"].keys() & {"version", "leaseHolder"}))
    if len(mine) > 1:
        transaction.run(load_statement("write/models_delete"), {"ids": [row["id"] for row in mine[1:]]})
    return mine[0]["id"] if mine else None
