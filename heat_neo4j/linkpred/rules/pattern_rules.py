"""The schema rules of one pattern, their evidence, and the sentences that state them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from heat_neo4j._utils.display import display_text
from heat_neo4j.patterns import Pattern

_LONGEST = 40  # maximum characters of a name in a sentence


class Rule(IntEnum):
    """Reason why a pair is not proposed; the first that applies."""

    ALLOWED = 0
    SELF = 1  # a self-loop
    LINKED = 2  # the type links the pair already
    PER_SOURCE = 3  # the source has its maximum number of relationships
    PER_TARGET = 4  # the target has its maximum number of relationships
    ONE_WAY = 5  # the type links the reversed pair, and the pattern's relationships are not reciprocated
    CYCLE = 6  # the link would close a cycle, and the type forms none
    IMPLIED = 7  # a chain of the type leads to the target, and the type has no links beside chains
    EXCLUDED = 8  # a relationship or likelier proposal of an excluding type joins the pair
    ONE_OF_PAIR = 9  # a likelier proposal of the type joins the two nodes
    MOST_LINKS = 10  # likelier proposals use up the pattern's maximum number of links


@dataclass(frozen=True)
class Evidence:
    """Observed number of exceptions to a rule, and the number expected by chance."""

    n: int  # relationships or nodes examined
    n_exceptions: int
    by_chance: float | None  # expected exceptions; None if the rule is not compared with chance


@dataclass(frozen=True)
class Bound:
    """Maximum number of relationships of a pattern at a node."""

    most: int
    n_full: int  # nodes with exactly that number
    evidence: Evidence  # nodes with at least one relationship; those with more than `most` are exceptions
    of_type: bool = (
        False  # whether all relationships of the type count, whatever the label at their other end
    )


@dataclass(frozen=True)
class Exclusion:
    """A type that joins no pair that the pattern joins."""

    type: str
    same_way: bool  # whether both types have the same direction or opposite ones
    evidence: Evidence


@dataclass(frozen=True)
class PatternRules:
    """The rules of one pattern; None for a rule that was not learned."""

    pattern: Pattern | None
    max_links: int
    per_source: Bound | None = None
    per_target: Bound | None = None
    one_way: Evidence | None = None
    acyclic: Evidence | None = None
    direct: Evidence | None = None  # no direct relationship beside a chain of the type
    exclusions: tuple[Exclusion, ...] = ()

    def sentences(self) -> Iterator[tuple[Rule, str]]:
        """Yield each rule with a sentence that states it and its evidence."""
        if self.pattern is None:
            return
        source, kind, target = (display_text(name, _LONGEST) for name in self.pattern)
        source, target = (name or "node" for name in (source, target))
        whole = display_text(str(self.pattern), 3 * _LONGEST)
        for bound, rule, holder, what in (
            (self.per_source, Rule.PER_SOURCE, source, f"{kind} to {_a(target)}"),
            (self.per_target, Rule.PER_TARGET, target, f"incoming {kind} from {_a(source)}"),
        ):
            if bound is not None:
                most = "one" if bound.most == 1 else f"{bound.most:,}"
                seen = bound.evidence
                numbers = f"{bound.n_full:,} of {seen.n:,} have {most}, {seen.n_exceptions:,} more"
                others = " or others" if bound.of_type else ""
                numbers += f"; {seen.by_chance:,.0f} by chance"
                yield rule, f"each {holder} has at most {most} {what}{others} ({numbers})"
        if self.one_way is not None:
            yield Rule.ONE_WAY, f"{whole} is one-way ({_of(self.one_way)} are reciprocated)"
        if self.acyclic is not None:
            do_so = f"{_of(self.acyclic)} {'are on' if self.acyclic.n_exceptions else 'lead to'} one"
            chance = self.acyclic.by_chance
            do_so += "" if chance is None else f"; {chance:,.0f} by chance"
            yield Rule.CYCLE, f"{whole} forms {_none(self.acyclic)} cycles ({do_so})"
        if self.direct is not None:
            do_so = f"{_of(self.direct)} do; {self.direct.by_chance:,.0f} by chance"
            yield Rule.IMPLIED, f"{whole} joins {_none(self.direct)} pairs with a chain of {kind} ({do_so})"
        if self.exclusions:
            others = ", ".join(
                f"{display_text(each.type, _LONGEST)}{'' if each.same_way else ' back'} "
                f"({_of(each.evidence)}; {each.evidence.by_chance:,.0f} of as many pairs nearby)"
                for each in self.exclusions
            )
            yield Rule.EXCLUDED, f"{whole} excludes {others}"


def _a(label: str) -> str:
    return f"an {label}" if label[0] in "AEIOaeio" else f"a {label}"


def _of(evidence: Evidence) -> str:
    return f"{evidence.n_exceptions:,} of {evidence.n:,}"


def _none(evidence: Evidence) -> str:
    return "hardly any" if evidence.n_exceptions else "no"
