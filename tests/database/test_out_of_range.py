"""Dates that Python cannot hold are texts wherever rows are shown, and values of every type are shown."""

import json

import neo4j
import pytest
from neo4j._codec.hydration import BrokenHydrationObject
from neo4j._codec.packstream import Structure
from neo4j.spatial import WGS84Point
from neo4j.time import Duration

from heat_neo4j._utils.display import display_text, plain_data
from heat_neo4j.database.connection import Transaction
from heat_neo4j.database.index.nearest import Neighbour, Neighbours
from heat_neo4j.errors.redaction import redacted_data

UNREADABLE = "a value that the driver cannot decode"
FAR = {"D": -735525, "I": (568971820800, 0, 0), "i": (568971820800, 0, "Mars/Base"), "?": 1}


def received(*values):
    """Return the records of a statement that returned these values, in one row."""
    keys = [f"v{place}" for place in range(len(values))]
    record = neo4j.Record(zip(keys, values, strict=True))
    answer = neo4j.EagerResult([record], None, keys)

    class Sent:
        def to_eager_result(self):
            return answer

    return record, Transaction(lambda *_: Sent(), None).run("RETURN 1").records[0]


@pytest.mark.parametrize("tag", FAR)
def test_a_value_that_the_driver_cannot_decode_is_a_text_anywhere_in_a_record(tag):
    fields = FAR[tag] if isinstance(FAR[tag], tuple) else (FAR[tag],)
    far = BrokenHydrationObject(ValueError("Year out of range"), Structure(tag.encode(), *fields))
    _, record = received(far, [1, [far]], {"a": far, "b": 2}, BrokenHydrationObject(ValueError(), [1, far]))
    first, second, third, fourth = record
    for value in (record["v0"], first, second[1][0], third["a"], fourth[1]):
        assert display_text(value) == plain_data(value) == redacted_data(value) == UNREADABLE
    assert (second[0], third["b"], fourth[0]) == (1, 2, 1)


def test_records_without_such_values_are_not_copied():
    given, got = received([1, 2.5, "a", None], {"a": [Duration(1)]}, WGS84Point((1.0, 2.0)))
    assert got is given


def test_neighbours_with_values_of_any_type_become_data():
    values = {"took": Duration(months=2, seconds=3), "at": WGS84Point((1.0, 2.0)), "tags": ["a"]}
    near = Neighbour(
        element_id="4:x:7", labels=("Paper",), name="A", distance=0.5, radius=1.25, properties=values
    )
    answer = Neighbours("4:x:1", "papers", (near,), True, 60).to_dict()
    assert answer["nodes"][0]["properties"] == values
    json.dumps(redacted_data(answer))
