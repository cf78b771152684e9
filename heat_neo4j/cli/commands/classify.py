"""``heat classify``: the property that some nodes lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.cli.options import filter_options, model_options, verb_options
from heat_neo4j.cli.output import facts, format_probability, print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.pipeline.class_questions import Classification

EXAMPLE = """
heat classify section --label Package
heat classify section --json > sections.json
"""
_SHOWN = 10
_LONGEST = 40


@verb_command(
    "classify",
    EXAMPLE,
    verb_options("classify", "label", heading="Which nodes", metavar="LABEL"),
    filter_options,
    model_options,
)
def classify(found: Classification, options: dict[str, Any]) -> None:
    """Print figures on held-out nodes, and the likeliest predictions."""
    _print(found)


def _print(found: Classification) -> None:
    figures, name = found.found.figures, display_text(found.property, _LONGEST)
    beside = [f"always the most frequent {name} {figures.majority:.0%}"]
    if figures.attributes_alone is not None:
        beside.append(f"own attributes alone {figures.attributes_alone:.0%}")
    views = {view: weight for view, weight in found.found.weights.items() if weight >= 0.005}
    facts(
        [
            ("Learned from", f"{plural(figures.nodes, 'node')}, {figures.classes:,} values of {name}"),
            ("Right", f"{figures.f1_micro:.0%} of held-out nodes ({', '.join(beside)})"),
            ("Calibration", f"off by {figures.calibration_error:.3f} on average"),
            ("Weights", ", ".join(f"{view} {weight:.2f}" for view, weight in views.items())),
            ("Predicted", f"{plural(len(found), 'node')} without {name}; nothing is written"),
            *(("Note", note) for note in found.notes),
        ]
    )
    rows = [
        (
            display_text(each["node"], _LONGEST),
            display_text(each["class"], _LONGEST),
            format_probability(each["probability"]),
            display_text(each["second"], _LONGEST),
            format_probability(each["second_probability"]),
        )
        for each in found.found.to_dict()["predicted"][:_SHOWN]
    ]
    if rows:
        print_line()
        table(("NODE", name.upper(), "PROBABILITY", "OR", "PROBABILITY"), rows)
    if len(found) > _SHOWN:
        print_line(f"{len(found) - _SHOWN:,} more: --json prints all")
