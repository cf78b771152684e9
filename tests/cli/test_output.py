"""Progress, tables, JSON, sizes and times."""

import io
import json
import signal
from contextlib import suppress

import pytest

from heat_neo4j._utils.display import format_bytes, plural
from heat_neo4j.cli.output import (
    Reporter,
    check_interrupt,
    facts,
    format_probability,
    format_seconds,
    print_json,
    remembered_interrupts,
    table,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that stands still until it is set."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_plain_progress_is_one_line_a_stage(clock):
    stream = io.StringIO()
    with Reporter(stream=stream) as progress:
        progress.clock = clock
        for stage in ("read nodes", "train"):
            for done in range(0, 1001, 10):
                progress(stage, done, 1000)
            clock.now += 1.5
    assert stream.getvalue() == "read nodes: 1,000 in 0.0 s\ntrain: 1,000 in 0.0 s\n"


def test_a_long_stage_speaks_at_most_every_few_seconds(clock):
    stream = io.StringIO()
    with Reporter(stream=stream) as progress:
        progress.clock = clock
        for done in range(21):
            progress("train", done, 20)
            clock.now += 1.0
    assert stream.getvalue().splitlines() == [
        "train: 5 of 20 (25%)",
        "train: 10 of 20 (50%)",
        "train: 15 of 20 (75%)",
        "train: 20 in 20.0 s",
    ]


def test_a_stage_that_comes_again_is_a_new_stage(clock):
    stream = io.StringIO()
    with Reporter(stream=stream) as progress:
        progress.clock = clock
        for _ in range(2):
            progress("train", 0, 2)
            progress("train", 2, 2)
    assert stream.getvalue() == "train: 2 in 0.0 s\n" * 2


def test_a_lost_interrupt_is_raised_at_the_next_report():
    progress = Reporter(stream=io.StringIO())
    with remembered_interrupts():
        with suppress(KeyboardInterrupt):  # as a callback of compiled code does
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress("train", 1, 2)
        progress("train", 2, 2)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with remembered_interrupts():
            signal.raise_signal(signal.SIGINT)
            check_interrupt()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_stage_of_one_step_is_not_counted(clock):
    stream = io.StringIO()
    with Reporter(stream=stream) as progress:
        progress.clock = clock
        progress("reading nodes", 0, 1)
        clock.now += 2.0
        progress("reading nodes", 1, 1)
    assert stream.getvalue() == "reading nodes: done in 2.0 s\n"


def test_an_empty_stage_does_not_divide_by_zero():
    stream = io.StringIO()
    with Reporter(stream=stream) as progress:
        progress("read relationships", 0, 0)
    assert stream.getvalue() == "read relationships: 0 in 0.0 s\n"


def test_quiet_progress_is_silent_away_from_a_terminal():
    stream = io.StringIO()
    with Reporter(quiet=True, stream=stream) as progress:
        progress("train", 2, 2)
    assert stream.getvalue() == ""


def test_bars_on_a_terminal_end_before_anything_else_is_printed():
    stream = Terminal()
    with Reporter(stream=stream) as progress:
        progress("train", 0, 4)
        progress("train", 4, 4)
        progress("write", 1, 4)
    text = stream.getvalue()
    assert "train" in text
    assert "100%" in text
    assert text.endswith("\n")


def test_json_is_one_document_without_nan(capsys):
    print_json({"loss": float("nan"), "curve": [1.0, float("inf")], "name": 'é`"', "nested": {"n": 1}})
    assert json.loads(capsys.readouterr().out) == {
        "loss": None,
        "curve": [1.0, None],
        "name": 'é`"',
        "nested": {"n": 1},
    }


def test_tables_and_facts(capsys):
    table(["RUN", "LOSS"], [["a", "1.5"], ["longer", ""]])
    facts([("Server", "Neo4j"), ("", "more")])
    assert (
        capsys.readouterr().out
        == "RUN     LOSS\na       1.5\nlonger\nServer        Neo4j\n              more\n"
    )


def test_columns_are_as_wide_as_a_terminal_shows_them(capsys):
    table(["NAME", "K"], [["Flabe\u0301be\u0301", "1"], ["\u6771\u4eac", "2"]])
    assert capsys.readouterr().out == "NAME     K\nFlabe\u0301be\u0301  1\n\u6771\u4eac     2\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (3.25 * 2**30, "3.2 GiB"),
        (2**50, "1024.0 TiB"),
    ],
)
def test_sizes(count, text):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (59.97, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert format_seconds(seconds) == text


def test_small_probabilities_keep_two_digits():
    values = (0.0, 1.0, 0.25, 0.01, 0.00456, 0.0000123)
    assert list(map(format_probability, values)) == [
        "0.0000", "1.0000", "0.2500", "0.0100", "0.0046", "1.2e-05",
    ]  # fmt: skip


def test_plurals():
    assert plural(1, "node") == "1 node"
    assert plural(2995, "node") == "2,995 nodes"
