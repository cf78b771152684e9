"""``heat demo``: every step on a graph that every machine has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import plural, printable
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import FILE_OUT, checked_picture, database_options, option
from heat_neo4j.cli.output import (
    Reporter,
    as_json,
    facts,
    format_seconds,
    print_line,
    print_lines,
    printed_as_json,
)
from heat_neo4j.local_server.releases import DEFAULT_SERIES, RELEASES

if TYPE_CHECKING:
    from heat_neo4j._utils.progress import Progress
    from heat_neo4j.database.store import Neo4jStore
    from heat_neo4j.demo.questions import Answer
    from heat_neo4j.demo.stdlib import ImportGraph
    from heat_neo4j.local_server.server import ServerStatus
    from heat_neo4j.pipeline.driver import RunReport

SERVER, MODEL = "demo", "stdlib"
SEED = 0
FEW, HUB = 10, 60  # neighbours: fewer tell too little of a module, and one with more is near everything
INTRODUCTION = """\
Which module of Python's standard library imports which? That graph goes into a Neo4j server on this
machine, is embedded in hyperbolic space, and answers five questions in Cypher.
"""
PROBABILITY = f"""
   probability: the share of links among pairs with such a score, if a tenth of the imports is missing.
   Modules with fewer than {FEW} or more than {HUB} neighbours are left out: the former have too little
   data, the latter are near all."""
EXAMPLE = """
heat demo
heat demo --picture library.svg
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@option("--picture", type=FILE_OUT, default="heat-demo.png", callback=checked_picture,
        help="Where to save the picture: .png, .svg or .pdf.")  # fmt: skip
@option("--version", type=click.Choice(list(RELEASES)),
        help=f"Neo4j release of the demo's own server.  [default: {DEFAULT_SERIES}]")  # fmt: skip
@database_options
def demo(picture: Path, version: str | None, **options: Any) -> None:
    """Try HEAT on the imports of Python's standard library.

    Reads the imports from the source files of this Python, loads them into a local Neo4j server, embeds
    them, predicts missing imports, asks five questions in Cypher and saves a picture. With NEO4J_URI or
    --uri it uses that server and starts none. Running it twice changes nothing.
    """
    from heat_neo4j.demo.stdlib import read_import_graph

    if version is not None and options["uri"] is not None:
        raise click.UsageError("--version is for the local server, but --uri or NEO4J_URI names one")
    if not as_json():
        print_lines(f"{INTRODUCTION}\n")
    with Reporter() as progress:
        imports = read_import_graph(on_progress=progress)
        with _server(version, options, progress) as (store, status):
            report, answers = _run(store, imports, picture, progress)
    server = None if status is None else status.to_dict()
    document = {"run": report.to_dict(), "answers": [answer.to_dict() for answer in answers]}
    if not printed_as_json({**document, "picture": picture, "server": server}):
        _show_end(picture, status)


@contextmanager
def _server(
    version: str | None, options: Mapping[str, Any], progress: Progress
) -> Iterator[tuple[Neo4jStore, ServerStatus | None]]:
    """Connect to the server that is named, or to the demo's own, which keeps running afterwards."""
    if options["uri"] is not None:
        with open_store(options) as store:
            yield store, None
        return
    from heat_neo4j.database.store import Neo4jStore
    from heat_neo4j.local_server.server import LocalServer

    local = LocalServer(version or DEFAULT_SERIES, name=SERVER, on_progress=progress)
    status = local.start()
    uri, user, password = local.connection()
    with Neo4jStore.open(uri, auth=(user, password)) as store:
        yield store, status


def _run(
    store: Neo4jStore, imports: ImportGraph, picture: Path, progress: Progress
) -> tuple[RunReport, list[Answer]]:
    """Load, embed, query and draw; print results as they come, except with ``--json``."""
    from heat_neo4j._utils.progress import prefixed
    from heat_neo4j.demo.questions import PROJECTION, QUESTIONS, draw_modules, load_modules
    from heat_neo4j.heat import HEAT
    from heat_neo4j.pipeline.embed import embed
    from heat_neo4j.pipeline.job import LinkOptions

    load_modules(store, imports, on_progress=progress)
    links = LinkOptions(k=10, min_degree=FEW, max_degree=HUB)
    # A batch of so small a graph is one walk: there is nothing for threads to share.
    model = HEAT(random_state=SEED, n_threads=1)
    report = embed(store, PROJECTION, model, model=MODEL, links=links, on_progress=progress)
    if not as_json():
        _show_run(store, imports, report)
    answers = []
    for number, question in enumerate(QUESTIONS, start=1):
        answers.append(question.ask(store))
        if not as_json():
            _show_answer(number, answers[-1])
    graph = store.read_graph(PROJECTION)
    draw_modules(imports, graph, picture, model, on_progress=prefixed(progress, "picture: "))
    return report, answers


def _show_run(store: Neo4jStore, imports: ImportGraph, report: RunReport) -> None:
    run, server = report.run, store.server
    seconds = sum(run.stage_seconds.values())
    links = plural(run.links_written, "predicted import")
    measured = [] if report.score is None else [each.mrr for each in report.score.figures.values()]
    if measured and measured[0] is not None:
        links += f"; held-out imports rank among all modules with MRR {measured[0]:.2f}"
    pairs = f"{run.pair_count:,} pairs of modules met in walks" if run.pair_count else ""
    print_line()
    facts([("Graph", f"the standard library of Python {imports.version}, read from its source")])
    facts([("", f"{plural(run.node_count, 'module')}, {plural(len(imports.source), 'import')}")])
    facts([("Server", f"Neo4j {server.version} at {server.address}")])
    facts([("Embedding", f"{run.dimension} dimensions from {pairs}, loss {run.final_loss:.2f}")])
    facts([("Links", links), ("Time", f"{format_seconds(seconds)} from reading to published")])


def _show_answer(number: int, answer: Answer) -> None:
    """Print a question, where its query is, and the rows of the answer, numbers to the right."""
    print_lines(f"\n{number}. {answer.question.text}\n   {answer.question.file}\n\n")
    rows = answer.rows
    lines = [list(row) for row in rows[:1]] + [[_cell(*entry) for entry in row.items()] for row in rows]
    numeric = [isinstance(value, int | float) for row in rows[:1] for value in row.values()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, numeric, strict=True)
        text = "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        print_line(f"   {text}".rstrip())
    if not rows:
        print_line("   none")
    if answer.question.query == "missing_links":
        print_lines(PROBABILITY)


def _cell(name: str, value: Any) -> str:
    if name == "probability" and value is not None:
        return ">99.9%" if value > 0.999 else "<0.1%" if value < 0.001 else f"{value:.1%}"
    if isinstance(value, float):
        return f"{value:.2f}"
    return printable(", ".join(value) if isinstance(value, list) else str(value))


def _show_end(picture: Path, status: ServerStatus | None) -> None:
    """Print where the picture is, and how to explore and remove the graph."""
    print_line()
    facts([("Picture", str(picture.absolute()))])
    if status is not None:
        login = f"connect to {status.uri} as neo4j; the password is in {status.password_file}"
        facts([("Browser", str(status.browser)), ("", login)])
    facts([("Try", "MATCH (a:Module {name: 'asyncio'})-[r:STDLIB_PREDICTED]-(b)"), ("", "RETURN a, r, b")])
    facts([("Queries", f"the files above, with {MODEL}Embedding in place of heatEmbedding, and so on")])
    if status is not None:
        facts([("Stop", f"heat server stop --name {SERVER}")])
    else:
        modules = "MATCH (n:Module) WHERE n.origin STARTS WITH 'heat demo' DETACH DELETE n"
        facts([("Remove", f"heat clear --model {MODEL}"), ("", modules)])
