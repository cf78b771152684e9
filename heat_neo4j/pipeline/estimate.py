"""Estimate a run: memory and database size by a formula, time by a pilot run on a part of the graph."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import log10
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse.csgraph import breadth_first_order
from sklearn.base import clone

from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.memory import free_memory
from heat_neo4j._utils.progress import Progress, as_progress, no_progress
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.fitting import NothingToLearnError
from heat_neo4j.embedding.hierarchical_types import find_hierarchies
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import (
    TIMES_OF_FEW,
    WALKS_HELD_OUT,
    CalibrationError,
    embed_without,
    times_held_out,
)
from heat_neo4j.linkpred.candidates import counted_patterns, ends_of
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.patterns import Pattern
from heat_neo4j.pipeline.fit import cannot_embed, check_hierarchy
from heat_neo4j.pipeline.job import LinkOptions
from heat_neo4j.pipeline.memory import LinkEnds, RunSize, memory_of, run_size

_LINKS = LinkOptions()
_PILOT_NODES = 12_000  # most nodes of the part that the pilot runs on
_PILOT_WALKS = 3  # from each node; one beside a hierarchy, where each node is a source more often
_TRIAL_NODES = 500  # of what runs first, untimed
_FARTHER = 0.3  # share that each tenfold of the nodes beyond the pilot's adds: memory is farther away
_SCORE_GROWTH = 0.5  # the link score takes about the square root of N: samples of links have a bound
_FITS_OF_FEW = 8.0  # fits to `TIMES_OF_FEW` times take as long as so many to one: 7 to 11 on four graphs

# Seconds of a local server, to which no pilot may write: of a node, a relationship and an attribute value
# that it reads; of nodes and links that it writes and indexes.
_READ = 2.5e-6, 2.0e-6, 3.3e-7
_WRITE_NODE, _WRITE_LINK, _INDEX_NODE, _INDEX_COORDINATE = 35e-6, 56e-6, 70e-6, 3e-6
_REPLACED, _INDEXED_AGAIN = 1.5, 3.4  # where a version is published: its values are kept, both indexes grow
# Planning its statements takes as long however small the graph is, and far longer on a busy server: this many
# times the seconds of reading beyond those of the data, within these bounds.
_PLANNED, _LEAST, _MOST = 8.0, 2.0, 40.0
_READ_ANY = 2.0  # seconds that reading takes beyond those of the data

_STORE_BLOCK, _STORE_RECORD = 128, 41  # bytes of Neo4j's dynamic and property stores
_STORED_INDEX_NODE, _STORED_INDEX_COORDINATE = 45, 5


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """The resources that a run will need.

    Parameters
    ----------
    size : RunSize
        Size of the run: nodes, relationships, dimensions and threads, among others.
    memory : mapping of str to int
        Peak memory of this process in each stage, in bytes.
    over_files : int
        Peak memory with training over files in a scratch folder, in bytes.
    scratch_bytes : int
        Peak size of these files; 0 if the graph is too small to need any.
    seconds : mapping of str to float
        Time of each stage; empty if the graph is too large to be read.
    stored_bytes : int
        Database size at rest: the published version, and the one it replaced.
    publishing_bytes : int
        Database size while another version is being published.
    pairs : int
        Number of training pairs.
    links : int
        Maximum number of predicted links.
    exact_exclusion : bool
        Whether negatives are checked exactly, not by a Bloom filter.
    hierarchies : sequence of (str, str)
        Types that look like a hierarchy, the largest first, with the evidence; none if one is named, or if
        the graph is too large to be read.
    """

    size: RunSize
    memory: Mapping[str, int]
    over_files: int
    scratch_bytes: int
    seconds: Mapping[str, float]
    stored_bytes: int
    publishing_bytes: int
    pairs: int
    links: int
    exact_exclusion: bool
    hierarchies: Sequence[tuple[str, str]]

    @property
    def peak_memory(self) -> int:
        """Peak memory of this process over all stages, in bytes."""
        return max(self.memory.values())

    @property
    def total_seconds(self) -> float:
        """Total time of all stages, in seconds."""
        return sum(self.seconds.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON data."""
        scratch = self.size.scratch
        size = {**asdict(self.size), "scratch": None if scratch is None else str(scratch)}
        totals = {"peak_memory": self.peak_memory, "total_seconds": self.total_seconds}
        return {**asdict(self), "size": size, **totals}


def estimate_run(
    store: Neo4jStore,
    projection: Projection,
    estimator: HEAT,
    *,
    links: LinkOptions | None = _LINKS,
    model: str = "heat",
    on_progress: Progress | bool = False,
) -> Estimate:
    """Return what `embed` would need: memory, time and bytes written.

    Peak memory is computed from counts and the attributes of a thousand nodes; the number of distinct words
    and categories is extrapolated. For the time, the graph is read, and a pilot run on 12,000 of its nodes
    measures this machine under its current load; there is no time estimate if the graph does not fit into
    free memory. Write times are derived from the read time. If a version of the model is published already,
    keeping it for a rollback is included. Nothing is written.

    Parameters
    ----------
    projection, estimator, links, model
        As for `embed`.
    on_progress : callable or bool
        Called with the stages of reading; True draws bars.

    Returns
    -------
    Estimate

    Raises
    ------
    ProjectionError
        If the projection cannot be read, or there is nothing in it to learn from.
    """
    progress = as_progress(on_progress)
    size = run_size(store, projection, estimator, links, model)
    graph, began = None, perf_counter()
    if memory_of(size)["read"] <= free_memory():
        graph = store.read_graph(projection, scratch=estimator.scratch, on_progress=progress)
        check_hierarchy(estimator, graph)
        size = _with_columns(size, graph)
    with errors_as(cannot_embed, NothingToLearnError):
        return estimate(size, estimator, graph, perf_counter() - began, progress)


def estimate(
    size: RunSize,
    model: HEAT,
    graph: Graph | None,
    read_seconds: float = 0.0,
    on_progress: Progress = no_progress,
) -> Estimate:
    """Estimate memory, time and database size of a run of `model`.

    A pilot on a part of `graph`, which took `read_seconds` to read, measures this machine; without a graph,
    seconds are missing.
    """
    stages: dict[str, float] = {}
    if graph is not None:
        make_ready(on_progress)
        pilot = _Pilot.run(size, model, graph)
        stages, likely = pilot.linking(size)
        stages = {
            "read": read_seconds,
            **pilot.training(size),
            **stages,
            **_writing(size, read_seconds, round(likely * size.links)),
        }
    blocks = -(-(8 * size.n_components + 16) // (_STORE_BLOCK - 8))
    # Coordinates, a list, and radius and run, which share a record; a link and its properties.
    node, link = _STORE_BLOCK * blocks + 2 * _STORE_RECORD, 34 + 3 * _STORE_RECORD
    copy = node * size.nodes + link * size.links
    index = size.nodes * (_STORED_INDEX_NODE + _STORED_INDEX_COORDINATE * size.n_components)
    return Estimate(
        size=size,
        memory=memory_of(size),
        over_files=max(memory_of(replace(size, scratch=".")).values()),
        scratch_bytes=size.scratch_bytes,
        seconds={stage: round(each, 3) for stage, each in stages.items()},
        stored_bytes=2 * copy + index,
        publishing_bytes=3 * copy + 2 * index,
        pairs=size.pairs,
        links=size.links,
        exact_exclusion=size.pair_set[0],
        hierarchies=()
        if graph is None or model.hierarchy is not None
        else tuple((each.type, each.in_words) for each in find_hierarchies(graph)),
    )


def _with_columns(size: RunSize, graph: Graph) -> RunSize:
    """Return the size with the columns of the graph in place of those extrapolated from a sample."""
    recipe = graph.provenance.attribute_recipe
    columns = sum(entry["n_columns"] for entry in recipe if not is_vector(entry))
    share = size.attribute_share * size.attribute_columns / max(columns, 1)
    return replace(size, attribute_columns=columns, attribute_share=share)


def part_of(graph: Graph, most_nodes: int, around: str | None = None) -> Graph:
    """Return the part of a graph around random nodes; those with relationships of type `around` come first.

    Nodes come in the order of a breadth-first search, so that they keep most of their neighbours.
    """
    if graph.n_nodes <= most_nodes:
        return graph
    roots = np.random.default_rng(0).permutation(graph.n_nodes)
    if around is not None and graph.relationships is not None:
        has_one = np.isin(roots, np.concatenate(graph.relationships.of(around)))
        roots = np.concatenate((roots[has_one], roots[~has_one]))
    taken = np.zeros(graph.n_nodes, dtype=np.bool_)
    left = most_nodes
    for root in roots.tolist():
        if not left:
            break
        if not taken[root]:
            near = breadth_first_order(graph.adjacency, root, directed=False, return_predecessors=False)
            taken[near[:left]] = True
            left = most_nodes - int(np.count_nonzero(taken))
    return graph.among(np.flatnonzero(taken))


class _Pilot(NamedTuple):
    """A short run on a part of the graph."""

    graph: Graph
    model: HEAT
    size: RunSize

    @classmethod
    def run(cls, size: RunSize, model: HEAT, graph: Graph) -> Self:
        """Fit a clone of `model`, with few walks, to a part of `graph`."""
        part = part_of(graph, _PILOT_NODES, size.hierarchy)
        is_beside = size.hierarchy is not None and size.relationships > size.hierarchical
        walks = 1 if is_beside else min(size.n_epochs * size.walks_per_node, _PILOT_WALKS)
        short = clone(model).set_params(
            n_epochs=1, walks_per_node=walks, scratch=None, scheduler=None, time_limit=None, random_state=0
        )
        if size.hierarchy is not None:
            clone(short).fit(part_of(graph, _TRIAL_NODES, size.hierarchy))  # compiles
        short.fit(part)
        own = replace(
            size, nodes=part.n_nodes, relationships=_n_relationships(part), n_epochs=1, walks_per_node=walks,
            isolated_share=float(np.mean(part.degrees == 0)),
        )  # fmt: skip
        if size.hierarchy is not None and part.relationships is not None:
            hierarchical = len(part.relationships.of(size.hierarchy)[0])
            closure = short.training_["hierarchy"]["pairs"]
            own = replace(own, hierarchical=hierarchical, closure=closure)
        return cls(part, short, own)

    def farther(self, size: RunSize) -> float:
        """Return the slowdown of random memory access relative to the pilot's graph."""
        return 1.0 + _FARTHER * log10(max(size.nodes / self.size.nodes, 1.0))

    def denser(self, size: RunSize) -> float:
        """Return the ratio of mean degrees: of the graph, and of the part with its cut border."""
        own = max(self.size.relationships, 1) / self.size.nodes
        return max(size.relationships / size.nodes / own, 1.0)

    def training(self, size: RunSize) -> dict[str, float]:
        """Return the seconds of walks and training, and of coarse graphs before."""
        took, farther = self.model.training_["seconds"], self.farther(size)
        walks = took.get("walks", 0.0) * farther * size.steps / max(self.size.steps, 1)
        own = size.pairs - size.coarse_pairs
        train = took["train"] * farther * own / max(self.size.pairs, 1)
        coarse = (walks + train) * size.coarse_pairs / max(own, 1)
        return {
            **({"coarse": coarse} if coarse else {}),
            "walks": took["similarity"] * size.nodes / self.size.nodes + walks,
            "train": train,
        }

    def linking(self, size: RunSize) -> tuple[dict[str, float], float]:
        """Return the seconds of fitting the link score and of searching links, and which share is likely."""
        if not size.patterns:
            return {}, 0.0
        stages: dict[str, float] = {}
        graph, score = self.graph, None
        if size.link_score:
            with suppress(CalibrationError):  # the graph is too small for a score
                tiny = part_of(graph, _TRIAL_NODES)
                link_score([embed_without(self.model, tiny)], tiny)  # the first one compiles
                held_out = embed_without(self.model, graph)
                began = sampled = perf_counter()

                def sample(*_: object) -> None:
                    nonlocal sampled
                    sampled = perf_counter()

                score = link_score([held_out], graph, n_threads=size.threads, on_progress=sample)
                fitted = perf_counter()
                growth = self.denser(size) * (size.nodes / self.size.nodes) ** _SCORE_GROWTH
                walks = max(round(WALKS_HELD_OUT * size.walks_per_node), 1)
                again = replace(size, walks_per_node=walks).pairs / max(size.pairs, 1)
                again *= sum(self.training(size).values())
                times = times_held_out(size.relationships, len(size.patterns))
                fits = _FITS_OF_FEW if times == TIMES_OF_FEW else 1.0
                sampling, fitting = (sampled - began) * growth, (fitted - sampled) * growth
                stages["calibrate"] = times * (again + sampling) + fits * fitting
        known: list[tuple[Pattern | None, int]] = [(None, graph.n_edges)]
        if graph.relationships is not None:
            known = list(counted_patterns(graph)[0].items())
        ends = [ends_of(graph, pattern) for pattern, _ in known]
        searched: float
        if score is None:  # both ends are searched
            own = sum(int(np.count_nonzero(source | target)) for source, target in ends)
            searched = sum(min(each.nodes, size.nodes) for each in size.patterns)
        else:
            own = sum(int(np.count_nonzero(source)) for source, _ in ends)
            searched = self.denser(size) * sum(each.sources - each.full for each in size.patterns)
        began, k = perf_counter(), max(each.per_source for each in size.patterns)
        least = 0.0 if score is None else size.min_probability
        found = predict_links(
            self.model, graph, k, min_probability=least, rules=False, score=score, n_threads=size.threads
        )
        stages["links"] = (perf_counter() - began) * searched / max(own, 1) * self.farther(size)
        if score is None:
            return stages, 1.0
        counts = [(int(source.sum()), int(target.sum())) for source, target in ends]
        most = [LinkEnds(*each, k, total).links for each, (_, total) in zip(counts, known, strict=True)]
        return stages, min(len(found.source) / max(sum(most), 1), 1.0)


def _n_relationships(graph: Graph) -> int:
    return graph.n_edges if graph.relationships is None else len(graph.relationships)


def _writing(size: RunSize, read_seconds: float, links: int) -> dict[str, float]:
    """Return the seconds of writing and indexing by a server that took so long to read."""
    values = size.nodes * (size.attribute_columns * min(1.0, size.attribute_share) + size.vector_width)
    counts = size.nodes, size.relationships, values
    usual = sum(count * rate for count, rate in zip(counts, _READ, strict=True))
    planning = min(max(_PLANNED * (read_seconds - usual), _LEAST), _MOST)
    slower = max(read_seconds / (usual + _READ_ANY), 1.0)  # far away, or busy
    written = size.nodes * _WRITE_NODE + links * _WRITE_LINK
    index = size.nodes * (_INDEX_NODE + _INDEX_COORDINATE * size.n_components)
    return {
        "write": planning + slower * written * (_REPLACED if size.replaces else 1.0),
        "index": slower * index * (_INDEXED_AGAIN if size.replaces else 1.0),
    }
