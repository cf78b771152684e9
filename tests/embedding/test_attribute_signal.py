"""What each attribute tells of links, against a slow twin and on attributes whose worth is known."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from heat_neo4j import HEAT
from heat_neo4j.embedding.attribute_signal import attribute_signals, informative_attributes, teleports
from heat_neo4j.graph import Graph, Provenance

GROUPS, SIZE = 6, 40
N = GROUPS * SIZE
GROUP = np.arange(N) % GROUPS


def grouped(attributes: dict[str, np.ndarray], labels=None, seed=0, **more) -> Graph:
    """Return a graph whose nodes link within their group, and attributes by name."""
    rng = np.random.default_rng(seed)
    there = np.triu(rng.random((N, N)) < np.where(GROUP[:, None] == GROUP, 0.4, 0.02), 1)
    recipe = [
        {"property": name, "kind": "point", "mean": [0.0], "n_columns": values.shape[1], **more}
        for name, values in attributes.items()
    ]
    return Graph(
        sparse.csr_array((there | there.T).astype(float)),
        attributes=np.column_stack(list(attributes.values())),
        labels=labels or {},
        provenance=Provenance(attribute_recipe=recipe),
    )


def kind() -> np.ndarray:
    """Return a column for each group, of which a third of the nodes have another's."""
    rng = np.random.default_rng(1)
    seen = np.where(rng.random(N) < 1 / 3, rng.integers(0, GROUPS, N), GROUP)
    return np.eye(GROUPS)[seen]


def noise(columns: int = 2) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(N, columns))


def test_an_auroc_is_that_of_all_cosines() -> None:
    graph = grouped({"kind": kind(), "noise": noise()})
    for signal, columns in zip(attribute_signals(graph), (slice(0, 6), slice(6, 8)), strict=True):
        z = StandardScaler().fit_transform(np.asarray(graph.attributes)[:, columns])
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        linked = graph.adjacency.toarray() > 0
        upper = np.triu_indices(N, 1)
        # Shuffling keeps degrees: pairs weigh as their degrees' product.
        degrees = linked.sum(axis=1).astype(float)
        weight = np.where(linked, 0.0, np.outer(degrees, degrees))
        cosine = z @ z.T
        truth = np.append(np.ones(len(upper[0])), np.zeros(len(upper[0])))
        weights = np.append(linked[upper], weight[upper])
        expected = roc_auc_score(truth, np.tile(np.round(cosine[upper], 9), 2), sample_weight=weights)
        assert signal.low - 0.02 < expected < signal.high + 0.02


def test_what_tells_is_kept_and_noise_is_not() -> None:
    graph = grouped({"kind": kind(), "noise": noise(), "size": noise(1)})
    found = {signal.name: signal for signal in attribute_signals(graph)}
    assert {name for name, signal in found.items() if signal.is_informative} == {"kind"}
    assert found["kind"].auroc > 0.6
    kept = informative_attributes(graph, tuple(found.values()))
    np.testing.assert_array_equal(kept.attributes, kind())
    assert [entry["property"] for entry in kept.provenance.attribute_recipe] == ["kind"]


def test_noise_only_joins_the_pieces_of_a_graph() -> None:
    whole = grouped({"noise": noise()})
    apart = replace(whole, adjacency=sparse.csr_array(whole.adjacency.multiply(np.equal.outer(GROUP, GROUP))))
    assert (teleports(whole, "auto").alpha, teleports(apart, "auto").alpha) == (0.0, 0.05)
    assert teleports(apart, "auto").graph.n_attributes == 2
    assert teleports(replace(apart, attributes=None), "auto").alpha == 0.0
    informative = replace(grouped({"kind": kind()}), adjacency=apart.adjacency)
    assert teleports(informative, "auto").alpha == 0.2


def test_degrees_alone_tell_nothing() -> None:
    rng = np.random.default_rng(5)
    weight = rng.pareto(1.5, N) + 0.2
    there = np.triu(rng.random((N, N)) < np.minimum(np.outer(weight, weight) * 0.05, 1.0), 1)
    graph = replace(
        grouped({"degree": noise(1)}), adjacency=sparse.csr_array((there | there.T).astype(float))
    )
    graph = replace(graph, attributes=np.log1p(graph.degrees)[:, None].astype(float))
    (signal,) = attribute_signals(graph)
    assert signal.n_pairs > 1_000
    assert abs(signal.auroc - 0.5) < 0.06


def test_attributes_of_one_side_count_by_the_neighbours_in_common() -> None:
    user = np.arange(N) < N // 2
    rng = np.random.default_rng(3)
    likes = (rng.random((N, N)) < np.where(GROUP[:, None] == GROUP, 0.5, 0.02)) & user[:, None] & ~user
    age = np.where(user, GROUP + rng.normal(scale=0.5, size=N), 0.0)[:, None]
    luck = np.where(user, rng.normal(size=N), 0.0)[:, None]
    graph = grouped({"age": age, "luck": luck}, labels={"User": user, "Film": ~user}, label="User")
    graph = replace(graph, adjacency=sparse.csr_array((likes | likes.T).astype(float)))
    found = attribute_signals(graph)
    assert [signal.is_informative for signal in found] == [True, False]


def test_nodes_without_a_value_do_not_count() -> None:
    """Values are missing in two of three groups, so that who has one says all, and what it is nothing."""
    has = np.isin(GROUP, (0, 3))
    values = np.column_stack((np.where(has, noise(1)[:, 0], 0.0), ~has)).astype(float)
    (signal,) = attribute_signals(grouped({"luck": values}, missing=True))
    assert not signal.is_informative
    words = np.where(has[:, None], np.eye(5)[np.random.default_rng(4).integers(0, 5, N)], 0.0)
    (signal,) = attribute_signals(Graph(grouped({"kind": kind()}).adjacency, attributes=words))
    assert not signal.is_informative


def test_of_few_pairs_only_a_strong_signal_counts() -> None:
    cliques = sparse.block_diag([np.ones((5, 5)) - np.eye(5)] * 6, format="csr")
    strong = np.eye(6)[np.repeat(range(6), 5)]
    (signal,) = attribute_signals(Graph(sparse.csr_array(cliques), attributes=strong))
    assert (signal.name, signal.n_pairs, signal.is_informative) == ("attributes", 60, True)
    (signal,) = attribute_signals(Graph(sparse.csr_array(cliques), attributes=noise()[:30]))
    assert not signal.is_informative


def test_a_graph_without_edges_or_attributes_has_no_signal() -> None:
    nothing = sparse.csr_array((4, 4))
    assert attribute_signals(Graph(nothing, attributes=noise()[:4])) == ()
    assert attribute_signals(replace(grouped({"kind": kind()}), attributes=None)) == ()


def test_wide_rows_are_compared_by_fewer_pairs() -> None:
    graph = grouped({"kind": kind()})
    assert 100 < attribute_signals(graph, numbers=2_000)[0].n_pairs < graph.adjacency.nnz // 2
    # Only in the first half of the cliques do nodes share a value: the sample must not be of these alone.
    cliques = sparse.csr_array(sparse.block_diag([np.ones((20, 20)) - np.eye(20)] * 12))
    clique = np.repeat(range(12), 20)
    values = np.where(clique < 6, clique, np.random.default_rng(6).integers(0, 6, 240))
    halves = Graph(cliques, attributes=np.eye(6)[values])
    (few,), (every,) = attribute_signals(halves, numbers=600), attribute_signals(halves)
    assert few.n_pairs < every.n_pairs / 2
    assert few.low < every.auroc < few.high


def test_noise_changes_no_bit_of_an_embedding() -> None:
    model = HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=1)
    alone = model.fit(grouped({"kind": kind()})).embedding_
    assert model.alpha_ == 0.2
    both = model.fit(grouped({"kind": kind(), "noise": noise()})).embedding_
    np.testing.assert_array_equal(both, alone)
    assert [each["used"] for each in model.training_["attributes"]] == [True, False]
    model.fit(grouped({"noise": noise()}))
    assert model.alpha_ == 0.0
    given = model.set_params(alpha=0.2).fit(grouped({"kind": kind(), "noise": noise()})).embedding_
    assert not np.array_equal(given, alone)
    assert model.alpha_ == 0.2
