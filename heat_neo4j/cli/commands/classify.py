"""``heat classify``: the property that some nodes lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.cli.options import filter_options, model_options, option, verb_options
from heat_neo4j.cli.output import facts, format_probability, print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.pipeline.class_questions import Classification

EXAMPLE = """
heat classify section --label Package
heat classify section --explain zlib1g
heat classify section --write
heat classify section --json > sections.json
"""
_SHOWN = 10
_LONGEST = 40


def _document(found: Classification, options: dict[str, Any]) -> dict[str, Any]:
    node = options["explain"]
    return found.to_dict() | ({} if node is None else {"explained": list(found.explain(node))})


@verb_command(
    "classify",
    EXAMPLE,
    verb_options("classify", "label", heading="Which nodes", metavar="LABEL"),
    option("--explain", metavar="NODE", help="Print why this node got its class, not the others."),
    verb_options("classify", "write", heading="Writing"),
    filter_options,
    model_options,
    document=_document,
)
def classify(found: Classification, options: dict[str, Any]) -> None:
    """Print figures on held-out nodes, and the likeliest predictions or why one node got its class."""
    _print(found, options["explain"])


def _print(found: Classification, explained: str | None = None) -> None:
    figures, name = found.found.figures, display_text(found.property, _LONGEST)
    beside = [f"always the most frequent {name} {figures.majority:.0%}"]
    if figures.attributes_alone is not None:
        beside.append(f"own attributes alone {figures.attributes_alone:.0%}")
    written = "nothing is written" if found.written is None else f"written by run {found.written}"
    views = {view: weight for view, weight in found.found.weights.items() if weight >= 0.005}
    facts(
        [
            ("Learned from", f"{plural(figures.nodes, 'node')}, {figures.classes:,} values of {name}"),
            ("Right", f"{figures.f1_micro:.0%} of held-out nodes ({', '.join(beside)})"),
            ("Calibration", f"off by {figures.calibration_error:.3f} on average"),
            ("Weights", ", ".join(f"{view} {weight:.2f}" for view, weight in views.items())),
            ("Predicted", f"{plural(len(found), 'node')} without {name}; {written}"),
            *(("Note", note) for note in found.notes),
        ]
    )
    if explained is not None:
        _print_explanation(found, explained)
        return
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


def _print_explanation(found: Classification, node: str) -> None:
    """Print what each view adds to the log odds of a node's class against the second."""
    evidence = found.explain(node)
    (own,) = (each for each in found.found.to_dict()["predicted"] if each["node"] == node)
    first, second = (display_text(own[each], _LONGEST) for each in ("class", "second"))
    print_line()
    facts(
        [
            (
                display_text(node, _LONGEST),
                f"{first}, probability {format_probability(own['probability'])}; "
                f"or {second}, {format_probability(own['second_probability'])}",
            )
        ]
    )
    rows = [(f"{each['log_odds']:+8.3f}", each["view"]) for each in evidence]
    rows.append((f"{sum(each['log_odds'] for each in evidence):+8.3f}", "together"))
    print_line()
    table(("LOG ODDS", f"FOR {first} AGAINST {second}"), rows)
