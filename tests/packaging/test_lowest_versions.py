"""The wheel at work on the lowest versions that its metadata allow, and on a live server."""

import json
import zipfile
from email import message_from_bytes

import pytest
from packaging.requirements import Requirement

from tests.support.environments import Environment

# One process for all: the environment and its compilation take minutes.
pytestmark = [pytest.mark.slow, pytest.mark.one_release, pytest.mark.xdist_group("lowest versions")]

TOY = """
import numpy as np
from scipy import sparse
from heat_neo4j import HEAT, Graph
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.prediction import predict_links
near = np.abs(np.subtract.outer(np.arange(200), np.arange(200)))
graph = Graph(sparse.csr_array(((near > 0) & (near < 5)).astype(float)), np.eye(200))
model = HEAT(n_components=2, walks_per_node=2, walk_length=10, n_negatives=3, n_threads=1, random_state=0)
links = predict_links(model.fit(graph), graph, k=2, score=fit_link_score(model, graph))
assert np.isfinite(model.embedding_).all() and np.isfinite(links.probability).all()
print(model.embedding_.shape)
"""
SCHEDULE = """
from datetime import datetime
from heat_neo4j.worker.schedule import Schedule
for schedule in (Schedule.every(60.0), Schedule.cron("0 3 1 * 1")):
    print(schedule.after(datetime.now().astimezone()) is not None)
"""


# Libraries that themselves want newer versions of what is needed than we do.
NEWER = ("graphrag", "mcp", "text", "viz")


@pytest.fixture(scope="session")
def requirements(built):
    """What the wheel needs, with its extras."""
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    found = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
    return [needed for needed in found if not any(f'"{extra}"' in str(needed.marker) for extra in NEWER)]


@pytest.fixture(scope="session")
def lowest(tmp_path_factory, built, requirements):
    """An environment with the wheel, its extras and the lowest versions of what they name."""
    environment = Environment.create(tmp_path_factory.mktemp("lowest") / "venv")
    direct = [f"{needed.name}{needed.specifier}" for needed in requirements]
    wheel = f"{built[1]}[local,plot,baselines,distributed,metrics]"
    environment.install("--resolution", "lowest-direct", wheel, *direct)
    return environment


def test_the_lowest_versions_are_what_is_installed(lowest, requirements):
    assert len(requirements) >= 12
    for needed in requirements:
        (floor,) = [bound.version for bound in needed.specifier if bound.operator == ">="]
        code = f"import importlib.metadata as m; print(m.version({needed.name!r}))"
        have = lowest.run("python", "-c", code).strip()
        assert have.split(".")[: floor.count(".") + 1] == floor.split("."), needed


def test_heat_runs_on_the_lowest_versions(lowest):
    assert lowest.run("python", "-c", TOY).strip() == "(200, 3)"
    assert lowest.run("python", "-c", SCHEDULE).split() == ["True", "True"]


@pytest.mark.live
def test_from_files_to_published_links_on_the_lowest_versions(lowest, server, tmp_path):
    (tmp_path / "edges.csv").write_text(
        "source,target,weight\n" + "".join(f"{i},{(i + step) % 60},1\n" for i in range(60) for step in (1, 5))
    )
    names = ("--label", "LowestNode", "--relationship", "LOWEST_LINK")
    graph = ("--label", "LowestNode", "--relationship", "LOWEST_LINK", "--model", "lowest")
    cheap = ("--walks-per-node", "2", "--walk-length", "20", "--n-threads", "1", "--random-state", "0")
    variables = {**server.environment, "HEAT_HOME": str(tmp_path)}

    def heat(*arguments):
        return lowest.run("heat", *arguments, cwd=tmp_path, **variables)

    try:
        heat("load", "edges.csv", *names)
        report = json.loads(heat("embed", *graph, "--alpha", "0", *cheap, "--json"))
        assert report["nodes_written"] == 60
        assert "60 nodes" in heat("clear", "--model", "lowest", "--yes")
    finally:
        code = (
            "import os, neo4j\n"
            "auth = (os.environ['NEO4J_USERNAME'], os.environ['NEO4J_PASSWORD'])\n"
            "with neo4j.GraphDatabase.driver(os.environ['NEO4J_URI'], auth=auth) as driver:\n"
            "    driver.execute_query('MATCH (n:LowestNode) DETACH DELETE n')\n"
            "    driver.execute_query('DROP CONSTRAINT heat_load_LowestNode_id IF EXISTS')\n"
        )
        lowest.run("python", "-c", code, cwd=tmp_path, **variables)
