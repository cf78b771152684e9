"""``heat plot``: what is refused before anything is opened."""

import sys

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat

PICTURES = ("disk", "reliability", "degree")


def invoke(*arguments, code=2):
    result = CliRunner().invoke(
        heat, ["plot", *arguments, "--uri", "bolt://127.0.0.1:1"], prog_name="heat",
        env={"NEO4J_PASSWORD": "x"},
    )  # fmt: skip
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("picture", PICTURES)
def test_what_would_go_wrong_at_the_end_is_found_first(picture, tmp_path, monkeypatch):
    line = invoke(picture, "--output", "x.gif")
    assert line == (
        f"heat: --output must end in .png, .svg, .pdf, got 'x.gif' (see `heat plot {picture} --help`)\n"
    )
    assert "there is no folder" in invoke(picture, "--output", str(tmp_path / "none" / "x.png"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert invoke(picture) == "heat: a picture needs matplotlib: pip install 'heat-neo4j[plot]'\n"


@pytest.mark.parametrize("picture", PICTURES)
def test_no_server_is_one_line(picture, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "127.0.0.1:1" in invoke(picture, code=3)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_is_not_known():
    assert "No such command 'dysk'" in invoke("dysk")
