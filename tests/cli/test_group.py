"""The frame of the command line: lazy imports, one-line errors, exit codes, -vv."""

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from heat_neo4j import __version__, errors
from heat_neo4j.cli import COMMANDS, heat
from heat_neo4j.cli.group import HeatCommand, HeatGroup, Option
from heat_neo4j.cli.options import common_options
from heat_neo4j.cli.output import facts, noted

HEAVY = {"numpy", "scipy", "numba", "sklearn", "neo4j", "matplotlib", "tqdm", "jgo", "psutil"}


def group_raising(error):
    """A `HeatGroup` with one command, ``fail``, that raises."""

    @click.command(cls=HeatCommand, example="heat fail")
    @common_options
    def fail():
        raise error

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: fail if name == "fail" else None
    return group


@pytest.mark.parametrize("arguments", [[], ["--help"], ["embed", "--help"], ["embed", "--alpha", "2"]])
def test_no_heavy_module_is_imported_for_help_and_usage(arguments):
    program = (
        "import sys, json\nfrom heat_neo4j.cli import heat\n"
        "try:\n    heat(sys.argv[1:], prog_name='heat')\n"
        "except SystemExit:\n    print('MODULES', json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    modules = json.loads(done.stdout.split("MODULES ")[1])
    assert not HEAVY & set(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_list_matches_the_commands(name):
    context = click.Context(heat, info_name="heat")
    command = heat.get_command(context, name)
    assert command.name == name
    assert command.get_short_help_str(limit=200) == COMMANDS[name]
    assert len(COMMANDS[name]) <= 66  # one line of an 80-column terminal


def subcommands(command, path=("heat",)):
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from subcommands(command.get_command(context, name), (*path, name))


@pytest.mark.parametrize(
    ("path", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in subcommands(heat)]
)
def test_every_option_is_explained_and_every_help_ends_with_an_example(path, command):
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path}: {parameter.name} has no help text"
    if not isinstance(command, HeatGroup):
        shown = CliRunner().invoke(heat, [*path[1:], "--help"])
        assert shown.exit_code == 0
        assert CliRunner().invoke(heat, [*path[1:], "-h"]).stdout == shown.stdout
        assert shown.stdout.rstrip().splitlines()[-1].startswith("  ")
        assert f"\n  {' '.join(path)}" in shown.stdout


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (errors.ConfigError("no such thing"), "no such thing", 2),
        (errors.ConnectionFailed("no server at x"), "no server at x", 3),
        (errors.ProjectionError("unknown label"), "unknown label", 4),
        (errors.WriteRefused("not ours"), "not ours", 5),
        (errors.WriteFailed("lost"), "lost", 6),
        (errors.LocalServerError("port taken"), "port taken", 7),
        (errors.ProjectionError("two\n  lines"), "two lines", 4),
        (KeyboardInterrupt(), "interrupted", 130),
        (click.Abort(), "interrupted", 130),
        (MemoryError(), "out of memory; `heat estimate` says what a run needs", 1),
        (
            ZeroDivisionError("division by zero"),
            "internal error: ZeroDivisionError: division by zero (-vv prints the traceback)",
            1,
        ),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(error, line, code):
    result = CliRunner().invoke(group_raising(error), ["fail"])
    assert (result.stdout, result.stderr, result.exit_code) == ("", f"heat: {line}\n", code)


def test_a_message_of_the_api_names_options():
    """Backticks mark parameters; a value of the same name stays."""

    @click.command(cls=HeatCommand, example="heat fail")
    @click.option("--predict", "patterns", cls=Option)
    @click.option("--n-parts", key="heat.n_parts", level="file", cls=Option)
    @click.option("-k", "--k", cls=Option)
    def fail(**options):
        facts(noted(["`k` is 3, `patterns` and `other` of n.`k`", "k must be 2", "k is 2: k must be 1"]))
        raise errors.ConfigError("set `n_parts`, not 'n_parts'")

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: fail
    result = CliRunner().invoke(group, ["fail"])
    notes = ["--k is 3, --predict and `other` of n.`k`", "--k must be 2", "k is 2: k must be 1"]
    assert result.stdout == "".join(f"{'Note':<13} {note}\n" for note in notes)
    assert result.stderr == "heat: set [heat] n_parts of heat.toml, not 'n_parts'\n"


def test_vv_prints_the_traceback_before_the_line():
    result = CliRunner().invoke(group_raising(errors.WriteFailed("lost")), ["fail", "-vv"])
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1] == "heat: lost"
    assert (
        "Traceback"
        not in CliRunner().invoke(group_raising(errors.WriteFailed("lost")), ["fail", "-v"]).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--bogus"], "No such option"),
        (["chek"], "No such command 'chek': did you mean 'check'? (see `heat --help`)"),
        (["embed", "--alfa", "1"], "No such option"),
        (
            ["cypher", "run", "nearest", "--value", "m"],
            "No such option: --value; a parameter of the query is -p value=VALUE",
        ),
        (
            ["neighbours", "-5", "--k", "3"],
            "No such option: -5; a key that begins with - goes last, after -- (see `heat neighbours --help`)",
        ),
        (["embed", "--seed", "0"], "No such option: --seed; use --random-state (see"),
        (["embed", "--dim", "3"], "No such option: --dim; use --n-components (see"),
        (["recommend", "a", "--top", "3"], "No such option: --top; use --k (see"),
        (["duplicates", "--threshold", ".9"], "No such option: --threshold; use --min-probability (see"),
        (["evaluate", "links", "--seed", "0"], "No such option '--seed'"),
        (["embed", "-5"], "No such option '-5' (see `heat embed --help`)"),
        (["embed", "--alpha", "2"], "Invalid value for '--alpha': 2.0 is not in the range 0<=x<=1"),
        (["embed", "--aggregation", "mean"], "Invalid value for '--aggregation'"),
        (["embed", "left", "over"], "Got unexpected extra arguments (left over)"),
    ],
)
def test_a_usage_error_is_one_line(arguments, line):
    result = CliRunner().invoke(heat, arguments, prog_name="heat")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"heat: {line}")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("--help`)\n")


def test_the_version_is_that_of_the_package():
    assert CliRunner().invoke(heat, ["--version"]).stdout == f"heat, version {__version__}\n"


def test_without_a_command_the_help_is_shown():
    result = CliRunner().invoke(heat, [])
    assert result.exit_code == 0
    assert "Commands:" in result.stdout


def test_a_group_without_a_command_shows_its_help_as_it_is():
    result = CliRunner().invoke(heat, ["evaluate"])
    assert result.exit_code == 2
    assert result.output.startswith("Usage: heat evaluate")
    assert "\n  links " in result.output


def test_a_bad_number_is_offered_auto():
    result = CliRunner().invoke(heat, ["embed", "--alpha", "aut"])
    assert result.exit_code == 2
    assert "'aut' is not a valid number; or give auto" in result.output


@pytest.mark.parametrize(
    ("given", "meant"), [(["embd"], "embed"), (["index", "staus"], "status"), (["runs", "sow"], "show")]
)
def test_an_unknown_command_gets_a_suggestion(given, meant):
    result = CliRunner().invoke(heat, given, prog_name="heat")
    assert result.exit_code == 2
    assert f"No such command {given[-1]!r}: did you mean {meant!r}?" in result.stderr
