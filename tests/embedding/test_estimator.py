import pickle

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from heat_neo4j import HEAT, Graph
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.pairs import collect_pairs, make_pair_set
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.embedding.training import DivergedError, start_points, train
from heat_neo4j.embedding.walks import make_walks
from heat_neo4j.geometry.hyperboloid import radius
from tests.support.shapes import make_shape

QUICK = {"n_components": 3, "walks_per_node": 2, "walk_length": 10, "random_state": 4}


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((300, 300)) < 0.02, 1).astype(float)
    return Graph(adjacency=sparse.csr_array(dense), attributes=(rng.random((300, 20)) < 0.2).astype(float))


@pytest.fixture(scope="module")
def model(graph):
    return HEAT(**QUICK).fit(graph)


def test_embedding_is_on_the_hyperboloid(model):
    x = model.embedding_
    assert x.shape == (300, 4)
    assert x.dtype == np.float64
    assert np.isfinite(x).all()
    np.testing.assert_allclose(x[:, -1] ** 2 - (x[:, :-1] ** 2).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("n_parts", [1, 5])
def test_same_bits_for_any_number_of_threads(graph, n_threads, n_parts, eight_processors):
    one = HEAT(**QUICK, n_threads=1, n_parts=n_parts).fit(graph)
    other = HEAT(**QUICK, n_threads=n_threads, n_parts=n_parts).fit(graph)
    assert one.training_["parts"] == n_parts
    assert one.embedding_.tobytes() == other.embedding_.tobytes()
    assert one.loss_curve_.tobytes() == other.loss_curve_.tobytes()


def test_same_bits_if_the_number_of_threads_changes_between_calls(graph):
    one = trained(graph, ALONE)
    counts = iter([3, 1, 4, 2] * 1000)
    used = []

    class Changing(WorkerThreads):
        def best_count(self):
            return self

        def parts(self, work):
            for batch in range(work):
                used.append(next(counts))
                yield batch, batch + 1, used[-1]

    with Changing(4) as team:
        other = trained(graph, team)
    assert len(used) > 8
    assert other.points.tobytes() == one.points.tobytes()


def test_same_bits_with_rejection_and_bloom_filter(graph):
    """The ways that large graphs take are as repeatable as those of small ones."""
    found = set()
    for n_threads in (1, 2, 3):
        with WorkerThreads(n_threads) as team:
            similarity = make_similarity(graph, table_limit=0, team=team)
            found.add(trained(graph, team, similarity, exact_bytes=0).points.tobytes())
    assert len(found) == 1


def trained(graph, team, similarity=None, **options):
    """Train by batches as `HEAT` does, with other ways to sample."""
    keys, n = make_keys(4), graph.n_nodes
    walks = make_walks(graph, alpha=0.2, walk_length=10, key=keys.walks, similarity=similarity, team=team)
    pair_set = make_pair_set(n, 5, 10, 3, **options)
    pairs = collect_pairs(
        walks, walks_per_node=5, window_size=3, negative_exponent=0.5, pair_set=pair_set, team=team
    )
    assert pairs.exclusion == ("bloom filter" if options else "exact")
    start = start_points(n, 3, keys.start)
    return train(start, walks, pairs.negatives, Schedule(5, 3, 4, 0.8, 0.05, 20, 1, 1), keys, team=team)


def test_a_time_limit_not_reached_changes_no_bit(graph, model):
    assert HEAT(**QUICK, time_limit=1000.0).fit(graph).embedding_.tobytes() == model.embedding_.tobytes()
    by_buckets, kept = (HEAT(**QUICK, n_parts=4, time_limit=each).fit(graph) for each in (None, 1000.0))
    assert by_buckets.embedding_.tobytes() == kept.embedding_.tobytes() != model.embedding_.tobytes()
    assert model.training_["trained_share"] == 1.0


def test_training_that_diverges_at_every_rate_names_the_parameter():
    with pytest.raises(
        DivergedError, match=r"sigma 0\.01 is too small .*: raise `sigma` or lower `learning_rate`"
    ):
        HEAT(sigma=0.01, random_state=0).fit(nx.balanced_tree(3, 4))


def test_another_seed_gives_another_embedding(graph, model):
    other = HEAT(**{**QUICK, "random_state": 5}).fit(graph)
    assert not np.array_equal(model.embedding_, other.embedding_)


def test_a_missing_seed_is_drawn_and_stored(graph):
    first = HEAT(**{**QUICK, "random_state": None}).fit(graph)
    again = HEAT(**{**QUICK, "random_state": first.seed_}).fit(graph)
    assert first.embedding_.tobytes() == again.embedding_.tobytes()


def test_scikit_learn_conventions(graph, model):
    assert model.get_params()["walk_length"] == 10
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "embedding_")
    assert "walk_length=10" in repr(model)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.embedding_.tobytes() == model.embedding_.tobytes()
    before = model.get_params()
    model.fit(graph)
    assert model.get_params() == before
    assert model.set_params(alpha=0.5).alpha == 0.5
    model.set_params(alpha=0.2)


def test_progress_ends_at_its_total_and_never_falls(graph):
    seen = {}
    HEAT(**QUICK).fit(
        graph, on_progress=lambda stage, done, total: seen.setdefault(stage, []).append((done, total))
    )
    assert list(seen) == ["walks", "train"]
    for steps in seen.values():
        done = [d for d, _ in steps]
        assert done == sorted(done)
        assert steps[-1][0] == steps[-1][1]


def test_works_without_attributes(graph):
    bare = Graph(adjacency=graph.adjacency)
    assert np.isfinite(HEAT(**QUICK).fit(bare).embedding_).all()


def test_works_on_attributes_alone(graph):
    unconnected = Graph(adjacency=sparse.csr_array((300, 300)), attributes=graph.attributes)
    assert np.isfinite(HEAT(**QUICK).fit(unconnected).embedding_).all()


def test_dense_and_sparse_attributes_give_the_same_walks(graph):
    other = Graph(adjacency=graph.adjacency, attributes=sparse.csr_array(graph.attributes))
    assert HEAT(**QUICK).fit(graph).embedding_.tobytes() == HEAT(**QUICK).fit(other).embedding_.tobytes()


@pytest.mark.parametrize("n", [2, 3, 5, 12, 34])
@pytest.mark.parametrize("shape", ["complete", "star", "ring"])
def test_tiny_graphs_stay_finite_and_close(n, shape):
    dense = np.zeros((n, n))
    if shape == "complete":
        dense[:] = 1
    elif shape == "star":
        dense[0] = 1
    else:
        dense[np.arange(n), (np.arange(n) + 1) % n] = 1
    model = HEAT(n_components=2, random_state=0).fit(Graph(adjacency=sparse.csr_array(dense)))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.loss_curve_).all()
    assert np.arccosh(model.embedding_[:, -1].max()) < 15


def test_a_hub_of_thousands_stays_finite():
    n = 3000
    star = sparse.csr_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n))
    model = HEAT(n_components=2, walks_per_node=2, random_state=0, alpha=0.0).fit(Graph(adjacency=star))
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(adjacency=sparse.csr_array((0, 0))), "no nodes"),
        (Graph(adjacency=sparse.csr_array((1, 1))), "no pair to learn from"),
        (Graph(adjacency=sparse.csr_array((5, 5))), "no pair to learn from"),
        (Graph(adjacency=sparse.csr_array((5, 5)), attributes=np.ones((5, 2))), "no pair to learn from"),
    ],
)
def test_a_graph_with_nothing_to_learn_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        HEAT().fit(graph)


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_components", 0, "n_components must be at least 1"),
        ("n_components", 10**6, "n_components must be at most 4,096"),
        ("n_components", 2.5, "n_components must be an integer"),
        ("alpha", 1.5, r"alpha must lie in \[0, 1\]"),
        ("alpha", float("nan"), "alpha"),
        ("sigma", 0, "sigma must be a finite number above 0"),
        ("walk_length", 1, "walk_length must be at least 2"),
        ("walks_per_node", 0, "walks_per_node"),
        ("window_size", 0, "window_size"),
        ("n_negatives", 0, "n_negatives"),
        ("negative_exponent", -1, "negative_exponent"),
        ("learning_rate", float("inf"), "learning_rate"),
        ("batch_size", 0, "batch_size"),
        ("n_epochs", True, "n_epochs must be an integer"),
        ("n_threads", 0, "n_threads"),
        ("random_state", -1, "random_state"),
    ],
)
def test_bad_parameters_are_named(graph, parameter, value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        HEAT(**{**QUICK, parameter: value}).fit(graph)


@pytest.mark.parametrize("shape", ["star", "two hubs", "hubs N/3, N/10"])
def test_training_that_diverges_restarts_with_half_the_rate(shape):
    graph = make_shape(shape, 400)
    model = HEAT(learning_rate=0.4, walks_per_node=3, walk_length=40, random_state=0).fit(graph)
    halved = model.training_["learning_rate_halved"]
    assert halved > 0
    assert radius(model.embedding_).max() < 20
    assert model.loss_curve_[-1] < np.log(11)
    again = HEAT(learning_rate=0.4 / 2**halved, walks_per_node=3, walk_length=40, random_state=0).fit(graph)
    assert again.training_["learning_rate_halved"] == 0
    assert again.embedding_.tobytes() == model.embedding_.tobytes()
