"""Resources of the machine: memory and free ports."""

from __future__ import annotations

import contextlib
import random
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from heat_neo4j.errors import LocalServerError

__all__ = ["ADDRESS", "Memory", "choose_memory", "choose_ports", "machine_memory"]

ADDRESS = "127.0.0.1"
"""The only address that local servers listen on."""

MIB = 1 << 20
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
LASTING_PORTS = range(20_000, 32_000)
"""Systems give outgoing connections ports above these, so each is still free when its server starts again."""
PORT_ATTEMPTS = 50
SIZE = re.compile(r"[1-9][0-9]{0,5}[mg]")


@dataclass(frozen=True)
class Memory:
    """Memory for one server, each as Java and Neo4j write it: ``"512m"``, ``"2g"``.

    Parameters
    ----------
    heap : str
        Maximum of the Java heap.
    page_cache : str
        Size of Neo4j's page cache, outside the heap.

    Raises
    ------
    ValueError
        If one is not a whole number followed by ``m`` or ``g``.
    """

    heap: str
    page_cache: str

    def __post_init__(self) -> None:
        for name, value in (("heap", self.heap), ("page_cache", self.page_cache)):
            if not SIZE.fullmatch(value):
                raise ValueError(f"{name} must be a size such as '512m' or '2g', got {value!r}")


def machine_memory() -> int:
    """Return the memory of this machine in bytes, or of the container if that is less."""
    import psutil

    total = int(psutil.virtual_memory().total)
    for file in CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such limit, or "max"
            return min(total, int(file.read_text(encoding="ascii")))
    return total


def choose_memory(total: int) -> Memory:
    """Return the memory for a server on a machine with `total` bytes.

    An eighth each for heap and page cache, within limits: embedding the graph needs the larger part. Both
    releases run well with half a GiB of heap or more.
    """
    heap = min(max(total // 8 // MIB, 512), 4096)
    page_cache = min(max(total // 8 // MIB, 128), 8192)
    return Memory(heap=f"{heap}m", page_cache=f"{page_cache}m")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Java does it: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def choose_ports(requested: tuple[int | None, int | None], last: tuple[int, int] | None) -> tuple[int, int]:
    """Return the ports for Bolt and HTTP: those requested, else those of the last start, else free ones.

    Raises
    ------
    LocalServerError
        If a requested port is taken.
    """
    for port, flag in zip(requested, ("--bolt-port", "--http-port"), strict=True):
        if port is not None and not _is_free(port):
            raise LocalServerError(
                f"port {port} of {ADDRESS} is taken or not allowed; give another with {flag}, "
                "or none to have one chosen"
            )
    with socket.socket() as first, socket.socket() as second:  # both bound at once, so the ports differ
        free = _bind(first), _bind(second)
    bolt, http = (
        port if port is not None else old if old is not None and _is_free(old) else new
        for port, old, new in zip(requested, last or (None, None), free, strict=True)
    )
    return bolt, http


def _bind(probe: socket.socket) -> int:
    """Bind a socket to a free port, if possible one that outgoing connections do not get; return the port."""
    for port in random.SystemRandom().sample(LASTING_PORTS, PORT_ATTEMPTS):
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            continue
        return port
    probe.bind((ADDRESS, 0))
    return int(probe.getsockname()[1])
