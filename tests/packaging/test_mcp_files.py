"""server.json, the bundle and the skill: what they start exists, and what they name is what there is."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from heat_neo4j.retrieval.mcp_tools import Tools
from tests.docs.tables import first_column
from tests.packaging.test_version import PYPROJECT, first_of_changelog
from tests.support.commands import parse

ROOT = Path(__file__).parents[2]
SERVER = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
MANIFEST = json.loads((ROOT / "mcpb" / "manifest.json").read_text(encoding="utf-8"))
SKILL = (ROOT / "skills" / "heat-neo4j" / "SKILL.md").read_text(encoding="utf-8")
ENVIRONMENT = {"NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"}


def test_the_registry_finds_a_command_that_starts():
    (package,) = SERVER["packages"]
    assert package["identifier"] == PYPROJECT["project"]["name"] in PYPROJECT["project"]["scripts"]
    assert {each["name"] for each in package["environmentVariables"]} == ENVIRONMENT
    (added,) = (each["value"] for each in package["runtimeArguments"])
    assert added in PYPROJECT["project"]["optional-dependencies"]["mcp"]
    command, model = package["packageArguments"]
    assert parse(command["value"], model["name"], model["default"]).params["model"] == "heat"
    assert f"<!-- mcp-name: {SERVER['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_bundle_is_made_and_starts(tmp_path):
    (recipe,) = re.findall(r"^mcpb:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    command = recipe.replace("$(BIN)/python", sys.executable).replace("build", str(tmp_path))
    subprocess.run(["sh", "-ec", command], cwd=ROOT, check=True)
    with zipfile.ZipFile(tmp_path / "heat-neo4j.mcpb") as bundle:
        assert set(bundle.namelist()) == {"manifest.json", "pyproject.toml", "server.py"}
        bundle.extractall(tmp_path)
    program = [sys.executable, tmp_path / MANIFEST["server"]["entry_point"], "--help"]
    done = subprocess.run(
        program, capture_output=True, text=True, check=True, cwd=ROOT, env={"PYTHONPATH": "."}
    )
    assert "Usage: heat mcp" in done.stdout


def test_the_manifest_asks_for_what_it_uses():
    started = MANIFEST["server"]["mcp_config"]
    used = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(started)))
    assert used == set(MANIFEST["user_config"])
    assert set(started["env"]) == ENVIRONMENT
    script = started["args"].index(MANIFEST["server"]["entry_point"])
    assert parse("mcp", *started["args"][script + 1 :]).params["model"] == "${user_config.model}"


def test_all_are_of_the_version_of_the_changelog():
    version = first_of_changelog()
    bundle = (ROOT / "mcpb" / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r"(?:==|version = \")([\d.]+)\"", bundle)
    assert {SERVER["version"], SERVER["packages"][0]["version"], MANIFEST["version"], *named} == {version}


@pytest.mark.parametrize("of", [SERVER, MANIFEST])
def test_descriptions_fit(of):
    assert len(of["description"]) <= 100


def test_the_skill_names_every_tool():
    assert first_column(SKILL, "## Tools") == {name for name in vars(Tools) if not name.startswith("_")}
    name, description = re.search(r"^---\nname: (.*)\ndescription: (.*)\n---\n", SKILL).groups()
    assert name == "heat-neo4j"
    assert 0 < len(description) <= 1024
