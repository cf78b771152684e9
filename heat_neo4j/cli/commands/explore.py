"""``heat explore``: an interactive page of the Poincare disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import format_bytes, plural
from heat_neo4j._utils.output_file import check_output, write_output
from heat_neo4j.cli.arguments import key_from
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import (
    FILE_OUT,
    Decorator,
    caption_option,
    database_options,
    filter_options,
    option,
    setting_options,
    stack,
)
from heat_neo4j.cli.output import Reporter, facts, noted, printed_as_json

if TYPE_CHECKING:
    from heat_neo4j.explore.published import PageData

FILE = "heat-explore.html"

EXAMPLE = """
heat explore --caption title --color-by field --show year --show authors --open
heat explore --caption Paper=title --color-by year --output papers.html
"""

page_options: Decorator[Any] = stack(
    option("--output", type=FILE_OUT, default=FILE, help="Where to save the page."),
    caption_option(),
    option("--color-by", metavar="PROPERTY",
           help="Initial property to colour by: a scale for numbers and dates, else one colour per "
           "value, ten at most.  [default: the labels]"),
    option(
        "--show", multiple=True, metavar="PROPERTY", help="Property to show for each node; repeat for more."
    ),
    option("--clusters/--no-clusters", default=False,
           help="Colour by clusters unless --color-by is given; find and name them if none are published."),
    option("--title", metavar="TEXT", default="", show_default=False,
           help="Heading of the page.  [default: the model]"),
    option("--open/--no-open", "open_it", default=False, help="Open it in a browser."),
)  # fmt: skip


@click.command(cls=HeatCommand, example=EXAMPLE)
@setting_options("write.model")
@page_options
@setting_options("heat.n_threads")
@filter_options
@database_options
def explore(model: str, output: Path, title: str, open_it: bool, **options: Any) -> None:
    """Save an interactive page of a model.

    One HTML file that needs no network: drag to pan, scroll to zoom, click a node for its nearest neighbours,
    predicted links and relationships. Relationships have a colour per type and narrow to the target. Colour
    and filter nodes by labels, --show properties and clusters, and save the picture as PNG or SVG. The URL
    ends with the selected node, so you can share it along with the file.

    It shows a published model; if that has more than two dimensions, its graph is embedded once more in the
    plane for the picture, while neighbours, links and radius remain the model's.
    """
    caption = key_from("--caption", options["caption"])
    check_output(output, "--output")
    from heat_neo4j.explore.published import read_page_data

    fields = {name: options[name] for name in ("color_by", "show", "clusters", "n_threads")}
    with open_store(options) as store, Reporter() as progress:
        data = read_page_data(store, model, caption=caption, **fields, on_progress=progress)
    write_output(output, data.page(title).encode(), "--output")
    _report(data, output.absolute())
    if open_it:
        click.launch(output.absolute().as_uri())


def _report(data: PageData, output: Path) -> None:
    published = data.model
    graph, run, size = published.graph, published.run, output.stat().st_size
    n_links = 0 if data.links is None else len(data.links)
    notes = list(published.notes)
    document = {"page": str(output), "bytes": size, "model": run.model, "run": run.run_id}
    document |= {"nodes": graph.n_nodes, "edges": graph.n_edges, "links": n_links}
    if printed_as_json({**document, "trained_for_the_page": data.trained, "notes": notes}):
        return
    content = f"{plural(graph.n_nodes, 'node')}, {plural(graph.n_edges, 'edge')}"
    facts([("Page", f"{output} ({format_bytes(size)}): open it in a browser")])
    facts([("Graph", f"{content}, {plural(n_links, 'predicted link')} of model {run.model!r}")])
    if data.trained:
        notes.append("the model has more than 2 dimensions: its graph was embedded in 2 for the picture")
    facts(noted(notes))
