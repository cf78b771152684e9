"""Suggest keys for a projection without one, from uniqueness constraints."""

from collections.abc import Collection
from shlex import quote

from heat_neo4j._utils.display import display_text
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

_LONGEST = 80
_SHOWN = 5


def key_advice(connection: Connection, projection: Projection, labels: Collection[str]) -> tuple[str, ...]:
    """Return one line on the keys that a projection could have; none if it has a key or there are none.

    `labels` are those of its nodes.
    """
    if projection.key is not None:
        return ()
    try:
        rows = connection.read(load_statement("read/unique_properties"), doing="reading constraints")
    except ProjectionError:  # the user may not see them
        return ()
    unique: dict[str, str] = {}
    for row in rows:
        if row["label"] in labels:
            unique.setdefault(row["label"], row["property"])
    options = [f"--key {quote(f'{label}={name}')}" for label, name in unique.items()]
    # An option to copy must be whole.
    shown = [each for each in options if display_text(each, _LONGEST) == each][:_SHOWN]
    if not shown:
        return ()
    return (f"nodes have no key, so results show numbers; unique here: {' '.join(shown)}",)
