"""``heat doctor``: what is installed, and whether the server is fit for use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import format_bytes, plural
from heat_neo4j.cli.connection import names_server, open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import database_options
from heat_neo4j.cli.output import as_json, facts, headed, printed_as_json
from heat_neo4j.errors import HeatError, NotReady

if TYPE_CHECKING:
    from heat_neo4j.cli.installation import Installation
    from heat_neo4j.database.publish.inspection import ModelState, ServerReport
    from heat_neo4j.database.read.rights import Rights

RIGHTS = {"read": "read", "write": "write", "index": "make indexes"}


@click.command(cls=HeatCommand, example="heat doctor\nheat doctor --json > doctor.json")
@database_options
def doctor(**options: Any) -> None:
    """Check your installation and your server.

    Run it first when something is wrong, and attach its output to an issue: it contains no password. It
    checks this machine, and the named server or the running local one. It writes nothing and does not read
    your graph. The exit code is 14 if something is wrong.
    """
    from heat_neo4j.cli.installation import installation

    here = installation()
    if not as_json():  # at once: a server may take its time
        facts(_lines_here(here))
    report, of_server = _server(options)
    problems = [*here.problems, *of_server]
    there = None if report is None else report.to_dict()
    if not printed_as_json({**here.to_dict(), "server": there, "problems": problems}):
        if report is not None:
            facts(_lines_there(report))
        elif not of_server:
            from heat_neo4j.local_server.server import no_server

            facts([("Server", f"none: {no_server()}")])
        facts(headed("Problems", problems or ["none"]))
    if problems:
        first = f" in {len(problems)} places, first" if len(problems) > 1 else ""
        raise NotReady(f"problems found{first}: {problems[0]}")


def _server(options: Mapping[str, Any]) -> tuple[ServerReport | None, Sequence[str]]:
    """Return the report on the server, None if there is none or it fails; and the problems."""
    try:
        if not names_server(options):
            return None, ()
        with open_store(options) as store:
            report = store.doctor()
    except HeatError as error:
        return None, (" ".join(str(error).split()),)
    return report, report.problems


def _lines_here(here: Installation) -> Iterator[tuple[str, str]]:
    yield "Heat", f"{here.version} in {here.folder}"
    yield "Python", f"{here.python}, {here.platform}"
    yield "Libraries", ", ".join(f"{name} {version or 'missing'}" for name, version in here.libraries.items())
    yield "Processors", f"{here.processors}: {here.processors_why}"
    yield "Memory", f"{format_bytes(here.free_memory)} free of {format_bytes(here.memory)}"
    yield "Compiled code", _compiled(here)
    yield from headed("Extras", map(_extra, here.extras, here.extras.values()))
    if not here.extras:
        yield "Extras", "unknown: heat runs from a folder, not installed"


def _compiled(here: Installation) -> str:
    if here.compiled.folder is None:
        return "not cached"
    state = "" if here.compiled.is_there else "none yet; the first run compiles it in about two minutes, "
    return f"{state}kept in {here.compiled.folder}"


def _extra(extra: str, distributions: Mapping[str, str | None]) -> str:
    missing = [name for name, version in distributions.items() if version is None]
    if missing:
        return f"{extra}: {', '.join(missing)} missing; pip install 'heat-neo4j[{extra}]'"
    return f"{extra}: " + ", ".join(f"{name} {version}" for name, version in distributions.items())


def _lines_there(report: ServerReport) -> Iterator[tuple[str, str]]:
    server = report.server
    yield "Server", f"Neo4j {server.version} {server.edition} at {server.address}"
    yield "Database", f"{server.database}{'' if report.access is None else f', {report.access}'}"
    if report.rights is None:
        return
    yield "Rights", _rights(report.rights)
    yield "Vector index", "supported" if report.vector_index else "not supported"
    yield "Plugins", ", ".join(report.plugins) or "neither GDS nor APOC; none is needed"
    yield from headed("Published", map(_model, report.models))
    if not report.models:
        yield "Published", "nothing yet: `heat embed` computes and publishes coordinates"


def _rights(rights: Rights) -> str:
    answers = {True: "yes", False: "no", None: "the server does not say"}
    said = []
    for right, name in RIGHTS.items():
        part = ", denied in part" if right in rights.denied else ""
        said.append(f"{name}: {answers[getattr(rights, right)]}{part}")
    return "; ".join(said)


def _model(model: ModelState) -> str:
    parts = []
    if model.run is not None and model.has_values:
        parts.append(f"values of {plural(model.nodes, 'node')} by run {model.run}")
    elif model.run is not None:
        index = f"vector index {', '.join(model.indexes)}" if model.indexes else "no vector index"
        parts.append(f"coordinates of {plural(model.nodes, 'node')} by run {model.run}, {index}")
    if model.link_run is not None:
        parts.append(f"{plural(model.links, 'predicted link')} by run {model.link_run}")
    if model.incomplete:
        parts.append(f"{plural(model.incomplete, 'run')} incomplete, being written or dead: `heat runs`")
    return f"{model.name}: {'; '.join(parts) or 'nothing'}"
