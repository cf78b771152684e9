"""`Pattern`: source label, relationship type, target label; links are predicted by pattern.

As a source of a type, a node with several labels counts under one: the rarest label that all sources of the
type share. If there is none, it is the label that most sources have; the rest count under the label that most
of the rest have, and so on. The same applies to targets. Nodes count under their rarest labels instead if
these leave out many nodes that never have the role, and have one partner each.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j.graph import Triple

NO_LABEL = ""
"""Label of nodes without labels."""

_SHOWN = 3  # maximum patterns named in a note
_FEWEST = 10  # minimum relationships of a pattern that is predicted by default
_SHARE = 0.1  # minimum share of a type's relationships of a pattern by rarest labels
_STAY = 2 / 3  # maximum share of the sources, or of the targets, that these leave

_QUOTED = r"`(?:[^`]|``)+`"
_NAME = rf"({_QUOTED}|[^`()\[\]>]*?)"
_SPEC = re.compile(rf"\(?:?{_NAME}\)?-\[?:?{_NAME}\]?->\(?:?{_NAME}\)?")
_PLAIN = re.compile(r"[^`()\[\]:>*?-]*")


class Pattern(NamedTuple):
    """Relationships of one type from nodes with one label to nodes with one label."""

    source: str
    type: str
    target: str

    def __str__(self) -> str:
        """Return the pattern in the syntax of `chosen_patterns`, such as ``User-RATED->Movie``."""
        source, kind, target = map(_quoted, self)
        return f"{source}-{kind}->{target}"


def observed_patterns(schema: Mapping[Triple, int], carriers: Mapping[str, int]) -> dict[Pattern, int]:
    """Return the patterns of a graph with relationship counts, sorted by type, then descending count.

    Each relationship belongs to one pattern. `schema` counts relationships by source labels, type and target
    labels; `carriers` counts the nodes with each label.
    """
    counts: Counter[Pattern] = Counter()
    by_type: defaultdict[str, dict[Triple, int]] = defaultdict(dict)
    for triple, count in schema.items():
        by_type[triple[1]][triple] = count
    for kind in sorted(by_type):
        own = by_type[kind]
        shared = _counted(own, *(_one_label_each(own, end, carriers) for end in (0, 2)))
        counts += _narrowed(own, shared, carriers) or shared
    return dict(sorted(counts.items(), key=lambda item: (item[0].type, -item[1], item[0])))


def common_patterns(observed: Mapping[Pattern, int]) -> dict[Pattern, int]:
    """Return the patterns with enough relationships to predict links.

    A pattern is too rare if it has fewer than 10 relationships and less than a tenth of the graph's.
    """
    fewest = _fewest(observed.values())
    return {pattern: count for pattern, count in observed.items() if count >= fewest}


def rare_patterns_note(observed: Mapping[Pattern, int]) -> str | None:
    """Return a one-line note on patterns that are too rare, or None if there are none."""
    common = common_patterns(observed)
    rare = [pattern for pattern in observed if pattern not in common]
    if not rare:
        return None
    what = "1 pattern has" if len(rare) == 1 else f"{len(rare):,} patterns have"
    n_types = len({pattern.type for pattern in rare})
    of = "" if n_types == 1 else f" of {n_types:,} relationship types"
    few = ", ".join(map(str, rare[:_SHOWN])) + (", ..." if len(rare) > _SHOWN else "")
    return (
        f"no links are predicted for rare patterns: {what} fewer than {_fewest(observed.values())} "
        f"relationships{of} ({few}); name one in `patterns` to predict it anyway"
    )


def _fewest(counts: Collection[int]) -> int:
    return min(_FEWEST, -(-sum(counts) // 10))


def chosen_patterns(
    specs: Sequence[str | Sequence[str]], schema: Mapping[Triple, int], carriers: Mapping[str, int]
) -> dict[Pattern, int]:
    """Return the requested patterns with relationship counts, in the requested order.

    Parameters
    ----------
    specs : sequence of str or of (source, type, target)
        ``User-RATED->Movie`` or ``(User)-[RATED]->(Movie)``. ``*`` matches any text, ``?`` any character.
        Write names that contain ``*``, ``?`` or ``-`` in backticks. A name without wildcards can be any
        label, including labels under which `observed_patterns` does not count nodes.
    schema, carriers
        As for `observed_patterns`.

    Raises
    ------
    ValueError
        If a pattern is malformed or matches no relationship of the graph.
    """
    observed = observed_patterns(schema, carriers)
    chosen: dict[Pattern, int] = {}
    for spec in specs:
        wanted = _parsed(spec)
        found = dict(_matches(wanted, observed, schema))
        if not found:
            raise ValueError(_no_such(spec, wanted, observed, carriers))
        chosen.update(found)
    return chosen


def _one_label_each(
    own: Mapping[Triple, int], end: int, carriers: Mapping[str, int]
) -> dict[tuple[str, ...], str]:
    """Return the label that stands for each label set at one end of a type."""
    ends: Counter[tuple[str, ...]] = Counter()
    for triple, count in own.items():
        ends[triple[0] if end == 0 else triple[2]] += count
    under: dict[tuple[str, ...], str] = {labels: NO_LABEL for labels in ends if not labels}
    covered: Counter[str] = Counter()
    carrying: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for labels, count in ends.items():
        for label in labels:
            covered[label] += count
            carrying[label].append(labels)
    best_first = [(-count, carriers.get(label, 0), label) for label, count in covered.items()]
    heapify(best_first)
    while len(under) < len(ends):
        count, _, best = heappop(best_first)
        if -count != covered[best]:  # outdated: another label has taken some of its nodes
            continue
        for labels in carrying[best]:
            if labels in under:
                continue
            under[labels] = best
            for label in labels:
                covered[label] -= ends[labels]
                heappush(best_first, (-covered[label], carriers.get(label, 0), label))
    return under


def _narrowed(
    own: Mapping[Triple, int], shared: Counter[Pattern], carriers: Mapping[str, int]
) -> Counter[Pattern] | None:
    """Return the patterns of a type by each node's rarest label; None if they are no better than `shared`.

    City-PART_OF->State and State-PART_OF->Country are better than Place-PART_OF->Place: no country is part
    of a place.
    """
    rarest = {
        labels: min(labels, key=lambda label: (carriers.get(label, 0), label), default=NO_LABEL)
        for triple in own
        for labels in (triple[0], triple[2])
    }
    narrow = _counted(own, rarest, rarest)
    if min(narrow.values()) < min(_SHARE * sum(own.values()), *shared.values()):
        return None
    now, before = ([{pattern[end] for pattern in each} for end in (0, 2)] for each in (narrow, shared))
    if len(narrow) > max(map(len, now)):  # a label has several partners
        return None
    n_now, n_before = (
        [sum(carriers.get(label, 0) for label in labels) for labels in each] for each in (now, before)
    )
    stay = [few / many if many else 1.0 for few, many in zip(n_now, n_before, strict=True)]
    return narrow if max(stay) <= 1.0 and min(stay) <= _STAY else None


def _counted(
    own: Mapping[Triple, int],
    sources: Mapping[tuple[str, ...], str],
    targets: Mapping[tuple[str, ...], str],
) -> Counter[Pattern]:
    counts: Counter[Pattern] = Counter()
    for (source, kind, target), count in own.items():
        counts[Pattern(sources[source], kind, targets[target])] += count
    return counts


class _Name(NamedTuple):
    text: str
    is_literal: bool  # whether * and ? are literal characters

    def __str__(self) -> str:
        return _quoted(self.text) if self.is_literal else self.text

    def matches(self, name: str) -> bool:
        return name == self.text if self.is_literal else fnmatchcase(name, self.text)


def link_limits(k: int, patterns: Mapping[Pattern, int]) -> list[int]:
    """Return the maximum number of links per node for each pattern, out of `k`.

    The `k` links are divided evenly among the patterns with the same source label, or with the same target
    label if these are fewer. Each pattern gets at least one.
    """
    sources, targets = (Counter(pattern[end] for pattern in patterns) for end in (0, 2))
    limits = []
    for pattern in patterns:
        sharing = min(sources[pattern.source], targets[pattern.target])
        limits.append(-(-k // sharing))
    return limits


def check_pattern(spec: str | Sequence[str]) -> str:
    """Return a requested pattern as text; raises ValueError if it is malformed."""
    source, kind, target = _parsed(spec)
    return spec if isinstance(spec, str) else f"{source}-{kind}->{target}"


def _parsed(spec: str | Sequence[str]) -> tuple[_Name, _Name, _Name]:
    if not isinstance(spec, str):
        if len(spec) != 3 or not all(isinstance(name, str) for name in spec):
            raise ValueError(f"a pattern is a source label, a type and a target label, got {spec!r}")
        source, kind, target = (_Name(name, name == NO_LABEL or not _has_wildcard(name)) for name in spec)
        return source, kind, target
    match = _SPEC.fullmatch(spec.strip())
    if match is None or not match[2]:
        example = f", such as *-{spec}->*" if spec.isidentifier() else ""
        raise ValueError(
            f"{spec!r} is not a pattern: write User-RATED->Movie, with * for any name{example}, and names "
            "with a hyphen in backticks"
        )
    source, kind, target = (_unquoted(name) for name in match.groups())
    return source, kind, target


def _matches(
    wanted: tuple[_Name, _Name, _Name], observed: Mapping[Pattern, int], schema: Mapping[Triple, int]
) -> Iterator[tuple[Pattern, int]]:
    """Yield the matching patterns: observed ones, and those with labels given literally."""
    source, kind, target = wanted
    for types in sorted({pattern.type for pattern in observed if kind.matches(pattern.type)}):
        own = [pattern for pattern in observed if pattern.type == types]
        sources = _labels(source, [pattern.source for pattern in own])
        targets = _labels(target, [pattern.target for pattern in own])
        for first in sources:
            for last in targets:
                pattern = Pattern(first, types, last)
                count = observed.get(pattern) or sum(
                    number
                    for (labels, of, others), number in schema.items()
                    if of == types and _carries(labels, first) and _carries(others, last)
                )
                if count and (pattern in observed or source.is_literal or target.is_literal):
                    yield pattern, count


def _labels(name: _Name, observed: Sequence[str]) -> list[str]:
    if name.is_literal:
        return [name.text]
    return list(dict.fromkeys(label for label in observed if name.matches(label)))


def _carries(labels: tuple[str, ...], label: str) -> bool:
    return label in labels if label else not labels


def _no_such(
    spec: str | Sequence[str],
    wanted: tuple[_Name, _Name, _Name],
    observed: Mapping[Pattern, int],
    carriers: Mapping[str, int],
) -> str:
    text = repr(spec) if isinstance(spec, str) else str(Pattern(*spec))
    source, kind, target = wanted
    types = sorted({pattern.type for pattern in observed})
    for what, name, there in (
        ("relationship type", kind, types),
        ("label", source, sorted(carriers)),
        ("label", target, sorted(carriers)),
    ):
        if name.is_literal and name.text and name.text not in there:
            return f"{text}: the graph has no {what} {name.text!r}{did_you_mean(name.text, there)}"
    few = ", ".join(map(str, list(observed)[:5])) or "none"
    more = ", ..." if len(observed) > 5 else ""
    return f"{text}: the graph has no relationship of this pattern; it has {few}{more}"


def _has_wildcard(name: str) -> bool:
    return "*" in name or "?" in name


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`{}`".format(name.replace("`", "``"))


def _unquoted(name: str) -> _Name:
    if name.startswith("`"):
        return _Name(name[1:-1].replace("``", "`"), is_literal=True)
    return _Name(name, not _has_wildcard(name))
