from __future__ import annotations

import re
from pathlib import Path

import pytest
from neo4j.exceptions import ClientError

from heat_neo4j.database.statements import (
    Fragment,
    except_names,
    load_statement,
    quote_identifier,
    statement_names,
    statement_text,
)
from tests.support.slow import slow

CYPHER = Path(__file__).parents[2] / "cypher"
STATEMENTS = [name for folder in ("load", "read", "write") for name in statement_names(folder)]
FRAGMENTS = {
    "node_filter": Fragment("true"),
    "answers": Fragment("n:`Paper`"),
    "relationship_filter": Fragment("true"),
    "types": Fragment(":`CITES`"),
    "bound": Fragment(":`CITES`"),
    "lock": Fragment(load_statement("write/lock_hold")),
    "lease": Fragment(load_statement("write/lease_hold")),
    "or_by_key": Fragment(f"UNION\n{load_statement('read/find_node', labels='Paper', property='id')}"),
    "same": Fragment(load_statement("read/same_node", projected="Paper")),
    "links": Fragment(load_statement("read/node_links", type="HEAT_PREDICTED")),
    "search": Fragment(load_statement("read/text_hits")),
    "candidates": Fragment(load_statement("read/around_index")),
    "linked": Fragment(
        load_statement(
            "read/around_links", type="HEAT_PREDICTED", node_filter=Fragment("true"), answers=Fragment("true")
        )
    ),
}
OF_ENTERPRISE = {"read/privileges"}  # Community parses them, and then says that it cannot do it
UNSUPPORTED = "Neo.ClientError.Statement.UnsupportedAdministrationCommand"
PARTS = {"write/lock_hold", "write/lease_hold"}  # of other statements
PARTS_OF_SEARCH = {
    "read/text_hits": "CYPHER 5\n{} RETURN n, score",
    "read/vector_hits": "CYPHER 5\n{} RETURN n, score",
    "read/line_index": "CYPHER 5\nMATCH (m) WITH m, m.vector AS u, 1.0 AS norm, 1.0 AS radius"
    " CALL (m, u, norm, radius) {{\n{}\n}}\nRETURN n, steps",
    "read/around_index": "CYPHER 5\nMATCH (m) WITH m, m.vector AS u CALL (m, u) {{\n{}\n}}\nRETURN n",
    "read/around_links": "CYPHER 5\nMATCH (m) MATCH (a) CALL (m, a) {{\n{}\n}}\nRETURN linked",
}
PREDICATES = {"read/same_node", "read/same_space"}  # on a node n at a position i


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("Paper", "`Paper`"),
        ("a b", "`a b`"),
        ("a`b", "`a``b`"),
        ("``", "``````"),
        ("'\"", "`'\"`"),
        ("naïve 論文", "`naïve 論文`"),
        ("C:\\data", "`C:\\data`"),
        ("n) DETACH DELETE n //", "`n) DETACH DELETE n //`"),
    ],
)
def test_names_are_quoted(name, quoted):
    assert quote_identifier(name) == quoted


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "a\\u0060) DELETE n //"])
def test_names_that_cannot_be_quoted_are_refused(name):
    with pytest.raises(ValueError, match="name"):
        quote_identifier(name)


@pytest.mark.parametrize("name", [None, 1, b"Paper", ["Paper"]])
def test_names_are_strings(name):
    with pytest.raises(TypeError, match="must be a string"):
        quote_identifier(name)


def test_placeholders_become_quoted_names():
    statement = load_statement(
        "read/relationships", types=Fragment(":`A`|`B`"), relationship_filter=Fragment("true")
    )
    assert "-[r:`A`|`B`]->" in statement
    nodes = load_statement("read/node_count", labels=["A", "B`"], node_filter=Fragment("n.x > 1"))
    assert "(n:`A`|`B```)" in nodes
    assert "\n  n.x > 1\n" in nodes
    found = load_statement("read/coordinates", run="r", embedding="e`", radius="d", same=Fragment("true"))
    assert found.count("n.`e```") == 1


def test_comments_are_not_sent():
    assert "//" not in load_statement("read/server")
    assert load_statement("read/server").startswith("CALL")


def test_a_value_with_a_placeholder_in_it_is_not_filled_again():
    statement = load_statement(
        "read/node_count", labels=["@node_filter"], node_filter=Fragment("n.a = '@labels'")
    )
    assert "(n:`@node_filter`)" in statement
    assert "n.a = '@labels'" in statement


@pytest.mark.parametrize(
    "identifiers", [{}, {"labels": "A"}, {"labels": "A", "node_filter": "x", "other": "y"}]
)
def test_placeholders_and_names_must_agree(identifiers):
    with pytest.raises(ValueError, match=r"read/node_count\.cypher has placeholders"):
        load_statement("read/node_count", **identifiers)


def test_a_list_of_no_names_is_refused():
    with pytest.raises(ValueError, match="at least one name"):
        load_statement("read/node_count", labels=[], node_filter=Fragment("true"))


def test_an_unknown_statement_is_named():
    with pytest.raises(FileNotFoundError, match=r"cypher/read/nothing\.cypher"):
        load_statement("read/nothing")


def test_exclusions():
    assert except_names([]) == "(%|!%)"
    assert except_names(["A`", "B"]) == "!(`A```|`B`)"
    assert isinstance(except_names(["A"]), Fragment)


@pytest.mark.parametrize("path", sorted((CYPHER / "read").glob("*.cypher")), ids=lambda path: path.name)
def test_statements_say_what_they_do_and_use_nothing_deprecated(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("// ")
    assert text.endswith("\n")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    assert not re.search(r"(?<![A-Za-z])id\s*\(", code)
    assert not re.search(r"CALL\s*\{", code)
    for parameter in set(re.findall(r"\$(\w+)", code)):
        assert parameter in text.split("\n" + code.strip().splitlines()[0])[0], (
            f"${parameter} is not explained"
        )


SET_CLAUSE = re.compile(
    r"\bSET\b(.*?)(?=\b(?:WITH|RETURN|MATCH|REMOVE|DELETE|CREATE|MERGE|SET)\b|\Z)", re.DOTALL
)


def properties_set(code, label):
    """Return the properties that a statement sets on nodes of a label: "*" for all of a map."""
    variables = set(re.findall(rf"\((\w+):{label}\b", code))
    items = re.findall(r"\b(\w+)(?:\.(\w+))? \+?= ", " ".join(SET_CLAUSE.findall(code)))
    return {name or "*" for variable, name in items if variable in variables}


def with_fragments(path):
    """Return a statement that writes, without comments, with what it has of the lease's."""
    codes = {
        name: re.sub(r"//.*", "", statement_text(f"write/{name}"))
        for name in (path.stem, "lease_hold", "lock_hold")
    }
    return codes[path.stem].replace("@lease", codes["lease_hold"]).replace("@lock", codes["lock_hold"])


def test_readers_go_by_one_property_that_changes():
    """Of several that change together they could see some old and some new."""
    unread = {"lock", "publishedAt", "rolledBackAt", "leaseHolder", "leaseUntil", "staging"}
    found = {}
    for path in (CYPHER / "write").glob("*.cypher"):
        code = with_fragments(path)
        for label in ("HeatModel", "HeatVersion"):
            names = properties_set(code, label)
            if label == "HeatModel":
                names -= unread
            if names:
                found[path.stem, label] = names
    assert found == {
        ("version_switch", "HeatModel"): {"version"},
        ("version_create", "HeatVersion"): {"*", "number"},  # ON CREATE
    }


def test_what_changes_a_model_goes_by_its_locked_node():
    """By its name it would also change a node that was made after the lock, which nobody holds."""
    by_name = {
        path.stem
        for path in (CYPHER / "write").glob("*.cypher")
        if re.search(r"\(m?:HeatModel\b[^)]*\bname\b", path.read_text(encoding="utf-8"))
    }
    assert by_name == {"model_create", "lock_hold", "lease_take"}  # which locks it, and goes by one alone


def test_every_batch_holds_a_write_lock_of_the_lease():
    """What writes to the user's nodes is fenced: without a lock of the holder's it matches nothing."""
    on_users_nodes = re.compile(r"@(?:\w+_)?(?:embedding|radius|run|type|target|previous)\b")
    writes = re.compile(r"\b(?:SET|REMOVE|DELETE|MERGE|CREATE)\b")
    batches = {}
    for path in sorted((CYPHER / "write").glob("*.cypher")):
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        if writes.search(code) and on_users_nodes.search(code):
            lock = re.search(r"@lock\b", code)
            batches[path.stem] = lock is not None and lock.start() < writes.search(code).start()
    assert set(batches) == {
        "coordinates_remove", "coordinates_restage", "coordinates_settle",
        "coordinates_stage", "leavers_stage", "links_copy", "links_keep",
        "links_remove", "links_settle", "links_stage", "values_stage",
    }  # fmt: skip
    assert all(batches.values())


def test_statements_find_nodes_by_label_or_id():
    """Others' nodes can be many more than the model's."""
    bare = re.compile(r"MATCH \((\w+)\)\s+(?!WHERE elementId\(\1\))(?=[A-Z@])")
    found = {name for name in STATEMENTS if bare.search(re.sub(r"//.*", "", statement_text(name)))}
    assert found == {"read/names", "read/node_filter"}  # which take one node, and none


def explain(cypher, server, statement):
    """Return the code of the server's refusal of a statement, None if it takes it, and its warnings."""
    session = cypher.driver.session(database=server.database, notifications_min_severity="INFORMATION")
    try:
        with session:
            notes = session.run(statement).consume().gql_status_objects
    except ClientError as error:
        return error.code, []
    return None, [note.status_description for note in notes if note.raw_classification == "DEPRECATION"]


@pytest.mark.live
@pytest.mark.parametrize("language", ["", slow("CYPHER 5")], ids=["default", "5"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_the_server_understands_every_statement(server, cypher, name, language):
    """In each version of Cypher, as a database may read any by default; none calls anything deprecated."""
    placeholders = set(re.findall(r"@([a-z_]+)", re.sub(r"//.*", "", statement_text(name))))
    names = {each: FRAGMENTS.get(each, f"an {each}") for each in placeholders}
    if name in {
        "read/relationship_keys",
        "read/relationship_times",
        "read/sample_schema",
    }:  # they write the colon themselves
        names["types"] = "CITES"
    if name == "read/neighbours_line":
        names["candidates"] = Fragment(load_statement("read/line_index"))
    statement = load_statement(name, **names)
    if name in PARTS:
        statement += "\nRETURN 1 AS one"
    statement = PARTS_OF_SEARCH.get(name, "{}").format(statement)
    if name in PREDICATES:
        statement = f"UNWIND [0] AS i MATCH (n) WHERE {statement} RETURN n"
    expected = {None, UNSUPPORTED} if name in OF_ENTERPRISE else {None}
    version = "" if statement.startswith("CYPHER ") else language
    code, deprecated = explain(cypher, server, f"EXPLAIN {version} {statement}")  # needs no parameters
    assert code in expected
    assert deprecated == []
