"""Signatures and docstrings of the Python API, of which the command line is made.

They are read from the source, as imports take longer than most commands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import click

from heat_neo4j.cli.values import AUTO, Count, Keyed, Number, OrAuto, Pair

PACKAGE = Path(__file__).parents[1]
_DEFINITIONS = ast.ClassDef | ast.FunctionDef
_PARAMETERS = re.compile(r"\n\nParameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", re.DOTALL)
_BOUNDS: tuple[tuple[re.Pattern[str], dict[str, bool]], ...] = (
    (re.compile(r"in \[([\d.]+), ([\d.]+)\]"), {}),
    (re.compile(r"in \(([\d.]+), ([\d.]+)\)"), {"min_open": True, "max_open": True}),
    (re.compile(r"above ([\d.]+)"), {"min_open": True}),
    (re.compile(r"at least ([\d.]+)"), {}),
    (re.compile(r"([\d,]+) to ([\d,]+)"), {}),
)
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FILE_IN = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Parameter:
    """One parameter, as its signature and its docstring have it."""

    name: str
    annotation: str
    kind: str = ""  # the type in words, such as "float in [0, 1], default 0.2"
    text: str = ""
    default: Any = None
    required: bool = False

    @property
    def help(self) -> str:
        """The first sentence of the docstring, and a default given in words."""
        sentence = re.split(r"(?<=\.)\s", self.text, maxsplit=1)[0].replace("`", "")
        text = f"{sentence.rstrip('.')}; repeat for more." if self.multiple else sentence
        words = re.search(r"default: (.+)", self.kind)
        return f"{text}  [default: {words[1]}]" if words else text

    @property
    def multiple(self) -> bool:
        """Whether the option is repeated for each value."""
        return "sequence of" in self.kind or "mapping of" in self.kind

    @cached_property
    def values(self) -> click.ParamType[Any]:
        """The kind of its values on the command line."""
        annotation = self.annotation
        if named := re.search(r"\{(.+)\}", self.kind):
            return click.Choice(re.findall(r'"(\w+)"', named[1]))
        if annotation.startswith("Mapping"):
            return Pair(Number(min=0, min_open=True) if annotation.endswith("float]") else click.STRING)
        if annotation.startswith(("int", "Sequence[int]", "RandomState")):
            any_number: dict[str, Any] = {"largest": None} if annotation.startswith("R") else {}  # a seed
            return Count(**self._bounds(), **any_number)
        if annotation.startswith(("float", "Sequence[float]")):
            numbers = Number(**self._bounds())
            return OrAuto(numbers) if AUTO in annotation else numbers
        if "Path" in annotation:
            return FOLDER if "folder" in self.kind else FILE_IN if "existing" in self.kind else FILE
        plain = {"Key": Keyed(), "bool": click.BOOL}
        return plain.get(annotation.split(" ")[0], click.STRING)

    def _bounds(self) -> dict[str, Any]:
        for form, flags in _BOUNDS:
            if found := form.search(self.kind):
                texts = [each.replace(",", "") for each in found.groups()]
                values = [float(each) if "." in each else int(each) for each in texts]
                return {**dict(zip(("min", "max"), values, strict=False)), **flags}
        raise ValueError(f"the docstring gives no range of {self.name}: {self.kind!r}")


@dataclass(frozen=True, eq=False)
class Source:
    """A class or function where it is defined: `names` lead to it in a module."""

    module: str
    names: tuple[str, ...]
    node: _DEFINITIONS

    @cached_property
    def text(self) -> str:
        """The docstring up to its first section."""
        return re.split(r"\n\n\S[^\n]*\n-+\n", ast.get_docstring(self.node) or "", maxsplit=1)[0]

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name, in their order, without `self` or what stands for it."""
        documented = dict(self._documented())
        return {
            name: Parameter(name, annotation, *documented.get(name, ("", "")), *default)
            for name, annotation, *default in self._declared()
        }

    def _documented(self) -> Iterator[tuple[str, tuple[str, str]]]:
        section = _PARAMETERS.search(ast.get_docstring(self.node) or "")
        entries = [] if section is None else re.split(r"\n(?=\S)", section[1])
        for names, *rest in (entry.split("\n") for entry in entries):
            named, _, kind = names.partition(" : ")
            for name in named.split(", "):
                yield name, (kind, " ".join(line.strip() for line in rest))

    def _declared(self) -> Iterator[tuple[Any, ...]]:
        """Yield name, annotation, default and whether it is required."""
        node: Any = self.node
        if isinstance(node, ast.ClassDef):
            made = [each for each in node.body if getattr(each, "name", "") == "__init__"]
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            if not made:  # a dataclass
                every = [(ast.unparse(each.target), each.annotation, each.value) for each in fields]
                yield from self._described(each for each in every if ast.unparse(each[1]) != "KW_ONLY")
                return
            node = made[0]
        given, defaults = node.args.args[1:], node.args.defaults
        without: list[None] = [None] * (len(given) - len(defaults))
        named = zip(
            (*given, *node.args.kwonlyargs), (*without, *defaults, *node.args.kw_defaults), strict=True
        )
        yield from self._described((each.arg, each.annotation, default) for each, default in named)

    def _described(self, parameters: Iterable[tuple[str, Any, Any]]) -> Iterator[tuple[Any, ...]]:
        for name, annotation, default in parameters:
            kind = "" if annotation is None else ast.unparse(annotation)
            yield name, kind, self._value(default), default is None

    def _value(self, expression: ast.expr | None) -> Any:
        """Return a default: a literal, or a constant of the module or of one that it imports from."""
        if isinstance(expression, ast.Name):
            module, names = _origin(self.module, expression.id)
            for each in _tree(module).body:
                if isinstance(each, ast.Assign):
                    target: Any = each.targets[0]
                    value: Any = each.value
                    several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                    pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
                    for named, own in pairs:
                        if ast.unparse(named) == names[0]:
                            return Source(module, (), self.node)._value(own)
            raise KeyError(f"{module} has no constant {names[0]}")
        try:
            return ast.literal_eval(expression) if expression is not None else None
        except ValueError:
            return None


@cache
def source_of(module: str, *names: str) -> Source:
    """Return a class, function or method by its name in a module, such as ("client", "Database", "embed").

    A method that is another function, as ``embed = _verb(jobs.embed)``, is that function.
    """
    body: list[ast.stmt] = _tree(module).body
    for place, name in enumerate(names):
        for node in body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                assert isinstance(node.value, ast.Call)
                first, *rest = ast.unparse(node.value.args[0]).split(".")
                other, known = _origin(module, first)
                return source_of(other, *known, *rest)
            if isinstance(node, _DEFINITIONS) and node.name == name:
                if place == len(names) - 1:
                    return Source(module, names, node)
                body = node.body
                break
    raise KeyError(f"{module} has no {'.'.join(names)}")


def verb(name: str) -> Source:
    """Return the method of `Database` that a command is made of."""
    return source_of("client", "Database", name)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))


def _origin(module: str, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the module that a name comes from, and its name there; none for a module itself."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heat_neo4j"):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    own = f"{node.module}.{alias.name}".removeprefix("heat_neo4j.")
                    if (PACKAGE / f"{own.replace('.', '/')}.py").exists():
                        return own, ()
                    return str(node.module).removeprefix("heat_neo4j."), (alias.name,)
    return module, (name,)
