"""The server of a page, without a database: which connections it keeps."""

import socket
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from heat_neo4j.errors import ConfigError
from heat_neo4j.explore.server import PageServer


def slow_heading():
    time.sleep(0.6)
    raise ConfigError("this model is slow")


@pytest.fixture
def address():
    server = PageServer(SimpleNamespace(heading=slow_heading), request_seconds=0.2)
    with server.running():
        yield urlsplit(server.address)


def answer(address, request):
    """Return all that the server sends until it closes the connection; it must close it."""
    with socket.create_connection((address.hostname, address.port), timeout=60) as client:
        client.sendall(request)
        try:
            return b"".join(iter(lambda: client.recv(4096), b""))
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("request_", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_a_connection_without_a_whole_request_is_closed(address, request_):
    assert answer(address, request_) == b""


def test_a_whole_request_is_answered_however_long_that_takes_and_the_connection_closed(address):
    head = f"GET {address.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    first, _, body = answer(address, head + head[:20]).partition(b"\r\n\r\n")
    assert b" 503 " in first.splitlines()[0]
    assert body == b"heat: this model is slow\n"
    posted = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    assert b" 404 " in answer(address, posted).splitlines()[0]


def test_more_connections_than_a_page_needs_are_closed_at_once():
    server = PageServer(SimpleNamespace(), request_seconds=3600)
    with server.running():
        place = urlsplit(server.address)
        held = [socket.create_connection((place.hostname, place.port), timeout=60) for _ in range(100)]
        assert answer(place, b"") == b""
        for each in held:
            each.close()


def test_values_that_json_has_not_are_an_error_of_the_database():
    model = SimpleNamespace(details=lambda row, run: {"distance": float("nan")})
    server = PageServer(model)
    with server.running():
        place = urlsplit(server.address)
        head = f"GET {place.path}nodes/1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        first, _, body = answer(place, head).partition(b"\r\n\r\n")
    assert b" 503 " in first.splitlines()[0]
    assert body == b'{"error":"values in the database cannot be shown"}'
