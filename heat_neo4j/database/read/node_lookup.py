"""Find the published node that a user's text identifies."""

from collections.abc import Sequence

from heat_neo4j._utils.display import did_you_mean, display_text
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.keys import Key, NodeKeys
from heat_neo4j.database.published_nodes import Lookup, NodesByKey, UnknownNodeError, read_scope
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.errors import ProjectionError

_LONGEST = 100  # characters of a text for which similar keys are searched; longer ones are questions


class AmbiguousNodeError(ProjectionError):
    """Several nodes have the key that a user gave."""

    def __init__(self, message: str, element_ids: Sequence[str]) -> None:
        super().__init__(message)
        self.element_ids = tuple(element_ids)


def find_node(
    connection: Connection,
    nodes: NodesByKey,
    text: str,
    labels: Sequence[str] | None,
    key: Key | None = None,
) -> str:
    """Return the element id of the node that `text` identifies; raises ProjectionError unless unique.

    The parameters are those of `find_neighbours`.
    """
    nodes = nodes.by(key)
    lookup = Lookup.of(nodes, text, labels)
    found = dict.fromkeys(lookup.ids, "")
    for which, statement in lookup.statements.items():
        rows = connection.read(statement, {"heat_values": lookup.values}, doing="looking for the node")
        found.update((str(row["id"]), which) for row in rows)
    if not found:
        require_names(connection, [*(labels or ()), *NodeKeys.of(key).labels], nodes.keys.properties)
        where = f"in database {connection.server.database!r}"
        raise UnknownNodeError(f"there is {lookup.missing} {where}{_suggestion(connection, lookup, text)}")
    if len(found) > 1:
        which = " and ".join(dict.fromkeys(found.values()))
        one_label = len(lookup.statements) == len(labels or nodes.labels) == 1
        advice = "give an element id" if one_label else "give a label, or an element id"
        raise AmbiguousNodeError(f"there are several nodes like that: {which}; {advice}", list(found))
    return next(iter(found))


def _suggestion(connection: Connection, lookup: Lookup, text: str) -> str:
    """Return which node may be meant: the one with the text in another property, or with a similar key."""
    if not 0 < len(text) <= _LONGEST:
        return ""
    rows = [
        row
        for statement in lookup.similar
        for row in connection.read(statement, {"heat_text": text}, doing="looking for similar keys")
    ]
    found = [row for row in rows if row["property"] is not None]
    if len(found) == 1 and found[0]["key"].casefold() != text.casefold():
        return f": did you mean {found[0]['key']!r}, which has this {display_text(found[0]['property'])}?"
    return did_you_mean(text, [row["key"] for row in rows])


def find_published_node(
    connection: Connection, node: str, *, model: str = "heat", labels: Sequence[str] | None = None
) -> str:
    """Return the element id of a node by the value of its key, as `find_neighbours` finds it.

    Parameters are those of `find_neighbours`; an element id, there or not, is returned as it is.

    Raises
    ------
    ProjectionError
        If the model is not published, or there is not exactly one node of that key.
    """
    return find_node(connection, read_scope(connection, model).nodes, node, labels)
