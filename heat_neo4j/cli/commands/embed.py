"""``heat embed``: the main job."""

from typing import Any

from heat_neo4j.cli.arguments import run_arguments
from heat_neo4j.cli.options import (
    database_options,
    dry_run_option,
    log_options,
    overwrite_option,
    setting_options,
    verb_options,
)
from heat_neo4j.cli.report import log_run, show_run
from heat_neo4j.cli.verbs import verb_command

EXAMPLE = """
heat embed --label Paper --relationship CITES --weight weight \\
           --attribute year --attribute words --random-state 0
"""


def _given(options: dict[str, Any]) -> dict[str, Any]:
    arguments = run_arguments(options)
    estimator, names = arguments.pop("model"), arguments.pop("names")
    return {**arguments, "estimator": estimator, "model": names.model}


embed = verb_command(
    "embed",
    EXAMPLE,
    setting_options("projection", "heat"),
    verb_options("embed", "new_recipe", heading="Embedding", more="new_recipe"),
    setting_options("limits", "links", "write"),
    dry_run_option,
    overwrite_option,
    database_options,
    log_options,
    given=_given,
    check=lambda report: log_run(report.run),
)(show_run)
