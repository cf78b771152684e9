"""`HeatRetriever`: nodes near one or for a question, for pipelines of neo4j-graphrag (extra ``graphrag``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_neo4j.database.connection import Driver, Record
from heat_neo4j.database.index.nearest import Among
from heat_neo4j.database.keys import Key
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConfigError
from heat_neo4j.retrieval.passages import Embedder, Search

try:
    from neo4j_graphrag.retrievers.base import Retriever
    from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem
except ImportError as error:
    raise ConfigError("HeatRetriever needs neo4j-graphrag: pip install 'heat-neo4j[graphrag]'") from error

__all__ = ["HeatRetriever"]

_NODE = "the name of one node, exactly as it stands in the graph; not a question"
_MEANINGS = {
    "node": f"{_NODE}; it goes before query_text",
    "top_k": "how many nodes",
    "among": "'all', 'more_general' for nodes above it in the hierarchy, 'more_specific' for those below",
}


class HeatRetriever(Retriever):
    """Retrieves nodes near a node of a published model, or nodes found for a question.

    Without an index, a text is the key, or another property, of one node; its nearest nodes follow.
    With a full-text or vector index it is a question: the index finds nodes, and these, the nodes near the
    first of them and those that predicted links join to them are fused by reciprocal rank. The text of an
    item describes the node, how it was found, its properties and its likeliest predicted links; ``metadata``
    has the same as fields.

    Parameters
    ----------
    driver : neo4j.Driver
        Of the server; it stays open.
    model : str
        Name of the published model.
    key : str or mapping of str to str, optional
        Property that identifies and names nodes, or one per label; by default the key of the run's
        projection.
    labels : sequence of str, optional
        Labels of the nodes that answer a question; any if not given. Without a question, labels that the node
        of the key may have; those of the run if not given.
    node_filter : str, optional
        Cypher predicate over a result ``n``, e.g. ``"n.year >= $since"``, sent in a transaction that cannot
        write.
    filter_parameters : mapping of str to value, optional
        Values of the ``$parameters`` in it.
    properties : sequence of str
        Node properties that items show; by default the key.
    max_links : int
        Maximum predicted links shown per node, 0 or more.
    neo4j_database : str, optional
        Database name; the user's home database if not given.
    fulltext_index : str, optional
        Name of a full-text index over nodes, for questions.
    vector_index : str, optional
        Name of a vector index over nodes, for questions. Its vectors come from the same model as those of the
        embedder.
    embedder : object with ``embed_query(text)``, optional
        Such as an ``Embedder`` of neo4j-graphrag; needed for `vector_index`.

    Raises
    ------
    TypeError, ValueError
        If `max_links` is negative, `labels` or `properties` is a string, or one of `vector_index` and
        `embedder` is missing.
    ConfigError
        When the module is imported, if neo4j-graphrag is not installed.

    Examples
    --------
    ::

        retriever = HeatRetriever(driver, key="title", properties=["title", "abstract"])
        answer = GraphRAG(retriever, llm).search("What came before it?", retriever_config={"node": "Alien"})

        retriever = HeatRetriever(driver, fulltext_index="plots", properties=["title", "plot"])
        answer = GraphRAG(retriever, llm).search("Which films have robots that turn on people?")
    """

    def __init__(
        self,
        driver: Driver,
        *,
        model: str = "heat",
        key: Key | None = None,
        labels: Sequence[str] | None = None,
        node_filter: str | None = None,
        filter_parameters: Mapping[str, Any] | None = None,
        properties: Sequence[str] = (),
        max_links: int = 3,
        neo4j_database: str | None = None,
        fulltext_index: str | None = None,
        vector_index: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        super().__init__(driver, neo4j_database)
        self._store = Neo4jStore(driver, database=neo4j_database)
        self._search = Search(
            model=model,
            key=key,
            labels=labels,
            node_filter=node_filter,
            filter_parameters=filter_parameters or {},
            properties=properties,
            max_links=max_links,
            fulltext_index=fulltext_index,
            vector_index=vector_index,
            embedder=embedder,
        )

    def get_search_results(
        self,
        query_text: str | None = None,
        node: str | None = None,
        top_k: int = 5,
        among: Among = "all",
    ) -> RawSearchResult:
        """Return the nodes for a question or those nearest to a node; `search` makes items of them.

        Parameters
        ----------
        query_text : str, optional
            The question, if the retriever has an index; else the value of the node's key, or its element id.
        node : str, optional
            Value of a node's key, or its element id: the nearest to it are returned, whatever the question.
        top_k : int
            How many, 1 or more.
        among : {"all", "more_general", "more_specific"}
            "all" for the nearest nodes; "more_general" for those that are probably above the node in a
            hierarchy, "more_specific" for those below: see `Database.neighbours`.

        Returns
        -------
        RawSearchResult
            A record for each node, with ``content`` and ``metadata``. A question may find none.

        Raises
        ------
        ValueError
            If there is neither question nor node, a number is out of range, or `among` is unknown.
        ProjectionError
            If the model is not published; if the node does not exist, is not unique or has no coordinates; if
            there is no such index; or if the server refuses the filter.
        ConnectionFailed
            If the server is lost.
        """
        asked = query_text if node is None else node
        if asked is None:
            raise ValueError("name a node: by query_text, or by node where query_text is a question")
        is_question = node is None and self._search.takes_questions
        if is_question:
            passages = self._search.answers(self._store, asked, top_k)
        else:
            passages = self._search.passages(self._store, asked, top_k, among)
        found = ({"content": each.content, "metadata": each.metadata} for each in passages)
        records = [Record(each) for each in found]  # type: ignore[no-untyped-call]
        metadata = {"question" if is_question else "node": asked, "model": self._search.model}
        return RawSearchResult(records=records, metadata=metadata)

    def default_record_formatter(self, record: Record) -> RetrieverResultItem:
        """Return the item of one record."""
        return RetrieverResultItem(content=record["content"], metadata=record["metadata"])

    def get_parameters(self, parameter_descriptions: dict[str, str] | None = None) -> Any:
        """Return the descriptions of the parameters for a language model, used by `convert_to_tool`.

        Parameters
        ----------
        parameter_descriptions : dict of str to str, optional
            Descriptions that replace the default ones.

        Returns
        -------
        neo4j_graphrag.tool.ObjectParameter
        """
        asked = "a question, or words to search for" if self._search.takes_questions else _NODE
        own = {"query_text": asked, **_MEANINGS}
        return super().get_parameters(own | (parameter_descriptions or {}))
