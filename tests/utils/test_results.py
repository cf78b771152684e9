"""Results in a notebook: a short line, a data frame, and a table in which nothing of the database is HTML."""

from dataclasses import dataclass

import pytest

from heat_neo4j._utils.frames import Result, Rows
from heat_neo4j.database.index.nearest import Neighbour, Neighbours
from heat_neo4j.database.publish.removal import ClearReport
from heat_neo4j.evaluation.report import Evaluation, Figure, Row

HOSTILE = "<script>alert(1)</script>\x1b[2J"


@dataclass(frozen=True, repr=False)
class Told(Result):
    name: str
    values: tuple[int, ...] = ()

    def to_dict(self):
        return vars(self)


def near(name=HOSTILE):
    node = Neighbour(
        element_id="4:x:1",
        labels=(HOSTILE,),
        name=name,
        distance=0.5,
        radius=1.25,
        properties={HOSTILE: HOSTILE},
    )
    return Neighbours("4:x:0", HOSTILE, (node,), certified=True, fetch=60)


RESULTS = [
    Told(HOSTILE, (1, 2)),
    near(),
    Rows([{HOSTILE: HOSTILE}]),
    ClearReport((HOSTILE,), (), 3, 4, dry_run=True),
    Evaluation((Row(HOSTILE, {"auroc": Figure((0.5,))}),), (0,), {}, {}),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda each: type(each).__name__)
def test_a_table_for_notebooks_has_no_html_and_no_control_of_the_database(result):
    table = result._repr_html_()
    assert "<script" not in table
    assert "\x1b" not in table
    assert table.startswith("<table>")
    if not isinstance(result, Rows):  # a list of dicts shows them as Python does
        assert "\x1b" not in repr(result)
        assert len(repr(result)) <= 300
    assert len(result.to_frame("pandas")) >= 1


def test_a_report_shows_its_facts():
    report = ClearReport(("r1",), ("heat",), 3, 4, dry_run=True)
    assert repr(report) == "ClearReport(nodes=3, links=4, dry_run=yes)"
    assert report.to_frame("pandas").value.tolist() == ["3", "4", "yes"]


def test_neighbours_are_a_row_each_with_what_is_shown():
    frame = near("Alien").to_frame("pandas")
    assert frame.columns.tolist() == ["node", "distance", "radius", "labels", HOSTILE]
    assert frame.node.tolist() == ["Alien"]


def test_rows_are_a_frame_even_without_any():
    assert Rows([{"a": 1}, {"a": 2}]).to_frame("pandas").a.tolist() == [1, 2]
    assert len(Rows().to_frame("pandas")) == 0
    assert Rows([{"a": 1}]) == [{"a": 1}]
