"""Keys of one label or several: a node's own property, its name, its place among rows, how it is found."""

import re

import numpy as np
import pytest

from heat_neo4j.database.keys import NodeKeys, name_of
from heat_neo4j.database.published_nodes import NodesByKey
from heat_neo4j.database.read.node_lookup import AmbiguousNodeError, find_node
from heat_neo4j.database.read.nodes import key_problems, rows_by_key
from heat_neo4j.errors import ProjectionError

FILMS = NodeKeys.of({"": "code", "Person": "name", "Movie": "title"})
NAMED = NodeKeys.of({"Person": "name", "Movie": "title"})
MASKS = {
    "Movie": np.array([True, False, False, True, True]),
    "Person": np.array([False, True, False, False, True]),
    "Tag": np.array([False, False, True, False, False]),
}
COLUMNS = {
    "title": ["Up", "x", "x", "Alien", "Cher"],
    "name": ["x", "Ann", "x", "x", "also"],
    "code": [9, 9, 7, 9, 9],
}


def test_label_order_does_not_matter_and_the_default_key_is_last():
    assert list(FILMS.by_label) == ["Movie", "Person", ""]
    assert (FILMS.labels, FILMS.properties) == (("Movie", "Person"), ("title", "name", "code"))
    assert NodeKeys.of({"A": "name", "B": "name"}).properties == ("name",)
    assert NodeKeys.of(None).properties == NodeKeys.of(None).labels == ()
    assert NodeKeys.of("id") == NodeKeys({"": "id"})


def test_each_node_has_the_property_of_its_label():
    places = FILMS.places(MASKS, 5)
    assert places.tolist() == [0, 1, 2, 0, 0]  # the last is a Movie first, then a Person
    assert FILMS.values(COLUMNS, places) == ["Up", "Ann", 7, "Alien", "Cher"]
    assert NAMED.places(MASKS, 5).tolist() == [0, 1, -1, 0, 0]
    assert NAMED.values(COLUMNS, NAMED.places(MASKS, 5))[2] is None
    assert NAMED.places({}, 2).tolist() == [-1, -1]
    assert NodeKeys.of("code").places(MASKS, 5).tolist() == [0] * 5
    values = {"title": "t", "name": "n", "code": "c"}
    found = [FILMS.value_of(labels, values) for labels in (["Person", "Movie"], ["Person"], ["Tag"], [])]
    assert found == ["t", "n", "c", "c"]
    assert NAMED.value_of(["Tag"], values) is None


def test_rows_are_grouped_by_label_and_nodes_without_key_are_last():
    places, values = NAMED.places(MASKS, 5), NAMED.values(COLUMNS, NAMED.places(MASKS, 5))
    assert rows_by_key(NAMED, places, values).tolist() == [3, 4, 0, 1, 2]
    assert rows_by_key(NodeKeys.of("code"), np.zeros(3, np.int64), [3, 1, 2]).tolist() == [1, 2, 0]
    assert rows_by_key(NodeKeys.of(None), np.full(3, -1), [None] * 3).tolist() == [0, 1, 2]
    assert rows_by_key(NAMED, np.array([1, 0, 1]), ["Up", "Up", "Ann"]).tolist() == [1, 2, 0]


def test_a_key_holds_for_the_nodes_of_its_label_only():
    places, values = np.array([0, 0, 1, 1, -1]), ["Up", None, "Ann", "Ann", None]
    missing = "key 'title' of label 'Movie' is missing on 1 of 2 nodes: a key must be on all"
    twice = "key 'name' of label 'Person' is not unique: several nodes have 'Ann'"
    with pytest.raises(ProjectionError, match=missing):
        rows_by_key(NAMED, places, values)
    problems = list(key_problems(NAMED, places, values))
    assert len(problems) == 2
    assert problems[0].startswith(missing)
    assert problems[1] == f"{twice}; choose another property, or leave this key out"
    assert list(key_problems(NAMED, np.array([0, 1]), ["Up", 5])) == []  # each label has its own kind


def test_a_node_is_called_by_its_key_or_its_label_and_number():
    assert name_of("two\nlines", ["Movie"], "4:x:7") == "two lines"
    assert name_of(0, ["Movie"], "4:x:7") == "0"
    assert name_of("a" * 50, ["Movie"], "4:x:7", longest=20) == "a" * 19 + "…"
    assert name_of("", ["Show", "Movie"], "4:x:7") == "Movie 7"
    assert name_of(None, ["Movie", "Show"], "4:x:7", first=["Film", "Show"]) == "Show 7"
    assert name_of(None, [], "4:x:7") == "node 7"


ELEMENT_ID = "4:0f3c5a4e-6d0b-4a57-9d1c-2b7e8f9a0c1d:9"


class Database:
    """Answers `find_node` from nodes by label and property, and remembers what it was asked."""

    def __init__(self, **nodes):
        self.nodes, self.asked = nodes, []
        self.similar = []
        self.server = type("Server", (), {"database": "neo4j"})

    def read(self, statement, parameters=None, doing=""):
        if doing == "reading names":
            names = {"labels": list(MASKS), "keys": list(FILMS.properties), "types": [], "predicted": []}
            return [{**names, "id": None}]
        if doing == "looking for similar keys":
            return [{"key": key, "property": name} for key, name in self.similar]
        (line,) = (line for line in statement.splitlines() if line.startswith("MATCH"))
        self.asked.append(line.removeprefix("MATCH (n:").removesuffix(" IN $heat_values").replace("`", ""))
        key = self.asked[-1].replace(") WHERE n.", ".")
        return [
            {"id": one}
            for value, one in self.nodes.get(key, {}).items()
            if value in parameters["heat_values"]
        ]


def found(database, value, keys, labels=None, run_labels=()):
    return find_node(database, NodesByKey(run_labels, keys), value, labels)


def test_a_value_is_looked_up_by_the_key_of_each_label():
    database = Database(**{"Movie.title": {"Up": "4:x:1"}, "Person.name": {"Ann": "4:x:2", "Up": "4:x:3"}})
    assert found(database, "Ann", NAMED) == "4:x:2"
    assert database.asked == ["Movie) WHERE n.title", "Person) WHERE n.name"]
    assert found(database, "Up", NAMED, ["Person"]) == "4:x:3"
    assert found(database, ELEMENT_ID, NAMED) == ELEMENT_ID
    several = "several nodes like that: Movie with title 'Up' and Person with name 'Up'; give a label, or"
    with pytest.raises(AmbiguousNodeError, match=several) as caught:
        found(database, "Up", NAMED)
    assert caught.value.element_ids == ("4:x:1", "4:x:3")
    three = NodeKeys.of({"Genre": "name", "Movie": "title", "Person": "name"})
    with pytest.raises(ProjectionError, match=several):  # no genre is called so
        found(database, "Up", three)
    with pytest.raises(ProjectionError, match="there is no Movie with title 'Ann' in database 'neo4j'"):
        found(database, "Ann", NAMED, ["Movie"])
    coded = NodeKeys.of({"Award": "code", "Genre": "code", "Movie": "title", "Tag": "code"})
    missing = (
        "there is no Award, Genre or Tag with code 'Ann' and no Movie with title 'Ann' in database 'neo4j'"
    )
    with pytest.raises(ProjectionError, match=missing):  # the text once for each key, not for each label
        found(database, "Ann", coded)
    for labels, key, message in (
        (["Itm", "Movie"], "code", "no node label 'Itm' in database 'neo4j': there are Movie, Person, Tag"),
        (None, {"Moive": "title"}, "no node label 'Moive' in database 'neo4j': did you mean 'Movie'?"),
        (None, "tilte", "no property 'tilte' in database 'neo4j': did you mean 'title'?"),
    ):
        with pytest.raises(ProjectionError, match=re.escape(message)):
            find_node(database, NodesByKey((), NAMED), "Ann", labels, key)
    both = Database(**{"Movie.title": {"Up": "4:x:1"}, "Person.name": {"Up": "4:x:1"}})
    assert found(both, "Up", NAMED) == "4:x:1"  # one node with both labels


@pytest.mark.parametrize(
    ("similar", "hint"),
    [
        ([], ""),
        ([("Ann", None), ("Xyz", None)], ": did you mean 'Ann'?"),
        ([("Xyz", None)], ""),
        ([("tt01", "imdb title"), ("Ann", None)], ": did you mean 'tt01', which has this imdb title?"),
        ([("tt01", "genre"), ("tt02", "genre")], ""),
        ([("Ann", "name")], ": did you mean 'Ann'?"),
    ],
)
def test_a_similar_key_is_suggested_for_one_that_no_node_has(similar, hint):
    database = Database()
    database.similar = similar
    with pytest.raises(ProjectionError) as caught:
        found(database, "ann", NAMED, ["Movie"])
    assert str(caught.value) == f"there is no Movie with title 'ann' in database 'neo4j'{hint}"
    with pytest.raises(ProjectionError, match=r"in database 'neo4j'$"):  # a question, not a key
        found(database, "ann " * 30, NAMED, ["Movie"])


def test_a_label_is_asked_for_if_it_can_tell_nodes_apart():
    twins = {"7": "4:x:1", 7: "4:x:2"}
    database = Database(**{"Movie|Tag.code": twins, "Movie.code": twins})
    for labels, run_labels, advice in (
        (None, ["Movie", "Tag"], "give a label, or an element id"),
        (["Movie"], ["Movie", "Tag"], "give an element id"),
        (None, ["Movie"], "give an element id"),
    ):
        with pytest.raises(AmbiguousNodeError, match=f"with code '7'; {advice}$"):
            found(database, "7", NodeKeys.of("code"), labels, run_labels)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1529877576591609864", 1529877576591609864),  # of 19 digits, as posts of social networks have them
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
        ("1:55516888:55516999", "1:55516888:55516999"),  # a place in a genome, no element id
        ("12:30:45", "12:30:45"),
        ("", ""),
    ],
)
def test_long_numbers_and_texts_with_colons_are_keys(text, key):
    assert found(Database(**{"Movie.title": {key: "4:x:1"}}), text, NAMED) == "4:x:1"


@pytest.mark.parametrize("text", ["007", "١٢", "+7", "1_2", str(2**63)])
def test_a_text_that_only_reads_like_a_number_is_another_key(text):
    with pytest.raises(ProjectionError, match="there is no Movie with title"):
        found(Database(**{"Movie.title": {7: "4:x:1", 12: "4:x:2", 2**63: "4:x:3"}}), text, NAMED)


def test_the_key_of_all_other_nodes_is_looked_up_among_them():
    database = Database()
    for labels, run_labels in ((None, ["Movie", "Tag"]), (["Tag"], []), (None, [])):
        with pytest.raises(ProjectionError, match=r"there is no .* with code '7'"):
            found(database, "7", FILMS, labels, run_labels)
    first, tags, other = "Movie) WHERE n.title", "Tag) WHERE n.code", database.asked.pop()
    assert database.asked == [first, "Person) WHERE n.name", tags, tags, first, "Person) WHERE n.name"]
    assert other.startswith("!(")
    assert "|Movie|Person)" in other


@pytest.mark.parametrize(
    ("label", "hint"),
    [("Moive", ": did you mean 'Movie'?"), ("Tag", ", only Movie and Person: give an element id")],
)
def test_a_label_without_key_is_named(label, hint):
    with pytest.raises(ProjectionError) as caught:
        found(Database(), "Up", NAMED, [label])
    assert str(caught.value) == f"label {label!r} has no key{hint}"


def test_a_model_without_a_key_finds_element_ids_only():
    assert found(Database(), ELEMENT_ID, NodeKeys.of(None)) == ELEMENT_ID
    with pytest.raises(ProjectionError, match="the model has no key to find 'Up' by: give an element id, or"):
        found(Database(), "Up", NodeKeys.of(None))


def test_the_rarer_kind_of_key_is_named():
    message = "all strings; 2 of 5 are int, such as 300"
    with pytest.raises(ProjectionError, match=message):
        rows_by_key(NodeKeys.of("title"), np.zeros(5, np.int64), ["Up", 300, "Alien", 1776, "Cher"])
