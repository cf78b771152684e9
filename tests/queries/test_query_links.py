"""Queries about relationships: predicted ones, those that came true, those that surprise."""

import pytest

from tests.support.live_graph import open_cypher
from tests.support.query_toy import NEW, WORDS, N, ask, same, toys_on

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def toy(server):
    with toys_on(server, (N,)) as made:
        yield made[N]


def shared_attributes(toy, a, b):
    """Return what missing_links says of the attributes of two nodes."""
    texts = [f"year={toy.year[a]}"] if toy.year[a] == toy.year[b] else []
    both = [word for word in WORDS if word in toy.words.get(a, []) and word in toy.words.get(b, [])]
    more = ", ..." if len(both) > 3 else ""
    return texts + ([f"words: {', '.join(both[:3])}{more}"] if both else [])


def test_missing_links_are_explained_by_what_both_ends_share(store, toy):
    expected = []
    for rank, (a, b, d) in enumerate(toy.links, start=1):
        shared = toy.neighbours(a) & toy.neighbours(b)
        rarest = sorted(shared, key=lambda name: (toy.degree(name), name))
        expected.append((rank, a, b, None, d, len(shared), rarest[:3], shared_attributes(toy, a, b)))
    assert any(row[5] for row in expected[:5])
    texts = [text for row in expected for text in row[7]]
    assert any(text.startswith("year=") for text in texts)
    assert any(text.endswith(", ...") for text in texts)
    assert any(text.startswith("words") and not text.endswith("...") for text in texts)
    same(ask(store, "missing_links", toy.values()), expected[:5])
    same(ask(store, "missing_links", toy.values(k=100)), expected)


def test_attributes_of_unlike_kinds_or_none_are_not_shared(store, server):
    with toys_on(server, (2,)) as made, open_cypher(server) as cypher:
        toy = made[2]
        cypher(
            f"MATCH (a:{toy.label} {{name: 'n00'}}), (b:{toy.label} {{name: 'n01'}}) "
            "SET a.mixed = 'x', b.mixed = ['x'], a.turned = ['x'], b.turned = 'x', "
            "a.flag = true, b.flag = true, a.numbers = [1, 2.5, 3], b.numbers = [2.5, 4], "
            "a.empty = [], b.empty = [], a.one = 1, a.three = [3, 1, 2], b.three = [1, 2, 3], "
            "a.day = date('2020-02-29'), b.day = date('2020-02-29')"
        )
        keys = ["mixed", "turned", "flag", "numbers", "empty", "one", "day", "three", "nowhere"]
        (row,) = ask(store, "missing_links", toy.values(attributes=keys))
        assert row["shared"] == ["flag=true", "numbers: 2.5", "day=2020-02-29", "three: 1, 2, 3"]
        (row,) = ask(store, "missing_links", toy.values(attributes=[]))
        assert row["shared"] == []


def test_links_of_a_node(store, toy):
    expected = [
        (b if a == "n03" else a, None, d, rank)
        for rank, (a, b, d) in enumerate(toy.links, start=1)
        if "n03" in (a, b)
    ]
    assert expected
    same(ask(store, "links_of", toy.values(k=100)), expected)


@pytest.mark.parametrize("k", [2, 6, 100])
def test_links_that_have_come_true(store, toy, k):
    joined = {frozenset((a, b)): kind for a, kind, b in toy.ties}
    expected, hits = [], 0
    for rank, (a, b, _) in enumerate(toy.links[:k], start=1):
        came_true = frozenset((a, b)) in joined
        hits += came_true
        expected.append((rank, a, b, None, came_true, hits / rank))
    assert 0 < hits < len(expected)
    same(ask(store, "links_come_true", toy.values(k=k)), expected)
    same(ask(store, "links_come_true", toy.values(k=k, types=[toy.type, toy.later])), expected)
    none = [(*row[:4], False, 0.0) for row in expected]
    same(ask(store, "links_come_true", toy.values(k=k, types=[toy.type])), none)


def test_outliers(store, toy):
    found = []
    for i, name in enumerate(toy.names):
        near = toy.neighbours(name) - {NEW}
        if near and toy.degree(name) >= 4:
            mean = sum(toy.apart(name, other) for other in near) / len(near)
            found.append((-mean, name, toy.degree(name), toy.radius(i)))
    expected = [(name, -minus, degree, radius) for minus, name, degree, radius in sorted(found)]
    assert 5 < len(expected) < N
    same(ask(store, "outliers", toy.values(minDegree=4, k=100)), expected)
    same(ask(store, "outliers", toy.values(minDegree=4, k=5)), expected[:5])


def test_surprising_relationships(store, toy):
    found = sorted((-toy.apart(a, b), a, b, kind) for a, kind, b in set(toy.ties) if NEW not in (a, b))
    expected = [
        (a, kind, b, -minus, toy.radius(toy.names.index(a)), toy.radius(toy.names.index(b)))
        for minus, a, b, kind in found
    ]
    assert len(expected) < len([tie for tie in toy.ties if NEW not in tie])  # one is there twice
    rows = ask(store, "surprising_relationships", toy.values(k=100))
    keys = [(-row["distance"], row["node"], row["other"], row["type"]) for row in rows]
    assert keys == sorted(keys)
    wanted = {row[:3]: row for row in expected}
    assert len(rows) == len(wanted)
    same(rows, [wanted[row["node"], row["type"], row["other"]] for row in rows])
    assert ask(store, "surprising_relationships", toy.values(k=5)) == rows[:5]
