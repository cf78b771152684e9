"""Loading files into a live database: what is there afterwards, and what is refused."""

import logging
import uuid
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from heat_neo4j.database.limits import Limits
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.write.loader import LoadNames, make_room
from heat_neo4j.errors import ProjectionError, WriteRefused
from heat_neo4j.inputs.files import read_graph_files
from tests.support.live_graph import snapshot

pytestmark = [pytest.mark.live, pytest.mark.constraint]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ATTRIBUTES = ",x,y\n1,1.5,0\n2,0,0\n3,0,-2\n9,0,7\n"
LABELS = ",class\n1,red\n2,blue\n3,red\n9,\n"


@pytest.fixture
def label(cypher):
    name = f"Load {uuid.uuid4().hex[:8]}"
    yield name
    cypher(f"MATCH (n:`{name}`) DETACH DELETE n")
    for row in cypher("SHOW CONSTRAINTS YIELD name, labelsOrTypes"):
        if row["labelsOrTypes"] == [name]:
            cypher(f"DROP CONSTRAINT `{row['name']}`")


@pytest.fixture
def files(tmp_path):
    def write(edges="3\t1\t0.5\n1\t2\t2\n3\t1\t0.25\n", attributes=ATTRIBUTES, labels=LABELS, **options):
        paths = []
        for name, text in (("e.tsv", edges), ("f.csv", attributes), ("l.csv", labels)):
            paths.append(tmp_path / name if text is not None else None)
            if text is not None:
                paths[-1].write_text(text)
        return read_graph_files(*paths, **options)

    return write


def nodes_of(cypher, label, key="id"):
    rows = cypher(f"MATCH (n:`{label}`) RETURN properties(n) AS p ORDER BY n[$key]", key=key)
    return [row["p"] for row in rows]


def links_of(cypher, label):
    rows = cypher(
        f"MATCH (a:`{label}`)-[r]->(b) RETURN a.id AS a, type(r) AS type, b.id AS b, r.weight AS weight "
        "ORDER BY a, b"
    )
    return [tuple(row.values()) for row in rows]


def test_the_database_holds_what_the_files_say(store, cypher, label, files):
    report = store.load_graph(files(), LoadNames(label, "TIE"))
    assert nodes_of(cypher, label) == [
        {"id": 1, "features": [1.5, 0.0], "label": "red"},
        {"id": 2, "features": [0.0, 0.0], "label": "blue"},
        {"id": 3, "features": [0.0, -2.0], "label": "red"},
        {"id": 9, "features": [0.0, 7.0]},
    ]
    assert links_of(cypher, label) == [(1, "TIE", 2, 2.0), (3, "TIE", 1, 0.75)]
    assert (report.nodes, report.relationships) == (4, 2)
    assert (report.nodes_created, report.relationships_created) == (4, 2)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            "1\t2\n",
            "3\tx9\nx9\t4\n",
            "has the number [12] as 'id', and the ids to be loaded are texts, because of 'x9'",
        ),
        ("1\t2\n", "1\t9223372036854775808\n", "because of '9223372036854775808'"),
        ("7\t8\n", "007\t8\n", "because of '007'"),
        (
            "a\t7\n",
            "7\t8\n",
            "has the text '[a7]' as 'id', and the ids to be loaded are numbers, such as 7: they",
        ),
    ],
)
def test_ids_of_another_type_are_refused_before_anything_is_written(
    store, cypher, label, files, first, second, message
):
    store.load_graph(files(first, None, None), LoadNames(label, "TIE"))
    before = snapshot(cypher)
    for overwrite in (False, True):
        with pytest.raises(WriteRefused, match=message):
            store.load_graph(files(second, None, None), LoadNames(label, "TIE"), overwrite=overwrite)
    assert snapshot(cypher) == before
    if first == "a\t7\n":
        report = store.load_graph(files(second, None, None, text_ids=True), LoadNames(label, "TIE"))
        assert (report.nodes, report.nodes_created) == (2, 1)


def test_the_two_ends_may_have_different_labels(store, cypher, label, files):
    films = f"{label} Film"
    names = LoadNames(label, "SAW", target_label=films)
    both = f"id 1 is both a '{label}' and a '{films}', and its attributes .* nodes of '{label}' alone first"
    with pytest.raises(WriteRefused, match=both):
        store.load_graph(files(), names)
    either = f"id 9 has no relationship: it may be a '{label}' or a '{films}', nothing was loaded"
    with pytest.raises(WriteRefused, match=either):
        store.load_graph(files("1\t1\n1\t2\n3\t2\n", ",x\n2,5\n3,4\n9,1\n", None), names)
    report = store.load_graph(files("1\t1\n1\t2\n3\t2\n", ",x\n2,5\n9,1\n", None), names)
    assert (report.nodes, report.nodes_created, report.relationships_created) == (5, 5, 3)
    assert nodes_of(cypher, label) == [{"id": 1}, {"id": 3}]
    assert nodes_of(cypher, films) == [{"id": 1}, {"id": 2, "features": [5.0]}, {"id": 9, "features": [1.0]}]
    assert [link[::2] for link in links_of(cypher, label)] == [(1, 1), (1, 2), (3, 2)]
    again = store.load_graph(files("1\t1\n1\t2\n3\t2\n", ",x\n2,5\n9,1\n", None), names)
    assert (again.nodes_created, again.relationships_created) == (0, 0)
    cypher(f"MATCH (n:`{films}`) DETACH DELETE n")
    for row in cypher("SHOW CONSTRAINTS YIELD name, labelsOrTypes"):
        if row["labelsOrTypes"] == [films]:
            cypher(f"DROP CONSTRAINT `{row['name']}`")


def test_columns_and_text_keys(store, cypher, label, files):
    graph = files("ann,bob\n".replace(",", "\t"), ",age,city\nann,41,Rome\nbob,,\n", None, as_columns=True)
    store.load_graph(graph, LoadNames(label, "KNOWS", key="name", weight="strength"))
    assert nodes_of(cypher, label, "name") == [{"name": "ann", "age": 41, "city": "Rome"}, {"name": "bob"}]
    (row,) = cypher(f"MATCH (:`{label}`)-[r:KNOWS]->() RETURN properties(r) AS p")
    assert row["p"] == {"strength": 1.0}


def test_loading_twice_changes_nothing(store, cypher, label, files):
    store.load_graph(files(), LoadNames(label, "TIE"))
    before = snapshot(cypher)
    report = store.load_graph(files(), LoadNames(label, "TIE"))
    assert (report.nodes_created, report.relationships_created) == (0, 0)
    assert snapshot(cypher) == before


@pytest.mark.parametrize(("rows", "values"), [(3, 1000), (1000, 5), (1, 1)])
def test_batches_do_not_show_in_the_result(store, cypher, label, files, rows, values):
    generator = np.random.default_rng(3)
    table = generator.random((20, 3)).round(3)
    edges = "".join(f"{a}\t{b}\t{w}\n" for a, b, w in generator.integers(0, 20, (40, 3)))
    features = ",a,b,c\n" + "".join(f"{i},{','.join(map(str, row))}\n" for i, row in enumerate(table))
    store.limits = Limits(rows=rows, values_written=values)
    graph = files(edges, features, None)
    told = []
    store.load_graph(graph, LoadNames(label, "TIE"), on_progress=lambda *call: told.append(call))
    assert [node["features"] for node in nodes_of(cypher, label)] == table.tolist()
    links = zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True)
    assert links_of(cypher, label) == [(a, "TIE", b, weight) for a, b, weight in links]
    for stage, total in (("loading nodes", 20), ("loading relationships", len(graph.source))):
        done = [call[1] for call in told if call[0] == stage]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, total)


DATES = "source\ttarget\ttime\n1\t2\t2024-03-01T12:00:00.25+01:00\n3\t1\t1969-12-31\n2\t3\t\n"


def times_of(cypher, label):
    rows = cypher(
        f"MATCH (a:`{label}`)-[r]->(b) "
        "RETURN a.id AS a, toString(r.time) AS text, valueType(r.time) AS type ORDER BY a"
    )
    return [(row["a"], row["text"], row["type"].removesuffix(" NOT NULL")) for row in rows]


def test_dates_become_datetimes_and_are_read_back(store, cypher, label, files):
    graph = files(DATES)
    names = LoadNames(label, "TIE")
    store.load_graph(graph, names)
    assert times_of(cypher, label) == [
        (1, "2024-03-01T11:00:00.25Z", "ZONED DATETIME"),
        (2, None, "NULL"),
        (3, "1969-12-31T00:00:00Z", "ZONED DATETIME"),
    ]
    read = store.read_graph(Projection([label], ["TIE"], time="time", key="id"))
    ours = graph.to_graph()
    assert read.edge_times.tobytes() == ours.edge_times.tobytes()
    assert (read.times_are_dates, ours.times_are_dates) == (True, True)
    before = snapshot(cypher)
    assert store.load_graph(graph, names).relationships_created == 0
    assert snapshot(cypher) == before


def test_relationships_of_another_type_are_not_merged_into_one(store, cypher, label, files):
    """A pair with two types would become one relationship, with the weight of the last line."""
    graph = files("source\ttarget\ttype\tweight\n1\t2\tKNOWS\t1\n1\t2\tPAYS\t5\n", None, None)
    several = "has relationships of 2 types, such as 'KNOWS' and 'PAYS': load a graph for each type"
    with pytest.raises(ProjectionError, match=several):
        store.load_graph(graph, LoadNames(label, "KNOWS"))
    assert not nodes_of(cypher, label)
    one = files("source\ttarget\ttype\n1\t2\tPAYS\n", None, None)
    assert store.load_graph(one, LoadNames(label, "PAYS")).relationships_created == 1


@pytest.mark.constraint
def test_labels_and_keys_that_read_alike_together_have_their_own_constraints(store, cypher, label, files):
    store.load_graph(files(), LoadNames(f"{label}_a", "TIE", key="b"))
    try:
        assert store.load_graph(files(), LoadNames(label, "TIE", key="a_b")).nodes_created == 4
    finally:
        cypher(f"MATCH (n:`{label}_a`) DETACH DELETE n")
        cypher(f"DROP CONSTRAINT `heat_load_{label}__a_b`")


def test_keys_are_as_long_as_an_index_takes(store, cypher, label, files):
    names, longest = LoadNames(label, "TIE"), "x" * 7_998 + "é"
    assert store.load_graph(files(f"u\tv\na\t{longest}\n", None, None), names).nodes == 2
    with pytest.raises(WriteRefused, match=r"^id 'xxx.*…' is 8,001 bytes long, nothing was loaded: Neo4j "):
        store.load_graph(files(f"u\tv\na\tx{longest}\n", None, None), names)
    assert len(nodes_of(cypher, label)) == 2


def test_numbers_become_numbers(store, cypher, label, files):
    store.load_graph(
        files("u\tv\ttime\tweight\n1\t2\t2004\t3\n2\t3\t-0.5\t4\n"), LoadNames(label, "TIE", time="year")
    )
    rows = cypher(f"MATCH (a:`{label}`)-[r]->() RETURN properties(r) AS p ORDER BY a.id")
    assert [row["p"] for row in rows] == [{"weight": 3.0, "year": 2004.0}, {"weight": 4.0, "year": -0.5}]


def test_many_microseconds_come_back_to_the_bit(store, label, files):
    draw = np.random.default_rng(5)
    moments = [EPOCH + timedelta(microseconds=int(us)) for us in draw.integers(-(2**52), 2**52, 500)]
    lines = "".join(f"{i}\t{i + 1}\t{moment.isoformat()}\n" for i, moment in enumerate(moments))
    graph = files("u\tv\ttime\n" + lines, None, None)
    store.load_graph(graph, LoadNames(label, "TIE"))
    read = store.read_graph(Projection([label], ["TIE"], time="time", key="id"))
    assert read.edge_times.tolist() == [(moment - EPOCH) / timedelta(seconds=1) for moment in moments]


def test_another_time_is_kept_and_one_that_the_file_lacks_too(store, cypher, label, files):
    names = LoadNames(label, "TIE")
    store.load_graph(files(DATES), names)
    for text in ("2024-03-01", "1709290800.25"):
        message = refused(store, cypher, files(f"u\tv\ttime\n1\t2\t{text}\n"), names)
        where = "relationship 'TIE' from 1 to 2 has another 'time' already"
        assert message == f"{where}, nothing was loaded: choose another type, or overwrite"
    before = times_of(cypher, label)
    store.load_graph(files("u\tv\ttime\n1\t2\t\n3\t1\t1969-12-31\n"), names)
    store.load_graph(files("1\t2\n"), names)
    assert times_of(cypher, label) == before
    store.load_graph(files("u\tv\ttime\n1\t2\t7\n"), names, overwrite=True)
    assert times_of(cypher, label)[0][1:] == ("7.0", "FLOAT")


def test_weight_and_time_of_one_name_are_refused(store, cypher, label, files):
    names = LoadNames(label, "TIE", weight="time")
    assert refused(store, cypher, files(DATES), names) == (
        "weight and time are both named 'time': rename the weight"
    )
    store.load_graph(files(), names)


def refused(store, cypher, graph, names, **options):
    before = snapshot(cypher)
    with pytest.raises(WriteRefused) as caught:
        store.load_graph(graph, names, **options)
    assert snapshot(cypher) == before
    return str(caught.value)


def test_another_value_of_a_node_is_kept(store, cypher, label, files):
    cypher(f"CREATE (:`{label}` {{id: 2, label: 'mine'}})")
    message = refused(store, cypher, files(), LoadNames(label, "TIE"))
    where = f"node 2 of label {label!r} has another 'label' already"
    assert message == f"{where}, nothing was loaded: choose another label, or overwrite"


def test_another_weight_is_kept(store, cypher, label, files):
    names = LoadNames(label, "TIE")
    store.load_graph(files(), names)
    message = refused(store, cypher, files("3\t1\t0.75\n1\t2\t3\n"), names)
    where = "relationship 'TIE' from 1 to 2 has another 'weight' already"
    assert message == f"{where}, nothing was loaded: choose another type, or overwrite"


def test_overwrite_replaces_values_and_leaves_the_others(store, cypher, label, files):
    cypher(f"CREATE (:`{label}` {{id: 2, label: 'mine', born: 1990}})")
    store.load_graph(files(), LoadNames(label, "TIE"), overwrite=True)
    assert nodes_of(cypher, label)[1] == {"id": 2, "label": "blue", "born": 1990, "features": [0.0, 0.0]}


def test_nodes_that_share_a_key_are_refused(store, cypher, label, files):
    cypher(f"UNWIND [5, 7, 7] AS id CREATE (:`{label}` {{id: id}})")
    message = refused(store, cypher, files(), LoadNames(label, "TIE"))
    assert (
        message
        == f"two nodes of label {label!r} have 'id' 7, nothing was loaded: choose another label or key"
    )


def test_a_column_named_like_the_key_is_refused(store, cypher, label, files):
    graph = files(attributes=",id,x\n1,5,6\n", as_columns=True)
    message = refused(store, cypher, graph, LoadNames(label, "TIE"))
    assert message == "a property of the nodes is named 'id', like the key: rename the key"


def test_hostile_names_are_only_names(store, cypher, files):
    names = LoadNames("A`) DETACH DELETE n //", "T'\"`]", key="k`{}", weight="{w} $w")
    try:
        store.load_graph(files(), names)
        refused(store, cypher, files("1\t2\t9\n"), names)
        quoted = names.label.replace("`", "``")
        (row,) = cypher(
            f"MATCH (a:`{quoted}`)-[r]->(b) WHERE a[$key] = 1 "
            "RETURN type(r) AS type, r[$weight] AS weight, b[$key] AS b",
            key=names.key,
            weight=names.weight,
        )
        assert tuple(row.values()) == (names.relationship, 2.0, 2)
    finally:
        cypher("MATCH (n) WHERE $label IN labels(n) DETACH DELETE n", label=names.label)
        for row in cypher("SHOW CONSTRAINTS YIELD name WHERE name STARTS WITH 'heat_load_A'"):
            cypher("DROP CONSTRAINT `" + row["name"].replace("`", "``") + "`")


def test_a_constraint_of_the_users_own_serves(store, cypher, label, files):
    cypher(f"CREATE CONSTRAINT FOR (n:`{label}`) REQUIRE n.id IS UNIQUE")
    before = snapshot(cypher)["constraints"]
    store.load_graph(files(), LoadNames(label, "TIE"))
    assert snapshot(cypher)["constraints"] == before


def test_make_room_removes_only_older_loads_of_the_family(store, cypher, label):
    cypher(f"UNWIND ['x 1', 'x 1', 'x 2'] AS o CREATE (:`{label}` {{origin: o}})-[:TIE]->(:`Kept {label}`)")
    try:
        assert make_room(store, label, family="x", origin="x 2") == 2
        assert nodes_of(cypher, label) == [{"origin": "x 2"}]
        cypher(f"CREATE (:`{label}` {{origin: 5}})")
        before = snapshot(cypher)
        with pytest.raises(
            WriteRefused, match=f"^label '{label}' is on 1 node that 'x' did not make, nothing was loaded: "
        ):
            make_room(store, label, family="x", origin="x 3")
        assert snapshot(cypher) == before
    finally:
        cypher(f"MATCH (n:`Kept {label}`) DETACH DELETE n")


def test_no_statement_draws_a_notification(store, label, files, caplog):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    names = LoadNames(label, "TIE")
    store.load_graph(files(), names)
    store.load_graph(files(), names)
    store.load_graph(
        files(DATES.replace("time", "time\tweight", 1).replace("\n", "\t1\n").replace("weight\t1", "weight")),
        names,
        overwrite=True,
    )
    with pytest.raises(WriteRefused):
        store.load_graph(files("1\t2\t9\n"), names)
    with pytest.raises(WriteRefused):
        make_room(store, label, family="x", origin="x 1")
    assert [record.getMessage() for record in caplog.records if record.name == "neo4j.notifications"] == []
