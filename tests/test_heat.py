"""`HEAT` as its users call it: names, neighbours, new nodes, data frames, scikit-learn."""

import pickle
import sys

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from heat_neo4j import HEAT, Graph, as_graph
from heat_neo4j._utils.progress import ProgressBars
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import distance, radius, to_poincare
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.prediction import predict_links

KARATE = nx.relabel_nodes(nx.karate_club_graph(), "member {}".format)
SMALL = {"n_components": 3, "walks_per_node": 3, "walk_length": 10, "random_state": 5, "n_threads": 1}


@pytest.fixture(scope="module")
def model():
    return HEAT(**SMALL).fit(KARATE)


def test_coordinates_of_a_networkx_graph_by_name_take_three_lines():
    # what the documentation promises
    import networkx as nx

    from heat_neo4j import HEAT

    frame = HEAT(random_state=0).fit(nx.les_miserables_graph()).to_frame()
    assert list(frame.columns) == [*(f"heat{i}" for i in range(10)), "radius"]
    assert frame.index.name == "node"
    assert 0 < frame.loc["Valjean", "radius"] < frame.loc["Gribier", "radius"]


def test_neighbours_are_those_of_a_scan_by_name(model):
    names, points = model.nodes_, model.embedding_
    for asked in (None, ["member 7", "member 0", "member 7"]):
        distances, neighbours = model.kneighbors(asked, n_neighbors=4)
        rows = range(len(names)) if asked is None else [list(names).index(name) for name in asked]
        for row, found, apart in zip(rows, neighbours, distances, strict=True):
            scanned = distance(points[row], points)
            scanned[row] = np.inf
            nearest = np.argsort(scanned, kind="stable")[:4]
            assert found.tolist() == names[nearest].tolist()
            assert np.allclose(apart, scanned[nearest])
        assert np.array_equal(model.kneighbors(asked, 4, return_distance=False), neighbours)
    assert model.kneighbors(["member 0"], n_neighbors=99)[1].shape == (1, len(names) - 1)


def test_distances_are_those_of_the_points_by_name(model):
    names, points = model.nodes_.tolist(), model.embedding_
    apart = model.distance("member 3", "member 9")
    assert isinstance(apart, float)
    assert apart == distance(points[names.index("member 3")], points[names.index("member 9")])
    others = ["member 9", "member 3"]
    assert model.distance("member 3", others).tolist() == [apart, 0.0]
    assert model.distance(np.array(others), others[::-1]).tolist() == [apart, apart]
    in_pairs = HEAT.from_points(nx.relabel_nodes(nx.path_graph(3), lambda row: (row, "b")), points[:3])
    assert in_pairs.distance((0, "b"), (1, "b")) == distance(points[0], points[1])


def test_neighbours_of_points_are_those_of_a_scan(model):
    grown = nx.Graph(KARATE)
    grown.add_edges_from([("new", "member 33"), ("newer", "new")])
    points = model.transform(grown)[-2:]
    distances, neighbours = model.kneighbors(points, n_neighbors=5)
    for point, apart, found in zip(points, distances, neighbours, strict=True):
        scanned = distance(point, model.embedding_)
        nearest = np.argsort(scanned, kind="stable")[:5]
        assert found.tolist() == model.nodes_[nearest].tolist()
        assert np.allclose(apart, scanned[nearest])
    frame = clone(model).set_output(transform="pandas").fit(KARATE).transform(grown)
    assert np.array_equal(model.kneighbors(frame.tail(2), 5, return_distance=False), neighbours)
    distances, neighbours = model.kneighbors(model.embedding_[:1], n_neighbors=99)
    assert (distances[0, 0], neighbours[0, 0]) == (0.0, "member 0")
    assert neighbours.shape == (1, len(model.nodes_))


def test_embedded_nodes_keep_their_points_and_new_ones_lie_near_their_neighbours(model):
    assert np.array_equal(model.transform(KARATE), model.embedding_)
    grown = KARATE.copy()
    grown.add_edges_from([("new", "member 33"), ("new", "member 32"), ("newer", "new")])
    some = nx.Graph(grown.subgraph(["newer", "new", "member 32", "member 33", "member 30"]))
    for graph in (grown, some):
        points = model.transform(graph)
        places = {name: place for place, name in enumerate(graph.nodes)}
        for row, name in enumerate(model.nodes_):
            if name in places:
                assert np.array_equal(points[places[name]], model.embedding_[row])
        assert np.array_equal(points, model.transform(graph))
        apart = distance(points[places["new"]], points[places["member 33"]])
        assert apart < np.median(distance(points[places["new"]], model.embedding_))


def test_attributes_of_new_nodes_are_encoded_as_those_that_were_embedded():
    graph = nx.Graph(KARATE)
    club = ["year", "club"]
    for place, node in enumerate(graph):
        graph.nodes[node]["year"] = place
    fitted = HEAT(**SMALL).fit(graph, attributes=club)
    graph.add_node("new", year=3, club="of another city")
    assert fitted.transform(graph, attributes=club).shape == (35, 4)
    with pytest.raises(ValueError, match="0 attributes, the embedded one 3"):
        fitted.transform(graph)


def test_the_score_is_the_auroc_of_edges_against_pairs_of_neither_graph(model):
    apart = distance(model.embedding_[:, None], model.embedding_[None])
    joined = nx.to_numpy_array(KARATE, weight=None) > 0
    upper = np.triu(np.ones_like(joined), k=1)
    exact = auroc(-apart[joined & upper], -apart[~joined & upper])
    assert model.score() == pytest.approx(exact, abs=0.05)
    assert model.score() == model.score(KARATE)
    held_out = nx.Graph([("member 0", "member 9"), ("member 25", "member 11")])
    assert 0.0 <= model.score(held_out) <= 1.0
    flipped = HEAT.from_points(KARATE, model.embedding_[::-1].copy(), random_state=5)
    assert flipped.score() < model.score()


def test_links_are_those_of_predict_links_by_name(model):
    links = model.predict_links(k=3, score="distance")
    plain = predict_links(model, model.graph_, 3)
    assert np.array_equal(links.source, plain.source)
    frame = links.to_frame()
    assert list(frame.columns) == ["source", "target", "distance", "rank"]
    assert frame["source"].tolist() == model.nodes_[links.source].tolist()
    assert not any(KARATE.has_edge(u, v) for u, v in zip(frame["source"], frame["target"], strict=True))
    books = nx.les_miserables_graph()
    reader = HEAT(**SMALL).fit(books)
    likely = reader.predict_links(k=3)
    score = fit_link_score(reader, reader.graph_)
    by_score = predict_links(reader, reader.graph_, 3, score=score)
    assert np.array_equal(likely.probability, by_score.probability)
    assert "probability" in likely.to_frame("polars").columns


def test_data_frames_have_the_coordinates_that_were_asked_for(model):
    frame = model.to_frame()
    assert frame.index.tolist() == model.nodes_.tolist()
    assert np.array_equal(frame.drop(columns="radius").to_numpy(), to_poincare(model.embedding_))
    assert np.array_equal(frame["radius"], radius(model.embedding_))
    exact = model.to_frame("hyperboloid", backend="polars")
    assert isinstance(exact, pl.DataFrame)
    assert exact.columns == ["node", "heat0", "heat1", "heat2", "heat3", "radius"]
    assert np.array_equal(exact.select("^heat.*$").to_numpy(), model.embedding_)


def test_transform_gives_the_output_that_was_set(model):
    framed = clone(model).set_output(transform="pandas").fit(KARATE)
    output = framed.transform(KARATE)
    assert isinstance(output, pd.DataFrame)
    assert output.index.tolist() == model.nodes_.tolist()
    assert list(output.columns) == list(framed.get_feature_names_out())
    assert isinstance(clone(framed).fit_transform(KARATE), pd.DataFrame)
    assert isinstance(framed.set_output(transform="default").transform(KARATE), np.ndarray)
    assert isinstance(framed.set_output(transform="polars").transform(KARATE), pl.DataFrame)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(model.transform(KARATE), pd.DataFrame)
    with pytest.raises(ValueError, match="transform must be default, pandas or polars, got 'csv'"):
        framed.set_output(transform="csv")


def test_it_is_a_step_of_a_pipeline_and_goes_through_pickle(model):
    scaled = make_pipeline(HEAT(**SMALL), StandardScaler()).fit_transform(KARATE)
    assert np.allclose(scaled, StandardScaler().fit_transform(model.embedding_))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.embedding_, model.embedding_)
    assert again.kneighbors(["member 3"])[1].tolist() == model.kneighbors(["member 3"])[1].tolist()


def test_it_is_short_to_read(model):
    assert repr(HEAT(alpha=0.1)) == "HEAT(alpha=0.1)"
    hostile = Graph(model.graph_.adjacency, labels={"<b>": np.ones(34, dtype=bool)})
    assert repr(hostile) == "Graph(34 nodes, 78 edges, 0 attributes)"
    assert "<b>" not in hostile._repr_html_()
    assert "&lt;b&gt;" in hostile._repr_html_()
    named = nx.relabel_nodes(KARATE, "<script>{}".format)
    links = HEAT(**SMALL).fit(named).predict_links(k=10, score="distance")
    assert repr(links).startswith(f"PredictedLinks({len(links)} links")
    assert "<script>" not in links._repr_html_()
    assert "&lt;script&gt;member" in links._repr_html_()


def test_bars_show_the_stages(capsys):
    HEAT(**SMALL).fit(KARATE, on_progress=True)
    shown = capsys.readouterr().err
    assert "train" in shown
    assert "100%" in shown
    HEAT(**SMALL).fit(KARATE)
    assert capsys.readouterr().err == ""
    ProgressBars()("links A\x1b[2J-R->B", 1, 1)  # the name of a label
    assert "\\x1b[2J-R->B" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda model: model.kneighbors(["member 99"]), ValueError, "'member 99': did you mean 'member"),
        (lambda model: model.kneighbors("member 0"), TypeError, "nodes must be a list of names"),
        (lambda model: model.kneighbors(n_neighbors=0), ValueError, "n_neighbors"),
        (lambda model: model.kneighbors(model.embedding_[:, 1:]), ValueError, r"must have shape \(m, 4\)"),
        (lambda model: model.kneighbors(np.ones((1, 4))), ValueError, "row 0 is not on the hyperboloid"),
        (lambda model: model.distance("member 99", "member 1"), ValueError, "did you mean 'member"),
        (lambda model: model.distance(model.nodes_[:2], model.nodes_[:3]), ValueError, "2 nodes and 3 nodes"),
        (lambda model: HEAT().distance(0, 1), NotFittedError, "not fitted"),
        (lambda model: model.transform(nx.path_graph(3)), ValueError, "no node of the graph was embedded"),
        (lambda model: model.score(nx.path_graph(3)), ValueError, "no edge .* were embedded: evaluate_"),
        (lambda model: model.score(nx.empty_graph(["member 0"])), ValueError, "no edge to compare"),
        (lambda model: model.to_frame("polar"), ValueError, "coordinates must be one of poincare"),
        (lambda model: model.to_frame(backend="excel"), ConfigError, "a data frame must be one of pandas"),
        (lambda model: HEAT().kneighbors(), NotFittedError, "not fitted"),
        (lambda model: HEAT().predict_links(), NotFittedError, "not fitted"),
        (lambda model: HEAT().transform(KARATE), NotFittedError, "not fitted"),
        (lambda model: HEAT().to_frame(), NotFittedError, "not fitted"),
        (lambda model: HEAT.from_points(KARATE, model.embedding_[:5]), ValueError, "5 rows for 34 nodes"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(model, call, error, line):
    with pytest.raises(error, match=line):
        call(model)


def test_a_key_of_the_other_type_is_suggested():
    numbered = HEAT(**SMALL).fit(nx.path_graph(12))
    with pytest.raises(ValueError, match="no embedded node is named '11': did you mean 11"):
        numbered.kneighbors(["11"])
    named = HEAT(**SMALL).fit(nx.relabel_nodes(nx.path_graph(12), str))
    with pytest.raises(ValueError, match="no embedded node is named 11: did you mean '11'"):
        named.kneighbors([11])


def test_points_that_are_given_are_copied():
    points = HEAT(**SMALL).fit(KARATE).embedding_
    model = HEAT.from_points(KARATE, points)
    points[:] = 0.0
    assert model.score() > 0.5


def test_a_start_is_recorded_by_its_digest(model):
    def start_of(points):
        return HEAT(**SMALL).fit(KARATE, start=points).training_["start"]

    assert "start" not in model.training_
    assert start_of(model.embedding_) == start_of(model.embedding_.copy())
    assert start_of(model.embedding_) != start_of(model.embedding_[::-1].copy())


def test_a_search_over_parameters_by_rows_fails_and_says_what_to_use():
    search = GridSearchCV(HEAT(**SMALL), {"alpha": [0.1, 0.2]}, cv=3)
    with pytest.raises(ValueError, match=r"All the 6 fits failed[^$]*square[^$]*evaluate_links"):
        search.fit(nx.to_scipy_sparse_array(KARATE))


def test_a_search_over_parameters_works_on_edges_whose_nodes_stay():
    nodes = range(12)
    edges = pd.DataFrame(
        [(u, v) for u in nodes for v in nodes if u < v and (u + v) % 3], columns=["source", "target"]
    )
    search = GridSearchCV(HEAT(**SMALL), {"alpha": [0.0, 0.2]}, cv=KFold(3, shuffle=True, random_state=0))
    search.fit(edges)
    assert (search.cv_results_["mean_test_score"] > 0).all()


def test_edges_of_nodes_that_were_not_embedded_do_not_count_in_a_score(model):
    more = nx.Graph(KARATE)
    more.add_edges_from([("new", "member 33"), ("newer", "new")])
    with pytest.warns(UserWarning, match=r"^left out of the score: 2 of 80 edges with .*: evaluate_links"):
        assert model.score(more) == model.score()
    edges = pd.DataFrame(list(KARATE.edges), columns=["source", "target"])
    search = GridSearchCV(HEAT(**SMALL), {"alpha": [0.0, 0.2]}, cv=KFold(4))
    with pytest.warns(UserWarning, match="left out of the score"):
        search.fit(edges)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_nodes_are_added_to_a_model_of_texts():
    edges = pd.DataFrame({"source": list("abcd"), "target": list("bcda")})
    nodes = pd.DataFrame(
        {"node": list("abcd"), "about": ["red car", "red bus", "blue bus", "a boat"], "kind": list("xyxy")}
    )
    model = HEAT(**SMALL).fit(as_graph(edges, nodes, text=["about"]))
    nodes.loc[4] = "e", "red boat", "x"
    points = model.transform(
        pd.concat([edges, pd.DataFrame({"source": ["e"], "target": ["a"]})]), attributes=nodes
    )
    assert points.shape == (5, 4)
    assert np.array_equal(points[:4], model.embedding_)


def test_the_effective_learning_rate_is_recorded(model):
    assert model.training_["effective_learning_rate"] == 0.05
    by_buckets = HEAT(**SMALL, n_parts=3, learning_rate=0.1).fit(KARATE)
    assert by_buckets.training_["effective_learning_rate"] == pytest.approx(0.17)


def test_a_data_frame_needs_a_library_that_is_there(model, monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match="a data frame needs pandas or polars: install it with pip"):
        model.to_frame()


BY_NAME = "transform goes by the names of nodes, here row numbers, and not by the values of a row"
NOT_SQUARE = "the check's matrix is not square, which is what the message is about"
COMPLETE = "the check's graph joins all pairs: no other pair is left to be told from edges"
CANNOT_APPLY = {
    "check_estimators_empty_data_messages": NOT_SQUARE,
    "check_estimators_nan_inf": NOT_SQUARE,
    "check_fit2d_predict1d": NOT_SQUARE,
    "check_n_features_in_after_fitting": NOT_SQUARE,
    "check_fit_score_takes_y": COMPLETE,
    "check_pipeline_consistency": COMPLETE,
    "check_methods_sample_order_invariance": BY_NAME,
    "check_methods_subset_invariance": BY_NAME,
    "check_fit_idempotent": BY_NAME,
    "check_positive_only_tag_during_fit": "it says that a weight is negative, in other words",
    "check_fit2d_1sample": "a graph of one node offers nothing to learn from, which is what the message says",
}


class HEATOfMatrices(HEAT):
    """HEAT with the tag that makes the checks give it square matrices.

    With the tag, a search over parameters would score rows without the matching columns, which gives NaN.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


@parametrize_with_checks([HEATOfMatrices(**SMALL)], expected_failed_checks=lambda _: CANNOT_APPLY)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def saved(model, path):
    model.save(path)
    return HEAT.load(path)


def test_a_saved_model_gives_the_same_answers(model, tmp_path):
    path = tmp_path / "karate.heat"
    loaded = saved(model, path)
    assert loaded.get_params() == {**model.get_params(), "n_threads": None}
    assert loaded.training_ == model.training_
    asked = ["member 1", "member 2"]
    assert np.array_equal(loaded.kneighbors(asked)[1], model.kneighbors(asked)[1])
    grown = nx.compose(KARATE, nx.Graph([("member 0", "new")]))
    assert np.array_equal(loaded.transform(grown), model.transform(grown))
    novel = HEAT(**SMALL).fit(nx.les_miserables_graph())
    links = novel.predict_links(k=2).to_frame("pandas")
    loaded = saved(novel, path)
    assert loaded.link_score_ == novel.link_score_
    pd.testing.assert_frame_equal(loaded.predict_links(k=2).to_frame("pandas"), links)


def test_a_saved_model_keeps_all_of_its_graph(tmp_path):
    rng = np.random.default_rng(0)
    edges = pd.DataFrame({"source": rng.integers(0, 30, 90), "target": rng.integers(30, 60, 90)})
    edges["type"] = np.where(edges.source % 2, "A", "B")
    nodes = pd.DataFrame(
        {"id": range(60), "kind": list("abc") * 20, "size": range(60), "label": ["P", "Q"] * 30}
    )
    model = HEAT(**SMALL).fit(edges, attributes=nodes)
    graph, again = model.graph_, saved(model, tmp_path / "m.heat").graph_
    assert again.digest() == graph.digest()
    assert (again.names, again.attribute_names) == (graph.names, graph.attribute_names)
    assert {name: mask.tolist() for name, mask in again.labels.items()} == {
        name: mask.tolist() for name, mask in graph.labels.items()
    }
    assert again.schema() == graph.schema()
    assert list(map(dict, again.provenance.attribute_recipe)) == list(
        map(dict, graph.provenance.attribute_recipe)
    )
    tuples = nx.relabel_nodes(nx.path_graph(6), lambda i: ("x", i))
    assert saved(HEAT(**SMALL).fit(tuples), tmp_path / "t.heat").nodes_.tolist() == list(tuples)


def test_what_cannot_be_saved_or_loaded_is_named(model, tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        HEAT.load(tmp_path / "none.heat")
    other = tmp_path / "other.heat"
    for content in (b"", b"text", b"PK\x03\x04"):
        other.write_bytes(content)
        with pytest.raises(ConfigError, match=r"other\.heat: is damaged, or not written by HEAT\.save"):
            HEAT.load(other)
    np.savez(tmp_path / "arrays.npz", x=np.ones(3))
    with pytest.raises(ConfigError, match="or not written by HEAT"):
        HEAT.load(tmp_path / "arrays.npz")
    dates = nx.relabel_nodes(nx.path_graph(4), lambda i: frozenset([i]))
    with pytest.raises(TypeError, match="cannot be saved: use strings or numbers"):
        HEAT(**SMALL).fit(dates).save(other)
    with pytest.raises(NotFittedError):
        HEAT().save(other)


def test_a_random_state_draws_a_seed_as_in_scikit_learn():
    first, second = (HEAT(**SMALL | {"random_state": np.random.RandomState(3)}).fit(KARATE) for _ in range(2))
    assert first.seed_ == second.seed_ == np.random.RandomState(3).randint(2**31 - 1)
    assert np.array_equal(
        first.embedding_, HEAT(**SMALL | {"random_state": first.seed_}).fit(KARATE).embedding_
    )


def test_fit_reads_words_of_texts():
    edges = nx.to_pandas_edgelist(nx.path_graph(6))
    nodes = pd.DataFrame({"id": range(6), "about": ["red green", "green blue"] * 3})
    graph = HEAT(**SMALL).fit(edges, attributes=nodes, text=["about"]).graph_
    assert graph.provenance.readings[-1] == "data frame of nodes: about: text"


def test_alpha_is_what_attributes_tell_of_links(tmp_path):
    quick = {"n_components": 2, "walks_per_node": 2, "walk_length": 10, "random_state": 3}
    ties = nx.stochastic_block_model(
        [40] * 4, [[0.5 if a == b else 0.02 for a in range(4)] for b in range(4)], seed=0
    )
    ties = nx.Graph(ties)
    graph = as_graph(ties, np.eye(4)[np.repeat(range(4), 40)])
    model = HEAT(**quick).fit(graph)
    same = HEAT(alpha=0.2, **quick).fit(graph)
    assert (model.alpha, model.alpha_, same.alpha_) == ("auto", 0.2, 0.2)
    assert model.embedding_.tobytes() == same.embedding_.tobytes()
    ties.add_edge(3, 160)
    new = as_graph(ties, np.eye(4)[np.append(np.repeat(range(4), 40), 0)])
    assert model.transform(new).tobytes() == same.transform(new).tobytes()
    model.save(tmp_path / "model.heat")
    loaded = HEAT.load(tmp_path / "model.heat")
    assert (loaded.alpha, loaded.alpha_) == ("auto", 0.2)
    noise = np.random.default_rng(0).normal(size=(161, 2))
    assert model.fit(as_graph(ties, noise)).alpha_ == 0.0
    assert model.fit(as_graph(ties)).alpha_ == 0.0
    with pytest.raises(ValueError, match=r"alpha must be a number in .* got 'best'"):
        HEAT(alpha="best").fit(graph)
