"""Queries about relationships: predicted ones, those that came true, those that surprise."""

import re

import pytest

from tests.support.live_graph import open_cypher
from tests.support.query_toy import NEW, WORDS, N, ask, same, toys_on

pytestmark = pytest.mark.live


def shared_attributes(toy, a, b):
    """Return what missing_links says of the attributes of two nodes."""
    texts = [f"year={toy.year[a]}"] if toy.year[a] == toy.year[b] else []
    both = [word for word in WORDS if word in toy.words.get(a, []) and word in toy.words.get(b, [])]
    more = ", ..." if len(both) > 3 else ""
    return texts + ([f"words: {', '.join(both[:3])}{more}"] if both else [])


def test_missing_links_are_explained_by_what_both_ends_share(store, toy):
    expected = []
    for rank, (a, kind, b, d) in enumerate(toy.links, start=1):
        shared = toy.neighbours(a) & toy.neighbours(b) - {a, b}
        rarest = sorted(shared, key=lambda name: (toy.degree(name), name))
        expected.append((rank, a, kind, b, None, d, len(shared), rarest[:3], shared_attributes(toy, a, b)))
    assert any(row[6] for row in expected[:5])
    texts = [text for row in expected for text in row[8]]
    assert any(text.startswith("year=") for text in texts)
    assert any(text.endswith(", ...") for text in texts)
    assert any(text.startswith("words") and not text.endswith("...") for text in texts)
    same(ask(store, "missing_links", toy.values()), expected[:5])
    same(ask(store, "missing_links", toy.values(k=100)), expected)


def test_attributes_of_unlike_kinds_or_none_are_not_shared(store, server):
    with toys_on(server, (2,), index=False) as made, open_cypher(server) as cypher:
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
        (b if a == "n03" else a, kind, "out" if a == "n03" else "in", None, d, rank)
        for rank, (a, kind, b, d) in enumerate(toy.links, start=1)
        if "n03" in (a, b)
    ]
    assert {row[2] for row in expected} == {"in", "out"}
    same(ask(store, "links_of", toy.values(k=100)), expected)


@pytest.mark.parametrize(("query", "end"), [("recommend", 0), ("who_would_link", 2)])
def test_links_from_a_node_and_to_it_by_type(store, toy, query, end):
    rows = [
        (toy.pattern_rank(place), place, link[2 - end], link[1], link[3])
        for place, link in enumerate(toy.links)
        if link[end] == "n03"
    ]
    expected = [(other, kind, rank, None, d) for rank, _, other, kind, d in sorted(rows)]
    assert len({row[1] for row in expected}) == 2
    same(ask(store, query, toy.values(k=100)), expected)
    same(ask(store, query, toy.values(k=1)), expected[:1])
    of_one = [row for row in expected if row[1] == toy.later]
    same(ask(store, query, toy.values(k=100, kind=toy.later)), of_one)


def test_the_likeliest_links_of_each_type(store, toy):
    rows = [(kind, toy.pattern_rank(place), a, b, None, d) for place, (a, kind, b, d) in enumerate(toy.links)]
    expected = sorted(row for row in rows if row[1] <= 3)
    assert len(expected) == 6
    same(ask(store, "likeliest", toy.values(k=3)), expected)


@pytest.mark.parametrize(
    "query",
    [
        "links_come_true", "missing_links", "most_general", "most_specific", "outliers",
        "surprising_relationships",
    ],
)  # fmt: skip
def test_nodes_without_the_property_are_shown_by_their_element_ids(store, toy, query):
    rows = ask(store, query, toy.values(property="of no node"))
    assert len(rows) == 5
    shown = [row[column] for row in rows for column in ("node", "other") if column in row]
    shown += [name for row in rows for name in row.get("through", ())]
    assert all(re.fullmatch(r"\d+:[0-9a-f-]{36}:\d+", name) for name in shown)


def test_a_link_is_explained_by_what_its_nodes_share(store, toy):
    places = [
        next(p for p, link in enumerate(toy.links) if toy.arrows(link[0], link[2])),
        4,
        len(toy.links) - 1,
    ]
    pairs = [(toy.links[place][0], toy.links[place][2]) for place in places] + [
        ("n03", "n05"),
        toy.ties[0][::2],
    ]
    some_shared = 0
    for a, b in pairs:
        ways = [
            (toy.degree(c), c, there, further)
            for c in toy.neighbours(a) & toy.neighbours(b) - {a, b}
            for there in toy.arrows(a, c)
            for further in toy.arrows(c, b)
        ]
        through = [f"{there} {c} {further}" for _, c, there, further in sorted(ways)]
        i, j = toy.names.index(a), toy.names.index(b)
        words = [word for word in WORDS if word in toy.words.get(a, []) and word in toy.words.get(b, [])]
        shared = [f"year={toy.year[a]}"] * (toy.year[a] == toy.year[b]) + [f"words={word}" for word in words]
        where = (toy.distance(i, j), toy.radius(i), toy.radius(j), toy.arrows(a, b))
        links = [(p, link[1]) for p, link in enumerate(toy.links) if (link[0], link[2]) == (a, b)]
        found = [(kind, toy.pattern_rank(place)) for place, kind in links] or [(None, None)]
        expected = [
            (a, kind, b, None, rank, *where, len(through), through[:3], shared) for kind, rank in found
        ]
        same(ask(store, "explain_link", toy.values(value=a, other=b, k=3)), expected)
        some_shared += len(through) > 0
    assert some_shared > 2
    assert ask(store, "explain_link", toy.values(value="n03", other="n03")) == []


@pytest.mark.parametrize("k", [2, 6, 100])
def test_links_that_have_come_true_are_joined_by_their_type_in_their_direction(store, toy, k):
    def expected_of(links):
        hits = 0
        for shown, (rank, a, kind, b, came_true) in enumerate(links[:k], start=1):
            hits += came_true
            yield rank, a, kind, b, None, came_true, hits / shown

    links = [
        (rank, a, kind, b, (a, kind, b) in toy.ties)
        for rank, (a, kind, b, _) in enumerate(toy.links, start=1)
    ]
    joined = {frozenset((a, b)) for a, _, b in toy.ties}
    otherwise = [link for link in links if frozenset(link[1::2][:2]) in joined and not link[4]]
    assert {link[2] for link in otherwise} == {toy.type, toy.later}
    assert 0 < sum(link[4] for link in links) < len(links)
    same(ask(store, "links_come_true", toy.values(k=k)), list(expected_of(links)))
    later = [link for link in links if link[2] == toy.later]
    same(ask(store, "links_come_true", toy.values(k=k, kind=toy.later)), list(expected_of(later)))


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
