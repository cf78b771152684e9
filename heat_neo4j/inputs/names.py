"""Checks of node names: whether they are usable, and whether those of edges and attributes match."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from heat_neo4j.inputs.values import plain_name


def check_names(names: Sequence[Any]) -> dict[Any, int]:
    """Return the row of each name. Raises ValueError if one is missing, repeated or not hashable."""
    row_of: dict[Any, int] = {}
    for row, name in enumerate(names):
        if plain_name(name) is None:
            raise ValueError(f"the node in row {row} has no name")
        try:
            known = row_of.setdefault(name, row)
        except TypeError as error:
            kind = type(name).__name__
            what = f"the node in row {row} is named by a {kind}, {name!r}"
            raise ValueError(f"{what}: names must be texts, numbers or tuples") from error
        if known != row:
            raise ValueError(f"two nodes have the name {name!r}: rows {known} and {row}")
    return row_of


def check_names_meet(
    of_edges: Collection[Any], of_nodes: Sequence[Any], others: Mapping[str, Iterable[Any]] | None = None
) -> None:
    """Raise ValueError if names in edges and attributes should match, but do not.

    That is if none of them is, or if names of both would be equal as values of one type. Other nodes with
    attributes are isolated. `others` are names that could have been meant, by the place where they are.
    """
    known = set(of_edges)
    strangers = [name for name in of_nodes if name not in known]
    if not strangers or not known:
        return
    missing = {_plain(name): name for name in known.difference(of_nodes)}
    pairs = [(missing[plain], name) for name in strangers if (plain := _plain(name)) in missing]
    if pairs:
        edge, node = min(pairs, key=repr)
        raise ValueError(
            f"the graph has a node {_described(edge, node)}, the attributes {_described(node, edge)}, and "
            f"{len(pairs):,} of {len(of_nodes):,} nodes differ so: give both sides the same names"
        )
    if len(strangers) == len(of_nodes):
        found = [place for place, names in (others or {}).items() if not known.isdisjoint(_hashable(names))]
        hint = f"; {found[0]} has such names" if found else ""
        raise ValueError(
            f"no node with attributes is in the graph: the graph has {min(known, key=repr)!r}, "
            f"the attributes {strangers[0]!r}{hint}"
        )


def _plain(name: Any) -> Any:
    """Return a name without its type, surrounding blanks and leading zeros."""
    text = str(name).strip()
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if math.isfinite(number) and number.is_integer() else text


def _described(name: Any, other: Any) -> str:
    """Return a name for a message, with its type if only the types differ."""
    return repr(name) if type(name) is type(other) else f"{name!r} ({type(name).__name__})"


def _hashable(names: Iterable[Any]) -> list[Any]:
    return [name for name in names if not isinstance(name, list | dict)]
