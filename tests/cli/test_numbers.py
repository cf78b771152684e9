"""Numbers from flags and heat.toml: what cannot be reckoned with is code 2, with the setting's name."""

import json
import os
import subprocess
import sys
from contextlib import suppress

import click
import pytest
from click.testing import CliRunner

from heat_neo4j import errors
from heat_neo4j.cli import heat
from heat_neo4j.cli.config import SECTIONS
from heat_neo4j.cli.values import Count, Duration, Number, Size

HUGE = [
    "nan",
    "inf",
    "-inf",
    "1e300",
    "-1e300",
    "1e-320",
    "1" + 30 * "0",
    400 * "9",
    "-" + 400 * "9",
    "1e999",
]
OTHER = ["-1", "0", "1e-12", "0.5", "2147483648", "x", ""]


def commands(group=heat, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def number_type(option):
    """Return the type of the numbers that an option takes, None for one of other values."""
    kind = getattr(option.type, "value_type", None) or getattr(option.type, "numbers", None) or option.type
    numbers = (click.IntRange, click.FloatRange, Duration, Size, *map(type, (click.INT, click.FLOAT)))
    return kind if isinstance(kind, numbers) and not option.count else None


OPTIONS = {
    f"{' '.join(path)} {max(option.opts, key=len)}": (command, option)
    for path, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and number_type(option) is not None
}


def test_numbers_have_the_checked_types():
    assert {type(number_type(option)) for _, option in OPTIONS.values()} == {Number, Count, Duration, Size}
    assert len({option.name for _, option in OPTIONS.values()}) > 30


@pytest.mark.parametrize("name", OPTIONS)
def test_a_number_on_the_command_line(name):
    command, option = OPTIONS[name]
    context = click.Context(command)
    for text in HUGE + OTHER:
        given = f"A={text}" if option.name == "type_weights" else text
        hopeless = text in HUGE and not (option.name == "random_state" and text.isdigit())
        with pytest.raises(click.BadParameter) if hopeless else suppress(click.BadParameter) as found:
            option.process_value(context, [given] if option.multiple else given)
        if found is not None:
            assert option.get_error_hint(context) in found.value.format_message()


def run(command, *given):
    return CliRunner().invoke(
        heat, [command, "--uri", "bolt://127.0.0.1:1", *given], env={"NEO4J_PASSWORD": "x"}
    )


NUMBERS = [
    (f"{section}.{key}", kind)
    for section, keys in SECTIONS.items()
    for key, kind in keys.items()
    if "number" in kind
]
TIMES = [("serve.every", "text"), ("serve.give_up_after", "text"), ("limits.memory", "text")]


@pytest.mark.parametrize(("key", "kind"), [*NUMBERS, *TIMES])
def test_a_number_of_heat_toml(key, kind, tmp_path):
    section, name = key.split(".")
    command = "serve" if section in ("serve", "refresh") else "embed"
    values = ["nan", "inf", "-inf", "1e300", "1e-320", "1" + 30 * "0", 400 * "9", "-1", "5000000000000"]
    if kind == "text":
        values = [
            json.dumps(text + unit) for text in (25 * "9", 400 * "9", "0", "nan") for unit in ("d", "GB", "s")
        ]
    for value in values:
        text = f"{{A = {value}}}" if kind.startswith("a table") else value
        config = tmp_path / "heat.toml"
        config.write_text(f"[{section}]\n{name} = {text}\n")
        shown = run(command, "--config", str(config))
        if name == "random_state" and value.isdigit():
            assert shown.exit_code == 3  # any whole number will do
            continue
        assert shown.exit_code == 2, (value, shown.output)
        assert shown.stderr.count("\n") == 1
        flag = {"type_weights": "type-weight"}.get(name, name)
        assert flag.replace("_", "-") in shown.stderr.replace("_", "-"), shown.stderr


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("x = " + "[" * 10_000, "is nested too deeply"),
        ("[a" + ".a" * 20_000 + "]\n", "heat.toml: "),
        ("x = " + "9" * 5_000, "is not TOML: Exceeds the limit"),
        ("[heat]\nalpha = " + "[" * 100 + "]" * 100, "alpha must be"),
    ],
)
def test_a_heat_toml_that_no_parser_likes(content, complaint, tmp_path):
    (tmp_path / "heat.toml").write_text(content)
    shown = run("embed", "--config", str(tmp_path / "heat.toml"))
    assert shown.exit_code == 2, shown.output[:300]
    assert complaint in shown.stderr
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize("how", ["named", "found"])
def test_a_named_pipe_as_heat_toml_is_not_waited_for(how, tmp_path):
    os.mkfifo(tmp_path / "heat.toml")
    given = ["--config", "heat.toml"] if how == "named" else []
    done = subprocess.run(
        [sys.executable, "-m", "heat_neo4j", "runs", *given], cwd=tmp_path, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2,
        "heat: heat.toml: cannot be read: it is not a regular file\n",
    )


@pytest.mark.parametrize("arguments", [("cypher", "list"), ("cypher", "list", "--json")])
def test_a_full_disk_behind_stdout_has_a_code_of_its_own(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "heat_neo4j", *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        errors.OutputFailed.exit_code,
        "heat: the output cannot be written: No space left on device\n",
    )
