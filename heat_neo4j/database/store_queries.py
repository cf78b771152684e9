"""The half of `Neo4jStore` that asks about what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.library import LibraryQuery, load_query
from heat_neo4j.database.neighbours import Neighbours, find_neighbours, find_node, published_scope
from heat_neo4j.database.published_index import IndexStatus, index_status
from heat_neo4j.database.runs import read_address
from heat_neo4j.errors import ProjectionError

__all__ = ["StoreQueries"]


class StoreQueries:
    """Methods of `Neo4jStore` that ask about published coordinates and links."""

    _connection: Connection

    def query(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        """Run one of the queries that users copy, ``cypher/query/<name>.cypher``, and return its rows.

        Parameters
        ----------
        name : str
            Such as ``"nearest"``; one of ``search/`` asks the model's index, whatever index the file names.
        **parameters
            ``label`` and ``property`` where the query has them, which are written in the statement, so that
            an index over them is used; and values of the parameters that the file names. Those that it does
            not call required have defaults.

        Raises
        ------
        ConfigError
            If there is no such query, it has no such parameter, or a required one is not given.
        ConnectionFailed, ProjectionError
            If the server is lost, or refuses the query or a value.
        """
        query = load_query(name)
        names, values = query.divide(parameters)
        if {"index", "type"} & set(query.names):
            names |= self._names_of(query, values["model"])
        records = self._connection.read(query.written(names), values, doing="querying")
        return [dict(record) for record in records]

    def _names_of(self, query: LibraryQuery, model: str) -> dict[str, str]:
        """Return the index and the type of links of a model, as far as a query names them."""
        address = read_address(self._connection, model)
        names = {"type": address["linkType"]} if "linkType" in address else {}
        if "index" in query.names:
            indexes = list(address.get("indexes") or ())
            if len(indexes) != 1:
                there = "no vector index" if not indexes else f"{len(indexes)} vector indexes"
                raise ProjectionError(
                    f"{query.name!r} asks one index, and the model has {there}: use another query"
                )
            names["index"] = indexes[0]
        return {name: value for name, value in names.items() if name in query.names}

    def neighbours(
        self,
        node: str,
        *,
        k: int = 10,
        model: str = "heat",
        labels: Sequence[str] | None = None,
        key: str | None = None,
        node_filter: str | None = None,
        filter_parameters: Mapping[str, Any] | None = None,
        show: Sequence[str] | None = None,
        fetch: int | None = None,
        exact: bool = False,
    ) -> Neighbours:
        """Return the nodes nearest to one by hyperbolic distance.

        The vector index is asked for twice as many candidates, and again, until it was asked beyond the
        border of the ball that holds the answer. A nearer node can then be missing only where the index, an
        approximate one, overlooks it (docs/queries.md has figures); with `exact` none can. Of a model
        without an index every node is looked at.

        Parameters
        ----------
        node : str
            Element id of the node, or the value of its `key`.
        k : int
            How many, 1 or more.
        model : str
            Whose coordinates.
        labels : sequence of str, optional
            Labels that a node found by its key may have; those of the run if not given.
        key : str, optional
            Property that tells nodes apart; that of the run's projection if not given.
        node_filter : str, optional
            Cypher predicate over a neighbour ``n``, e.g. ``"n.year >= $since"``, sent as it is, in a
            transaction that cannot write.
        filter_parameters : mapping of str to value, optional
            Values of the ``$parameters`` in it. Names that start with ``heat_`` are reserved.
        show : sequence of str, optional
            Properties of the neighbours to return; the key, if there is one, when not given.
        fetch : int, optional
            How many candidates the index gives around the node at first, 1 or more; 60, or twice `k`, if not
            given.
        exact : bool
            Look at every node, and do not use the index.

        Returns
        -------
        Neighbours
            Nearest first.

        Raises
        ------
        ValueError
            If a number is out of range, or a name in `filter_parameters` is reserved.
        ProjectionError
            If the model is not published, the node is not there or has no coordinates, or the server refuses
            the filter.
        ConnectionFailed
            If the server is lost or refuses.
        """
        known_labels, known_key = published_scope(self._connection, model)
        name = known_key if key is None else key
        element_id = find_node(self._connection, known_labels if labels is None else labels, name, node)
        if show is None:
            show = () if name is None else (name,)
        return find_neighbours(
            self._connection,
            element_id,
            k=k,
            model=model,
            node_filter=node_filter,
            filter_parameters=filter_parameters,
            show=show,
            fetch=fetch,
            exact=exact,
        )

    def index_status(self, model: str = "heat") -> IndexStatus:
        """Return what there is of the vector index of a model's published coordinates.

        Parameters
        ----------
        model : str
            Which model.

        Raises
        ------
        ProjectionError
            If it has no published coordinates.
        ConnectionFailed
            If the server is lost or refuses.
        """
        return index_status(self._connection, model)
