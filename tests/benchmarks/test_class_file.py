"""The reader of Java class files and the graph made of them, against class files written byte by byte."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from tests.benchmarks.class_file import read_class
from tests.benchmarks.class_graph import read_jars

PUBLIC, FINAL, SUPER, INTERFACE, ABSTRACT, SYNTHETIC = 0x1, 0x10, 0x20, 0x200, 0x400, 0x1000


class Pool:
    """A constant pool in the making; each method returns the index of an entry."""

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.size = 1

    def add(self, tag: int, layout: str, *parts: int, places: int = 1) -> int:
        self.entries.append(bytes([tag]) + struct.pack(layout, *parts))
        self.size += places
        return self.size - places

    def text(self, value: str) -> int:
        data = value.encode()
        self.entries.append(struct.pack(">BH", 1, len(data)) + data)
        self.size += 1
        return self.size - 1

    def of(self, name: str) -> int:
        return self.add(7, ">H", self.text(name))

    def member(self, tag: int, owner: int, name: str, descriptor: str) -> int:
        named = self.add(12, ">HH", self.text(name), self.text(descriptor))
        return self.add(tag, ">HH", owner, named)


def class_bytes(pool: Pool, flags: int, own: int, above: int, interfaces=(), fields=(), methods=()) -> bytes:
    """Return a class file; `fields` and `methods` have (flags, name, descriptor, attributes)."""
    body = struct.pack(f">HHHH{len(interfaces)}H", flags, own, above, len(interfaces), *interfaces)
    for members in (fields, methods):
        body += struct.pack(">H", len(members))
        for member_flags, name, descriptor, attributes in members:
            body += struct.pack(
                ">HHHH", member_flags, pool.text(name), pool.text(descriptor), len(attributes)
            )
            body += b"".join(struct.pack(">HI", 1, len(data)) + data for data in attributes)
    body += struct.pack(">H", 0)
    return b"\xca\xfe\xba\xbe" + struct.pack(">HHH", 0, 61, pool.size) + b"".join(pool.entries) + body


def cat() -> bytes:
    """Return the class a.Cat, which extends a.Animal, implements b.Pet and uses all kinds of constants."""
    pool = Pool()
    own, above, pet = pool.of("a/Cat"), pool.of("a/Animal"), pool.of("b/Pet")
    pool.add(5, ">Q", 2**60, places=2)
    pool.add(6, ">Q", 0, places=2)
    pool.add(3, ">I", 7)
    pool.add(4, ">I", 0)
    pool.add(8, ">H", pool.text("LNot/A/Type;"))
    pool.of("[[Lb/Toy;")
    pool.of("[I")
    field = pool.member(9, own, "name", "Ljava/lang/String;")
    pool.member(10, above, "<init>", "()V")
    list_ = pool.of("java/util/List")
    add = pool.member(11, list_, "add", "(Ljava/lang/Object;)Z")
    pool.add(15, ">BH", 5, add)
    pool.add(16, ">H", pool.text("(Lb/Toy;[Lb/Toy;)Ljava/lang/String;"))
    pool.add(17, ">HH", 0, field)
    pool.add(18, ">HH", 0, field)
    fields = [(2, "name", "Ljava/lang/String;", [b"\x00\x01"]), (SYNTHETIC, "this$0", "La/House;", [])]
    methods = [
        (1, "<init>", "()V", [b"code" * 70_000]),
        (1, "chaseMouse", "(Lb/Mouse;IJ)[Lb/Mouse;", [b"", b"x"]),
        (SYNTHETIC, "lambda$chaseMouse$0", "()V", []),
    ]
    return class_bytes(pool, PUBLIC | FINAL | SUPER, own, above, [pet], fields, methods)


def pet() -> bytes:
    pool = Pool()
    own, above, named = pool.of("b/Pet"), pool.of("java/lang/Object"), pool.of("b/Named")
    methods = [(1, "feedMouse", "()V", [])]
    return class_bytes(pool, PUBLIC | INTERFACE | ABSTRACT, own, above, [named], methods=methods)


def test_a_class():
    found = read_class(cat())
    assert found.name == "a.Cat"
    assert not found.is_interface
    assert found.modifiers == ("public", "final")
    assert found.superclass == "a.Animal"
    assert found.interfaces == ("b.Pet",)
    assert found.members == ("name", "chaseMouse")
    assert found.used_interfaces == {"java.util.List"}
    assert found.references == Counter(
        {
            "a.Animal": 2,  # as a class, as owner of its constructor
            "b.Pet": 1,
            "b.Toy": 3,  # as an array, twice in a method type
            "java.lang.String": 3,  # type of a field used, in a method type, type of an own field
            "java.util.List": 2,
            "java.lang.Object": 1,
            "a.House": 1,
            "b.Mouse": 2,
        }
    )


def test_an_interface():
    found = read_class(pet())
    assert found.is_interface
    assert found.modifiers == ("public", "abstract")
    assert found.superclass == "java.lang.Object"
    assert found.interfaces == ("b.Named",)


def test_the_root_has_no_superclass():
    pool = Pool()
    assert read_class(class_bytes(pool, PUBLIC, pool.of("java/lang/Object"), 0)).superclass is None


@pytest.mark.skipif(shutil.which("javap") is None, reason="Java's own reader is not there")
def test_the_files_written_here_are_class_files(tmp_path: Path):
    (tmp_path / "Cat.class").write_bytes(cat())
    command = ["javap", "-p", "-cp", str(tmp_path), str(tmp_path / "Cat.class")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "public final class a.Cat extends a.Animal implements b.Pet {" in told
    assert "public b.Mouse[] chaseMouse(b.Mouse, int, long);" in told
    assert "private java.lang.String name;" in told


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", cat()[:-1][:700], b"\xca\xfe\xba\xbe\0\0\0=\0\x02\x63"])
def test_what_is_no_class_file_is_refused(data: bytes):
    with pytest.raises(ValueError, match="class file"):
        read_class(data)


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "org/zoo/1.0/zoo-1.0.jar"
    path.parent.mkdir(parents=True)
    with ZipFile(path, "w") as archive:
        archive.writestr("a/Cat.class", cat())
        archive.writestr("b/Pet.class", pet())
        archive.writestr("META-INF/versions/21/b/Pet.class", b"another variant")
        archive.writestr("module-info.class", b"no class")
        archive.writestr("a/readme.txt", b"no class")
    return path


def test_the_graph_of_a_jar(jar: Path):
    classes = read_jars([jar])
    rows = {name: row for row, name in enumerate(classes.names)}
    assert list(classes.names) == sorted(rows)
    types = ("EXTENDS", "IMPLEMENTS", "REFERS_TO")
    found = {
        (classes.names[a], types[kind], classes.names[b]): count
        for a, kind, b, count in zip(
            classes.source, classes.type, classes.target, classes.count.tolist(), strict=True
        )
    }
    assert found == {
        ("a.Cat", "EXTENDS", "a.Animal"): 1,
        ("a.Cat", "IMPLEMENTS", "b.Pet"): 1,
        ("a.Cat", "REFERS_TO", "a.Animal"): 1,  # besides being its parent
        ("a.Cat", "REFERS_TO", "b.Toy"): 3,
        ("a.Cat", "REFERS_TO", "java.lang.String"): 3,
        ("a.Cat", "REFERS_TO", "java.util.List"): 2,
        ("a.Cat", "REFERS_TO", "java.lang.Object"): 1,
        ("a.Cat", "REFERS_TO", "a.House"): 1,
        ("a.Cat", "REFERS_TO", "b.Mouse"): 2,
        ("b.Pet", "EXTENDS", "b.Named"): 1,
    }
    interfaces = {name for name, row in rows.items() if classes.is_interface[row]}
    assert interfaces == {"b.Pet", "b.Named", "java.util.List"}
    assert classes.packages[rows["java.util.List"]] == "java.util"
    assert classes.words[rows["a.Cat"]] == ["mouse"]  # "cat" and "chase" are of it alone
    assert classes.artifacts[rows["a.Cat"]] == "zoo"
    assert classes.artifacts[rows["b.Mouse"]] == ""


def test_the_graph_without_a_server(jar: Path):
    classes = read_jars([jar])
    graph = classes.to_graph()
    rows = {name: row for row, name in enumerate(classes.names)}
    assert graph.adjacency[rows["a.Cat"], rows["a.Animal"]] == 2.0
    assert graph.adjacency[rows["java.lang.String"], rows["a.Cat"]] == 3.0
    assert np.array_equal(graph.labels["Interface"], classes.is_interface)
    assert re.search("words=mouse", " ".join(graph.attribute_names))
