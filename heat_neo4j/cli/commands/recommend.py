"""``heat recommend``: the likeliest links of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_name, plural
from heat_neo4j.cli.options import filter_options, model_options, setting_options, verb_options
from heat_neo4j.cli.output import facts, format_probability, noted, print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.linkpred.recommendation import Recommended
    from heat_neo4j.pipeline.link_questions import Recommendations

EXAMPLE = """
heat recommend u5 --predict 'User-RATED->Movie' -k 10
heat recommend Alien --label Movie --to
heat recommend u5 --caption title
"""


@verb_command(
    "recommend",
    EXAMPLE,
    verb_options("recommend", "k", "patterns", "reverse", "labels", "caption", heading="Which links"),
    setting_options("links.rules", "links.min_degree"),
    filter_options,
    model_options,
)
def recommend(found: Recommendations, options: dict[str, Any]) -> None:
    """Print a table for each pattern, except those of which notes say why no link is possible."""
    for place, each in enumerate(each for each in found.patterns if each.n_candidates):
        if place:
            print_line()
        _print(found, each)
    facts(noted(found.notes))


def _print(found: Recommendations, each: Recommended) -> None:
    name, pattern = display_name(found.names[found.row]), each.pattern
    assert pattern is not None
    link = f"? -{pattern.type}-> {name}" if each.reverse else f"{name} -{pattern.type}-> ?"
    label = pattern.source if each.reverse else pattern.target
    possible = plural(each.n_candidates, f"possible {label} node" if label else "possible node")
    print_line(f"{link}  ({pattern}, of {possible})")
    rows = []
    for place, row in enumerate(each.partner.tolist()):
        chance = each.chance(place)
        shown = "-" if chance is None else format_probability(chance)
        rows.append((str(place + 1), display_name(found.names[row]), shown, f"{each.distance[place]:.4f}"))
    if rows:
        table(("RANK", "NAME", "PROBABILITY", "DISTANCE"), rows)
