"""``heat evaluate``: how good the embedding is on this graph, and whether better than the simple thing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.arguments import check_choose_seconds, chosen_from, heat_from
from heat_neo4j.cli.evaluation_input import (
    baselines_option,
    classes_options,
    opened,
    options_of_all,
    picture_checked,
    seeds_of,
    split_options,
    splitter_of,
)
from heat_neo4j.cli.evaluation_tables import RowPrinter, show
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import option, setting_options
from heat_neo4j.cli.output import Reporter
from heat_neo4j.cli.settings import settings_of
from heat_neo4j.cli.values import Number
from heat_neo4j.errors import ProjectionError

if TYPE_CHECKING:
    from heat_neo4j.embedding.estimator import HEAT

__all__ = ["evaluate"]

SHARE = Number(0, 1, min_open=True, max_open=True)
ALL_BUT_ALPHA = [setting.key for setting in settings_of("heat") if setting.name != "alpha"]
GROUP_EXAMPLE = """
heat evaluate links --label Paper --relationship CITES --attribute words
heat evaluate classes --label Paper --relationship CITES --classes field
heat evaluate links --edges edges.csv --attribute-file attributes.csv
"""
RECONSTRUCTION_EXAMPLE = """
heat evaluate reconstruction --label Paper --relationship CITES --attribute words --seeds 3
"""
LINKS_EXAMPLE = """
heat evaluate links --label Paper --relationship CITES --attribute words --picture links.png
heat evaluate links --label Paper --relationship CITES --time published --temporal
heat evaluate links --edges edges.csv --attribute-file attributes.csv --no-baselines
"""
CLASSES_EXAMPLE = """
heat evaluate classes --label Paper --relationship CITES --attribute words --classes field
heat evaluate classes --edges edges.csv --attribute-file attributes.csv --class-file labels.csv
"""
ALPHA_EXAMPLE = """
heat evaluate alpha --label Paper --relationship CITES --attribute words --alpha 0 --alpha 0.2
"""


@click.group(cls=HeatSubgroup, example=GROUP_EXAMPLE)
def evaluate() -> None:
    """Measure an embedding on your graph, beside simpler methods.

    HEAT is trained anew for every seed with the options given, on a projection of a live Neo4j or on files.
    The same splits go to every method; what is tested is kept from all of them. A line under the table says
    which baselines were better. Nothing is written to the database.
    """


@evaluate.command(cls=HeatCommand, example=RECONSTRUCTION_EXAMPLE)
@baselines_option
@setting_options("heat")
@options_of_all
def reconstruction(
    baselines: bool, gensim: bool, picture: Path | None, as_json: bool, verbose: int, **options: Any
) -> None:
    """Tell all edges of the graph from all other pairs.

    How much of the graph fits into so many dimensions; it says little about links to come.
    """
    model, picture = _model(options), picture_checked(picture)
    with _working(as_json, verbose) as progress, opened(options, progress) as source:
        from heat_neo4j.evaluation import evaluate_reconstruction

        methods = source.link_methods(model.n_components, progress, gensim=gensim) if baselines else {}
        evaluation = evaluate_reconstruction(
            source.graph, model, seeds=seeds_of(options), methods=methods, on_progress=progress
        )
    show(evaluation, as_json=as_json, picture=picture)


@evaluate.command(cls=HeatCommand, example=LINKS_EXAMPLE)
@split_options
@option(
    "--combined/--no-combined",
    level="more",
    heading="Evaluation",
    default=True,
    show_default=True,
    help="Show the combined score too, and how well probabilities hold; one more training a seed.",
)
@setting_options("choose")
@baselines_option
@setting_options("heat")
@options_of_all
def links(
    share: float,
    temporal: bool,
    combined: bool,
    baselines: bool,
    gensim: bool,
    picture: Path | None,
    as_json: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Hold out edges and see who finds them.

    AUROC and AP: held-out edges against as many pairs that are no edges. Mean rank and mAP: where the
    held-out partners of a node stand among all nodes it is not linked to. P@k: the share of held-out edges
    among the k likeliest of all pairs. ECE: by how much predicted probabilities miss the share that comes
    true, among these pairs and, restated, among all pairs of the graph. Each row is printed when it is done.
    """
    model, picture = heat_from(options), picture_checked(picture)
    check_choose_seconds(options["choose_seconds"], options)
    with _working(as_json, verbose) as progress, opened(options, progress) as source:
        from heat_neo4j.evaluation import evaluate_links

        methods = source.link_methods(model.n_components, progress, gensim=gensim) if baselines else {}
        evaluation = evaluate_links(
            source.graph,
            model,
            share=share,
            seeds=seeds_of(options),
            methods=methods,
            combined=combined,
            choose=chosen_from(options),
            choose_seconds=options["choose_seconds"],
            splitter=splitter_of(source.graph, temporal=temporal),
            on_progress=progress,
            on_row=(lambda table: None) if as_json else RowPrinter(methods),
        )
    show(evaluation, as_json=as_json, picture=picture, rows_shown=True)


@evaluate.command(cls=HeatCommand, example=CLASSES_EXAMPLE)
@classes_options
@option(
    "--label-share",
    "label_shares",
    level="more",
    heading="Evaluation",
    type=SHARE,
    multiple=True,
    default=(0.02, 0.04, 0.06, 0.08, 0.1),
    show_default=True,
    metavar="X",
    help="Share of the nodes with a class to learn from; repeat for more.",
)
@baselines_option
@setting_options("heat")
@options_of_all
def classes(
    label_shares: tuple[float, ...],
    baselines: bool,
    gensim: bool,
    picture: Path | None,
    as_json: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Tell the classes of nodes from those of a few, by their coordinates.

    Logistic regression on Klein coordinates, which know the classes of no node. Where nodes have several
    classes, each is given as many as it truly has. With --edges the classes are in the --class-file.
    """
    _check_classes(options)
    model, picture = _model(options), picture_checked(picture)
    with _working(as_json, verbose) as progress, opened(options, progress) as source:
        from heat_neo4j.evaluation import evaluate_classes
        from heat_neo4j.evaluation.methods import feature_methods

        evaluation = evaluate_classes(
            source.graph,
            model,
            source.classes(options),
            shares=tuple(dict.fromkeys(label_shares)),
            seeds=seeds_of(options),
            methods=feature_methods(model.n_components, progress, gensim=gensim) if baselines else {},
            on_progress=progress,
        )
    show(evaluation, as_json=as_json, picture=picture)


@evaluate.command(cls=HeatCommand, example=ALPHA_EXAMPLE)
@option(
    "--alpha",
    "alphas",
    heading="Evaluation",
    type=Number(0, 1),
    multiple=True,
    default=(0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
    show_default=True,
    metavar="X",
    help="Share of steps that follow attributes, to be tried; repeat for more.",
)
@split_options
@setting_options(*ALL_BUT_ALPHA)
@options_of_all
def alpha(
    alphas: tuple[float, ...],
    share: float,
    temporal: bool,
    picture: Path | None,
    as_json: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Predict links with one alpha after the other.

    The same splits for each; figures as for `heat evaluate links`.
    """
    model, picture = _model({**options, "alpha": alphas[0]}), picture_checked(picture)
    with _working(as_json, verbose) as progress, opened(options, progress) as source:
        from heat_neo4j.evaluation import evaluate_alpha

        evaluation = evaluate_alpha(
            source.graph,
            model,
            tuple(dict.fromkeys(alphas)),
            share=share,
            seeds=seeds_of(options),
            splitter=splitter_of(source.graph, temporal=temporal),
            on_progress=progress,
        )
    show(evaluation, as_json=as_json, picture=picture)


def _model(options: dict[str, Any]) -> HEAT:
    """Return the estimator for a task that leaves all parameters as they are given."""
    chosen = chosen_from(options)
    if chosen:
        name = chosen[0].replace("_", "-")
        line = f"--{name} auto: only `heat evaluate links` and `heat embed` choose; give a number"
        raise click.UsageError(line, click.get_current_context())
    return heat_from(options)


@contextmanager
def _working(as_json: bool, verbose: int) -> Iterator[Reporter]:
    """Report progress; a graph that cannot be evaluated is the graph's fault, not ours."""
    from heat_neo4j.embedding.estimator import NothingToLearnError
    from heat_neo4j.evaluation import EvaluationError
    from heat_neo4j.linkpred.tuning import TuningError

    with Reporter(quiet=as_json and not verbose) as progress:
        try:
            yield progress
        except (EvaluationError, NothingToLearnError, TuningError) as error:
            raise ProjectionError(f"the graph cannot be evaluated: {error}") from error


def _check_classes(options: dict[str, Any]) -> None:
    """Refuse options that name no classes, or two kinds, or that give the classes away."""
    context, name = click.get_current_context(), options["classes"]
    if options["edges"] is not None:
        if name is not None or options["classes_from_labels"]:
            raise click.UsageError("with --edges, classes are in the --class-file", context)
        if options["class_file"] is None:
            raise click.UsageError("with --edges, name the file of classes with --class-file", context)
    elif (name is None) != options["classes_from_labels"]:
        raise click.UsageError("give either --classes PROPERTY or --classes-from-labels", context)
    if name is not None and name in options["attributes"]:
        raise click.UsageError(f"{name!r} is both the class and an attribute: it would tell itself", context)
