"""Under each limit of a server, work finishes or names the setting; the published version is whole."""

import logging

import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.server_errors import server_limit
from heat_neo4j.database.write.loader import LoadNames
from heat_neo4j.errors import HeatError
from heat_neo4j.linkpred.prediction import PredictedLinks
from tests.support.limited_servers import LIMITED_SERVERS
from tests.support.live_graph import random_points
from tests.support.store import Store

pytestmark = [pytest.mark.live, pytest.mark.slow]
LABEL, NAMES = "Limited", WriteNames("limited")
DIMENSION, LINKS_OF_EACH = 400, 5
N = 1_500
SERVERS = [pytest.param(each, id=name) for name, each in LIMITED_SERVERS.items()]


class Ring:
    """A ring of nodes with long lists."""

    keys = range(N)
    source = np.arange(N)
    target = (source + 1) % N
    weight = np.ones(N)
    types = time = None

    def properties(self, row):
        return {"numbers": [float(row)] * DIMENSION}


def links(seed):
    """Return links of which a half is the same for each seed."""
    source = np.arange(LINKS_OF_EACH * N) % N
    step = 2 + np.arange(len(source)) // N * (1 + seed)
    apart = np.linspace(0.1, 4.0, len(source))
    return PredictedLinks(source, (source + step) % N, apart, np.exp(-apart))


def failure_of(work):
    """Return the error that ends the work, if one does."""
    try:
        work()
    except HeatError as error:
        return [error]
    return []


@pytest.mark.parametrize("throwaway_server", SERVERS, indirect=True)
def test_work_finishes_or_names_the_setting_and_what_is_published_is_whole(throwaway_server, caplog):
    caplog.set_level(logging.INFO, logger="heat_neo4j")
    uri, user, password = throwaway_server.connection()
    points, seed_of, ended = [random_points(N, seed, DIMENSION) for seed in range(2)], {}, []

    def publish(seed):
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"], index=False) as run:
            seed_of[run.record.run_id] = seed
            run.write_embedding(points[seed])
            run.write_links(links(seed))
            run.publish()

    def is_whole():
        run = store.published_run(NAMES.model)
        if run is not None:
            stored = store.read_embedding(graph, NAMES.model)
            np.testing.assert_allclose(stored, points[seed_of[run.run_id]], atol=1e-9)
            assert len(store.read_links(graph, NAMES.model)) == LINKS_OF_EACH * N
        return run

    with Store.open(uri, auth=(user, password)) as store:
        store.load_graph(Ring(), LoadNames(label=LABEL))
        graph = store.read_graph(Projection(labels=[LABEL], attributes=["numbers"], key="id"))
        for work in (
            lambda: publish(0),
            lambda: publish(1),
            lambda: store.rollback(NAMES.model),
            lambda: store.prune(NAMES.model, previous=True),
            lambda: store.clear(model=NAMES.model),
        ):
            ended += failure_of(work)
            published = is_whole()
    assert ended or published is None
    for error in ended:
        limit = server_limit(error)
        assert limit is not None, error
        assert limit.is_time, error  # a busy machine may be too slow for one row
        assert f"raise {limit.setting} of the server" in str(error)
    if "db.transaction.timeout" not in throwaway_server.release.settings:
        assert "rows in a batch now" in caplog.text
