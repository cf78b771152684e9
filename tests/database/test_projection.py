from __future__ import annotations

import json
import math

import pytest

from heat_neo4j.attributes.table import Attribute
from heat_neo4j.database.projection import Projection


def test_defaults():
    projection = Projection()
    assert projection.labels is None
    assert projection.relationships is None
    assert projection.attributes == ()
    assert projection.aggregation == "sum"
    assert projection.default_weight == 1.0


def test_names_become_tuples():
    projection = Projection(["Paper"], ["CITES"], attributes=["year"])
    assert (projection.labels, projection.relationships, projection.attributes) == (
        ("Paper",),
        ("CITES",),
        ("year",),
    )


def test_it_survives_json():
    projection = Projection(
        ["Paper", "Author"],
        ["CITES"],
        weight="weight",
        default_weight=2,
        aggregation="max",
        time="since",
        attributes=["year", "words"],
        text=["title", "abstract"],
        label_attributes={"Paper": ["year", "abstract"], "Author": ["country"]},
        type_weights={"CITES": 2},
        key="doi",
        node_filter="n.year > $since",
        relationship_filter="r.weight > 0",
        filter_parameters={"since": 2000, "kinds": ["a", None, True, {"x": 1.5}]},
        max_categories=10,
    )
    assert Projection.from_dict(json.loads(json.dumps(projection.to_dict()))) == projection
    assert Projection.from_dict(json.loads(json.dumps(Projection().to_dict()))) == Projection()


def test_what_was_recorded_before_there_were_times_still_loads():
    recorded = Projection(["Paper"], weight="weight").to_dict()
    del recorded["time"]
    assert Projection.from_dict(recorded) == Projection(["Paper"], weight="weight")
    assert Projection(["Paper"], time="since").to_dict()["time"] == "since"


def test_what_was_recorded_before_there_were_texts_labels_and_factors_still_loads():
    recorded = Projection(["Paper"], attributes=["year"]).to_dict()
    for name in ("text", "label_attributes", "type_weights"):
        del recorded[name]
    assert Projection.from_dict(recorded) == Projection(["Paper"], attributes=["year"])


def test_every_attribute_is_named_once():
    projection = Projection(
        attributes=["year"],
        text=["title", "abstract"],
        label_attributes={"Paper": ["year", "abstract"], "Author": ["abstract"]},
    )
    assert projection.all_attributes == (
        Attribute("year"),
        Attribute("title", text=True),
        Attribute("year", "Paper"),
        Attribute("abstract", "Paper", text=True),
        Attribute("abstract", "Author", text=True),
    )
    assert projection.to_dict()["label_attributes"] == {"Paper": ["year", "abstract"], "Author": ["abstract"]}


def test_keys_by_label_are_a_mapping_whose_order_does_not_matter():
    films = Projection(key={"Movie": "title", "": "id", "Actor": "name"})
    assert films == Projection(key={"Actor": "name", "Movie": "title", "": "id"})
    assert Projection.from_dict(json.loads(json.dumps(films.to_dict(), sort_keys=True))) == films
    assert list(films.keys.by_label) == ["Actor", "Movie", ""]
    assert Projection(key={"": "id"}) == Projection(key="id")
    assert Projection(key={}) == Projection()
    assert Projection(key="id").to_dict()["key"] == "id"


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        Projection().weight = "weight"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"labels": []}, ValueError, "labels must name at least one, or be None for all"),
        ({"labels": [""]}, ValueError, "labels must not be empty"),
        ({"labels": [1]}, TypeError, "labels must be a string, got 1"),
        ({"labels": [None]}, TypeError, "labels must be a string, got None"),
        ({"relationships": ["A", "A"]}, ValueError, "relationships has a name twice: ['A', 'A']"),
        ({"attributes": "year"}, TypeError, "attributes must be a list of names"),
        ({"weight": 1}, TypeError, "weight must be a string"),
        ({"weight": " "}, ValueError, "weight must not be empty"),
        ({"time": 2004}, TypeError, "time must be a string, got 2004"),
        ({"time": ""}, ValueError, "time must not be empty"),
        ({"key": ["id"]}, TypeError, "key must be a string, or a mapping of labels to strings, got ['id']"),
        ({"key": {"A": 1}}, TypeError, "key['A'] must be a string, got 1"),
        ({"key": {"A": ""}}, ValueError, "key['A'] must not be empty"),
        ({"key": {" ": "id"}}, ValueError, "key: a label must not be empty"),
        ({"node_filter": ""}, ValueError, "node_filter must not be empty"),
        ({"default_weight": "1"}, TypeError, "default_weight must be a number"),
        ({"default_weight": True}, TypeError, "default_weight must be a number"),
        ({"default_weight": -1}, ValueError, "default_weight must be finite and 0 or more, got -1"),
        ({"default_weight": math.nan}, ValueError, "default_weight must be finite"),
        ({"default_weight": math.inf}, ValueError, "default_weight must be finite"),
        ({"aggregation": "mean"}, ValueError, "aggregation must be one of"),
        ({"aggregation": "count", "weight": "w"}, ValueError, "aggregation 'count' ignores weights"),
        ({"aggregation": "single", "weight": "w"}, ValueError, "aggregation 'single' ignores weights"),
        ({"text": "title"}, TypeError, "text must be a list of names, got 'title'"),
        ({"text": ["a"], "attributes": ["a"]}, ValueError, "`text` and `attributes` both name 'a'"),
        ({"label_attributes": ["Paper"]}, TypeError, "label_attributes must be a mapping of labels to lists"),
        ({"label_attributes": {"": ["x"]}}, ValueError, "label_attributes: a label must not be empty"),
        ({"label_attributes": {"A": "x"}}, TypeError, "label_attributes['A'] must be a list of names"),
        ({"label_attributes": {"A": ["x", "x"]}}, ValueError, "label_attributes['A'] has a name twice"),
        ({"type_weights": [1]}, TypeError, "type_weights must be a mapping of types to numbers, got [1]"),
        ({"type_weights": {"A": 0}}, ValueError, "type_weights['A'] must be finite and above 0, got 0"),
        ({"type_weights": {"A": math.inf}}, ValueError, "type_weights['A'] must be finite and above 0"),
        ({"type_weights": {"A": "1"}}, TypeError, "type_weights['A'] must be a number, got '1'"),
        ({"type_weights": {"A": True}}, TypeError, "type_weights['A'] must be a number"),
        (
            {"type_weights": {"B": 1}, "relationships": ["A"]},
            ValueError,
            "type_weights names 'B', which is not among `relationships` ['A']",
        ),
        (
            {"type_weights": {"A": 1}, "aggregation": "count"},
            ValueError,
            "ignores weights: leave out `type_",
        ),
        (
            {"type_weights": {"A": 1}, "aggregation": "single"},
            ValueError,
            "ignores weights: leave out `type_",
        ),
        ({"max_categories": 0}, ValueError, "max_categories must be at least 1, got 0"),
        ({"max_categories": 1.5}, TypeError, "max_categories must be an integer"),
        ({"filter_parameters": [1]}, TypeError, "filter_parameters must be a mapping"),
        ({"filter_parameters": {"heat_ids": 1}}, ValueError, "'heat_ids' is reserved"),
        ({"filter_parameters": {1: 1}}, ValueError, "1 is reserved"),
        ({"filter_parameters": {"x": {1}}}, TypeError, "filter_parameters['x'] must be plain data"),
        ({"filter_parameters": {"x": [{"y": b""}]}}, TypeError, "filter_parameters['x'] must be plain data"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error) as caught:
        Projection(**arguments)
    assert message in str(caught.value)


def test_an_unknown_part_is_named():
    with pytest.raises(ValueError, match="a projection has no 'lables'"):
        Projection.from_dict({"lables": ["Paper"]})
