"""Estimates against what the code really allocates and does, on graphs small enough to do it."""

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j._utils.progress import no_progress
from heat_neo4j._utils.random import make_keys
from heat_neo4j.embedding import coarse_graph
from heat_neo4j.embedding.batches import make_workspace
from heat_neo4j.embedding.near_lists import near_matrix
from heat_neo4j.embedding.pairs import EXACT_BYTES, collect_pairs
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.similarity import TABLE_LIMIT, make_similarity
from heat_neo4j.embedding.walks import make_walks
from heat_neo4j.graph import Relationships
from heat_neo4j.linkpred.shortlists import LISTED
from heat_neo4j.pipeline import estimate as estimate_module
from heat_neo4j.pipeline.estimate import _with_columns, estimate, part_of
from heat_neo4j.pipeline.memory import (
    _VECTOR_VALUE,
    PROGRAM,
    LinkEnds,
    RunSize,
    _scoring,
    _similarity,
    _training,
    memory_of,
)
from tests.support.made_graph import made_graph

ALL = (LinkEnds(1000, 1000, 10, 5000),)
TINY = RunSize(200, 1000, patterns=(LinkEnds(200, 200, 10, 1000),))
SMALL = RunSize(1000, 5000, attribute_columns=200, attribute_share=0.05, threads=2, patterns=ALL)


def random_graph(size, seed=0):
    rng = np.random.default_rng(seed)
    n = size.nodes
    ends = rng.integers(0, n, (2, size.relationships))
    adjacency = sparse.csr_array((np.ones(size.relationships), tuple(ends)), shape=(n, n))
    attributes = sparse.random_array(
        (n, size.attribute_columns), density=size.attribute_share, format="csr", rng=rng
    )
    return Graph(adjacency, attributes)


def needs(size, read_seconds=0.0):
    return estimate(size, HEAT(n_threads=size.threads, random_state=0), made_graph(size, 1000), read_seconds)


@pytest.fixture(scope="module", autouse=True)
def _work_is_time():
    """A trained pair takes a microsecond, and what the pilot times a second: other processes may be busy."""
    fit = HEAT.fit

    def fit_by_work(model, *args, **more):
        fit(model, *args, **more)
        model.training_["seconds"]["train"] = 1e-6 * model.n_pairs_
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HEAT, "fit", fit_by_work)
        patch.setattr(estimate_module, "perf_counter", count().__next__)
        yield


@pytest.fixture(scope="module")
def of_tiny():
    return needs(TINY, read_seconds=3.0)


def array_bytes(*groups):
    return sum(part.nbytes for group in groups for part in group if isinstance(part, np.ndarray))


@pytest.mark.parametrize("nodes", [1000, TABLE_LIMIT + 500])
def test_training_memory_is_that_of_the_arrays(nodes):
    size = replace(SMALL, nodes=nodes, relationships=5 * nodes, walks_per_node=1, walk_length=5)
    graph = random_graph(size)
    keys = make_keys(0)
    walks = make_walks(graph, alpha=size.alpha, walk_length=size.walk_length, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=1, window_size=3, negative_exponent=0.75)
    schedule = Schedule(1, 3, size.n_negatives, 1.0, 0.05, 320, 1)
    workspace = make_workspace(nodes, size.n_components, schedule, size.walk_length, size.threads)
    points = 8 * nodes * (padded_width(size.n_components + 1) + size.n_components + 1)  # and their mean
    held = array_bytes(walks.walker, walks.similarity, pairs.negatives, workspace, [pairs.occurrences])
    assert _training(size) == pytest.approx(held + points, rel=0.25)


@pytest.mark.parametrize("others", [0, 200])
def test_memory_of_vectors_is_that_of_the_arrays(others):
    size = RunSize(
        7000, 20_000, attribute_columns=others, attribute_share=0.05, vector_columns=256, vector_width=1536
    )
    graph = made_graph(size, 10_000)
    assert graph.n_nodes == 7000
    assert (graph.attributes.dtype == np.float32) == (not others)
    small = made_graph(size, 300)
    matrix = graph.attributes
    bare = replace(size, attribute_columns=0, vector_columns=0, vector_width=0)
    held = array_bytes([matrix])
    alone = replace(size, alpha=0.0), replace(bare, alpha=0.0)
    needed, without = (memory_of(each)["train"] for each in alone)
    assert needed - without == pytest.approx(held, rel=0.1)
    make_similarity(small, table_limit=0)  # loading the kernels allocates more than the call does
    tracemalloc.start()
    make_similarity(graph, table_limit=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert _similarity(size) == pytest.approx(peak, rel=0.35)
    assert memory_of(size)["read"] - memory_of(bare)["read"] >= 2 * size.vectors


def test_memory_of_the_link_score_counts_the_lists_of_similar_vectors():
    size = RunSize(2000, 6000, vector_columns=64, vector_width=64)
    held = array_bytes(CsrParts.of(near_matrix(made_graph(size, 2000), LISTED)))
    needed, bare = map(_scoring, (size, replace(size, vector_columns=0, vector_width=0)))
    assert needed - bare - _VECTOR_VALUE * 2000 * 64 == pytest.approx(held, rel=0.05)


def test_memory_of_texts_is_that_of_their_lists():
    size = RunSize(7000, 20_000, attribute_columns=1000, attribute_share=0.01, texts=1)
    graph = made_graph(size, 10_000)
    small = made_graph(size, 300)
    make_similarity(small, table_limit=0)  # loading the kernels allocates more than the call does
    tracemalloc.start()
    similarity = make_similarity(graph, table_limit=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert similarity.near.shape == (7000, 100)
    assert _similarity(size) == pytest.approx(peak, rel=0.35)


@pytest.mark.parametrize(("per_level", "others"), [(2000, 0), (2000, 30_000), (20, 0)])
def test_memory_and_pairs_of_a_hierarchy_are_those_of_its_training(per_level, others):
    n = 10_000
    closure = sum(child // per_level for child in range(n))
    size = RunSize(
        n, n - per_level + others, walks_per_node=1, hierarchy="UNDER", hierarchical=n - per_level,
        closure=closure, threads=1,
    )  # fmt: skip
    child = np.arange(per_level, n)
    links = np.random.default_rng(0).integers(0, n, (2, others))
    pairs = {"UNDER": (child, child - per_level), "LINK": links}
    ends = np.hstack(list(pairs.values()))
    adjacency = sparse.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    graph = Graph(adjacency, relationships=Relationships.from_pairs(pairs))
    model = HEAT(hierarchy="UNDER", walks_per_node=1, n_threads=1, random_state=0)
    small = RunSize(100, 99, hierarchy="UNDER", hierarchical=99, closure=200)
    model.fit(made_graph(small, 100))  # loading the kernels allocates more than the call does
    tracemalloc.start()
    model.fit(graph)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.training_["hierarchy"]["pairs"] == closure
    assert _training(size) == pytest.approx(peak, rel=0.25)
    trained = model.n_pairs_ + model.training_["pairs_without_negative"]
    assert trained == pytest.approx(size.pairs, rel=0.25)


def test_the_time_of_a_hierarchy_is_that_of_its_own_training():
    size = RunSize(3000, 2999, hierarchy="UNDER", hierarchical=2999, closure=20_000, threads=1)
    graph = made_graph(size, 3000)
    assert made_graph(replace(size, nodes=10**7), 100).relationships.types == ("UNDER",)
    model = HEAT(hierarchy="UNDER", n_threads=1, random_state=0).fit(graph)
    expected = estimate(size, HEAT(hierarchy="UNDER", n_threads=1, random_state=0), graph)
    assert list(expected.seconds) == ["read", "walks", "train", "write", "index"]
    assert model.training_["hierarchy"]["pairs"] == pytest.approx(size.closure, rel=0.1)
    took = model.training_["seconds"]["train"]
    assert expected.seconds["train"] == pytest.approx(took, rel=0.1)


def test_an_estimate_names_what_looks_like_a_hierarchy():
    child = np.arange(1, 364)
    pairs = child, (child - 1) // 3
    tree = Graph(
        sparse.csr_array((np.ones(363), pairs), shape=(364, 364)),
        relationships=Relationships.from_pairs({"PART_OF": pairs}),
    )
    size, model = RunSize(364, 363, threads=1), HEAT(n_threads=1, random_state=0)
    words = "target is more general: 100% of 363 sources have one target, no cycles, 6 levels"
    assert estimate(size, model, tree).hierarchies == (("PART_OF", words),)
    size = replace(size, hierarchy="PART_OF", hierarchical=363, closure=1_500)
    assert estimate(size, model.set_params(hierarchy="PART_OF"), tree).hierarchies == ()
    assert estimate(RunSize(364, 363), HEAT(), None).hierarchies == ()


def test_vectors_take_steps():
    size = RunSize(1000, 0, isolated_share=1.0, vector_columns=64, vector_width=64)
    assert size.teleports
    assert size.steps == 1000 * size.n_walks * size.walk_length


def test_graph_memory_is_that_of_the_arrays():
    graph = random_graph(SMALL)
    matrix, attributes = graph.adjacency, graph.attributes
    held = array_bytes(
        [matrix.data, matrix.indices, matrix.indptr, attributes.data, attributes.indices, attributes.indptr]
    )
    ids = sum(len(f"4:4b0e1b7e-1f6c-4e0c-9d2d-2c1c1a1b1c1d:{i}") + 49 + 8 for i in range(SMALL.nodes))
    needed = memory_of(replace(SMALL, n_components=1, patterns=()))["train"]
    own = _training(replace(SMALL, n_components=1))
    assert needed - PROGRAM - own == pytest.approx(held + ids, rel=0.15)


@pytest.mark.parametrize(("length", "window"), [(2, 1), (2, 5), (10, 3), (10, 9), (10, 20), (80, 3)])
def test_the_number_of_pairs_is_that_of_full_walks(length, window):
    by_hand = sum(a != b and abs(a - b) <= window for a in range(length) for b in range(length))
    size = RunSize(
        nodes=7, relationships=9, walks_per_node=3, walk_length=length, window_size=window, n_epochs=2
    )
    assert size.pairs == 2 * 7 * 3 * by_hand


def test_a_fit_trains_nearly_as_many_pairs():
    size = replace(SMALL, nodes=300, relationships=3000, walks_per_node=1, walk_length=20)
    model = HEAT(n_components=2, walks_per_node=1, walk_length=20, n_negatives=1, random_state=0)
    model.fit(random_graph(size))
    assert 0.8 * size.pairs < model.n_pairs_ <= size.pairs


def test_nodes_without_relationships_have_walks_only_if_they_have_attributes():
    half = replace(SMALL, nodes=50_000, isolated_share=0.5)
    bare = replace(half, attribute_columns=0)
    assert half.pairs == replace(half, isolated_share=0.0).pairs
    assert 2 * bare.pairs == half.pairs


def test_links_are_never_more_than_the_pairs_or_the_limits():
    assert LinkEnds(5, 4, 10).links == 20
    assert LinkEnds(1000, 1000, 3).links == 3000
    assert LinkEnds(1000, 1000, 3, 50).links == 50
    both = replace(SMALL, patterns=(LinkEnds(100, 20, 10, 900), LinkEnds(40_000, 3, 5, 10**6)))
    assert both.links == 900 + 120_000
    assert replace(SMALL, patterns=()).links == 0


@pytest.mark.parametrize(
    "more",
    [
        {"nodes": 100_000}, {"relationships": 5_000_000}, {"n_components": 200},
        {"nodes": 5000, "attribute_columns": 4000}, {"nodes": 20_000, "attribute_columns": 100_000},
    ],
)  # fmt: skip
def test_more_of_anything_takes_more_memory(more):
    assert max(memory_of(replace(SMALL, **more)).values()) > max(memory_of(SMALL).values())


def test_memory_of_links_is_that_of_the_widest_pattern():
    size = replace(SMALL, nodes=10**6, link_score=False, patterns=(LinkEnds(500_000, 500_000, 10, 1000),))
    many, few = replace(size, patterns=size.patterns * 20), replace(size, patterns=(LinkEnds(1000, 50, 10),))
    assert memory_of(many)["links"] < 1.01 * memory_of(size)["links"]
    assert memory_of(few)["links"] < memory_of(size)["links"]
    assert memory_of(replace(size, link_score=True))["links"] > memory_of(size)["links"]


def test_large_graphs_are_trained_in_parts_in_more_memory():
    large = replace(SMALL, nodes=300_000, relationships=1_500_000)
    by_batches = replace(large, n_parts=1)
    assert (large.parts, by_batches.parts, SMALL.parts) == (16, 1, 1)
    many = replace(large, nodes=10**7)
    assert [replace(many, walks_per_node=walks).parts for walks in (3, 7, 17, 20)] == [16, 22, 32, 64]
    assert memory_of(large)["train"] > memory_of(by_batches)["train"]


def test_exclusion_is_exact_while_the_bits_fit():
    limit = int((8 * EXACT_BYTES) ** 0.5)
    assert replace(SMALL, nodes=limit - 64).pair_set[0]
    assert not replace(SMALL, nodes=limit + 64).pair_set[0]


def test_a_made_graph_is_as_dense_as_the_real_one():
    size = replace(SMALL, nodes=100_000, relationships=500_000, isolated_share=0.25)
    graph = made_graph(size, 2000)
    assert graph.n_nodes == 2000
    assert graph.n_edges == pytest.approx(10_000, rel=0.02)
    assert (graph.degrees == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert graph.attributes.nnz == pytest.approx(2000 * 200 * 0.05, rel=0.05)
    dense = made_graph(replace(size, attribute_share=1.0), 50)
    assert dense.attributes.shape == (50, 200)


def test_an_estimate_has_all_stages_and_is_plain_data(of_tiny):
    whole = of_tiny
    assert list(whole.seconds) == ["read", "walks", "train", "calibrate", "links", "write", "index"]
    assert list(whole.memory) == ["read", "train", "calibrate", "links", "write"]
    document = whole.to_dict()
    assert document["peak_memory"] == max(document["memory"].values())
    assert document["total_seconds"] == pytest.approx(sum(whole.seconds.values()))
    assert whole.seconds["read"] == 3.0
    assert min(whole.seconds.values()) > 0


def test_the_columns_of_a_graph_that_was_read_replace_those_extrapolated():
    size = replace(SMALL, attribute_columns=200, attribute_share=0.05, vector_columns=40, vector_width=40)
    graph = made_graph(replace(size, attribute_columns=800), 1000)
    read = _with_columns(size, graph)
    assert (read.attribute_columns, read.vector_columns) == (800, 40)
    assert read.attribute_values == pytest.approx(size.attribute_values)


def test_a_graph_that_was_not_read_has_no_times():
    unread = estimate(TINY, HEAT(), None)
    assert not unread.seconds
    assert unread.memory == memory_of(TINY)


def paths(n_paths, length, **more):
    """Return so many paths of a length, and as many nodes without a neighbour."""
    nodes = np.arange(n_paths * length).reshape(n_paths, length)
    ends = nodes[:, :-1].ravel(), nodes[:, 1:].ravel()
    matrix = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(2 * nodes.size, 2 * nodes.size))
    return Graph(matrix, **more)


def test_a_part_keeps_nodes_with_their_neighbours():
    graph = paths(20, 50)
    part = part_of(graph, 600)
    assert part.n_nodes == 600
    joined = int((part.degrees > 0).sum())
    assert part.n_edges >= joined - joined // 50 - 1  # at most one path is cut
    assert 0.0 < joined / part.n_nodes < 1.0
    assert part_of(graph, 2000) is graph


def test_a_part_begins_at_the_type_of_the_hierarchy():
    kinds = {"RARE": ([0], [1]), "OTHER": ([2], [3])}
    part = part_of(paths(20, 50, relationships=Relationships.from_pairs(kinds)), 10, "RARE")
    assert len(part.relationships.of("RARE")[0]) == 1


def test_coarse_graphs_count(monkeypatch):
    monkeypatch.setattr(coarse_graph, "COARSE_NODES", 1000)
    size = RunSize(1000, 5000, threads=1)
    assert [walks for _, walks in size.levels] == [10, 3, 3]
    assert "coarse" in needs(size).seconds
    model = HEAT(random_state=0, n_threads=1).fit(made_graph(size, 1000))
    coarse = sum(level["pairs"] for level in model.training_["coarse"])
    assert size.coarse_pairs == pytest.approx(coarse, rel=0.4)
    assert size.pairs - size.coarse_pairs == pytest.approx(model.n_pairs_ - coarse, rel=0.2)


def test_time_grows_with_the_pairs_and_what_is_written():
    plain = replace(TINY, patterns=())
    first, longer = (needs(replace(plain, n_epochs=epochs)) for epochs in (1, 50))
    assert list(first.seconds) == ["read", "walks", "train", "write", "index"]
    assert longer.seconds["train"] == pytest.approx(50 * first.seconds["train"], rel=0.01)
    next_one = needs(replace(plain, replaces=True))
    assert next_one.seconds["index"] > 3 * first.seconds["index"]
    assert next_one.seconds["write"] > first.seconds["write"]
    assert next_one.stored_bytes == first.stored_bytes < first.publishing_bytes


def test_a_score_is_fitted_once_to_links_held_out_several_times(monkeypatch):
    clock, fit = [0.0], estimate_module.link_score

    def slow_fit(held_out, graph, *, on_progress=no_progress, **options):
        clock[0] += 10.0
        on_progress("patterns", 1, 1)
        clock[0] += 100.0
        return fit(held_out, graph, **options)

    monkeypatch.setattr(estimate_module, "link_score", slow_fit)
    monkeypatch.setattr(estimate_module, "perf_counter", lambda: clock[0])
    larger = replace(SMALL, relationships=6000)
    assert needs(larger).seconds["calibrate"] == pytest.approx(4 * 10.0 + 100.0, abs=9.0)
    assert needs(SMALL).seconds["calibrate"] == pytest.approx(10 * 10.0 + 8 * 100.0, abs=20.0)


def test_a_server_that_reads_slowly_writes_slowly():
    model, graph = HEAT(n_threads=1, random_state=0), made_graph(TINY, 1000)
    usual, slow = (estimate(replace(TINY, patterns=()), model, graph, read).seconds for read in (1.0, 10.0))
    for stage in ("write", "index"):
        assert slow[stage] > 4 * usual[stage]


def test_links_that_are_too_unlikely_are_not_written_and_sources_that_may_have_no_more_take_no_time(of_tiny):
    few = LinkEnds(200, 200, 10, 1000, full=198)
    found = needs(replace(TINY, patterns=(few,), min_probability=1.0), read_seconds=3.0).seconds
    assert found["links"] == pytest.approx(0.01 * of_tiny.seconds["links"], rel=0.1)
    without = needs(replace(TINY, patterns=()), read_seconds=3.0).seconds
    assert found["write"] == pytest.approx(without["write"])
    assert of_tiny.seconds["write"] > found["write"]


def test_a_graph_that_is_too_small_for_a_score_has_an_estimate():
    tiny = RunSize(4, 3, patterns=(LinkEnds(4, 4, 10, 3),))
    assert "calibrate" not in needs(tiny).seconds


def test_training_takes_about_as_long_as_estimated():
    size = RunSize(400, 2000)
    said = needs(size).seconds
    took = HEAT(random_state=0, n_threads=1).fit(made_graph(size, 400)).training_["seconds"]
    assert said["train"] == pytest.approx(took["train"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [("types", "200"), ("labels", "1000"), ("vectors", "600", "768"), ("texts", "12000")]
)
def test_memory_of_odd_shapes_is_within_half_of_the_estimate(shape):
    command = [sys.executable, "-m", "tests.benchmarks.cost_by_shape", "--one", *shape]
    stages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for stage in stages.values():
        assert stage["expected peak"] / 1.5 < stage["peak"] < 1.5 * stage["expected peak"]
