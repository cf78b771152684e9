"""A publication that stops at each of its statements, and what the next holder of the lease makes of it."""

import itertools

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.write.payload import check_coordinates
from tests.support.live_graph import (
    assert_at_rest,
    make_ring,
    random_links,
    random_points,
    ring_graph,
    runs_in_graph,
)

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
            run.send_coordinates(kept.kept_in(check_coordinates(points, N, "poincare")), {}, changed)
        run.write_links(random_links(N, seed))
        return run.publish()


def stop_at(store, count):
    """Let the process end before statement number `count`, and send nothing after it."""
    sent = itertools.count(1)

    def trace(statement, parameters):
        if next(sent) >= count:
            raise Killed

    store.tracer(trace)


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
    """See that all is as it must be at rest; return what is published."""
    node = assert_at_rest(cypher, LABEL, NAMES)
    assert node["indexes"] == [f"publication_{LABEL}"]
    assert runs_in_graph(cypher, LABEL, NAMES)["plain"] == {node["space"]: N}
    return node


@pytest.mark.parametrize(("action", "step"), [("full", 1), ("local", 4), ("rollback", 4)])
def test_whichever_statement_is_the_last_the_next_holder_puts_all_right(cypher, store, ring, action, step):
    for seed in range(2):
        publish(store, ring, seed)
    changed = np.arange(N) % 3 == 0
    acts = {
        "full": lambda seed: publish(store, ring, seed),
        "local": lambda seed: publish(store, ring, seed, changed),
        "rollback": lambda seed: store.roll_back(NAMES.model),
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
        store.tracer(None)
        with store.lease(NAMES.model):
            pass
        outcomes.append(at_rest(cypher)["run"] != old["run"])
        assert (plain(cypher) != before) == outcomes[-1]
    # It has not happened, and then it has.
    assert outcomes == sorted(outcomes)
    assert {False, True} == set(outcomes)
    store.roll_back(NAMES.model)
    assert plain(cypher) == before
    assert at_rest(cypher)["run"] == old["run"]
