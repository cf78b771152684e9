"""Two writers of one model at the same moment: one of them is told so, and the published version is whole."""

import threading
from itertools import combinations_with_replacement

import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import LeaseHeld, ProjectionError
from heat_neo4j.pipeline.embed import embed, predict, refresh
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.pipeline.job import LinkOptions
from tests.support.live_graph import assert_at_rest, open_store, random_links, random_points
from tests.support.refresh_toy import LABEL, MODEL, N, make_job, small_model
from tests.support.slow import slow

pytestmark = pytest.mark.live

NAMES = WriteNames(MODEL)
LINKS = LinkOptions(k=2, score="distance")
JOB = make_job(links=LINKS, gate=Gate(1.0, 1.0, 0.0))
WRITERS = {
    "embed": lambda store: embed(store, JOB.projection, small_model(), model=NAMES.model, links=LINKS),
    "links": lambda store: predict(store, MODEL, links=LINKS, n_threads=1),
    "refresh": lambda store: refresh(store, JOB, mode="full"),
    "rollback": lambda store: store.rollback(MODEL),
    "clear": lambda store: store.clear(model=MODEL),
    "prune": lambda store: store.prune(MODEL, previous=True),
}
PAIRS = list(combinations_with_replacement(WRITERS, 2))


@pytest.fixture
def stores(store, server, indexed):
    """Two connections, as two processes have them."""
    with open_store(server, index=indexed) as other:
        yield store, other


def at_once(stores, pair):
    """Let both act at the same moment; return what each raised, or None."""
    ready, raised = threading.Barrier(2), [None, None]

    def act(place):
        ready.wait()
        try:
            WRITERS[pair[place]](stores[place])
        except Exception as error:  # each is looked at
            raised[place] = error

    threads = [threading.Thread(target=act, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def publish_twice(store):
    graph = store.read_graph(JOB.projection)
    for seed in range(2):
        with store.start_run(graph, parts=["embedding", "links"], names=NAMES, index=seed == 1) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            run.publish()


def meet(cypher, store, stores, pair):
    publish_twice(store)
    raised = at_once(stores, pair)
    assert all(isinstance(error, LeaseHeld | ProjectionError | None) for error in raised), raised
    assert not all(isinstance(error, LeaseHeld) for error in raised)
    node = assert_at_rest(cypher, LABEL, NAMES)
    assert "leaseHolder" not in node
    if "clear" not in pair:
        assert node["run"]
        assert node["linkRun"]


QUICK = [("embed", "embed"), ("embed", "refresh"), ("embed", "clear")]


@pytest.mark.parametrize("pair", [pair if pair in QUICK else slow(pair) for pair in PAIRS], ids="+".join)
def test_of_two_writers_at_once_the_loser_says_so_and_the_version_is_whole(
    cypher, store, stores, papers, pair
):
    meet(cypher, store, stores, pair)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_and_so_they_are_again_and_again(cypher, store, stores, papers, pair):
    for _ in range(9):
        meet(cypher, store, stores, pair)
