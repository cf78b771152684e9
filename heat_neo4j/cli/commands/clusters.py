"""``heat clusters``: groups of nodes on several levels."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_name, display_text, plural
from heat_neo4j.cli.options import FILE_OUT, filter_options, model_options, option, verb_options
from heat_neo4j.cli.output import facts, noted, print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.clusters.result import Cluster, Clusters

EXAMPLE = """
heat clusters
heat clusters --level 8 --level 40 --caption name
heat clusters --output clusters.json
heat clusters --previous clusters.json --output clusters.json
heat clusters --write
"""
_SHOWN = 10
_LONGEST = 40
_LABELS = 2


def _saved(found: Clusters, options: dict[str, Any]) -> dict[str, Any]:
    if options["output"] is not None:
        found.save(options["output"])
    return found.to_dict()


def show(found: Clusters, _: object = None) -> None:
    """Print the largest clusters of each level."""
    for level, group in groupby(found.clusters, key=lambda each: each.level):
        own = list(group)
        if level > 1:
            print_line()
        print_line(f"Level {level}: {plural(len(own), 'cluster')} of {plural(len(found.groups), 'node')}")
        kinds = any(each.labels for each in own)
        rows = [
            (
                str(each.cluster),
                *([] if each.parent is None else [str(each.parent)]),
                f"{each.size:,}",
                display_name(each.name),
                *([_shares(each)] if kinds else []),
                display_text(", ".join(each.words), 2 * _LONGEST),
            )
            for each in own[:_SHOWN]
        ]
        titles = ("CLUSTER", *(["IN"] if level > 1 else []), "NODES", "NAME", *(["LABELS"] if kinds else []))
        table((*titles, "TELLING VALUES"), rows)
        if len(own) > _SHOWN:
            print_line(f"{len(own) - _SHOWN:,} more: --output writes all, and the clusters of each node")
    facts(noted(found.notes))
    if found.written is not None:
        facts([("Written", f"to {plural(len(found.groups), 'node')} by run {found.written}")])


def _shares(each: Cluster) -> str:
    """Return the commonest labels of the members, with their shares."""
    labels = [(label, count / each.size) for label, count in list(each.labels.items())[:_LABELS]]
    shares = [f"{label} {share:.0%}" for label, share in labels if share >= 0.005]
    return display_text(", ".join(shares), _LONGEST)


clusters = verb_command(
    "clusters",
    EXAMPLE,
    verb_options(
        "clusters", "levels", "previous", "caption", heading="Which clusters", flags={"levels": "--level"}
    ),
    option("--output", type=FILE_OUT, help="File for the clusters of each node, as JSON."),
    verb_options("clusters", "write", heading="Writing"),
    filter_options,
    model_options,
    document=_saved,
)(show)
