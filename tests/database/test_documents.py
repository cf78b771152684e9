"""Documents and names that no run records are refused as damage, whoever wrote them into the database."""

import json
from types import SimpleNamespace

import pytest

from heat_neo4j.cli.commands.runs import _row
from heat_neo4j.cli.report import describe
from heat_neo4j.database.documents import check_document, parse_document, storable_integer
from heat_neo4j.database.index.vector_indexes import own_indexes, read_cover
from heat_neo4j.database.keys import NodeKeys
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.publication import index_plan
from heat_neo4j.database.published_nodes import Lookup, NodesByKey, read_scope
from heat_neo4j.database.read.counts import sample_schema
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.versions import checked, previous_of, published
from heat_neo4j.errors import ProjectionError, WriteRefused
from heat_neo4j.errors.redaction import redacted_data

RUN, NEXT = "20260801T060000Z-5f3a9c1e7b24", "20260802T060000Z-5f3a9c1e7b24"
ESCAPE = "a\\u0041"  # Cypher 5 reads it as "aA"
GOOD = {"runId": "r", "model": "m", "parts": ["embedding"], "status": "complete"}
VERSION = {
    "run": RUN, "space": RUN, "embeddingProperty": "heatEmbedding", "radiusProperty": "heatRadius",
    "runProperty": "heatRun", "vectorProperty": "heatEmbedding", "coordinates": "poincare", "dimension": 3,
}  # fmt: skip


class Answers:
    """A connection that answers by what it is asked for; `statements` are those that it got."""

    server = SimpleNamespace(database="neo4j")

    def __init__(self, **answers):
        self.answers, self.statements = answers, []

    def read(self, statement, parameters=None, *, doing):
        self.statements.append(statement)
        return self.answers.get(doing.replace(" ", "_"), [])


def nested(depth):
    return '{"a":' * depth + "1" + "}" * depth


LARGE, NEAR = 2**63, [-(2**63), 2**63 - 1, 1e308, None, True]
REFUSED = [
    '{"a": NaN}', '{"a": [-Infinity]}', '{"a": 1e999}', '{"a": 1' + "0" * 400 + "}", f'{{"a": {LARGE}}}',
    f"[{-LARGE - 1}]", "1" * 5000, nested(51), nested(600), "[" * 100_000, r'{"a": "\ud800"}',
    r'{"\udfff": 1}', "{", "", 3, None, [1], b"\xff",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text)[:20])
def test_a_document_that_no_run_records_is_refused(text):
    with pytest.raises(ValueError, match=r"not a JSON document|it holds|it is nested|lone surrogate"):
        parse_document(text)
    properties = dict.fromkeys(("stageSeconds", "parameters", "quality", "drift", "projection"), text)
    run = RunRecord.from_node({**GOOD, **properties})
    list(describe(run, stages=True))
    _row(run)
    json.dumps(redacted_data(run.to_dict()), allow_nan=False)
    if text is not None:
        assert set(run.damaged) == properties.keys()
        with pytest.raises(ProjectionError, match="the node of run r is damaged"):
            run.whole()


@pytest.mark.parametrize("text", [nested(50), json.dumps(NEAR), r'"\ud83d\ude00 \\ud800"'], ids=range(3))
def test_a_document_that_a_run_may_record_is_read(text):
    assert parse_document(text) == json.loads(text)


def test_what_has_no_type_of_json_is_refused():
    with pytest.raises(TypeError, match="is not JSON data"):
        check_document({"a": [{1}]})


def test_a_sum_beyond_all_floats_can_be_shown():
    run = RunRecord.from_node({**GOOD, "stageSeconds": '{"a": 1e308, "b": 1e308}'})
    assert run.damaged == ()
    assert "inf s" in _row(run)
    assert ("Time", "inf s") in list(describe(run, stages=True))


def test_a_large_seed_is_recorded_as_text():
    assert [storable_integer(seed) for seed in (None, 2**63 - 1, 2**63)] == [None, 2**63 - 1, str(2**63)]


@pytest.mark.parametrize(
    "change",
    [
        {"nodeCount": 10**30}, {"nodeCount": "many"}, {"nodeLabels": {"a": 1}}, {"nodeLabels": ["A", 1]},
        {"run": "\ud800"}, {"core": [["x"]]}, {"dimension": float("nan")},
    ],
)  # fmt: skip
def test_a_previous_version_that_the_driver_cannot_send_is_none(change):
    text = json.dumps(VERSION | change)
    assert previous_of({"previous": text}) == {}
    following = published({"previous": text}, VERSION | {"run": NEXT}, WriteNames(), index=False)
    assert "previous" not in following


@pytest.mark.parametrize(("name", "value"), [("nodeLabels", "A"), ("nodeLabels", [1]), ("nodeCount", -1.5)])
def test_labels_and_counts_of_another_type_are_damage(name, value):
    assert checked(VERSION | {name: value})[1] == (name,)
    assert checked(VERSION | {"nodeLabels": [ESCAPE], "nodeCount": 3})[1] == ()


# --- names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"labels": [ESCAPE]}, {"relationships": [ESCAPE]}, {"weight": ESCAPE}, {"time": "a\0"},
        {"key": ESCAPE},
        {"attributes": ["\ud800"]}, {"text": [ESCAPE]}, {"label_attributes": {ESCAPE: ["x"]}},
        {"label_attributes": {"A": [ESCAPE]}}, {"type_weights": {ESCAPE: 2.0}}, {"key": {"A": ESCAPE}},
        {"key": {ESCAPE: "x"}}, {"default_weight": 10**400}, {"filter_parameters": {"x": 2**64}},
        {"filter_parameters": {"x": json.loads(nested(60))}},
    ],
)  # fmt: skip
def test_a_projection_takes_no_name_or_value_that_no_statement_can_hold(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Projection(**arguments)
    run = RunRecord("r", "m", (), "complete", projection=arguments)
    with pytest.raises(ProjectionError, match=r"the node of run r is damaged \(projection\)"):
        run.whole()


@pytest.mark.parametrize(
    ("projection", "labels"),
    [
        (json.dumps({"key": ESCAPE}), []),
        (nested(600), []),
        ("{}", [ESCAPE]),
        ('{"key": NaN}', []),
        ("[]", []),
    ],
)
def test_a_published_scope_with_a_name_that_cannot_be_quoted_is_damage(projection, labels):
    row = {"labels": labels, "projection": projection, "linkRun": None, "linkType": None, "indexes": 0}
    source = Answers(reading_what_is_published=[{**row, "version": "v", "held": VERSION}])
    with pytest.raises(ProjectionError, match="the bookkeeping of model 'm' is damaged"):
        read_scope(source, "m")


@pytest.mark.parametrize(("key", "labels"), [("id", [ESCAPE]), (ESCAPE, None)])
def test_no_node_is_looked_for_by_a_name_that_cannot_be_quoted(key, labels):
    nodes = NodesByKey(["A"], NodeKeys.of(key))
    with pytest.raises(ProjectionError, match="cannot be quoted safely in Cypher"):
        Lookup.of(nodes, "x", labels)


def test_names_of_the_database_that_cannot_be_quoted_are_left_out():
    names = {kind: [ESCAPE, "A"] for kind in ("labels", "types", "keys", "predicted")}
    source = Answers(
        reading_names=[{**names, "id": "4:x:1", "keys": ["A"]}],
        counting_relationships=[{"type": ESCAPE, "relationships": 3}, {"type": "A", "relationships": 2}],
    )
    assert sample_schema(source, Projection()) == ({}, {})
    with pytest.raises(ProjectionError, match=r"no property 'b' in database 'neo4j': there are A"):
        require_names(source, [], ["b"])
    assert not any("\\u" in statement for statement in source.statements)


def test_no_index_is_over_a_label_or_of_a_name_that_cannot_be_quoted():
    names = WriteNames()
    plan = index_plan(VERSION, names, [ESCAPE])
    rows = [{"labels": [ESCAPE, "A"], "nodes": 2}, {"labels": ["A", "B"], "nodes": 1}]
    assert read_cover(Answers(reading_labels=rows), plan, ["A"]) == (("A",), 3)
    with pytest.raises(WriteRefused, match="2 nodes without a label that can be quoted cannot"):
        read_cover(Answers(reading_labels=[{"labels": [ESCAPE], "nodes": 2}]), plan, ["A"])
    index = {
        "name": names.index_of(ESCAPE), "labels": [ESCAPE], "properties": ["heatEmbedding"],
        "state": "ONLINE", "percent": 100, "settings": {"vector.dimensions": 2}, "failure": "",
    }  # fmt: skip
    assert own_indexes(Answers(reading_indexes=[index]), names) == []
