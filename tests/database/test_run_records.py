"""A run's node that somebody has changed is read as far as it can be, and is no defect of ours."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j.cli.commands.runs import _row
from heat_neo4j.cli.report import describe
from heat_neo4j.database.runs import RunRecord, _camel
from heat_neo4j.database.versions import previous_of
from heat_neo4j.errors import ProjectionError
from heat_neo4j.pipeline.published_model import model_of

NAMES = [_camel(part.name) for part in fields(RunRecord) if part.name != "damaged"]
SCALARS = st.one_of(st.text(max_size=5), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans())
TEXTS = st.sampled_from(["{", "[]", "{}", "null", "3", '{"mean": "x", "auroc": []}', "[" * 5000, "1" * 5000])
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), TEXTS)
GOOD = {"runId": "r", "model": "m", "parts": ["embedding"], "status": "complete"}


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_whatever_a_node_holds_it_can_be_read_shown_and_written(properties):
    run = RunRecord.from_node({**GOOD, **properties})
    list(describe(run, stages=True))
    _row(run)
    run.to_dict()
    if run.damaged:
        with pytest.raises(ProjectionError, match=r"is damaged .*heat clear --run"):
            run.whole()


def test_what_is_whole_comes_back():
    run = RunRecord(
        run_id="r", model="m", parts=("embedding",), status="complete", labels=("A",), seed="9" * 30,
        loss_curve=(1.5, 2.0), stage_seconds={"read": 1.5, "train": 2}, quality={"auroc": None},
        attribute_recipe=({"name": "x"},), projection={"labels": ["A"]},
    )  # fmt: skip
    again = RunRecord.from_node(run.to_node())
    assert again.damaged == ()
    assert (again.whole().labels, again.seed, again.loss_curve) == (("A",), "9" * 30, (1.5, 2.0))
    assert again.stage_seconds == run.stage_seconds


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": "x"}, {"alpha": 2.0}, {"n_components": 10**30}, {"walks_per_node": 0}, {"sigma": None},
        {"learning_rate": float("nan")},
    ],
)  # fmt: skip
def test_parameters_that_no_run_had_are_damage(parameters):
    run = RunRecord(run_id="r", model="m", parts=(), status="complete", parameters=parameters, seed=3)
    with pytest.raises(ProjectionError, match=r"the node of run r is damaged \(parameters\)"):
        model_of(run)


@pytest.mark.parametrize("previous", ["{", "[1]", "null", 3, [1], "[" * 100_000])
def test_a_way_back_that_cannot_be_read_is_none(previous):
    assert previous_of({"run": "r", "previous": previous}) == {}
