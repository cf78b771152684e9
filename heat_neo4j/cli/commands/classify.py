"""``heat classify``: the property that some nodes lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_name, display_number, display_text, plural
from heat_neo4j.cli.options import filter_options, model_options, option, verb_options
from heat_neo4j.cli.output import facts, format_probability, noted, print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.classes.figures import ClassFigures, NumberFigures
    from heat_neo4j.pipeline.class_questions import Classification

EXAMPLE = """
heat classify section --label Package
heat classify year
heat classify section --caption name --explain zlib1g
heat classify section --write
heat classify section --json > sections.json
"""
_SHOWN = 10
_LONGEST = 40
_NOTHING = "none: too little is known of most nodes with a value"


def _document(found: Classification, options: dict[str, Any]) -> dict[str, Any]:
    node = options["explain"]
    return found.to_dict() | ({} if node is None else {"explained": list(found.explain(node))})


def show(found: Classification, options: Mapping[str, Any]) -> None:
    """Print figures on held-out nodes, and the surest predictions or the evidence for one node."""
    own, name = found.found, display_text(found.property, _LONGEST)
    written = "nothing is written" if found.written is None else f"written by run {found.written}"
    count = len(found)
    predicted = f"{plural(count, 'node')} without {name}" if count else f"none: no node lacks {name}"
    views = {view: weight for view, weight in own.weights.items() if weight >= 0.005}
    facts(
        [
            *_figures(own.figures, name),
            ("Weights", ", ".join(f"{view} {weight:.2f}" for view, weight in views.items()) or _NOTHING),
            ("Predicted", f"{predicted}; {written}"),
            *noted(found.notes),
        ]
    )
    if options["explain"] is not None:
        _print_explanation(found, options["explain"])
        return
    if not count:
        return
    rows = [[_cell(*cell) for cell in each.items()] for each in own.to_dict()["predicted"][:_SHOWN]]
    print_line()
    titles = ("PROBABILITY", "OR", "PROBABILITY") if own.what == "class" else ("FROM", "TO (80% SURE)")
    table(("NODE", name.upper(), *titles), rows)
    if count > _SHOWN:
        print_line(f"{count - _SHOWN:,} more: --json prints all")


def _figures(figures: ClassFigures | NumberFigures, name: str) -> list[tuple[str, str]]:
    """Return the lines on what was learned, and how well."""
    from heat_neo4j.classes.figures import NumberFigures  # imports scikit-learn, which help need not wait for

    learned = f"{plural(figures.nodes, 'node')}, "
    if isinstance(figures, NumberFigures):
        error, of_median, of_neighbours = (
            display_number(each, 4)
            for each in (figures.error, figures.median_error, figures.neighbours_error)
        )
        others = f"always the median {of_median}, neighbours {of_neighbours}"
        return [
            ("Learned from", f"{learned}{figures.different:,} numbers of {name}"),
            ("Off by", f"{error} on average of held-out nodes ({others})"),
            ("Order", f"rank correlation {figures.rank_correlation:.2f} with the true numbers"),
        ]
    beside = [f"always the most frequent {name} {figures.majority:.0%}"]
    if figures.attributes_alone is not None:
        beside.append(f"own attributes alone {figures.attributes_alone:.0%}")
    return [
        ("Learned from", f"{learned}{figures.classes:,} values of {name}"),
        ("Right", f"{figures.f1_micro:.0%} of held-out nodes ({', '.join(beside)})"),
        ("Calibration", f"off by {figures.calibration_error:.3f} on average"),
    ]


def _cell(name: str, value: Any) -> str:
    if name.endswith("probability"):
        return format_probability(value)
    if name == "node":
        return display_name(value)
    return display_number(value) if isinstance(value, float) else display_text(value, _LONGEST)


def _print_explanation(found: Classification, node: str) -> None:
    """Print what each view adds to the log odds of a node's class against the second, or what it predicts."""
    evidence = found.explain(node)
    own = next(each for each in found.found.to_dict()["predicted"] if each["node"] == node)
    cells = {name: _cell(name, value) for name, value in own.items()}
    if found.found.what == "class":
        told = "{class}, probability {probability}; or {second}, {second_probability}"
        header = ["LOG ODDS", "FOR {class} AGAINST {second}"]
        rows = [[f"{each['log_odds']:+8.3f}", each["view"]] for each in evidence]
        rows.append([f"{sum(each['log_odds'] for each in evidence):+8.3f}", "together"])
    else:
        told = "{value}, from {low} to {high}"
        header = ["WEIGHT", "VALUE", "BY"]
        rows = [[f"{each['weight']:6.2f}", _cell("value", each["value"]), each["view"]] for each in evidence]
    print_line()
    facts([(display_name(node), told.format(**cells))])
    print_line()
    table([title.format(**cells) for title in header], rows)


classify = verb_command(
    "classify",
    EXAMPLE,
    verb_options("classify", "label", heading="Which nodes", metavar="LABEL"),
    verb_options("classify", "kind", "caption"),
    option("--explain", metavar="NODE", help="Print the evidence for this node's value."),
    verb_options("classify", "write", heading="Writing"),
    filter_options,
    model_options,
    document=_document,
)(show)
