"""Both retrievers in the libraries they are made for: what they give is what slow Python finds."""

import json
import sys

import numpy as np
import pytest
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from neo4j_graphrag.generation import GraphRAG
from neo4j_graphrag.llm import LLMInterface, LLMResponse
from pydantic import ValidationError

from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.retrieval.graphrag import HeatRetriever
from heat_neo4j.retrieval.langchain import HeatDocumentRetriever
from heat_neo4j.retrieval.passages import Search
from tests.support.retrieval_toy import HOSTILE, published_toy

live = pytest.mark.live


@pytest.fixture
def graphrag(cypher, server, toy):
    def made(**options):
        given = {"model": toy.model, "neo4j_database": server.database, **options}
        return HeatRetriever(cypher.driver, **given)

    return made


@pytest.fixture
def langchain(store, toy):
    return lambda **options: HeatDocumentRetriever(database=store, **{"model": toy.model, **options})


def keys(items):
    return [item.metadata["properties"]["key"] for item in items]


class Parrot(LLMInterface):
    """A language model that says what it was told."""

    def __init__(self):
        super().__init__("parrot")

    def invoke(self, input, message_history=None, system_instruction=None):
        return LLMResponse(content=input)

    async def ainvoke(self, input, message_history=None, system_instruction=None):
        return self.invoke(input)


@live
def test_both_give_the_nearest_nodes_and_their_links(toy, graphrag, langchain):
    by_graphrag, by_langchain = graphrag(max_links=9), langchain(max_links=9, k=4)
    for key in ("p9", *HOSTILE):
        found = by_graphrag.search(query_text=key, top_k=4)
        nearest = toy.nearest(key, 4)
        assert [item.metadata["node"] for item in found.items] == nearest
        assert [item.metadata["name"] for item in found.items] == list(map(toy.shown, nearest))
        assert found.metadata["node"] == key
        for item in found.items:
            check(toy, item)
        assert by_graphrag.search(query_text=found.items[0].metadata["node"], top_k=1).items
    documents = by_langchain.invoke(HOSTILE[-1])
    assert [document.page_content for document in documents] == [item.content for item in found.items]
    assert [document.metadata for document in documents] == [item.metadata for item in found.items]


def check(toy, item):
    data = item.metadata
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["certified"] is True
    assert set(data["labels"]) == {toy.label, f"Paper{toy.label}"}
    row = toy.keys.index(data["node"])
    assert data["radius"] == pytest.approx(toy.radius(row), abs=1e-6)
    expected = {(toy.shown(name), *rest) for name, *rest in toy.linked(toy.keys[row])}
    assert len(expected) == 4
    assert {(each["name"], each["leaves"], each["probability"]) for each in data["links"]} == expected
    assert {each["key"] for each in data["links"]} == {name for name, *_ in toy.linked(toy.keys[row])}
    assert {each["type"] for each in data["links"]} == {toy.cites}
    assert item.content.startswith(data["name"])
    for link in data["links"]:
        source, target = (data["name"], link["name"])[:: 1 if link["leaves"] else -1]
        arrow = f"{source} -{toy.cites}-> {target} (probability {link['probability']:.2g})"
        assert arrow in item.content.partition("predicted links: ")[2]
    assert item.content.isprintable() is False  # of several lines
    assert all(line.isprintable() for line in item.content.splitlines())


@live
def test_more_general_and_more_specific(toy, graphrag, langchain):
    for among, side in (("more_general", -1), ("more_specific", 1)):
        expected = toy.beyond("p50", 6, side)
        assert keys(graphrag().search(query_text="p50", top_k=6, among=among).items) == list(
            map(toy.shown, expected)
        )
        assert len(langchain(k=90, among=among).invoke("p50")) == len(toy.beyond("p50", 90, side))
    with pytest.raises(ValueError, match=r"among must be one of .*more_specific, got 'below'"):
        graphrag().search(query_text="p50", among="below")
    with pytest.raises(ValidationError, match="among"):
        langchain(among="below")
    with pytest.raises(ValidationError, match="fulltext\n  Extra inputs are not permitted"):
        langchain(fulltext="index")


@live
def test_filters_properties_and_other_keys(toy, graphrag, langchain):
    filtered = {"node_filter": "n.i >= $least AND n.i % 2 = 0", "filter_parameters": {"least": 40}}
    expected = toy.nearest("p9", 5, lambda i: i >= 40 and i % 2 == 0)
    assert keys(graphrag(**filtered).search("p9", top_k=5).items) == expected
    assert keys(langchain(**filtered).invoke("p9")) == expected
    # Only nodes of the bookkeeping have the second.
    shown = graphrag(key="title", properties=["i", "createdBy"], max_links=0)
    (item,) = shown.search("About p9", top_k=1).items
    (nearest,) = toy.nearest("p9", 1)
    assert item.metadata["properties"] == {"i": toy.keys.index(nearest)}
    assert item.metadata["links"] == []
    name, near = item.content.splitlines()[0].rsplit(" (", 1)
    assert name == f"About {nearest}"
    assert near.startswith(f"{toy.label}")
    assert "predicted links" not in item.content
    (item,) = graphrag(key="title").search("About p9", top_k=1).items
    assert item.content.count("About") == 2 + 2 * len(item.metadata["links"]) == 8
    with pytest.raises(ProjectionError, match="no property 'property of none' in database"):
        graphrag(key="title", properties=["i", "property of none"]).search("About p9", top_k=1)
    refused = graphrag(node_filter="true) DETACH DELETE n //")
    with pytest.raises(ProjectionError, match="looking for neighbours"):
        refused.search("p9")


@live
@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("What is near p9?", {}, "there is no .* with key 'What is near p9.*; without fulltext_index or v"),
        ("q'\"`]}) DETACH DELETE m //", {}, "there is no .* with key"),
        ("p9", {"labels": ["No`where"]}, "no node label 'No`where' in database"),
        ("p9", {"model": "no model"}, "model 'no model' has no published coordinates"),
    ],
)
def test_what_is_not_there_is_told(graphrag, langchain, text, options, message):
    with pytest.raises(ProjectionError, match=message):
        graphrag(**options).search(text)
    with pytest.raises(ProjectionError, match=message):
        langchain(**options).invoke(text)


@live
def test_a_pipeline_of_graphrag_asks_about_a_node_and_answers_a_question(toy, graphrag):
    pipeline = GraphRAG(graphrag(), Parrot())
    answer = pipeline.search(
        "What is it like?", retriever_config={"node": "p50", "top_k": 2}, return_context=True
    )
    nearest = toy.nearest("p50", 2)
    assert keys(answer.retriever_result.items) == nearest
    assert "What is it like?" in answer.answer
    assert all(f"\n{key} (" in answer.answer for key in nearest)
    tool = graphrag().convert_to_tool("near", "Lists what is near a node", {"top_k": "at most ten"})
    told = tool.get_parameters()["properties"]
    assert set(told) == {"query_text", "node", "top_k", "among"}
    assert told["top_k"]["description"] == "at most ten"
    assert "more_general" in told["among"]["description"]
    assert keys(tool.execute(node="p50", top_k=2).items) == nearest
    with pytest.raises(ValueError, match="name a node: by query_text, or by node"):
        graphrag().search()


@live
def test_a_chain_of_langchain_takes_the_documents(toy, langchain):
    chain = {"context": langchain(k=2), "question": RunnablePassthrough()} | ChatPromptTemplate.from_template(
        "{context} {question}"
    )
    (message,) = chain.invoke("p50").to_messages()
    assert all(key in message.content for key in toy.nearest("p50", 2))
    first, second = langchain(k=2).batch(["p50", "p77"])
    assert (keys(first), keys(second)) == (toy.nearest("p50", 2), toy.nearest("p77", 2))
    assert first[0].id == first[0].metadata["element_id"]
    assert "neo4j" not in repr(langchain()).lower()


@live
@pytest.mark.slow
def test_recall_of_a_hundred_questions_is_whole(server, store):
    with published_toy(server, 600) as toy:
        found = HeatDocumentRetriever(database=store, model=toy.model, k=10, max_links=1)
        hits = 0
        for row in np.random.default_rng(1).permutation(len(toy.keys))[:100].tolist():
            expected = set(toy.nearest(toy.keys[row], 10))
            hits += len({item.metadata["node"] for item in found.invoke(toy.keys[row])} & expected)
    assert hits == 1000


@pytest.mark.parametrize(
    ("library", "module", "message"),
    [
        ("neo4j_graphrag.retrievers.base", "graphrag", "HeatRetriever needs neo4j-graphrag: pip install"),
        ("langchain_core.retrievers", "langchain", "HeatDocumentRetriever needs langchain-core: pip install"),
    ],
)
def test_a_library_that_is_not_there_is_told(monkeypatch, library, module, message):
    name = f"heat_neo4j.retrieval.{module}"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=message):
        __import__(name)


def test_options_that_cannot_be_are_told():
    store = Neo4jStore(None)
    for options in ({"max_links": -1}, {"k": 0}, {"properties": "title"}, {"labels": "Paper"}):
        with pytest.raises(ValidationError, match=next(iter(options))):
            HeatDocumentRetriever(database=store, **options)
    with pytest.raises(TypeError, match="properties must be a list of names, got 'title'"):
        Search(properties="title")
    with pytest.raises(ValueError, match="max_links must be at least 0"):
        Search(max_links=-1)
