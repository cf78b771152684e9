"""Queries about where nodes lie: up and down the hierarchy, between two, in groups."""

import math
from itertools import pairwise

import numpy as np
import pytest

from tests.support.query_toy import NEW, WORDS, N, ask, same

pytestmark = pytest.mark.live


def ancestors(toy, i):
    """Return all more general nodes than row `i`, as the query does."""
    found = [(toy.distance(i, j), name, toy.radius(j)) for j, name in enumerate(toy.names)]
    return [(name, s, d) for d, name, s in sorted(found) if s < toy.radius(i)]


def descendants(toy, i):
    """Return all more specific nodes than row `i`, as the query does."""
    r = toy.radius(i)
    found = [(name, toy.radius(j), toy.distance(i, j)) for j, name in enumerate(toy.names)]
    return [(name, s, d, r + d - s) for name, s, d in found if s > r]


@pytest.mark.parametrize("twin", [ancestors, descendants])
def test_ancestors_and_descendants(store, toy, twin):
    name, counts = twin.__name__, set()
    for i, value in enumerate(toy.names):
        values = toy.values(value=value, k=100)
        rows, expected = ask(store, name, values), twin(toy, i)
        ordered(rows, "distance" if name == "ancestors" else "detour")
        by_name = {row[0]: row for row in expected}
        same(rows, [by_name[row["node"]] for row in rows])
        assert len(rows) == len(expected)
        counts.add(len(rows))
        assert ask(store, name, values | {"k": 2}) == rows[:2]
    assert {0, N - 1} <= counts
    assert ask(store, name, toy.values(value=NEW)) == []


def ordered(rows, column):
    """See that rows are in order of a number, those of the same number in order of node."""
    keys = [(row[column], row["node"]) for row in rows]
    assert keys == sorted(keys)


def test_between_two_nodes(store, toy):
    for value, other in (("n03", "n05"), ("n12", "n01"), ("n04", "n04")):
        i, j = toy.names.index(value), toy.names.index(other)
        expected = {}
        for c, name in enumerate(toy.names):
            if c not in (i, j):
                to, on = toy.distance(i, c), toy.distance(c, j)
                expected[name] = (name, toy.radius(c), to, on, to + on - toy.distance(i, j))
        rows = ask(store, "between", toy.values(value=value, other=other, k=100))
        ordered(rows, "distance" if name == "ancestors" else "detour")
        assert len(rows) == len(expected)
        same(rows, [expected[row["node"]] for row in rows])
        assert len(ask(store, "between", toy.values(value=value, other=other, k=3))) == 3


def shortest_paths(toy, a, b, most):
    """Return all paths with fewest relationships, by trying longer and longer ones."""
    paths = [[a]]
    for _ in range(most):
        paths = [[*path, c] for path in paths for c in toy.neighbours(path[-1]) if c not in path]
        if found := [path for path in paths if path[-1] == b]:
            return found
    return []


def length(toy, path):
    return sum(toy.apart(a, b) for a, b in pairwise(path))


def test_the_shortest_path_is_the_one_of_least_length_among_those_of_fewest_steps(store, toy):
    several = out_of_reach = 0
    for i, value in enumerate(toy.names):
        for other in toy.names[:i]:
            paths = shortest_paths(toy, value, other, 2)
            placed = [path for path in paths if NEW not in path]
            rows = ask(store, "shortest_path", toy.values(value=value, other=other, hops=2))
            several += len(placed) > 1
            out_of_reach += len(placed) == 0
            if not placed:
                assert rows == []
                continue
            best = min(placed, key=lambda path: (length(toy, path), path))
            (row,) = rows
            least, direct = length(toy, best), toy.apart(value, other)
            same(rows, [(row["path"], least, direct, least - direct)])
            assert row["path"] in placed
            assert length(toy, row["path"]) == pytest.approx(least, rel=1e-12)
    assert several > 5
    assert out_of_reach > 5
    assert ask(store, "shortest_path", toy.values(other="n03")) == []  # from a node to itself
    assert ask(store, "shortest_path", toy.values(other=NEW)) == []


def centre_of(toy, members):
    """Return the Lorentz centroid of some rows and its distance from each."""
    total = toy.points[members].sum(axis=0)
    centre = total / math.sqrt(total[-1] ** 2 - sum(total[:-1] ** 2))
    gaps = toy.points[members] - centre
    squares = np.maximum((gaps[:, :-1] ** 2).sum(axis=1) - gaps[:, -1] ** 2, 0.0)
    return centre, 2 * np.arcsinh(np.sqrt(squares) / 2)


@pytest.mark.parametrize("group", ["group", "year", "words", "name", "not there"])
def test_groups(store, toy, group):
    values = {"group": toy.group, "year": toy.year, "words": toy.words, "name": {n: n for n in toy.names}}
    values = values.get(group, {})
    found = []
    for value in WORDS if group == "words" else set(values.values()):
        members = [i for i, name in enumerate(toy.names) if name in values and holds(values[name], value)]
        centre, d = centre_of(toy, members)
        nearest = min((distance, toy.names[i]) for distance, i in zip(d, members, strict=True))[1]
        radius = math.asinh(math.sqrt(sum(centre[:-1] ** 2)))
        found.append((-len(members), value, radius, float(d.mean()), nearest))
    expected = [(value, -minus, *rest) for minus, value, *rest in sorted(found)]
    rows = ask(store, "groups", toy.values(group=group, k=100))
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        # A member alone is its own centre; what is left of the distance is rounding.
        assert (row["group"], row["nodes"], row["nearest"]) == (*wanted[:2], wanted[4])
        assert (row["radius"], row["meanDistance"]) == pytest.approx(wanted[2:4], abs=2e-7)
        if row["nodes"] > 1:
            assert (row["radius"], row["meanDistance"]) == pytest.approx(wanted[2:4], rel=1e-9)
    assert ask(store, "groups", toy.values(group=group, k=1)) == rows[:1]


def holds(values, value):
    return value in values if isinstance(values, list) else value == values
