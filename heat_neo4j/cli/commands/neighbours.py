"""``heat neighbours``: the nodes nearest to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heat_neo4j.cli.options import model_options, verb_options
from heat_neo4j.cli.output import print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.database.index.nearest import Neighbours

EXAMPLE = """
heat neighbours p1 --k 5
heat neighbours p1 --label Paper --property id --show year --node-filter 'n.year > 2000'
"""


@verb_command(
    "neighbours",
    EXAMPLE,
    verb_options(
        "neighbours", "k", "labels", "key", "node_filter", "show", "exact",
        heading="Which nodes", flags={"key": "--property"},
    ),
    model_options,
)  # fmt: skip
def neighbours(nearest: Neighbours, options: dict[str, Any]) -> None:
    """Print the nodes."""
    from heat_neo4j._utils.display import display_text

    shown = list(dict.fromkeys(options["show"]))
    if not nearest.nodes:
        print_line("no matches", err=True)
        return
    keys = [] if shown else list(nearest.nodes[0].properties)
    first = keys[0] if len(keys) == 1 else "node" if keys or shown else "element id"
    named = any(_holds_names(nearest, name) for name in shown)
    header = (*([] if named else [first.upper()]), *map(str.upper, shown), "DISTANCE", "RADIUS", "LABELS")
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


def _holds_names(nearest: Neighbours, name: str) -> bool:
    """Return whether a property that is shown is the key of every node."""
    return all(each.key is not None and each.properties[name] == each.key for each in nearest.nodes)
