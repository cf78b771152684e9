"""A publication that stops at each of its statements, and what the next holder of the lease makes of it."""

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from tests.support.live_graph import make_ring, published_node, random_links, random_points, ring_graph
from tests.support.live_graph import runs_in_graph

pytestmark = pytest.mark.live

LABEL, N = "PublicationRing", 12
NAMES = WriteNames(model="publication")


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours is caught or sent after it."""


@pytest.fixture
def ring(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")


def publish(store, graph, seed, changed=None):
    """Publish coordinates and links of a seed; with `changed` only those of some rows are of the seed."""
    points = random_points(N, seed)
    with store.start_run(graph, parts=["embedding", "links"], names=NAMES) as run:
        if changed is None:
            run.write_embedding(points)
        else:
            stored = store.read_stored(graph, NAMES.model)
            kept = type(stored)(stored.run, stored.kind, stored.values, stored.radii, ~changed)
            from heat_neo4j.database.write.payload import check_coordinates

            run.send_coordinates(kept.kept_in(check_coordinates(points, N, "poincare")), {}, changed)
        run.write_links(random_links(N, seed))
        return run.publish()


def stopping_at(store, count):
    """Let the process end before statement number `count`; return a list that holds how many were sent."""
    sent = [0]

    def trace(statement, parameters):
        sent[0] += 1
        if sent[0] >= count:
            raise Killed

    store.tracer(trace)
    return sent


def plain(cypher):
    """Return what a reader sees who knows nothing of versions."""
    nodes = cypher(
        f"MATCH (n:{LABEL}) RETURN n.key AS key, n.publicationEmbedding AS e, n.publicationRadius AS r"
    )
    links = cypher(
        "MATCH (a)-[p:PUBLICATION_PREDICTED]->(b) RETURN a.key AS a, b.key AS b, properties(p) AS p"
    )
    return (
        {row["key"]: (row["e"], row["r"]) for row in nodes},
        {(row["a"], row["b"]): row["p"] for row in links},
    )


def at_rest(cypher):
    """See that nothing is staged, and that the one index is there; return what is published."""
    node = published_node(cypher, NAMES.model)
    counts = runs_in_graph(cypher, LABEL, NAMES)
    assert not counts.keys() & {"staged", "staged links", "torn"}
    assert counts["plain"] == {node["space"]: N}
    assert counts["plain links"].keys() == {node["linkRun"]}
    assert "publishing" not in node
    assert "staging" not in node
    names = [
        row["name"] for row in cypher("SHOW VECTOR INDEXES YIELD name WHERE name STARTS WITH 'publication'")
    ]
    assert names == node["indexes"] == [f"publication_{LABEL}"]
    return node


@pytest.mark.both_releases
@pytest.mark.parametrize("action", ["full", "local", "rollback"])
def test_whichever_statement_is_the_last_the_next_holder_puts_all_right(cypher, store, ring, action):
    publish(store, ring, 0)
    publish(store, ring, 1)
    changed = np.arange(N) % 3 == 0
    acts = {
        "full": lambda: publish(store, ring, 2),
        "local": lambda: publish(store, ring, 2, changed),
        "rollback": lambda: store.roll_back(NAMES.model),
    }
    outcomes, count = [], 1
    while True:
        before, old = plain(cypher), at_rest(cypher)
        stopping_at(store, count)
        try:
            acts[action]()
        except Killed:
            is_over = False
        else:
            is_over = True
        store.tracer(None)
        with store.lease(NAMES.model):
            pass
        node = at_rest(cypher)
        if node["run"] == old["run"]:
            assert plain(cypher) == before
            outcomes.append("untouched")
        else:
            assert plain(cypher) != before
            outcomes.append("published")
            after = plain(cypher)
            store.roll_back(NAMES.model)  # what was published before is not lost either
            assert plain(cypher) == before
            assert at_rest(cypher)["run"] == old["run"]
            assert after[0].keys() == before[0].keys()
        if is_over:
            break
        count += 1 if count < 12 else 2
    # It happens once, and then has happened.
    switched = outcomes.index("published")
    assert outcomes == ["untouched"] * switched + ["published"] * (len(outcomes) - switched)
    assert 5 < switched < len(outcomes) - 5
