"""``heat rollback``: back to the version before."""

from typing import Any

from heat_neo4j.cli.options import dry_run_option, model_options, name_options
from heat_neo4j.cli.output import print_line
from heat_neo4j.cli.verbs import verb_command


def _document(found: tuple[str | None, str | None], options: dict[str, Any]) -> dict[str, Any]:
    run, links = found
    return {"model": options["model"], "run": run, "link_run": links, "dry_run": options["dry_run"]}


@verb_command(
    "rollback",
    "heat rollback --model heat",
    dry_run_option,
    name_options,
    model_options,
    document=_document,
)
def rollback(found: tuple[str | None, str | None], options: dict[str, Any]) -> None:
    """Print what is published now."""
    run, link_run = found
    links = "" if link_run in (None, run) else f", with the links of run {link_run}"
    verb = "would be" if options["dry_run"] else "is"
    print_line(f"model {options['model']!r}: run {run} {verb} published again{links}")
