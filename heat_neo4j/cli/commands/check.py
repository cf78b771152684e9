"""``heat check``: what a projection matches, and its problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.cli.arguments import heat_from, links_from, names_from, projection_from
from heat_neo4j.cli.options import database_options, setting_options
from heat_neo4j.cli.output import as_options, facts, headed
from heat_neo4j.cli.report import counted, frequent
from heat_neo4j.cli.settings import settings_of
from heat_neo4j.cli.verbs import verb_command
from heat_neo4j.errors import ProjectionError

if TYPE_CHECKING:
    from heat_neo4j.database.read.checking import ProjectionReport

OF_EMBED = ("heat", "limits", "links", *[s.key for s in settings_of("write") if s.name != "model"])
EXAMPLE = "heat check --label Paper --relationship CITES --weight weight --attribute year"


def _given(options: dict[str, Any]) -> dict[str, Any]:
    for make in (heat_from, links_from, names_from):  # heat.toml may hold what `heat embed` refuses
        make(options)
    return {"projection": projection_from(options)}


def _raise(report: ProjectionReport) -> None:
    if report.problems:
        several = f" at {len(report.problems)} problems, first" if len(report.problems) > 1 else ""
        raise ProjectionError(f"`heat embed` would fail{several}: {report.problems[0]}")


@verb_command(
    "check",
    EXAMPLE,
    setting_options("projection", "write.model"),
    setting_options(*OF_EMBED, level="file"),
    database_options,
    more="The exit code is 4 if `heat embed` would fail.",
    given=_given,
    check=_raise,
)
def check(report: ProjectionReport, options: dict[str, Any]) -> None:
    """Print the matches and the problems."""
    facts(_lines(report))


def _lines(report: ProjectionReport) -> Iterator[tuple[str, str]]:
    server = report.server
    yield "Server", f"Neo4j {server.version} {server.edition} at {server.address}"
    yield "Database", server.database
    if report.nodes:
        yield "Nodes", f"{report.nodes:,}{_shares(report.labels)}"
        yield "Relationships", f"{sum(report.types.values()):,}{_shares(report.types)}"
        yield from counted(report.counts)
        yield from headed("Patterns", frequent(report.patterns))
    if report.projection.relationships is None and report.predicted_types:
        yield "", f"without predicted links: {', '.join(report.predicted_types)}"
    yield from headed("Attributes", map(_attribute, report.attributes))
    if report.attributes:
        yield "Recipe", report.recipe
        yield from (("", f"{_name(attribute)}: {attribute['holds']}") for attribute in report.attributes)
    if report.unread:
        yield "Not read", f"{display_text(report.unread)}: --attribute or --text reads them"
    yield from headed("Advice", report.advice)
    problems = report.problems or ["none: `heat embed` can run"]
    yield from headed("Problems", map(as_options, problems))


def _shares(counts: Mapping[str, int]) -> str:
    """Return how many of each, most frequent first."""
    shares = sorted(counts.items(), key=lambda share: (-share[1], share[0]))
    return ": " + ", ".join(f"{name} {count:,}" for name, count in shares) if shares else ""


def _attribute(attribute: Mapping[str, Any]) -> str:
    text = f"{_name(attribute)}: {attribute['kind']}, {plural(attribute['columns'], 'column')}"
    return text + (f", missing on {plural(attribute['missing'], 'node')}" if attribute["missing"] else "")


def _name(attribute: Mapping[str, Any]) -> str:
    from heat_neo4j.attributes.table import Attribute

    return Attribute.of(attribute).name
