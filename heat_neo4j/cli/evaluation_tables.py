"""How evaluations are shown: tables, notes, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heat_neo4j.cli.output import facts, format_seconds, headed, plural, print_line, printed_as_json, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heat_neo4j.evaluation.report import Evaluation, Figure, Row

__all__ = ["RowPrinter", "show"]

COLUMNS = (
    "auroc", "average_precision", "mean_rank", "mean_average_precision",
    "precision_at_10", "precision_at_100", "calibration_error",
    "hits_at_10", "mean_reciprocal_rank", "direction_accuracy",
)  # fmt: skip
DIGITS = {"mean_rank": 1, "precision_at_10": 3, "precision_at_100": 3}
TITLES = {
    "links": "Link prediction",
    "patterns": "Link prediction by pattern",
    "reconstruction": "Network reconstruction",
    "classes": "Node classification",
    "alpha": "Link prediction by alpha",
}


class RowPrinter:
    """Prints the table of link prediction row by row; rows of the baselines follow ours."""

    def __init__(self, baselines: Iterable[str]) -> None:
        from heat_neo4j.evaluation.methods import COMBINED_ROW

        self._first = max(map(len, (COMBINED_ROW, *baselines)))
        self._columns: list[str] = []
        self._widths: list[int] = []

    def __call__(self, evaluation: Evaluation) -> None:
        """Print the last row, and before the first one what stands above the table."""
        row = evaluation.rows[-1]
        if len(evaluation.rows) == 1:
            facts(_head(evaluation))
            print_line()
            self._begin(row)
        if row.missing:
            self._line([row.method, row.missing])
        else:
            self._line([row.method, *(_cell(row, key) for key in self._columns), _seconds(row)])

    def _begin(self, row: Row) -> None:
        """Print the header. Ours is the first row, and no other has more figures."""
        from heat_neo4j.evaluation.report import METRIC_NAMES

        self._columns = [key for key in COLUMNS if key in row.figures]
        names = [METRIC_NAMES[key] for key in self._columns]
        cells = [_cell(row, key) for key in self._columns]
        wider = [2 if key == "mean_rank" else 0 for key in self._columns]  # for those of thousands
        self._widths = [
            self._first,
            *(max(len(name), len(cell) + more) for name, cell, more in zip(names, cells, wider, strict=True)),
        ]
        self._line(["method", *names, "seconds"])

    def _line(self, cells: Sequence[str]) -> None:
        widths = [*self._widths[: len(cells) - 1], 0]
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        print_line(line.rstrip())


def show(evaluation: Evaluation, picture: Path | None, *, rows_shown: bool = False) -> None:
    """Draw the picture if one is wanted, and print the table, unless its rows are, or all of it as JSON."""
    if picture is not None:
        _draw(evaluation, picture)
    if printed_as_json({**evaluation.to_dict(), "picture": None if picture is None else str(picture)}):
        return
    if not rows_shown:
        facts(_head(evaluation))
        print_line()
        if evaluation.task == "classes":
            _show_classes(evaluation)
        elif evaluation.task == "alpha":
            _show_rows(evaluation.rows, "alpha", [f"{row.at:g}" for row in evaluation.rows])
        elif evaluation.task == "patterns":
            for place, pattern in enumerate(dict.fromkeys(row.pattern for row in evaluation.rows)):
                if place:
                    print_line()
                own = [row for row in evaluation.rows if row.pattern == pattern]
                _show_rows(own, pattern, [row.method for row in own])
        else:
            _show_rows(evaluation.rows, "method", [row.method for row in evaluation.rows])
    notes = [*evaluation.notes, *([] if picture is None else [f"picture in {picture}"])]
    if notes:
        print_line()
        facts(headed("Notes", notes))


def _head(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    graph, settings = evaluation.graph, evaluation.settings
    nodes, edges = plural(graph["nodes"], "node"), plural(graph["edges"], "edge")
    yield "Graph", f"{nodes}, {edges}, {plural(graph['attributes'], 'attribute column')}"
    yield "Task", f"{TITLES[evaluation.task].lower()}: {_task(evaluation)}"
    if "since" in settings:
        since = list(dict.fromkeys(settings["since"]))
        yield "", f"the latest edges are held out, from {' or '.join(since)} on"
    is_given = "alpha" in settings and not any("alpha" in chosen for chosen in settings.get("chosen", ()))
    alpha = f", alpha {settings['alpha']:g}" if is_given else ""
    yield "HEAT", f"{plural(settings['n_components'], 'dimension')}{alpha}"
    for seed, chosen in zip(evaluation.seeds, settings.get("chosen", ()), strict=False):
        values = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
        yield "", f"chosen for seed {seed}: {values}"
    several = (
        f"mean ± standard deviation of {plural(len(evaluation.seeds), 'seed')}, from {evaluation.seeds[0]} on"
    )
    single = f"of seed {evaluation.seeds[0]}; --seeds 5 shows how far they vary"
    yield "Figures", several if len(evaluation.seeds) > 1 else single


def _task(evaluation: Evaluation) -> str:
    settings = evaluation.settings
    if evaluation.task == "classes":
        several = "several" if settings["several_classes_per_node"] else "one"
        nodes = plural(settings["nodes_with_a_class"], "node")
        return f"{settings['classes']:,} classes, {several} for each of {nodes}"
    if evaluation.task == "reconstruction":
        return "all edges against all other pairs"
    counts = sorted(set(settings["test_edges"]))
    held_out = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    others = "as many other pairs" + (" of the pattern" if evaluation.task == "patterns" else "")
    return f"{held_out} edges held out ({settings['share']:.3g} asked for), against {others}"


def _show_rows(rows: Sequence[Row], first: str, names: Sequence[str]) -> None:
    from heat_neo4j.evaluation.report import METRIC_NAMES

    width = max(map(len, [first, *names]))
    with_figures = [(name, row) for name, row in zip(names, rows, strict=True) if row.figures]
    columns = [key for key in COLUMNS if any(key in row.figures for _, row in with_figures)]
    header = [f"{first:<{width}}", *(METRIC_NAMES[key] for key in columns), "seconds"]
    table(
        header, [[name, *(_cell(row, key) for key in columns), _seconds(row)] for name, row in with_figures]
    )
    _show_missing(zip(names, rows, strict=True), width)


def _show_classes(evaluation: Evaluation) -> None:
    from heat_neo4j.evaluation.report import METRIC_NAMES

    shares = evaluation.settings["shares"]
    names = list(dict.fromkeys(row.method for row in evaluation.rows))
    width = max(map(len, names))
    for place, metric in enumerate(("f1_micro", "f1_macro")):
        if place:
            print_line()
        rows = []
        for name in names:
            by_share = [evaluation.row(name, share) for share in shares]
            if by_share[0].figures:
                rows.append([name, *(_cell(row, metric) for row in by_share), _seconds(by_share[0])])
        percents = [f"{100 * share:.3g} %" for share in shares]
        table([f"{METRIC_NAMES[metric]:<{width}}", *percents, "seconds"], rows)
        _show_missing(((name, evaluation.row(name, shares[0])) for name in names), width)


def _show_missing(rows: Iterable[tuple[str, Row]], width: int) -> None:
    for name, row in rows:
        if row.missing:
            print_line(f"{name:<{width}}  {row.missing}")


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

    if evaluation.task == "classes":
        shares = evaluation.settings["shares"]
        names = dict.fromkeys(row.method for row in evaluation.rows if row.figures)
        scores = {
            name: _spread([evaluation.row(name, share) for share in shares], "f1_macro") for name in names
        }
        axes = plots.plot_label_share(shares, scores, metric="F1 macro")
    elif evaluation.task == "alpha":
        alphas = [float(row.at or 0.0) for row in evaluation.rows]
        axes = plots.plot_alpha(alphas, {"link prediction": _spread(evaluation.rows, "auroc")})
    elif evaluation.task == "patterns":
        axes = plots.plot_roc_panels(evaluation.curves)
    elif evaluation.task == "links":
        axes = plots.plot_roc(evaluation.curves["roc"])
    else:
        axes = plots.plot_precision_recall(evaluation.curves["precision_recall"])
    plots.add_title(axes, TITLES[evaluation.task])
    plots.save_picture(axes, path)


def _spread(rows: Sequence[Row], metric: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from numpy import array

    figures = [row.figures[metric] for row in rows]
    return array([figure.mean for figure in figures]), array([figure.sd or 0.0 for figure in figures])
