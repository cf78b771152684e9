"""Links of a fitted model without a database: what ranks them, how likely pairs are, why, and their table."""

from __future__ import annotations

import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import heat_neo4j.heat as module
from heat_neo4j import HEAT, Graph, as_graph
from heat_neo4j.graph import Relationships
from heat_neo4j.linkpred.calibration import CalibrationError
from heat_neo4j.linkpred.candidates import candidate_pairs, patterns_of
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from heat_neo4j.patterns import Pattern

SMALL = {"n_components": 3, "walks_per_node": 3, "walk_length": 10, "random_state": 5, "n_threads": 1}
USERS, ITEMS = 30, 20
N = USERS + ITEMS
LIKED, BOUGHT, FOLLOWS = (
    Pattern("User", "LIKED", "Item"),
    Pattern("User", "BOUGHT", "Item"),
    Pattern("User", "FOLLOWS", "User"),
)


@pytest.fixture(scope="module")
def model() -> HEAT:
    """Users of two tastes who follow each other, like items and buy some of them."""
    rng = np.random.default_rng(2)
    taste = rng.integers(0, 2, N)
    there = rng.random((N, N)) < np.where(taste[:, None] == taste, 0.35, 0.04)
    np.fill_diagonal(there, False)
    liked, bought, follows = (np.zeros((N, N), bool) for _ in range(3))
    liked[:USERS, USERS:] = there[:USERS, USERS:]
    bought[:USERS, USERS:] = there[:USERS, USERS:] & (rng.random((USERS, ITEMS)) < 0.5)
    follows[:USERS, :USERS] = there[:USERS, :USERS]
    is_user = np.arange(N) < USERS
    graph = Graph(
        sparse.csr_array((liked | follows).astype(float)),
        labels={"User": is_user, "Item": ~is_user},
        relationships=Relationships.from_pairs(
            {"LIKED": liked.nonzero(), "BOUGHT": bought.nonzero(), "FOLLOWS": follows.nonzero()}
        ),
        keys=[f"u{row}" if row < USERS else f"i{row - USERS}" for row in range(N)],
    )
    return HEAT(**SMALL).fit(graph)


def likeliest(model: HEAT, pair: tuple[str, str]) -> tuple[float, str]:
    """Return the probability and the type of the likeliest link of a pair, by each pattern's own scorer."""
    graph, rows = model.graph_, [model.graph_.names.index(name) for name in pair]
    scorers = model.link_score_.scorers(model.embedding_, graph)
    chances = {}
    for pattern in patterns_of(graph):
        if graph.labels[pattern.source][rows[0]] and graph.labels[pattern.target][rows[1]]:
            scorer = scorers(pattern)
            chances[pattern.type] = float(scorer.probability(scorer.pairs(np.array([rows])))[0])
    best = max(chances, key=lambda kind: chances[kind])
    return chances[best], best


def test_links_are_ranked_by_a_score_that_is_fitted_once(
    model: HEAT, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = model.predict_links(k=3)
    plain = predict_links(model, model.graph_, 3, score=fit_link_score(model, model.graph_))
    np.testing.assert_array_equal(links.probability, plain.probability)
    assert links.score is model.link_score_
    monkeypatch.setattr(module, "fit_link_score", None)
    assert model.predict_links(k=2).score is links.score
    again = pickle.loads(pickle.dumps(model))
    assert again.link_score_ == model.link_score_
    pair = [("u0", "i0")]
    assert again.score_pairs(pair) == model.score_pairs(pair)
    nearest = model.predict_links(k=3, score="distance")
    assert nearest.probability is None
    np.testing.assert_array_equal(nearest.source, predict_links(model, model.graph_, 3).source)


def test_another_fit_forgets_the_score() -> None:
    again = HEAT(**SMALL).fit(nx.les_miserables_graph())
    first = again.score_pairs([("Valjean", "Joly")])
    assert "link_score_" in vars(again)
    again.fit(nx.connected_caveman_graph(12, 5))
    assert "link_score_" not in vars(again)
    assert again.score_pairs([(0, 1)]).shape == first.shape == (1,)


def test_a_graph_of_few_edges_gives_the_nearest_and_a_warning() -> None:
    ring = nx.cycle_graph(34)
    few = HEAT(**SMALL).fit(ring)
    with pytest.warns(UserWarning, match="no link score: only 7 edges .* the nearest come first"):
        links = few.predict_links(k=3)
    assert links.probability is None
    with pytest.warns(UserWarning, match="the nearest come first"):
        found = few.recommend(3, k=4)
    distances, nodes = few.kneighbors([3], 33)
    absent = [place for place, node in enumerate(nodes[0]) if not ring.has_edge(3, node)]
    np.testing.assert_allclose(found.distance, distances[0][absent[:4]])
    for ask in (lambda: few.score_pairs([(0, 1)]), lambda: few.explain(0, 9)):
        with pytest.raises(CalibrationError, match="at least 10 of each are needed"):
            ask()


def test_a_pair_is_as_likely_as_its_likeliest_type(model: HEAT) -> None:
    pairs = [("u0", "i3"), ("u0", "i2"), ("u1", "u3"), ("u29", "i18")]
    chances, log_odds = model.score_pairs(pairs, return_log_odds=True)
    for pair, chance, odds in zip(pairs, chances, log_odds, strict=True):
        expected, kind = likeliest(model, pair)
        assert chance == pytest.approx(expected, rel=1e-12)
        of_type = model.score_pairs([pair], pattern=("*", kind, "*"), return_log_odds=True)
        assert of_type == (pytest.approx(chance), pytest.approx(odds))
        why = model.explain(*pair)
        assert why.pattern is not None
        assert (why.pattern.type, why.probability) == (kind, pytest.approx(chance))
        assert why.log_odds == pytest.approx(odds)
        for other, chance_of_other in why.alternatives:
            assert chance_of_other <= why.probability
            assert chance_of_other == pytest.approx(float(model.score_pairs([pair], pattern=other)[0]))
            again = model.explain(*pair, pattern=str(other))
            assert (again.pattern, again.alternatives) == (other, ())
    assert [len(model.explain(*pair).alternatives) for pair in pairs] == [1, 1, 0, 1]
    frame = pd.DataFrame(pairs, columns=["from", "to"])
    np.testing.assert_array_equal(model.score_pairs(frame), chances)
    np.testing.assert_array_equal(model.score_pairs(frame.to_numpy()), chances)
    assert np.isnan(model.score_pairs([("i0", "u0"), ("u0", "u0")])).all()  # no pattern, the same node
    assert model.score_pairs([]).shape == (0,)
    assert np.isnan(model.score_pairs([("u0", "i0")], pattern="*-FOLLOWS->*")).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_recommendations_are_the_likeliest_of_all_that_are_not_joined(model: HEAT, reverse: bool) -> None:
    node, other = ("i3", "source") if reverse else ("u3", "target")
    found = model.recommend(node, k=4, patterns=["User-LIKED->Item"], reverse=reverse)
    table = found.to_frame("pandas")
    assert set(table["target" if reverse else "source"]) == {node}
    candidates = candidate_pairs(model.graph_, LIKED)
    row = np.array([model.graph_.names.index(node)])
    others = candidates.sources if reverse else candidates.targets
    absent = others[candidates.allowed(row, others, reverse=reverse)[0]]
    names = [model.graph_.names[each] for each in absent]
    pairs = [(name, node) if reverse else (node, name) for name in names]
    odds = model.score_pairs(pairs, pattern="*-LIKED->*", return_log_odds=True)[1]
    assert table[other].tolist() == [names[place] for place in np.argsort(-odds, kind="stable")[:4]]
    np.testing.assert_array_equal(table["probability"], -np.sort(-table["probability"]))


def test_recommendations_are_of_all_patterns_that_the_labels_allow(model: HEAT) -> None:
    found = model.recommend("u3", k=2)
    assert sorted(found.types) == sorted(2 * ["LIKED", "BOUGHT", "FOLLOWS"])
    assert (np.diff(found.probability) <= 0).all()
    assert {each.type for each in model.recommend("i3", k=2, reverse=True).patterns} == {"LIKED", "BOUGHT"}
    assert not len(model.recommend("u3", k=2, min_degree=model.graph_.n_nodes))


def test_nodes_with_all_the_links_allowed_are_not_recommended() -> None:
    films = pd.DataFrame({"source": [f"f{i}" for i in range(90)], "target": [f"d{i % 9}" for i in range(90)]})
    labels = pd.DataFrame({"id": [*films["source"], *sorted(set(films["target"]))]})
    labels["label"] = ["Film" if name.startswith("f") else "Director" for name in labels["id"]]
    graph = as_graph(films.assign(type="DIRECTED_BY"), attributes=labels, label="label")
    made = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(graph)
    assert not len(made.recommend("d1", reverse=True).to_frame("pandas"))
    assert len(made.recommend("d1", reverse=True, rules=False).to_frame("pandas"))
    assert len(made.recommend("f1", k=3).to_frame("pandas")) == 3  # a director may have more films
    both = pd.concat([films, films.assign(target=[f"d{(7 * i + 1) % 9}" for i in range(90)])])
    made.fit(as_graph(both.assign(type="DIRECTED_BY"), attributes=labels, label="label"))
    assert len(made.recommend("d1", reverse=True).to_frame("pandas"))  # each film has two of them


def test_an_explanation_has_names_and_adds_up(model: HEAT) -> None:
    why = model.explain("u0", "i3", pattern="*-BOUGHT->*")
    frame = why.to_frame("pandas")
    assert frame["log_odds"].sum() == pytest.approx(why.log_odds)
    told = why.to_dict()
    assert (told["source"]["name"], told["target"]["name"], told["pattern"]) == ("u0", "i3", str(BOUGHT))
    low, high = told["interval"]
    assert 0.0 <= low <= told["probability"] <= high <= 1.0
    assert low < high
    assert {name for way in told["paths_of_three"]["first"] for name in way["nodes"]} <= set(model.nodes_)
    assert repr(why).startswith("LinkExplanation(u0 -BOUGHT-> i3: probability ")
    assert "common neighbours" in why._repr_html_()


def test_questions_about_a_graph_without_types() -> None:
    books = HEAT(**SMALL).fit(nx.les_miserables_graph())
    why = books.explain("Brujon", "Joly").to_dict()
    assert why["pattern"] is None
    assert why["shared_neighbours"]["first"][0] == {
        "nodes": ["Gavroche"], "steps": [["--"], ["--"]], "degrees": [22],
    }  # fmt: skip
    assert books.explain("Valjean", "Javert").to_dict()["joined"] == ["--"]
    assert repr(books.recommend("Joly", k=3)) == "PredictedLinks(3 links)"
    chance, back = books.score_pairs([("Brujon", "Joly"), ("Joly", "Brujon")])
    assert chance == back
    assert books.explain("Joly", "Brujon").probability == pytest.approx(chance)
    links = books.predict_links(k=2).to_frame("pandas").head(5)
    chances = books.score_pairs(links[["target", "source"]])
    np.testing.assert_allclose(chances, links["probability"])
    for ask in (
        lambda: books.score_pairs([("Brujon", "Joly")], pattern="*-MET->*"),
        lambda: books.recommend("Joly", patterns=["A-R->B"]),
    ):
        with pytest.raises(ValueError, match="patterns need a graph with typed"):
            ask()


@pytest.mark.parametrize(
    ("ask", "error", "line"),
    [
        (lambda model: model.score_pairs([("u0", "i99")]), ValueError, "is named 'i99': did you mean 'i9'"),
        (
            lambda model: model.score_pairs([("u0", "i1")], pattern="*-LIKES->*"),
            ValueError, "did you mean 'LIKED'",
        ),
        (lambda model: model.score_pairs([("u0", "i1", "x")]), ValueError, "a list of pairs of names"),
        (lambda model: model.score_pairs(("u0", "i1")), ValueError, "a list of pairs of names"),
        (lambda model: model.score_pairs([1, 2]), ValueError, "a list of pairs of names"),
        (lambda model: model.recommend("nobody"), ValueError, "no embedded node is named 'nobody'"),
        (lambda model: model.recommend("i0"), ValueError, "'i0' is not the source of any pattern: try"),
        (lambda model: model.recommend("u0", k=0), ValueError, "k must be at least 1"),
        (lambda model: model.explain("u0", "u0"), ValueError, "a link joins two nodes"),
        (lambda model: model.explain("i0", "u0"), ValueError, "leads from 'i0' to 'u0'.*reverse order"),
        (lambda model: model.predict_links(score="near"), ValueError, "link, distance, got 'near'"),
        (lambda model: model.predict_links(min_probability=2), ValueError, r"must lie in \[0, 1\], got 2"),
        (
            lambda model: model.predict_links(score="distance", min_probability=0.1),
            ValueError, "by distance have no probability",
        ),
        (lambda model: HEAT().score_pairs([]), NotFittedError, "not fitted"),
        (lambda model: HEAT().recommend("u0"), NotFittedError, "not fitted"),
        (lambda model: HEAT().explain("u0", "i0"), NotFittedError, "not fitted"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(model: HEAT, ask, error, line: str) -> None:
    with pytest.raises(error, match=line) as refused:
        ask(model)
    assert "\n" not in str(refused.value).split("This HEAT instance")[0]


def test_a_pair_has_one_row_with_its_types_as_columns() -> None:
    links = PredictedLinks(
        source=np.array([0, 3, 0, 0]),
        target=np.array([1, 1, 2, 1]),
        distance=np.array([0.5, 0.25, 1.0, 0.5]),
        probability=np.array([0.9, 0.8, 0.5, 0.1]),
        patterns=(LIKED, BOUGHT),
        pattern=np.array([1, 0, 0, 0]),
        names=["a", "b", "c", "d"],
    )
    frame = links.to_frame("pandas")
    assert list(frame) == [
        "source", "target", "type", "distance", "probability", "rank", "probability_BOUGHT",
        "probability_LIKED",
    ]  # fmt: skip
    assert len(links) == len(frame) == 3
    assert frame["source"].tolist() == ["a", "d", "a"]
    assert frame["type"].tolist() == ["BOUGHT", "LIKED", "LIKED"]
    assert frame["rank"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(frame["probability_BOUGHT"], [0.9, np.nan, np.nan])
    np.testing.assert_array_equal(frame["probability_LIKED"], [0.1, 0.8, 0.5])
    assert repr(links) == "PredictedLinks(3 pairs: 4 links of User-LIKED->Item, User-BOUGHT->Item)"
    assert links.rank.tolist() == [1, 2, 3, 4]
    assert "probability_LIKED" in links._repr_html_()


def test_pairs_of_all_links_of_a_model_are_the_rows(model: HEAT) -> None:
    links = model.predict_links(k=4, min_probability=0.0)
    frame, types = links.to_frame("pandas"), sorted(set(links.types))
    assert len(frame) == len(set(zip(links.source.tolist(), links.target.tolist(), strict=True)))
    assert len(frame) < len(links.source)
    assert frame[[f"probability_{kind}" for kind in types]].notna().sum().sum() == len(links.source)
    best = frame[[f"probability_{kind}" for kind in types]].max(axis=1)
    np.testing.assert_array_equal(frame["probability"], best)
    shown = links._columns(10)
    for name in frame:
        np.testing.assert_array_equal(np.asarray(shown[name]), frame[name].to_numpy()[:10])


def test_links_below_the_least_probability_are_left_out_with_a_note(model: HEAT) -> None:
    whole = model.predict_links(k=4, min_probability=0.0)
    least = float(np.quantile(whole.probability, 0.6))
    likely = model.predict_links(k=4, min_probability=least)
    kept = whole.probability >= least
    np.testing.assert_array_equal(likely.probability, whole.probability[kept])
    np.testing.assert_array_equal(likely.target, whole.target[kept])
    (note,) = (each for each in likely.notes if "left out" in each)
    left_out = f"links with a probability below `min_probability`, {least:g}, are left out"
    assert note == f"{left_out}; none remain for User-LIKED->Item"
    assert (likely.search["min_probability"], whole.search["min_probability"]) == (least, 0.0)
    none = predict_links(model, model.graph_, 4, min_probability=0.1)
    assert (len(none), none.probability) == (0, None)
    assert "no link is predicted: none has a probability" in none.notes[0]


def test_schema_rules_may_be_left_out() -> None:
    film, director = np.arange(60), 60 + np.arange(60) % 20
    rng = np.random.default_rng(0)
    near = (film, (film + rng.integers(1, 4, 60)) % 60)
    graph = Graph(
        sparse.csr_array((np.ones(120), (np.append(director, near[0]), np.append(film, near[1]))), (80, 80)),
        labels={"Director": np.arange(80) >= 60, "Film": np.arange(80) < 60},
        relationships=Relationships.from_pairs({"DIRECTED": (director, film), "LIKE": near}),
    )
    points = HEAT(**SMALL).fit(graph).embedding_
    pattern = ["Director-DIRECTED->Film"]
    ruled, free = (predict_links(points, graph, 3, patterns=pattern, rules=rules) for rules in (True, False))
    assert len(ruled) == 0
    assert "each Film has at most one incoming DIRECTED" in ruled.notes[0]
    assert 0 < len(free) <= 60
    assert not free.notes
    assert (ruled.search["rules"], free.search["rules"]) == (True, False)
    undirected = Graph(graph.adjacency)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            *(predict_links(points, undirected, 3, rules=rules).target for rules in (True, False))
        )
