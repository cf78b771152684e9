"""``heat links``: predicted links from coordinates that are already there."""

from heat_neo4j.cli.arguments import links_from
from heat_neo4j.cli.options import (
    database_options,
    dry_run_option,
    filter_options,
    log_options,
    name_options,
    overwrite_option,
    setting_options,
)
from heat_neo4j.cli.report import log_run, show_run
from heat_neo4j.cli.settings import settings_of
from heat_neo4j.cli.verbs import verb_command

LINKS = [setting.key for setting in settings_of("links") if setting.name != "enabled"]


links = verb_command(
    "links",
    "heat links --k 20 --predict 'Author-WROTE->Paper'",
    setting_options(*LINKS, "heat.n_threads", "limits", "write.model", "write.link_type"),
    filter_options,
    name_options,
    dry_run_option,
    overwrite_option,
    database_options,
    log_options,
    given=lambda options: {"links": links_from(options)},
    check=lambda report: log_run(report.run),
)(show_run)
