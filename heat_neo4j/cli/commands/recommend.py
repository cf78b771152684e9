"""``heat recommend``: the likeliest links of one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.arguments import made
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import Decorator, filter_options, model_options, option, stack
from heat_neo4j.cli.output import Reporter, facts, format_probability, print_line, printed_as_json, table
from heat_neo4j.cli.values import Count

if TYPE_CHECKING:
    from heat_neo4j.linkpred.recommendation import Recommended
    from heat_neo4j.pipeline.link_questions import Recommendations

EXAMPLE = """
heat recommend u5 --predict 'User-RATED->Movie' -k 10
heat recommend Alien --label Movie --to
"""

WHICH = "Which links"
which_options: Decorator[Any] = stack(
    option("-k", "--k", heading=WHICH, type=Count(min=1), metavar="N", default=10,
           help="How many of each pattern."),
    option("--predict", "patterns", heading=WHICH, multiple=True, metavar="PATTERN",
           help="Links of this pattern, such as 'User-RATED->Movie'; * is any name; repeat for more.  "
                "[default: all that the node's labels allow]"),
    option("--to", "reverse", heading=WHICH, is_flag=True, help="List who would link to NODE."),
    option("--label", "labels", heading=WHICH, multiple=True, metavar="LABEL",
           help="NODE has this label; repeat for more.  [default: those of the run]"),
)  # fmt: skip


@click.command(cls=HeatCommand, example=EXAMPLE)
@click.argument("node", metavar="NODE")
@which_options
@filter_options
@model_options
def recommend(node: str, patterns: Sequence[str], labels: Sequence[str], **options: Any) -> None:
    """List the likeliest links that one node lacks.

    Scores every node that a pattern allows with the published model, also links that were not written.
    NODE is the value of the node's key, or its element id, as for `heat neighbours`.
    """
    from heat_neo4j.patterns import check_pattern
    from heat_neo4j.pipeline import link_questions

    patterns = [made(check_pattern, spec=pattern) for pattern in patterns]
    fields = {name: options[name] for name in ("k", "reverse", "model")}
    with open_store(options) as store, Reporter() as progress:
        found = link_questions.recommend(
            store, node, patterns=patterns, labels=list(labels) or None, **fields, on_progress=progress
        )
    if not printed_as_json(found.to_dict()):
        for place, each in enumerate(found.patterns):
            if place:
                print_line()
            _print(found, each)
        facts(("Note", note) for note in found.notes)


def _print(found: Recommendations, each: Recommended) -> None:
    name, pattern = found.names[found.row], each.pattern
    assert pattern is not None
    link = f"? -{pattern.type}-> {name}" if each.reverse else f"{name} -{pattern.type}-> ?"
    partners = pattern.source if each.reverse else pattern.target
    print_line(f"{link}  ({pattern}, of {plural(each.n_candidates, f'possible {partners}'.rstrip())})")
    rows = []
    for place, row in enumerate(each.partner.tolist()):
        chance = each.chance(place)
        shown = "-" if chance is None else format_probability(chance)
        rows.append((str(place + 1), found.names[row], shown, f"{each.distance[place]:.4f}"))
    table(("RANK", "NAME", "PROBABILITY", "DISTANCE"), rows)
