"""How evaluations are shown: tables, notes, pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from heat_neo4j.cli.output import facts, format_seconds, plural, print_json, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heat_neo4j.evaluation.report import Evaluation, Figure, Row

__all__ = ["show"]

COLUMNS = (
    "auroc", "average_precision", "mean_rank", "mean_average_precision",
    "precision_at_10", "precision_at_100", "calibration_error",
)  # fmt: skip
DIGITS = {"mean_rank": 1, "precision_at_10": 3, "precision_at_100": 3}
TITLES = {
    "links": "Link prediction",
    "reconstruction": "Network reconstruction",
    "classes": "Node classification",
    "alpha": "Link prediction by alpha",
}


def show(found: Evaluation, *, as_json: bool, picture: Path | None) -> None:
    """Draw the picture if one is wanted, and print the table, or all of it as JSON."""
    if picture is not None:
        _draw(found, picture)
    if as_json:
        print_json({**found.to_dict(), "picture": None if picture is None else str(picture)})
        return
    facts(_head(found))
    click.echo()
    if found.task == "classes":
        _show_classes(found)
    elif found.task == "alpha":
        _show_rows(found, "alpha", lambda row: f"{row.at:g}")
    else:
        _show_rows(found, "method", lambda row: row.method)
    notes = [*found.notes, *([] if picture is None else [f"picture in {picture}"])]
    if notes:
        click.echo()
        facts(("" if place else "Notes", note) for place, note in enumerate(notes))


def _head(found: Evaluation) -> Iterator[tuple[str, str]]:
    graph, settings = found.graph, found.settings
    nodes, edges = plural(graph["nodes"], "node"), plural(graph["edges"], "edge")
    yield "Graph", f"{nodes}, {edges}, {plural(graph['attributes'], 'attribute column')}"
    yield "Task", f"{TITLES[found.task].lower()}: {_task(found)}"
    if "since" in settings:
        since = list(dict.fromkeys(settings["since"]))
        yield "", f"the latest edges are held out, from {' or '.join(since)} on"
    is_given = "alpha" in settings and not any("alpha" in chosen for chosen in settings.get("chosen", ()))
    alpha = f", alpha {settings['alpha']:g}" if is_given else ""
    yield "HEAT", f"{plural(settings['n_components'], 'dimension')}{alpha}"
    for seed, chosen in zip(found.seeds, settings.get("chosen", ()), strict=False):
        values = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
        yield "", f"chosen for seed {seed}: {values}"
    several = f"mean ± standard deviation of {plural(len(found.seeds), 'seed')}, from {found.seeds[0]} on"
    yield "Figures", several if len(found.seeds) > 1 else f"of seed {found.seeds[0]}"


def _task(found: Evaluation) -> str:
    settings = found.settings
    if found.task == "classes":
        several = "several" if settings["several_classes_per_node"] else "one"
        nodes = plural(settings["nodes_with_a_class"], "node")
        return f"{settings['classes']:,} classes, {several} for each of {nodes}"
    if found.task == "reconstruction":
        return "all edges against all other pairs"
    counts = sorted(set(settings["test_edges"]))
    held_out = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{held_out} edges held out ({settings['share']:.3g} asked for), against as many other pairs"


def _show_rows(found: Evaluation, first: str, name_of: Callable[[Row], str]) -> None:
    from heat_neo4j.evaluation.report import METRIC_NAMES

    names = [name_of(row) for row in found.rows]
    width = max(map(len, [first, *names]))
    with_figures = [(name, row) for name, row in zip(names, found.rows, strict=True) if row.figures]
    columns = [key for key in COLUMNS if any(key in row.figures for _, row in with_figures)]
    header = [f"{first:<{width}}", *(METRIC_NAMES[key] for key in columns), "seconds"]
    table(
        header,
        [[name, *(_cell(row, key) for key in columns), _seconds(row)] for name, row in with_figures],
    )
    _show_missing(zip(names, found.rows, strict=True), width)


def _show_classes(found: Evaluation) -> None:
    from heat_neo4j.evaluation.report import METRIC_NAMES

    shares = found.settings["shares"]
    names = list(dict.fromkeys(row.method for row in found.rows))
    width = max(map(len, names))
    for place, metric in enumerate(("f1_micro", "f1_macro")):
        if place:
            click.echo()
        rows = []
        for name in names:
            by_share = [found.row(name, share) for share in shares]
            if by_share[0].figures:
                rows.append([name, *(_cell(row, metric) for row in by_share), _seconds(by_share[0])])
        header = [
            f"{METRIC_NAMES[metric]:<{width}}",
            *(f"{100 * share:.3g} %" for share in shares),
            "seconds",
        ]
        table(header, rows)
        _show_missing(((name, found.row(name, shares[0])) for name in names), width)


def _show_missing(rows: Iterable[tuple[str, Row]], width: int) -> None:
    for name, row in rows:
        if row.missing:
            click.echo(f"{name:<{width}}  {row.missing}")


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


def _draw(found: Evaluation, path: Path) -> None:
    from heat_neo4j import plots

    if found.task == "classes":
        shares = found.settings["shares"]
        names = dict.fromkeys(row.method for row in found.rows if row.figures)
        scores = {name: _spread([found.row(name, share) for share in shares], "f1_macro") for name in names}
        axes = plots.plot_label_share(shares, scores, metric="F1 macro")
    elif found.task == "alpha":
        alphas = [float(row.at or 0.0) for row in found.rows]
        axes = plots.plot_alpha(alphas, {"link prediction": _spread(found.rows, "auroc")})
    elif found.task == "links":
        axes = plots.plot_roc(found.curves["roc"])
    else:
        axes = plots.plot_precision_recall(found.curves["precision_recall"])
    plots.add_title(axes, TITLES[found.task])
    plots.save_picture(axes, path)


def _spread(rows: Sequence[Row], metric: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from numpy import array

    figures = [row.figures[metric] for row in rows]
    return array([figure.mean for figure in figures]), array([figure.sd or 0.0 for figure in figures])
