"""What hosts and indexes read: workflows, citation, recipe, hooks and more, each read by its own parser."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema.validators import validator_for
from packaging.requirements import Requirement
from ruamel.yaml import YAML

from tests.support.environments import Environment

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
CITATION, HOOKS = ROOT / "CITATION.cff", ROOT / ".pre-commit-config.yaml"
RECIPE, CONTAINER = ROOT / "conda" / "recipe.yaml", ROOT / ".devcontainer" / "devcontainer.json"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Names that differ on conda-forge, and what is not there: that is quicker, but not needed.
ON_CONDA = {"neo4j": "neo4j-python-driver"}
NOT_ON_CONDA = {"neo4j-rust-ext"}
RENDER = """
import sys
from rattler_build import Stage0Recipe, VariantConfig
recipe = Stage0Recipe.from_file(sys.argv[1])
assert len(recipe.render(VariantConfig())) == 1
print(recipe.as_single_output().package.name)
"""


def yaml(path):
    return YAML(typ="safe").load(path)


def told(*command):
    """Run a Python program; return its exit code."""
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def follows(schema, text):
    schema = get_builtin_schema(f"vendor.{schema}")
    return validator_for(schema)(schema).is_valid(YAML(typ="safe").load(text))


@pytest.mark.parametrize(
    ("path", "schema", "right", "wrong"),
    [
        (WORKFLOWS / "ci.yml", "github-workflows", "runs-on:", "run-on:"),
        (WORKFLOWS / "release.yml", "github-workflows", "id-token: write", "id-token: publish"),
        (CITATION, "citation-file-format", "family-names", "family-name"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_file_follows_its_schema(path, schema, right, wrong):
    text = path.read_text(encoding="utf-8")
    assert follows(schema, text)
    assert right in text
    assert not follows(schema, text.replace(right, wrong)), "the check does not notice a mistake"


def test_ci_runs_on_every_python_that_the_package_names():
    named = [
        version[1]
        for each in PROJECT["classifiers"]
        if (version := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each))
    ]
    assert f">={named[0]}" == PROJECT["requires-python"]
    job = yaml(WORKFLOWS / "ci.yml")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == named
    assert job["steps"][-1]["run"] == "bash .ci/run"


def test_ci_checks_external_links():
    job = yaml(WORKFLOWS / "ci.yml")["jobs"]["links"]
    assert job["steps"][-1]["run"] == "make links"
    assert "--builder linkcheck" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_release_is_published_without_a_password_and_from_a_tested_tag():
    workflow = yaml(WORKFLOWS / "release.yml")
    jobs, text = workflow["jobs"], (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    assert "secrets." not in text
    assert workflow["permissions"] == {}
    assert jobs["test"]["uses"] == f"./{(WORKFLOWS / 'ci.yml').relative_to(ROOT)}"
    order = [[name] if isinstance(name, str) else name for name in (jobs[j]["needs"] for j in list(jobs)[1:])]
    assert order == [["test"], ["build"], ["publish"]]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["publish"]["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    writers = {name for name, job in jobs.items() if job["permissions"].get("contents") == "write"}
    assert writers == {"release"}


def test_what_is_built_is_checked_listed_and_attested():
    steps = yaml(WORKFLOWS / "release.yml")["jobs"]["build"]["steps"]
    attested = [step["with"] for step in steps if step.get("uses", "").startswith("actions/attest@")]
    run = "\n".join(step["run"] for step in steps if "run" in step)
    assert [each.pop("subject-path") for each in attested] == ["dist/*"] * 2
    assert attested == [{}, {"sbom-path": "sbom/heat-neo4j.cdx.json"}]
    for command in (
        "twine check --strict dist/*",
        "check-wheel-contents dist/*.whl",
        "cyclonedx-py environment",
    ):
        assert command in run
    (extras,) = re.findall(r'"\$\(echo dist/\*\.whl\)\[(.*)\]"', run)
    assert set(extras.split(",")) == set(PROJECT["optional-dependencies"])


def test_each_action_is_pinned_to_one_commit():
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS.glob("*.yml"))
    uses = re.findall(r"uses: ([\w/-]+)@([0-9a-f]{40})  # (v[\d.]+)$", text, re.M)
    assert len(uses) == text.count("uses: ") - 1 >= 10  # one calls a workflow of ours
    assert len({name for name, *_ in uses}) == len(set(uses))


def test_the_citation_is_of_this_project():
    citation = yaml(CITATION)
    assert citation["license"] == PROJECT["license"]
    assert citation["abstract"] == PROJECT["description"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert [author["name"] for author in citation["authors"]] == [each["name"] for each in PROJECT["authors"]]


def test_the_hooks_are_what_make_lint_runs(tmp_path):
    assert told("pre_commit", "validate-config", str(HOOKS)) == (0, "")
    broken = tmp_path / HOOKS.name
    broken.write_text(HOOKS.read_text().replace("entry:", "entries:"))
    assert told("pre_commit", "validate-config", str(broken))[0] == 1
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0].splitlines()[1:]
    hooks = [hook for repository in yaml(HOOKS)["repos"] for hook in repository["hooks"]]
    assert [hook["entry"] for hook in hooks] == [line.strip().replace("$(BIN)", ".venv/bin") for line in lint]
    assert all(hook["language"] == "system" and hook["pass_filenames"] is False for hook in hooks)


def test_the_recipe_needs_what_the_wheel_needs():
    recipe = yaml(RECIPE)
    assert recipe["schema_version"] == 1
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["build"]["python"]["entry_points"] == [f"heat = {PROJECT['scripts']['heat']}"]
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    python, *needed = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    ours = [Requirement(line) for line in PROJECT["dependencies"]]
    expected = {
        ON_CONDA.get(each.name, each.name): each.specifier for each in ours if each.name not in NOT_ON_CONDA
    }
    assert {each.name: each.specifier for each in map(Requirement, needed)} == expected
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {line.replace(" ", "") for line in recipe["requirements"]["host"]} >= set(build)


@pytest.mark.slow  # a download of 30 MB
def test_rattler_build_takes_the_recipe(tmp_path):
    environment = Environment.create(tmp_path / "venv")
    environment.install("py-rattler-build")
    assert environment.run("python", "-c", RENDER, str(RECIPE)).strip() == "heat-neo4j"
    broken = tmp_path / "recipe.yaml"
    broken.write_text(RECIPE.read_text().replace("  run:\n", "  runs:\n"))
    with pytest.raises(AssertionError, match="unknown field 'runs'"):
        environment.run("python", "-c", RENDER, str(broken))


def test_the_development_container_sets_up_what_make_does():
    container = json.loads(CONTAINER.read_text(encoding="utf-8"))
    first, second = container["postCreateCommand"].split(" && ")
    assert (ROOT / first.removeprefix("sudo sh ")).is_file()
    target = second.removeprefix("make ")
    makefile = (ROOT / "Makefile").read_text()
    venv, installed = (re.search(rf"^{name} := (.*)$", makefile, re.M)[1] for name in ("VENV", "INSTALLED"))
    assert target == installed.replace("$(VENV)", venv)
    folder = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert folder == f"${{containerWorkspaceFolder}}/{venv}/bin/python"
    minor = int(re.search(r":3\.(\d+)$", container["image"])[1])
    assert f"Programming Language :: Python :: 3.{minor}" in PROJECT["classifiers"]


def test_links_of_the_security_page_exist():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Report a vulnerability" in text
    for path in re.findall(r"`([\w/]+\.py)`", text):
        assert (ROOT / path).is_file()
    assert len(re.findall(r"\]\(\S+\.md\S*\)", text)) == 2  # tests/docs follows them
