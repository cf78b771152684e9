"""Questions in words: both retrievers and the tool find what slow Python fuses from the same lists."""

import pytest

from heat_neo4j.database.index import search
from heat_neo4j.database.index.search import (
    AROUND,
    CONSTANT,
    DEGREE_EXPONENT,
    HIT_CONSTANT,
    LINKS,
    SEEDS,
    SPACE,
    SPACE_CONSTANT,
    lucene_literal,
)
from heat_neo4j.errors import ProjectionError
from heat_neo4j.geometry.hyperboloid import distance
from heat_neo4j.retrieval.graphrag import HeatRetriever
from heat_neo4j.retrieval.langchain import HeatDocumentRetriever
from heat_neo4j.retrieval.mcp_tools import Tools
from heat_neo4j.retrieval.passages import Search
from tests.retrieval.conftest import vector
from tests.support.retrieval_toy import HOSTILE

live = pytest.mark.live
QUESTION = "What is about p50, p51 or p20 (and AND p7)?"
ASKED = [50, 51, 20, 7]
SYNTAX = [
    "", " ", "AND", "OR NOT", "p9 AND", "NOT", "a/b", "(", ")", "[a TO b]", "{", '"', "wild*", "*:*", "~",
    "p9~1", "title:p9", "^", "p9^", "+", "-", "!", "\\", "\\u0041", "&&", "||", "?", "<", ">=", "\x00",
    "\ud800", "\u202e", "🚀", "who's \u201cp9\u201d — or #1; 50% $x @y = `z` é|",
]  # fmt: skip


class Embedder:
    """Makes the vector of a paper's number out of a question about it."""

    def embed_query(self, text):
        return vector(int(text))


def fused(toy, papers, *lists):
    """Return scores by key, of the lists of hits and of the papers near and linked to the first."""
    score = {}
    for hits in lists:
        for rank, key in enumerate(hits, 1):
            score[key] = score.get(key, 0) + 1 / (CONSTANT + rank)
    seeds = sorted(score, key=lambda key: -score[key])[:SEEDS]
    near = {
        seed: [(key, 1 / (CONSTANT + rank)) for rank, key in enumerate(toy.nearest(seed, AROUND), 1)]
        for seed in seeds
    }
    linked = {seed: [(key, probability) for key, _, probability in toy.linked(seed)] for seed in seeds}
    for around, constant in ((near, SPACE_CONSTANT), (linked, CONSTANT)):
        total = {}
        for place, own in enumerate(around.values(), 1):
            for key, value in own:
                degree, _ = papers[key]
                total[key] = total.get(key, 0) + value / degree**DEGREE_EXPONENT / (HIT_CONSTANT + place)
        others = sorted(total.keys() - around.keys(), key=lambda key: (-total[key], papers[key][1]))
        for rank, key in enumerate([*seeds, *others][:50], 1):
            score[key] = score.get(key, 0) + 1 / (constant + rank)
    return score


def papers_of(cypher, toy):
    """Return degrees and element ids, which decide between papers of one score, by key."""
    rows = cypher(
        f"MATCH (n:{toy.label}) RETURN n.key AS key, COUNT {{ (n)--() }} AS degree, elementId(n) AS id"
    )
    return {row["key"]: (row["degree"], row["id"]) for row in rows}


def check(found, score):
    """Papers of one score may come in any order."""
    scores = [score[node.key] for node in found.nodes]
    assert scores == pytest.approx(sorted(score.values(), reverse=True)[: len(scores)])
    assert [node.score for node in found.nodes] == pytest.approx(scores)


def hits_of(cypher, call, **values):
    rows = cypher(
        f"CALL db.index.{call} YIELD node, score "
        "RETURN node.key AS key ORDER BY score DESC, elementId(node) LIMIT 50", **values,
    )  # fmt: skip
    return [row["key"] for row in rows]


def hits_by_words(cypher, index, question):
    return hits_of(cypher, "fulltext.queryNodes($index, $question)", index=index, question=question)


@live
def test_lists_are_fused_by_reciprocal_rank(store, cypher, toy, indexes):
    words, vectors = indexes
    hits = hits_by_words(cypher, words, "What is about p50 p51 or p20 and p7")
    assert {f"p{i}" for i in ASKED} == set(hits[:4])
    found = store.search(QUESTION, 20, model=toy.model, fulltext_index=words, max_links=2)
    papers = papers_of(cypher, toy)
    check(found, fused(toy, papers, hits))
    first = found.nodes[0]
    assert len(first.links) == 2
    near = [node for node in found.nodes if node.near is not None]
    assert near
    names = {toy.shown(key): key for key in toy.keys}
    for node in near:
        row = toy.keys.index(node.key)
        seeds = [seed for seed in hits[:SEEDS] if node.key in toy.nearest(seed, AROUND)]
        apart = {seed: distance(toy.points[toy.keys.index(seed)], toy.points[[row]])[0] for seed in seeds}
        assert names[node.near] == min(apart, key=apart.__getitem__)
        assert node.distance == pytest.approx(min(apart.values()), abs=1e-6)
        assert node.radius == pytest.approx(toy.radius(row), abs=1e-6)
    linked = [node for node in found.nodes if node.linked is not None]
    assert linked
    for node in linked:
        to_hits = [each for each in toy.linked(node.key) if each[0] in hits[:SEEDS]]
        hit, _, probability = max(to_hits, key=lambda each: each[2])
        assert (names[node.linked], node.probability) == (hit, pytest.approx(probability))
        assert node.link_type == toy.cites
    asked = vector(40.1)
    own = {"vector_index": vectors, "vector": asked}
    numbers = hits_of(cypher, "vector.queryNodes($index, 500, $vector)", index=vectors, vector=asked)
    assert {"p39", "p40", "p41"} <= set(numbers[:9])
    check(store.search("", 20, model=toy.model, **own), fused(toy, papers, numbers))
    both = store.search("p50", 20, model=toy.model, fulltext_index=words, **own)
    check(both, fused(toy, papers, hits_by_words(cypher, words, "p50"), numbers))


@live
@pytest.mark.parametrize("name", [SPACE, LINKS])
def test_hubs_around_the_hits_count_less(store, cypher, toy, indexes, name):
    hits = hits_by_words(cypher, indexes[0], "What is about p50 p51 or p20 and p7")

    def ranked():
        found = store.search(QUESTION, 90, model=toy.model, fulltext_index=indexes[0]).nodes
        ranks = {node.key: node.ranks[name] for node in found if name in node.ranks}
        return sorted(ranks, key=ranks.__getitem__)

    assert ranked()[:SEEDS] == hits[:SEEDS]
    first = ranked()[SEEDS]
    cypher(
        f"MATCH (n:{toy.label} {{key: $key}}), (m:{toy.label}) WHERE n <> m "
        f"CREATE (n)-[:NOISE_{toy.label}]->(m)", key=first,
    )  # fmt: skip
    try:
        assert first in ranked()[SEEDS + 1 :]
        found = store.search(QUESTION, 90, model=toy.model, fulltext_index=indexes[0])
        check(found, fused(toy, papers_of(cypher, toy), hits))
    finally:
        cypher(f"MATCH (:{toy.label})-[r:NOISE_{toy.label}]->() DELETE r")


@live
def test_both_retrievers_and_the_tool_take_a_question(store, cypher, server, toy, indexes):
    words, vectors = indexes
    options = {"model": toy.model, "fulltext_index": words, "properties": ["title"]}
    expected = [node.name for node in store.search(QUESTION, 4, model=toy.model, fulltext_index=words).nodes]
    retriever = HeatRetriever(cypher.driver, neo4j_database=server.database, **options)
    result = retriever.search(query_text=QUESTION, top_k=4)
    assert [item.metadata["name"] for item in result.items] == expected
    assert result.metadata["question"] == QUESTION
    everything = retriever.search(query_text=QUESTION, top_k=90).items
    near = [item for item in everything if item.metadata["near"] is not None]
    assert near
    assert all(f"at distance {item.metadata['distance']:.4g} from" in item.content for item in near)
    linked = [item for item in everything if item.metadata["linked"] is not None]
    assert linked
    for item in linked:
        found = item.metadata
        likely = f"(probability {found['probability']:.2g})"
        assert f"predicted {toy.cites} link with {found['linked']} {likely}" in item.content
    assert "hit 1 by fulltext" in " ".join(item.content for item in everything)
    assert retriever.search(query_text=QUESTION, node="p9", top_k=1).metadata["node"] == "p9"
    told = retriever.get_parameters().model_dump_tool()["properties"]
    assert "question" in told["query_text"]["description"]
    documents = HeatDocumentRetriever(database=store, k=4, **options).invoke(QUESTION)
    assert [each.metadata["name"] for each in documents] == expected
    tool = Tools(store, toy.model, words)
    assert [each["name"] for each in tool.search(QUESTION, 4)["nodes"]] == expected
    with pytest.raises(ProjectionError, match="no node label 'No`where' in database"):
        tool.search(QUESTION, 4, label="No`where")
    by_vector = HeatDocumentRetriever(
        database=store, model=toy.model, vector_index=vectors, embedder=Embedder(), k=90
    )
    (first,) = (each for each in by_vector.invoke("40") if each.metadata["ranks"].get("vector") == 1)
    assert first.metadata["name"] == "p40"


@live
def test_any_text_is_a_question(store, toy, indexes):
    def keys(question):
        found = store.search(question, 90, model=toy.model, fulltext_index=indexes[0])
        return {node.key for node in found.nodes if "fulltext" in node.ranks}

    for question in (*SYNTAX, *HOSTILE):
        keys(question)
        assert "p9" in keys(f"{question} p9")
    assert "p9" in keys("p9 " + " ".join(f"w{i}" for i in range(5_000)))  # more words than Lucene takes
    assert keys("x" * 10**6) == set()


@live
def test_a_vector_of_zeros_leaves_the_words_their_hits(store, cypher, toy, indexes):
    words, cosine = indexes[0], f"cosine_{toy.label}"
    cypher(
        f"CREATE VECTOR INDEX {cosine} FOR (n:{toy.label}) ON n.cosine OPTIONS {{indexConfig: "
        "{`vector.dimensions`: 3, `vector.similarity_function`: 'cosine'}}"
    )
    try:
        cypher("CALL db.awaitIndexes(300)")
        zeros = {"vector_index": cosine, "vector": [0.0] * 3}
        assert not store.search("p50", 20, model=toy.model, **zeros).nodes
        both = store.search("p50", 20, model=toy.model, fulltext_index=words, **zeros)
        assert both == store.search("p50", 20, model=toy.model, fulltext_index=words)
        with pytest.raises(ProjectionError, match="dimension"):
            store.search("p50", model=toy.model, vector_index=cosine, vector=[1.0, 0.0])
    finally:
        cypher(f"DROP INDEX {cosine}")


@live
def test_many_words_are_halved_until_the_index_takes_them(store, toy, indexes):
    """Each Chinese character is a word to Lucene, which takes 1,024."""
    words = ("".join(chr(0x4E00 + 15 * i + j) for j in range(15)) for i in range(200))
    question = f"p9 {' '.join(words)}"
    found = store.search(question, 1, model=toy.model, fulltext_index=indexes[0])
    assert found.nodes[0].ranks["fulltext"] == 1


@live
def test_a_model_without_an_index_is_scanned(store, toy, indexes):
    def found():
        answer = store.search(QUESTION, 30, model=toy.model, fulltext_index=indexes[0])
        return {node.key: (node.score, node.ranks.get("space")) for node in answer.nodes}

    by_index = found()
    store.drop_index(model=toy.model)
    try:
        assert found() == by_index
    finally:
        store.create_index(model=toy.model)


@live
def test_filters_keep_hits_and_neighbours(store, toy, indexes):
    kept = {"node_filter": "n.i >= $least", "filter_parameters": {"least": 40}}
    found = store.search(QUESTION, 30, model=toy.model, fulltext_index=indexes[0], **kept)
    assert all(toy.keys.index(node.key) >= 40 for node in found.nodes)
    assert {"p50", "p51"} <= {node.key for node in found.nodes}
    assert {"space", "links"} <= {name for node in found.nodes for name in node.ranks}


@live
def test_hits_of_other_labels_lead_to_nodes_of_a_label(store, cypher, toy, indexes):
    label = f"Late{toy.label}"
    cypher(f"MATCH (n:{toy.label}) WHERE n.i >= 40 SET n:{label}")
    try:
        found = store.search("p9", 90, model=toy.model, fulltext_index=indexes[0], labels=[label])
        retriever = HeatDocumentRetriever(
            database=store, model=toy.model, fulltext_index=indexes[0], k=90, labels=[label, "Paper"]
        )
        documents = retriever.invoke("p9")
        tool = Tools(store, toy.model, indexes[0]).search("p9", 90, label=label)
    finally:
        cypher(f"MATCH (n:{label}) REMOVE n:{label}")
    late = [key for i, key in enumerate(toy.keys) if i >= 40]
    near = [key for key in toy.nearest("p9", len(toy.keys)) if key in late][:AROUND]
    linked = [key for key, _, _ in toy.linked("p9") if key in late]
    score = {}
    for keys, constant in ((near, SPACE_CONSTANT), (linked, CONSTANT)):
        for rank, key in enumerate(keys, 2):  # after the hit
            score[key] = score.get(key, 0) + 1 / (constant + rank)
    check(found, score)
    assert [node.key for node in found.nodes] == [node["key"] for node in tool["nodes"]]
    assert [node.name for node in found.nodes] == [each.metadata["name"] for each in documents]
    assert {node.key for node in found.nodes} == set(score)
    assert {node.near for node in found.nodes} <= {"p9", None}


@live
def test_what_is_not_there_is_told(store, toy, cypher, indexes):
    listed = rf"no full-text index 'none of these' over nodes; there are .*'{indexes[0]}'"
    with pytest.raises(ProjectionError, match=listed):
        store.search("p9", model=toy.model, fulltext_index="none of these")
    with pytest.raises(ProjectionError, match="no node label 'Papr' in database"):
        store.search("p9", model=toy.model, fulltext_index=indexes[0], labels=["Papr"])
    with pytest.raises(ProjectionError, match="no published coordinates"):
        store.search("p9", model="none of these", fulltext_index=indexes[0])
    with pytest.raises(ProjectionError, match="searching"):
        store.search("p9", model=toy.model, fulltext_index=indexes[0], node_filter="true) DETACH DELETE n //")
    with pytest.raises(ValueError, match="vector_index and vector belong together"):
        store.search("p9", model=toy.model, vector_index=indexes[1])


def test_the_likeliest_link_is_shown_and_without_any_there_is_no_list():
    def row(node, value):
        return {"id": node, "type": "X", "probability": value, "degree": 4}

    near = {
        hit: search._Around([{"id": "c", "distance": apart, "degree": 0}], ())
        for hit, apart in (("a", 2.0), ("b", 1.0))
    }
    found = {}
    search._rank_around(found, near)
    assert (found["c"].near, found["c"].distance, found["c"].linked) == ("b", 1.0, None)
    assert {name for node in found.values() for name in node.ranks} == {"space"}
    for first, second, expected in ((0.1, 0.2, "b"), (0.2, 0.1, "a"), (None, 0.1, "b"), ("x", None, "a")):
        links = {"a": search._Around((), [row("c", first)]), "b": search._Around((), [row("c", second)])}
        found = {}
        search._rank_around(found, links)
        known = {"a": first, "b": second}[expected]
        assert (found["c"].linked, found["c"].probability) == (expected, None if known == "x" else known)
        assert [(node, found[node].ranks["links"]) for node in "abc"] == [("a", 1), ("b", 2), ("c", 3)]
    without = {"a": search._Around((), [row("d", None), row("c", None)])}
    found = {}
    search._rank_around(found, without)
    assert [found[node].ranks["links"] for node in "adc"] == [1, 2, 3]


class Indexes:
    """A database with full-text indexes of some names."""

    def __init__(self, *names):
        self.names = names

    def read(self, statement, **options):
        return [{"name": name} for name in self.names]


def test_without_a_name_the_only_index_is_used():
    assert search._only_fulltext_index(Indexes("words")) == "words"
    with pytest.raises(ProjectionError, match="several full-text indexes over nodes: name one of 'a', 'b'"):
        search._only_fulltext_index(Indexes("a", "b"))
    with pytest.raises(ProjectionError, match="no full-text index over nodes; make one, such as"):
        search._only_fulltext_index(Indexes())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("plain words", "plain words"),
        ("C++ (a/b)", r"C\+\+ \(a\/b\)"),
        ("AND rock AND-roll OR NOTHING", r"\AND rock \AND\-roll \OR NOTHING"),
        ("\\u0041", r"\\u0041"),
    ],
)
def test_signs_are_no_syntax(text, query):
    assert lucene_literal(text) == query


def test_an_index_of_vectors_needs_an_embedder():
    with pytest.raises(ValueError, match="vector_index and embedder belong together"):
        Search(vector_index="vectors")
