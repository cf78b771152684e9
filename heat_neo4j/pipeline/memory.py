"""Memory and disk requirements of a run, from counts and parameters; runs that do not fit are refused."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heat_neo4j._kernels.hierarchy import MOST_ANCESTORS
from heat_neo4j._kernels.sweeps import PROJECTED
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.display import format_bytes
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.threads import resolve_threads
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.counts import ProjectionCounts
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.embedding.attribute_signal import ALPHA, AUTO
from heat_neo4j.embedding.bucket_tasks import BLOCK_BYTES
from heat_neo4j.embedding.coarse_graph import ONLY, levels_of
from heat_neo4j.embedding.hierarchy_training import rounds_of
from heat_neo4j.embedding.near_lists import LISTED as LISTED_NEAR
from heat_neo4j.embedding.pairs import LISTED_BYTES, pair_set_bytes
from heat_neo4j.embedding.parts import pair_bytes
from heat_neo4j.embedding.schedule import portions_of
from heat_neo4j.embedding.similarity import TABLE_LIMIT
from heat_neo4j.embedding.training import parts_of
from heat_neo4j.errors import MemoryExceeded, ProjectionError
from heat_neo4j.geometry.search import first_partners
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.attribute_rows import DENSE_COLUMNS
from heat_neo4j.linkpred.best_scored import BLOCK_SOURCES
from heat_neo4j.linkpred.rankings import MostSources
from heat_neo4j.linkpred.scorers import HUB_ENTRIES
from heat_neo4j.linkpred.shortlists import LISTED
from heat_neo4j.patterns import chosen_patterns, common_patterns, link_limits, observed_patterns
from heat_neo4j.pipeline.job import LinkOptions

PROGRAM = 300 * 2**20
"""Bytes of Python, the libraries and the compiled kernels."""
DENSE_SHARE = 0.25
"""Attributes with a larger share of values other than 0 are stored as a dense matrix."""

# Bytes of arrays. Of a node: element id and row offsets; alias table, weights, occurrences and lists of
# negatives; the tables of the rejection sampler; lists of near nodes, and its block in the search for links.
_NODE, _NODE_OVER_FILES, _NEGATIVES, _REJECTION_NODE, _LISTED_NODE = 113, 30, 33, 61, 128
_BLOCK_NODE = 16 * PROJECTED + 64
# Of a hierarchy's node, relationship beside it or in it, and pair of its closure.
_HIERARCHY_NODE, _HIERARCHY_EDGE, _CLOSURE_PAIR = 70, 80, 5
# Of a relationship: in CSR; while it is read; while it is held out; in the features of the link score.
_EDGE, _READ_EDGE, _HELD_OUT_EDGE, _SCORED_EDGE = 24, 200, 124, 170
# Of an attribute value: while it is read; in tables of similarities; in the features of the link score.
_READ_VALUE, _SIMILAR_VALUE, _SCORED_VALUE, _DENSE_VALUE, _VECTOR_VALUE = 46, 36, 54, 40, 32
# Of an entry of a list of nodes with similar vectors or words; of a node's places in trees that find them.
_NEAR_ENTRY, _NEAR_NODE = 12, 40
# Of a pair: a listed negative's share; a predicted link; a link whose features are added up; a row of a hub;
# a candidate that the link score is measured on.
_NEGATIVE_PAIR, _LINK, _SCORED_PAIR, _HUB_ENTRY, _MEASURED_PAIR = 0.2, 80, 170, 290, 500
_ADVICE = {
    "read": "a projection of fewer nodes, relationships or attributes",
    "train": "a projection of fewer nodes or attributes, or lower --n-components",
    "links": "lower --k, or --no-links",
    "write": "lower --k, or --no-links",
}
_ADVICE_SCORED = dict.fromkeys(("calibrate", "links"), "--score distance, or --no-links")


@dataclass(frozen=True)
class LinkEnds:
    """Numbers of sources and targets of a pattern, and its maximum links per source and in total."""

    sources: int
    targets: int
    per_source: int
    most: int | None = None
    full: int = 0  # sources that have as many relationships as they may

    @property
    def nodes(self) -> int:
        """Sources plus targets."""
        return self.sources + self.targets

    @property
    def links(self) -> int:
        """Predicted links, at most."""
        bounds = (self.sources * self.per_source, self.sources * self.targets, self.most)
        return min(bound for bound in bounds if bound is not None)


@dataclass(frozen=True)
class RunSize(ProjectionCounts):
    """Inputs of a run's cost: counts, and parameters of `HEAT` and of the links."""

    n_components: int = 10
    walks_per_node: int = 10
    walk_length: int = 80
    window_size: int = 3
    n_negatives: int = 10
    n_epochs: int = 1
    n_parts: int | None = None  # as `HEAT` takes it
    scratch: str | Path | None = None  # folder for the files of the training
    alpha: float = 0.2
    hierarchy: str | None = None  # the hierarchical type
    threads: int = 1
    patterns: Sequence[LinkEnds] = ()  # of the links to predict
    link_score: bool = True  # whether the link score ranks them
    min_probability: float = 0.0  # of links that are written
    replaces: bool = False  # whether a version of the model is published, which is kept

    @property
    def attribute_values(self) -> float:
        """Attribute values other than 0."""
        return self.nodes * self.attribute_columns * self.attribute_share

    @property
    def candidates(self) -> float:
        """Candidates of a source that the link score ranks, on average; an isolated one has twice as many."""
        return LISTED * (1.0 + self.isolated_share)

    @property
    def teleports(self) -> bool:
        """Whether steps follow attributes."""
        return self.has_attributes and self.alpha > 0.0

    @property
    def has_attributes(self) -> bool:
        """Whether nodes have attributes."""
        return self.attribute_columns + self.vector_columns > 0

    @property
    def vectors(self) -> int:
        """Bytes of the vectors."""
        return 4 * self.nodes * self.vector_columns

    @property
    def is_dense(self) -> bool:
        """Whether attributes are stored as a dense matrix."""
        columns = self.attribute_columns + self.vector_columns
        filled = self.attribute_columns * self.attribute_share + self.vector_columns
        return filled >= DENSE_SHARE * columns

    @property
    def n_walks(self) -> int:
        """Walks from each node of the graph itself, in all epochs."""
        return self.levels[-1][1]

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """Clusters and walks from each, in all epochs, of coarse graphs, and those of the graph itself."""
        levels = levels_of(self.nodes) if self.hierarchy is None else ONLY
        return tuple(
            (round(level.usual * self.nodes), self.n_epochs * level.n_walks(self.walks_per_node))
            for level in levels
        )

    @property
    def steps(self) -> int:
        """Positions in all walks of the graph itself, without isolated starts."""
        return self._walks(self.levels[-1:]) * self.walk_length

    @property
    def pairs(self) -> int:
        """Training pairs, if no walk ends early or revisits a node."""
        if self.hierarchy is not None:
            has_others = self.relationships > self.hierarchical
            contexts = min(self.closure, MOST_ANCESTORS * self.nodes)
            contexts += self.nodes * self.window_size * has_others
            return rounds_of(self.n_walks, has_others=has_others) * contexts
        return self._walks(self.levels) * self._pairs_of_walk

    @property
    def coarse_pairs(self) -> int:
        """Training pairs of coarse graphs."""
        return self._walks(self.levels[:-1]) * self._pairs_of_walk

    @property
    def _pairs_of_walk(self) -> int:
        window = min(self.window_size, self.walk_length - 1)
        return window * (2 * self.walk_length - window - 1)

    def _walks(self, levels: Sequence[tuple[int, int]]) -> int:
        walking = 1.0 if self.has_attributes else 1.0 - self.isolated_share
        return sum(round(nodes * walking) * walks for nodes, walks in levels)

    @property
    def parts(self) -> int:
        """Number of parts of the nodes in training."""
        if self.hierarchy is not None:
            return 1
        return parts_of(self.nodes, self.n_components, self.n_walks, self.n_parts)

    @property
    def points(self) -> int:
        """Bytes of the points."""
        return 8 * self.nodes * (self.n_components + 1)

    @property
    def pair_set(self) -> tuple[bool, int]:
        """Whether the set of walk pairs is exact, and the bytes of the largest such set of all levels."""
        if self.hierarchy is not None:
            return True, 0
        sets = [
            pair_set_bytes(nodes, walks // self.n_epochs, self.walk_length, self.window_size)
            for nodes, walks in self.levels
        ]
        return sets[-1][0], max(size for _, size in sets)

    @property
    def round_bytes(self) -> int:
        """Bytes of the pairs of a round of buckets; 0 if training is by batches."""
        if self.parts == 1:
            return 0
        pairs = (self.pairs - self.coarse_pairs) / (2 * self.n_walks * portions_of(self.n_walks))
        return round(pairs * pair_bytes(self.nodes, self.parts))

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the files in a scratch folder at the peak; 0 if the graph is too small for any."""
        if self.parts == 1:
            return 0
        attributes = 8 * self.attribute_columns * self.nodes * self.is_dense  # sparse ones stay in memory
        graph = 2 * _EDGE * self.relationships + attributes + 2 * self.vectors
        tables = 8 * self.nodes * (self.n_components + 1 + 2 * (2 * padded_width(self.n_components + 1) + 2))
        total = self.pair_set[1] + self.round_bytes + graph + tables + _similarity(self) + 60 * self.nodes
        return round(total)

    @property
    def links(self) -> int:
        """Predicted links, at most."""
        return sum(each.links for each in self.patterns)


def memory_of(size: RunSize) -> dict[str, int]:
    """Return the bytes of this process at the peak of each stage."""
    is_dense = size.is_dense
    attributes = 12.0 * (size.attribute_values + size.nodes * size.vector_columns)
    if is_dense:
        attributes = size.nodes * (8.0 * size.attribute_columns) + size.vectors
        if size.attribute_columns:  # one matrix, float64
            attributes += size.vectors
    if size.scratch is None:
        graph = _NODE * size.nodes + _EDGE * size.relationships + attributes
        reading = graph + (_READ_EDGE - _EDGE) * size.relationships
    else:
        graph = reading = _NODE_OVER_FILES * size.nodes + (0.0 if is_dense else attributes)
    stages = {
        "read": reading + _READ_VALUE * size.attribute_values + (0.0 if size.scratch else size.vectors),
        "train": graph + (_over_files(size) if size.scratch and size.scratch_bytes else _training(size)),
    }
    if size.patterns:
        if size.link_score:
            held_out = _HELD_OUT_EDGE * size.relationships + size.points
            fit = graph + _scoring(size) + _measuring(size)
            stages["calibrate"] = max(stages["train"], fit) + held_out
        # One pattern is searched at a time.
        most = max(min(each.nodes, size.nodes) for each in size.patterns)
        per_source = max(each.per_source for each in size.patterns)
        found = most * (24 * (size.n_components + 1) + _BLOCK_NODE + _LINK * per_source)
        stages["links"] = graph + size.points + found + _LINK // 2 * size.links + _scoring(size)
    stages["write"] = graph + 3 * size.points + _LINK * size.links
    return {stage: round(PROGRAM + used) for stage, used in stages.items()}


def _training(size: RunSize) -> float:
    """Return the bytes of training in addition to the graph: walks, negatives, points and means."""
    if size.hierarchy is not None:
        closure = _HIERARCHY_EDGE * size.relationships + _CLOSURE_PAIR * size.closure
        return _HIERARCHY_NODE * size.nodes + 6 * size.points + closure + _similarity(size)
    moving = 8 * size.nodes * (padded_width(size.n_components + 1) + 1) + size.points + 8 * size.nodes
    if size.parts > 1:  # twice, while points are rearranged for the next round
        moving = 2 * moving + 40 * size.nodes
    walker = 8 * size.nodes + _EDGE * size.relationships + _similarity(size)
    return walker + size.pair_set[1] + _negatives(size) + size.round_bytes + moving


def _over_files(size: RunSize) -> float:
    """Return the bytes of training over files, in addition to the graph."""
    walker = 8 * size.nodes + _EDGE * size.relationships + _similarity(size)
    pairs = size.pair_set[1] + _negatives(size) + size.points
    block = 2 * min(BLOCK_BYTES, size.round_bytes) + 12 * size.points / size.parts
    return max(walker, pairs, size.threads * block, 2 * size.points)


def _negatives(size: RunSize) -> float:
    """Return the bytes of the tables that negatives are drawn from."""
    exact, _ = size.pair_set
    met = min(size.nodes * size.nodes, size.pairs) if exact else 0
    return _NEGATIVES * size.nodes + min(LISTED_BYTES, _NEGATIVE_PAIR * met)


def _similarity(size: RunSize) -> float:
    """Return the bytes of the tables from which steps along attributes are drawn."""
    if not size.teleports:
        return 0.0
    listed = _NEAR_ENTRY * size.texts * size.nodes * min(LISTED_NEAR, size.nodes)
    return listed + _near(size) + (_similarity_of_columns(size) if size.attribute_columns else 0.0)


def _near(size: RunSize) -> float:
    """Return the bytes of the lists of nodes with similar vectors, at their making."""
    if not size.vector_columns:
        return 0.0
    apart: float = size.vectors  # whitened
    if size.attribute_columns:  # a copy of the other columns
        apart += 8 * size.nodes * size.attribute_columns if size.is_dense else 12 * size.attribute_values
    return apart + size.nodes * (_NEAR_ENTRY * min(LISTED_NEAR, size.nodes) + _NEAR_NODE)


def _similarity_of_columns(size: RunSize) -> float:
    table = 4 * size.nodes**2 if size.nodes <= TABLE_LIMIT else _REJECTION_NODE * size.nodes
    return table + _SIMILAR_VALUE * size.attribute_values * (1.0 + (size.attribute_share >= DENSE_SHARE))


def _scoring(size: RunSize) -> float:
    """Return the bytes that the link score needs: matrices of its features, lists, and pairs at a time."""
    if not size.link_score:
        return 0.0
    cells = size.nodes * size.attribute_columns
    vectors = _VECTOR_VALUE * size.nodes * size.vector_columns
    if size.vector_columns:
        vectors += _NEAR_ENTRY * size.nodes * min(LISTED, size.nodes)
    if size.attribute_share >= DENSE_SHARE and size.attribute_columns >= DENSE_COLUMNS:
        values = float(_DENSE_VALUE * cells)
    else:  # of the node, and of it and its neighbours
        around = 1.0 + 2.0 * size.relationships / max(size.nodes, 1)
        shares = size.attribute_share + min(1.0, around * size.attribute_share)
        values = _SCORED_VALUE * cells * shares
    pairs = _HUB_ENTRY * min(HUB_ENTRIES, size.nodes**2) + _SCORED_PAIR * size.candidates * BLOCK_SOURCES
    own = 3 * size.points + _SCORED_EDGE * size.relationships + _LISTED_NODE * size.nodes
    return own + values + vectors + pairs


def _measuring(size: RunSize) -> float:
    """Return the bytes of the candidates that the link score is measured on, of all patterns."""
    most = MostSources.of_each(len(size.patterns))
    sources = (min(most.linked + most.n_measured(ends.sources), ends.sources) for ends in size.patterns)
    return _MEASURED_PAIR * size.candidates * sum(sources)


def run_size(
    store: Neo4jStore,
    projection: Projection,
    model: HEAT,
    links: LinkOptions | None,
    name: str | None = None,
) -> RunSize:
    """Return the size of a run, by counting in the database.

    With the `name` of a model, time can be estimated too: it also counts the published version, which is
    kept, and the sources that schema rules exclude from the link search.
    """
    counts = store.count(projection, model.hierarchy)
    parameters = {name: value for name, value in model.get_params().items() if hasattr(RunSize, name)}
    if parameters["alpha"] == AUTO:
        parameters["alpha"] = ALPHA  # the most that it may be
    return RunSize(
        **vars(counts),
        threads=resolve_threads(model.n_threads),
        patterns=_link_ends(store, projection, links, counts.nodes, name is not None),
        link_score=links is not None and links.has_probability,
        min_probability=0.0 if links is None else links.least_probability,
        replaces=name is not None and store.published_run(name) is not None,
        **parameters,
    )


def _link_ends(
    store: Neo4jStore, projection: Projection, links: LinkOptions | None, n_nodes: int, with_full: bool
) -> tuple[LinkEnds, ...]:
    """Return the ends of each pattern of the links, and its limits."""
    if links is None:
        return ()
    schema, carriers = store.sample_schema(projection)
    with errors_as(ProjectionError):
        patterns = (
            chosen_patterns(links.patterns, schema, carriers)
            if links.patterns
            else common_patterns(observed_patterns(schema, carriers))
        )
    k = links.k or first_partners(links.max_links or 0, n_nodes)
    found = []
    for each, limit in zip(patterns, link_limits(k, patterns), strict=True):
        sources, targets = (carriers.get(label, n_nodes) for label in (each.source, each.target))
        full = round(sources * store.full_sources(each.source, each.type)) if with_full and links.rules else 0
        found.append(LinkEnds(sources, targets, limit, links.max_links or patterns[each], full))
    return tuple(found)


def check_memory(size: RunSize, limit: int) -> None:
    """Raise MemoryExceeded, with advice, if a run would need more than `limit` bytes of memory."""
    needed = memory_of(size)
    stage = max(needed, key=needed.__getitem__)
    peak, allowed = format_bytes(needed[stage]), format_bytes(limit)
    if needed[stage] <= limit:
        return
    if limit <= PROGRAM:
        raise MemoryExceeded(
            f"the program alone takes about {format_bytes(PROGRAM)} of memory, and may use {allowed}: "
            f"raise --memory-limit to {peak}; nothing was started"
        )
    advice = _ADVICE_SCORED[stage] if size.link_score and stage in _ADVICE_SCORED else _ADVICE[stage]
    over_files = replace(size, scratch=".")
    if size.scratch is None and max(memory_of(over_files).values()) <= limit:
        advice = (
            f"--scratch FOLDER, on a disk with {format_bytes(over_files.scratch_bytes)} free, or {advice}"
        )
    raise MemoryExceeded(
        f"the run would need about {peak} of memory (to {stage}), and may use {allowed}: "
        f"choose {advice}, or raise --memory-limit; nothing was started"
    )
