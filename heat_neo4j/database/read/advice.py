"""Suggest a key and a time property to a projection that names none."""

from collections.abc import Collection, Iterable
from shlex import quote

from heat_neo4j._utils.display import display_text
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.scope import LOOKED_AT, property_keys
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

_LONGEST = 80
_SHOWN = 5
_LABELS = 20  # whose keys are shown: all, so that the options can be copied
_TYPES = 20  # relationship types looked at


def key_advice(
    connection: Connection, projection: Projection, labels: Collection[str], *, is_wrong: bool = False
) -> tuple[str, ...]:
    """Return one line on the keys that a projection could have; none if it has a key or there are none.

    `labels` are those of its nodes; with `is_wrong`, the key that it has cannot be used.
    """
    if projection.key is not None and not is_wrong:
        return ()
    try:
        rows = connection.read(load_statement("read/unique_properties"), doing="reading constraints")
    except ProjectionError:  # the user may not see them
        return ()
    unique: dict[str, str] = {}
    for label, name in ((row["label"], row["property"]) for row in rows):
        if label in labels and label not in unique:
            statement = load_statement("read/lacks_property", label=label, property=name)
            if not connection.read(statement, {"limit": LOOKED_AT}, doing="reading keys")[0]["lacks"]:
                unique[label] = name
    shown = _shown((f"--key {quote(f'{label}={name}')}" for label, name in unique.items()), _LABELS)
    if not shown:
        return ()
    problem = "" if is_wrong else "nodes have no key, so results show numbers; "
    return (f"{problem}unique here: {' '.join(shown)}",)


def time_advice(connection: Connection, projection: Projection, types: Collection[str]) -> tuple[str, ...]:
    """Return one line on relationship properties with dates; none if `time` is set or there are none.

    `types` are those of its relationships.
    """
    if projection.time is not None:
        return ()
    keys = property_keys(connection, "read/relationship_times", "types", list(types)[:_TYPES])
    shown = _shown(f"--time {quote(key)}" for key in keys)
    if not shown:
        return ()
    return (f"relationships have dates; for the probability of links to come: {' or '.join(shown)}",)


def _shown(options: Iterable[str], most: int = _SHOWN) -> list[str]:
    """Return the first options that a line can show whole, as they are to be copied."""
    return [each for each in options if display_text(each, _LONGEST) == each][:most]
