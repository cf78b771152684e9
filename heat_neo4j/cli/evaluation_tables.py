"""How evaluations are shown: tables, notes, pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.output import (
    as_options,
    facts,
    format_seconds,
    headed,
    print_line,
    printed_as_json,
    table,
)

if TYPE_CHECKING:
    from heat_neo4j.evaluation.report import Evaluation, Figure, Row

DIGITS = {
    "mean_rank": 2, "precision_at_10": 3, "precision_at_100": 3, "precision_at_written": 3,
    "recall_at_written": 3,
}  # fmt: skip


def show(evaluation: Evaluation, picture: Path | None) -> None:
    """Draw the picture if one is wanted, and print the tables, or all of it as JSON."""
    if picture is not None:
        _draw(evaluation, picture)
    if printed_as_json({**evaluation.to_dict(), "picture": None if picture is None else str(picture)}):
        return
    facts(_head(evaluation))
    print_line()
    for place, pattern in enumerate(dict.fromkeys(row.pattern for row in evaluation.rows)):
        if place:
            print_line()
        _show_rows([row for row in evaluation.rows if row.pattern == pattern], pattern or "method")
    notes = [*evaluation.notes, *([] if picture is None else [f"picture in {picture}"])]
    if notes:
        print_line()
        facts(headed("Notes", map(as_options, notes)))


def _head(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    graph, settings = evaluation.graph, evaluation.settings
    nodes, edges = plural(graph["nodes"], "node"), plural(graph["edges"], "edge")
    yield "Graph", f"{nodes}, {edges}, {plural(graph['attributes'], 'attribute column')}"
    if "sampled_nodes" in settings:
        yield "Task", f"reconstruction of the hierarchy {settings['hierarchy']['type']}"
    else:
        yield "Task", f"link prediction: {_task(evaluation)}"
    if settings.get("split") == "random":
        yield "", "random edges are held out: nodes may lose all"
    elif settings.get("split") == "connected":
        yield "", "every node that has an edge keeps one"
    if "since" in settings:
        since = list(dict.fromkeys(settings["since"]))
        yield "", f"the latest edges are held out, from {' or '.join(since)} onwards"
    alpha = f", alpha {settings['alpha']}" if "alpha" in settings else ""
    yield "HEAT", f"{plural(settings['n_components'], 'dimension')}{alpha}"
    seeds, first = plural(len(evaluation.seeds), "seed"), evaluation.seeds[0]
    several = f"mean ± standard deviation of {seeds}, starting at {first}"
    single = f"of seed {first}"
    if "sampled_nodes" not in settings:
        single += "; --seeds 5 shows how far they vary"
    yield "Figures", several if len(evaluation.seeds) > 1 else single


def _task(evaluation: Evaluation) -> str:
    settings = evaluation.settings
    counts = sorted(set(settings["test_edges"]))
    held_out = plural(counts[-1], "edge")
    if counts[0] < counts[-1]:
        held_out = f"{counts[0]:,} to {held_out}"
    return f"{held_out} held out ({settings['share']:.3g} asked for), ranked among all other targets"


def _show_rows(rows: Sequence[Row], first: str) -> None:
    from heat_neo4j.evaluation.report import HIERARCHY_METRICS, LINK_METRICS, METRIC_NAMES

    width = max(len(first), *(len(row.method) for row in rows))
    with_figures = [row for row in rows if row.figures]
    is_hierarchy = any("order_accuracy" in row.figures for row in with_figures)
    wanted = HIERARCHY_METRICS if is_hierarchy else LINK_METRICS
    columns = [key for key in wanted if any(key in row.figures for row in with_figures)]
    header = [f"{first:<{width}}", *(METRIC_NAMES[key] for key in columns), "seconds"]
    table(
        header, [[row.method, *(_cell(row, key) for key in columns), _seconds(row)] for row in with_figures]
    )
    for row in rows:
        if row.missing:
            print_line(f"{row.method:<{width}}  {row.missing}")


def _cell(row: Row, metric: str) -> str:
    if metric not in row.figures:
        return "-"
    figure: Figure = row.figures[metric]
    digits = DIGITS.get(metric, 4)
    text = f"{figure.mean:.{digits}f}"
    if figure.sd is not None:
        text += f" ± {figure.sd:.{digits}f}"
    if figure.error is not None:
        text += f" (se {figure.error:.2g})"
    return text


def _seconds(row: Row) -> str:
    return format_seconds(sum(row.seconds) / len(row.seconds))


def _draw(evaluation: Evaluation, path: Path) -> None:
    from heat_neo4j import plots

    by_pattern = evaluation.curves
    axes = plots.plot_roc(by_pattern[""]) if "" in by_pattern else plots.plot_roc_panels(by_pattern)
    plots.add_title(axes, "Link prediction")
    plots.save_picture(axes, path)
