"""``--log-json``: every line on stderr is a JSON object, whatever names hold, and without a password."""

import json
import logging
import re
import threading
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as drawing

from heat_neo4j._utils.log_line import LogLine
from heat_neo4j.cli import heat, verbs
from heat_neo4j.cli.commands import refresh
from heat_neo4j.cli.group import HeatCommand, HeatGroup
from heat_neo4j.cli.options import common_options, log_options, option
from heat_neo4j.cli.output import Log, Reporter, log_lines
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import HeatError
from heat_neo4j.pipeline import embed as pipeline
from tests.cli.test_printing import EVERY, HOSTILE, SEQUENCES, unsafe_in

PASSWORD = "s3cret-of-mine"
NOWHERE = ("--uri", "bolt://127.0.0.1:1")
ALWAYS = {"time", "level", "event", "message"}


def objects(text):
    """Return the objects of a log; each line is one, and all say what every line says."""
    assert not unsafe_in(text) - {"\n"}, ascii(text)
    assert text == "" or text.endswith("\n")
    found = [json.loads(line) for line in text.splitlines()]
    for each in found:
        assert each.keys() >= ALWAYS
        assert each["level"] in {"debug", "info", "warning", "error"}
        assert datetime.fromisoformat(each["time"]).utcoffset() == timedelta(0)
        assert each["time"].endswith("Z")
    return found


def ask(*arguments, **environment):
    return CliRunner().invoke(
        heat, list(arguments), prog_name="heat", env={"NEO4J_PASSWORD": PASSWORD, **environment}
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["embed", "refresh", "serve", "links"])
@pytest.mark.parametrize("way", ["flag", "variable", "file", "file that names it"])
def test_an_option_a_variable_or_heat_toml_asks_for_it(name, way, folder):
    given, environment = [], {}
    if way == "flag":
        given = ["--log-json"]
    elif way == "variable":
        environment = {"HEAT_LOG_JSON": "1"}
    else:
        file = folder / ("heat.toml" if way == "file" else "other.toml")
        file.write_text("[log]\njson = true\n")
        given = [] if way == "file" else ["--config", str(file)]
    ended = ask(name, *given, "--k", "0", **environment)
    (told,) = objects(ended.stderr)
    assert (told["level"], told["event"], told["exit_code"], ended.exit_code) == ("error", "failed", 2, 2)
    assert "'--k'" in told["message"]
    plain = ask(name, *given, "--no-log-json", "--k", "0", **environment)
    assert plain.stderr.startswith("heat: Invalid value for '-k' / '--k'")


def test_a_server_that_is_away_is_told_without_the_password(folder):
    (folder / "heat.toml").write_text("[serve]\ngive_up_after = '0.2s'\n[write]\nmodel = 'papers'\n")
    ended = ask("serve", "--every", "1h", *NOWHERE, "--log-json")
    assert ended.exit_code == 3
    *waiting, last = objects(ended.stderr)
    assert {each["event"] for each in waiting} == {"server_away"}
    assert {each["level"] for each in waiting} == {"warning"}
    assert (last["event"], last["exit_code"]) == ("failed", 3)
    assert {each["model"] for each in (*waiting, last)} == {"papers"}
    assert PASSWORD not in ended.output


class Store:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def record(text="r1", status="complete"):
    return RunRecord(text, text, ("embedding",), status, error=text)


@pytest.mark.parametrize("outcome", ["published", "nothing", "rejected"])
@pytest.mark.parametrize("more", [(), ("--json", "-v")])
def test_a_refresh_says_what_it_decides_and_what_came_of_it(monkeypatch, outcome, more):
    def refreshed(store, job, *, mode, dry_run, on_progress, log):
        log(LogLine("full: asked for", event="plan"))
        on_progress("train", 0, 3)
        on_progress("train", 3, 3)
        logging.getLogger("heat_neo4j.database.publish.lease").warning("the lease of %r", job.names.model)
        run = record(status="rejected" if outcome == "rejected" else "complete")
        ran = (
            None
            if outcome == "nothing"
            else SimpleNamespace(run=run, choice=None, notes=(), examples={}, to_dict=dict)
        )
        return SimpleNamespace(
            outcome=outcome, decision="full", reason="asked for", report=ran, notes=(), to_dict=dict
        )

    monkeypatch.setattr(refresh, "open_store", lambda options: Store())
    monkeypatch.setattr(pipeline, "refresh", refreshed)
    ended = ask("refresh", *NOWHERE, "--log-json", "--model", "m", *more)
    told = objects(ended.stderr)
    assert {each["model"] for each in told} == {"m"}
    events = ["plan", "stage", "database.publish.lease", "finished"]
    assert [each["event"] for each in told][:4] == events
    stage, lease, finished = told[1:4]
    assert (stage["stage"], stage["done"], stage["total"]) == ("train", 3, 3)
    assert stage["seconds"] >= 0
    assert lease["level"] == "warning"
    assert finished["outcome"] == outcome
    assert finished.get("run") == (None if outcome == "nothing" else "r1")
    assert (ended.exit_code, told[-1].get("exit_code")) == ((10, 10) if outcome == "rejected" else (0, None))
    if more and outcome != "rejected":
        assert json.loads(ended.stdout) == {}


def test_without_it_nothing_is_said_of_the_end_on_stderr(monkeypatch):
    def embedded(store, *, on_progress, **options):
        on_progress("train", 3, 3)
        return SimpleNamespace(run=record(), choice=None, notes=(), examples={}, to_dict=dict)

    monkeypatch.setattr(verbs, "open_store", lambda options: Store())
    monkeypatch.setattr(pipeline, "embed", embedded)
    plain, data = (ask("embed", *NOWHERE, *more) for more in ((), ("--log-json",)))
    assert plain.stderr == "train: 3 in 0.0 s\n"
    assert plain.stdout == data.stdout
    assert [each["event"] for each in objects(data.stderr)] == ["stage", "finished"]


# --- whatever names hold ----------------------------------------------------------------------------------


@contextmanager
def quiet_logging():
    ours = logging.getLogger("heat_neo4j")
    ours.propagate = False  # pytest would report the raw text, and xdist cannot send lone surrogates
    try:
        yield
    finally:
        ours.propagate = True


def say_all(text, *arguments):
    """Have a command that says `text` in every way there is, and then fails with it."""

    @click.command(cls=HeatCommand, example="heat fail")
    @option("--model")
    @common_options
    @log_options
    def fail(model):
        Log()(text)
        Log(str)(LogLine(text, event="finished", level="warning", run=text, outcome=text))
        with Reporter() as progress:
            progress(text, 0, 2)
            progress(text, 2, 2)
        with log_lines(Log(str)):
            logging.getLogger("heat_neo4j.database").warning("lease of %s", text)
        logging.getLogger("heat_neo4j.database").info("%s", text)
        raise HeatError(text)

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: fail
    with quiet_logging():
        return CliRunner().invoke(group, ["fail", f"--model={text}", "--log-json", *arguments])


@pytest.mark.parametrize("text", [EVERY, *SEQUENCES, '"}\n{"event": "finished"', "\\", "{}"], ids=len)
def test_every_line_is_one_object_whatever_a_name_holds(text):
    told = objects(say_all(text, "-vv").stderr)
    events = ["log", "finished", "stage", "database", "database", "traceback", "failed"]
    assert [each["event"] for each in told] == events
    said = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert {each["model"] for each in told} == {said}
    assert told[1]["run"] == told[1]["message"] == told[0]["message"] == said


@given(HOSTILE)
@drawing(max_examples=30)
def test_every_line_is_one_object_for_any_text(text):
    assert len(objects(say_all(f"name {text}").stderr)) == 6


def test_lines_of_other_threads_are_objects_too():
    @click.command(cls=HeatCommand, example="heat fail")
    @common_options
    @log_options
    def told():
        log = Log()
        threads = [threading.Thread(target=log, args=(f"{number}",)) for number in range(5)]
        threads.append(threading.Thread(target=logging.getLogger("heat_neo4j.x").info, args=("renewed",)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: told
    said = objects(CliRunner().invoke(group, ["told", "--log-json"]).stderr)
    assert {each["message"] for each in said} == {*map(str, range(5)), "renewed"}


def test_a_terminal_gets_no_bars():
    class Terminal:
        written = ""

        def isatty(self):
            return True

        def write(self, text):
            self.written += text

        def flush(self):
            pass

    stream = Terminal()

    @click.command(cls=HeatCommand, example="heat fail")
    @common_options
    @log_options
    def told():
        with Reporter(stream=stream) as progress:
            progress("train", 0, 4)
            progress("train", 4, 4)

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: told
    CliRunner().invoke(group, ["told", "--log-json"])
    assert [each["stage"] for each in objects(stream.written)] == ["train"]
