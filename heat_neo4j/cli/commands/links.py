"""``heat links`` and ``heat duplicates``: pairs of nodes, from published coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_name, plural
from heat_neo4j.cli.arguments import links_from
from heat_neo4j.cli.options import (
    database_options,
    dry_run_option,
    filter_options,
    log_options,
    model_options,
    overwrite_option,
    setting_options,
    verb_options,
)
from heat_neo4j.cli.output import facts, format_probability, noted, print_line
from heat_neo4j.cli.report import log_run, show_run
from heat_neo4j.cli.settings import settings_of
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.pipeline.duplicate_questions import FoundDuplicates

DUPLICATES = """
heat duplicates --label Person --caption name --unique birthday
heat duplicates --label Person --caption name --min-probability 0.9 --write
heat cypher run same_as --property name
"""
_SHOWN = 20
LINKS = [setting.key for setting in settings_of("links") if setting.name != "enabled"]


links = verb_command(
    "links",
    "heat links --k 20 --predict 'Author-WROTE->Paper'",
    setting_options(*LINKS, "heat.n_threads", "limits", "write.model"),
    filter_options,
    dry_run_option,
    overwrite_option,
    database_options,
    log_options,
    given=lambda options: {"links": links_from(options)},
    check=lambda report: log_run(report.run),
)(show_run)


@verb_command(
    "duplicates",
    DUPLICATES,
    verb_options(
        "duplicates", "label", "caption", "properties", "unique", "k", "min_probability",
        heading="Which pairs",
    ),
    verb_options("duplicates", "write", heading="Writing"),
    filter_options,
    model_options,
)  # fmt: skip
def duplicates(found: FoundDuplicates, options: dict[str, Any]) -> None:
    """Print the likeliest pairs, each with its reasons."""
    pairs, kind = found.to_dict()["pairs"], found.names.link_type
    lines = [
        ("Compared", f"{plural(found.found.n_candidates, 'pair')}"),
        ("Likely", f"{plural(len(pairs), 'pair')}; nothing is written: --write writes {kind}"),
    ]
    if found.run is not None:
        lines[1] = ("Published", f"{plural(found.run.links_written, 'relationship')} of type {kind}")
        lines.append(("Run", f"{found.run.run_id} of model {found.run.model}"))
    facts((*lines, *noted(found.found.notes)))
    for each in pairs[:_SHOWN]:
        ends = (_named(each[f"{end}_name"], each[end]) for end in ("first", "second"))
        print_line()
        print_line(f"{format_probability(each['probability'])}  {'  =  '.join(ends)}")
        print_line(f"        {each['reason']}")
    if len(pairs) > _SHOWN:
        print_line()
        print_line(f"{len(pairs) - _SHOWN:,} more: --json prints all")


def _named(name: str, node: Any) -> str:
    """Return a node's name, with its key if that differs."""
    key = display_name(node)
    text = display_name(name) or key
    return text if text == key else f"{text} ({key})"
