"""Roles of columns: one set of rules for files, data frames, and edge attributes.

=========== ==================================================================================
role        names of the column
=========== ==================================================================================
ends        ``source, target``; ``from, to``; ``src, dst``; ``start, end``; ``:START_ID, :END_ID``;
            ``u, v`` (undirected)
weight      ``weight`` or ``weights``
type        ``type`` or ``:TYPE``
time        ``time``
node        ``id``, ``node``, ``node_id`` or ``:ID``
=========== ==================================================================================

Case, surrounding blanks and the types of neo4j-admin (``weight:float``, ``:START_ID(Person)``) are ignored.
If there is no pair of ends, but exactly two columns besides weight, type and time, these are the source and
the target, in this order. All other columns are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from heat_neo4j._utils.display import did_you_mean, plural
from heat_neo4j.attributes.kinds import parse_number

_ENDS = (
    ("source", "target"), ("from", "to"), ("src", "dst"), ("start", "end"), (":start_id", ":end_id"),
    ("u", "v"),
)  # fmt: skip
_UNDIRECTED = ("u", "v")
ROLES: Mapping[str, tuple[str, ...]] = {
    "weight": ("weight", "weights"),
    "type": ("type", ":type"),
    "time": ("time",),
}
_NODE = ("id", "node", "node_id", ":id")
_ADMIN = {":start_id", ":end_id", ":type", ":id"}
_ADMIN_NUMBERS = {"int", "long", "float", "double"}


@dataclass(frozen=True)
class EdgeColumns:
    """Positions of the columns of an edge table; None if missing."""

    names: tuple[str, ...]
    source: int
    target: int
    weight: int | None = None
    type: int | None = None
    time: int | None = None
    is_directed: bool = True

    def described(self, without: Sequence[str] = ()) -> str:
        """Return a description of the columns; roles in `without` were found but are not used."""
        roles = [
            (role, place)
            for role in ("source", "target", *ROLES)
            if (place := getattr(self, role)) is not None and role not in without
        ]
        used = {place for _, place in roles}
        left_out = [name for place, name in enumerate(self.names) if place not in used]
        names = self.names or [f"column {place}" for place in (1, 2, 3)]
        text = ", ".join(f"{role} = {names[place]}" for role, place in roles)
        return f"{text}; left out: {', '.join(left_out)}" if left_out else text

    def reading(
        self, without: Sequence[str], n_edges: int, first: Sequence[object], *, is_directed: bool
    ) -> str:
        """Return a description of the columns, the number of edges, and the first edge."""
        edges = plural(n_edges, f"{'directed' if is_directed else 'undirected'} edge")
        example = f"; first: {first[0]} -> {first[1]}" if first else ""
        return f"{self.described(without)}; {edges}{example}"


def edge_columns(names: Sequence[str], chosen: Mapping[str, str | None] | None = None) -> EdgeColumns:
    """Return the roles of the columns of an edge table; `chosen` names columns for some roles.

    Raises ValueError if the rules are ambiguous, or a chosen column does not exist.
    """
    chosen = chosen or {}
    found = {role: find_column(names, role, chosen.get(role)) for role in ROLES}
    ends, is_directed = _ends(names, chosen, {place for place in found.values() if place is not None})
    return EdgeColumns(
        tuple(names), *ends, found["weight"], found["type"], found["time"], is_directed=is_directed
    )


def find_column(names: Sequence[str], role: str, chosen: str | None = None) -> int | None:
    """Return the position of the chosen column, or of the column with a name of the role; None if missing.

    Raises ValueError if the chosen column does not exist, or two columns have a name of the role.
    """
    if chosen is not None:
        if chosen not in names:
            known = ", ".join(names) or "none"
            hint = did_you_mean(chosen, names) or f": there are {known}"
            raise ValueError(f"no column or attribute of the edges is named {chosen!r}{hint}")
        return list(names).index(chosen)
    places = [place for place, name in enumerate(names) if _plain(name) in ROLES[role]]
    if len(places) > 1:
        both = " and ".join(repr(names[place]) for place in places[:2])
        raise ValueError(f"two columns could hold the {role} of an edge, {both}: remove or rename one")
    return places[0] if places else None


def has_edge_header(cells: Sequence[str]) -> bool:
    """Return whether a first line is a header: it has a pair of ends, or a role after the second cell.

    A line with a number is not a header.
    """
    plain = [_plain(cell) for cell in cells]
    if any(parse_number(cell) is not None for cell in plain):
        return False
    roles = {name for names in ROLES.values() for name in names}
    return any(set(pair) <= set(plain) for pair in _ENDS) or bool(roles & set(plain[2:]))


def node_column(names: Sequence[str]) -> int | None:
    """Return the position of the column with node names, if there is one with a standard name."""
    plain = [_plain(name) for name in names]
    return next((plain.index(name) for name in _NODE if name in plain), None)


def _ends(
    names: Sequence[str], chosen: Mapping[str, str | None], taken: set[int]
) -> tuple[tuple[int, int], bool]:
    ends = [chosen.get("source"), chosen.get("target")]
    if ends != [None, None]:
        if None in ends:
            raise ValueError("give both source and target, or neither")
        first, second = (find_column(names, "ends", end) for end in ends)
        return (first or 0, second or 0), True
    plain = [_plain(name) for name in names]
    for pair in _ENDS:
        if set(pair) <= set(plain):
            double = next((end for end in pair if plain.count(end) > 1), None)
            if double is not None:
                raise ValueError(f"two columns are named {double!r}: remove or rename one")
            return (plain.index(pair[0]), plain.index(pair[1])), pair != _UNDIRECTED
    for name, other in _halves(plain):
        raise ValueError(f"there is a column {name!r} but no {other!r}{did_you_mean(other, names)}")
    left = [place for place in range(len(names)) if place not in taken]
    if len(left) != 2:
        columns = ", ".join(names)
        raise ValueError(
            f"which columns are the two ends of an edge, of {columns}? Name them source and target"
            if len(names) > 1
            else f"it needs two columns, the sources and the targets, and has only {columns or 'none'}"
        )
    return (left[0], left[1]), True


def _halves(plain: Sequence[str]) -> Iterator[tuple[str, str]]:
    for pair in _ENDS:
        for name, other in (pair, pair[::-1]):
            if name in plain and pair != _UNDIRECTED:
                yield name, other


def _plain(name: str) -> str:
    """Return a column's name in the normal form that the rules compare.

    >>> _plain(" Weight "), _plain("weight:float"), _plain("from:START_ID(Person)")
    ('weight', 'weight', ':start_id')
    """
    text = name.strip().casefold()
    head, colon, kind = text.rpartition(":")
    kind = kind.partition("(")[0]
    if colon and f":{kind}" in _ADMIN:
        return f":{kind}"
    return head if colon and kind in _ADMIN_NUMBERS else text
