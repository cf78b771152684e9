"""What ``heat evaluate`` takes: its options, and the graph from a database or from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from heat_neo4j.cli.arguments import projection_from
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.options import Decorator, database_options, option, setting_options, stack
from heat_neo4j.cli.output import check_picture
from heat_neo4j.cli.values import Count, Number
from heat_neo4j.errors import ProjectionError

if TYPE_CHECKING:
    from heat_neo4j._utils.progress import Progress
    from heat_neo4j.database.store import Neo4jStore
    from heat_neo4j.evaluation import NodeClasses
    from heat_neo4j.evaluation.link_tasks import Splitter
    from heat_neo4j.evaluation.methods import Method
    from heat_neo4j.graph import Graph
    from heat_neo4j.linkpred.scorers import PairScorer

__all__ = [
    "Source",
    "baselines_option",
    "classes_options",
    "opened",
    "options_of_all",
    "picture_checked",
    "seeds_of",
    "split_options",
    "splitter_of",
]

HEADING = "Evaluation"
FILES = "Graph from files"
FILES_IN_PLACE = (("attributes", "--attribute", "--attribute-file"), ("labels", "--label", "--class-file"))
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

options_of_all: Decorator[Any] = stack(
    option(
        "--seeds",
        heading=HEADING,
        type=Count(min=1),
        metavar="N",
        default=1,
        show_default=True,
        help="Repeat so many times, with seeds from --random-state (else 0) on, and show the spread.",
    ),
    option(
        "--picture",
        level="more",
        heading=HEADING,
        type=click.Path(dir_okay=False, path_type=Path),
        help="Draw the result into this .png, .svg or .pdf; needs the extra 'plot'.",
    ),
    option(
        "--edges", heading=FILES, type=FILE, help="Edge list as for `heat load`, in the place of a database."
    ),
    option(
        "--attribute-file", heading=FILES, level="more", type=FILE, help="With --edges: the nodes' numbers."
    ),
    option("--class-file", heading=FILES, level="more", type=FILE, help="With --edges: the nodes' classes."),
    setting_options("projection"),
    database_options,
)
split_options: Decorator[Any] = stack(
    option(
        "--share",
        level="more",
        heading=HEADING,
        type=Number(0, 1, min_open=True, max_open=True),
        metavar="X",
        default=0.15,
        show_default=True,
        help="Share of the edges to hold out.",
    ),
    option(
        "--temporal",
        level="more",
        heading=HEADING,
        is_flag=True,
        help="Hold out the latest edges, by the property that --time names (or a column time in --edges).",
    ),
)
baselines_option: Decorator[Any] = stack(
    option(
        "--baselines/--no-baselines",
        heading=HEADING,
        default=True,
        show_default=True,
        help="Compare with simpler methods on the same data.",
    ),
    option(
        "--gensim",
        level="more",
        heading=HEADING,
        is_flag=True,
        help="With gensim's Poincaré embedding among these; it takes longer than all others together.",
    ),
)
classes_options: Decorator[Any] = stack(
    option(
        "--classes",
        heading=HEADING,
        metavar="PROPERTY",
        help="Node property with the class: a text or whole number, or a list of them for several classes.",
    ),
    option(
        "--classes-from-labels",
        level="more",
        heading=HEADING,
        is_flag=True,
        help="Take the node labels that not all nodes carry as classes.",
    ),
)


@dataclass(frozen=True, eq=False)
class Source:
    """A graph, and the database it is from, if it is from one.

    Parameters
    ----------
    graph : Graph
        As HEAT takes it.
    store : Neo4jStore, optional
        Open; None for files.
    """

    graph: Graph
    store: Neo4jStore | None

    def link_methods(self, n_components: int, progress: Progress, *, gensim: bool) -> dict[str, Method]:
        """Return the baselines for tasks on pairs, with those of Graph Data Science if the server has it."""
        import numpy as np

        from heat_neo4j.evaluation.methods import link_methods
        from heat_neo4j.linkpred.scorers import EuclideanScorer, VectorScorer

        methods = link_methods(n_components, progress, gensim=gensim)
        store = self.store
        if store is None or store.gds_version() is None:
            return methods

        def fastrp(graph: Graph, seed: int) -> PairScorer:
            has_attributes = graph.n_attributes > 0
            vectors = store.fastrp(graph, n_components, seed, attributes=has_attributes)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            return VectorScorer(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))

        def node2vec(graph: Graph, seed: int) -> PairScorer:
            # Of the two usual ways to compare, the one that predicted links better on Cora_ML.
            return EuclideanScorer(store.node2vec(graph, n_components, seed))

        return {**methods, "FastRP (GDS), cosine": fastrp, "node2vec (GDS), Euclidean": node2vec}

    def classes(self, options: Mapping[str, Any]) -> NodeClasses:
        """Return the classes that the options name; those of files are in the file of labels.

        Raises
        ------
        ProjectionError
            If the property is not there or holds what is no class.
        EvaluationError
            If there are no two classes.
        """
        from heat_neo4j.evaluation import classes_from_labels, classes_from_values

        if self.store is None or options["classes"] is None:
            return classes_from_labels(self.graph)
        name = options["classes"]
        return classes_from_values(self.store.read_property(self.graph, name), name)


@contextmanager
def opened(options: Mapping[str, Any], progress: Progress) -> Iterator[Source]:
    """Read the graph that the options name; its database stays open meanwhile.

    Raises
    ------
    click.UsageError
        If options contradict each other.
    HeatError
        If the graph cannot be read.
    """
    context = click.get_current_context()
    if options["edges"] is not None:
        for name, flag, of_files in FILES_IN_PLACE:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"with --edges, give {of_files} in the place of {flag}", context)
        yield Source(_from_files(options), None)
        return
    for _, _, flag in FILES_IN_PLACE:
        if options[flag[2:].replace("-", "_")] is not None:
            raise click.UsageError(f"{flag} goes with --edges only", context)
    with open_store(options) as store:
        yield Source(store.read_graph(projection_from(options), on_progress=progress), store)


def seeds_of(options: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the seeds: as many as asked for, from ``--random-state`` on."""
    first = options["random_state"] or 0
    return tuple(range(first, first + options["seeds"]))


def splitter_of(graph: Graph, *, temporal: bool) -> Splitter:
    """Return how edges are held out.

    Raises
    ------
    ProjectionError
        If the latest are to be, and the graph has no times.
    """
    from heat_neo4j.linkpred.splits import split_edges, split_edges_by_time

    if not temporal:
        return split_edges
    if graph.edge_times is None:
        raise ProjectionError(
            "--temporal needs times: name the relationship property with --time, "
            "or give --edges a column named time"
        )
    return split_edges_by_time


def picture_checked(path: Path | None) -> Path | None:
    """Find out now what would otherwise go wrong with a picture at the end.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    click.UsageError
        If the ending is another one, or there is no such folder.
    """
    if path is None:
        return None
    from heat_neo4j.plots import check_installed

    check_installed()
    check_picture(path, "--picture")
    return path


def _from_files(options: Mapping[str, Any]) -> Graph:
    from heat_neo4j.files import read_graph_files

    return read_graph_files(options["edges"], options["attribute_file"], options["class_file"]).to_graph()
