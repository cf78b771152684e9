"""The import graph of the Python standard library, read from the running Python's own source files.

Modules are nodes, imports are relationships, weighted by how many names they bring in. Nothing is
imported or executed. Left out: tests, installed packages, and files that are generated for one
platform. Modules without Python source (built in, or compiled) are nodes if some module imports them.
"""

from __future__ import annotations

import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._progress import Progress, no_progress
from heat_neo4j.demo.source import ImportedName, SourceFacts, name_words, read_source
from heat_neo4j.errors import ProjectionError

__all__ = ["ImportGraph", "read_import_graph"]

_LEFT_OUT = frozenset({"__pycache__", "site-packages", "dist-packages", "test", "tests", "idle_test"})
_LEAST_MODULES = 50  # a Python without its source (frozen, zipped) has far fewer


@dataclass(frozen=True, eq=False)
class ImportGraph:
    """Modules, their properties, and who imports whom.

    Parameters
    ----------
    keys : sequence of str
        Full names of the N modules, sorted.
    modules : sequence of mapping
        Properties of each module: see `properties`.
    source, target : int64 array of shape (M,)
        Rows of the importing and the imported module, sorted by both.
    weight : float64 array of shape (M,)
        How many names the one imports from the other, counted over all its import statements.
    version : str
        The Python version whose library it is.
    """

    keys: Sequence[str]
    modules: Sequence[Mapping[str, Any]]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    version: str

    def properties(self, row: int) -> Mapping[str, Any]:
        """Properties of the module in `row`.

        Returns
        -------
        dict
            ``package`` (its first name), ``kind`` ("module", "package" or "compiled"), ``public`` (no
            part of the name starts with an underscore), ``words`` (list of str: those that at least one
            other module has too); and, where there is source, ``summary``, ``lines``, ``functions`` and
            ``classes``.
        """
        return self.modules[row]


def read_import_graph(root: Path | None = None, *, on_progress: Progress = no_progress) -> ImportGraph:
    """Read the import graph of a standard library.

    Parameters
    ----------
    root : Path, optional
        Folder of the library's source; by default that of the running Python.
    on_progress : callable
        Told about the stage "reading source files".

    Raises
    ------
    ProjectionError
        If there are no source files to read there.
    """
    folder = root or Path(sysconfig.get_path("stdlib"))
    files = dict(_module_files(folder))
    if root is None and len(files) < _LEAST_MODULES:
        raise ProjectionError(f"{folder}: this Python has no source of its standard library to read")
    facts = {}
    for done, (name, path) in enumerate(files.items(), start=1):
        facts[name] = _facts(path)
        on_progress("reading source files", done, len(files))
    known = facts.keys() | sys.stdlib_module_names
    edges: Counter[tuple[str, str]] = Counter()
    for name, found in facts.items():
        package = name if files[name].name == "__init__.py" else name.rpartition(".")[0]
        for imported, count in found.imports.items():
            target = _resolve(imported, package, known)
            if target and target != name:
                edges[name, target] += count
    keys = sorted({*facts, *(target for _, target in edges)})
    return _assemble(keys, facts, files, edges)


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
    try:
        return read_source(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ProjectionError(f"{path}: cannot be read as Python source: {error}") from error


def _resolve(imported: ImportedName, package: str, known: frozenset[str] | set[str]) -> str | None:
    """Name the module that an import brings in, or None if it is not of the library.

    ``from a.b import c`` means the module ``a.b.c`` if there is one, else ``a.b``.
    """
    base = imported.module
    if imported.level:
        parents = package.split(".")
        parents = parents[: len(parents) - imported.level + 1]
        base = ".".join([*parents, base] if base else parents)
    candidate = f"{base}.{imported.name}" if imported.name else base
    while candidate and candidate not in known:
        candidate = candidate.rpartition(".")[0]
    return candidate or None


def _assemble(
    keys: Sequence[str],
    facts: Mapping[str, SourceFacts],
    files: Mapping[str, Path],
    edges: Mapping[tuple[str, str], int],
) -> ImportGraph:
    rows = {key: row for row, key in enumerate(keys)}
    triples = sorted((rows[source], rows[target], count) for (source, target), count in edges.items())
    table = np.array(triples, dtype=np.int64).reshape(-1, 3)
    modules = [_properties(key, facts.get(key), files.get(key)) for key in keys]
    spread = Counter(word for module in modules for word in module["words"])
    for module in modules:
        module["words"] = [word for word in module["words"] if spread[word] > 1]
    return ImportGraph(
        keys=keys,
        modules=modules,
        source=table[:, 0].copy(),
        target=table[:, 1].copy(),
        weight=table[:, 2].astype(np.float64),
        version=".".join(map(str, sys.version_info[:3])),
    )


def _properties(name: str, facts: SourceFacts | None, path: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "package": name.partition(".")[0],
        "public": not any(part.startswith("_") for part in name.split(".")),
    }
    own_name = name.partition(".")[2] or name  # the package's name would give the package away
    if facts is None or path is None:
        return found | {"kind": "compiled", "words": sorted(set(name_words(own_name)))}
    return found | {
        "kind": "package" if path.name == "__init__.py" else "module",
        "words": sorted({*name_words(own_name), *facts.words}),
        "summary": facts.summary,
        "lines": facts.lines,
        "functions": facts.functions,
        "classes": facts.classes,
    }
