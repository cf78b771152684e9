"""Texts as vectors, by the encoder of the extra ``text``."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from heat_neo4j.attributes import encoder
from heat_neo4j.attributes.encoder import load_encoder
from heat_neo4j.attributes.kinds import RecipeError
from heat_neo4j.attributes.table import Attribute, AttributeTable, described
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.inputs.conversion import as_graph
from tests.support import naive
from tests.support.encode import encode

TEXTS = ["a dog barks", None, "", "the cat sleeps on the mat", "論文 graph", "A DOG", "x" * 3000]


def read(values, *wanted):
    table = AttributeTable(wanted or [Attribute("x", encoded=True)], len(values), max_categories=10)
    table.add(np.arange(len(values)), {"x": values})
    return table.finish(np.arange(len(values)))


def test_a_text_is_the_mean_of_its_tokens():
    own = load_encoder()
    for text, vector in zip(TEXTS[3:], own.encode(TEXTS[3:]), strict=True):
        ids = own.tokenizer.encode(text, add_special_tokens=False).ids
        np.testing.assert_allclose(vector, own.table[ids].mean(axis=0, dtype=float), atol=1e-5)


def test_a_lone_surrogate_is_read_as_a_question_mark():
    own = load_encoder()
    np.testing.assert_array_equal(own.encode(["a\ud800 dog"]), own.encode(["a? dog"]))


def test_texts_become_centred_directions_whatever_the_chunks():
    found = read(TEXTS)
    there = [i for i, text in enumerate(TEXTS) if text]
    expected = np.zeros((len(TEXTS), 256))
    expected[there] = naive.centred_directions(load_encoder().encode([TEXTS[i] for i in there]).astype(float))
    np.testing.assert_allclose(found.matrix, expected, atol=1e-5)
    assert found.names[:2] == ("x[0]", "x[1]")
    table = AttributeTable([Attribute("x", encoded=True)], len(TEXTS), max_categories=10)
    for row in reversed(range(len(TEXTS))):
        table.add(np.array([row]), {"x": [TEXTS[row]]})
    np.testing.assert_array_equal(table.finish(np.arange(len(TEXTS))).matrix, found.matrix)
    np.testing.assert_array_equal(encode(found.recipe, {"x": TEXTS}), found.matrix)


def test_the_recipe_names_the_encoder_and_another_version_does_not_fit(monkeypatch):
    recipe = read(TEXTS).recipe
    name = load_encoder().name
    assert name.startswith("wordllama 0.4")
    assert described(recipe[0]) == f"{name}, vectors of 256 numbers"
    other = replace(load_encoder(), name="wordllama 0.4.9")
    monkeypatch.setattr(encoder, "load_encoder", lambda: other)
    message = f"attribute 'x' has texts encoded by wordllama 0.4.9 where its recipe has {name}"
    with pytest.raises(RecipeError, match=message):
        encode(recipe, {"x": TEXTS})


def test_what_to_install_is_said_before_anything_is_read(monkeypatch):
    load_encoder.cache_clear()
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        AttributeTable([Attribute("x", encoded=True)], 3, max_categories=10)
    assert str(caught.value) == "encoding texts needs the extra 'text': pip install 'heat-neo4j[text]'"


def test_texts_alone_are_encoded():
    with pytest.raises(ProjectionError, match="text 'x' holds numbers"):
        read([1, 2])
    with pytest.raises(ProjectionError, match="text 'x' is empty"):
        read(["", ""])


def test_a_property_is_read_as_words_and_as_a_vector():
    projection = Projection(attributes=["year"], text=["title"], encode=["title", "name"])
    assert [str(each) for each in projection.all_attributes] == [
        "year", "title (text)", "title (encoded)", "name (encoded)",
    ]  # fmt: skip
    of_label = Projection(label_attributes={"Paper": ["title", "year"]}, text=["title"], encode=["title"])
    assert [str(each) for each in of_label.all_attributes] == [
        "Paper.title (text)", "Paper.title (encoded)", "Paper.year",
    ]  # fmt: skip
    assert Projection.from_dict(projection.to_dict()) == projection
    with pytest.raises(ValueError, match="`encode` and `attributes` both name 'year'"):
        Projection(attributes=["year"], encode=["year"])


def test_data_frames_are_encoded_and_their_recipe_encodes_new_ones():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    nodes = pandas.DataFrame({"id": ["a", "b", "c"], "about": ["a dog", "a cat", "the sea"]})
    graph = as_graph(edges, nodes, text=["about"], encode=["about"])
    kinds = [entry["kind"] for entry in graph.provenance.attribute_recipe]
    assert kinds == ["text", "encoded text"]
    again = as_graph(edges, nodes, recipe=graph.provenance.attribute_recipe)
    np.testing.assert_array_equal(np.asarray(again.attributes), np.asarray(graph.attributes))
    with pytest.raises(ValueError, match="encode names 'abuot', an unknown attribute"):
        as_graph(edges, nodes, encode=["abuot"])


def test_neither_the_package_nor_a_network_is_used():
    code = (
        "import socket, sys; socket.socket = None\n"
        "from heat_neo4j.attributes.encoder import load_encoder\n"
        "print(load_encoder().encode(['a dog']).shape, 'wordllama' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(1, 256) False\n"
