"""``heat neighbours``: the nodes nearest to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import Decorator, model_options, option, stack
from heat_neo4j.cli.output import print_line, printed_as_json, table
from heat_neo4j.cli.values import Count

if TYPE_CHECKING:
    from heat_neo4j.database.index.nearest import Neighbours

EXAMPLE = """
heat neighbours p1 --k 5
heat neighbours p1 --label Paper --property id --show year --node-filter 'n.year > 2000'
"""

WHICH = "Which nodes"
which_options: Decorator[Any] = stack(
    option("-k", "--k", "n_neighbors", heading=WHICH, type=Count(min=1), metavar="N", default=10,
           help="How many."),
    option("--label", "labels", heading=WHICH, multiple=True, metavar="LABEL",
           help="NODE has this label; repeat for more.  [default: those of the run]"),
    option("--property", "key", heading=WHICH, metavar="PROPERTY",
           help="NODE is the value of this property.  [default: the key of the run, or of its label there]"),
    option("--node-filter", heading=WHICH, metavar="CYPHER",
           help="Keep neighbours n for which this holds, such as 'n.year > 2000'."),
    option("--show", heading=WHICH, multiple=True, metavar="PROPERTY",
           help="Property to show beside the names; repeat for more."),
    option("--exact", heading=WHICH, is_flag=True, help="Look at every node instead of the index."),
)  # fmt: skip


@click.command(cls=HeatCommand, example=EXAMPLE)
@click.argument("node", metavar="NODE")
@which_options
@model_options
def neighbours(node: str, labels: Sequence[str], show: Sequence[str], **options: Any) -> None:
    """List the nodes nearest to one.

    Nearest by hyperbolic distance. NODE is the value of the node's key, or its element id; if each label
    has a key of its own, --label selects one. The index is searched until the answer is certified;
    --exact looks at every node instead.
    """
    fields = {name: options[name] for name in ("n_neighbors", "model", "key", "node_filter", "exact")}
    with open_store(options) as store:
        nearest = store.neighbours(node, labels=list(labels) or None, show=list(show) or None, **fields)
    if not printed_as_json(nearest.to_dict()):
        _print(nearest, list(dict.fromkeys(show)))


def _print(nearest: Neighbours, shown: Sequence[str]) -> None:
    from heat_neo4j._utils.display import display_text

    if not nearest.nodes:
        print_line("no node fits", err=True)
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
    how = "every node was looked at" if nearest.fetch is None else "from the vector index, certified"
    print_line(how, err=True)


def _holds_names(nearest: Neighbours, name: str) -> bool:
    """Return whether a property that is shown is the key of every node."""
    return all(each.key is not None and each.properties[name] == each.key for each in nearest.nodes)
