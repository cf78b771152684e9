"""Rules for names, columns and cells: the same for files, frames and graphs; the rest is refused."""

import sys
import types

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from heat_neo4j import HEAT, as_graph
from heat_neo4j.errors import ProjectionError
from heat_neo4j.inputs.files import read_graph_files

RING = [(10, 11), (11, 12), (12, 10)]


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write_file


def frame(**columns):
    return pd.DataFrame(columns)


def edges(names=RING, **more):
    source, target = zip(*names, strict=True)
    return frame(source=source, target=target, **more)


def one_line(raised):
    return str(raised.value).count("\n") == 0


# Names of edges and of attributes.

NODES = frame(id=["10", "11", "12"], height=[1, 2, 3])
UNLIKE = [
    ("text for numbers", NODES, "10 .int.*'10' .str.*3 of 3 nodes"),
    ("decimals", NODES.assign(id=["10.0", "11.0", "12.0"]), "'10.0'"),
    ("leading zeros", NODES.assign(id=["010", "011", "012"]), "'010'"),
    ("blanks", NODES.assign(id=["10 ", " 11", "12"]), "'10 '"),
    ("only a part", frame(id=["a", "11"], x=[1, 2]), "11 .int.*'11' .str.*1 of 2"),
    ("no name at all", frame(id=["a", "b"], x=[1, 2]), "no node with attributes is in the graph"),
    ("the column beside", frame(h=[1, 2, 3], person=[10, 11, 12]), "the column 'person' has such names"),
]


@pytest.mark.parametrize(("nodes", "line"), [case[1:] for case in UNLIKE], ids=[case[0] for case in UNLIKE])
@pytest.mark.parametrize(
    "graph",
    [
        edges(),
        pl.DataFrame({"source": [10, 11, 12], "target": [11, 12, 10]}),
        nx.Graph(RING),
        igraph.Graph.TupleList(RING),
    ],
    ids=["pandas", "polars", "networkx", "igraph"],
)
def test_names_that_do_not_meet_are_refused_with_an_example(graph, nodes, line):
    with pytest.raises(ValueError, match=line) as raised:
        as_graph(graph, nodes)
    assert one_line(raised)


def test_names_that_meet_may_leave_isolated_nodes():
    read = as_graph(edges(), frame(id=[10, 11, 12, 99], x=[1, 2, 3, 4]))
    assert list(read.names) == [10, 11, 12, 99]
    assert as_graph(edges(), frame(id=[10.0, 11.0], x=[1, 2])).n_nodes == 3


@pytest.mark.parametrize("cells", ["1.0,5", "01,5", "n1,5"])
def test_names_of_two_files_that_do_not_meet_are_refused(write, cells):
    paths = write("e.csv", "source,target\n1,2\n2,1\n"), write("a.csv", f"id,x\n{cells}\n")
    with pytest.raises(ProjectionError, match=cells.partition(",")[0]) as raised:
        read_graph_files(*paths)
    assert one_line(raised)
    with pytest.raises(ProjectionError, match=cells.partition(",")[0]):
        read_graph_files(paths[0], class_file=paths[1])


def test_decimals_within_one_edge_list_are_refused(write):
    with pytest.raises(ProjectionError, match=r"both '2' and '2\.0'"):
        read_graph_files(write("e.csv", "source,target\n1,2.0\n2,3.0\n"))


def test_names_of_nodes_are_found_by_the_name_of_their_column_or_by_key():
    nodes = frame(height=[1, 2, 3], id=[10, 11, 12])
    assert as_graph(edges(), nodes).attribute_names == ("height",)
    assert as_graph(sparse.csr_array(np.ones((3, 3))), nodes).keys == [10, 11, 12]
    renamed = nodes.rename(columns={"id": "person"})
    assert as_graph(edges(), renamed, key="person").attribute_names == ("height",)
    assert as_graph(edges(), nodes.set_index("id"), key="id").attribute_names == ("height",)
    with pytest.raises(ValueError, match="no column 'persom': did you mean 'person'"):
        as_graph(edges(), renamed, key="persom")


def test_files_of_nodes_are_named_by_a_column_too(write):
    edge_list = write("e.csv", "source,target\n10,11\n11,12\n")
    table = read_graph_files(edge_list, write("t.csv", "height,id\n5,11\n7,10\n"))
    assert (table.keys, table.features.toarray().tolist()) == ([10, 11, 12], [[7.0], [5.0], [0.0]])
    unnamed = write("t.csv", ",id,x\n0,10,5\n1,11,6\n")
    with pytest.raises(ProjectionError, match=r"the attributes '0'; the column 'id' has such names"):
        read_graph_files(edge_list, unnamed, as_columns=True)


def test_an_index_without_a_name_that_may_hold_the_names_is_refused():
    nodes = pd.DataFrame({"height": [12, 11, 10], "x": [1, 2, 3]}, index=[10, 11, 12])
    with pytest.raises(ValueError, match="give key='height', or name the index"):
        as_graph(edges(), nodes)
    assert as_graph(edges(), nodes.rename_axis("id")).n_attributes == 2
    assert as_graph(edges(), nodes, key="height").n_attributes == 1
    for index, line in (([2, 0, 1], "for row 0"), ([10, 11, 12], "has 10 for row 0")):
        with pytest.raises(ValueError, match=line):
            as_graph(sparse.csr_array(np.ones((3, 3))), nodes.set_axis(index, axis="index"))
    with pytest.raises(ValueError, match="0 to 2 in another order"):
        as_graph(sparse.csr_array(np.ones((3, 3))), frame(id=[2, 0, 1], x=[1, 2, 3]))


def test_columns_and_rows_may_have_numbers_and_levels():
    numbered = pd.DataFrame([[1, 2], [3, 4], [5, 6]], index=[10, 11, 12]).rename_axis("id")
    assert as_graph(edges(), numbered).attribute_names == ("0", "1")
    levels = numbered.set_axis(pd.MultiIndex.from_tuples([("size", "x"), ("size", "y")]), axis="columns")
    assert as_graph(edges(), levels).attribute_names == ("size.x", "size.y")
    pairs = [("user", 0), ("user", 1)]
    tuples = pd.DataFrame({"x": [1, 2]}, index=pd.MultiIndex.from_tuples(pairs))
    assert as_graph(edges([(("user", 0), ("user", 1))]), tuples).keys == pairs
    with pytest.raises(ValueError, match="row 0 is named by a list"):
        as_graph(edges(), frame(id=[[10], [11]], x=[1, 2]))


def test_names_of_numpy_and_missing_ones():
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
    nodes = frame(id=days, x=[1, 2])
    assert as_graph(nx.Graph([tuple(days)]), nodes).attributes[:, 0].tolist() == [1.0, 2.0]
    since = as_graph(nx.Graph([(0, 1)]), frame(id=[0, 1], since=days)).attributes[:, 0]
    assert since.tolist() == [19723.0, 19724.0]
    for graph in (nx.Graph([(float("nan"), 1.0)]), nx.Graph([(np.datetime64("NaT"), 1.0)])):
        with pytest.raises(ValueError, match="the node in row 0 has no name"):
            as_graph(graph)


# Columns of edges.

HEADERS = [
    (["target", "source"], [[11, 10]], "source = source, target = target"),
    (["citing", "cited"], [[10, 11]], "source = citing, target = cited"),
    (["id", "from", "to"], [[100, 10, 11]], "source = from, target = to; left out: id"),
    (["Source", "Target", "Weight"], [[10, 11, 5]], "source = Source, target = Target, weight = Weight"),
    ([":START_ID", "weights", ":END_ID", ":TYPE"], [[10, 5, 11, "CITES"]],
     "source = :START_ID, target = :END_ID, weight = weights, type = :TYPE"),
    (["n:START_ID(P)", "weight:float", ":END_ID(P)"], [[10, 5, 11]],
     "source = n:START_ID(P), target = :END_ID(P), weight = weight:float"),
    (["source", "target", "year"], [[10, 11, 2019]], "source = source, target = target; left out: year"),
    (["Source", "Target", "Type"], [[10, 11, "Directed"]],
     "source = Source, target = Target; left out: Type"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "reading"), HEADERS, ids=[case[2] for case in HEADERS])
def test_files_and_frames_have_the_same_columns(write, header, rows, reading):
    text = "\n".join([",".join(header), *(",".join(map(str, row)) for row in rows)])
    files = read_graph_files(write("e.csv", text))
    graph, framed = files.to_graph(), as_graph(pd.DataFrame(rows, columns=header))
    expected = f"{reading}; 1 directed edge; first: 10 -> 11"
    assert list(graph.provenance.readings) == [f"e.csv: header; {expected}"]
    assert list(framed.provenance.readings) == [f"data frame of edges: {expected}"]
    for each in (graph, framed):
        assert list(each.keys) == [10, 11]
        weight = 5.0 if "weight" in reading else 1.0
        assert each.adjacency.toarray().tolist() == [[0, weight], [weight, 0]]
        assert each.relationships.types == ("CITES" if "type =" in reading else "EDGE",)
        assert [ends.tolist() for ends in each.relationships.of(each.relationships.types[0])] == [[0], [1]]


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (["id", "who", "whom"], "which columns are the two ends of an edge, of id, who, whom"),
        (["source", "whom"], "there is a column 'source' but no 'target'"),
        (["source", "target", "weight", "Weight"], "'weight' and 'Weight'"),
        (["source", "target", "Source"], "two columns are named 'source'"),
    ],
)
def test_columns_that_the_rules_do_not_decide_are_refused(write, header, line):
    row = ["10", "11", "12", "13"][: len(header)]
    with pytest.raises(ValueError, match=line):
        as_graph(pd.DataFrame([row], columns=header))
    with pytest.raises(ProjectionError, match=line):
        read_graph_files(write("e.csv", f"{','.join(header)}\n{','.join(row)}\n"), header=True)


def test_columns_may_be_chosen_and_must_be_there():
    table = frame(id=[1, 2], who=[10, 11], whom=[11, 12], strength=[2.0, 3.0], kind=["A", "B"])
    chosen = {"source": "who", "target": "whom", "weight": "strength", "type": "kind"}
    read = as_graph(table, **chosen)
    assert read.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]
    assert read.relationships.types == ("A", "B")
    with pytest.raises(ValueError, match="named 'strenght': did you mean 'strength'"):
        as_graph(table, **{**chosen, "weight": "strenght"})
    with pytest.raises(ValueError, match="named 'w': there are weight"):
        as_graph(nx.Graph([(0, 1, {"weight": 2.0})]), weight="w")
    with pytest.raises(ValueError, match="both source and target"):
        as_graph(table, source="who")


WEIGHTS = [
    (["2020-01-01", "2021-01-01"], "is no number, '2020-01-01'"),
    (pd.to_datetime(["2020-01-01", "2021-01-01"]), "is a date, 2020-01-01; so are 2 of 2"),
    (["1", "1,5"], "edge in row 1 is no number, '1,5'; so are 1 of 2"),
]


@pytest.mark.parametrize(("values", "line"), WEIGHTS)
def test_weights_are_numbers_or_texts_that_are(values, line):
    with pytest.raises(ValueError, match=line):
        as_graph(edges(RING[:2], weight=values))
    with pytest.raises(ValueError, match=line):
        as_graph(nx.from_pandas_edgelist(edges(RING[:2], Weight=values), edge_attr=True))
    assert as_graph(edges(RING[:2], weight=["2.5", "1e-05"])).adjacency.data.max() == 2.5


@pytest.mark.parametrize("name", ["Weight", "weights"])
def test_networks_have_the_same_names_of_weights(name):
    network = nx.DiGraph([(0, 1, {name: 3.0, "Type": "KNOWS"}), (1, 2, {})])
    graph = igraph.Graph(n=3, edges=[(0, 1), (1, 2)], directed=True)
    graph.es[name], graph.es["Type"] = [3.0, None], ["KNOWS", None]
    for each in (as_graph(network), as_graph(graph)):
        assert each.adjacency.toarray().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
        assert each.relationships.types == ("EDGE", "KNOWS")
        assert each.provenance.readings == (f"edges: weight = {name}, type = Type; 2 directed edges",)


# The first line of files.


def test_a_first_line_of_words_over_numbers_is_a_header(write):
    graph = read_graph_files(write("e.csv", "citing,cited\n10,11\n11,12\n12,10\n"))
    assert graph.keys == [10, 11, 12]
    assert graph.readings[0] == (
        "e.csv: header; source = citing, target = cited; 3 directed edges; first: 10 -> 11"
    )


def test_a_first_line_that_may_be_either_needs_an_option(write):
    path = write("e.csv", "citing,cited\na,b\nb,c\n")
    with pytest.raises(ProjectionError, match=r"'citing,cited' may be a header or an edge.*--no-header"):
        read_graph_files(path)
    assert read_graph_files(path, header=True).keys == ["a", "b", "c"]
    assert read_graph_files(path, header=False).keys == ["a", "b", "c", "cited", "citing"]
    for text in ("a,b\nb,c\n", "1,2\n3,4\n", "a,b\n"):
        reading = read_graph_files(write("e.csv", text)).readings[0]
        assert reading.startswith("e.csv: no header; source = column 1, target = column 2")


def test_edges_without_a_header_have_no_directions(write):
    graphs = [read_graph_files(write("e.csv", text)).to_graph() for text in ("1,2\n2,3\n", "u,v\n1,2\n2,3\n")]
    assert [graph.relationships for graph in graphs] == [None, None]
    assert as_graph(frame(u=[1, 2], v=[2, 3])).relationships is None
    directed = read_graph_files(write("e.csv", "source,target\n1,2\n2,3\n")).to_graph()
    assert directed.relationships.schema([()], np.zeros(3, np.int64)) == {((), "EDGE", ()): 2}


@pytest.mark.parametrize("text", ["a,b,2019\nb,c,2020\n", "1,2,1082040961\n"])
def test_a_third_column_that_may_be_a_year_needs_a_name(write, text):
    with pytest.raises(
        ProjectionError, match=r"e.csv:1: the third column has no name and holds whole numbers"
    ):
        read_graph_files(write("e.csv", text))
    named = read_graph_files(write("e.csv", f"source,target,weight\n{text}"))
    assert named.weight.min() > 1000


@pytest.mark.parametrize("name", ["attribute_file", "class_file"])
def test_a_table_without_a_header_is_refused(write, name):
    edge_list = write("e.csv", "a,b\nb,c\nc,a\n")
    for first in ("a,1,2", "7,1,2"):
        with pytest.raises(
            ProjectionError, match=r"t.csv:1: the first line must name the columns, and begins"
        ):
            read_graph_files(edge_list, **{name: write("t.csv", f"{first}\nb,2,3\nc,3,4\n")})


def test_types_of_files_are_kept_and_their_order_does_not_show(write):
    rows = ["a,b,2,KNOWS", "a,b,3,LIKES", "b,a,1,KNOWS", "a,b,4,KNOWS", "b,c,1,"]
    read = [
        read_graph_files(write("e.csv", "\n".join(["from,to,weight,type", *lines])))
        for lines in (rows, rows[::-1])
    ]
    for each in read:
        assert each.types == ["KNOWS", "LIKES", "KNOWS", ""]
        assert each.weight.tolist() == [6.0, 3.0, 1.0, 1.0]
        graph = each.to_graph()
        assert graph.adjacency[0, 1] == 10.0
        assert graph.relationships.types == ("EDGE", "KNOWS", "LIKES")


# Cells.


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1.5", "NA", "3"], [1.5, None, 3.0]),
        (["01234", "20095", "99999"], ["01234", "20095", "99999"]),
        (["1E5", "2E3", "7E8"], ["1E5", "2E3", "7E8"]),
        (["1e-05", "1e+16", "1.5E3"], [1e-05, 1e16, 1500.0]),
        (["1_000", "2", "3"], ["1_000", "2", "3"]),
        (["NA", "x", ""], ["NA", "x", None]),
        (["null", "n/a", "true"], [None, None, True]),
        (["inf", "1", "2"], ["inf", "1", "2"]),
    ],
)
def test_cells_of_a_column_are_read_by_the_rules(write, cells, values):
    rows = [f"n{row},{cell}" for row, cell in enumerate(cells)]
    path = write("t.csv", "\n".join(["node,x", *rows]))
    graph = read_graph_files(write("e.csv", "n0,n1\nn1,n2\n"), path, as_columns=True)
    assert graph.columns["x"] == values
    assert "node = node" in graph.readings[1]


def test_semicolons_have_decimal_commas(write):
    for text in ("alpha;beta;0,5\n", "source;target;weight\nalpha;beta;0,5\n"):
        graph = read_graph_files(write("e.csv", text), write("t.csv", "id;x\nalpha;1,5\nbeta;2\n"))
        assert (graph.keys, graph.weight.tolist()) == (["alpha", "beta"], [0.5])
        assert graph.features.toarray().tolist() == [[1.5], [2.0]]
    assert read_graph_files(write("e.csv", '"a;b",c\n')).keys == ["a;b", "c"]


@pytest.mark.parametrize(
    ("edge_list", "table", "line"),
    [
        ("1 2 1,5\n2 3 1,5\n", None, "e.csv:1: blanks separate the columns"),
        (
            'a,b,"1,5"\n',
            None,
            "'1,5' is not a number: write a decimal point, or separate the columns by semi",
        ),
        ("a,b,01\n", None, "'01' is not a number but a code"),
        ("a,b\nb,a\n", 'id,x\na,"1,5"\nb,2\n', "t.csv: column 'x': '1,5' has a decimal comma"),
    ],
)
def test_other_decimals_and_codes_are_refused(write, edge_list, table, line):
    with pytest.raises(ProjectionError, match=line):
        read_graph_files(
            write("e.csv", edge_list), None if table is None else write("t.csv", table), as_columns=True
        )


def test_codes_are_no_features(write):
    with pytest.raises(
        ProjectionError, match=r"t.csv:2: '01234' is not a number but a code, in column 'zip'"
    ):
        read_graph_files(write("e.csv", "a,b\nb,a\n"), write("t.csv", "id,zip\na,01234\nb,1\n"))


# Attributes.


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([1.0, float("nan")], "lists with a missing value .*on node 'b' and 1 more"),
        ([1.0, None], "lists with a missing value"),
        ([1.0, True], "lists of bool values"),
        ([1.0], "several lengths: 1 number on 2 nodes and 2 on 1, first on node 'a': give all nodes lists"),
        ([1.0, float("inf")], "NaN, infinite or too large .inf. on node 'b' and 1 more"),
    ],
)
def test_lists_that_cannot_be_read_are_named_with_their_nodes(value, line):
    nodes = frame(id=["a", "b", "c"], k=[[1.0, 2.0], value, value])
    with pytest.raises(ProjectionError, match=line) as raised:
        as_graph(frame(source=["a", "b"], target=["b", "c"]), nodes)
    assert one_line(raised)


def test_numbers_that_are_not_finite_are_named_with_their_nodes():
    numbers = np.array([[0.0, 1.0], [np.nan, np.inf], [0.0, 0.0]])
    for each in (numbers, sparse.csr_array(numbers)):
        with pytest.raises(
            ValueError, match="2 attribute values are NaN or infinite, first column 0 of node 11"
        ):
            as_graph(nx.Graph(RING), each)
    weights = edges(weight=[1.0, np.inf, np.inf])
    with pytest.raises(ValueError, match=r"the weight from node 10 to node 12 is NaN or infinite \(4 of 6"):
        as_graph(weights)


def test_texts_that_make_poor_categories_are_named_with_advice():
    n = 30
    ring = nx.cycle_graph(n)
    nodes = frame(id=range(n), x=range(n))
    for values, advice in (
        (
            [f"word {row}" for row in range(n)],
            "'about' holds 30 different strings on 30 nodes.*text= to read",
        ),
        ([f"{row}.5" for row in range(n)], "'about' holds numbers as strings.*astype"),
        (["2024-01-01"] * n, "'about' holds dates as strings.*to_datetime"),
    ):
        with pytest.warns(UserWarning, match=advice) as warned:
            as_graph(ring, nodes.assign(about=values))
        assert [each.filename for each in warned] == [__file__]
    as_graph(ring, nodes.assign(about=[f"word {row}" for row in range(n)]), text=["about"])
    as_graph(ring, nodes.assign(about=["1", "2"] * 15))
    with pytest.raises(ValueError, match="text names 'abuot', an unknown attribute: did you mean 'about'"):
        as_graph(ring, nodes.assign(about="x"), text=["abuot"])


# Labels.


def test_a_label_that_names_each_node_is_none(tmp_path):
    graph = nx.gn_graph(40, seed=1)
    nx.write_gexf(graph, tmp_path / "t.gexf")
    read = as_graph(nx.read_gexf(tmp_path / "t.gexf"))
    assert read.labels == {}
    assert read.provenance.readings[-1] == "attributes of nodes: left out: label (display names)"
    nodes = frame(id=list(graph), label=[f"node {node}" for node in graph])
    framed = as_graph(nx.to_pandas_edgelist(graph), nodes)
    assert (framed.labels, framed.n_attributes) == ({}, 0)
    assert len(as_graph(nx.read_gexf(tmp_path / "t.gexf"), label="label").labels) == 40


def test_a_label_that_many_nodes_share_is_one():
    graph = nx.cycle_graph(6)
    nx.set_node_attributes(graph, {node: node % 2 for node in graph}, "label")
    read = as_graph(graph)
    assert {name: mask.tolist() for name, mask in read.labels.items()} == {
        "0": [True, False] * 3,
        "1": [False, True] * 3,
    }
    assert read.n_attributes == 0
    with pytest.raises(ValueError, match="no node has an attribute 'labl': did you mean 'label'"):
        as_graph(graph, label="labl")


def test_display_names_make_no_masks_even_if_asked_for():
    graph = nx.cycle_graph(1100)
    nx.set_node_attributes(graph, {node: f"node {node}" for node in graph}, "label")
    with pytest.raises(ValueError, match="1,100 different labels, more than 1,000"):
        as_graph(graph, label="label")


# PyTorch Geometric, of which only the names of the classes and a few attributes count here.


def geometric(name, **attributes):
    kind = type(name, (types.SimpleNamespace,), {"__module__": "torch_geometric.data"})
    return kind(**attributes)


def hetero(index):
    parts = {
        "user": types.SimpleNamespace(num_nodes=2),
        "film": types.SimpleNamespace(num_nodes=6),
        ("user", "rated", "film"): types.SimpleNamespace(edge_index=np.array(index)),
    }
    data = geometric("HeteroData", node_types=["user", "film"], edge_types=[("user", "rated", "film")])
    type(data).__getitem__ = lambda self, key: parts[key]
    return data


@pytest.mark.parametrize(
    ("index", "line"),
    [
        (
            [[0, 5], [0, 1]],
            r"\(user\)-\[rated\]->\(film\): edge 1 has the source 5, but only 2 nodes exist",
        ),
        ([[0, 1], [6, 6]], "edge 0 has the target 6, but only 6 nodes exist; so have 2 of 2 edges"),
        ([[-1], [0]], "edge 0 has the source -1"),
    ],
)
def test_indices_beyond_their_type_are_refused(index, line):
    with pytest.raises(ValueError, match=line):
        as_graph(hetero(index))
    assert as_graph(hetero([[0, 1], [5, 0]])).adjacency[0, 7] == 1.0
    with pytest.raises(ValueError, match="the graph: edge 0 has the target 9"):
        as_graph(geometric("Data", num_nodes=3, edge_index=np.array([[0], [9]])))


def test_classes_of_edges_are_no_weights():
    index = np.array([[0, 1], [1, 2]])
    plain = {"num_nodes": 3, "edge_index": index}
    assert as_graph(geometric("Data", **plain, edge_attr=np.array([3, 7]))).adjacency.max() == 1.0
    assert as_graph(geometric("Data", **plain, edge_attr=np.array([3.0, 7.0]))).adjacency.max() == 7.0
    named = as_graph(geometric("Data", **plain, edge_attr=np.array([3, 7])), weight="edge_attr")
    assert named.adjacency.max() == 7.0
    assert named.provenance.readings == ("weight = edge_attr; 2 edges",)
    with pytest.raises(ValueError, match="no attribute 'kg' has a number for each of 2 edges"):
        as_graph(geometric("Data", **plain), weight="kg")


def test_a_file_and_a_frame_give_the_same_fit(write):
    rows = [(u, (u * 7 + 3) % 20) for u in range(20)] + [(u, (u + 1) % 20) for u in range(20)]
    text = "\n".join(["source,target", *(f"{u},{v}" for u, v in rows)])
    small = {"n_components": 2, "walks_per_node": 2, "walk_length": 6, "random_state": 3, "n_threads": 1}
    graph = read_graph_files(write("e.csv", text)).to_graph()
    fits = [HEAT(**small).fit(each) for each in (graph, edges(rows))]
    assert np.array_equal(fits[0].embedding_, fits[1].embedding_)
    links = [fit.predict_links(2, score="distance").to_frame() for fit in fits]
    assert links[0].equals(links[1])
    assert "torch" not in sys.modules
