"""``heat plot``: pictures of a published model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.arguments import key_from
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import (
    FILE_OUT,
    Decorator,
    caption_option,
    checked_picture,
    database_options,
    filter_options,
    option,
    setting_options,
    stack,
)
from heat_neo4j.cli.output import Reporter, facts, noted, printed_as_json
from heat_neo4j.cli.values import Count
from heat_neo4j.errors import ProjectionError

if TYPE_CHECKING:
    from heat_neo4j.database.runs import RunRecord

CAPTION = """\
A dot is a node, larger the more neighbours it has; an arc is a relationship, drawn as hyperbolic space's straight line.
Rings mark hyperbolic distances from the centre: general or well connected nodes lie inside; the rim is infinitely far."""  # noqa: E501
SOME_EDGES = "Of {all} edges, {shown} are drawn, spread evenly over all."
FLAT = "an embedding in 2 dimensions, trained for the picture; the published one has {dimension}"
MOST_EDGES = 50_000
LONGEST_NAME = 40  # characters in the picture


def _picture_options(name: str) -> Decorator[Any]:
    """Return the options of every picture; `name` is in the file's default name."""
    return stack(
        option("--output", heading="Picture", type=FILE_OUT, default=f"heat-{name}.png",
               callback=checked_picture, help="Where to save the picture: .png, .svg or .pdf."),
        option("--title", heading="Picture", metavar="TEXT", help="Line above the picture; '' for none."),
        setting_options("write.model"),
    )  # fmt: skip


disk_options: Decorator[Any] = stack(
    caption_option(heading="Picture"),
    option("--color-by", heading="Picture", metavar="PROPERTY",
           help="Node property to colour by.  [default: the nodes' labels]"),
    option("--links", heading="Picture", type=Count(min=0), metavar="N", default=0,
           help="Predicted links to draw (dashed), likeliest first."),
)  # fmt: skip


@click.group(
    cls=HeatSubgroup,
    example="heat plot disk --caption name --links 50\nheat plot reliability",
)
def plot() -> None:
    """Draw a published model: disk, reliability, degrees.

    A picture shows a published model, its run, and the current graph. Nothing is written to the database. It
    needs the extra 'plot'.
    """


@plot.command(cls=HeatCommand, example="heat plot disk --caption name --color-by field --links 50")
@disk_options
@_picture_options("disk")
@setting_options("heat.n_threads")
@filter_options
@database_options
def disk(
    caption: Sequence[tuple[str, str]],
    color_by: str | None,
    links: int,
    model: str,
    n_threads: int | None,
    **options: Any,
) -> None:
    """Draw nodes and relationships in the Poincaré disk.

    If the embedding has more than two dimensions, another one with two dimensions is trained for the picture,
    with the run's other parameters.
    """
    from heat_neo4j import plots
    from heat_neo4j.pipeline import published_model

    key = key_from("--caption", caption)
    with open_store(options) as store, Reporter() as progress:
        published = published_model.read_published(store, model, on_progress=progress)
        graph, run = published.graph, published.run
        named = bool(key or run.projection.get("key"))
        names = published_model.node_names(store, published, key, LONGEST_NAME) if named else []
        groups = published_model.texts(store.read_property(graph, color_by)) if color_by else None
        predicted = published_model.read_predicted(store, published, links) if links else None
        points = published_model.embed_in_plane(published, n_threads=n_threads, on_progress=progress)
    notes, lines = list(published.notes), [CAPTION]
    if graph.n_edges > MOST_EDGES:
        lines.append(SOME_EDGES.format(all=f"{graph.n_edges:,}", shown=f"{MOST_EDGES:,}"))
    if points is not published.embedding:
        flat = FLAT.format(dimension=published.embedding.shape[1] - 1)
        lines.append(f"This is {flat}.")
        notes.append(f"the picture shows {flat}")
    axes = plots.plot_disk(
        points,
        graph,
        names=names,
        groups=published_model.label_groups(graph) if groups is None else groups,
        predicted=predicted,
        n_edges=MOST_EDGES,
        title=_title(options, f"Model {model!r} in the hyperbolic plane"),
        caption="\n".join(lines),
    )
    _finish(axes, options, run, notes)


@plot.command(cls=HeatCommand, example="heat plot reliability --model papers")
@_picture_options("reliability")
@filter_options
@database_options
def reliability(model: str, **options: Any) -> None:
    """Plot the observed share of links against predicted probability.

    For each pattern, the share has a 95 percent interval; the probabilities were fitted to links of other
    sources. Reliable probabilities lie on the diagonal.
    """
    from heat_neo4j import plots
    from heat_neo4j.pipeline import published_model

    with open_store(options) as store, Reporter() as progress:
        published = published_model.read_published(store, model, on_progress=progress)
        score = published_model.read_score(store, published)
        why = published_model.why_no_score(store, published) if score is None else None
    if score is None or not score.reliability:
        raise ProjectionError(f"model {model!r} has no link probabilities: {why or 'run `heat links`'}")
    axes = plots.plot_reliability(score.reliability)
    _finish(axes, options, published.run, published.notes, f"Link probability of model {model!r}")


@plot.command(cls=HeatCommand, example="heat plot degree --output degree.pdf")
@_picture_options("degree")
@filter_options
@database_options
def degree(model: str, **options: Any) -> None:
    """Plot the distance from the centre against the number of neighbours."""
    from heat_neo4j import plots
    from heat_neo4j.pipeline import published_model

    with open_store(options) as store, Reporter() as progress:
        published = published_model.read_published(store, model, on_progress=progress)
    axes = plots.plot_radius_by_degree(published.embedding, published.graph)
    _finish(axes, options, published.run, published.notes, f"Hierarchy in model {model!r}")


def _title(options: Mapping[str, Any], default: str) -> str:
    return default if options["title"] is None else options["title"]


def _finish(
    axes: Any, options: Mapping[str, Any], run: RunRecord, notes: Sequence[str], title: str | None = None
) -> None:
    """Give the picture a title if it has none, save it, and say where it is and what it shows."""
    from heat_neo4j.plots import add_title, save_picture

    if title is not None:
        add_title(axes, _title(options, title))
    output: Path = options["output"]
    save_picture(axes, output)
    document = {"picture": output, "model": run.model, "run": run.run_id, "notes": list(notes)}
    if not printed_as_json(document):
        facts([("Picture", str(output.absolute())), ("Run", f"{run.run_id} of model {run.model!r}")])
        facts(noted(notes))
