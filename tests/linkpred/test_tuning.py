"""Parameters chosen on held-out edges: the order of the search, its budget, and what it never sees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred import tuning
from heat_neo4j.linkpred.tuning import GRIDS, TuningError, choose_parameters


def communities(attributes: str = "telling", seed: int = 0) -> Graph:
    """Return 4 communities of 40 nodes; attributes tell the community, tell nothing, or are missing."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(4), 40)
    chance = np.where(group[:, None] == group, 0.15, 0.005)
    upper = np.triu(rng.random((160, 160)) < chance, k=1)
    shown = {"telling": np.eye(4)[group], "random": np.eye(4)[rng.permutation(group)], "none": None}
    return Graph(adjacency=sparse.csr_array(upper.astype(float)), attributes=shown[attributes])


MODEL = HEAT(4, walks_per_node=5, walk_length=20, random_state=0, n_threads=1)


def test_nothing_is_tried_without_attributes() -> None:
    choice = choose_parameters(MODEL, communities("none"))
    assert choice.parameters == {"alpha": 0.0}
    assert choice.trials == ()
    assert choice.complete


def test_halving_gives_more_walks_to_the_better_half() -> None:
    told: list[tuple[str, int, int]] = []
    choice = choose_parameters(MODEL, communities(), on_progress=lambda *args: told.append(args))
    by_walks = {walks: [t for t in choice.trials if t.walks_per_node == walks] for walks in (1, 2, 5)}
    assert [len(trials) for trials in by_walks.values()] == [7, 3, 2]
    assert sum(map(len, by_walks.values())) == len(choice.trials)
    for few, more in ((1, 2), (2, 5)):
        best = sorted(by_walks[few], key=lambda t: -t.auroc)[: len(by_walks[more])]
        assert {t.parameters["alpha"] for t in best} == {t.parameters["alpha"] for t in by_walks[more]}
    assert choice.parameters == max(by_walks[5], key=lambda t: t.auroc).parameters
    assert choice.n_non_edges == 10 * choice.n_edges
    assert told[0] == ("choose alpha", 0, 12)
    assert told[-1] == ("choose alpha", 12, 12)


def test_telling_attributes_are_used_and_random_ones_are_not() -> None:
    assert choose_parameters(MODEL, communities("telling")).parameters["alpha"] > 0
    assert choose_parameters(MODEL, communities("random")).parameters["alpha"] < 0.5


def test_the_same_seed_gives_the_same_choice_and_the_model_is_left_alone() -> None:
    model = clone(MODEL)
    first, second = (choose_parameters(model, communities(), ("alpha", "sigma")) for _ in range(2))
    assert first.parameters == second.parameters
    assert [t.auroc for t in first.trials] == [t.auroc for t in second.trials]
    assert model.get_params() == MODEL.get_params()
    assert not hasattr(model, "embedding_")
    assert set(first.parameters) == {"alpha", "sigma"}


def test_a_spent_budget_ends_the_search_after_one_training() -> None:
    choice = choose_parameters(MODEL, communities(), budget_seconds=1e-9)
    assert len(choice.trials) == 1
    assert choice.parameters == {"alpha": MODEL.alpha}
    assert not choice.complete
    assert choice.budget_seconds == 1e-9


def test_held_out_edges_never_reach_training(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, seen = communities(), []

    class Spy(HEAT):
        def fit(self, graph: Graph, y: None = None, **rest: object) -> HEAT:
            seen.append(graph)
            return super().fit(graph, y)

    splits = []
    original = tuning.split_edges
    monkeypatch.setattr(tuning, "split_edges", lambda *a, **k: splits.append(original(*a, **k)) or splits[-1])
    choose_parameters(Spy(**MODEL.get_params()), graph)
    assert len(splits) == 1
    held_out = splits[0].test_edges
    assert len(held_out) > 30
    for given in seen:
        assert np.asarray(given.adjacency[held_out[:, 0], held_out[:, 1]]).max() == 0
        assert given.n_edges == graph.n_edges - len(held_out)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"names": ["walk_length"]}, "'walk_length' cannot be chosen; these can: alpha, window_size,"),
        ({"budget_seconds": 0.0}, "budget_seconds must be above 0, got 0.0"),
        ({"share": 1.5}, "no parameter can be chosen: share must lie between 0 and 1, got 1.5"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError, match=line.replace("(", r"\(")):
        choose_parameters(MODEL, communities(), **arguments)


def test_too_small_a_graph_is_said_so() -> None:
    path = sparse.csr_array((np.ones(50), (np.arange(50), np.arange(1, 51))), shape=(51, 51))
    attributes = np.random.default_rng(0).normal(size=(51, 3))
    with pytest.raises(
        TuningError, match=r"edges can be held out while every node keeps one|can be held out"
    ):
        choose_parameters(MODEL, Graph(adjacency=path, attributes=attributes))


def test_every_grid_holds_the_default() -> None:
    defaults = HEAT().get_params()
    assert all(defaults[name] in values for name, values in GRIDS.items())
