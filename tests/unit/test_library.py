"""The queries that users copy: each file says its parameters, and a query asks the model's own index."""

import json
import re
from pathlib import Path

import pytest

from heat_neo4j.database.library import LibraryQuery, QueryParameter, list_queries, load_query
from heat_neo4j.errors import ConfigError, ProjectionError

FOLDER = Path(__file__).parents[2] / "cypher" / "query"
NAMES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.cypher"))


def test_all_files_are_listed_by_name():
    assert [query.name for query in list_queries()] == NAMES
    assert {"nearest", "search/nearest"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_it_answers_and_names_its_parameters(name):
    text = (FOLDER / f"{name}.cypher").read_text()
    query = load_query(name)
    assert query.text == text
    assert query.title
    assert not query.title.startswith("/")
    # A slow twin: two blanks or more end the default.
    lines = [line.split(":param ", 1)[1] for line in text.splitlines() if line.startswith("// :param ")]
    expected = []
    for line in lines:
        declared, rest = line.split(" => ", 1)
        default, meaning = re.split(r"  +", rest, maxsplit=1)
        expected.append((declared, json.loads(default), meaning))
    assert [(each.name, each.default, each.meaning) for each in query.parameters] == expected
    assert len(expected) == text.count(":param")
    sent = query.statement
    assert "//" not in sent
    assert {each.name for each in query.parameters} == set(re.findall(r"\$(?!\()(\w+)", sent))


@pytest.mark.parametrize("name", NAMES)
def test_a_query_takes_the_number_of_the_version_first_and_goes_by_that(name):
    """Whatever else it read of the model's node could be of another version: Neo4j keeps no snapshot."""
    sent = re.sub(r"^CYPHER \d+\n", "", load_query(name).statement)
    assert sent.startswith("MATCH (model:HeatModel")
    assert sent.count("(model:HeatModel") == 1
    assert set(re.findall(r"\bmodel\.(\w+)", sent)) <= {"name", "version"}
    assert sent.count("model.version") == 1
    assert re.search(r"^WITH (model\.name AS model, )?model\.version AS version\n", sent, re.MULTILINE)
    assert len(re.findall(r"MATCH \(m:HeatVersion {model: \$?model, number: version", sent)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_query_that_names_an_index_asks_the_one_it_is_given(name):
    query = load_query(name)
    assert query.searches == name.startswith("search/")
    if query.searches:
        sent = query.over(["my `own` index"])
        assert sent.count("VECTOR INDEX `my ``own`` index`") == query.statement.count("VECTOR INDEX ") > 0
        assert sent.count("VECTOR INDEX ") == query.statement.count("VECTOR INDEX ")


def test_the_name_of_an_index_is_no_pattern():
    over = load_query("search/nearest").over(["\\1 \\g<0>"])
    assert "VECTOR INDEX `\\1 \\g<0>`" in over


@pytest.mark.parametrize(
    ("indexes", "message"),
    [([], "the model has no vector index"), (["a", "b"], "the model has 2 vector indexes")],
)
def test_a_query_of_one_index_needs_one(indexes, message):
    with pytest.raises(ProjectionError, match=f"'search/nearest' asks one index, and {message}"):
        load_query("search/nearest").over(indexes)


def test_values_are_the_given_ones_and_defaults():
    query = LibraryQuery(
        "q", "Q.", "", (QueryParameter("k", 10, "how many"), QueryParameter("x", [], "what"))
    )
    assert query.values({}) == {"k": 10, "x": []}
    assert query.values({"k": None}) == {"k": None, "x": []}
    with pytest.raises(ConfigError, match="query 'q' has no parameter 'K': it has k, x"):
        query.values({"K": 1})
    with pytest.raises(ConfigError, match="query 'q' has no parameter 'k': it has none"):
        LibraryQuery("q", "Q.", "", ()).values({"k": 1})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("neerest", ": did you mean .*nearest"),
        ("zzzzzzzzzz", ": `heat cypher list` names them"),
        ("../read/server", ": `heat cypher list` names them"),
        ("nearest.cypher", ""),
        ("", ""),
    ],
)
def test_an_unknown_query_is_told_with_a_hint(name, hint):
    with pytest.raises(ConfigError, match=f"there is no query {name!r}{hint}"):
        load_query(name)
