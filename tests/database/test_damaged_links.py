"""Predicted links that somebody changed are an error that says what to do, whatever they hold."""

import math

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.out_of_range import OutOfRange
from heat_neo4j.database.read.published import read_links
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph

SOUND = {"rank": 1, "type": "CITES", "distance": 1.5, "probability": 0.5}
VERSION = {"number": 1, "linkRun": "20260801T060000Z-5f3a9c1e7b24", "linkType": "HEAT_PREDICTED"}


class Stored:
    """A connection to a database with one predicted link."""

    def __init__(self, link):
        self._link = link

    def read(self, statement, parameters=None, **_):
        if statement == load_statement("read/models"):
            return [{"model": {"name": "papers"}, "version": VERSION}]
        return [([0, 1], [self._link["rank"]], [0], ["4:x:1"],
                 *([self._link[name]] for name in ("type", "distance", "probability")))]  # fmt: skip


def links_of(link):
    adjacency = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    return read_links(Stored(link), Graph(adjacency, node_ids=["4:x:0", "4:x:1"]), "papers")


def test_sound_links_are_read():
    assert len(links_of(SOUND)) == len(links_of(SOUND | {"probability": None})) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"distance": "x"}, {"distance": None}, {"distance": math.nan}, {"distance": math.inf},
        {"distance": -1.0}, {"distance": 1e300}, {"distance": [1.0]}, {"distance": OutOfRange("-0044")},
        {"type": 5}, {"type": None}, {"rank": "1"}, {"rank": None}, {"rank": 1.5},
        {"probability": "x"}, {"probability": math.nan}, {"probability": 2.0}, {"probability": True},
    ],
)  # fmt: skip
def test_a_changed_link_is_an_error_of_the_database(changed):
    with pytest.raises(ProjectionError, match="'papers' hold values that no run writes: `heat links`"):
        links_of(SOUND | changed)
