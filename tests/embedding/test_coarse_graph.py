"""Starts from coarse graphs: clusters against a slow twin, and the same bits however a training runs."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j._kernels.coarse import NO_NODE, join_neighbours, merge_rows
from heat_neo4j.embedding import coarse_graph
from heat_neo4j.embedding.coarse_graph import clusters_of, coarse_walks, coarsen, levels_of, spread
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.geometry.hyperboloid import check_points, distance
from heat_neo4j.graph import Relationships
from tests.support.dask_processes import connected, scheduler, worker
from tests.support.file_events import before_each
from tests.support.killed import Killed
from tests.support.small_training import OPTIONS, assert_same, make_graph


@pytest.fixture(autouse=True)
def _from_coarse_graphs(monkeypatch):
    """Graphs of the size of a test start from coarse graphs, too."""
    monkeypatch.setattr(coarse_graph, "COARSE_NODES", 100)


def weighted(n=80, seed=0, isolated=5):
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((n, n)) < 4 / n, 1) * rng.integers(1, 4, (n, n)).astype(float)
    dense[0, 1:20] = 1.0
    dense[:, n - isolated :] = 0.0
    return sparse.csr_array(dense + dense.T)


def csr(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices, matrix.data


def naive_join(matrix, similar, sizes, most, order):
    """The same as `join_neighbours`, by dictionaries."""
    strength = {i: float(matrix[[i]].sum()) for i in range(len(sizes))}
    of, total, waiting = {i: i for i in strength}, dict(enumerate(sizes)), {}

    def join(i, cluster):
        of[i] = cluster
        total[cluster] += sizes[i]
        strength[cluster] += strength[i]

    for i in order:
        if total[i] > sizes[i]:
            continue
        near = matrix[[i]].indices.tolist()
        rated = {}
        for j in near:
            rated[of[j]] = rated.get(of[j], 0.0) + float(matrix[i, j])
        rated = {cluster: weight / strength[cluster] for cluster, weight in rated.items()}
        if not near and similar[i] != NO_NODE:
            rated = {of[similar[i]]: 1.0}
        with_room = {
            cluster: rating for cluster, rating in rated.items() if total[cluster] + sizes[i] <= most
        }
        if with_room:
            join(i, max(with_room, key=with_room.get))
        elif rated:
            first = max(rated, key=rated.get)
            if first in waiting and total[waiting[first]] + sizes[i] <= most:
                join(i, waiting[first])
            else:
                waiting[first] = i
    return [of[i] for i in range(len(sizes))]


@pytest.mark.parametrize("most", [2, 4, 9])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_join_as_those_of_the_twin(most, seed):
    matrix, rng = weighted(seed=seed), np.random.default_rng(seed)
    n = matrix.shape[0]
    similar = np.full(n, NO_NODE)
    similar[n - 3 :] = rng.integers(0, n - 5, 3)
    sizes, order = rng.integers(1, 3, n), rng.permutation(n)
    joined = join_neighbours(*csr(matrix), similar, sizes, most, order)
    assert joined.tolist() == naive_join(matrix, similar, sizes, most, order)
    assert len(np.unique(joined)) < n - 10
    assert np.bincount(joined, weights=sizes).max() <= most


def test_weights_between_clusters_are_sums_of_those_between_their_nodes():
    matrix = weighted()
    of = np.random.default_rng(1).permutation(np.arange(80) // 4)
    merged = sparse.csr_array(merge_rows(*csr(matrix), *clusters_of(of))[::-1], shape=(20, 20))
    member = np.eye(20)[of]
    expected = member.T @ matrix.toarray() @ member
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(merged.toarray(), expected)
    assert merged.nnz == np.count_nonzero(expected)


def graph_and_walks(n_isolated=5, attributes=True):
    x = (np.random.default_rng(2).random((80, 10)) < 0.3).astype(float) if attributes else None
    graph = Graph(weighted(isolated=n_isolated), x)
    return graph, make_walks(graph, alpha=0.2, walk_length=12, key=np.uint64(3))


def test_larger_clusters_are_unions_of_smaller_ones_and_no_cluster_is_too_large():
    small, large = coarsen(*graph_and_walks(), (4, 16), np.random.default_rng(0))
    for clusters, most in ((small, 4), (large, 16)):
        counts = np.bincount(clusters.of)
        assert counts.min() > 0
        assert counts.max() <= most
        assert sorted(clusters.members.tolist()) == list(range(80))
        assert (np.diff(clusters.starts) == counts).all()
        assert (clusters.of[clusters.members] == np.repeat(np.arange(len(counts)), counts)).all()
    assert large.n_clusters < small.n_clusters < 40
    assert all(len(set(large.of[small.of == cluster])) == 1 for cluster in range(small.n_clusters))


def test_leaves_of_a_hub_share_clusters():
    ends = np.zeros(200, dtype=int), np.arange(1, 201)
    star = Graph(sparse.csr_array((np.ones(200), ends), shape=(201, 201)))
    walks = make_walks(star, alpha=0.0, walk_length=4, key=np.uint64(3))
    (clusters,) = coarsen(star, walks, (4,), np.random.default_rng(0))
    assert clusters.n_clusters <= 52


@pytest.mark.parametrize("attributes", [True, False])
def test_a_node_without_neighbours_joins_a_similar_one_or_stays_alone(attributes):
    graph, walks = graph_and_walks(attributes=attributes)
    small, large = coarsen(graph, walks, (4, 16), np.random.default_rng(0))
    alone = np.flatnonzero(graph.degrees == 0)
    assert len(alone) >= 5
    for clusters in (small, large):
        assert (np.bincount(clusters.of)[clusters.of[alone]] > 1).all() == attributes
    if attributes:
        nodes, lengths = draw_walks(walks, alone)
        assert (lengths > 1).all()
        assert (large.of[alone] == large.of[nodes[:, 1]]).any()


def test_walks_of_clusters_are_walks_of_their_nodes_in_turn():
    graph, walks = graph_and_walks(attributes=False)
    (clusters,) = coarsen(graph, walks, (4,), np.random.default_rng(0))
    coarse = coarse_walks(walks, clusters, walks.walker.key)
    c = clusters.n_clusters
    nodes, lengths = draw_walks(coarse, np.arange(7 * c))
    seen = []
    for cluster in range(c):
        members = np.flatnonzero(clusters.of == cluster)
        for turn in range(7):
            again, place = divmod(turn, len(members))
            own = again * 80 + members[place]
            seen.append(own)
            fine, length = draw_walks(walks, np.array([own]))
            assert lengths[turn * c + cluster] == length[0]
            expected = clusters.of[fine[0, : length[0]]]
            assert nodes[turn * c + cluster, : length[0]].tolist() == expected.tolist()
    assert len(set(seen)) == 7 * c  # no walk twice


def test_points_start_close_to_those_of_their_cluster():
    points = np.repeat([[3.0, -4.0, np.sqrt(26.0)]], 5, axis=0)
    moved = spread(points, np.repeat(np.arange(5), 10), 1e-3, np.random.default_rng(0))
    check_points(moved)
    assert (distance(moved, points[0]) < 2e-3).all()
    assert len(np.unique(moved[:, 0])) == 50


def test_small_graphs_and_given_points_and_hierarchies_start_without(coarse_start):
    assert [level.most for level in levels_of(99)] == [1]
    assert [level.most for level in levels_of(100)] == [16, 4, 1]
    assert "coarse" not in HEAT(**OPTIONS).fit(make_graph(), start=coarse_start.embedding_).training_
    child, parent = np.arange(1, 150), np.arange(1, 150) // 2
    ends = sparse.csr_array((np.ones(149), (child, parent)), shape=(150, 150))
    tree = Graph(ends, relationships=Relationships.from_pairs({"UNDER": (child, parent)}))
    assert "coarse" not in HEAT(3, hierarchy="UNDER", random_state=0).fit(tree).training_


@pytest.fixture(scope="module")
def coarse_start():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse_graph, "COARSE_NODES", 100)
        return HEAT(**OPTIONS, n_threads=1).fit(make_graph())


def test_what_coarse_graphs_took_is_recorded(coarse_start):
    first, second = coarse_start.training_["coarse"]
    assert first["nodes"] < second["nodes"] < 150
    assert [first["walks_per_node"], second["walks_per_node"]] == [2, 1]
    assert min(first["pairs"], second["pairs"]) > 0
    assert len(coarse_start.loss_curve_) == 6  # rounds of one walk from each node
    assert coarse_start.n_pairs_ > first["pairs"] + second["pairs"]
    assert "coarse" in coarse_start.training_["seconds"]


@pytest.mark.parametrize(("n_threads", "scratch"), [(2, False), (1, True), (3, True)])
def test_the_same_bits_on_any_number_of_threads_and_over_files(
    coarse_start, tmp_path, n_threads, scratch, eight_processors
):
    model = HEAT(**OPTIONS, n_threads=n_threads, scratch=tmp_path if scratch else None).fit(make_graph())
    assert_same(model, coarse_start)
    assert model.training_["coarse"] == coarse_start.training_["coarse"]
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_is_killed_in_a_coarse_graph_goes_on_with_the_same_bits(coarse_start, tmp_path):
    saves = []

    def die(path):
        saves.append(path)
        if path.suffix == ".npy" and path.parent.name == "round3":
            raise Killed

    with before_each("os.rename", die), pytest.raises(Killed):
        HEAT(**OPTIONS, n_threads=1, scratch=tmp_path).fit(make_graph())
    assert saves[-1].parts[-4:-1] == ("coarse0", "attempt0", "round3")
    again = []
    with before_each("os.rename", again.append):
        model = HEAT(**OPTIONS, n_threads=1, scratch=tmp_path).fit(make_graph())
    assert_same(model, coarse_start)
    assert not any(path.parts[-3:-1] == ("coarse0", "clusters") for path in again)
    assert list(tmp_path.iterdir()) == []


def test_a_graph_whose_coarse_graphs_have_no_pairs_is_trained_all_the_same():
    ends = np.arange(0, 200, 2), np.arange(1, 200, 2)
    pairs = sparse.csr_array((np.ones(100), ends), shape=(200, 200))
    model = HEAT(**OPTIONS).fit(pairs)
    assert [level["pairs"] for level in model.training_["coarse"]] == [0, 0]
    near = distance(model.embedding_[ends[0]], model.embedding_[ends[1]])
    assert near.mean() < distance(model.embedding_[ends[0]], model.embedding_[ends[1][::-1]]).mean()


def test_a_time_limit_holds_for_coarse_graphs_too():
    options = {**OPTIONS, "n_epochs": 1000, "time_limit": 1.0}
    model = HEAT(**options).fit(make_graph())
    assert 0 < model.training_["trained_share"] < 1
    assert all(0 < level["trained_share"] < 1 for level in model.training_["coarse"])


@pytest.mark.slow
def test_the_same_bits_on_a_cluster(coarse_start, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with scheduler(tmp_path) as (_, file), worker(file), worker(file), connected(file, 2) as client:
        model = HEAT(**OPTIONS, scratch=scratch, scheduler=client.scheduler.address).fit(make_graph())
    assert_same(model, coarse_start)
    assert list(scratch.iterdir()) == []
