"""``heat rollback`` and ``heat prune``: restore the previous version, remove unneeded data."""

from typing import Any

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.options import dry_run_option, model_options, setting_options, verb_options
from heat_neo4j.cli.output import print_line
from heat_neo4j.cli.verbs import verb_command


def _document(found: tuple[str | None, str | None], options: dict[str, Any]) -> dict[str, Any]:
    run, links = found
    return {"model": options["model"], "run": run, "link_run": links, "dry_run": options["dry_run"]}


@verb_command(
    "rollback",
    "heat rollback --model heat",
    dry_run_option,
    model_options,
    document=_document,
)
def rollback(found: tuple[str | None, str | None], options: dict[str, Any]) -> None:
    """Print what is published now."""
    run, link_run = found
    links = "" if link_run in (None, run) else f", with the links of run {link_run}"
    verb = "would be" if options["dry_run"] else "is"
    print_line(f"model {options['model']!r}: run {run} {verb} published again{links}")


@verb_command(
    "prune",
    "heat prune --model heat --records 20",
    setting_options("refresh.records"),
    verb_options("prune", "previous", heading="What to remove"),
    dry_run_option,
    model_options,
    document=lambda count, options: {
        "model": options["model"], "records_removed": count, "dry_run": options["dry_run"]
    },
)  # fmt: skip
def prune(count: int, options: dict[str, Any]) -> None:
    """Print how many were removed."""
    what = f"{plural(count, 'record')} of earlier runs"
    done = f"would remove {what}" if options["dry_run"] else f"pruned; {what} removed"
    print_line(f"model {options['model']!r}: {done}")
