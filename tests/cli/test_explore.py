"""``heat explore`` as a user meets it before any server is asked."""

from click.testing import CliRunner

from heat_neo4j.cli import heat

NOWHERE = ("--uri", "bolt://127.0.0.1:1", "--username", "neo4j")


def invoke(*arguments):
    return CliRunner().invoke(
        heat, ["explore", *arguments], prog_name="heat", env={"NEO4J_PASSWORD": "secret"}
    )


def test_the_help_names_its_options():
    shown = invoke("--help").stdout
    for name in ("--model", "--output", "--caption", "--color-by", "--show", "--open / --no-open", "--json"):
        assert name in shown


def test_a_folder_that_is_not_there_is_found_before_the_server_is_asked(tmp_path):
    result = invoke("--output", str(tmp_path / "no" / "page.html"), *NOWHERE)
    assert result.exit_code == 2
    assert f"--output: there is no folder '{tmp_path / 'no'}'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_server_is_one_line_and_leaves_no_file(tmp_path):
    result = invoke("--output", str(tmp_path / "page.html"), *NOWHERE)
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
