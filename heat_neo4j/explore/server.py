"""A web server of one page, for this machine alone: `PageServer` (extra ``explore``)."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heat_neo4j.errors import ConfigError, HeatError
from heat_neo4j.explore.live import LiveModel, OutOfDateError
from heat_neo4j.explore.page import as_json, assemble

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
_DIGITS = 19  # of a number of a node, at most
_MOST_CONNECTIONS = 100  # so that files are left for the process to open, even where it may open 256
_REQUEST_SECONDS = 10.0
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
}


def make_app(model: LiveModel, token: str, title: str = "") -> Starlette:
    """Return the web application: the page under ``/TOKEN/``, and below it what the page asks for.

    It answers only requests that name this machine as the host, and only by GET; it changes nothing. What
    belongs to a version that is published no longer is status 409, what cannot be read 503 with one line.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import Response
    from starlette.routing import Mount, Route

    def failure(message: str) -> str:
        return as_json({"error": message})

    def answered(make: Callable[[Request, str], Any]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                body, status = as_json(make(request, request.query_params.get("run", ""))), 200
            except OutOfDateError:
                body, status = failure("another version has been published: load the page again"), 409
            except HeatError as error:
                body, status = failure(str(error)), 503
            except ValueError:  # a number that JSON has not
                body, status = failure("values in the database cannot be shown"), 503
            except LookupError:
                body, status = failure("there is no such thing"), 404
            return Response(body, status, _HEADERS, "application/json")

        return answer

    def page(request: Request) -> Response:
        try:
            heading = model.heading()
        except HeatError as error:
            return Response(f"heat: {error}\n", 503, _HEADERS, "text/plain")
        return Response(assemble({}, title=title, **heading), 200, _HEADERS, "text/html")

    def part(request: Request, run: str) -> Any:
        return model.part(request.path_params["name"], run)

    def colours(request: Request, run: str) -> Any:
        return model.colours(request.query_params.get("by"), run)

    def node(request: Request, run: str) -> Any:
        row = request.path_params["row"]
        if not (row.isascii() and row.isdecimal() and len(row) < _DIGITS):
            raise LookupError(row)
        return model.details(int(row), run)

    routes = [
        Route("/", page),
        Route("/parts/{name}", answered(part)),
        Route("/colours", answered(colours)),
        Route("/nodes/{row}", answered(node)),
    ]
    this_machine = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)
    return Starlette(routes=[Mount(f"/{token}", routes=routes)], middleware=[this_machine])


class PageServer:
    """Serves the page of a model at an address that only who is told it can guess.

    Parameters
    ----------
    model : LiveModel
        What the page shows.
    port : int, optional
        A free one if not given.
    title : str
        Heading of the page.
    request_seconds : float
        A connection that has not sent a whole request by then is closed.

    Raises
    ------
    ConfigError
        If the extra ``explore`` is not installed, or the port is taken.
    """

    def __init__(
        self,
        model: LiveModel,
        port: int | None = None,
        title: str = "",
        *,
        request_seconds: float = _REQUEST_SECONDS,
    ) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise ConfigError(
                "serving a page needs Starlette and uvicorn: pip install 'heat-neo4j[explore]'"
            ) from error
        self._socket = _listening(port)
        token = secrets.token_urlsafe(24)
        # Without a log of requests, which would hold the token.
        config = uvicorn.Config(
            make_app(model, token, title),
            http=_one_request(request_seconds),
            headers=[("Connection", "close")],
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self.address = f"http://{HOST}:{self._socket.getsockname()[1]}/{token}/"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve until the end of the block; requests that are under way are answered."""
        # In a thread of its own, uvicorn leaves signals alone.
        thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.should_exit = True
            thread.join(timeout=10)
            self._socket.close()


def _one_request(seconds: float) -> type[asyncio.Protocol]:
    """Return the protocol of connections for one request each, which must have arrived after `seconds`.

    uvicorn itself waits for ever for the rest of a request, on any number of connections.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class OneRequest(H11Protocol):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) > _MOST_CONNECTIONS:
                transport.abort()
            self.loop.call_later(seconds, self._close_unless_asked)

        def _close_unless_asked(self) -> None:
            if self.cycle is None:  # as long as no whole request has arrived
                self.transport.abort()

    return OneRequest


def _listening(port: int | None) -> socket.socket:
    try:
        return socket.create_server((HOST, port or 0))
    except OSError as error:
        raise ConfigError(f"port {port} of {HOST} cannot be had: {os.strerror(error.errno or 0)}") from error
