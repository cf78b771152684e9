"""What a Java class file says: its name, its parents, its members' names, and which classes it names.

The format is chapter 4 of the Java Virtual Machine Specification. Code is not read: all that it refers to is
in the constant pool.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass

__all__ = ["ClassFile", "read_class"]

INTERFACE, SYNTHETIC = 0x0200, 0x1000
MODIFIERS = {0x0001: "public", 0x0010: "final", 0x0400: "abstract", 0x2000: "annotation", 0x4000: "enum"}
"""Flags of a class; another bit, 0x0020, is set everywhere and means nothing today."""

_UTF8, _LONG, _DOUBLE, _CLASS, _FIELD, _METHOD, _INTERFACE_METHOD = 1, 5, 6, 7, 9, 10, 11
_NAME_AND_TYPE, _METHOD_TYPE = 12, 16
_LAYOUTS = {
    tag: struct.Struct(layout)
    for layout, tags in {
        ">H": (_CLASS, 8, _METHOD_TYPE, 19, 20),
        ">HH": (_FIELD, _METHOD, _INTERFACE_METHOD, _NAME_AND_TYPE, 17, 18),
        ">BH": (15,),
        ">I": (3, 4),
        ">Q": (_LONG, _DOUBLE),
    }.items()
    for tag in tags
}
_U2, _U4 = struct.Struct(">H"), struct.Struct(">I")
_OBJECT_TYPE = re.compile("L([^;]+);")


@dataclass(frozen=True)
class ClassFile:
    """A class or interface as its file describes it; names have dots between packages.

    Parameters
    ----------
    name : str
        Its binary name, such as ``"java.util.Map$Entry"``.
    is_interface : bool
        Whether it is an interface; annotations are.
    modifiers : tuple of str
        Of ``public``, ``final``, ``abstract``, ``annotation``, ``enum``.
    superclass : str or None
        The class that it extends; None for ``java.lang.Object`` alone. Of an interface that is the format's
        ``java.lang.Object``.
    interfaces : tuple of str
        The interfaces that it implements, or extends if it is one.
    members : tuple of str
        Names of its fields and methods, in their order, without those that the compiler made.
    references : Counter of str
        How many constants name each other class: as a class, as the owner of a field or method, or as a type
        in a descriptor; and how many of its own fields and methods have it in their types.
    used_interfaces : frozenset of str
        Those of `references` that this file shows to be interfaces, by calling their methods as such.
    """

    name: str
    is_interface: bool
    modifiers: tuple[str, ...]
    superclass: str | None
    interfaces: tuple[str, ...]
    members: tuple[str, ...]
    references: Counter[str]
    used_interfaces: frozenset[str]


def read_class(data: bytes) -> ClassFile:
    """Read a class file.

    Raises
    ------
    ValueError
        If it is none, or ends too early.
    """
    if data[:4] != b"\xca\xfe\xba\xbe":
        raise ValueError("no class file: it does not begin with CAFEBABE")
    try:
        return _read(data)
    except (struct.error, IndexError, KeyError) as error:
        raise ValueError(f"a broken class file: {error!r}") from error


def _read(data: bytes) -> ClassFile:
    texts, constants, at = _constant_pool(data)

    def class_name(index: int) -> str:
        return texts[constants[index][1]]

    flags, own, above, n_interfaces = struct.unpack_from(">HHHH", data, at)
    interfaces = struct.unpack_from(f">{n_interfaces}H", data, at + 8)
    members, descriptors = _members(data, at + 8 + 2 * n_interfaces, texts)
    references: Counter[str] = Counter()
    used_interfaces: set[str] = set()
    for tag, *parts in constants.values():
        if tag == _CLASS:
            references.update(_classes(texts[parts[0]]))
        elif tag in (_FIELD, _METHOD, _INTERFACE_METHOD):
            owner = _classes(class_name(parts[0]))
            references.update(owner)
            if tag == _INTERFACE_METHOD:
                used_interfaces.update(owner)
        elif tag in (_NAME_AND_TYPE, _METHOD_TYPE):
            descriptors.append(texts[parts[-1]])
    for descriptor in descriptors:
        references.update(_OBJECT_TYPE.findall(descriptor))
    del references[class_name(own)]
    return ClassFile(
        name=_dotted(class_name(own)),
        is_interface=bool(flags & INTERFACE),
        modifiers=tuple(word for flag, word in MODIFIERS.items() if flags & flag),
        superclass=_dotted(class_name(above)) if above else None,
        interfaces=tuple(_dotted(class_name(index)) for index in interfaces),
        members=tuple(members),
        references=Counter({_dotted(name): count for name, count in references.items()}),
        used_interfaces=frozenset(map(_dotted, used_interfaces - {class_name(own)})),
    )


def _constant_pool(data: bytes) -> tuple[dict[int, str], dict[int, tuple[int, ...]], int]:
    """Return the texts and the other constants (tag and parts) by index, and where the pool ends."""
    texts: dict[int, str] = {}
    constants: dict[int, tuple[int, ...]] = {}
    (count,) = _U2.unpack_from(data, 8)
    at, index = 10, 1
    while index < count:
        tag = data[at]
        if tag == _UTF8:
            end = at + 3 + _U2.unpack_from(data, at + 1)[0]
            # Zeros and pairs of surrogates are written in a way of Java's own; names hardly have any.
            texts[index] = data[at + 3 : end].decode("utf-8", "replace")
            at = end
        else:
            layout = _LAYOUTS[tag]
            constants[index] = (tag, *layout.unpack_from(data, at + 1))
            at += 1 + layout.size
        index += 2 if tag in (_LONG, _DOUBLE) else 1  # these take two places
    return texts, constants, at


def _members(data: bytes, at: int, texts: dict[int, str]) -> tuple[list[str], list[str]]:
    """Return names and descriptors of fields, then methods, which begin at `at`."""
    names, descriptors = [], []
    for _ in ("fields", "methods"):
        (count,) = _U2.unpack_from(data, at)
        at += 2
        for _ in range(count):
            flags, name, descriptor, n_attributes = struct.unpack_from(">HHHH", data, at)
            at += 8
            for _ in range(n_attributes):
                at += 6 + _U4.unpack_from(data, at + 2)[0]
            descriptors.append(texts[descriptor])
            if not flags & SYNTHETIC and not texts[name].startswith("<"):
                names.append(texts[name])
    return names, descriptors


def _classes(name: str) -> list[str]:
    """Return the class that a class constant names, of an array that of its elements; none for numbers."""
    return _OBJECT_TYPE.findall(name) if name.startswith("[") else [name]


def _dotted(name: str) -> str:
    return name.replace("/", ".")
