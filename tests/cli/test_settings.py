"""The declaration of the settings: its page in the docs, and what the completion of a shell offers of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heat_neo4j.cli.settings import SETTINGS, settings_of
from tests.docs.settings import settings_page

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAT = Path(sys.executable).with_name("heat")


def test_the_page_is_what_the_declaration_gives():
    assert PAGE.read_text(encoding="utf-8") == settings_page()


def test_every_setting_is_on_the_page():
    for setting in SETTINGS:
        assert re.search(
            rf"^\| `{setting.name}`(?: \*| \(`{setting.flag}`.*?\))? \|", settings_page(), re.MULTILINE
        )


def test_no_two_settings_share_a_name():
    for field in ("key", "flag", "parameter"):
        assert len({getattr(setting, field) for setting in SETTINGS}) == len(SETTINGS)


def test_a_section_that_does_not_exist_is_refused():
    with pytest.raises(KeyError, match="heet"):
        settings_of("heet")


def completions(*words):
    """Return what the shell would offer for the last word."""
    environment = {"COMP_WORDS": " ".join(["heat", *words]), "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [HEAT], env={**os.environ, **environment, "_HEAT_COMPLETE": "bash_complete"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.removeprefix("plain,") for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("emb",), ["embed"]),
        (("evaluate", "li"), ["links"]),
        (("embed", "--agg"), ["--aggregation"]),
        (("embed", "--aggregation", "m"), ["min", "max"]),
        (("embed", "--batch"), []),  # for heat.toml only
    ],
)
def test_a_shell_completes_commands_options_and_values(words, offered):
    assert completions(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_the_script_that_the_command_line_names(shell):
    text = (PAGE.parent / "command-line.md").read_text(encoding="utf-8")
    assert f"_HEAT_COMPLETE={shell}_source heat" in text
    done = subprocess.run(
        [HEAT],
        env={**os.environ, "_HEAT_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_heat_completion" in done.stdout
