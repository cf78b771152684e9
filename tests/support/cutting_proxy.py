"""A wire to a server that is cut again and again."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from typing import Self


class CuttingProxy:
    """Carries bytes between clients and a server; cuts a connection at random places of what the server says.

    `cuts` counts how often. After `most` cuts the wire holds.
    """

    def __init__(self, host: str, port: int, *, seed: int, most: int, octets: int) -> None:
        self._target, self._draw, self._octets = (host, port), random.Random(seed), octets
        self._most, self.cuts = most, 0
        self._lock = threading.Lock()
        self._until_cut = self._draw.randrange(octets)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self.port = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            _hang_up(each)
        for thread in self._threads:
            thread.join(timeout=10)

    def _start(self, work, *arguments) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._open += [client, server]
                self._start(self._carry, client, server, False)
                self._start(self._carry, server, client, True)

    def _carry(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                left = self._before_cut(len(data)) if answers else None
                sink.sendall(data[:left])
                if left is not None:
                    break
        _hang_up(source)
        _hang_up(sink)

    def _before_cut(self, size: int) -> int | None:
        """Return how many of the next octets still pass; None if all do."""
        with self._lock:
            if self.cuts >= self._most or size <= self._until_cut:
                self._until_cut = max(self._until_cut - size, 0)
                return None
            left, self.cuts = self._until_cut, self.cuts + 1
            self._until_cut = self._draw.randrange(self._octets)
            return left


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
