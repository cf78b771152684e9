"""Live Neo4j servers for the tests, and an environment that a developer's own settings cannot reach.

- ``server``: a server of each release, started when the first test asks for it and stopped when the last is
  done, passed or failed. On the newest, Cypher 25 is the default language. A test runs on one release, by its
  room; on the other it is ``slow``, unless it is marked ``both_releases``.
  ``one_release`` and ``--server-version 5.26`` keep to one.
- ``store``, ``connection_settings``: the same server, as a connected store or as address, user, password.
- ``cypher``: a function that runs any statement there, past the package.
- ``throwaway_server``: a server of its own that a test may stop, kill or break.
- ``HEAT_TEST_NEO4J_URI`` (with ``_USERNAME``, ``_PASSWORD``, ``_DATABASE``) tests a server from outside.

A server that cannot be had is an error, not a skip. Data lies in temporary folders; only the downloaded jars
are the user's own, so that they are downloaded once.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from heat_neo4j._utils.progress import no_progress
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.errors import redaction
from heat_neo4j.local_server.folders import heat_home
from heat_neo4j.local_server.releases import DEFAULT_SERIES, RELEASES
from heat_neo4j.local_server.server import LocalServer

if TYPE_CHECKING:
    from heat_neo4j.database.store import Neo4jStore
    from tests.support.live_graph import Cypher
    from tests.support.refresh_toy import Papers

HEAP, PAGE_CACHE = "768m", "256m"
START_TIMEOUT = 400.0  # seconds; a CI machine may be busy with other things
OUTSIDE = "outside"
NEWEST = next(reversed(RELEASES))
# Rooms whose statements are of the newest release's Cypher, too; the others' tests run on the release that
# `heat server` starts.
ROOMS_OF_NEWEST = ("database", "queries")
# Rooms that do not search by the vector index, which makes a publication several times as long: only what is
# marked ``vector_index`` there makes it. Everywhere else publications are those of users.
ROOMS_WITHOUT_INDEX = (
    "cli",
    "database",
    "duplicates",
    "evaluation",
    "explore",
    "pipeline",
    "plots",
    "worker",
)
# Planning takes nearly all of a server's time. By default, Neo4j replaces a plan that is ten seconds old once
# a test has changed how many nodes there are, and generates code for one that has been used ten times.
KEPT_PLANS = {
    "dbms.cypher.min_replan_interval": "1h",
    "server.memory.query_cache.per_db_cache_num_entries": "10000",
    "internal.cypher.expression_recompilation_limit": "1000000",
}
DEFAULT_LANGUAGES = {NEWEST: {"db.query.default_language": "CYPHER_25"}}
# The servers live too short to earn the work of Java's optimizing compiler, and their jars are known by their
# SHA-256: without verification a start takes a fifth less. A larger metaspace saves collections of garbage.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=300m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
JAR_CACHE = heat_home() / "jars"

# No test may depend on how busy the machine is. With the slow tests, each property is tried on more examples.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("all"), max_examples=20)


@dataclass(frozen=True)
class LiveServer:
    """How to reach a server: ``series`` is "5.26", "2026" or "outside"; ``local`` is None for the last."""

    uri: str
    user: str
    password: str
    database: str | None
    series: str
    local: LocalServer | None

    @property
    def settings(self) -> tuple[str, str, str]:
        return self.uri, self.user, self.password

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point the command line at it."""
        named = {"URI": self.uri, "USERNAME": self.user, "PASSWORD": self.password, "DATABASE": self.database}
        return {f"NEO4J_{name}": value for name, value in named.items() if value is not None}


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C be heard: a shell that starts the tests in the background has it ignored, children too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("quick" if "not slow" in config.getoption("markexpr") else "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--server-version", choices=sorted(RELEASES), help="run live tests on this release only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" not in metafunc.fixturenames:
        return
    first, *others = sorted(
        _series(metafunc.config), key=lambda series: series != _release_of(metafunc.definition)
    )
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    if "one_release" in marks:
        others = []
    slow = [] if "both_releases" in marks else [pytest.mark.slow]
    series = [first, *(pytest.param(other, marks=slow) for other in others)]
    metafunc.parametrize("server", series, indirect=True, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: what is made then stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one server, or else of one file, together: one process makes what they share.

    The servers' tests come first because they take longest. On each server, tests that change indexes or
    constraints come last, because after each change Neo4j plans every statement anew.
    """
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_server_of(item) or item.location[0]))
    items.sort(key=lambda item: (_server_of(item) or "~", _changes_schema(item)))


def _release_of(test: pytest.Item) -> str:
    """Return the release that a test runs on if it runs on one."""
    return NEWEST if _room_of(test) in ROOMS_OF_NEWEST else DEFAULT_SERIES


def _room_of(test: pytest.Item) -> str:
    return test.path.relative_to(Path(__file__).parent).parts[0]


def _server_of(item: pytest.Item) -> str | None:
    """Return the release that a test runs on, if it needs the session's server."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("server") if callspec else None


def _has_index(test: pytest.Item) -> bool:
    """Return whether publications of a test make the vector index, as those of users do."""
    return _room_of(test) not in ROOMS_WITHOUT_INDEX or bool(test.get_closest_marker("vector_index"))


def _changes_schema(test: pytest.Item) -> bool:
    return _server_of(test) is not None and (_has_index(test) or bool(test.get_closest_marker("constraint")))


def _series(config: pytest.Config) -> list[str]:
    """Return the releases to test."""
    if "HEAT_TEST_NEO4J_URI" in os.environ:
        return [OUTSIDE]
    chosen = config.getoption("--server-version")
    return [chosen] if chosen else list(RELEASES)


def new_home(folder: Path) -> Path:
    """Return a new heat home under `folder` that shares the user's downloaded jars."""
    JAR_CACHE.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jars").symlink_to(JAR_CACHE, target_is_directory=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile first, and once: the first run on a machine tells of it, and tests compare what runs tell."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "compiling.lock"):
        make_ready(no_progress, by_buckets=True)


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> Iterator[None]:
    """Have all servers take half of the CPU time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA)
        yield


@pytest.fixture(scope="session")
def live_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The heat home of the session's servers."""
    return new_home(tmp_path_factory.mktemp("heat") / "home")


@pytest.fixture
def heat_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A heat home of this test's own, which HEAT_HOME names."""
    home = new_home(tmp_path / "heat-home")
    monkeypatch.setenv("HEAT_HOME", str(home))
    return home


@pytest.fixture
def eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let eight threads run, however many processors the machine has."""
    monkeypatch.setattr("heat_neo4j._utils.threads.available_processors", lambda: (8, "a test"))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the developer's NEO4J_* variables or local servers, or the passwords of other tests."""
    monkeypatch.setattr(redaction, "_kept", set())
    for name in [name for name in os.environ if name.startswith("NEO4J_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HEAT_HOME", str(tmp_path_factory.getbasetemp() / "no-servers-here"))


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, live_home: Path) -> Iterator[LiveServer]:
    """A running server, for the whole session: every test keeps to labels of its own and removes them."""
    series: str = request.param
    if series == OUTSIDE:
        found = {
            name: os.environ.get(f"HEAT_TEST_NEO4J_{name}")
            for name in ("URI", "USERNAME", "PASSWORD", "DATABASE")
        }
        yield LiveServer(
            str(found["URI"]),
            found["USERNAME"] or "neo4j",
            found["PASSWORD"] or "",
            found["DATABASE"],
            OUTSIDE,
            None,
        )
        return
    local = LocalServer(series, name="tests", home=live_home, heap=HEAP, page_cache=PAGE_CACHE)
    settings = {**local.release.settings, **KEPT_PLANS, **DEFAULT_LANGUAGES.get(series, {})}
    local.release = replace(local.release, settings=settings)
    try:
        local.start(START_TIMEOUT)
        yield LiveServer(*local.connection(), database=None, series=series, local=local)
    finally:
        local.stop()


@pytest.fixture(scope="session")
def connection_settings(server: LiveServer) -> tuple[str, str, str]:
    """Address, user and password of the server."""
    return server.settings


@pytest.fixture
def indexed(request: pytest.FixtureRequest) -> bool:
    """Whether publications of this test make the vector index, as those of users do."""
    return _has_index(request.node)


@pytest.fixture
def store(server: LiveServer, indexed: bool) -> Iterator[Neo4jStore]:
    """A store that is connected to the server."""
    from tests.support.live_graph import open_store

    with open_store(server, index=indexed) as opened:
        yield opened


@pytest.fixture
def cypher(server: LiveServer) -> Iterator[Cypher]:
    """Run any statement past the package; tests that leave nodes behind remove them."""
    from tests.support.live_graph import open_cypher

    with open_cypher(server) as run:
        yield run


@pytest.fixture(scope="module")
def _no_index_of_papers_is_left(server: LiveServer) -> Iterator[None]:
    from tests.support.live_graph import drop_indexes, open_cypher
    from tests.support.refresh_toy import LABEL, MODEL

    yield
    with open_cypher(server) as run:
        drop_indexes(run, MODEL, LABEL)


@pytest.fixture
def papers(
    cypher: Cypher, store: Neo4jStore, indexed: bool, _no_index_of_papers_is_left: None
) -> Iterator[Papers]:
    """A small graph that changes; what was published of it is removed, and indexes after the last test."""
    from tests.support.refresh_toy import MODEL, Papers

    papers = Papers(cypher)
    yield papers
    if not indexed:
        store.clear(model=MODEL)
    papers.remove()


@pytest.fixture
def throwaway_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalServer]:
    """A running server of this test's own, which it may kill.

    Of the default series, or ``--server-version``, or as parametrised:
    ``@pytest.mark.parametrize("throwaway_server", ["5.26", "2026"], indirect=True)``. A pair adds settings of
    neo4j.conf: ``("5.26", {"db.transaction.timeout": "5s"})``.
    """
    param = getattr(request, "param", None)
    chosen, settings = param if isinstance(param, tuple) else (param, {})
    series = chosen or request.config.getoption("--server-version") or "5.26"
    local = LocalServer(
        series, name="throwaway", home=new_home(tmp_path / "throwaway"), heap=HEAP, page_cache=PAGE_CACHE
    )
    local.release = replace(local.release, settings={**local.release.settings, **settings})
    try:
        local.start(START_TIMEOUT)
        yield local
    finally:
        local.stop(timeout=20.0)
