"""Run users' statements and the package's queries, with the names of a model in this database."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heat_neo4j._utils.frames import Rows
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.keys import NodeKeys
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.published_nodes import NodesByKey, read_scope
from heat_neo4j.database.query_files import LibraryQuery, load_query
from heat_neo4j.database.read.node_lookup import AmbiguousNodeError, find_node
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.database.runs import nothing_published, read_version
from heat_neo4j.database.statements import identifier_to_copy
from heat_neo4j.errors import ConfigError, ProjectionError


def run_cypher(connection: Connection, cypher: str, /, **parameters: Any) -> Rows:
    """Run a Cypher statement and return its rows.

    The server classifies the statement. A read can be answered by any member of a cluster. A statement with
    ``CALL { ... } IN TRANSACTIONS`` is sent once, as it cannot be retried; any other is one transaction.

    Parameters
    ----------
    cypher : str
        The statement, which may write.
    **parameters
        Values of its ``$parameters``.

    Returns
    -------
    Rows
        A list of dicts, with `to_frame`.

    Raises
    ------
    WriteFailed
        If the server refuses the statement; a ProjectionError if it reads only.

    Examples
    --------
    ::

        db.run("MATCH (p:Paper) WHERE p.year > $since RETURN p.id AS id", since=2000).to_frame()
    """
    doing, (kind, in_batches) = "running Cypher", connection.explain(cypher, parameters)
    if kind == "r":
        records = connection.read(cypher, parameters, doing=doing)
    elif in_batches:
        records = connection.write_once(cypher, parameters, doing=doing)
    else:
        records = connection.write(cypher, parameters, doing=doing, idempotent=False)
    return Rows(dict(record) for record in records)


def run_query(connection: Connection, name: str, /, **parameters: Any) -> Rows:
    """Run one of the queries that come with the package, ``cypher/query/<name>.cypher``.

    Parameters
    ----------
    name : str
        Such as ``"nearest"``; those in ``search/`` use the model's index, not the file's.
    **parameters
        ``label`` and ``property``, if the query has them: they are inserted into the statement, so that an
        index over them is used; ``property`` defaults to the model's keys. Also ``model``, and values of the
        file's parameters; those not marked required have defaults. A number names nodes with that text, too.

    Returns
    -------
    Rows
        A list of dicts, with `to_frame`.

    Raises
    ------
    ConfigError
        If there is no such query, it has no such parameter, or a required one is not given.
    ProjectionError
        If the model is not published here, or there are no rows and no such label, property or node.
    """
    query = load_query(name)
    names, values = query.divide(parameters)
    keys = None
    if "property" in query.names and "property" not in names:
        keys = read_scope(connection, values.get("model", "heat")).nodes.keys.by_label
        names["property"] = _key_of(query, names.get("label"), keys)
    own = _names_of(connection, query, values["model"]) if set(query.names) - set(names) else {}
    if set(query.names) - set(names) - set(own):
        return Rows()  # not published: the names in the file could be those of another model
    names |= own
    values = {each.name: values[each.name] for each in query.parameters}
    statement = query.written(names, keys if keys and len(keys) > 1 else None)
    records = connection.read(statement, values, doing="querying")
    if not records:
        chosen = [[names[each]] if each in names else [] for each in ("label", "property")]
        if any(chosen):
            require_names(connection, *chosen)
        if "model" in values and not read_version(connection, values["model"]):
            raise nothing_published(values["model"], connection)
        _require_nodes(connection, names, values)
        if texts := {each: str(values[each]) for each in ("value", "other") if type(values.get(each)) is int}:
            records = connection.read(statement, values | texts, doing="querying")
    return Rows(dict(record) for record in records)


def _require_nodes(connection: Connection, names: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Raise UnknownNodeError if a node that a query starts from does not exist."""
    if "label" not in names or "property" not in names:
        return
    nodes = NodesByKey([names["label"]], NodeKeys.of(names["property"]))
    for node in (values.get(each) for each in ("value", "other")):
        if isinstance(node, str | int):
            with suppress(AmbiguousNodeError):  # the property need not be a key
                find_node(connection, nodes, str(node), nodes.labels)


def copy_query(connection: Connection, name: str, model: str = "heat", **names: str) -> str:
    """Return the text of a query for users to copy, with the names of a model in this database.

    Parameters
    ----------
    name : str
        Such as ``"nearest"``.
    model : str
        Model whose properties, vector index and link type replace the example's.
    **names
        ``label`` and ``property``, if the query has them, to replace the example's.

    Raises
    ------
    ConfigError
        If there is no such query, or it has no such name.
    ProjectionError
        If the model is not published here, lacks what the query needs, or has a name that cannot be printed
        as it is.
    ConnectionFailed
        If the server is lost.
    """
    query = load_query(name)
    own = _names_of(connection, query, model)
    missing = [each for each in query.names if each not in own and each not in ("label", "property")]
    if missing:
        raise ProjectionError(f"model {model!r} has no {' and '.join(missing)} in this database")
    try:
        for own_name in own.values():
            identifier_to_copy(own_name)
    except ValueError as error:
        raise ProjectionError(
            f"a name that model {model!r} has in this database {error}; somebody may have changed it"
        ) from error
    return query.copy(own | names, model)


def _key_of(query: LibraryQuery, label: str | None, keys: Mapping[str, str]) -> str:
    """Return the key property of nodes with a label; raises ConfigError if they have none."""
    key = keys.get(label or "", keys.get(""))
    if key is None and label is None:
        key = next(iter(keys.values()), None)
    if key is None:
        of = "the model" if label is None else f"label {label!r} of the model"
        raise ConfigError(f"query {query.name!r} needs property, as {of} has no key")
    return key


def _names_of(connection: Connection, query: LibraryQuery, model: str) -> dict[str, str]:
    """Return the model's properties, index and link type that a query uses."""
    version = read_version(connection, model)
    if not version:
        raise nothing_published(model, connection)
    if "same_as" in query.names:
        duplicates = read_version(connection, WriteNames.of_duplicates(model).model)
        version = {**version, "sameAs": duplicates.get("linkType")}
    properties = {
        "type": "linkType",
        "same_as": "sameAs",
        "embedding": "vectorProperty",
        "radius": "radiusProperty",
    }
    names = {name: version[held] for name, held in properties.items() if version.get(held)}
    if "index" in query.names:
        indexes = list(version.get("indexes") or ())
        if len(indexes) != 1:
            there = "no vector index" if not indexes else f"{len(indexes)} vector indexes"
            raise ProjectionError(
                f"{query.name!r} needs one index, and the model has {there}: use another query"
            )
        names["index"] = indexes[0]
    return {name: value for name, value in names.items() if name in query.names}
