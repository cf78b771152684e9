"""`HeatDocumentRetriever`: nodes near one or for a question, as LangChain documents (extra ``graphrag``)."""

# Pydantic reads the annotations of the fields when the class is made.
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

from heat_neo4j.database.index.nearest import Among
from heat_neo4j.database.keys import Key
from heat_neo4j.database.store import Neo4jStore, store_of
from heat_neo4j.errors import ConfigError
from heat_neo4j.retrieval.passages import Search

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import BeforeValidator, ConfigDict, Field
except ImportError as error:
    raise ConfigError(
        "HeatDocumentRetriever needs langchain-core: pip install 'heat-neo4j[graphrag]'"
    ) from error

__all__ = ["HeatDocumentRetriever"]


class HeatDocumentRetriever(BaseRetriever):
    """Retrieves the nodes near one in a published model, or those that a question leads to.

    Without an index, ``invoke(text)`` treats the text as a node's key, or another property. With a
    full-text or vector index it is a question. The text of a document describes the node, how it was found,
    its properties and its likeliest predicted links; ``metadata`` has the same as fields.

    Parameters
    ----------
    database : Database
        As `connect` opens it; it stays open.
    k : int
        How many documents, 1 or more.
    among : {"all", "more_general", "more_specific"}
        "all" for the nearest nodes; "more_general" for those that are probably above the node in a
        hierarchy, "more_specific" for those below: see `Database.neighbours`. Questions ignore it.
    model, key, labels, node_filter, filter_parameters, properties, max_links
        As for `HeatRetriever`.
    fulltext_index, vector_index, embedder
        As for `HeatRetriever`; ``Embeddings`` of LangChain are embedders.

    Raises
    ------
    pydantic.ValidationError
        If a field is unknown or of another type, or `among` or a number out of range.
    ValueError
        By ``invoke``: if one of `vector_index` and `embedder` is missing.
    ProjectionError
        By ``invoke``: if the model is not published; if the node does not exist, is not unique or has no
        coordinates; or if the server refuses the filter.
    ConnectionFailed
        By ``invoke``: if the server is lost.
    ConfigError
        When the module is imported, if langchain-core is not installed.

    Examples
    --------
    ::

        with connect() as db:
            documents = HeatDocumentRetriever(database=db, key="title", among="more_general").invoke("Alien")
            documents = HeatDocumentRetriever(database=db, fulltext_index="plots").invoke("Robots and people")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    database: Annotated[Neo4jStore, BeforeValidator(store_of)] = Field(repr=False)
    k: int = Field(default=5, ge=1)
    among: Among = "all"
    model: str = "heat"
    key: Key | None = None
    labels: Sequence[str] | None = None
    node_filter: str | None = None
    filter_parameters: Mapping[str, Any] = Field(default_factory=dict)
    properties: Sequence[str] = ()
    max_links: int = Field(default=3, ge=0)
    fulltext_index: str | None = None
    vector_index: str | None = None
    embedder: Any = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        search = Search(**{each.name: getattr(self, each.name) for each in fields(Search)})
        if search.takes_questions:
            passages = search.answers(self.database, query, self.k)
        else:
            passages = search.passages(self.database, query, self.k, self.among)
        return [
            Document(id=each.metadata["element_id"], page_content=each.content, metadata=each.metadata)
            for each in passages
        ]
