"""``heat evaluate``: how good the embedding is on this graph, compared with baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from heat_neo4j._utils.errors import errors_as
from heat_neo4j.cli.arguments import heat_from, made, not_given, projection_from
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.evaluation_tables import show
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import (
    Decorator,
    checked_picture,
    database_options,
    header_option,
    option,
    parameter_options,
    setting_options,
    stack,
    verb_options,
)
from heat_neo4j.cli.output import Reporter, as_json, print_line
from heat_neo4j.cli.signatures import FILE, FILE_IN, source_of, verb
from heat_neo4j.cli.values import Count
from heat_neo4j.errors import ProjectionError

if TYPE_CHECKING:
    from heat_neo4j._utils.progress import Progress
    from heat_neo4j.graph import Graph
    from heat_neo4j.heat import HEAT

NO_TYPES = "--edges ignores directions and types: use heat load and a projection"
GROUP_EXAMPLE = """
heat evaluate links --label Paper --relationship CITES --attribute words
heat evaluate links --edges edges.csv --attribute-file attributes.csv
"""
LINKS_EXAMPLE = """
heat evaluate links --label Paper --relationship CITES --attribute words --picture links.png
heat evaluate links --label User --label Movie --relationship RATED --predict 'User-RATED->Movie'
heat evaluate links --label Paper --relationship CITES --time published --split time
heat evaluate links --model heat --seeds 3
heat evaluate links --edges edges.csv --attribute-file attributes.csv --no-baselines
"""

HIERARCHY_EXAMPLE = """
heat evaluate hierarchy --label Synset --relationship HYPERNYM --hierarchy HYPERNYM
"""

HEADING = "Evaluation"
FILES = "Graph from files"

model_option: Decorator[Any] = option(
    "--model", "published", heading="Model", metavar="NAME",
    help="Published model whose settings apply where you give none.",
)  # fmt: skip

options_of_all: Decorator[Any] = stack(
    option("--seeds", heading=HEADING, type=Count(min=1), metavar="N", default=1,
           help="Number of seeds, starting at --random-state (or 0); shows the spread."),
    option("--picture", level="more", heading=HEADING, type=FILE, callback=checked_picture,
           help="Draw the result into this .png, .svg or .pdf; needs the extra 'plot'."),
    option("--edges", heading=FILES, type=FILE_IN,
           help="Edge list as for `heat load`, instead of a database."),
    parameter_options(
        source_of("inputs.files", "read_graph_files"), "attribute_file", heading=FILES, more="attribute_file"
    ),
    header_option,
    setting_options("projection"),
    database_options,
)  # fmt: skip


@click.group(cls=HeatSubgroup, example=GROUP_EXAMPLE)
def evaluate() -> None:
    """Compare HEAT with simpler methods on your graph.

    HEAT is trained for every seed with the given options, on a projection of a live Neo4j or on files.
    Every method gets the same splits and does not see the test data. A note under the table names the
    baselines that were better. Nothing is written to the database.
    """


@evaluate.command(cls=HeatCommand, example=LINKS_EXAMPLE)
@setting_options("links.patterns")
@verb_options("evaluate_links", "share", "split", "score", heading=HEADING, more="share score")
@verb_options("evaluate_links", "baselines", "gensim", heading=HEADING, more="gensim")
@setting_options("heat")
@model_option
@options_of_all
def links(patterns: Sequence[str], picture: Path | None, **options: Any) -> None:
    """Hold out relationships and measure how high each method ranks them.

    A table for each pattern, such as User-RATED->Movie, or one for undirected edges from --edges. A held-out
    pair loses all its relationships. MRR and Hits@10: how high each held-out partner ranks among the targets
    not linked to its source. P@10, P@100 and P@written: the share of held-out relationships in the best 10,
    100 and n pairs, n being the pattern's relationships; recall: the share found there. Direction: how often
    a relationship scores higher than its reverse. ECE: the calibration error of the probabilities. AUROC and
    AP: against as many random pairs, an easier task.

    The parameters of the baselines are tuned on relationships held out of the training graph.
    """
    given = click.get_current_context().get_parameter_source("patterns")
    if options["edges"] is not None and given is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"--predict: {NO_TYPES}")
    known = verb("evaluate_links").parameters
    arguments = {name: options[name] for name in known if name in options}
    with _working() as progress:
        graph, model, patterns = _read(options, patterns, progress)
        from heat_neo4j.evaluation import evaluate_links

        if options["split"] == "time" and graph.edge_times is None:
            ways = "name the relationship property with --time, or give --edges a column named time"
            raise ProjectionError(f"--split time needs times: {ways}")
        arguments |= {"seeds": _seeds(options), "on_progress": progress}
        evaluation = evaluate_links(graph, model, patterns, **arguments)
    show(evaluation, picture)


@evaluate.command(cls=HeatCommand, example=HIERARCHY_EXAMPLE)
@verb_options("evaluate_hierarchy", "nodes", "baselines", heading=HEADING)
@setting_options("heat")
@model_option
@setting_options("projection")
@database_options
def hierarchy(nodes: int, baselines: bool, **options: Any) -> None:
    """Measure how well a hierarchy is preserved.

    Order: the share of direct relationships whose general end is nearer to the centre. Mean rank and mAP: how
    high a node's ancestors rank among all nodes, by distance. P@5 up: the share of ancestors among the 5
    nearest nodes that are nearer to the centre; down: of descendants among those farther out. Nothing is held
    out. Degree and PageRank along the hierarchy give an order only; the Euclidean points are a truncated SVD.
    """
    with _working() as progress:
        graph, model, _ = _read_database(options, (), progress)
        from heat_neo4j.evaluation import evaluate_hierarchy

        seed = options["random_state"] or 0
        evaluation = evaluate_hierarchy(
            graph, model, nodes=nodes, seed=seed, baselines=baselines, on_progress=progress
        )
    show(evaluation, None)


def _read(
    options: Mapping[str, Any], patterns: Sequence[str], progress: Progress
) -> tuple[Graph, HEAT, Sequence[str]]:
    """Return the graph, the estimator and the patterns that the options name."""
    context = click.get_current_context()
    if options["edges"] is not None:
        if context.get_parameter_source("attributes") is ParameterSource.COMMANDLINE:
            raise click.UsageError("with --edges, give --attribute-file instead of --attribute")
        if context.get_parameter_source("labels") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--label: {NO_TYPES}")
        if options["published"] is not None:
            raise click.UsageError("--model names a model of a database: it does not go with --edges")
        if (options["forward"], options["type_balance"]) != (0.5, 0.0):
            raise click.UsageError(f"forward and type_balance of heat.toml: {NO_TYPES}")
        from heat_neo4j.inputs.files import read_graph_files

        model = heat_from(options)
        files = read_graph_files(options["edges"], options["attribute_file"], header=options["header"])
        if not as_json():
            for reading in files.readings:
                print_line(f"read {reading}", err=True)
        return replace(files.to_graph(), relationships=None), model, ()
    if options["attribute_file"] is not None:
        raise click.UsageError("--attribute-file goes with --edges only")
    if options["header"] is not None:
        raise click.UsageError("--header and --no-header go with --edges only")
    return _read_database(options, patterns, progress)


def _read_database(
    options: Mapping[str, Any], patterns: Sequence[str], progress: Progress
) -> tuple[Graph, HEAT, Sequence[str]]:
    from heat_neo4j.pipeline.job import Job, LinkOptions, followed, published_links

    links = made(LinkOptions, patterns=patterns)
    job = Job(projection_from(options), heat_from(options), links=links, follows=not_given())
    with open_store(options) as store:
        if (name := options["published"]) is not None:
            book = store.bookkeeping()
            job = followed(job, book.required_run(name), published_links(book, name), store.trust)
        graph = store.read_graph(job.projection, on_progress=progress)
    return graph, job.model, () if job.links is None else job.links.patterns


def _seeds(options: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the seeds: as many as asked for, starting at ``--random-state``."""
    first = options["random_state"] or 0
    return tuple(range(first, first + options["seeds"]))


@contextmanager
def _working() -> Iterator[Reporter]:
    """Report progress; ProjectionError if the graph cannot be evaluated."""
    from heat_neo4j.embedding.fitting import NothingToLearnError
    from heat_neo4j.evaluation import EvaluationError

    prefix, refused = "the graph cannot be evaluated: ", (EvaluationError, NothingToLearnError)
    with Reporter() as progress, errors_as(ProjectionError, refused, prefix=prefix):
        yield progress
