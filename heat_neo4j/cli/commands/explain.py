"""``heat explain``: why two nodes would be linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_name, plural
from heat_neo4j.cli.options import filter_options, model_options, verb_options
from heat_neo4j.cli.output import facts, format_probability, headed, noted, print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.linkpred.explanation import Way
    from heat_neo4j.pipeline.link_questions import Explanation

EXAMPLE = """
heat explain u5 m7
heat explain Ann Alien --predict 'Person-ACTED_IN->Movie' --label Person --target-label Movie
"""

_SMALL = 0.1  # log odds, a tenth of the odds; families that add less are put together


@verb_command(
    "explain",
    EXAMPLE,
    verb_options("explain", "pattern", "labels", "target_labels", "caption", heading="Which link"),
    filter_options,
    model_options,
)
def explain(found: Explanation, options: dict[str, Any]) -> None:
    """Print what adds to the log odds, and what the two nodes share."""
    facts(_summary(found))
    _print_contributions(found)
    facts(_shared(found))
    facts(noted(found.notes))


def _summary(found: Explanation) -> Iterator[tuple[str, str]]:
    link = found.link
    source, target = _name(found, link.source), _name(found, link.target)
    assert link.pattern is not None
    chance = _chance(link.probability) + _between(link.interval)
    yield "Link", f"{source} -{link.pattern.type}-> {target}{chance}"
    if link.alternatives:
        yield "Pattern", f"{link.pattern}; --predict chooses another"
        yield from headed("Others", (f"{other}{_chance(likely)}" for other, likely in link.alternatives))
    yield from headed("Joined", (f"{source} {tie} {target}" for tie in link.joined))
    if link.direction is not None:
        yield "Direction", f"{link.direction:.0%} that a link leads this way"
    radii = f"{source} {link.source_radius:.3f}, {target} {link.target_radius:.3f}"
    yield "Where", f"distance {link.distance:.3f}; from the centre: {radii}"


def _name(found: Explanation, row: int) -> str:
    return display_name(found.link.names[row])


def _chance(probability: float | None) -> str:
    return "" if probability is None else f": probability {format_probability(probability)}"


def _between(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" (95% interval {' to '.join(map(format_probability, interval))})"


def _print_contributions(found: Explanation) -> None:
    link = found.link
    if link.log_odds is None:
        return
    rows = link.families()
    small = [each for each in rows if abs(each[1]) < _SMALL]
    if len(small) > 1:
        rows = [each for each in rows if each not in small]
        rows.append((f"{len(small)} others", sum(value for _, value in small)))
    rows.append(("together, before calibration", link.log_odds))
    print_line()
    table(("LOG ODDS", "FROM"), [(f"{value:+8.3f}", name) for name, value in rows])
    print_line()


def _shared(found: Explanation) -> Iterator[tuple[str, str]]:
    link = found.link
    yield from headed("In common", _ways(found, link.shared, link.n_shared, "neighbour"))
    yield from headed("Paths", _ways(found, link.paths, link.n_paths, "path"))
    attributes = [
        f"{each.name} ({plural(each.nodes, 'node')})"
        if each.cosine is None
        else f"{each.name} (cosine {each.cosine:.2f})"
        for each in link.attributes
    ]
    if link.n_attributes > len(attributes):
        attributes.append(f"and {link.n_attributes - len(attributes):,} more")
    yield "Attributes", ", ".join(attributes) or "no value in common"
    yield from headed("Similar", _precedents(found))


def _precedents(found: Explanation) -> Iterator[str]:
    link = found.link
    assert link.pattern is not None
    for each in link.precedents:
        likeness = f"distance {each.distance:.3f}" if each.cosine is None else f"cosine {each.cosine:.2f}"
        ends = _name(found, each.source), _name(found, each.target)
        yield f"{ends[0]} -{link.pattern.type}-> {ends[1]}  ({likeness})"


def _ways(found: Explanation, ways: Sequence[Way], count: int, noun: str) -> Iterator[str]:
    from heat_neo4j.linkpred.explanation import arrows_of

    link = found.link
    for way in ways:
        stops = (*way.nodes, link.target)
        text = _name(found, link.source)
        for step, stop in zip(way.steps, stops, strict=True):
            text += f" {arrows_of(step)} {_name(found, stop)}"
        yield f"{text}  ({plural(way.degrees[0], 'neighbour')})" if len(way.nodes) == 1 else text
    if count > len(ways):
        yield f"and {plural(count - len(ways), f'more {noun}')}"
    if not count:
        yield f"no {noun}"
