"""Debian's packages and maintainers: bookworm to train on, and what trixie added as the truth.

Relationships are DEPENDS (with Pre-Depends, all alternatives), RECOMMENDS, SUGGESTS, ENHANCES, and MAINTAINS
from a maintainer to a package. Bookworm is kept whole, with packages that trixie lacks; the truth joins nodes
of bookworm.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from heat_neo4j.attributes.table import Attribute
from heat_neo4j.graph import Graph
from tests.benchmarks.shelf.dataset import (
    DataSet,
    MissingDataError,
    Pairs,
    attributed,
    cache_folder,
    linked,
    truth_by_pattern,
)

__all__ = ["debian"]

TYPES: Mapping[str, tuple[str, ...]] = {
    "DEPENDS": ("Depends", "Pre-Depends"),
    "RECOMMENDS": ("Recommends",),
    "SUGGESTS": ("Suggests",),
    "ENHANCES": ("Enhances",),
}
FIELDS = {"Package", "Maintainer", "Section", "Priority", "Installed-Size", "Description", "Tag"} | {
    field for fields in TYPES.values() for field in fields
}
ATTRIBUTES = [
    Attribute("section", "Package"),
    Attribute("priority", "Package"),
    Attribute("size", "Package"),
    Attribute("tags", "Package"),
    Attribute("description", "Package", text=True),
]
READER = "/usr/lib/apt/apt-helper"
Package = Mapping[str, str]


def debian(*, most_packages: int | None = None) -> DataSet:
    """Return all packages, or those with most relationships in bookworm (of equal ones the first by name)."""
    old, new = _packages("bookworm"), _packages("trixie")
    names = sorted(old)
    links = _links(old, {name: row for row, name in enumerate(names)})
    if most_packages is not None:
        ends = np.concatenate([pairs.ravel() for pairs in links.values()])
        degrees = np.bincount(ends, minlength=len(names))
        names = sorted(names[row] for row in np.argsort(-degrees, kind="stable")[:most_packages])
    maintainers = sorted({old[name]["Maintainer"] for name in names})
    keys = names + maintainers
    row_of = {key: row for row, key in enumerate(keys)}
    n, is_package = len(keys), np.arange(len(keys)) < len(names)
    labels = {"Package": is_package, "Maintainer": ~is_package}
    nothing: list[Any] = [None] * len(maintainers)
    packages = [old[name] for name in names]
    values: dict[str, list[Any]] = {
        "section": [each.get("Section") for each in packages] + nothing,
        "priority": [each.get("Priority") for each in packages] + nothing,
        "size": [_size(each) for each in packages] + nothing,
        "tags": [_tags(each) for each in packages] + nothing,
        "description": [each.get("Description") for each in packages] + nothing,
    }
    graph = linked(
        n,
        _links(old, row_of),
        labels=labels,
        keys=keys,
        attributes=attributed(ATTRIBUTES, values, n, labels),
    )
    added = {kind: _apart(graph, pairs) for kind, pairs in _links(new, row_of).items()}
    return DataSet(graph, truth_by_pattern(graph, added))


def _apart(graph: Graph, pairs: Pairs) -> Pairs:
    """Return the pairs that nothing joins yet: others have changed their type, or were there before."""
    joined = np.asarray(graph.adjacency[pairs[:, 0], pairs[:, 1]]).ravel() != 0 if len(pairs) else []
    return pairs[~np.asarray(joined, dtype=np.bool_)]


def _links(packages: Mapping[str, Package], row_of: Mapping[str, int]) -> dict[str, Pairs]:
    """Return the relationships between nodes that have a row."""
    found = {}
    for kind, fields in TYPES.items():
        found[kind] = {
            (row_of[name], row_of[other])
            for name, package in packages.items()
            if name in row_of
            for field in fields
            for other in _named(package.get(field, ""))
            if other in row_of and other != name
        }
    found["MAINTAINS"] = {
        (row_of[package["Maintainer"]], row_of[name])
        for name, package in packages.items()
        if name in row_of and package["Maintainer"] in row_of
    }
    return {kind: np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2) for kind, pairs in found.items()}


def _named(field: str) -> Iterator[str]:
    """Yield the packages of a field such as ``libc6 (>= 2.34), python3:any | python3-minimal``."""
    for entry in re.split(r"[,|]", field):
        if name := entry.strip().partition(" ")[0].partition(":")[0].partition("(")[0]:
            yield name


def _size(package: Package) -> float | None:
    """Return the logarithm of the installed KiB."""
    size = package.get("Installed-Size")
    return None if size is None else math.log1p(int(size))


def _tags(package: Package) -> list[str] | None:
    tags = package.get("Tag", "")
    return [tag.strip() for tag in tags.split(",")] if tags else None


@cache
def _packages(release: str) -> Mapping[str, Package]:
    """Return the packages of a release by name, with `FIELDS`; of several versions the last."""
    files = sorted((cache_folder() / "lists").glob(f"*_dists_{release}_main_binary-amd64_Packages*"))
    if not files:
        raise MissingDataError(f"no package list of {release}: python -m tests.benchmarks.shelf fetch")
    # apt keeps its lists compressed in a way of its own choice.
    done = subprocess.run([READER, "cat-file", files[0]], capture_output=True, check=True)
    packages = {}
    for paragraph in done.stdout.decode().split("\n\n"):
        fields = re.findall(r"^([A-Za-z0-9-]+): ?(.*(?:\n[ \t].*)*)", paragraph, flags=re.MULTILINE)
        package = {name: value.replace("\n", "") for name, value in fields if name in FIELDS}
        if package:
            packages[package["Package"]] = package
    return packages
