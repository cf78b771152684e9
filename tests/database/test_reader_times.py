"""Times of relationships, read from a live server: against a slow twin, and what is refused."""

from __future__ import annotations

import logging
import math
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from neo4j.exceptions import ServiceUnavailable
from scipy import sparse

from heat_neo4j.database.connection import Transaction
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ProjectionError
from tests.support.live_graph import open_cypher, open_store, snapshot
from tests.support.shuffling import shuffling_transaction

pytestmark = pytest.mark.live

NODE, OUTSIDE, LINK = "TimedNode", "TimedOutside", "TIMED_LINK"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
N = 25


@pytest.fixture
def cypher(server):
    """Run any statement past the package; afterwards the test's nodes are gone."""
    with open_cypher(server) as run:
        yield run
        run(f"MATCH (n:{NODE}|{OUTSIDE}) DETACH DELETE n")


SMALL = Limits(nodes=4, relationships=9, first_pause=0.0)


@pytest.fixture
def small_chunks(store):
    """Read in chunks so small that a little graph takes many."""
    store.limits = SMALL


def some_time(draw, kind):
    """A value of the property and the number that it stands for."""
    if kind == "number":
        value = draw.choice([draw.randrange(1900, 2030), draw.uniform(-5, 5), 0, -0.0])
        return value, float(value)
    micro = draw.choice([0, 250_000, 123_456, 999_999])
    moment = EPOCH + timedelta(
        days=draw.randrange(-9000, 30_000), seconds=draw.randrange(86_400), microseconds=micro
    )
    if kind == "date" or (kind == "mixed" and draw.random() < 0.3):
        day = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        return moment.date(), (day - EPOCH) / timedelta(seconds=1)
    seconds = (moment - EPOCH) / timedelta(seconds=1)
    if kind == "local" or draw.random() < 0.4:
        return moment.replace(tzinfo=None), seconds
    hours = timedelta(hours=draw.randrange(-11, 12))
    return (moment + hours).replace(
        tzinfo=None
    ).isoformat() + f"{hours // timedelta(hours=1):+03d}:00", seconds


def make(cypher, kind, seed):
    """Create nodes and parallel, opposite, self and leaving relationships, some without time or of weight 0.

    Returns the earliest time of each edge by pair of keys, and how many that count have no time.
    """
    draw = random.Random(seed)
    cypher(f"UNWIND range(0, $n - 1) AS i CREATE (:{NODE} {{key: i}})", n=N)
    cypher(f"CREATE (:{OUTSIDE} {{key: $n}})", n=N)
    earliest, without, rows = {}, 0, []
    for _ in range(110):
        a, b = draw.randrange(12), draw.randrange(N + 1)
        weight = draw.choice([None, 0, 1, 2.5])
        value, seconds = (None, math.nan) if draw.random() < 0.2 else some_time(draw, kind)
        ends = draw.choice([(a, b), (b, a)]) if b < N else (a, b)
        rows.append({"a": ends[0], "b": ends[1], "weight": weight, "time": value})
        if a != b and b < N and weight != 0:
            pair = (min(a, b), max(a, b))
            known = [time for time in (earliest.get(pair, math.nan), seconds) if not math.isnan(time)]
            earliest[pair] = min(known, default=math.nan)
            without += value is None
    cypher(
        f"UNWIND $rows AS row MATCH (a:{NODE} {{key: row.a}}) MATCH (b:{NODE}|{OUTSIDE} {{key: row.b}}) "
        f"CREATE (a)-[r:{LINK}]->(b) SET r.weight = row.weight, r.time = CASE "
        "WHEN row.time IS :: STRING NOT NULL THEN datetime(row.time) ELSE row.time END",
        rows=rows,
    )
    return earliest, without


PROJECTION = Projection([NODE], [LINK], weight="weight", time="time", key="key")


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kind", ["number", "date", "local", "mixed"])
def test_it_reads_what_the_slow_twin_reads(cypher, store, kind):
    earliest, without = make(cypher, kind, kind)
    graph = store.read_graph(PROJECTION)
    edges = sparse.triu(graph.adjacency, k=1, format="csr").tocoo()
    pairs = list(zip(edges.row.tolist(), edges.col.tolist(), strict=True))
    assert sorted(earliest) == pairs
    np.testing.assert_array_equal(graph.edge_times, [earliest[pair] for pair in pairs])
    assert np.isnan(graph.edge_times).any()
    assert graph.provenance.counts["relationships_without_time"] == without > 0
    assert graph.times_are_dates == (kind != "number")
    assert graph.provenance.projection["time"] == "time"
    report = store.check(PROJECTION)
    assert (report.problems, report.counts["relationships_without_time"]) == ((), without)
    # The rest of the graph is what it is without times.
    plain = store.read_graph(Projection([NODE], [LINK], weight="weight", key="key"))
    assert plain.edge_times is None
    assert "relationships_without_time" not in plain.provenance.counts
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(plain.adjacency, part), getattr(graph.adjacency, part))


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kind", ["number", "mixed"])
def test_neither_the_order_of_the_answers_nor_chunks_matter(cypher, store, kind):
    make(cypher, kind, 2)
    plain = store.read_graph(PROJECTION).edge_times.tobytes()
    for seed in range(3):
        store.transaction = shuffling_transaction(seed)
        assert store.read_graph(PROJECTION).edge_times.tobytes() == plain
    store.limits = Limits(nodes=1000, relationships=1000)
    assert store.read_graph(PROJECTION).edge_times.tobytes() == plain


class FailingOnce(Transaction):
    """Each chunk of relationships is answered, then its transaction fails once."""

    failed: set[str]

    def run(self, statement, parameters=None):
        answer = super().run(statement, parameters)
        if "heat_time" in (parameters or {}) and repr(parameters) not in self.failed:
            self.failed.add(repr(parameters))
            raise ServiceUnavailable("a broken wire")
        return answer


def test_a_transaction_that_is_repeated_counts_once(cypher, store, server):
    make(cypher, "mixed", 3)
    plain = store.read_graph(PROJECTION)
    failing = type("_", (FailingOnce,), {"failed": set()})
    with open_store(server, limits=SMALL) as other:
        other.transaction = failing
        repeated = other.read_graph(PROJECTION)
    assert len(failing.failed) > 5
    assert repeated.edge_times.tobytes() == plain.edge_times.tobytes()
    assert repeated.provenance.counts == plain.provenance.counts


def test_without_a_weight_and_with_every_aggregation(cypher, store):
    cypher(
        f"CREATE (a:{NODE} {{key: 1}}), (b:{NODE} {{key: 2}}), (a)-[:{LINK} {{time: 7}}]->(b), "
        f"(b)-[:{LINK} {{time: 5, weight: 0}}]->(a), (a)-[:{LINK}]->(b)"
    )
    for aggregation in ("sum", "min", "max", "count", "single"):
        graph = store.read_graph(Projection([NODE], [LINK], time="time", aggregation=aggregation))
        assert graph.edge_times.tolist() == [5.0]
    assert store.read_graph(Projection([NODE], [LINK], weight="weight", time="time")).edge_times.tolist() == [
        7.0
    ]


def test_no_relationships_have_no_times(cypher, store):
    cypher(f"CREATE (:{NODE})-[:{LINK} {{time: 1}}]->(:{OUTSIDE}), (:{NODE})")
    graph = store.read_graph(Projection([NODE], [LINK], time="time"))
    assert graph.edge_times.shape == (0,)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("date('1969-12-31')", -86400.0),
        ("localdatetime('1969-12-31T23:59:59.25')", -0.75),
        ("datetime('1969-12-31T23:59:59.999999Z')", -1e-6),
        ("datetime('1970-01-01T01:00:00.5[Europe/Berlin]')", 0.5),
        ("datetime('2024-03-31T02:30:00+02:00')", 1711845000.0),
        ("datetime('2024-03-01T00:00:00.123456789Z')", 1709251200.1234567890),
        ("date('9999-12-31')", 253402214400.0),
        ("date('-0044-03-15')", -63549360000.0),
    ],
)
def test_seconds_are_those_of_utc(cypher, store, text, seconds):
    cypher(f"CREATE (:{NODE})-[:{LINK} {{time: {text}}}]->(:{NODE})")
    (read,) = store.read_graph(Projection([NODE], [LINK], time="time")).edge_times.tolist()
    assert read == seconds


def test_properties_with_dates_are_suggested(cypher, store):
    cypher(
        f"CREATE (a:{NODE})-[:{LINK} {{since: date(), `at$(x)`: datetime(), text: '2024-03-01'}}]->(:{NODE}) "
        f"CREATE (a)-[:{LINK} {{since: 3}}]->(a)"
    )
    named = Projection([NODE], [LINK], time="since")
    assert store.time_advice(named, [LINK]) == ()
    assert store.time_advice(Projection([NODE], [LINK]), []) == ()
    (line,) = store.time_advice(Projection([NODE], [LINK]), [LINK])
    assert (
        line
        == "relationships have dates; for the probability of links to come: --time 'at$(x)' or --time since"
    )
    assert line in store.check(Projection([NODE], [LINK])).advice


def test_nodes_deleted_while_reading_take_their_times_along(cypher, store):
    cypher(f"UNWIND range(0, 9) AS i CREATE (:{NODE} {{key: i}})")
    cypher(
        f"MATCH (a:{NODE}) MATCH (b:{NODE} {{key: (a.key + 1) % 10}}) "
        f"CREATE (a)-[:{LINK} {{time: a.key}}]->(b)"
    )

    def delete_some(stage, done, total):
        if stage == "reading relationships" and done == total:
            cypher(f"MATCH (n:{NODE}) WHERE n.key IN [0, 4, 5] DETACH DELETE n")

    graph = store.read_graph(Projection([NODE], [LINK], time="time", key="key"), on_progress=delete_some)
    assert graph.edge_times.tolist() == [1.0, 2.0, 6.0, 7.0, 8.0]


BAD = {
    "a string": (
        "'2024-03-01'",
        r"1 not dates or numbers \(str\), e.g. '2024-03-01' from node 4:.* to node 4:",
    ),
    "a boolean": ("true", r"1 not dates or numbers \(bool\), e.g. True from"),
    "a duration": ("duration('P1D')", r"1 not dates or numbers \(Duration\), e.g. "),
    "a time of day": ("localtime('12:00')", r"1 not dates or numbers \(Time\), e.g. "),
    "a list": ("[date('2024-03-01')]", r"1 not dates or numbers \(list\), e.g. "),
    "NaN": ("0.0 / 0.0", "1 NaN, e.g. nan from"),
    "infinite": ("1.0 / 0.0", "1 infinite, e.g. inf from"),
}
ADVICE = "times are numbers, dates or datetimes; set them in Neo4j, such as date('2024-03-01')"


@pytest.mark.parametrize(("value", "found"), BAD.values(), ids=BAD)
def test_values_that_are_no_times_are_named_in_one_line(cypher, store, value, found):
    cypher(f"CREATE (a:{NODE})-[:{LINK} {{time: {value}}}]->(b:{NODE}), (a)-[:{LINK} {{time: date()}}]->(b)")
    refused(cypher, store, f"^time 'time' is not usable: {found}", f": {ADVICE}")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("datetime({year: 999999999, timezone: 'Z'})", 31556889801244800.0),
        ("localdatetime({year: -999999999})", -31557014135596800.0),
        ("date({year: 999999999, month: 12, day: 31})", 31556889832694400.0),
    ],
)
def test_the_first_and_the_last_times_of_all_are_read(cypher, store, value, seconds):
    """Some use them for "since ever" and "never"."""
    cypher(
        f"CREATE (:{NODE} {{at: {value}}})-[:{LINK} {{time: {value}}}]->(:{NODE} {{at: date('1970-01-02')}})"
    )
    graph = store.read_graph(Projection([NODE], [LINK], time="time", attributes=["at"]))
    assert graph.edge_times.tolist() == [seconds]
    (entry,) = graph.provenance.attribute_recipe
    assert entry["mean"] == pytest.approx((seconds / 86_400 + 1) / 2)
    assert store.check(Projection([NODE], [LINK], time="time", attributes=["at"])).problems == ()


def test_dates_and_numbers_do_not_mix(cypher, store):
    cypher(
        f"CREATE (a:{NODE})-[:{LINK} {{time: 2004}}]->(b:{NODE}), (a)-[:{LINK} {{time: date()}}]->(b), "
        f"(b)-[:{LINK} {{time: datetime()}}]->(a)"
    )
    message = "^time 'time' is not usable: it mixes 2 dates and 1 numbers: make them one kind in Neo4j$"
    refused(cypher, store, message)


def test_a_property_that_no_relationship_has(cypher, store):
    cypher(f"CREATE (a:{NODE} {{key: 1}})-[:{LINK}]->(b:{NODE} {{key: 2}}), (a)-[:{LINK}]->(b)")
    message = "^time 'key' is on none of the 2 relationships that match: name another property, or leave the "
    refused(cypher, store, message, "time out", time="key")


def refused(cypher, store, message, end="", time="time"):
    before = repr(snapshot(cypher))
    projection = Projection([NODE], [LINK], time=time)
    with pytest.raises(ProjectionError, match=message) as caught:
        store.read_graph(projection)
    assert str(caught.value).endswith(end)
    assert "\n" not in str(caught.value)
    assert store.check(projection).problems == (str(caught.value),)
    assert repr(snapshot(cypher)) == before


def test_bad_values_of_relationships_that_do_not_count_do_no_harm(cypher, store):
    cypher(
        f"CREATE (a:{NODE})-[:{LINK} {{time: 1}}]->(b:{NODE}), (a)-[:{LINK} {{time: 'x'}}]->(:{OUTSIDE}), "
        f"(a)-[:{LINK} {{time: date()}}]->(a), (a)-[:{LINK} {{time: true, weight: 0}}]->(b)"
    )
    graph = store.read_graph(Projection([NODE], [LINK], weight="weight", time="time"))
    assert graph.edge_times.tolist() == [1.0]
    assert not graph.times_are_dates


def test_check_lists_a_bad_weight_and_a_bad_time(cypher, store):
    cypher(f"CREATE (:{NODE})-[:{LINK} {{time: 'x', weight: -1}}]->(:{NODE})")
    problems = store.check(Projection([NODE], [LINK], weight="weight", time="time")).problems
    assert [problem.split(" is ")[0] for problem in problems] == ["weight 'weight'", "time 'time'"]


def test_hostile_names(cypher, store):
    name = "t` // \"'{}@x $y"
    cypher(f"CREATE (:{NODE})-[r:{LINK}]->(:{NODE}) SET r[$name] = 3", name=name)
    assert store.read_graph(Projection([NODE], [LINK], time=name)).edge_times.tolist() == [3.0]


def test_no_statement_draws_a_notification(cypher, store, caplog):
    make(cypher, "mixed", 4)
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    for weight in (None, "weight"):
        projection = Projection([NODE], [LINK], weight=weight, time="time")
        store.read_graph(projection)
        store.check(projection)
        store.count(projection)
    assert caplog.records == []
