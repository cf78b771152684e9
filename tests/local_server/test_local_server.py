"""Real local servers: started, stopped, killed, broken, and asked over the network."""

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import neo4j
import neo4j.exceptions
import psutil
import pytest

from heat_neo4j._utils.progress import no_progress
from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server import launch
from heat_neo4j.local_server.jars import install_jars
from heat_neo4j.local_server.releases import RELEASES
from heat_neo4j.local_server.server import LocalServer, running_server

from ..conftest import HEAP, PAGE_CACHE, START_TIMEOUT

pytestmark = pytest.mark.live

both_releases = pytest.mark.parametrize("throwaway_server", ["5.26", "2026"], indirect=True)


def query(server, statement, **parameters):
    uri, user, password = server.connection()
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        return driver.execute_query(statement, parameters, database_="neo4j").records


def twin(server, **arguments):
    """Another object for the same server, as another program would make it."""
    sizes = {"heap": HEAP, "page_cache": PAGE_CACHE}
    return LocalServer(
        server.release.series, name=server.folder.name, home=server.folder.home, **{**sizes, **arguments}
    )


def get(address, path, user=None):
    """Status and body of an HTTP request."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    headers = {"Authorization": "Basic " + base64.b64encode(":".join(user).encode()).decode()} if user else {}
    try:
        connection.request(
            "POST" if user else "GET", path, '{"statement": "RETURN 1"}' if user else None, headers
        )
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
def local(server):
    """The session's server, where it is one of ours; looked at, never stopped."""
    if server.local is None:
        pytest.skip("the tests run on a server from outside")
    return server.local


def test_a_server_is_reached_only_from_here_and_only_with_its_password(local):
    status = local.status()
    uri, user, password = local.connection()
    sockets = psutil.Process(status.pid).net_connections("inet")
    listening = {entry.laddr for entry in sockets if entry.status == psutil.CONN_LISTEN}
    assert {ip.removeprefix("::ffff:") for ip, _ in listening} == {"127.0.0.1"}
    assert {port for _, port in listening} == {urlsplit(uri).port, urlsplit(status.browser).port}

    assert get(status.browser, "/db/neo4j/query/v2", user=("neo4j", "neo4j"))[0] == 401
    with (
        neo4j.GraphDatabase.driver(uri, auth=(user, "neo4j")) as driver,
        pytest.raises(neo4j.exceptions.AuthError),
    ):
        driver.verify_connectivity()

    # The advertised address: a routing driver goes where the server sends it.
    with neo4j.GraphDatabase.driver(uri.replace("bolt://", "neo4j://"), auth=(user, password)) as driver:
        found = driver.execute_query("CALL dbms.components() YIELD versions, edition").records[0]
    assert found.data() == {"versions": [local.release.version], "edition": "community"}
    assert json.loads(get(status.browser, "/")[1])["bolt_direct"] == uri
    assert get(status.browser, "/browser/")[0] == 200


def test_the_password_is_in_its_file_and_nowhere_else(local):
    status = local.status()
    password = local.connection()[2]
    assert stat.S_IMODE(status.password_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(status.folder.stat().st_mode) == 0o700
    found = []
    for path in status.folder.rglob("*"):
        # The server removes files while this runs.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and password.encode() in path.read_bytes():
                found.append(path)
    assert found == [status.password_file]
    process = psutil.Process(status.pid)
    assert password not in " ".join(process.cmdline()) + str(process.environ())


def test_it_reports_nothing_to_anybody(local):
    rows = query(local, "SHOW SETTINGS YIELD name, value RETURN name, value")
    settings = {row["name"]: row["value"] for row in rows}
    asked = ["dbms.usage_report.enabled", "client.allow_telemetry", "server.bolt.telemetry.enabled"]
    asked += [name for name in local.release.settings if name.endswith(".enabled")]
    assert {name: settings[name] for name in asked} == dict.fromkeys(asked, "false")
    log = local.folder.server_log.read_text()
    assert " ERROR " not in log[: log.index("Started.")]  # later, other tests kill their clients
    assert "discovery broadcasts" not in log


@pytest.mark.slow
def test_a_second_start_changes_nothing_and_a_stop_and_start_keeps_everything(throwaway_server):
    server, first = throwaway_server, throwaway_server.status()
    query(server, "CREATE (:Kept {value: 42})")
    again = twin(server)
    assert again.start() == first
    with pytest.raises(LocalServerError, match="already runs, with port"):
        twin(server, bolt_port=urlsplit(first.uri).port + 1).start()
    with twin(server) as visitor:  # it ran before the block, so it runs after it
        assert visitor.connection() == server.connection()
    assert server.status() == first
    assert running_server(server.folder.name, server.folder.home).connection() == server.connection()

    password = server.connection()[2]
    assert again.stop() == "stopped"
    assert not psutil.pid_exists(first.pid)
    assert server.status().uri is None
    assert server.stop() == "not running"
    second = server.start(START_TIMEOUT)
    assert (second.uri, second.browser) == (first.uri, first.browser)
    assert second.pid != first.pid
    assert server.connection()[2] == password
    assert query(server, "MATCH (n:Kept) RETURN n.value AS value")[0]["value"] == 42


@pytest.mark.slow
def test_a_killed_server_is_noticed_and_starts_again_with_what_was_committed(throwaway_server):
    server, pid = throwaway_server, throwaway_server.status().pid
    query(server, "CREATE (:Kept {value: 43})")
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    status = twin(server).status()
    assert not status.running
    assert f"its process {pid} is gone" in status.note
    with pytest.raises(LocalServerError, match=f"is not running .its process {pid} is gone"):
        server.connection()
    pid = server.start(START_TIMEOUT).pid
    assert query(server, "MATCH (n:Kept) RETURN n.value AS value")[0]["value"] == 43

    os.kill(pid, signal.SIGSTOP)  # it can no longer answer a request to end
    assert server.stop(timeout=1.0) == "killed"
    assert not psutil.pid_exists(pid)


@pytest.mark.slow
def test_it_ends_with_its_block_even_when_that_fails(heat_home_folder):
    pids = []

    def fail_inside():
        with LocalServer(heap=HEAP, page_cache=PAGE_CACHE) as server:
            pids.append(server.status().pid)
            assert psutil.pid_exists(pids[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert not psutil.pid_exists(pids[0])


@pytest.mark.slow
def test_a_port_that_is_lost_on_the_way_is_replaced(heat_home_folder, monkeypatch):
    real, calls = launch.choose_ports, []
    with socket.create_server(("127.0.0.1", 0)) as thief:
        stolen = thief.getsockname()[1]

        def choose(given, remembered):
            bolt, http_port = real(given, remembered)
            calls.append(bolt)
            return (stolen, http_port) if len(calls) == 1 else (bolt, http_port)

        monkeypatch.setattr(launch, "choose_ports", choose)
        with LocalServer(heap=HEAP, page_cache=PAGE_CACHE) as server:
            assert urlsplit(server.status().uri).port == calls[1] != stolen
            query(server, "RETURN 1")
        with pytest.raises(LocalServerError, match=f"port {stolen} of 127.0.0.1 is taken"):
            twin(server, bolt_port=stolen).start()


@pytest.mark.slow
@both_releases
def test_what_keeps_it_from_starting_is_one_line(throwaway_server):
    server, folder = throwaway_server, throwaway_server.folder
    started = f"Neo4j {server.release.version} did not start: "
    password = server.connection()[2]
    server.stop()

    def failure(**arguments):
        with pytest.raises(LocalServerError) as caught:
            twin(server, **arguments).start(START_TIMEOUT)
        line = str(caught.value)
        assert line.startswith(started)
        assert line.count("\n") == 0
        assert not server.status().running
        assert not [process for process in psutil.process_iter() if ours(process)]
        return line.removeprefix(started)

    def ours(process):
        try:
            return f"@{folder.arguments_file}" in process.cmdline()
        except psutil.Error:
            return False

    assert "object heap" in failure(heap="900000g")
    assert "memory" in failure(page_cache="90000g")

    folder.password_file.write_text("another-password\n")
    assert failure().startswith(f"{folder.password_file} does not hold the password of user neo4j")
    folder.password_file.write_text(f"{password}\n")


@pytest.mark.slow
def test_servers_of_two_releases_keep_apart_and_are_not_guessed_between(throwaway_server):
    other_series = next(series for series in RELEASES if series != throwaway_server.release.series)
    name, home = throwaway_server.folder.name, throwaway_server.folder.home
    query(throwaway_server, "CREATE (:Only {here: true})")
    with LocalServer(other_series, name=name, home=home, heap=HEAP, page_cache=PAGE_CACHE) as other:
        assert query(other, "MATCH (n) RETURN count(n) AS n")[0]["n"] == 0
        assert other.connection()[2] != throwaway_server.connection()[2]
        with pytest.raises(LocalServerError, match="several local servers run"):
            running_server(name, home)


# The command line, as a user has it: other processes.


def heat(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "heat_neo4j", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=START_TIMEOUT)
    assert process.returncode == 0, err
    return out


@pytest.mark.slow
def test_two_starts_at_once_start_one_server_without_a_network(heat_home_folder):
    sizes = ("--heap", HEAP, "--page-cache", PAGE_CACHE)
    nowhere = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), "http://127.0.0.1:9")
    install_jars(RELEASES["5.26"], heat_home_folder / "jars", on_progress=no_progress)
    try:
        started = [heat("server", "start", "--json", *sizes, **nowhere) for _ in range(2)]
        outputs: list[str] = []
        waiting = [threading.Thread(target=lambda one=one: outputs.append(finished(one))) for one in started]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join()
        first, second = (json.loads(text) for text in outputs)
        assert first == second
        assert first["running"]

        shown = finished(heat("server", "status"))
        for text in (
            first["uri"],
            first["version"],
            str(first["pid"]),
            first["folder"],
            first["password_file"],
        ):
            assert text in shown
        password = LocalServer(home=heat_home_folder).connection()[2]
        assert password not in shown + outputs[0]
        lines = "\n".join(line for line in shown.splitlines() if line.startswith("export "))
        program = (
            "import os, neo4j\nwith neo4j.GraphDatabase.driver(os.environ['NEO4J_URI'], "
            "auth=(os.environ['NEO4J_USERNAME'], os.environ['NEO4J_PASSWORD'])) as d: d.verify_connectivity()"
        )
        subprocess.run(["sh", "-c", f'{lines}\n"{sys.executable}" -c "{program}"'], check=True)
    finally:
        assert (
            finished(heat("server", "stop"))
            == f"local server 'default', Neo4j {RELEASES['5.26'].version}: stopped\n"
        )
    assert json.loads(finished(heat("server", "status", "--json")))[0]["running"] is False
    assert finished(heat("server", "stop")).count("not running") == len(RELEASES)
