"""Debian's packages and maintainers: bookworm to train on, and what trixie added as the truth.

Relationships are DEPENDS (with Pre-Depends, all alternatives), RECOMMENDS, SUGGESTS, ENHANCES, and MAINTAINS
from a maintainer to a package. Bookworm is kept whole, with packages that trixie lacks; the truth joins nodes
of bookworm. If dated, edges that bullseye had are earlier than those that bookworm added.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.attributes.table import Attribute
from heat_neo4j.graph import Graph
from tests.benchmarks.shelf.dataset import (
    DataSet,
    MissingDataError,
    Pairs,
    attributed,
    cache_folder,
    linked,
    read_text,
    truth_by_pattern,
)

__all__ = ["debian", "debian_grown"]

TYPES: Mapping[str, tuple[str, ...]] = {
    "DEPENDS": ("Depends", "Pre-Depends"),
    "RECOMMENDS": ("Recommends",),
    "SUGGESTS": ("Suggests",),
    "ENHANCES": ("Enhances",),
}
FIELDS = {"Package", "Source", "Maintainer", "Section", "Priority", "Installed-Size", "Description"} | {
    field for fields in (("Tag",), *TYPES.values()) for field in fields
}
ATTRIBUTES = [
    Attribute("section", "Package"),
    Attribute("priority", "Package"),
    Attribute("size", "Package"),
    Attribute("tags", "Package"),
]
READER = "/usr/lib/apt/apt-helper"
Package = Mapping[str, str]
Mask = NDArray[np.bool_]


def debian(
    *, most_packages: int | None = None, ways: Collection[str] = ("words",), is_dated: bool = False
) -> DataSet:
    """Return all packages, or those with most relationships in bookworm (of equal ones the first by name)."""
    old, new = _packages("bookworm"), _packages("trixie")
    graph, row_of = _graph(old, _of_most_relationships(old, most_packages), ways)
    added = {kind: _apart(graph, pairs) for kind, pairs in _links(new, row_of).items()}
    if is_dated:
        older = np.sort(np.concatenate(list(_links(_packages("bullseye"), row_of).values())), axis=1)
        edges, n = np.column_stack((graph.edges.row, graph.edges.col)).astype(np.int64), graph.n_nodes
        graph = replace(graph, edge_times=(~np.isin(edges @ (n, 1), older @ (n, 1))).astype(np.float64))
    return DataSet(graph, truth_by_pattern(graph, added))


def debian_grown(*, most_packages: int | None = None, most_new: int | None = None) -> tuple[Graph, Mask]:
    """Return bookworm with packages that are new in trixie, and which nodes those are.

    Parameters
    ----------
    most_packages : int, optional
        Only this many of bookworm's packages, as for `debian`.
    most_new : int, optional
        Only this many new packages, drawn at random from those that depend on one of the old ones.
    """
    old, new = _packages("bookworm"), _packages("trixie")
    names = _of_most_relationships(old, most_packages)
    there = set(names)
    joined = [
        name
        for name in sorted(new.keys() - old.keys())
        if any(other in there for field in TYPES["DEPENDS"] for other in _named(new[name].get(field, "")))
    ]
    if most_new is not None:
        drawn = np.random.default_rng(0).permutation(len(joined))[:most_new]
        joined = [joined[place] for place in sorted(drawn)]
    packages = {**{name: old[name] for name in names}, **{name: new[name] for name in joined}}
    graph, row_of = _graph(packages, sorted(packages))
    is_new = np.zeros(graph.n_nodes, dtype=np.bool_)
    is_new[[row_of[name] for name in joined]] = True
    # A maintainer of new packages alone is as new as they are.
    is_new |= graph.labels["Maintainer"] & (graph.adjacency @ ~is_new == 0)
    return graph, is_new


def _of_most_relationships(packages: Mapping[str, Package], most: int | None) -> list[str]:
    """Return the names of all packages, or of those with most relationships, in order."""
    names = sorted(packages)
    if most is None:
        return names
    links = _links(packages, {name: row for row, name in enumerate(names)})
    ends = np.concatenate([pairs.ravel() for pairs in links.values()])
    degrees = np.bincount(ends, minlength=len(names))
    return sorted(names[row] for row in np.argsort(-degrees, kind="stable")[:most])


def _graph(
    packages: Mapping[str, Package], names: Sequence[str], ways: Collection[str] = ("words",)
) -> tuple[Graph, dict[str, int]]:
    """Return the graph of some packages and their maintainers, and the row of each by its name."""
    maintainers = sorted({packages[name]["Maintainer"] for name in names})
    keys = [*names, *maintainers]
    row_of = {key: row for row, key in enumerate(keys)}
    n, is_package = len(keys), np.arange(len(keys)) < len(names)
    labels = {"Package": is_package, "Maintainer": ~is_package}
    nothing: list[Any] = [None] * len(maintainers)
    chosen = [packages[name] for name in names]
    values: dict[str, list[Any]] = {
        "section": [each.get("Section") for each in chosen] + nothing,
        "priority": [each.get("Priority") for each in chosen] + nothing,
        "size": [_size(each) for each in chosen] + nothing,
        "tags": [_tags(each) for each in chosen] + nothing,
        "description": [each.get("Description") for each in chosen] + nothing,
    }
    texts = read_text("description", ways, "Package")
    attributes = attributed([*ATTRIBUTES, *texts], values, n, labels)
    return linked(n, _links(packages, row_of), labels=labels, keys=keys, attributes=attributes), row_of


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
