"""How many columns the words and categories of all nodes take, from those of a sample."""

import numpy as np
import pytest

from heat_neo4j.attributes.columns import HASHED
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.database.read.counts import _columns_of_all
from tests.support.slow import slow

NODES, SAMPLE = 30_000, 1_000


def encoded(values, *, text=False, max_categories=10_000):
    table = AttributeTable([Attribute("p", text=text)], len(values), max_categories=max_categories)
    rows = np.arange(len(values))
    table.add(rows, {"p": values})
    return table.finish(rows)


def zipf(size, exponent):
    """Draw words, of which the i-th is used in proportion to 1 / (i + 3)^exponent."""
    share = 1.0 / (np.arange(200_000) + 3.0) ** exponent
    return np.random.default_rng(0).choice(len(share), size, p=share / share.sum())


@pytest.mark.parametrize(
    ("kind", "exponent"),
    [
        ("text", 1.1),
        ("tags", 1.5),
        ("category", 2.0),
        *(slow("text", each) for each in (1.5, 2.0)),
        *(slow("tags", each) for each in (1.1, 2.0)),
        *(slow("category", each) for each in (1.1, 1.5)),
    ],
)
def test_distinct_values_are_extrapolated_within_a_quarter(kind, exponent):
    words = [[f"w{word}" for word in row] for row in zipf((NODES, 12), exponent).tolist()]
    own = {"text": [" ".join(row) for row in words], "tags": words, "category": [row[0] for row in words]}
    most = 10**6
    sampled, every = (
        encoded(own[kind][:end], text=kind == "text", max_categories=most) for end in (SAMPLE, NODES)
    )
    found = _columns_of_all(sampled, NODES / SAMPLE, most)
    assert found == pytest.approx(len(every.names), rel=0.25)
    assert len(sampled.names) < 0.5 * len(every.names)
    assert _columns_of_all(sampled, 1.0, most) == len(sampled.names)


def test_columns_are_no_more_than_the_values_or_the_limits():
    few = encoded([f"c{row % 7}" for row in range(SAMPLE)])
    assert _columns_of_all(few, 1e6, 10_000) == 7
    numbers = encoded([float(row) for row in range(SAMPLE)])
    assert _columns_of_all(numbers, 1e6, 10_000) == 1
    ids = [f"id{row}" for row in range(SAMPLE)]
    assert _columns_of_all(encoded(ids), 5.0, 10_000) == 5 * SAMPLE
    assert _columns_of_all(encoded(ids), 1e6, 10_000) == 10_001
    assert _columns_of_all(encoded(ids, max_categories=20), 5.0, 20) == 21
    assert _columns_of_all(encoded(ids, text=True), 1e9, 10_000) == HASHED
