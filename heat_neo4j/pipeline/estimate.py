"""Estimate a run: memory and database size by a formula, time by a pilot run on a synthetic graph."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import log10
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.projection import make_unit
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.attributes.values import Kind
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.attribute_rows import unit_rows
from heat_neo4j.linkpred.calibration import WALKS_HELD_OUT, CalibrationError, embed_without
from heat_neo4j.linkpred.link_score import FITTED_LINKS, link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.pipeline.memory import DENSE_SHARE, RunSize, memory_of

# Nodes of the pilot's graph, at most: enough for training by buckets, and for sampling by rejection.
_PILOT_NODES, _PILOT_LINK_NODES, _TRIAL_NODES = 12_000, 2_000, 100
_PILOT_HIERARCHY_NODES = 4_000  # each is a source more often
_PILOT_WALKS = 3  # from each node
_FARTHER = 0.3  # share that each tenfold of the nodes beyond the pilot's adds: memory is farther away
_HELD_OUT = 0.1  # of the edges, that the link score is fitted to

# Seconds of a local server, to which no pilot may write: of statements that it has not met; of a node, a
# relationship and an attribute value that it reads; of nodes and links that it writes and indexes.
_STATEMENTS, _READ = 2.0, (2.5e-6, 2.0e-6, 3.3e-7)
_WRITE_NODE, _WRITE_LINK, _INDEX_NODE, _INDEX_COORDINATE = 35e-6, 56e-6, 70e-6, 3e-6
_REPLACED, _INDEXED_AGAIN = 1.5, 3.4  # where a version is published: its values are kept, both indexes grow

_STORE_BLOCK, _STORE_RECORD = 128, 41  # bytes of Neo4j's dynamic and property stores
_STORED_INDEX_NODE, _STORED_INDEX_COORDINATE = 45, 5


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """The resources that a run will need."""

    size: RunSize
    memory: Mapping[str, int]  # peak memory of this process in each stage, in bytes
    over_files: int  # peak memory with training over files in a scratch folder, in bytes
    scratch_bytes: int  # peak size of these files; 0 if the graph is too small to need any
    seconds: Mapping[str, float]  # time of each stage
    stored_bytes: int  # database size at rest: the published version, and the one it replaced
    publishing_bytes: int  # database size while another version is being published
    pairs: int  # training pairs
    links: int  # maximum number of predicted links
    exact_exclusion: bool  # whether negatives are checked exactly, not by a Bloom filter

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


def estimate(size: RunSize, on_progress: Progress = no_progress) -> Estimate:
    """Estimate memory, time and database size of a run; a pilot of a few seconds measures this machine."""
    make_ready(on_progress)
    _linking(size, _TRIAL_NODES)  # the first links take longer: modules and kernels are loaded
    server, training, linking = _server(size), _training(size), _linking(size, _PILOT_LINK_NODES)
    if "calibrate" in linking:  # trains without the held-out edges
        linking["calibrate"] += WALKS_HELD_OUT * sum(training.values())
    stages = {"read": server.pop("read"), **training, **linking, **server}
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
    )


def made_graph(size: RunSize, most_nodes: int) -> Graph:
    """Return a random graph with the run's degrees and attributes, and at most `most_nodes` nodes."""
    rng = np.random.default_rng(0)
    n = max(min(size.nodes, most_nodes), 2)
    joined = max(round(n * (1.0 - size.isolated_share)), 2)
    here = n / max(size.nodes, 1)
    has_hierarchy = size.hierarchy is not None
    others = size.relationships - size.hierarchical
    fewest = 1 if others or not has_hierarchy else 0
    pairs = {"LINK": tuple(rng.integers(0, joined, (2, max(round(others * here), fewest))))}
    if has_hierarchy:
        # All levels have as many nodes, so that a node has as many above it, on average, as in the run.
        level = max(round(n / max(2 * size.closure / size.nodes, 1)), 1)
        below = np.arange(1, min(max(round(size.hierarchical * here), 1), n - 1) + 1)
        pairs["UNDER"] = below, np.maximum(below - level, 0)
    attributes: Any = None
    recipe: list[dict[str, Any]] = []
    if size.attribute_columns and size.attribute_share >= DENSE_SHARE:
        attributes = rng.random((n, size.attribute_columns))
    elif size.attribute_columns:
        filled = max(round(size.attribute_columns * size.attribute_share), 1)
        columns = rng.integers(0, size.attribute_columns, n * filled)
        entries = (np.ones(n * filled), (np.repeat(np.arange(n), filled), columns))
        attributes = unit_rows(sparse.csr_array(entries, shape=(n, size.attribute_columns)))
    if attributes is not None and (size.texts or size.vector_columns):
        kind = Kind.TEXT if size.texts else Kind.TAGS
        recipe.append({"property": "others", "kind": kind, "columns": [""] * size.attribute_columns})
    if size.vector_columns:
        vectors = rng.normal(size=(n, size.vector_columns)).astype(np.float32)
        make_unit(vectors)
        names = [f"vector[{i}]" for i in range(size.vector_columns)]
        recipe.append({"property": "vector", "kind": Kind.VECTOR, "centre": [], "columns": names})
        if attributes is None:
            attributes = vectors
        else:
            blocks = sparse.csr_array(attributes), sparse.csr_array(vectors)
            attributes = sparse.csr_array(sparse.hstack(blocks))
            attributes = attributes.toarray() if size.is_dense else attributes
    every = np.hstack(list(pairs.values()))
    adjacency = sparse.csr_array((np.ones(every.shape[1]), tuple(every)), shape=(n, n))
    relationships = Relationships.from_pairs(pairs)
    provenance = Provenance(attribute_recipe=recipe)
    return Graph(adjacency, attributes, relationships=relationships, provenance=provenance)


def _pilot(size: RunSize, most_nodes: int) -> tuple[HEAT, Graph, RunSize]:
    """Return a model fitted to a synthetic graph, the graph, and the size of this pilot run."""
    names = ("n_components", "walk_length", "window_size", "n_negatives", "alpha", "n_parts")
    graph = made_graph(size, most_nodes)
    has_hierarchy = size.hierarchy is not None
    walks = 1 if has_hierarchy else min(size.n_epochs * size.walks_per_node, _PILOT_WALKS)
    own = replace(
        size, nodes=graph.n_nodes, n_epochs=1, walks_per_node=walks,
        closure=round(size.closure * graph.n_nodes / size.nodes),
    )  # fmt: skip
    given = {name: getattr(own, name) for name in names}
    given["hierarchy"] = "UNDER" if has_hierarchy else None
    model = HEAT(walks_per_node=own.walks_per_node, n_threads=size.threads, random_state=0, **given)
    return model.fit(graph), graph, own


def _farther(size: RunSize, pilot: RunSize) -> float:
    """Return the slowdown of random memory access relative to the pilot's graph."""
    return 1.0 + _FARTHER * log10(max(size.nodes / pilot.nodes, 1.0))


def _training(size: RunSize) -> dict[str, float]:
    """Return the seconds of walks and training, and of coarse graphs before."""
    if size.hierarchy is not None:
        _pilot(size, _TRIAL_NODES)  # compiles
    model, _, pilot = _pilot(size, _PILOT_NODES if size.hierarchy is None else _PILOT_HIERARCHY_NODES)
    took = model.training_["seconds"]
    farther = _farther(size, pilot)
    walks = took.get("walks", 0.0) * farther * size.steps / max(pilot.steps, 1)
    own = size.pairs - size.coarse_pairs
    train = took["train"] * farther * own / max(pilot.pairs, 1)
    coarse = (walks + train) * size.coarse_pairs / max(own, 1)
    return {
        **({"coarse": coarse} if coarse else {}),
        "walks": took["similarity"] * size.nodes / pilot.nodes + walks,
        "train": train,
    }


def _linking(size: RunSize, most_nodes: int) -> dict[str, float]:
    """Return the seconds of fitting the link score and of searching links."""
    if not size.patterns:
        return {}
    model, graph, pilot = _pilot(size, most_nodes)
    stages: dict[str, float] = {}
    score = None
    searched = sum(min(each.nodes, size.nodes) for each in size.patterns)
    if size.link_score:
        with suppress(CalibrationError):  # the graph is too small for a score
            held_out = embed_without(model, graph)
            began = perf_counter()
            score = link_score(held_out, graph)
            fitted = min(_HELD_OUT * size.relationships, FITTED_LINKS * len(size.patterns))
            here = max(min(_HELD_OUT * graph.n_edges, FITTED_LINKS), 1)
            stages["calibrate"] = (perf_counter() - began) * fitted / here
            searched = sum(each.sources - each.full for each in size.patterns)
    began, k = perf_counter(), max(each.per_source for each in size.patterns)
    predict_links(model, graph, k, score=score, n_threads=size.threads)
    stages["links"] = (perf_counter() - began) * searched / graph.n_nodes * _farther(size, pilot)
    return stages


def _server(size: RunSize) -> dict[str, float]:
    """Return the seconds of reading, writing and indexing."""
    values = size.nodes * (size.attribute_columns * min(1.0, size.attribute_share) + size.vector_width)
    counts = size.nodes, size.relationships, values
    written = size.nodes * _WRITE_NODE + size.links * _WRITE_LINK
    index = size.nodes * (_INDEX_NODE + _INDEX_COORDINATE * size.n_components)
    return {
        "read": _STATEMENTS + sum(count * rate for count, rate in zip(counts, _READ, strict=True)),
        "write": _STATEMENTS + written * (_REPLACED if size.replaces else 1.0),
        "index": index * (_INDEXED_AGAIN if size.replaces else 1.0),
    }
