"""`python -m tests.architecture` prints floors, modules, imports between rooms and lines of code."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "heat_neo4j"
FLOORS = (
    {"errors", "_kernels"},
    {"_utils"},
    {"graph", "geometry", "attributes", "local_server"},
    {"patterns", "embedding", "inputs"},
    {"classes", "clusters", "database", "duplicates", "linkpred"},
    {"heat", "plots"},
    {"pipeline", "evaluation"},
    {"client", "explore", "retrieval", "worker", "demo"},
    {"cli"},
)
"""Rooms from the ground up: each imports from floors below its own only."""


@functools.cache
def modules() -> dict[str, Path]:
    """Return the file of every module by its dotted name."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    return dict(sorted(paths.items()))


def room_of(module: str) -> str:
    """Return the top-level module or package of ours that a dotted name belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


@functools.cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Return the dotted names of modules that a file imports, wherever in it."""
    known = modules()
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.append(full if full in known or node.module == "heat_neo4j" else node.module)
    return tuple(found)


def code_lines(source: str) -> int:
    """Return the number of lines that are neither blank nor only comment or docstring."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout | {tokenize.ENDMARKER}:
            lines.update(range(token.start[0], token.end[0] + 1))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def arrows() -> dict[str, set[str]]:
    """Return which rooms each room imports."""
    drawn: dict[str, set[str]] = {room: set() for floor in FLOORS for room in floor}
    for name, path in modules().items():
        room = room_of(name)
        if room in drawn:
            imported = {room_of(each) for each in imports_of(path) if each.startswith("heat_neo4j.")}
            drawn[room] |= imported & drawn.keys() - {room}
    return drawn


def main() -> None:
    """Print each floor from the top: its rooms, their modules and lines of code, and what they import."""
    drawn = arrows()

    @functools.cache
    def floor_of(room: str) -> int:
        return 1 + max((floor_of(below) for below in drawn[room]), default=0)

    everything = modules()
    lines = {name: code_lines(path.read_text(encoding="utf-8")) for name, path in everything.items()}
    for floor in range(max(map(floor_of, drawn)), 0, -1):
        print(f"floor {floor}")
        for room in sorted(room for room in drawn if floor_of(room) == floor):
            own = [name for name in everything if room_of(name) == room]
            count = sum(everything[name].name != "__init__.py" for name in own)
            total, below = sum(lines[name] for name in own), ", ".join(sorted(drawn[room])) or "-"
            print(f"  {room:<13}{count:>3} modules {total:>6,} lines  -> {below}")
    arrow_count = sum(map(len, drawn.values()))
    print(f"{len(everything)} files, {sum(lines.values()):,} lines of code, {arrow_count} arrows")


if __name__ == "__main__":
    main()
