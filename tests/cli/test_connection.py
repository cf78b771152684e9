"""Which server, user and password a command uses."""

from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from heat_neo4j.cli import connection
from heat_neo4j.cli.group import HeatCommand, HeatGroup
from heat_neo4j.cli.options import common_options, setting_options
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.local_server import server as local_server


@pytest.fixture
def opened(monkeypatch):
    """Record what would be connected to."""
    calls = []

    def connect(uri, *, auth, database=None, trusted=()):
        calls.append((uri, auth, database))

    monkeypatch.setattr(Neo4jStore, "open", connect)
    return calls


def run(*given, input=None, **environment):
    @click.command(cls=HeatCommand, example="heat go")
    @setting_options("connection")
    @common_options
    def go(**options):
        connection.open_store(options)

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: go
    return CliRunner().invoke(group, ["go", *given], prog_name="heat", env=environment, input=input)


URI = {"NEO4J_URI": "bolt://there"}


def test_environment(opened):
    run(**URI, NEO4J_USERNAME="me", NEO4J_PASSWORD="secret", NEO4J_DATABASE="films")
    assert opened == [("bolt://there", ("me", "secret"), "films")]


def test_the_usual_user_is_neo4j(opened):
    run(**URI, NEO4J_PASSWORD="secret")
    assert opened == [("bolt://there", ("neo4j", "secret"), None)]


def test_a_password_file_given_by_flag_goes_before_the_environment(opened, tmp_path):
    file = tmp_path / "password"
    file.write_text("from file\n")
    run("--password-file", str(file), **URI, NEO4J_PASSWORD="from environment")
    assert opened[0][1] == ("neo4j", "from file")


def test_the_environment_goes_before_a_password_file_in_heat_toml(opened, tmp_path):
    file, config = tmp_path / "password", tmp_path / "heat.toml"
    file.write_text("from file")
    config.write_text(f"[connection]\nuri = 'bolt://here'\npassword_file = '{file}'\n")
    run("--config", str(config))
    run("--config", str(config), NEO4J_PASSWORD="from environment")
    assert [auth for _, auth, _ in opened] == [("neo4j", "from file"), ("neo4j", "from environment")]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "must hold one line, the password; it has 0"),
        (b"\n", "must hold one line, the password; it has 1"),
        (b"a\nb\n", "must hold one line, the password; it has 2"),
        (b"\xff", "cannot be read: not UTF-8 text"),
    ],
)
def test_a_password_file_that_is_not_one(opened, tmp_path, content, complaint):
    file = tmp_path / "password"
    file.write_bytes(content)
    result = run("--password-file", str(file), **URI)
    assert (result.exit_code, result.stderr) == (2, f"heat: password file {file}: {complaint}\n")
    assert not opened


def test_without_a_password_it_is_an_error_where_nobody_can_be_asked(opened):
    result = run(**URI, NEO4J_USERNAME="me")
    assert result.exit_code == 2
    assert result.stderr == "heat: no password for user 'me': set NEO4J_PASSWORD or give --password-file\n"


def test_a_person_at_a_terminal_is_asked_for_the_password(opened, monkeypatch):
    monkeypatch.setattr(connection, "_at_terminal", lambda: True)
    result = run(**URI, input="typed\n")
    assert opened == [("bolt://there", ("neo4j", "typed"), None)]
    assert "Password of neo4j" in result.output
    assert "typed" not in result.output


def test_the_running_local_server_is_used_when_none_is_named(opened, monkeypatch):
    class Running:
        def connection(self):
            return "bolt://127.0.0.1:4711", "neo4j", "its own"

    monkeypatch.setattr(local_server, "running_server", Running)
    run("--database", "films", NEO4J_PASSWORD="of another server")
    assert opened == [("bolt://127.0.0.1:4711", ("neo4j", "its own"), "films")]


def test_no_server_at_all(opened):
    result = run(NEO4J_PASSWORD="secret")
    assert result.exit_code == 2
    assert result.stderr == (
        "heat: no server given: set NEO4J_URI, give an address (--uri), or start a local one with "
        "`heat server start`\n"
    )


def test_a_local_server_of_another_name_is_not_used(opened, monkeypatch):
    running = SimpleNamespace(running=True)
    server = SimpleNamespace(folder=SimpleNamespace(name="films"), status=lambda: running)
    monkeypatch.setattr(local_server, "local_servers", lambda: [server])
    result = run(NEO4J_PASSWORD="secret")
    assert (result.exit_code, opened) == (2, [])
    assert result.stderr == (
        "heat: no server given: only a local server named 'default' is found by itself: set NEO4J_URI as "
        "`heat server status --name films` prints\n"
    )


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o440, False), (0o604, True), (0o644, True)])
def test_a_password_file_that_all_can_read_is_said_once(opened, tmp_path, mode, warned):
    file = tmp_path / "pass word"
    file.write_text("secret\n")
    file.chmod(mode)
    for turn in range(2):
        result = run("--password-file", str(file), **URI)
        assert result.exit_code == 0
        assert result.stderr == (
            f"heat: warning: every user of this machine can read password file {file}: chmod 600 '{file}'\n"
            if warned and not turn
            else ""
        )
    assert opened[-1][1] == ("neo4j", "secret")
