"""What one Python source file says: its imports, its words, its size; read with `ast`, never run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

__all__ = ["ImportedName", "SourceFacts", "name_words", "read_source"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_SHORTEST = 3
_PROGRAM_WORDS = """
    add arg args attr base bool case class classes cls code copyright data def default dict doc err error
    errors exc false file files func function functions get import info init instance int item items key keys
    kwargs len list main method methods module modules name names none num obj object objects package param
    parameters python raise raises remove repr result return returned returns self set src str string strings
    sys test tests tmp true tuple type types use used uses using util utils val value values var version
"""
STOP_WORDS = ENGLISH_STOP_WORDS.union(_PROGRAM_WORDS.split())
"""Words that say nothing about what a module is for: plain English and the small talk of programs."""


@dataclass(frozen=True, order=True)
class ImportedName:
    """One name of an import statement, as written.

    Parameters
    ----------
    level : int
        Number of leading dots: 0 is absolute.
    module : str
        The module named; empty in ``from . import x``.
    name : str
        The name taken from it; empty in ``import module`` and for ``*``.
    """

    level: int
    module: str
    name: str


@dataclass(frozen=True)
class SourceFacts:
    """What is known of a module from its source.

    Parameters
    ----------
    summary : str
        First sentence of its docstring, or an empty string.
    words : tuple of str
        Sorted distinct words of its docstring and of the names of its functions, methods and classes.
    lines, functions, classes : int
        Lines of source, function and method definitions, class definitions.
    imports : Counter of ImportedName
        How often each name is imported anywhere in the file, also inside functions, but not under
        ``if __name__ == "__main__"``: that part is a program that uses the module.
    """

    summary: str
    words: tuple[str, ...]
    lines: int
    functions: int
    classes: int
    imports: Counter[ImportedName]


def read_source(source: bytes) -> SourceFacts:
    """Parse the source of one module.

    Raises
    ------
    SyntaxError
        If it is not valid source for the running Python.
    """
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree) or ""
    functions = classes = 0
    names: list[str] = []
    imports: Counter[ImportedName] = Counter()
    for node in _walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            classes += isinstance(node, ast.ClassDef)
            functions += not isinstance(node, ast.ClassDef)
            if not node.name.startswith("__"):  # __init__ and its like say nothing about the module
                names.append(node.name)
        else:
            imports.update(_imported(node))
    return SourceFacts(
        summary=_first_sentence(docstring),
        words=tuple(sorted({*name_words(docstring), *(word for name in names for word in name_words(name))})),
        lines=source.count(b"\n") + (not source.endswith(b"\n") and bool(source)),
        functions=functions,
        classes=classes,
        imports=imports,
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
    """Yield all nodes of `tree`, except what runs only when the file is the main program."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, ast.If) and _asks_for_main(node.test)):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _asks_for_main(test: ast.expr) -> bool:
    left = test.left if isinstance(test, ast.Compare) else None
    return isinstance(left, ast.Name) and left.id == "__name__"


def _imported(node: ast.AST) -> Iterator[ImportedName]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield ImportedName(0, alias.name, "")
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ImportedName(node.level, node.module or "", "" if alias.name == "*" else alias.name)
