"""A publication that stops at each of its statements, and what the next holder of the lease makes of it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.statements import load_statement
from tests.support.killed import Killed, stop_at, stop_at_words
from tests.support.live_graph import (
    assert_at_rest,
    make_ring,
    publish_random,
    random_links,
    ring_graph,
    runs_in_graph,
)
from tests.support.slow import slow
from tests.support.store import Store

pytestmark = pytest.mark.live

LABEL, N = "RingNode", 12
NAMES = WriteNames(model="ring test")


@pytest.fixture
def ring(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")


publish = partial(publish_random, names=NAMES)


def plain(cypher):
    """Return what a reader sees who knows nothing of versions."""
    nodes = cypher(f"MATCH (n:{LABEL}) RETURN n.key AS key, n.ringTestEmbedding AS e, n.ringTestRadius AS r")
    links = cypher("MATCH (a)-[p:RING_TEST_PREDICTED]->(b) RETURN a.key AS a, b.key AS b, properties(p) AS p")
    return (
        {row["key"]: (row["e"], row["r"]) for row in nodes},
        {(row["a"], row["b"]): row["p"] for row in links},
    )


def at_rest(cypher):
    """See that all is as it must be at rest; return what is published."""
    node = assert_at_rest(cypher, LABEL, NAMES)
    assert node["indexes"] == [f"ringTest_{LABEL}"]
    assert runs_in_graph(cypher, LABEL, NAMES)["plain"] == {node["space"]: N}
    return node


@pytest.mark.slow
@pytest.mark.vector_index
def test_clearing_a_run_tells_what_other_versions_go_with_it(cypher, store, ring):
    """Nodes that a local run left alone belong to both versions; after a rollback that of before stays."""
    first = publish(store, ring, 0).run_id
    before = plain(cypher)
    local = publish(store, ring, 1, np.arange(N) % 3 == 0).run_id
    assert store.clear(run_id=first, dry_run=True).others == (local,)
    assert store.clear(run_id=local, dry_run=True).others == (first,)
    store.rollback(NAMES.model)
    assert store.clear(run_id=local).others == ()
    assert plain(cypher) == before
    local = publish(store, ring, 2, np.arange(N) % 3 == 0).run_id
    assert store.clear(run_id=local).others == (first,)
    assert plain(cypher)[0] == dict.fromkeys(range(N), (None, None))


@pytest.mark.parametrize("shared", [slow(0), 7, slow(15)])
def test_links_that_two_versions_share_are_changed_in_place(cypher, store, ring, shared):
    """Their relationships stay the same ones; a user's own between the same nodes stay as they are."""

    def links(copy, runs):
        rows = cypher(
            f"MATCH (a)-[p:{copy}]->(b) WHERE p.run IN $runs RETURN a.key AS a, b.key AS b, p.run AS run, "
            "p.distance AS d, p.rank AS rank, p.probability AS p, elementId(p) AS id",
            runs=runs,
        )
        return {(row["a"], row["b"]): tuple(row.values())[2:] for row in rows}

    pairs = [(a, b) for a in range(N) for b in range(a + 1, N)]
    versions = [pairs[15 * i : 15 * i + 15 - shared] + pairs[51 : 51 + shared] for i in range(3)]
    runs, written = [], []
    for seed, version in enumerate(versions):
        source, target = np.array(version).T
        with store.start_run(ring, parts=["links"], names=NAMES, overwrite=True) as run:
            run.write_links(replace(random_links(N, seed, 15), source=source, target=target))
            runs.append(run.publish().run_id)
        written.append(links(NAMES.links.plain, runs))
        assert set(written[-1]) == set(version)
        if seed == 0:
            for copy in NAMES.links:
                cypher(
                    f"MATCH (a:{LABEL} {{key: $a}}) MATCH (b:{LABEL} {{key: $b}}) "
                    f"CREATE (a)-[:{copy} {{run: 'mine', rank: -1}}]->(b)",
                    a=version[-1][0],
                    b=version[-1][1],
                )
        if seed:
            previous = links(NAMES.links.previous, runs)
            assert {pair: link[:-1] for pair, link in previous.items()} == {
                pair: link[:-1] for pair, link in written[-2].items()
            }
            same = set(written[-1]) & set(written[-2])
            assert len(same) == shared
            assert all(written[-1][pair][-1] == written[-2][pair][-1] for pair in same)
    for copy in NAMES.links:
        assert [link[2] for link in links(copy, ["mine"]).values()] == [-1]
    cypher("MATCH ()-[p]->() WHERE p.run = 'mine' DELETE p")


@pytest.mark.slow
@pytest.mark.vector_index
@pytest.mark.parametrize(
    ("action", "step"),
    [("full", 1), ("full", 3), ("local", 4), ("rollback", 4)],
)
def test_whichever_statement_is_the_last_the_next_holder_puts_all_right(cypher, store, ring, action, step):
    for seed in range(2):
        publish(store, ring, seed)
    changed = np.arange(N) % 3 == 0
    acts = {
        "full": lambda seed: publish(store, ring, seed),
        "local": lambda seed: publish(store, ring, seed, changed),
        "rollback": lambda seed: store.rollback(NAMES.model),
    }
    outcomes, is_over = [], False
    while not is_over:
        before, old = plain(cypher), at_rest(cypher)
        stop_at(store, 1 + step * len(outcomes))
        try:
            acts[action](2 + len(outcomes))
            is_over = True
        except Killed:
            pass
        store.tracer = None
        with store.lease(NAMES.model):
            pass
        outcomes.append(at_rest(cypher)["run"] != old["run"])
        assert (plain(cypher) != before) == outcomes[-1]
    # It has not happened, and then it has.
    assert outcomes == sorted(outcomes)
    assert {False, True} == set(outcomes)
    store.rollback(NAMES.model)
    assert plain(cypher) == before
    assert at_rest(cypher)["run"] == old["run"]


BY_VERSION = """
MATCH (model:HeatModel {name: 'ring test'})
WITH model.version AS version
MATCH (m:HeatVersion {model: 'ring test', number: version})
MATCH (a)-[p:$(coalesce(m.stagedLinkType, m.linkType))]->(b) WHERE p.run = m.linkRun
RETURN m.linkRun AS run, a.key AS a, b.key AS b, p.rank AS rank
"""


def test_links_by_version_are_whole_at_each_statement_of_a_takeover(cypher, store, ring):
    """Of a writer that died after its first switch plain links are still those of the version before."""
    for seed in range(2):
        publish(store, ring, seed)
    old = plain(cypher)
    stop_at_words(store, "$left")
    with pytest.raises(Killed):
        publish(store, ring, 2)
    store.tracer = None
    (dead,) = [run.run_id for run in store.runs(NAMES.model)[:1]]
    links = random_links(N, 2)
    expected = {(dead, a, b) for a, b in zip(links.source.tolist(), links.target.tolist(), strict=True)}
    assert plain(cypher) == old
    seen = []

    def read(statement, parameters):
        seen.append({(row["run"], row["a"], row["b"]) for row in cypher(BY_VERSION)})

    store.tracer = read
    with store.lease(NAMES.model):
        pass
    store.tracer = None
    assert len(seen) > 10
    assert all(each == expected for each in seen)


def test_the_database_has_the_name_that_lists_of_transactions_give_it(server, store):
    """Otherwise readers would not be awaited where the name was given in capitals."""
    auth, name = (server.user, server.password), store.server.database
    with Store.open(server.uri, auth=auth, database=name.upper()) as shouted:
        assert shouted.server.database == name


@pytest.mark.both_releases  # Cypher 5 and Cypher 25 differ here
def test_a_reader_between_two_queries_is_awaited(server, store, cypher):
    with cypher.driver.session(database=server.database) as session:
        with session.begin_transaction(metadata={"reader": "idle"}) as reader:
            reader.run("RETURN 1").consume()
            (shown,) = cypher(
                "SHOW TRANSACTIONS YIELD transactionId, metaData WHERE metaData.reader = 'idle' "
                "RETURN transactionId AS id"
            )
            params = {"database": store.server.database}
            (awaited,) = store.read(load_statement("read/transactions"), params)
            assert shown["id"] in awaited["ids"]
        (awaited,) = store.read(load_statement("read/transactions"), params)
        assert shown["id"] not in awaited["ids"]
