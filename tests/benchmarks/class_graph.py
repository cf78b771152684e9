"""The classes of the Neo4j server's own jars, and how they hang together: a real graph for every machine.

Nodes are the classes and interfaces of the jars of release 5.26, and those of the JDK and other libraries
that they name. They extend, implement and refer to each other: about a million relationships, with hubs
(``java.lang.Object``, ``java.lang.String``) that are joined to most nodes. Reading takes half a minute; what
was read is kept in the user's cache folder.

::

    from tests.benchmarks.class_graph import class_graph, load_classes

    classes = class_graph()               # read once, then from the cache
    graph = classes.to_graph()            # without a server: rows and attributes as the product reads them
    load_classes(driver, classes)         # into a live one; PROJECTION reads it again
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from zipfile import ZipFile

import neo4j
import numpy as np
import platformdirs
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.progress import no_progress
from heat_neo4j.attributes.table import AttributeTable
from heat_neo4j.database.projection import Projection
from heat_neo4j.demo.stdlib import name_words
from heat_neo4j.graph import Graph, Provenance
from heat_neo4j.local_server.folders import heat_home
from heat_neo4j.local_server.jars import install_jars
from heat_neo4j.local_server.releases import find_release
from tests.benchmarks import class_file
from tests.benchmarks.class_file import ClassFile, read_class

__all__ = ["PROJECTION", "ClassGraph", "class_graph", "load_classes", "read_jars"]

RELEASE = "5.26"
LABELS = ("Class", "Interface")
TYPES = ("EXTENDS", "IMPLEMENTS", "REFERS_TO")
PROJECTION = Projection(
    LABELS, TYPES, weight="count", attributes=["package", "modifiers", "words"], key="name"
)
"""What the product is to read of the classes in a database."""

BATCH = 10_000


@dataclass(frozen=True, eq=False)
class ClassGraph:
    """N classes and interfaces, and M relationships between their rows.

    Parameters
    ----------
    names : list of str
        Binary names, sorted.
    is_interface : bool array of shape (N,)
        Which are interfaces. Of a class that has no file here: whether one is called or implemented as such.
    packages : list of str
        Of each, such as ``"java.util"``.
    modifiers, words : list of list of str
        Of each, none where there is no file: such as ``public``; and the words of its own name and of its
        fields and methods, in lower case, those that another one has too.
    artifacts : list of str
        The jar that each is in, without version; empty where there is no file.
    type, source, target, count : int64 array of shape (M,)
        Of each relationship its place in `TYPES`, its two ends, and how many constants make it; sorted.
    """

    names: Sequence[str]
    is_interface: NDArray[np.bool_]
    packages: Sequence[str]
    modifiers: Sequence[Sequence[str]]
    words: Sequence[Sequence[str]]
    artifacts: Sequence[str]
    type: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    count: NDArray[np.int64]

    def to_graph(self) -> Graph:
        """Return the graph as the product reads `PROJECTION`: undirected, weighted, with attributes."""
        n = len(self.names)
        rows = np.arange(n)
        labels = {"Class": ~self.is_interface, "Interface": self.is_interface}
        table = AttributeTable(PROJECTION.all_attributes, n, max_categories=PROJECTION.max_categories)
        table.add(rows, {"package": self.packages, "modifiers": self.modifiers, "words": self.words})
        attributes = table.finish(rows)
        ends = (self.source, self.target)
        return Graph(
            sparse.csr_array((self.count.astype(np.float64), ends), shape=(n, n)),
            attributes.matrix,
            labels=labels,
            attribute_names=attributes.names,
            provenance=Provenance(PROJECTION.to_dict(), {"nodes": n}, attributes.recipe),
        )


def class_graph() -> ClassGraph:
    """Return the classes of the server's jars, from the cache if they have been read before.

    The jars are downloaded if they are not there, as for a local server.

    Raises
    ------
    LocalServerError
        If they cannot be had.
    """
    release = find_release(RELEASE)
    sources = b"".join(Path(file).read_bytes() for file in (__file__, class_file.__file__))
    reader = hashlib.sha256(sources).hexdigest()[:12]
    folder = Path(platformdirs.user_cache_dir("heat-neo4j", appauthor=False))
    cached = folder / f"classes-{release.version}-{reader}.npz"
    if not cached.exists():
        _save(read_jars(install_jars(release, heat_home() / "jars", on_progress=no_progress)), cached)
    return _load(cached)


def read_jars(jars: Iterable[Path]) -> ClassGraph:
    """Read all classes of some jars; of several files of one name the first counts, as on a class path."""
    files: dict[str, ClassFile] = {}
    artifacts: dict[str, str] = {}
    for jar in jars:
        for found in _classes(jar):
            if found.name not in files:
                files[found.name] = found
                artifacts[found.name] = jar.parent.parent.name  # in Maven layout
    return _assemble(files, artifacts)


def load_classes(driver: neo4j.Driver, classes: ClassGraph) -> None:
    """Load the classes into a database without any, under the names that `PROJECTION` has."""
    masks = {"Class": ~classes.is_interface, "Interface": classes.is_interface}
    with driver.session() as session:

        def run(statement: str, rows: Sequence[object]) -> None:
            for begin in range(0, len(rows), BATCH):
                session.run(f"UNWIND $rows AS row {statement}", rows=rows[begin : begin + BATCH]).consume()

        for label, mask in masks.items():
            session.run(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.name IS UNIQUE").consume()
            nodes = [_properties(classes, row) for row in np.flatnonzero(mask).tolist()]
            run(f"CREATE (n:{label}) SET n = row", nodes)
        for (place, type_), start, end in product(enumerate(TYPES), masks, masks):
            here = (classes.type == place) & masks[start][classes.source] & masks[end][classes.target]
            ends = (
                classes.source[here].tolist(),
                classes.target[here].tolist(),
                classes.count[here].tolist(),
            )
            run(
                f"MATCH (a:{start} {{name: row[0]}}) MATCH (b:{end} {{name: row[1]}})"
                f" CREATE (a)-[:{type_} {{count: row[2]}}]->(b)",
                [[classes.names[a], classes.names[b], count] for a, b, count in zip(*ends, strict=True)],
            )


def _classes(jar: Path) -> Iterator[ClassFile]:
    """Yield the classes of a jar, but for variants for other Java versions and files that hold no class."""
    with ZipFile(jar) as archive:
        for name in archive.namelist():
            simple = name.rpartition("/")[2]
            described = simple in {"module-info.class", "package-info.class"}
            if simple.endswith(".class") and not described and not name.startswith("META-INF/"):
                yield read_class(archive.read(name))


def _relationships(file: ClassFile) -> Iterator[tuple[int, str, int]]:
    """Yield (place in `TYPES`, other class, count); what is a parent is not counted as a reference again."""
    parents = list(file.interfaces)
    if file.superclass is not None:
        parents.append(file.superclass)
        if not file.is_interface:
            yield 0, file.superclass, 1
    for parent in file.interfaces:
        yield (0 if file.is_interface else 1), parent, 1
    for other, count in (file.references - Counter(parents)).items():
        yield 2, other, count


def _assemble(files: Mapping[str, ClassFile], artifacts: Mapping[str, str]) -> ClassGraph:
    interfaces = {name for name, file in files.items() if file.is_interface}
    named = set(files)
    for file in files.values():
        named.update(file.references)
        interfaces.update(other for other in (*file.interfaces, *file.used_interfaces) if other not in files)
    names = sorted(named)
    row_of = {name: row for row, name in enumerate(names)}
    found = sorted(
        (row_of[name], place, row_of[other], count)
        for name, file in files.items()
        for place, other, count in _relationships(file)
    )
    source, kind, target, count = np.array(found, dtype=np.int64).reshape(-1, 4).T.copy()
    words = [_words(name, files.get(name)) for name in names]
    spread = Counter(word for of in words for word in of)
    return ClassGraph(
        names=names,
        is_interface=np.array([name in interfaces for name in names], dtype=np.bool_),
        packages=[name.rpartition(".")[0] for name in names],
        modifiers=[list(files[name].modifiers) if name in files else [] for name in names],
        words=[[word for word in of if spread[word] > 1] for of in words],
        artifacts=[artifacts.get(name, "") for name in names],
        type=kind,
        source=source,
        target=target,
        count=count,
    )


def _words(name: str, file: ClassFile | None) -> list[str]:
    texts = [name.rpartition(".")[2], *(file.members if file else ())]
    return sorted({word for text in texts for word in name_words(text)})


def _properties(classes: ClassGraph, row: int) -> dict[str, object]:
    return {
        "name": classes.names[row],
        "package": classes.packages[row],
        "modifiers": classes.modifiers[row],
        "words": classes.words[row],
        "artifact": classes.artifacts[row] or None,
    }


_ARRAYS = ("is_interface", "type", "source", "target", "count")
_LISTS = ("names", "packages", "modifiers", "words", "artifacts")


def _save(classes: ClassGraph, path: Path) -> None:
    """Write atomically, so that a killed reader leaves nothing that looks whole."""
    lists = json.dumps({name: getattr(classes, name) for name in _LISTS}).encode()
    arrays = {name: getattr(classes, name) for name in _ARRAYS}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
        np.savez_compressed(file, lists=np.frombuffer(lists, dtype=np.uint8), **arrays)
    os.replace(file.name, path)


def _load(path: Path) -> ClassGraph:
    with np.load(path) as file:
        arrays = {name: file[name] for name in _ARRAYS}
        return ClassGraph(**json.loads(file["lists"].tobytes()), **arrays)
