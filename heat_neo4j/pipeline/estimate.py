"""What a run needs, from counts alone: memory, time, bytes in the database; and whether it fits here."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import exp, log10
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.sweeps import BLOCK, PROJECTED
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.display import format_bytes
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import resolve_threads
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.embedding.bucket_tasks import BLOCK_BYTES
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.embedding.pairs import LISTED_BYTES, pair_set_bytes
from heat_neo4j.embedding.parts import pair_bytes
from heat_neo4j.embedding.schedule import portions_of
from heat_neo4j.embedding.similarity import TABLE_LIMIT
from heat_neo4j.embedding.training import parts_of
from heat_neo4j.errors import MemoryExceeded, ProjectionError
from heat_neo4j.geometry.search import first_partners
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import DENSE_COLUMNS
from heat_neo4j.linkpred.best_scored import BLOCK_SOURCES
from heat_neo4j.linkpred.calibration import WALKS_HELD_OUT
from heat_neo4j.linkpred.link_score import FITTED_LINKS
from heat_neo4j.linkpred.scorers import HUB_ENTRIES
from heat_neo4j.linkpred.shortlists import LISTED
from heat_neo4j.patterns import chosen_patterns, common_patterns, link_limits, observed_patterns
from heat_neo4j.pipeline.job import LinkOptions

PROGRAM = 300 * 2**20
"""Bytes of Python, the libraries and the compiled kernels."""

_DENSE_SHARE = 0.25  # attributes filled beyond this share are held as a dense matrix
_NODE = 113  # element id (a string and a pointer), row offsets
_NODE_BESIDE_FILES = 30  # element id, and what tells its labels
_EDGE = 24  # an edge in CSR: two columns and two weights
_READ_RELATIONSHIP = 200  # while the matrix is sorted, summed and made symmetric
_READ_VALUE = 46  # an attribute entry while columns are put together
_SPLIT_EDGE = 100  # held-out edges: pairs, their order, and the graph without them
_SIMILARITY_VALUE = 32  # an attribute entry in the tables of the rejection sampler
_SIMILARITY_NODE = 61  # a node there: norm, base, weights, order, where its list begins
_NEARBY = 6 * 2**20  # bytes of the points of a part that are read as quickly as any
_DOUBLE_LINKS = 0.75  # of the links that nodes ask for, so many are different
_HELD_OUT = 0.1  # of the edges, by the second training
_LISTED = 0.2  # per pair of nodes that may meet: the lists of negatives, which few nodes need
_IN_BLOCK = 16 * PROJECTED + 64  # a node that may be linked to: its projection, twice, and its place
_LINK = 80  # a found pair, while pairs are sorted and merged
_FOUND = 40  # a link while those of other patterns are looked for
_SCORED = 170  # a pair whose features are combined
_LISTED_NODE = 128  # a node: the nearest ones of it
_HUB = 30 * 8  # a number of a long row, of about thirty features, that is multiplied once for all pairs
_SCORED_EDGE, _SCORED_VALUE = 170, 36  # an edge, and an attribute entry, in the matrices of the features
_SCORED_DENSE = 40  # a value of a dense column there: seven matrices of float32, and one while it is scaled
_TABLE_VALUE, _TABLE_DENSE = 36, 60  # an attribute entry while the table of similarities is made
_DENSE_FEATURES = 7  # products of dense rows for each pair
_RELATIONSHIPS_AS_A_NODE = 20  # of a dense graph: so many are as far away in memory as a node
_INDEX_NODE, _INDEX_COORDINATE = 45, 5  # of a vector index on disk
_STORE_BLOCK, _STORE_RECORD = 128, 41  # of Neo4j's dynamic and property stores
_TRIAL_NODES, _TRIAL_DEGREE, _TRIAL_WALKS = 2000, 8, 2  # of the graph that is trained to measure speeds
_TRIALS = 3
_MACHINE_RATES = (
    "position", "candidate", "coordinate", "bucket_pair", "bucket_negative", "bucket_coordinate",
    "walk_step", "teleport", "teleport_value", "table_entry",
    "similarity_value", "link_node", "link_coordinate", "link_block",
    "fitted_edge", "dense_product", "listed_source",
)  # fmt: skip
_ADVICE = {
    "read": "a projection of fewer nodes, relationships or attributes",
    "train": "a projection of fewer nodes or attributes, or lower --n-components",
    "links": "lower --k, or --no-links",
    "write": "lower --k, or --no-links",
}
_ADVICE_COMBINED = dict.fromkeys(("calibrate", "links"), "--score distance, or --no-links")


@dataclass(frozen=True)
class Rates:
    """Measured speeds, of one thread where threads share the work; all times in seconds.

    Times of training are for a graph whose points are in the fastest caches.
    """

    read_nodes: float = 400_000.0  # nodes read from a local server in a second
    read_relationships: float = 500_000.0
    read_values: float = 3_000_000.0  # attribute values
    position: float = 270e-9  # a position of a walk that is trained
    candidate: float = 49e-9  # each of its contexts and negatives
    coordinate: float = 2.1e-9  # each coordinate of these
    bucket_pair: float = 85e-9  # a pair that is trained by buckets, points being in a cache near by
    bucket_negative: float = 7e-9  # each of its negatives, which several pairs share
    bucket_coordinate: float = 3e-9  # each of its coordinates
    bucket_portion: float = 0.16  # share that each further portion of the walks adds: less is shared
    bucket_growth: float = 1.1  # share that each tenfold of a part adds beyond what caches hold
    walk_step: float = 145e-9  # a step of a walk while pairs are collected
    teleport: float = 300e-9  # what a step along attributes takes more
    teleport_value: float = 30e-9  # and for each attribute value of the node
    growth: float = 0.42  # share added by each tenfold of the nodes beyond `small`: memory is farther away
    small: float = 2000.0  # nodes
    second_thread: float = 0.6  # what a thread more adds to the speed of one
    second_bucket: float = 0.9  # by buckets
    table_entry: float = 4e-9  # an entry of the table of similarities, per attribute of its row
    similarity_value: float = 200e-9  # an attribute value while the sampler by rejection is prepared
    link_node: float = 65e-6  # a node in the search for links
    link_coordinate: float = 3e-6  # each of its coordinates
    link_block: float = 150e-9  # each block of nodes that it may be linked into
    fitted_edge: float = 2.8e-3  # a held-out edge that the link score is fitted to
    dense_product: float = 0.1e-9  # each number of two dense rows in each product of them
    listed_source: float = 180e-6  # a source of a pattern whose listed targets are scored
    write_nodes: float = 50_000.0  # nodes written to a local server in a second
    write_links: float = 40_000.0
    settle_node: float = 15e-6  # a node whose values move to their plain names
    settle_link: float = 31e-6
    replace_node: float = 10e-6  # what a node takes more where it replaces values that are kept
    replace_link: float = 35e-6  # a link: 15e-6 if both versions have it, 60e-6 if none does
    replace_index: float = 3.4  # both indexes take in all points anew, in the time of one that is made
    index_node: float = 70e-6  # a node in the vector index
    index_coordinate: float = 3e-6  # each of its coordinates
    first_statements: float = 2.0  # what statements take more that the server has not met


RATES = Rates()
"""The speeds that `estimate` reckons with."""


@dataclass(frozen=True)
class RunSize:
    """What decides the cost of a run: counts, and parameters of `HEAT` and of the links."""

    nodes: int
    relationships: int
    attribute_columns: int = 0
    attribute_share: float = 0.0  # of attribute values that are not 0
    isolated_share: float = 0.0  # of nodes without a relationship: they walk only along attributes
    # Ends of relationships that are at hubs, nodes joined to half of the others. Where relationships are few,
    # walks lead a hub to all others: no negatives are left for it, and it is trained as a context only.
    hub_share: float = 0.0
    n_components: int = 10
    walks_per_node: int = 10
    walk_length: int = 80
    window_size: int = 3
    n_negatives: int = 10
    n_epochs: int = 1
    n_parts: int | None = None  # as `HEAT` takes it
    scratch: str | Path | None = None  # folder for the files of the training
    alpha: float = 0.2
    threads: int = 1
    links_per_node: int = 10  # 0 for none
    pattern_ends: tuple[tuple[int, int], ...] | None = None  # sources and targets of each; all nodes if None
    pattern_limits: tuple[tuple[int, int | None], ...] = ()  # of each: most links of a node, and in all
    top: int | None = None  # most links of each pattern; no limit if None
    combined: bool = True  # whether the link score ranks them
    replaces: bool = False  # whether a version of the model is published, which is kept

    @property
    def attribute_entries(self) -> float:
        """Attribute values other than 0."""
        return self.nodes * self.attribute_columns * self.attribute_share

    @property
    def dense_columns(self) -> int:
        """Columns of attributes that link scores multiply as a dense matrix."""
        is_dense = self.attribute_share >= _DENSE_SHARE and self.attribute_columns >= DENSE_COLUMNS
        return self.attribute_columns if is_dense else 0

    @property
    def teleports(self) -> bool:
        """Whether steps follow attributes."""
        return self.attribute_columns > 0 and self.alpha > 0.0

    @property
    def walks(self) -> int:
        """Walks of an epoch that go anywhere."""
        walking = self.nodes if self.attribute_columns > 0 else self.nodes * (1.0 - self.isolated_share)
        return round(walking) * self.walks_per_node

    @property
    def n_walks(self) -> int:
        """Walks from each node, in all epochs."""
        return self.n_epochs * self.walks_per_node

    @property
    def pairs(self) -> int:
        """Training pairs, if no walk ends early or meets a node twice."""
        length, window = self.walk_length, min(self.window_size, self.walk_length - 1)
        return self.n_epochs * self.walks * window * (2 * length - window - 1)

    @property
    def parts(self) -> int:
        """Parts of the nodes in which they are trained."""
        return parts_of(self.nodes, self.n_components, self.n_walks, self.n_parts)

    @property
    def in_memory(self) -> bool:
        """Whether all of the training is in memory."""
        return self.scratch is None or self.parts == 1

    @property
    def pairs_of_round(self) -> float:
        """Pairs of a round of buckets, each once."""
        return self.pairs / (2 * self.n_walks * portions_of(self.n_walks))

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the files in `scratch` at the peak."""
        if self.in_memory:
            return 0
        _, pair_set = pair_set_bytes(self.nodes, self.walks_per_node, self.walk_length, self.window_size)
        pairs = self.pairs_of_round * pair_bytes(self.nodes, self.parts)
        graph = 2 * _EDGE * self.relationships + 8 * self.attribute_columns * self.nodes
        tables = 8 * self.nodes * (self.n_components + 1 + 2 * (2 * padded_width(self.n_components + 1) + 2))
        return round(pair_set + pairs + graph + tables + _similarity_bytes(self) + 60 * self.nodes)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """Sources and targets of each pattern of links."""
        return ((self.nodes, self.nodes),) if self.pattern_ends is None else self.pattern_ends

    @property
    def links(self) -> int:
        """Predicted links, at most."""
        total = 0
        limits = self.pattern_limits or ((self.links_per_node, None),) * len(self.ends)
        for (sources, targets), (most, own) in zip(self.ends, limits, strict=True):
            pairs = sources * targets
            if sources == targets == self.nodes:  # of two nodes one way only
                pairs = sources * (sources - 1) // 2
            if len(self.ends) == 1:
                pairs = max(0, pairs - self.relationships)
            nodes = sources if self.combined else min(sources + targets, self.nodes)
            asked = nodes * min(most, self.links_per_node)
            total += min(each for each in (asked, pairs, self.top, own) if each is not None)
        return total

    @property
    def endpoints(self) -> int:
        """Nodes among which the nearest pairs are looked for, those of several patterns counted for each."""
        return sum(min(sources + targets, self.nodes) for sources, targets in self.ends)

    @property
    def listed_sources(self) -> int:
        """Sources whose listed targets are scored, those of several patterns counted for each."""
        return sum(sources for sources, _ in self.ends if self.combined)


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """What a run will need."""

    memory: Mapping[str, int]  # bytes of this process at the peak of each stage
    beside_files: int  # bytes of this process at its peak, if it trains over files in a scratch folder
    scratch_bytes: int  # of these files at the peak; 0 if it is too small for any
    seconds: Mapping[str, float]  # of each stage
    stored_bytes: int  # in the database at rest: the published version, and what it replaced
    publishing_bytes: int  # in the database while a version is published beside them
    pairs: int  # of the training
    links: int  # predicted, at most
    exact_exclusion: bool  # whether negatives are checked against the walks exactly, not by a Bloom filter

    @property
    def peak_memory(self) -> int:
        """Bytes of this process at the highest stage."""
        return max(self.memory.values())

    @property
    def total_seconds(self) -> float:
        """Seconds of all stages."""
        return sum(self.seconds.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON data."""
        return {**asdict(self), "peak_memory": self.peak_memory, "total_seconds": self.total_seconds}


def estimate(size: RunSize, rates: Rates = RATES) -> Estimate:
    """Estimate memory, time and bytes of a run."""
    exact, _ = pair_set_bytes(size.nodes, size.walks_per_node, size.walk_length, size.window_size)
    over_files = replace(size, scratch=".")
    return Estimate(
        memory=_memory(size),
        beside_files=max(_memory(over_files).values()),
        scratch_bytes=over_files.scratch_bytes,
        seconds={stage: round(seconds, 3) for stage, seconds in _seconds(size, rates).items()},
        stored_bytes=2 * _copy_bytes(size) + _index_bytes(size),
        publishing_bytes=3 * _copy_bytes(size) + 2 * _index_bytes(size),
        pairs=size.pairs,
        links=size.links,
        exact_exclusion=exact,
    )


def _memory(size: RunSize) -> dict[str, int]:
    """Return bytes by stage."""
    dense = size.attribute_share >= _DENSE_SHARE
    attributes = 8 * size.nodes * size.attribute_columns if dense else 12 * size.attribute_entries
    if size.scratch is None:
        graph = _NODE * size.nodes + _EDGE * size.relationships + attributes
        reading = _NODE * size.nodes + _READ_RELATIONSHIP * size.relationships + attributes
    else:
        graph = reading = _NODE_BESIDE_FILES * size.nodes + (0 if dense else attributes)
    training = graph + (_training_bytes(size) if size.in_memory else _training_bytes_beside_files(size))
    stages = {"read": reading + _READ_VALUE * size.attribute_entries, "train": training}
    if size.links_per_node:
        if size.combined:
            stages["calibrate"] = training + (_EDGE + _SPLIT_EDGE) * size.relationships + _points(size)
        if size.ends:
            most = max(min(a + b, size.nodes) for a, b in size.ends)  # one pattern is searched at a time
            blocks = most * (24 * (size.n_components + 1) + _IN_BLOCK)
            pairs = _LINK * most * size.links_per_node
            if len(size.ends) > 1:
                pairs += round(_FOUND * _DOUBLE_LINKS * size.links)
            stages["links"] = graph + _points(size) + blocks + pairs + _scoring_bytes(size)
    stages["write"] = graph + 3 * _points(size) + _LINK * size.links
    return {stage: round(PROGRAM + used) for stage, used in stages.items()}


def _points(size: RunSize) -> int:
    return 8 * size.nodes * (size.n_components + 1)


def _training_bytes(size: RunSize) -> float:
    """Return the bytes that `HEAT.fit` holds besides the graph."""
    _, pair_set = pair_set_bytes(size.nodes, size.walks_per_node, size.walk_length, size.window_size)
    walker = 8 * size.nodes + _EDGE * size.relationships
    negatives = _negatives_bytes(size)
    moving = 8 * size.nodes * (padded_width(size.n_components + 1) + 1)  # points, and who was touched
    mean = _points(size) + 8 * size.nodes
    if size.parts > 1:  # points and means twice, while they are brought into the order of the next parts
        pair_set += round(size.pairs_of_round * pair_bytes(size.nodes, size.parts))
        moving, mean = 2 * moving + 40 * size.nodes, 2 * mean
    return pair_set + walker + negatives + moving + mean + _similarity_bytes(size)


def _negatives_bytes(size: RunSize) -> float:
    """Return what negatives are drawn from takes: by node, and the lists of crowded nodes."""
    exact, _ = pair_set_bytes(size.nodes, size.walks_per_node, size.walk_length, size.window_size)
    by_node = 33.0 * size.nodes  # alias table, weights, occurrences, where the list begins, one flag
    if not exact:
        return by_node
    met = min(size.nodes, size.pairs / max(size.nodes, 1))
    return by_node + min(LISTED_BYTES, _LISTED * size.nodes * met)


def _training_bytes_beside_files(size: RunSize) -> float:
    """Return the bytes that `HEAT.fit` holds besides the graph, where it trains over files."""
    _, pair_set = pair_set_bytes(size.nodes, size.walks_per_node, size.walk_length, size.window_size)
    walker = 8 * size.nodes + _EDGE * size.relationships + _similarity_bytes(size)
    pairs = pair_set + _negatives_bytes(size) + _points(size)  # with the points to start from
    block = min(BLOCK_BYTES, size.pairs_of_round * pair_bytes(size.nodes, size.parts))
    training = size.threads * (2 * block + 6 * 2 * _points(size) / size.parts)
    return max(walker, pairs, training, 2 * _points(size))


def _similarity_bytes(size: RunSize) -> float:
    if not size.teleports:
        return 0.0
    if size.nodes <= TABLE_LIMIT:
        value = _TABLE_DENSE if size.dense_columns else _TABLE_VALUE
        return 4 * size.nodes**2 + value * size.attribute_entries
    return _SIMILARITY_VALUE * size.attribute_entries + _SIMILARITY_NODE * size.nodes


def _scoring_bytes(size: RunSize) -> float:
    """Return what the link score takes: the features' matrices, lists, and pairs scored at a time."""
    if not size.combined:
        return 0.0
    around = 1.0 + 2.0 * size.relationships / max(size.nodes, 1)  # a node and its neighbours
    smooth = size.nodes * size.attribute_columns * min(1.0, around * size.attribute_share)
    values = _SCORED_VALUE * (size.attribute_entries + smooth)
    if size.dense_columns:
        values = _SCORED_DENSE * size.nodes * size.dense_columns
    lists = (
        _LISTED_NODE * size.nodes + _HUB * min(HUB_ENTRIES, size.nodes**2) + _SCORED * LISTED * BLOCK_SOURCES
    )
    return 3.0 * _points(size) + _SCORED_EDGE * size.relationships + values + lists


def _seconds(size: RunSize, rates: Rates) -> dict[str, float]:
    values = size.nodes * size.attribute_columns * min(1.0, size.attribute_share)
    reading = (
        rates.first_statements
        + size.nodes / rates.read_nodes
        + size.relationships / rates.read_relationships
        + values / rates.read_values
    )
    steps = size.walks * size.walk_length
    contexts = 2 * min(size.window_size, size.walk_length - 1)
    candidate = rates.candidate + rates.coordinate * size.n_components
    position = rates.position + (contexts + size.n_negatives) * candidate
    spread = max(size.nodes, round(size.relationships / _RELATIONSHIPS_AS_A_NODE))
    pace = _slower(spread, rates) / (1.0 + rates.second_thread * (size.threads - 1))
    teleport = _teleport_seconds(size, rates)
    if size.parts > 1:
        training = _bucket_seconds(size, rates, teleport)
    else:
        training = size.n_epochs * steps * (position * (1.0 - _met_all(size)) + teleport) * pace
    prepared = steps * (rates.walk_step + teleport) * pace + _similarity_seconds(size, rates)
    stages = {"read": reading, "walks": prepared, "train": training}
    if size.links_per_node:
        if size.combined:
            fitted = min(_HELD_OUT * size.relationships, FITTED_LINKS)
            stages["calibrate"] = prepared + WALKS_HELD_OUT * training + rates.fitted_edge * fitted
        stages["links"] = _link_seconds(size, rates)
    links = _DOUBLE_LINKS * size.links
    first = rates.first_statements * (2 if size.links_per_node else 1)
    staged = size.nodes / rates.write_nodes + links / rates.write_links
    settle_node, settle_link, indexes = rates.settle_node, rates.settle_link, 1.0
    if size.replaces:
        settle_node += rates.replace_node
        settle_link += rates.replace_link
        indexes = rates.replace_index
    stages["write"] = first + staged + size.nodes * settle_node + links * settle_link
    index = size.nodes * (rates.index_node + rates.index_coordinate * size.n_components)
    stages["index"] = indexes * index
    return stages


def _bucket_seconds(size: RunSize, rates: Rates, teleport: float) -> float:
    """Return what training by buckets takes: the walks once more, and the pairs of each round."""
    steps = size.n_epochs * size.walks * size.walk_length
    pair = (
        rates.bucket_pair
        + rates.bucket_negative * size.n_negatives
        + rates.bucket_coordinate * size.n_components
    )
    walks = steps * (rates.walk_step + teleport) * _slower(size.nodes, rates)
    pair *= 1.0 + rates.bucket_portion * (portions_of(size.n_walks) - 1)
    part = 8 * size.nodes * padded_width(size.n_components + 1) / size.parts
    pair *= 1.0 + rates.bucket_growth * max(0.0, log10(part / _NEARBY))
    threads = min(size.threads, size.parts // 2)
    return (walks + size.pairs * pair) / (1.0 + rates.second_bucket * (threads - 1))


def _met_all(size: RunSize) -> float:
    """Return the share of positions whose node has met all others."""
    if not size.hub_share:
        return 0.0
    passed = size.walks * size.walk_length / (2 * max(size.relationships, 1))  # steps to a relationship's end
    to_hubs = size.hub_share * (1.0 - size.alpha if size.teleports else 1.0)  # teleports lead elsewhere
    return to_hubs / (to_hubs + 1.0 - size.hub_share) * exp(-size.nodes * exp(-passed))


def _teleport_seconds(size: RunSize, rates: Rates) -> float:
    """Return what steps along attributes add to a step, on average."""
    if not size.teleports:
        return 0.0
    rejects = size.nodes > TABLE_LIMIT
    values = 2.0 * size.attribute_entries / max(size.nodes, 1) if rejects else 0.0  # of two rows
    return size.alpha * (rates.teleport + rates.teleport_value * values)


def _slower(nodes: int, rates: Rates) -> float:
    """Return how many times longer random places take than on a small graph."""
    return 1.0 + rates.growth * max(0.0, log10(max(nodes, 1) / rates.small))


def _link_seconds(size: RunSize, rates: Rates) -> float:
    """Return what the search for links takes, by distance or by the score of listed targets."""
    if not size.combined:
        blocks = rates.link_block * size.endpoints / max(1, len(size.ends)) / BLOCK
        node = rates.link_node + rates.link_coordinate * size.n_components + blocks
        return size.endpoints * node / size.threads
    dense = _DENSE_FEATURES * rates.dense_product * size.dense_columns
    source = rates.listed_source * _slower(size.nodes, rates) + LISTED * dense
    return size.listed_sources * source / size.threads


def _similarity_seconds(size: RunSize, rates: Rates) -> float:
    if not size.teleports:
        return 0.0
    if size.nodes > TABLE_LIMIT:
        return rates.similarity_value * size.attribute_entries
    return size.nodes * size.attribute_entries * rates.table_entry / size.threads


def _copy_bytes(size: RunSize) -> int:
    """Return what one copy of coordinates and links takes."""
    blocks = -(-(8 * size.n_components + 16) // (_STORE_BLOCK - 8))
    # Coordinates, a list, and radius and run, which share a record.
    node = _STORE_BLOCK * blocks + 2 * _STORE_RECORD
    link = 34 + 3 * _STORE_RECORD
    return node * size.nodes + link * size.links


def _index_bytes(size: RunSize) -> int:
    return size.nodes * (_INDEX_NODE + _INDEX_COORDINATE * size.n_components)


def run_size(
    store: Neo4jStore,
    projection: Projection,
    model: Embedder,
    links: LinkOptions | None,
    name: str | None = None,
) -> RunSize:
    """Return what decides the cost of a run; only counts are asked of the database.

    With the `name` of the model its published version is counted, which is kept.
    """
    counts = store.count(projection)
    ends, limits = ((), ()) if links is None else _pattern_ends(store, projection, links)
    parameters = {name: value for name, value in model.get_params().items() if hasattr(RunSize, name)}
    return RunSize(
        nodes=counts.nodes,
        relationships=counts.relationships,
        attribute_columns=counts.attribute_columns,
        attribute_share=counts.attribute_share,
        isolated_share=counts.isolated / counts.nodes,
        hub_share=counts.hub_share,
        threads=resolve_threads(model.n_threads),
        links_per_node=0 if links is None else links.k or first_partners(links.top or 0, counts.nodes),
        pattern_ends=ends,
        pattern_limits=limits,
        top=None if links is None else links.top,
        combined=links is not None and links.has_probability,
        replaces=name is not None and store.published_run(name) is not None,
        **parameters,
    )


def _pattern_ends(
    store: Neo4jStore, projection: Projection, links: LinkOptions
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int | None], ...]]:
    """Return how many nodes may be source, and target, of each pattern, and its limits of links."""
    schema, carriers = store.sample_schema(projection)
    try:
        patterns = (
            chosen_patterns(links.patterns, schema, carriers)
            if links.patterns
            else common_patterns(observed_patterns(schema, carriers))
        )
    except ValueError as error:
        raise ProjectionError(str(error)) from error
    ends = tuple((carriers.get(each.source, 1), carriers.get(each.target, 1)) for each in patterns)
    return ends, () if links.k is None else tuple(
        zip(link_limits(links.k, patterns), patterns.values(), strict=True)
    )


def check_memory(size: RunSize, limit: int) -> None:
    """Refuse a run that would need more bytes of memory than `limit`, and say what to change."""
    needed = estimate(size)
    if needed.peak_memory <= limit:
        return
    if limit <= PROGRAM:
        raise MemoryExceeded(
            f"the program alone takes about {format_bytes(PROGRAM)} of memory, and may use "
            f"{format_bytes(limit)}: raise --memory-limit to {format_bytes(needed.peak_memory)}; "
            "nothing was begun"
        )
    stage = max(needed.memory, key=needed.memory.__getitem__)
    advice = _ADVICE_COMBINED[stage] if size.combined and stage in _ADVICE_COMBINED else _ADVICE[stage]
    over_files = replace(size, scratch=".")
    if size.scratch is None and estimate(over_files).peak_memory <= limit:
        advice = (
            f"--scratch FOLDER, on a disk with {format_bytes(over_files.scratch_bytes)} free, or {advice}"
        )
    raise MemoryExceeded(
        f"the run would need about {format_bytes(needed.peak_memory)} of memory (to {stage}), and may use "
        f"{format_bytes(limit)}: choose {advice}, or raise --memory-limit; nothing was begun"
    )


def rates_here(n_threads: int, on_progress: Progress = no_progress) -> Rates:
    """Return speeds to estimate with, as a small training finds them on this machine, as busy as it is.

    Speeds of the server are left as they are. Takes half a second, and compiles first if need be.
    """
    shape = (_TRIAL_NODES, _TRIAL_NODES)
    ends = np.random.default_rng(0).integers(0, _TRIAL_NODES, (2, _TRIAL_NODES * _TRIAL_DEGREE // 2))
    graph = Graph(sparse.csr_array((np.ones(ends.shape[1]), ends), shape=shape))
    model = Embedder(walks_per_node=_TRIAL_WALKS, alpha=0.0, n_threads=n_threads, random_state=0)
    size = RunSize(_TRIAL_NODES, graph.n_edges, walks_per_node=_TRIAL_WALKS, alpha=0.0, threads=n_threads)
    expected = sum(estimate(size).seconds[stage] for stage in ("walks", "train"))
    make_ready(on_progress)
    model.fit(graph)  # the first is slower
    durations = []
    for _ in range(_TRIALS):
        seconds = model.fit(graph).training_["seconds"]
        durations.append(seconds["walks"] + seconds["train"])
    slower = median(durations) / expected
    return replace(RATES, **{name: slower * getattr(RATES, name) for name in _MACHINE_RATES})
