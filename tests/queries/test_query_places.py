"""Queries about where nodes lie: up and down the hierarchy, between two, in groups."""

import math
import uuid
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from heat_neo4j import HEAT
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from tests.support.live_graph import open_cypher, open_store
from tests.support.query_toy import NEW, WORDS, N, ask, same
from tests.support.slow import slow

pytestmark = pytest.mark.live


def ancestors(toy, i):
    """Return all more general nodes than row `i`, as the query does."""
    found = [(toy.distance(i, j), name, toy.radius(j)) for j, name in enumerate(toy.names)]
    return [(name, None, s, d) for d, name, s in sorted(found) if s < toy.radius(i)]


def descendants(toy, i):
    """Return all more specific nodes than row `i`, as the query does."""
    r = toy.radius(i)
    found = [(name, toy.radius(j), toy.distance(i, j)) for j, name in enumerate(toy.names)]
    return [(name, None, s, d, r + d - s) for name, s, d in found if s > r]


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


@pytest.fixture(scope="module", params=["target", slow("source")])
def parts(server, request):
    """A bill of materials, where the more general end of a relationship is its target or its source."""
    with open_cypher(server) as cypher, open_store(server) as store:
        label = f"Part{uuid.uuid4().hex[:8]}"
        kind, names = f"NEEDS_{label}", WriteNames(model=f"parts {label}")
        generator = np.random.default_rng(0)
        # Products need one to three parts of the levels before theirs; nothing needs the last level.
        needs = {
            (i, int(j))
            for i in range(40, 240)
            for j in generator.integers(0, 40 + 40 * ((i - 40) // 40), size=1 + i % 3)
        }
        rows = [pair[:: 1 if request.param == "target" else -1] for pair in sorted(needs)]
        cypher(f"UNWIND range(0, 259) AS i CREATE (:{label} {{name: 'p' + i, i: i}})")
        cypher(
            f"UNWIND $rows AS row MATCH (a:{label} {{i: row[0]}}) MATCH (b:{label} {{i: row[1]}}) "
            f"CREATE (a)-[:{kind}]->(b)",
            rows=rows,
        )
        graph = store.read_graph(Projection([label], [kind]), with_keys=False)
        model = HEAT(3, hierarchy=kind, random_state=0).fit(graph)
        assert model.training_["hierarchy"]["general_end"] == request.param
        store.write_embedding(graph, model, names=names)
        values = {"model": names.model, "label": label, "property": "name"}
        yield SimpleNamespace(store=store, values=values, needs=needs)
        store.clear(model=names.model)
        cypher(f"MATCH (n:{label}) DETACH DELETE n")


def steps_from(i, pairs):
    """Return the fewest steps along pairs (node, next node) to each node that they reach."""
    found, last = {}, {i}
    while last := {b for a, b in pairs if a in last} - found.keys():
        found |= dict.fromkeys(last, 1 + max(found.values(), default=0))
    return found


@pytest.mark.vector_index
@pytest.mark.parametrize("query", ["ancestors", "descendants"])
def test_nodes_to_which_the_hierarchy_leads_come_first(parts, query):
    up = query == "ancestors"
    pairs = parts.needs if up else {(j, i) for i, j in parts.needs}
    likely_first = 0
    for i in (0, 7, 60, 100, 150, 199, 230, 239, 250):
        expected = {f"p{j}": steps for j, steps in steps_from(i, pairs).items()}
        rows = parts.store.query(query, **parts.values, value=f"p{i}", k=300)
        stated = {row["node"]: row["steps"] for row in rows if row["steps"] is not None}
        assert stated == expected
        assert [row["steps"] for row in rows[: len(stated)]] == sorted(stated.values())
        column = "distance" if up else "detour"
        for steps in {row["steps"] for row in rows}:
            same_steps = [row[column] for row in rows if row["steps"] == steps]
            assert same_steps == sorted(same_steps)
        likely_first += bool(stated) and min(rows, key=lambda row: row[column])["steps"] is None
        for exact in (False, True):
            near = parts.store.neighbours(
                f"p{i}",
                model=parts.values["model"],
                k=300,
                labels=[parts.values["label"]],
                key="name",
                among="more_general" if up else "more_specific",
                exact=exact,
            )
            assert {each.name: each.steps for each in near.nodes if each.steps is not None} == expected
    assert likely_first  # by the coordinates alone another node would be the first


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


def test_shortest_path_has_least_length_among_those_of_fewest_steps(store, toy):
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
