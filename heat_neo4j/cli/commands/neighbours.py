"""``heat neighbours``: the nodes nearest to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_text
from heat_neo4j.cli.options import model_options, verb_options
from heat_neo4j.cli.output import print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.database.index.nearest import Neighbours

EXAMPLE = """
heat neighbours p1 --k 5
heat neighbours p1 --label Paper --property id --show year --node-filter 'n.year > 2000'
heat neighbours p1 --caption title
"""


@verb_command(
    "neighbours",
    EXAMPLE,
    verb_options(
        "neighbours", "k", "labels", "key", "node_filter", "show", "caption", "exact",
        heading="Which nodes", flags={"key": "--property"},
    ),
    model_options,
)  # fmt: skip
def neighbours(nearest: Neighbours, options: dict[str, Any]) -> None:
    """Print the nodes."""
    shown = list(dict.fromkeys(options["show"]))
    if not nearest.nodes:
        print_line("no matches", err=True)
        return
    captions = list(dict.fromkeys(name for _, name in options["caption"]))
    keys = captions or ([] if shown else list(nearest.nodes[0].properties))
    named = any(_holds_names(nearest, name) for name in shown)
    own = ["DISTANCE", "RADIUS", "LABELS"]
    if named or (len(keys) == 1 and keys[0] not in shown):
        header = [*_headings(shown if named else [*keys, *shown], own), *own]
    else:
        first = "NODE" if keys or shown else "ELEMENT ID"
        header = [first, *_headings(shown, [first, *own]), *own]
    rows = []
    for each in nearest.nodes:
        caption = [] if named else [each.name if keys or shown else each.element_id]
        values = [display_text(each.properties[name]) for name in shown]
        rows.append((*caption, *values, f"{each.distance:.4f}", f"{each.radius:.4f}", ", ".join(each.labels)))
    table(header, rows)
    how = "from the vector index" + ", complete" * nearest.certified
    if nearest.fetch is None:
        how = "all nodes were scanned"
    print_line(how, err=True)


def _headings(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the headings of properties in capitals; as they are stored if two would then be equal."""
    taken = [*others, *(name.upper() for name in names)]
    return [name.upper() if taken.count(name.upper()) == 1 else f"{name} (property)" for name in names]


def _holds_names(nearest: Neighbours, name: str) -> bool:
    """Return whether a property that is shown names every node."""
    return all(each.name == display_text(each.properties[name]) for each in nearest.nodes)
