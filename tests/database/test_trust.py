"""Filters that may run and properties that may be written, where only the database names them."""

import ast
import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from heat_neo4j.database import trust
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.trust import FILTERS, TRUSTED_FILE, Trust
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.local_server.folders import private_file
from tests.architecture import modules

FILTER = "n.year > 2000"


def recorded(**projection):
    return RunRecord("r1", "heat", ("embedding",), "complete", projection=projection)


@pytest.mark.parametrize("name", ["node_filter", "relationship_filter"])
def test_a_recorded_filter_runs_only_if_the_operator_gave_its_text(heat_home_folder, name):
    run = recorded(labels=["Paper"], **{name: FILTER})
    with pytest.raises(ConfigError, match=rf"{name} that run r1 records is not run.*--{name[:4]}"):
        run.trusted_projection(Trust())
    assert getattr(run.trusted_projection(Trust([FILTER])), name) == FILTER
    with pytest.raises(ConfigError):
        run.trusted_projection(Trust([FILTER + " "]))
    Trust().remember_filters(None, FILTER)
    assert getattr(run.trusted_projection(Trust()), name) == FILTER
    file = heat_home_folder / TRUSTED_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(file.read_text().replace("a", "b"))
    with pytest.raises(ConfigError):
        run.trusted_projection(Trust())


def test_what_two_processes_remember_at_once_is_all_remembered(heat_home_folder, monkeypatch):
    def slowly(path, text):
        time.sleep(0.2)
        private_file(path, text)

    monkeypatch.setattr(trust, "private_file", slowly)
    filters = [f"n.year > {year}" for year in range(2000, 2004)]
    with ThreadPoolExecutor(len(filters)) as pool:
        list(pool.map(Trust().remember_filters, filters))
    for text in filters:
        Trust().require_filter("r1", "node_filter", text)


def test_names_are_looked_up_without_the_filters():
    projection = recorded(labels=["Paper"], node_filter=FILTER, filter_parameters={"a": 1})
    unfiltered = projection.unfiltered_projection
    assert (unfiltered.labels, unfiltered.node_filter) == (("Paper",), None)


@pytest.mark.parametrize("value", [3, ["n.x"], {"a": 1}, True])
def test_a_recorded_filter_that_is_no_text_is_damage(value):
    with pytest.raises(ProjectionError, match="is damaged"):
        recorded(node_filter=value).trusted_projection(Trust())


def test_the_message_is_one_short_line_whatever_the_filter_holds():
    text = "n.a\x1b[2J\n= 1\u202e" + "x" * 10_000
    with pytest.raises(ConfigError) as refused:
        recorded(node_filter=text).trusted_projection(Trust())
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_without_a_writable_folder_nothing_is_remembered_and_nothing_fails(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEAT_HOME", str(tmp_path / "file" / "below"))
    Trust().remember_filters(FILTER)
    with pytest.raises(ConfigError):
        recorded(node_filter=FILTER).trusted_projection(Trust())


def makes_a_projection(node):
    """Return whether a call makes a `Projection` of values that are not in the source text.

    By `Projection.from_dict`, ``Projection(**values)``, ``made(Projection, **values)``, or
    ``replace(projection, ...)`` of any projection.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name("Projection"), attr="from_dict")):
            return True
        case (
            ast.Call(func=ast.Name("Projection"), keywords=keywords)
            | ast.Call(args=[ast.Name("Projection"), *_], keywords=keywords)
        ):
            return any(each.arg is None or each.arg in FILTERS for each in keywords)
        case ast.Call(func=ast.Name("replace") | ast.Attribute(attr="replace"), args=[copied, *_]):
            return "projection" in ast.unparse(copied).lower()
    return False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Projection.from_dict(recorded)", True),
        ("Projection(**recorded)", True),
        ("Projection(labels, node_filter=text)", True),
        ("made(Projection, **recorded)", True),
        ("replace(self.projection, node_filter=text)", True),
        ("dataclasses.replace(run.unfiltered_projection, **recorded)", True),
        ("Projection(labels, key='id')", False),
        ("isinstance(value, Projection)", False),
        ("replace(job, projection=projection)", False),
        ("text.replace('a', 'b')", False),
    ],
)
def test_a_call_that_makes_a_projection_is_recognised(text, expected):
    assert makes_a_projection(ast.parse(text, mode="eval").body) is expected


def test_only_trusted_settings_parses_recorded_text():
    """`trusted_settings` sees every recorded filter before it can reach a statement."""
    callers = {
        name
        for name, path in modules().items()
        if "rojection" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if makes_a_projection(node)
    }
    assert callers == {
        "heat_neo4j.client",  # of the user's arguments
        "heat_neo4j.cli.arguments",  # of the user's options
        "heat_neo4j.database.runs",  # the gate
        "heat_neo4j.database.read.node_identity",  # looks at names of a graph that was read
        "heat_neo4j.database.write.refusals",  # so does this
        "heat_neo4j.pipeline.embed",  # records a graph that was read; it is not read again
        "heat_neo4j.pipeline.job",  # of what the gate let through
    }


def test_a_record_as_json_still_shows_the_filter():
    assert json.loads(json.dumps(recorded(node_filter=FILTER).to_dict()))["projection"] == {
        "node_filter": FILTER
    }
