"""``heat evaluate``: how good the embedding is on this graph, and whether better than the simple thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from heat_neo4j.cli.arguments import check_choose_seconds, chosen_from, heat_from, projection_from
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.evaluation_tables import show
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import (
    FILE,
    FILE_IN,
    Decorator,
    checked_picture,
    database_options,
    header_option,
    option,
    setting_options,
    stack,
)
from heat_neo4j.cli.output import Reporter, as_json, print_line
from heat_neo4j.cli.values import Count, Number
from heat_neo4j.errors import ProjectionError

if TYPE_CHECKING:
    from heat_neo4j._utils.progress import Progress
    from heat_neo4j.database.store import Neo4jStore
    from heat_neo4j.embedding.estimator import Embedder
    from heat_neo4j.evaluation import NodeClasses
    from heat_neo4j.graph import Graph
    from heat_neo4j.linkpred.splits import Split

_M = TypeVar("_M")
NO_TYPES = "with --edges, directions and types do not count: heat load puts them into Neo4j"
GROUP_EXAMPLE = """
heat evaluate links --label Paper --relationship CITES --attribute words
heat evaluate classes --label Paper --relationship CITES --classes field
heat evaluate links --edges edges.csv --attribute-file attributes.csv
"""
LINKS_EXAMPLE = """
heat evaluate links --label Paper --relationship CITES --attribute words --picture links.png
heat evaluate links --label User --label Movie --relationship RATED --predict 'User-RATED->Movie'
heat evaluate links --label Paper --relationship CITES --time published --split time
heat evaluate links --edges edges.csv --attribute-file attributes.csv --no-baselines
"""
CLASSES_EXAMPLE = """
heat evaluate classes --label Paper --relationship CITES --attribute words --classes field
heat evaluate classes --edges edges.csv --attribute-file attributes.csv --class-file labels.csv
"""

HEADING = "Evaluation"
FILES = "Graph from files"
FILES_IN_PLACE = (("attributes", "--attribute", "--attribute-file"), ("labels", "--label", "--class-file"))
SHARE = Number(0, 1, min_open=True, max_open=True)


options_of_all: Decorator[Any] = stack(
    option("--seeds", heading=HEADING, type=Count(min=1), metavar="N", default=1,
           help="Number of seeds, from --random-state (else 0) on; shows the spread."),
    option("--picture", level="more", heading=HEADING, type=FILE, callback=checked_picture,
           help="Draw the result into this .png, .svg or .pdf; needs the extra 'plot'."),
    option("--edges", heading=FILES, type=FILE_IN,
           help="Edge list as for `heat load`, instead of a database."),
    option("--attribute-file", heading=FILES, level="more", type=FILE_IN,
           help="With --edges: the nodes' numbers."),
    option("--class-file", heading=FILES, level="more", type=FILE_IN,
           help="With --edges: the nodes' classes."),
    header_option,
    setting_options("projection"),
    database_options,
)  # fmt: skip
split_options: Decorator[Any] = stack(
    option("--share", level="more", heading=HEADING, type=SHARE, metavar="X", default=0.15,
           help="Share of the edges to hold out."),
    option("--split", heading=HEADING, type=click.Choice(("random", "connected", "time")), default="random",
           help="Edges to hold out: any, such that each node keeps one, or the latest, by the property "
                "that --time names (or a column time in --edges)."),
)  # fmt: skip
combined_option: Decorator[Any] = stack(
    option("--combined/--no-combined", level="more", heading=HEADING, default=True,
           help="Show the link score, too; one more training a seed."),
)  # fmt: skip
baselines_option: Decorator[Any] = stack(
    option("--baselines/--no-baselines", heading=HEADING, default=True,
           help="Compare with simpler methods on the same data."),
    option("--gensim", level="more", heading=HEADING, is_flag=True,
           help="Add gensim's Poincaré embedding, which takes longer than all others together."),
)  # fmt: skip
classes_options: Decorator[Any] = stack(
    option("--classes", heading=HEADING, metavar="PROPERTY",
           help="Node property with the class: a text or whole number, "
                "or a list of them for several classes."),
    option("--classes-from-labels", level="more", heading=HEADING, is_flag=True,
           help="Take the node labels that not all nodes carry as classes."),
    option("--label-share", "label_shares", level="more", heading=HEADING, type=SHARE, multiple=True,
           default=(0.02, 0.04, 0.06, 0.08, 0.1), metavar="X",
           help="Share of the nodes with a class to learn from; repeat for more."),
)  # fmt: skip


@click.group(cls=HeatSubgroup, example=GROUP_EXAMPLE)
def evaluate() -> None:
    """Measure HEAT on your graph, beside simpler methods.

    HEAT is trained for every seed with the given options, on a projection of a live Neo4j or on files.
    Every method gets the same splits and does not see the test data. A note under the table names the
    baselines that were better. Nothing is written to the database.
    """


@evaluate.command(cls=HeatCommand, example=LINKS_EXAMPLE)
@setting_options("links.patterns")
@split_options
@combined_option
@setting_options("choose")
@baselines_option
@setting_options("heat")
@options_of_all
def links(
    patterns: tuple[str, ...],
    share: float,
    split: Split,
    combined: bool,
    picture: Path | None,
    **options: Any,
) -> None:
    """Hold out relationships and measure how high each method ranks them.

    A table for each pattern, such as User-RATED->Movie, or one for undirected edges from --edges. A held-out
    pair loses all its relationships. MRR and Hits@10: how high each held-out partner ranks among the targets
    that its source does not have. P@10, P@100 and P@written: the share of held-out relationships in the best
    10, 100 and as many pairs as the pattern has relationships; recall: the share of them found there.
    Direction: how often a relationship scores higher than its reverse. ECE: the calibration error of the
    probabilities. AUROC and AP: against as many random pairs, an easier question.

    The parameters of the baselines are tuned on relationships held out of the training graph.
    """
    model = heat_from(options)
    check_choose_seconds(options)
    given = click.get_current_context().get_parameter_source("patterns")
    if options["edges"] is not None and given is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"--predict: {NO_TYPES}")
    with _working() as progress, _opened(options, progress) as source:
        from heat_neo4j.evaluation import evaluate_links
        from heat_neo4j.evaluation.methods import link_methods

        evaluation = evaluate_links(
            source.graph,
            model,
            () if source.graph.relationships is None else patterns,
            share=share,
            split=_checked(split, source.graph),
            seeds=_seeds(options),
            methods=_baselines(link_methods, options, progress),
            combined=combined,
            choose=chosen_from(options),
            choose_seconds=options["choose_seconds"],
            on_progress=progress,
        )
    show(evaluation, picture)


@evaluate.command(cls=HeatCommand, example=CLASSES_EXAMPLE)
@classes_options
@baselines_option
@setting_options("heat")
@options_of_all
def classes(label_shares: tuple[float, ...], picture: Path | None, **options: Any) -> None:
    """Predict the classes of nodes from a few known ones.

    Logistic regression on Klein coordinates, which were trained without classes. If nodes have several
    classes, each gets as many as it has. With --edges the classes are in the --class-file.
    """
    _check_classes(options)
    model = _model(options)
    with _working() as progress, _opened(options, progress) as source:
        from heat_neo4j.evaluation import evaluate_classes
        from heat_neo4j.evaluation.methods import feature_methods

        evaluation = evaluate_classes(
            source.graph,
            model,
            source.classes(options),
            shares=tuple(dict.fromkeys(label_shares)),
            seeds=_seeds(options),
            methods=_baselines(feature_methods, options, progress),
            on_progress=progress,
        )
    show(evaluation, picture)


@dataclass(frozen=True, eq=False)
class _Source:
    """A graph, and the open database that it is from; None for files."""

    graph: Graph
    store: Neo4jStore | None

    def classes(self, options: Mapping[str, Any]) -> NodeClasses:
        """Return the classes that the options name; those of files are in the file of labels."""
        from heat_neo4j.evaluation import classes_from_labels, classes_from_values

        if self.store is None or options["classes"] is None:
            return classes_from_labels(self.graph)
        name = options["classes"]
        return classes_from_values(self.store.read_property(self.graph, name), name)


@contextmanager
def _opened(options: Mapping[str, Any], progress: Progress) -> Iterator[_Source]:
    """Read the graph that the options name; its database stays open meanwhile."""
    context = click.get_current_context()
    if options["edges"] is not None:
        for name, flag, of_files in FILES_IN_PLACE:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"with --edges, give {of_files} in the place of {flag}")
        if (options["forward"], options["type_balance"]) != (0.5, 0.0):
            raise click.UsageError(f"forward and type_balance of heat.toml: {NO_TYPES}")
        from heat_neo4j.inputs.files import read_graph_files

        paths = options["edges"], options["attribute_file"], options["class_file"]
        files = read_graph_files(*paths, header=options["header"])
        if not as_json():
            for reading in files.readings:
                print_line(f"read {reading}", err=True)
        yield _Source(replace(files.to_graph(), relationships=None), None)
        return
    for _, _, flag in FILES_IN_PLACE:
        if options[flag[2:].replace("-", "_")] is not None:
            raise click.UsageError(f"{flag} goes with --edges only")
    if options["header"] is not None:
        raise click.UsageError("--header and --no-header go with --edges only")
    with open_store(options) as store:
        yield _Source(store.read_graph(projection_from(options), on_progress=progress), store)


def _baselines(
    make: Callable[..., dict[str, _M]], options: Mapping[str, Any], progress: Progress
) -> dict[str, _M]:
    """Return the simpler methods of a task, if they are asked for."""
    if not options["baselines"]:
        return {}
    return make(options["n_components"], progress, gensim=options["gensim"])


def _seeds(options: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the seeds: as many as asked for, from ``--random-state`` on."""
    first = options["random_state"] or 0
    return tuple(range(first, first + options["seeds"]))


def _checked(split: Split, graph: Graph) -> Split:
    """Return the split; a ProjectionError if it needs times that the graph lacks."""
    if split == "time" and graph.edge_times is None:
        ways = "name the relationship property with --time, or give --edges a column named time"
        raise ProjectionError(f"--split time needs times: {ways}")
    return split


def _model(options: dict[str, Any]) -> Embedder:
    """Return the estimator for a task that leaves all parameters as they are given."""
    chosen = chosen_from(options)
    if chosen:
        name = chosen[0].replace("_", "-")
        line = f"--{name} auto: only `heat evaluate links` and `heat embed` choose; give a number"
        raise click.UsageError(line)
    return heat_from(options)


@contextmanager
def _working() -> Iterator[Reporter]:
    """Report progress; a graph that cannot be evaluated is the graph's fault, not ours."""
    from heat_neo4j.embedding.estimator import NothingToLearnError
    from heat_neo4j.evaluation import EvaluationError
    from heat_neo4j.linkpred.tuning import TuningError

    with Reporter() as progress:
        try:
            yield progress
        except (EvaluationError, NothingToLearnError, TuningError) as error:
            raise ProjectionError(f"the graph cannot be evaluated: {error}") from error


def _check_classes(options: dict[str, Any]) -> None:
    """Refuse options that name no classes, or two kinds, or that give the classes away."""
    name = options["classes"]
    if options["edges"] is not None:
        if name is not None or options["classes_from_labels"]:
            raise click.UsageError("with --edges, classes are in the --class-file")
        if options["class_file"] is None:
            raise click.UsageError("with --edges, name the file of classes with --class-file")
    elif (name is None) != options["classes_from_labels"]:
        raise click.UsageError("give either --classes PROPERTY or --classes-from-labels")
    if name is not None and name in options["attributes"]:
        raise click.UsageError(f"{name!r} is both the class and an attribute: it would tell itself")
