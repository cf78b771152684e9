"""Graphs from what the field keeps them in: the same graph, and the same bits, whatever holds it."""

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j import HEAT, Graph, as_graph
from heat_neo4j.errors import ProjectionError
from heat_neo4j.inputs.edges import make_matrix, make_relationships
from heat_neo4j.inputs.values import plain_value

N = 24
NAMES = [f"node {row:02}" for row in range(N)]
YEARS = [1990 + row % 7 for row in range(N)]
TOPICS = ["red" if row % 3 else "blue" for row in range(N)]


def edges_of(n=N, seed=0):
    generator = np.random.default_rng(seed)
    pairs = {(u, v) for u, v in generator.integers(0, n, size=(3 * n, 2)).tolist() if u != v}
    return [(u, v, float(generator.integers(1, 9))) for u, v in sorted(pairs)]


EDGES = edges_of()


def networkx_graph(kind=nx.DiGraph):
    graph = kind()
    for name, year, topic in zip(NAMES, YEARS, TOPICS, strict=True):
        graph.add_node(name, year=year, topic=topic)
    graph.add_weighted_edges_from((NAMES[u], NAMES[v], weight) for u, v, weight in EDGES)
    return graph


def igraph_graph():
    graph = igraph.Graph(n=N, edges=[(u, v) for u, v, _ in EDGES], directed=True)
    graph.vs["name"], graph.vs["year"], graph.vs["topic"] = NAMES, YEARS, TOPICS
    graph.es["weight"] = [weight for _, _, weight in EDGES]
    return graph


def edge_frame():
    return pd.DataFrame(
        [(NAMES[u], NAMES[v], w) for u, v, w in EDGES], columns=["source", "target", "weight"]
    )


def node_frame():
    return pd.DataFrame({"name": NAMES, "year": YEARS, "topic": TOPICS})


def matrix():
    source, target, weight = (np.array(each) for each in zip(*EDGES, strict=True))
    directed = sparse.csr_array((weight, (source, target)), shape=(N, N))
    return sparse.csr_array(directed + directed.T)


def indexed():
    return node_frame().set_index("name")


HOLDERS = {
    "networkx": lambda: as_graph(networkx_graph(), ["year", "topic"]),
    "networkx and a frame": lambda: as_graph(networkx_graph(), node_frame().sample(frac=1, random_state=1)),
    "igraph": lambda: as_graph(igraph_graph(), ["year", "topic"]),
    "pandas": lambda: as_graph(edge_frame().sample(frac=1, random_state=2), node_frame()),
    "pandas with an index": lambda: as_graph(edge_frame(), indexed()),
    "polars": lambda: as_graph(
        *(pl.DataFrame(each.to_dict("list")) for each in (edge_frame(), node_frame()))
    ),
    "two columns": lambda: as_graph(
        edge_frame().rename(columns={"source": "citing", "target": "cited"}), node_frame()
    ),
    "scipy": lambda: as_graph(matrix(), indexed()),
    "coo": lambda: as_graph(sparse.coo_matrix(matrix()), indexed()),
    "numpy": lambda: as_graph(matrix().toarray(), indexed()),
}


def model(**changed):
    return HEAT(n_components=2, walks_per_node=2, walk_length=6, random_state=3, n_threads=1, **changed)


@pytest.fixture(scope="module")
def expected():
    """The graph by hand: numbers as they are encoded, weights of both directions summed."""
    blue = [topic == "blue" for topic in TOPICS]
    attributes = np.column_stack((YEARS, blue, np.logical_not(blue))).astype(float)
    return model().fit(Graph(matrix(), attributes)).embedding_


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_same_graph_and_the_same_bits(holder, expected):
    graph = HOLDERS[holder]()
    assert list(graph.names) == NAMES
    assert (graph.adjacency != matrix()).nnz == 0
    assert tuple(graph.attribute_names) == ("year", "topic=blue", "topic=red")
    assert np.array_equal(model().fit(graph).embedding_, expected)
    if holder not in ("scipy", "coo", "numpy"):
        assert graph.relationships.types == ("EDGE",)
        pairs = zip(graph.relationships.source.tolist(), graph.relationships.target.tolist(), strict=True)
        assert set(pairs) == {(u, v) for u, v, _ in EDGES}


def test_fit_takes_what_as_graph_takes(expected):
    fitted = model().fit(networkx_graph(), attributes=["year", "topic"])
    assert np.array_equal(fitted.embedding_, expected)
    assert fitted.nodes_.tolist() == NAMES
    by_frame = model().fit(edge_frame(), attributes=node_frame())
    assert np.array_equal(by_frame.embedding_, expected)


def test_an_undirected_graph_has_its_weights_once_in_each_direction():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "b", weight=9.0)
    graph.add_node("alone")
    read = as_graph(graph)
    assert read.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    assert read.relationships is None
    assert list(read.names) == ["a", "b", "alone"]


ends = st.integers(0, 4)
lists_of_edges = st.lists(
    st.tuples(ends, ends, st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from(["A", "B", None])),
    max_size=14,
)


@given(lists_of_edges)
def test_lists_of_edges_beside_a_plain_twin(edges):
    source, target = (np.array([edge[end] for edge in edges], dtype=np.int64) for end in (0, 1))
    weights = np.array([edge[2] for edge in edges])
    dense = np.zeros((5, 5))
    for u, v, weight, _ in edges:
        dense[u, v] += weight
    assert np.allclose(make_matrix(source, target, weights, 5).toarray(), dense)
    found = make_relationships(source, target, weights, [edge[3] for edge in edges])
    triples = {
        (kind, u, v)
        for kind in found.types
        for u, v in zip(*(ends.tolist() for ends in found.of(kind)), strict=True)
    }
    assert triples == {(kind or "EDGE", u, v) for u, v, weight, kind in edges if weight and u != v}
    frame = pd.DataFrame(edges, columns=["source", "target", "weight", "type"])
    by_frame = as_graph(frame)
    rows = [name for name in range(5) if name in by_frame.names]
    assert (
        by_frame.adjacency.toarray() == (dense + dense.T)[np.ix_(rows, rows)] * ~np.eye(len(rows), dtype=bool)
    ).all()


def test_types_labels_and_parallel_edges_are_kept():
    graph = nx.MultiDiGraph()
    graph.add_node("u", label="User")
    graph.add_node("m", label=["Movie", "Film"])
    graph.add_node("x")
    graph.add_edge("u", "m", type="RATED", weight=2.0)
    graph.add_edge("u", "m", type="SAW")
    graph.add_edge("u", "x")
    read = as_graph(graph, label="label")
    assert set(read.relationships.types) == {"EDGE", "RATED", "SAW"}
    assert read.adjacency[0, 1] == 3.0
    assert {name: mask.tolist() for name, mask in read.labels.items()} == {
        "Film": [False, True, False],
        "Movie": [False, True, False],
        "User": [True, False, False],
    }
    assert read.n_attributes == 0
    frame = pd.DataFrame({"id": ["u", "m", "x"], "label": ["User", "Movie", None], "year": [1, 2, None]})
    framed = as_graph(pd.DataFrame({"source": ["u", "u"], "target": ["m", "x"]}), frame, label="label")
    assert sorted(framed.labels) == ["Movie", "User"]
    assert tuple(framed.attribute_names) == ("year", "year:missing")


def test_nodes_that_only_the_edges_name_follow_in_order():
    nodes = pd.DataFrame({"id": ["c", "a"], "size": [1.0, 2.0]})
    read = as_graph(pd.DataFrame({"source": ["a", "z"], "target": ["b", "c"]}), nodes)
    assert list(read.names) == ["c", "a", "b", "z"]
    assert read.attributes[:, 1].tolist() == [0.0, 0.0, 1.0, 1.0]  # size:missing


def test_values_become_what_a_database_would_give():
    zone = timezone(timedelta(hours=2))
    assert plain_value(np.int32(3)) == 3
    assert [plain_value(each) for each in (np.nan, None, pd.NaT, pd.NA, float("nan"))] == [None] * 5
    assert plain_value(date(1970, 1, 2)) == plain_value(datetime(1970, 1, 2)) == 1.0
    assert plain_value(datetime(1970, 1, 2, 2, tzinfo=zone)) == 1.0
    assert plain_value(pd.Timestamp("1970-01-02 12:00")) == 1.5
    assert plain_value(time(6)) == 0.25
    assert plain_value(time(1, tzinfo=zone)) == 23 / 24
    assert plain_value(timedelta(minutes=1)) == 60.0
    assert plain_value(np.timedelta64(1, "s")) == 1.0
    assert plain_value((1, np.float64(2))) == [1, 2.0]
    assert plain_value({"b", "a"}) == ["a", "b"]
    assert plain_value(Decimal("1.5")) == 1.5
    assert plain_value(Decimal("NaN")) is plain_value(Decimal("sNaN")) is None
    assert plain_value("text") == "text"


def test_attributes_are_encoded_by_the_recipe_of_an_earlier_graph():
    first = as_graph(networkx_graph(), ["year", "topic"])
    other = networkx_graph()
    other.nodes[NAMES[0]]["topic"] = "green"
    again = as_graph(other, ["year", "topic"], recipe=first.provenance.attribute_recipe)
    assert tuple(again.attribute_names) == tuple(first.attribute_names)
    assert again.attributes[0].tolist() == [YEARS[0], 0.0, 0.0]


TEXTS = ["alpha beta", "beta gamma", "gamma delta", "delta alpha"] * 6


def test_texts_are_texts_where_they_are_named():
    papers = node_frame().assign(abstract=TEXTS)[["name", "abstract"]]
    words = as_graph(edge_frame(), papers, text=["abstract"]).attribute_names
    assert all(name.startswith("abstract#") for name in words)
    assert "abstract=alpha beta" in as_graph(edge_frame(), papers).attribute_names


def frame(**columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("data", "attributes", "error", "line"),
    [
        ("graph", None, TypeError, "a graph must be a Graph, .*; got str"),
        (np.ones((2, 3)), None, ValueError, "must be square, .* 2 rows and 3 columns: .*evaluate_links"),
        (np.ones(3), None, ValueError, "square"),
        ([(0, 1), (1, 2), (2, 0)], None, ValueError, "square"),
        (np.ones((2, 2)) * 1j, None, ValueError, "Complex data not supported"),
        (np.ones((2, 2, 2)), None, ValueError, r"must be square, .* 3 dimensions: shape \(2, 2, 2\)"),
        (sparse.coo_array(np.ones((2, 2, 2))), None, ValueError, "must be square"),
        (np.ones(3), None, ValueError, "must be square"),
        ([[1, 2], [3]], None, ValueError, "must hold numbers, in rows of one length"),
        (np.array([["a", "b"]] * 2), None, ValueError, "must hold numbers"),
        (np.array([[0, 10**400], [1, 0]], dtype=object), None, ValueError, "must hold numbers"),
        ([[0, 1], [1]], None, ValueError, "inhomogeneous"),
        (-np.ones((2, 2)), None, ValueError, "is negative"),
        (matrix(), np.ones((3, 1)), ValueError, r"attributes must have shape \(24, F\)"),
        (matrix(), node_frame()[:5], ValueError, "the data frame of nodes has 5 rows for 24 nodes"),
        (matrix(), "year", TypeError, "attributes must be a list of names, got 'year'"),
        (matrix(), [["a"], ["b"]], TypeError, "attributes must be numbers, a data frame, or names"),
        (networkx_graph(), ["yaer"], ValueError, "no node has an attribute 'yaer': did you mean 'year'"),
        (igraph_graph(), ["size"], ValueError, "no node has an attribute 'size'"),
        (
            networkx_graph(),
            frame(id=[NAMES[0], "who"], x=[1, 2]),
            ValueError,
            "has 'who', which the graph lacks",
        ),
        (edge_frame(), frame(id=["a", "a"], x=[1, 2]), ValueError, "two nodes have the name 'a'"),
        (edge_frame(), frame(id=["a", None], x=[1, 2]), ValueError, "the node in row 1 has no name"),
        (edge_frame(), node_frame().assign(year=[1j] * N), ProjectionError, "'year' holds complex values"),
        (edge_frame()[["source"]], None, ValueError, "there is a column 'source' but no 'target'"),
        (frame(only=[1]), None, ValueError, "needs two columns"),
        (frame(source=["a", None], target=["b", "c"]), None, ValueError, "without a source or a target"),
        (frame(source=["a", 1], target=["b", 2]), None, ValueError, "must be of one kind"),
        (
            frame(source=[1], target=[2], weight=[np.nan]),
            None,
            ValueError,
            "row 0 has no 'weight'; 1 of 1 have none: give all edges a weight",
        ),
        (Graph(matrix()), np.ones((N, 1)), TypeError, "a Graph already has attributes"),
    ],
)
def test_bad_input_is_one_line(data, attributes, error, line):
    with pytest.raises(error, match=line) as raised:
        as_graph(data, attributes)
    assert "\n" not in str(raised.value)


def test_nothing_is_imported_that_the_user_has_not():
    import subprocess
    import sys

    code = (
        "import sys, heat_neo4j, heat_neo4j.inputs.conversion; "
        "print(sorted({'pandas', 'polars', 'networkx', 'igraph', 'torch', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("of", ["frame", "networkx", "igraph"])
def test_whole_numbers_of_any_size_are_weights_or_an_error(of):
    def graph(weight):
        if of == "frame":
            columns = {"source": [0, 1], "target": [1, 2], "weight": pd.Series([weight, 1], dtype=object)}
            return as_graph(pd.DataFrame(columns))
        if of == "networkx":
            made = nx.Graph()
            made.add_weighted_edges_from([(0, 1, weight), (1, 2, 1)])
            return as_graph(made)
        made = igraph.Graph(edges=[(0, 1), (1, 2)])
        made.es["weight"] = [weight, 1]
        return as_graph(made)

    assert graph(10**19).adjacency[0, 1] == 1e19
    with pytest.raises(ValueError, match="the weight from node 0 to node 1 is NaN or infinite"):
        graph(10**400)


def test_a_whole_number_too_large_for_an_attribute_is_an_error():
    nodes = pd.DataFrame({"id": [0, 1, 2], "size": pd.Series([10**400, 1, 2], dtype=object)})
    with pytest.raises(ProjectionError, match="'size' has a value that is NaN, infinite or too large"):
        as_graph(pd.DataFrame({"source": [0, 1], "target": [1, 2]}), attributes=nodes)
