"""The version: from the git tag, or the fallback without git; and the same in all files that name one."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.version import Version
from ruamel.yaml import YAML

import heat_neo4j

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SLOWEST_IMPORT = 0.15  # seconds


def first_of_changelog():
    """Return the version of the changelog's first heading: the next, or that which was just released."""
    return re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1]


def run(*command, cwd, **variables):
    """Run a command away from the git repository and the settings of whoever runs the tests."""
    misleading = ("GIT_", "SETUPTOOLS_SCM")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(misleading)}
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        command, cwd=cwd, env={**kept, **nobody, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def version_of(folder, **variables):
    """Return the version that the build would give what is in a folder."""
    return run(sys.executable, "-m", "hatchling", "version", cwd=folder, **variables)


@pytest.fixture
def copied(tmp_path):
    """A folder with what the Dockerfile copies of this project, as far as the version asks."""
    folder = tmp_path / "src"
    (folder / "heat_neo4j").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def git(copied):
    """A function that runs git in a repository of that folder, which has one commit."""

    def git(*arguments):
        identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
        return run("git", *identity, *arguments, cwd=copied)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    return git


def test_a_checkout_has_the_version_of_its_tag(copied, git):
    assert version_of(copied) == f"{first_of_changelog()}.dev1"  # without any tag: before the next release
    git("tag", "v3.2.0")
    assert version_of(copied) == "3.2.0"
    git("commit", "--quiet", "--allow-empty", "--message", "second")
    assert version_of(copied) == "3.2.1.dev1"
    (copied / "README.md").write_text("changed")
    assert version_of(copied) == "3.2.1.dev1"  # neither dates nor hashes


def test_without_git_the_version_is_that_of_the_fallback_or_is_told(copied):
    assert version_of(copied) == f"{first_of_changelog()}.dev0"
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    (variable,) = re.findall(r"^ENV (SETUPTOOLS_SCM_\w+)=\$VERSION$", dockerfile, re.M)
    assert version_of(copied, **{variable: ""}) == f"{first_of_changelog()}.dev0"  # no --build-arg
    assert version_of(copied, **{variable: "3.2.1"}) == "3.2.1"


@pytest.mark.xdist_group("tests/packaging/test_wheel.py")  # which needs the same build
def test_an_sdist_keeps_the_version_that_it_was_built_with(built, tmp_path):
    shutil.unpack_archive(built[0], tmp_path)
    (folder,) = tmp_path.iterdir()
    version = message_from_bytes((folder / "PKG-INFO").read_bytes())["Version"]
    assert folder.name == f"heat_neo4j-{version}"
    assert built[1].name == f"heat_neo4j-{version}-py3-none-any.whl"
    assert Version(version) <= Version(first_of_changelog())


def test_the_changelog_is_not_behind_what_is_installed():
    """After a release it needs another heading; an editable install may be as old as it wants."""
    if heat_neo4j.__version__ != "0+unknown":
        assert Version(heat_neo4j.__version__) <= Version(first_of_changelog())


def test_every_file_that_names_the_version_names_that_of_the_changelog():
    version = first_of_changelog()
    citation, recipe, kustomization = (
        YAML(typ="safe").load(ROOT / name)
        for name in ("CITATION.cff", "conda/recipe.yaml", "docker/kubernetes/kustomization.yaml")
    )
    assert citation["version"] == recipe["context"]["version"] == version
    assert kustomization["images"][0]["newTag"] == version
    assert PYPROJECT["tool"]["hatch"]["version"]["fallback-version"] == f"{version}.dev0"
    for name in ("docker/Dockerfile", "docker/kubernetes/dask.yaml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        named = re.findall(r"(?:VERSION=|heat-neo4j-dask:)([\d.]*\d)", text)
        assert named
        assert set(named) == {version}, name


def test_importing_the_package_is_quick():
    """It looks the version up. Time of the processor does not depend on how busy the machine is."""
    code = "import time; began = time.process_time(); import heat_neo4j; print(time.process_time() - began)"
    assert float(run(sys.executable, "-c", code, cwd=ROOT)) < SLOWEST_IMPORT


def test_a_folder_that_is_not_installed_says_so(tmp_path):
    shutil.copytree(
        ROOT / "heat_neo4j", tmp_path / "heat_neo4j", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = "import json, heat_neo4j; print(json.dumps(heat_neo4j.__version__))"
    assert json.loads(run(sys.executable, "-S", "-c", code, cwd=tmp_path, PYTHONPATH="")) == "0+unknown"
