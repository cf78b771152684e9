"""ICD-10-CM of the package simple-icd-10-cm: chapters, sections and codes, with what notes refer to.

PART_OF leads to the parent; EXCLUDES, CODE_FIRST, CODE_ALSO and USE_ADDITIONAL to the codes and sections that
such a note of a code names. The text is the description with the terms that it includes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from xml.etree import ElementTree

import numpy as np

from tests.benchmarks.shelf.dataset import (
    DataSet,
    attributed,
    held_out_at_random,
    linked,
    read_text,
    truth_by_pattern,
    wheel_member,
)

__all__ = ["icd"]

FILE = "simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml"
NOTES = {
    "excludes1": "EXCLUDES",
    "excludes2": "EXCLUDES",
    "codeFirst": "CODE_FIRST",
    "codeAlso": "CODE_ALSO",
    "useAdditionalCode": "USE_ADDITIONAL",
}
CODE = re.compile(r"[A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?(?:-[A-Z]\d[0-9A-Z])?")


def icd(seed: int, *, ways: Collection[str] = ("words",)) -> DataSet:
    """Return the whole tree without a random 15 % of each type."""
    root = ElementTree.fromstring(wheel_member("simple_icd_10_cm", FILE))
    nodes = {name: (parent, element) for parent, name, element in _nodes(root)}
    keys = list(nodes)
    row_of = {key: row for row, key in enumerate(keys)}
    found = defaultdict(set)
    for name, (parent, element) in nodes.items():
        if parent is not None:
            found["PART_OF"].add((row_of[name], row_of[parent]))
        for note, kind in NOTES.items():
            for text in element.iterfind(f"{note}/note"):
                for other in CODE.findall(text.text or ""):
                    if other in row_of and other != name:
                        found[kind].add((row_of[name], row_of[other]))
    triples = {kind: np.array(sorted(pairs), dtype=np.int64) for kind, pairs in found.items()}
    n, labels = len(keys), {"Code": np.ones(len(keys), dtype=np.bool_)}
    texts = [" ".join(_words(element)) for _, element in nodes.values()]
    train, test = held_out_at_random(triples, n, seed)
    graph = linked(
        n,
        train,
        labels=labels,
        keys=keys,
        attributes=attributed(read_text("text", ways), {"text": texts}, n, labels),
    )
    return DataSet(graph, truth_by_pattern(graph, test))


def _nodes(root: ElementTree.Element) -> Iterator[tuple[str | None, str, ElementTree.Element]]:
    """Yield parent, name and element of chapters, sections and codes; of a section of one code one node."""
    for chapter in root.iterfind("chapter"):
        number = f"Chapter {chapter.findtext('name')}"
        yield None, number, chapter
        for section in chapter.iterfind("section"):
            yield number, section.attrib["id"], section
            yield from _below(section.attrib["id"], section)


def _below(parent: str, element: ElementTree.Element) -> Iterator[tuple[str, str, ElementTree.Element]]:
    for child in element.iterfind("diag"):
        name = child.findtext("name") or ""
        if name != parent:
            yield parent, name, child
        yield from _below(name, child)


def _words(element: ElementTree.Element) -> Iterator[str]:
    yield element.findtext("desc") or ""
    for note in element.iterfind("inclusionTerm/note"):
        yield note.text or ""
