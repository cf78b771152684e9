"""The import graph of the Python standard library, read from the running Python's own source files.

Modules are nodes, imports are relationships, weighted by how many names they bring in. Nothing is
imported or executed. Left out: tests, installed packages, and files that are generated for one
platform. Modules without Python source (built in, or compiled) are nodes if some module imports them.
"""

import ast
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.errors import ProjectionError

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_SHORTEST = 3
_LEFT_OUT = frozenset({"__pycache__", "site-packages", "dist-packages", "test", "tests", "idle_test"})
# Where a statement holds others; expressions, nine tenths of a tree, hold none.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LEAST_MODULES = 50  # a Python without its source (frozen, zipped) has far fewer
_PROGRAM_WORDS = """
    add arg args attr base bool case class classes cls code copyright data def default dict doc err error
    errors exc false file files func function functions get import info init instance int item items key keys
    kwargs len list main method methods module modules name names none num obj object objects package param
    parameters python raise raises remove repr result return returned returns self set src str string strings
    sys test tests tmp true tuple type types use used uses using util utils val value values var version
"""
STOP_WORDS = ENGLISH_STOP_WORDS.union(_PROGRAM_WORDS.split())
"""Words that say nothing about what a module is for: plain English and the small talk of programs."""


class _ImportedName(NamedTuple):
    """One name of an import statement: leading dots, module, and name (empty for a module or a star)."""

    level: int
    module: str
    name: str


@dataclass(frozen=True)
class SourceFacts:
    """Facts from the source of a module."""

    summary: str  # the first sentence of the docstring
    words: tuple[str, ...]  # of the docstring and of the names of functions, methods and classes
    lines: int
    functions: int
    classes: int
    imports: Counter[_ImportedName]  # how often each name is imported, but for `__main__`


def read_source(source: bytes) -> SourceFacts:
    """Parse the source of one module; a SyntaxError if it is not valid for the running Python."""
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree) or ""
    nodes = list(_walk(tree))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = [node.name for node in (*classes, *functions)]
    # __init__ and its like say nothing about the module
    texts = [docstring, *(name for name in names if not name.startswith("__"))]
    return SourceFacts(
        summary=_first_sentence(docstring),
        words=tuple(sorted({word for text in texts for word in name_words(text)})),
        lines=len(source.splitlines()),
        functions=len(functions),
        classes=len(classes),
        imports=Counter(name for node in nodes for name in _imported(node)),
    )


def name_words(text: str) -> Iterator[str]:
    """Yield the words of a text or name in lower case, split where underscores and capitals part them.

    Stop words and words of fewer than three letters are left out.
    """
    for match in _WORD.finditer(text):
        word = match.group().lower()
        if len(word) >= _SHORTEST and word not in STOP_WORDS:
            yield word


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return _SENTENCE_END.split(paragraph, maxsplit=1)[0]


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements of `tree`, except what runs only when the file is the main program."""
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                pass
            case node:
                yield node
                for block in _BLOCKS:
                    waiting.extend(getattr(node, block, ()))


def _imported(node: ast.AST) -> Iterator[_ImportedName]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield _ImportedName(0, alias.name, "")
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield _ImportedName(node.level, node.module or "", "" if alias.name == "*" else alias.name)


@dataclass(frozen=True, eq=False)
class ImportGraph:
    """N modules, sorted by name, their properties, and who imports whom: M rows of both, sorted."""

    keys: Sequence[str]
    modules: Sequence[Mapping[str, Any]]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    # How many names the one imports from the other, over all its import statements.
    weight: NDArray[np.float64]
    version: str  # of the Python whose library it is
    types: None = None
    time: None = None
    times_are_dates: bool = False

    def properties(self, row: int) -> Mapping[str, Any]:
        """Return the properties of the module in a row."""
        return self.modules[row]


def read_import_graph(root: Path | None = None, *, on_progress: Progress = no_progress) -> ImportGraph:
    """Read the import graph of the standard library of the running Python, or of the one in a folder.

    Modules have ``package`` (the first name), ``kind``, ``public``, ``words`` (those that another module has
    too) and, where there is source, ``summary``, ``lines``, ``functions`` and ``classes``. A library without
    source files is a `ProjectionError`.
    """
    folder = root or Path(sysconfig.get_path("stdlib"))
    files = dict(_module_files(folder))
    if root is None and len(files) < _LEAST_MODULES:
        raise ProjectionError(f"{folder}: this Python has no source of its standard library to read")
    facts = {}
    for done, (name, path) in enumerate(files.items(), start=1):
        facts[name] = _facts(path)
        on_progress("reading source files", done, len(files))
    module_names = facts.keys() | sys.stdlib_module_names
    edges: Counter[tuple[str, str]] = Counter()
    for name, of_module in facts.items():
        package = name if files[name].name == "__init__.py" else name.rpartition(".")[0]
        for imported, count in of_module.imports.items():
            target = _resolve(imported, package, module_names)
            if target and target != name:
                edges[name, target] += count
    keys = sorted({*facts, *(target for _, target in edges)})
    rows = {key: row for row, key in enumerate(keys)}
    triples = sorted((rows[source], rows[target], count) for (source, target), count in edges.items())
    importing, imported_rows, weight = np.array(triples, dtype=np.int64).reshape(-1, 3).T.copy()
    modules = [_properties(key, facts.get(key), files.get(key)) for key in keys]
    n_modules = Counter(word for module in modules for word in module["words"])
    for module in modules:
        module["words"] = [word for word in module["words"] if n_modules[word] > 1]
    version = ".".join(map(str, sys.version_info[:3]))
    return ImportGraph(keys, modules, importing, imported_rows, weight.astype(np.float64), version)


def _module_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (module name, file) for every source file below `folder` that belongs to the library."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if not _LEFT_OUT.isdisjoint(parts[:-1]) or not all(part.isidentifier() for part in parts):
            continue
        if parts[0] not in sys.stdlib_module_names:
            continue  # generated for one platform, or put there by someone else
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _facts(path: Path) -> SourceFacts:
    prefix = f"{path}: cannot be read as Python source: "
    with errors_as(ProjectionError, (OSError, SyntaxError, ValueError), prefix=prefix):
        return read_source(path.read_bytes())


def _resolve(imported: _ImportedName, package: str, module_names: set[str]) -> str | None:
    """Return the module that an import loads; None if it is not in the library.

    ``from a.b import c`` means the module ``a.b.c`` if there is one, else ``a.b``.
    """
    parents = package.split(".") if imported.level else []
    parents = parents[: len(parents) - imported.level + 1]
    candidate = ".".join([*parents, *filter(None, (imported.module, imported.name))])
    while candidate and candidate not in module_names:
        candidate = candidate.rpartition(".")[0]
    return candidate or None


def _properties(name: str, facts: SourceFacts | None, path: Path | None) -> dict[str, Any]:
    package, _, inner_name = name.partition(".")
    public = not any(part.startswith("_") for part in name.split("."))
    common: dict[str, Any] = {"package": package, "public": public}
    words = set(name_words(inner_name or name))  # the package's name would give the package away
    if facts is None or path is None:
        return common | {"kind": "compiled", "words": sorted(words)}
    return common | {
        "kind": "package" if path.name == "__init__.py" else "module",
        "words": sorted(words.union(facts.words)),
        "summary": facts.summary,
        "lines": facts.lines,
        "functions": facts.functions,
        "classes": facts.classes,
    }
