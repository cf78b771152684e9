"""Classes and clusters of a published model on a live server: what is written, kept and taken back."""

import pytest

from heat_neo4j.client import Database
from heat_neo4j.errors import ConfigError, WriteRefused
from tests.support.live_graph import snapshot
from tests.support.refresh_toy import LABEL, MODEL, N, first_version, make_job

pytestmark = pytest.mark.live

CLASS, PROBABILITY = "freshClassRing", "freshClassRingProbability"
LEVELS = ("freshCluster1", "freshCluster2")


@pytest.fixture
def db(store, cypher, papers):
    """A database with a published model, whose papers lack their ring in one of three cases."""
    cypher(f"MATCH (n:{LABEL}) WHERE n.key % 3 > 0 SET n.ring = 'ring ' + n.key % 4")
    cypher(f"MATCH (n:{LABEL}) SET n.title = 'paper ' + n.key")
    first_version(store, make_job(links=None))
    yield Database(store)
    store.clear(model=MODEL)


def predictions(papers):
    """Return predicted class and probability by key."""
    found = zip(papers.lists(CLASS).items(), papers.lists(PROBABILITY).values(), strict=True)
    return {key: (value, chance) for (key, value), chance in found if value is not None}


def groups(papers):
    """Return the clusters of each paper by level, and their names, by key."""
    columns = [papers.lists(name + end) for name in LEVELS for end in ("", "Name")]
    return {key: tuple(column[key] for column in columns) for key in columns[0]}


def test_predicted_classes_are_written_and_rolled_back(db, papers, cypher):
    before = papers.lists("ring")
    found = db.classify("ring", write=True, model=MODEL)
    first = predictions(papers)
    assert first == {
        int(each["node"]): (each["class"], each["probability"]) for each in found.to_dict()["predicted"]
    }
    assert sorted(first) == [key for key in range(N) if key % 3 == 0]
    assert sum(value == f"ring {key % 4}" for key, (value, _) in first.items()) > 0.9 * len(first)
    assert papers.lists("ring") == before
    (run,) = db.runs(f"{MODEL}-class-ring")
    assert run.run_id == found.written == found.to_dict()["written"]
    assert run.parameters["property"] == "ring"
    assert run.parameters["weights"] == dict(found.found.weights)
    assert run.quality == found.found.figures.to_dict()

    cypher(f"MATCH (n:{LABEL} {{key: 3}}) SET n.ring = 'ring 3'")
    named = db.classify("ring", caption="title", write=True, model=MODEL).to_dict()["predicted"]
    assert {each["node"] for each in named} <= {f"paper {key}" for key in range(N)}
    assert predictions(papers).keys() == first.keys() - {3}
    assert db.rollback(f"{MODEL}-class-ring") == (found.written, None)
    assert predictions(papers) == first

    cypher(f"MATCH (n:{LABEL}) SET n.ring = 'ring ' + n.key % 4")
    assert len(db.classify("ring", write=True, model=MODEL)) == 0
    assert predictions(papers) == {}
    assert db.rollback(f"{MODEL}-class-ring") == (found.written, None)
    assert predictions(papers) == first


def test_predicted_numbers_are_written_kept_and_cleared(db, papers, cypher):
    cypher(f"MATCH (n:{LABEL}) WHERE n.key % 5 > 0 SET n.price = 10.0 ^ (n.key % 4) + n.key / 10 / 100.0")
    try:
        found = db.classify("price", write=True, model=MODEL)
        names = [f"freshClassPrice{end}" for end in ("", "Low", "High")]
        first = [papers.lists(name) for name in names]
        for each in found.to_dict()["predicted"]:
            key = int(each["node"])
            assert tuple(own[key] for own in first) == (each["value"], each["low"], each["high"])
            assert 0.3 < each["value"] / 10.0 ** (key % 4) < 3.0
        assert {key for key, value in first[0].items() if value is not None} == set(range(0, N, 5))
        (run,) = db.runs(f"{MODEL}-class-price")
        assert run.parameters["property"] == "price"
        assert run.quality == found.found.figures.to_dict()
        new = papers.add(group=1)
        db.refresh(MODEL)
        kept = [papers.lists(name) for name in names]
        assert [own.pop(new) for own in kept] == [None] * 3
        assert kept == first
        with pytest.raises(WriteRefused, match="published as freshClassPrice, freshClassPriceLow"):
            db.classify("price", kind="class", write=True, model=MODEL)
        db.classify("price", write=True, model=MODEL)
        assert papers.lists(names[1])[new] is not None
        db.clear(model=f"{MODEL}-class-price")
        assert {value for name in names for value in papers.lists(name).values()} == {None}
    finally:
        cypher(f"MATCH (n:{LABEL}) REMOVE n.price")


def test_clusters_are_written_and_stay_over_a_refresh(db, papers, store):
    found = db.clusters(write=True, model=MODEL)
    first = groups(papers)
    names = {(each.level, each.cluster): each.name for each in found.clusters}
    for name, own in zip(found.names, found.groups.tolist(), strict=True):
        assert first[name] == (own[0], names[1, own[0]], own[1], names[2, own[1]])
    (run,) = db.runs(f"{MODEL}-cluster")
    assert (run.run_id, run.parameters["levels"]) == (found.written, [3, 9])

    new = papers.add(group=1)
    db.refresh(MODEL)
    kept = groups(papers)
    assert kept.pop(new) == (None,) * 4
    assert kept == first
    db.clusters(write=True, model=MODEL)
    after = groups(papers)
    assert after.pop(new)[0] is not None
    assert sum(after[key][::2] != first[key][::2] for key in first) <= 2
    again = db.clusters(model=MODEL)
    assert again.written is None
    assert (
        dict(zip(again.names, again.groups[:, 0].tolist(), strict=True)).items()
        >= {key: own[0] for key, own in after.items()}.items()
    )

    # Other numbers of clusters start again, and with a level less none is left of it.
    named = db.clusters(levels=[5], caption="title", write=True, model=MODEL)
    assert all(each.name.startswith("paper ") for each in named.clusters)
    assert set(papers.lists(LEVELS[0]).values()) == set(range(1, 6))
    assert set(papers.lists(LEVELS[1]).values()) == {None}
    db.rollback(f"{MODEL}-cluster")
    assert {key: own for key, own in groups(papers).items() if key != new} == after
    with pytest.raises(ConfigError, match="at most 5 levels of clusters can be written, got 6"):
        db.clusters(levels=[2, 3, 4, 5, 6, 7], write=True, model=MODEL)


def test_nothing_is_written_unless_asked_for_or_over_values_of_others(db, papers, cypher):
    before = snapshot(cypher)
    db.classify("ring", model=MODEL)
    db.clusters(model=MODEL)
    assert snapshot(cypher) == before
    cypher(f"MATCH (n:{LABEL} {{key: 1}}) SET n.{LEVELS[1]} = 7, n.{CLASS} = 'mine'")
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match="rename or remove these"):
        db.clusters(write=True, model=MODEL)
    with pytest.raises(WriteRefused, match="rename or remove these"):
        db.classify("ring", write=True, model=MODEL)
    assert snapshot(cypher) == before
