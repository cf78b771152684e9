"""The queries that users copy: each file says its parameters, and names are quoted in their statements."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from heat_neo4j.database.query_files import list_queries, load_query
from heat_neo4j.database.read import queries
from heat_neo4j.database.statements import quote_identifier
from heat_neo4j.errors import ConfigError

FOLDER = Path(__file__).parents[2] / "cypher" / "query"
EXAMPLES = {
    "label": "Module",
    "property": "name",
    "embedding": "heatEmbedding",
    "radius": "heatRadius",
    "type": "HEAT_PREDICTED",
    "same_as": "HEAT_SAME_AS",
    "index": "heat_Module",
}
# These are certified, or tell of runs: they go by the version, and those of search/ by its core.
BY_VERSION = {
    "ancestors", "cluster_members", "clusters", "compare_runs", "coverage", "descendants", "history",
    "nearest", "nearest_quick", "nearest_to_point", "nearest_where", "predicted_values",
    "published",
}  # fmt: skip
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
    assert [
        (each.name, each.default, "required: " * each.required + each.meaning) for each in query.parameters
    ] == expected
    assert len(expected) == text.count(":param")
    sent = query.statement
    assert "//" not in sent
    assert {each.name for each in query.parameters} == set(re.findall(r"\$(\w+)", sent))
    between = set(re.findall(r"`(.*?)`", sent))
    assert between == {EXAMPLES[each] for each in query.names}
    comments = [line for line in text.splitlines() if line.startswith("//")]
    for each in between:
        assert sum(f"`{each}`" in line for line in comments) == 1  # says what to put there
    assert "$(" not in sent  # whoever looks for a label that is a parameter looks at all nodes


@pytest.mark.parametrize("name", [name for name in NAMES if name.split("/")[-1] in BY_VERSION])
def test_a_query_takes_the_number_of_the_version_first_and_goes_by_that(name):
    """Whatever else it read of the model's node could be of another version: Neo4j keeps no snapshot."""
    sent = re.sub(r"^CYPHER \d+\n", "", load_query(name).statement)
    assert sent.startswith("MATCH (model:HeatModel")
    assert sent.count("(model:HeatModel") == 1
    assert set(re.findall(r"\bmodel\.(\w+)", sent)) <= {"name", "version"}
    assert sent.count("model.version") == 1
    assert re.search(r"^WITH (model\.name AS model, )?model\.version AS version\n", sent, re.MULTILINE)
    assert len(re.findall(r"MATCH \(m:HeatVersion {model: \$?model, number: version", sent)) == 1


@pytest.mark.parametrize("name", sorted(BY_VERSION))
def test_what_goes_by_the_version_takes_a_staged_value_where_it_takes_the_plain_one(name):
    sent = load_query(name).statement
    for value in ("run", "radius", "vector"):
        plain = re.findall(rf"(\w)\[m\.{value}Property\]", sent)
        both = re.findall(rf"coalesce\((\w)\[m\.staged{value.title()}\], \1\[m\.{value}Property\]\)", sent)
        assert both == plain
    assert not {"heatEmbedding", "heatRadius", "HEAT_PREDICTED"} & set(re.findall(r"`(.*?)`", sent))


@pytest.mark.parametrize("name", [name for name in NAMES if name.split("/")[-1] not in BY_VERSION])
def test_every_other_query_is_plain_cypher_over_the_published_names(name):
    query = load_query(name)
    by_version = r"\bHeat(Model|Version)\b|\$model\b|Staged|Previous|\[\w+\.\w+Property\]"
    assert not re.search(by_version, query.statement)
    assert {"embedding", "radius", "type", "same_as"} & set(query.names)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_written_between_backticks_everywhere(name):
    query = load_query(name)
    odd = {each: f"my `{each}` \\1 // $x\nRETURN 1" for each in query.names}
    quoted = {each: f"`my ``{each}`` \\1 // $x\nRETURN 1`" for each in query.names}
    sent = query.written(odd)
    expected = query.statement
    for each, example in EXAMPLES.items():
        expected = expected.replace(f"`{example}`", quoted.get(each, ""))
    assert sent == expected
    assert query.written({}) == query.statement

    odd = {each: name.replace("\n", " ") for each, name in odd.items()}
    copy = query.copy(odd)
    assert query.copy({}) == query.text
    for each in quoted.values():
        copied = each.replace("\n", " ")
        assert copy.count(copied) == sent.count(each)
        copy = copy.replace(copied, "")
    # No comment has a name, which could end it, nor says what to put where it is put already.
    assert [line for line in copy.splitlines() if line.startswith("//")] == [
        line for line in query.text.splitlines() if line.startswith("//") and "`" not in line
    ]
    kept = {each: odd[each] for each in query.names[1:]}
    assert "in the place of `" in query.copy(kept) or not query.names


def test_queries_that_find_a_node_have_its_label_and_property():
    named = {name: load_query(name).names for name in NAMES}
    assert named["nearest"] == ("label", "property")
    assert named["search/nearest"] == ("label", "property", "embedding", "radius", "index")
    assert named["nearest_scan"] == ("label", "property", "embedding", "radius")
    assert named["links_of"] == ("label", "property", "type")
    assert named["most_general"] == ("property", "embedding", "radius")
    assert named["published"] == ()


@pytest.mark.parametrize("value", ["", "a\0b", "\\u0060", 3, None])
def test_a_name_that_cannot_be_quoted_is_told(value):
    for ask in (load_query("nearest").written, load_query("nearest").copy):
        with pytest.raises(ConfigError, match="the label of query 'nearest': "):
            ask({"label": value})


def test_a_name_that_a_query_has_not_is_told():
    for ask in (load_query("published").written, load_query("published").copy):
        with pytest.raises(ConfigError, match="query 'published' has no label"):
            ask({"label": "Paper"})


def test_a_copy_for_a_model_has_its_name_for_a_default():
    lines = load_query("nearest").text.splitlines()
    assert load_query("nearest").copy({}).splitlines() == lines
    (row,) = [row for row, line in enumerate(lines) if line.startswith("// :param model")]
    for model in ("papers", 'a "b"\nMATCH (n) DETACH DELETE n'):
        copied = load_query("nearest").copy({}, model).splitlines()
        value, meaning = re.split(r"  +", copied[row].split(" => ")[1])
        assert (json.loads(value), meaning) == (model, re.split(r"  +", lines[row])[1])
        assert copied[:row] + copied[row + 1 :] == lines[:row] + lines[row + 1 :]
        if model == "papers":
            assert copied[row].index(meaning) == lines[row].index(meaning)


def test_what_is_given_is_divided_and_the_rest_has_defaults():
    query = load_query("nearest")
    names = {"label": "Paper", "property": "id"}
    assert query.divide({**names, "value": None}) == (
        names,
        {"model": "heat", "value": None, "k": 10, "fetch": 60},
    )
    assert query.divide({**names, "value": 1, "k": 3})[1]["k"] == 3
    # The model says what the names of a plain query stand for, which has no parameter of that name.
    assert load_query("links_of").divide({**names, "value": 1, "model": "papers"})[1]["model"] == "papers"
    assert load_query("published").divide({}) == ({}, {})


def test_nodes_are_shown_by_the_keys_of_their_labels():
    keys = {"Film": "title", "Odd`": "name", "": "code"}
    text = load_query("nearest").written({"label": "Film", "property": "title"}, keys)
    assert "MATCH (a:`Film` {`title`: $value})" in text
    assert "CASE WHEN b:`Film` THEN b.`title` WHEN b:`Odd``` THEN b.`name` ELSE b.`code` END AS node" in text
    plain = load_query("nearest").written({"label": "Film", "property": "title"})
    assert "CASE WHEN b:" not in plain
    del keys[""]
    assert "ELSE null END" in load_query("outliers").written({"property": "title"}, keys)
    points = load_query("nearest_to_point").written({"label": "Film", "property": "title"}, keys)
    assert "WHERE a.`title` IN $values" in points  # an index finds them


def test_the_key_of_a_label_is_its_property():
    query = load_query("nearest")
    films = {"Film": "title", "Genre": "name"}
    assert queries._key_of(query, "Genre", films) == "name"
    assert queries._key_of(query, None, films) == "title"
    assert queries._key_of(query, "Tag", {**films, "": "code"}) == "code"
    for label, keys, whose in ((None, {}, "the model"), ("Tag", films, "label 'Tag' of the model")):
        with pytest.raises(ConfigError, match=f"needs property, as {whose} has no key"):
            queries._key_of(query, label, keys)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("nearest", {}, "query 'nearest' needs label, value: `heat cypher show nearest` explains"),
        ("nearest", {"label": "A", "property": "b"}, "query 'nearest' needs value: "),
        ("between", {"label": "A", "property": "b", "value": 1}, "query 'between' needs other: "),
        ("groups", {"property": "b"}, "query 'groups' needs group: "),
        ("most_general", {"label": "A"}, "query 'most_general' has no parameter 'label'"),
        ("nearest", {"index": "a"}, "query 'nearest' has no parameter 'index'"),
        ("search/nearest", {"index": "a"}, "query 'search/nearest' has no parameter 'index'"),
        ("nearest", {"lable": "A"}, "query 'nearest' has no parameter 'lable': it has label, property"),
        ("nearest", {"q": 1}, "has no parameter 'q': it has label, property, value, model, k, fetch"),
        ("published", {"k": 1}, "query 'published' has no parameter 'k': it has none"),
    ],
)
def test_what_is_missing_or_too_much_is_told(name, given, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_query(name).divide(given)


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


def test_the_docs_list_the_queries_that_look_at_all_nodes():
    page = (FOLDER.parents[1] / "docs" / "reference" / "queries.md").read_text()
    docs = page.split("## Queries that look at all nodes\n")[1].split("\n## ")[0]
    scans = [name for name in NAMES if "ooks at all nodes" in load_query(name).text]
    assert sorted(re.findall(r"`([a-z_/]+)`", docs)) == scans


@pytest.mark.parametrize(
    "name",
    [
        " IS NOT NULL RETURN 1; MATCH (z) DETACH DELETE z; //x bolt:?",
        "neo4j:me:secret@host",
        "a\u202eb",
        "a\nb",
    ],
)
def test_a_name_that_printing_would_change_is_refused_in_a_copy(name):
    for query in list_queries():
        for each in query.names:
            with pytest.raises(ConfigError, match="cannot be shown in Cypher"):
                query.copy({each: name})
            assert quote_identifier(name) in query.written({each: name})  # what is run is not printed


def test_a_printed_copy_is_the_copy_to_the_character():
    """Each name is harmless by itself; together they look like a login, in the places of which is Cypher."""
    names = {"label": "bolt:x", "property": "a@` b"}
    for query in list_queries():
        if set(names) <= set(query.names):
            options = [f"--{key}={value}" for key, value in names.items()]
            shown = CliRunner().invoke(heat, ["cypher", "show", query.name, *options]).stdout
            assert shown == query.copy(names)
