"""The import graph of the standard library: on a small library of our own, and on the real one."""

import json
import sys

import numpy as np
import pytest

from heat_neo4j.demo.stdlib import name_words, read_import_graph, read_source
from heat_neo4j.errors import ProjectionError

LIBRARY = {
    "json/__init__.py": (
        '"""Parse JSON text. More words.\n\nAnd more."""\n'
        "from . import decoder\nfrom .decoder import JSONDecoder, Other\n"
    ),
    "json/decoder.py": "import re, _socket\nfrom json import scanner, loads\nfrom .scanner import *\n",
    "json/scanner.py": "import os.path, json.scanner, numpy.linalg\nfrom ..elsewhere import x\n",
    "json/tool.py": (
        "import sys\n"
        "def main():\n    import re\n    from re import compile\n"
        "if sys.flags.optimize:\n    import argparse\n"
        "if __name__ == '__main__':\n    import unittest\n    main()\n"
    ),
    "re.py": "from json.decoder import JSONDecoder\n",
    "os.py": "",
    "json/tests/test_json.py": "import unittest\n",
    "json/not-a-module.py": "import unittest\n",
    "test/test_re.py": "import unittest\n",
    "site-packages/numpy.py": "import unittest\n",
    "our_own_thing.py": "import unittest\n",
}


@pytest.fixture
def library(tmp_path):
    for name, text in LIBRARY.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_imports_are_resolved_to_modules_and_counted_by_name(library):
    graph = read_import_graph(library)
    found = {
        (graph.keys[source], graph.keys[target]): weight
        for source, target, weight in zip(graph.source, graph.target, graph.weight, strict=True)
    }
    assert found == {
        ("json", "json.decoder"): 3,  # from . import decoder; two names of .decoder
        ("json.decoder", "re"): 1,
        ("json.decoder", "_socket"): 1,
        ("json.decoder", "json.scanner"): 2,  # from json import scanner; the star
        ("json.decoder", "json"): 1,  # from json import loads, which is no module
        ("json.scanner", "os"): 1,
        ("json.tool", "sys"): 1,
        ("json.tool", "re"): 2,  # inside a function
        ("json.tool", "argparse"): 1,
        ("re", "json.decoder"): 1,
    }


def test_modules_and_what_is_known_of_them(library):
    graph = read_import_graph(library)
    assert graph.keys == [
        "_socket", "argparse", "json", "json.decoder", "json.scanner", "json.tool", "os", "re", "sys",
    ]  # fmt: skip
    known = dict(zip(graph.keys, map(graph.properties, range(len(graph.keys))), strict=True))
    assert known["_socket"] == {"package": "_socket", "public": False, "kind": "compiled", "words": []}
    assert known["json"] == {
        "package": "json",
        "public": True,
        "kind": "package",
        "words": [],  # each of its words is its own alone
        "summary": "Parse JSON text.",
        "lines": 5,
        "functions": 0,
        "classes": 0,
    }
    assert (known["json.tool"]["kind"], known["json.tool"]["functions"]) == ("module", 1)


def test_only_words_that_two_modules_share_are_kept(tmp_path):
    (tmp_path / "copy.py").write_text('"""Clone whales."""')
    (tmp_path / "csv.py").write_text("def clone_table(): pass")
    graph = read_import_graph(tmp_path)
    assert [graph.properties(row)["words"] for row in (0, 1)] == [["clone"], ["clone"]]


def test_a_file_that_does_not_parse_is_named(tmp_path):
    (tmp_path / "copy.py").write_text("def (:")
    with pytest.raises(ProjectionError, match=r"copy\.py: cannot be read as Python source"):
        read_import_graph(tmp_path)


def test_source_facts():
    source = b'''"""
    First sentence of
    the text. Second one.

    Third paragraph about the zebra.
    """
class HTTPServer:
    """Not the docstring of the module."""
    def serve_forever(self): pass
    def __enter__(self): pass
async def openConnection2(): pass
x = 1'''
    facts = read_source(source)
    assert facts.summary == "First sentence of the text."
    assert (facts.lines, facts.functions, facts.classes) == (12, 3, 1)
    assert set(facts.words) >= {
        "sentence",
        "zebra",
        "http",
        "server",
        "serve",
        "forever",
        "open",
        "connection",
    }
    assert not {"the", "enter", "docstring", "httpserver"} & set(facts.words)
    assert read_source(b"") == read_source(b"\n" * 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("HTTPServer", ["http", "server"]),
        ("parse_XMLFile", ["parse", "xml"]),
        ("getElementsByTagName", ["elements", "tag"]),
        ("_b64decode, it's utf-8", ["decode", "utf"]),
        ("self.values of the Whole", []),
    ],
)
def test_names_are_split_into_words(text, words):
    assert list(name_words(text)) == words


@pytest.fixture(scope="module")
def library_of_this_python():
    return read_import_graph()


def test_the_real_library(library_of_this_python):
    graph = library_of_this_python
    rows = {key: row for row, key in enumerate(graph.keys)}
    assert list(graph.keys) == sorted(set(graph.keys))
    assert 400 < len(graph.keys) < 2000
    assert {key.partition(".")[0] for key in graph.keys} <= sys.stdlib_module_names
    assert not any(
        part in {"test", "tests", "idle_test"} for key in graph.keys for part in key.split(".")[:-1]
    )
    edges = set(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    assert len(edges) == len(graph.source) > 2 * len(graph.keys)
    assert (rows["asyncio"], rows["asyncio.events"]) in edges
    assert (rows["json.decoder"], rows["re"]) in edges
    assert graph.properties(rows["sys"])["kind"] == "compiled"
    assert "event" in graph.properties(rows["asyncio.events"])["words"]
    assert (graph.weight >= 1).all()
    assert np.argmax(np.bincount(graph.target)) == rows["sys"]
    assert graph.properties(rows["json"])["summary"].startswith("JSON (JavaScript Object Notation)")


@pytest.mark.slow
def test_the_same_library_gives_the_same_graph(library_of_this_python):
    again = read_import_graph()
    for field in ("source", "target", "weight"):
        np.testing.assert_array_equal(getattr(again, field), getattr(library_of_this_python, field))
    assert json.dumps(again.modules) == json.dumps(library_of_this_python.modules)
