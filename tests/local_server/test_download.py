"""Installing jars: from a Maven repository on this machine that can misbehave."""

import gc
import hashlib
import http.server
import ssl
import subprocess
import threading

import pytest
import requests
import truststore

from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server import jars
from heat_neo4j.local_server.download import SystemTrust, trusting_session
from heat_neo4j.local_server.releases import RELEASES


class Repository:
    """What the repository serves, how often it breaks off, and what it was asked for."""

    def __init__(self):
        self.files = {}
        self.truncate = {}
        self.asked = []

    def add(self, artifact, content):
        jar = jars.LockedJar("org.example", artifact, "1.0", "", hashlib.sha256(content).hexdigest())
        self.files[f"/{jar.path.as_posix()}"] = content
        return jar


@pytest.fixture
def repository(monkeypatch):
    from jgo.maven import _core

    served = Repository()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            served.asked.append(self.path)
            content = served.files.get(self.path)
            self.send_response(200 if content is not None else 404)
            content = content or b""
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            left = served.truncate.get(self.path, 0)
            served.truncate[self.path] = left - 1
            self.wfile.write(content[: len(content) // 2] if left > 0 else content)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setitem(_core.DEFAULT_REMOTE_REPOS, "central", f"http://127.0.0.1:{server.server_port}")
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
            gc.collect()  # here, where it is expected, and not in some other test


def install(monkeypatch, locked, cache, on_progress=lambda *_: None):
    monkeypatch.setattr(jars, "read_lock", lambda release: locked)
    return jars.install_jars(RELEASES["5.26"], cache, on_progress=on_progress)


def stored(cache):
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and path.name != "install.lock")


def test_only_what_is_missing_is_downloaded_and_progress_is_told(repository, monkeypatch, tmp_path):
    locked = [repository.add(name, name.encode() * 1000) for name in ("one", "two", "three")]
    told = []
    paths = install(monkeypatch, locked, tmp_path, lambda *step: told.append(step))
    assert [path.read_bytes() for path in paths] == [name.encode() * 1000 for name in ("one", "two", "three")]
    assert told == [(f"download Neo4j {RELEASES['5.26'].version}", done, 3) for done in range(4)]
    repository.asked.clear()
    told.clear()
    assert install(monkeypatch, locked, tmp_path, lambda *step: told.append(step)) == paths
    assert repository.asked == told == []
    paths[1].write_bytes(b"rotten")
    install(monkeypatch, locked, tmp_path)
    assert paths[1].read_bytes() == b"two" * 1000
    assert {path.split("/")[3] for path in repository.asked} == {"two"}


def test_a_download_that_breaks_off_is_tried_again(repository, monkeypatch, tmp_path):
    jar = repository.add("one", b"x" * 5000)
    repository.truncate = {f"/{jar.path.as_posix()}": 2}
    assert install(monkeypatch, [jar], tmp_path)[0].read_bytes() == b"x" * 5000
    repository.truncate = {f"/{jar.path.as_posix()}": 3}
    (tmp_path / jar.path).unlink()
    with pytest.raises(LocalServerError, match=r"cannot download one-1\.0\.jar from Maven Central"):
        install(monkeypatch, [jar], tmp_path)
    assert stored(tmp_path) == []


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority that no list of certificates knows, and a certificate of it for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    options = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1")
    extensions = ("-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem"))
    subprocess.run(["openssl", "req", *options, *extensions, *files], check=True, capture_output=True)
    return folder


def test_certificates_are_checked_by_the_system_store(authority, monkeypatch):
    adapter = trusting_session().get_adapter("https://example.org")
    assert isinstance(adapter, SystemTrust)
    for pool in (adapter.poolmanager, adapter.proxy_manager_for("http://127.0.0.1:9")):
        context = pool.connection_pool_kw["ssl_context"]
        assert isinstance(context, truststore.SSLContext)
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)

    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "certificate.pem", authority / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"https://127.0.0.1:{server.server_port}/"
    try:
        with pytest.raises(requests.exceptions.SSLError), trusting_session() as session:
            session.get(url, timeout=10)
        monkeypatch.setenv(
            "SSL_CERT_FILE", str(authority / "certificate.pem")
        )  # the system's store, on Linux
        with trusting_session() as session, session.get(url, timeout=10) as answer:
            assert answer.status_code == 501  # trusted, and answered
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_file_that_is_not_the_locked_one_is_not_kept(repository, monkeypatch, tmp_path):
    jar = repository.add("one", b"good")
    repository.files[f"/{jar.path.as_posix()}"] = b"evil"
    with pytest.raises(LocalServerError, match=r"one-1\.0\.jar differs from the locked file: SHA-256"):
        install(monkeypatch, [jar], tmp_path)
    assert stored(tmp_path) == []


def test_a_missing_file_and_no_network_are_one_line(repository, monkeypatch, tmp_path):
    jar = repository.add("one", b"good")
    repository.files.clear()
    with pytest.raises(LocalServerError, match=r"cannot download one-1\.0\.jar .*not found"):
        install(monkeypatch, [jar], tmp_path)
    from jgo.maven import _core

    monkeypatch.setitem(_core.DEFAULT_REMOTE_REPOS, "central", "http://127.0.0.1:9")
    with pytest.raises(LocalServerError, match=r"cannot download one-1\.0\.jar .*check the network"):
        install(monkeypatch, [jar], tmp_path)
