"""What a run notes about its training: its end, its learning rate, and hierarchies."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j.cli.report import describe
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.embedding.hierarchy import hierarchy_of
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.pipeline.fit import record_hierarchies, training_notes

CHILD = np.arange(1, 121)
PARENT = (CHILD - 1) // 3
SHAPE = (121, 121)


def fitted(**facts):
    model = HEAT()
    model.training_ = {
        "trained_share": 1.0,
        "learning_rate_halved": 0,
        "effective_learning_rate": 0.05,
    } | facts
    return model


def graph_of(source, target):
    return Graph(
        sparse.csr_array((np.ones(len(source)), (source, target)), shape=SHAPE),
        relationships=Relationships.from_pairs({"PART_OF": (source, target)}),
    )


@pytest.mark.parametrize(
    ("facts", "notes"),
    [
        ({}, ()),
        ({"trained_share": 0.25}, ("training ended at the time limit, after 25.0% of its pairs",)),
        (
            {"learning_rate_halved": 2, "effective_learning_rate": 0.0125},
            ("training diverged: `learning_rate` was halved 2 times, to 0.013",),
        ),
    ],
)
def test_notes_on_training(facts, notes):
    assert training_notes(fitted(**facts)) == notes


def test_a_training_of_parts_has_no_learning_rate():
    model = HEAT()
    model.training_ = {"trained_share": 1.0}
    assert training_notes(model) == ()


def lines(model, source, target):
    record_hierarchies(model, graph_of(source, target))
    run = RunRecord("r", "heat", ("embedding",), "complete", training=model.training_)
    return [line for name, line in describe(run, stages=False) if name == "Hierarchy"]


def test_a_hierarchy_that_was_not_asked_for_is_named():
    assert lines(fitted(), CHILD, PARENT) == [
        "PART_OF looks like one (target is more general: 100% of 120 sources have one target, no cycles, "
        "5 levels): --hierarchy PART_OF places general nodes nearer the centre"
    ]


def test_without_a_hierarchy_radii_are_explained():
    none = ["none found: radii mostly reflect the number of relationships"]
    assert lines(fitted(), CHILD, CHILD - 1) == none


def test_the_evidence_for_a_trained_hierarchy_is_recorded():
    facts = hierarchy_of(graph_of(PARENT, CHILD), "PART_OF").facts()
    (line,) = lines(fitted(**facts), PARENT, CHILD)
    words = "100% of 120 targets have one source, no cycles, 5 levels"
    assert line == f"PART_OF, source is more general: {words}"


@pytest.mark.parametrize("training", [{}, {"hierarchy": 1}, {"hierarchies_found": [3]}])
def test_a_changed_record_shows_no_hierarchy(training):
    assert "Hierarchy" not in dict(
        describe(RunRecord("r", "heat", ("embedding",), "complete", training=training), stages=False)
    )
