"""Files of edges, attributes and labels: what they become, and the exact line on bad input."""

import gzip
from datetime import UTC, date, datetime

import numpy as np
import pytest

from heat_neo4j.errors import ProjectionError
from heat_neo4j.inputs.files import read_graph_files

EDGES = "10\t2\t1.5\n2\t10\t2\n# a comment\n\n10\t2\t0.5\n3\t3\t1\n"


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


def test_integer_keys_sort_as_numbers_and_repeated_lines_are_summed(write):
    graph = read_graph_files(write("edges.tsv", EDGES))
    assert graph.keys == [2, 3, 10]
    triples = zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True)
    assert list(triples) == [(0, 2, 2.0), (1, 1, 1.0), (2, 0, 2.0)]
    assert graph.counts == {"lines": 4, "merged": 1, "without_attributes": 0, "without_label": 0}


def test_order_of_lines_does_not_show_in_the_sums(write):
    lines = [f"a,b,{weight}" for weight in (1e16, 1.0, 1.0, 3.0, 0.1)]
    forward = read_graph_files(write("f.csv", "\n".join(lines)))
    backward = read_graph_files(write("b.csv", "\n".join(reversed(lines))))
    assert forward.weight.tolist() == backward.weight.tolist()


@pytest.mark.parametrize("name", ["edges.csv", "edges.csv.gz", "graph.v2.CSV"])
def test_header_quotes_blanks_and_byte_order_mark(write, name):
    text = '\ufeffsource,target,weight\r\n"Smith, J", b ,2\r\n007,7,1\r\n'
    graph = read_graph_files(write(name, text))
    assert graph.keys == ["007", "7", "Smith, J", "b"]  # "007" is a name, so every key is text
    assert graph.weight.tolist() == [1.0, 2.0]


def test_comments_above_the_edges_are_skipped_and_nodes_named_like_them_are_not(write):
    text = "# made by hand\n# tag,post\nsource,target\n#music,p1\n# a comment\n#,p2\np1,p2\n"
    graph = read_graph_files(write("e.csv", text))
    assert graph.keys == ["#", "#music", "p1", "p2"]
    assert graph.counts["lines"] == 3


def test_keys_beyond_64_bits_are_text(write):
    assert read_graph_files(write("edges.csv", f"1,{1 << 63}\n")).keys == ["1", str(1 << 63)]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["2024-05-17", "", "1999-12-31"], [date(2024, 5, 17), None, date(1999, 12, 31)]),
        (["2024-05", "2024-06-02"], [date(2024, 5, 1), date(2024, 6, 2)]),
        (["2024-05-17T08:30", "2024-05-17 08:30:01.5"],
         [datetime(2024, 5, 17, 8, 30), datetime(2024, 5, 17, 8, 30, 1, 500_000)]),
        (["2024-05-17T08:30Z"], [datetime(2024, 5, 17, 8, 30, tzinfo=UTC)]),
        (["2024-05-17", "soon"], ["2024-05-17", "soon"]),
        (["2024-05-17", "2024-05-17T08:30"], ["2024-05-17", "2024-05-17T08:30"]),
        (["2024-02-30"], ["2024-02-30"]),
        (["2024", "1999"], [2024, 1999]),
        (["20240517"], [20240517]),
        (["", ""], [None, None]),
    ],
)  # fmt: skip
def test_a_column_of_dates_becomes_dates(write, cells, values):
    rows = [f"n{row},{cell},1" for row, cell in enumerate(cells)]
    table = write("t.csv", "\n".join([",since,x", *rows]))
    graph = read_graph_files(write("e.csv", "n0,n0\n"), table, as_columns=True)
    assert graph.columns["since"] == values
    assert list(map(type, graph.columns["since"])) == list(map(type, values))


def test_features_follow_the_keys_and_keep_isolated_nodes(write):
    edges = write("edges.csv", "4,1\n1,9\n")
    features = write("feats.csv", ",x,y\n9,0.0,2.5\n4,1,0\n7,0,0\n")
    graph = read_graph_files(edges, features)
    assert graph.keys == [1, 4, 7, 9]
    np.testing.assert_array_equal(graph.features.toarray(), [[0, 0], [1, 0], [0, 0], [0, 2.5]])
    assert graph.properties(3) == {"features": [0.0, 2.5]}
    assert graph.properties(2) == {"features": [0.0, 0.0]}
    assert graph.properties(0) == {"features": None}
    assert graph.counts["without_attributes"] == 1


def test_columns_take_the_narrowest_type_that_fits(write):
    table = ",i,f,t,b,e,n\na,1,1,x,true,,1\nb,,2.5,3,False,,nan\n"
    graph = read_graph_files(write("e.csv", "a,b\n"), write("t.csv", table), as_columns=True)
    assert graph.properties(0) == {"i": 1, "f": 1.0, "t": "x", "b": True, "e": None, "n": 1}
    assert graph.properties(1) == {"i": None, "f": 2.5, "t": "3", "b": False, "e": None, "n": None}
    assert type(graph.properties(0)["f"]) is float
    assert graph.to_graph().attributes is None


def test_one_label_a_node(write):
    graph = read_graph_files(write("e.csv", "1,2\n2,3\n"), class_file=write("l.csv", ",0\n1,5\n2,\n3,5\n"))
    assert [graph.properties(row) for row in range(3)] == [{"label": "5"}, {"label": None}, {"label": "5"}]
    assert graph.counts["without_label"] == 1
    np.testing.assert_array_equal(graph.to_graph().labels["5"], [True, False, True])


def test_several_labels_a_node(write):
    graph = read_graph_files(write("e.csv", "1,2\n"), class_file=write("l.csv", ",red,blue\n1,1,1\n2,0,0\n"))
    assert [graph.properties(row) for row in range(2)] == [{"labels": ["red", "blue"]}, {"labels": []}]


def test_to_graph_is_what_the_files_say(write):
    graph = read_graph_files(write("e.tsv", EDGES), write("f.csv", ",x\n2,1\n3,2\n10,4\n")).to_graph()
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 0, 4], [0, 0, 0], [4, 0, 0]])
    np.testing.assert_array_equal(graph.attributes.toarray()[:, 0], [1, 2, 4])
    assert graph.attribute_names == ("x",)


DAY = 86400.0
DATED = """source,target,weight,time
a,b,1,2024-03-01
b,a,1,1970-01-02
b,c,0,1970-01-05
a,b,1,
a,b,1,1970-01-03T12:00+12:00
"""


@pytest.mark.parametrize(
    "text",
    [
        "source,target,weight,time\na,b,2,1970-01-02\nb,c,1,\nc,c,1,1970-01-01\n",
        "from,to,Time,weight\na,b,1970-01-02T00:00:00Z,2\nb,c,,1\nc,c,1970-01-01T00:00,1\n",
        "u,v,weight,TIME\na,b,2,19700102T000000+0000\nc,c,1,1970-01-01\nb,c,1,\n",
    ],
)
def test_a_column_named_time_is_read_as_such(write, text):
    files = read_graph_files(write("e.csv", text))
    np.testing.assert_array_equal(files.time, [DAY, np.nan, 0.0])
    assert files.times_are_dates
    assert files.weight.tolist() == [2.0, 1.0, 1.0]
    assert files.counts["without_time"] == 1
    graph = files.to_graph()
    np.testing.assert_array_equal(graph.edge_times, [DAY, np.nan])
    assert graph.times_are_dates


def test_times_may_be_numbers_and_weights_be_left_out(write):
    files = read_graph_files(write("e.tsv", "source\ttarget\ttime\n1\t2\t2004\n2\t3\t1999.5\n2\t1\t-3\n"))
    assert files.weight.tolist() == [1.0, 1.0, 1.0]
    assert files.time.tolist() == [2004.0, -3.0, 1999.5]
    assert not files.times_are_dates
    assert files.to_graph().edge_times.tolist() == [-3.0, 1999.5]
    assert not files.to_graph().times_are_dates


def test_without_such_a_column_there_are_no_times(write):
    files = read_graph_files(write("e.csv", "source,target,weight\na,b,2024\n"))
    assert files.time is None
    assert files.to_graph().edge_times is None
    assert "without_time" not in files.counts


def test_the_earliest_of_several_lines_and_directions_counts(write):
    lines = DATED.splitlines()
    forward = read_graph_files(write("f.csv", DATED))
    backward = read_graph_files(write("b.csv", "\n".join([lines[0], *reversed(lines[1:])])))
    assert forward.time.tolist() == backward.time.tolist() == [2 * DAY, DAY, 4 * DAY]
    assert forward.to_graph().edge_times.tolist() == [DAY]  # an edge of weight 0 is none


def test_microseconds_are_as_python_has_them(write):
    files = read_graph_files(write("e.csv", "u,v,time\na,b,2024-03-01T12:30:00.123456+01:00\n"))
    moment = datetime(2024, 3, 1, 11, 30, 0, 123456, tzinfo=UTC)
    assert files.time.tolist() == [moment.timestamp()]


def test_no_edges_at_all(write):
    graph = read_graph_files(write("e.csv", "# nothing yet\n"), write("f.csv", ",x\nb,1\na,2\n"))
    assert graph.keys == ["a", "b"]
    assert len(graph.source) == len(graph.weight) == 0


BAD = [
    ({"e.txt": "a b\n"}, "e.txt: the name must end in .tsv, .csv, .tsv.gz or .csv.gz"),
    ({"e.csv": "a\n"}, "e.csv:1: an edge list has 2 or 3 columns, found 1"),
    ({"e.csv": "a,b,1,x\n"}, "e.csv:1: an edge list has 2 or 3 columns, found 4"),
    (
        {"e.csv": "u,v,1,x\n"},
        "e.csv:1: an edge list has 2 or 3 columns, found 4; more need a header, which names two",
    ),
    (
        {"e.csv": "a,b,1,time\n"},
        "e.csv:1: an edge list has 2 or 3 columns, found 4; more need a header",
    ),
    ({"e.csv": "u,v,1,x,time\n"}, "e.csv:1: an edge list has 2 or 3 columns, found 5"),
    ({"e.csv": "u,v,time,time\n"}, "e.csv:1: two columns could hold the time of an edge, 'time' and 'time'"),
    (
        {"e.csv": "u,v,time\na,b,March\n"},
        "e.csv:2: time 'March' is no date, datetime or number; write it like 2024-03-01, 2024-03-01T",
    ),
    (
        {"e.csv": "u,v,time\na,b,0001-01-01T00:00+01:00\n"},
        "e.csv:2: time '0001-01-01T00:00+01:00' is no date",
    ),
    ({"e.csv": "u,v,time\na,b,inf\n"}, "e.csv:2: time 'inf' is no date, datetime or number"),
    (
        {"e.csv": "u,v,time\na,b,2024-03-01\na,b,\na,b,2024\n"},
        "e.csv:4: time '2024' is a number, those before it are dates",
    ),
    (
        {"e.csv": "u,v,time\na,b,2024\na,b,2024-03-01\n"},
        "e.csv:3: time '2024-03-01' is a date, those before it are numbers",
    ),
    ({"e.csv": "u,v,weight,time\na,b,-1,2024\n"}, "e.csv:2: weight -1 is negative; it must be 0 or more"),
    ({"e.csv": "a,b\n\na,b,1\n"}, "e.csv:3: 3 columns where the first line has 2"),
    ({"e.csv": "a,b,1\na,,1\n"}, "e.csv:2: a node without a name: write one, or remove the line"),
    (
        {"e.csv": "a,b,1\na,b,heavy\n"},
        "e.csv:2: 'heavy' is not a number; a weight is a number of 0 or more: write 1",
    ),
    (
        {"e.csv": "one,other,kg\na,b,1\n"},
        "e.csv:1: 'kg' is not a number; if this is a header, name two of its columns source and",
    ),
    ({"e.csv": "a,b,nan\n"}, "e.csv:1: 'nan' is not a finite number"),
    ({"e.csv": "a,b,1e999\n"}, "e.csv:1: '1e999' is not a finite number"),
    ({"e.csv": "a,b,-1\n"}, "e.csv:1: weight -1 is negative; it must be 0 or more"),
    ({"e.csv": b"a,b\n\xff\xfe,c\n"}, "e.csv:"),
    ({"e.csv": 'a,b\n"a,b\n'}, "e.csv:"),
    ({"e.csv": "a,b\n", "f.csv": ""}, "f.csv: empty; its first line must name the columns"),
    ({"e.csv": "a,b\n", "f.csv": "id\n"}, "f.csv:1: the first line must name every column after the first"),
    ({"e.csv": "a,b\n", "f.csv": ",x,x\n"}, "f.csv:1: two columns are named 'x'"),
    ({"e.csv": "a,b\n", "f.csv": ",x,y\na,1\n"}, "f.csv:2: 2 columns where the first line has 3"),
    ({"e.csv": "a,b\n", "f.csv": ",x\na,1\nb,1\na,2\n"}, "f.csv:4: node 'a' has a line already"),
    ({"e.csv": "a,b\n", "f.csv": ",x\n,1\n"}, "f.csv:2: a node without a name"),
    ({"e.csv": "a,b\n", "f.csv": ",x\na,\n"}, "f.csv:2: '' is not a number"),
    ({"e.csv": "a,b\n", "f.csv": ",x\na,inf\n"}, "f.csv:2: 'inf' is not a finite number"),
    (
        {"e.csv": "a,b\n", "l.csv": ",x,y\n\na,1,2\n"},
        "l.csv:3: label column 'y' holds '2'; write 0 or 1",
    ),
]


@pytest.mark.parametrize(("files", "line"), BAD, ids=[line for _, line in BAD])
def test_bad_files_are_named_with_their_line(write, tmp_path, files, line):
    paths = {name: write(name, text) for name, text in files.items()}
    edges = paths.get("e.csv") or paths["e.txt"]
    with pytest.raises(ProjectionError) as caught:
        read_graph_files(edges, paths.get("f.csv"), paths.get("l.csv"))
    assert str(caught.value).startswith(f"{tmp_path}/{line}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("zipped", [False, True])
def test_the_line_that_is_not_utf_8_is_named(tmp_path, zipped):
    path = tmp_path / ("names.csv.gz" if zipped else "names.csv")
    lines = [f"node{number},other{number}" for number in range(5000)]
    lines[3210] = "Renée,Zoë"
    content = "\n".join(lines).encode("latin-1")
    path.write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(
        ProjectionError, match=rf"{path.name}:3211: byte 0xe9 is not UTF-8: save the file as UTF"
    ):
        read_graph_files(path)


def test_ids_may_be_read_as_texts(write):
    graph = read_graph_files(write("edges.csv", "10,9\n9,1\n"), text_ids=True)
    assert graph.keys == ["1", "10", "9"]


def test_missing_and_cut_off_files(write, tmp_path):
    with pytest.raises(ProjectionError, match=r"e\.csv: cannot be read: No such file or directory"):
        read_graph_files(tmp_path / "e.csv")
    whole = write("whole.csv.gz", "a,b\n" * 10_000).read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ProjectionError, match=r"cut\.csv\.gz: cannot be read: "):
        read_graph_files(tmp_path / "cut.csv.gz")
    (tmp_path / "plain.csv.gz").write_text("a,b\n")
    with pytest.raises(ProjectionError, match=r"plain\.csv\.gz: cannot be read: Not a gzipped file"):
        read_graph_files(tmp_path / "plain.csv.gz")
