"""Each feature of a link, and of a direction, against slow dense twins."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from heat_neo4j.geometry.hyperboloid import distance, lift, radius
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.attribute_rows import DENSE_COLUMNS
from heat_neo4j.linkpred.features import DIRECTION, FEATURES, ISOLATED, PairFeatures, ages
from heat_neo4j.patterns import Pattern

N = 90
OF_TYPES = (*(name for name in FEATURES if name not in ("paths_by_degree", "linked_alike")), *ISOLATED)
RATED, FOLLOWS = Pattern("User", "R", "Item"), Pattern("User", "F", "User")
Array = np.ndarray


@cache
def made() -> tuple[Array, Graph]:
    """Return users and items, some of them both, one without relationships; columns of all kinds."""
    rng = np.random.default_rng(8)
    user = np.arange(N) < 54
    item = np.arange(N) >= 42
    rated = np.argwhere(np.outer(user, item) & (rng.random((N, N)) < 0.15) & (np.arange(N) != N - 1))
    follows = np.argwhere(np.outer(user, user) & (rng.random((N, N)) < 0.1))
    likes = np.argwhere(np.outer(item, item) & (rng.random((N, N)) < 0.05))
    likes = likes[(likes != N - 1).all(axis=1)]
    relationships = Relationships.from_pairs(
        {"R": tuple(rated.T), "F": tuple(follows.T), "L": tuple(likes.T)}
    )
    joined = sparse.coo_array(
        (rng.uniform(0.5, 2.0, len(relationships)), (relationships.source, relationships.target)),
        shape=(N, N),
    )
    thin = (rng.random((N, 3)) < 0.15) * rng.random((N, 3))
    attributes = np.column_stack((rng.normal(3.0, 1.0, (N, 2)), thin, np.full(N, 7.0), user * 1.0))
    graph = Graph(
        adjacency=sparse.csr_array(joined + joined.T),
        attributes=attributes,
        labels={"User": user, "Item": item},
        relationships=relationships,
    )
    return lift(rng.normal(size=(N, 3))), graph


def unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def scaled(attributes: Array, nodes: Array) -> Array:
    """Return unit rows of the columns over their deviation among some nodes, full ones from their mean."""
    result = np.zeros_like(attributes)
    for column in range(attributes.shape[1]):
        values = attributes[nodes, column]
        if np.ptp(values) < 1e-9:
            continue
        centre = values.mean() if np.mean(values != 0) >= 0.25 else 0.0
        result[nodes, column] = (values - centre) / values.std()
    return unit(result)


def most_similar(attributes: Array) -> Array:
    """Return the cosines of each node with the 20 most similar ones that have a link."""
    cosines, degrees = unit(attributes) @ unit(attributes).T, made()[1].degrees
    found = np.zeros((N, N))
    for node in range(N):
        others = [u for u in range(N) if u != node and degrees[u] and cosines[node, u] > 0]
        best = sorted(others, key=lambda u: (-cosines[node, u], u))[:20]
        found[node, best] = cosines[node, best]
    return found


def dense(kind: str) -> Array:
    matrix = np.zeros((N, N))
    source, target = made()[1].relationships.of(kind)
    matrix[source, target] = 1.0
    return matrix


def wedge(first: Array, second: Array) -> Array:
    damping = 1.0 / np.maximum(made()[1].degrees, 1)
    found = np.zeros((N, N))
    for u in range(N):
        for w in np.flatnonzero(first[u]):
            found[u] += damping[w] * second[w]
    return np.log1p(found)


def path(first: Array, second: Array, third: Array) -> Array:
    damping = 1.0 / np.sqrt(np.maximum(made()[1].degrees, 1))
    found = np.zeros((N, N))
    for u in range(N):
        for a in np.flatnonzero(first[u]):
            for b in np.flatnonzero(second[a]):
                found[u] += damping[a] * damping[b] * third[b]
    return np.log1p(found)


def longer(links: Array) -> Array:
    """Return the paths of three, each over the root of the neighbours of both nodes on it."""
    found, degree = np.zeros((N, N)), links.sum(axis=1)
    for u in range(N):
        for w in np.flatnonzero(links[u]):
            for x in np.flatnonzero(links[w]):
                found[u] += links[x] / np.sqrt(degree[w] * degree[x])
    return found


@cache
def twins(pattern: Pattern) -> dict[str, Array]:
    """Return all features of all ordered pairs, shape (N, N) each."""
    points, graph = made()
    out, links = dense(pattern.type), graph.adjacency.toarray() > 0
    back, degree = out.T, links.sum(axis=1)
    sources = np.flatnonzero(graph.labels[pattern.source])
    targets = np.flatnonzero(graph.labels[pattern.target])
    weights = graph.adjacency.toarray()
    around = np.array([points[u] + weights[u] @ points / (weights[u].sum() or 1.0) for u in range(N)])
    around /= np.sqrt(around[:, -1] ** 2 - (around[:, :-1] ** 2).sum(axis=1))[:, None]
    ones = np.ones((N, N))
    common = np.zeros((N, N))
    for u in range(N):
        for w in np.flatnonzero(links[u]):
            common[u] += links[w] / np.log(max(degree[w], 2))
    found = {
        "distance": -np.array([[float(distance(p, q)) for q in points] for p in points]),
        "neighbourhood_distance": -np.array([[float(distance(p, q)) for q in around] for p in around]),
        ISOLATED[0]: (degree == 0)[:, None] * ones,
        ISOLATED[1]: (degree == 0)[None, :] * ones,
        "source_out": np.log1p(out.sum(axis=1))[:, None] * ones,
        "source_in": np.log1p(out.sum(axis=0))[:, None] * ones,
        "target_out": np.log1p(out.sum(axis=1))[None, :] * ones,
        "target_in": np.log1p(out.sum(axis=0))[None, :] * ones,
        "target_in_if_isolated": np.log1p(out.sum(axis=0))[None, :] * (degree == 0)[:, None],
        "common_neighbours": np.log1p(common),
        "paths_of_three": np.log1p(longer(links)),
        "chain": wedge(out, out),
        "shared_target": wedge(out, back),
        "shared_source": wedge(back, out),
        "return_chain": wedge(back, back),
    }
    own = out[np.ix_(sources, targets)]
    rows, columns = (each + each.mean() for each in (own.sum(axis=1), own.sum(axis=0)))
    left, values, right = np.linalg.svd(own / np.sqrt(np.outer(rows, columns)))
    rank = min(64, min(own.shape) - 1)
    for name, low, high in (("taste_8", 0, 8), ("taste_24", 8, 24), ("taste_64", 24, 64)):
        found[name] = np.zeros((N, N))
        for place in range(low, min(high, rank)):
            part = values[place] * np.outer(left[:, place], right[place])
            found[name][np.ix_(sources, targets)] += part
    raw = graph.attributes
    ends = scaled(raw, np.union1d(sources, targets))
    of_targets, of_sources = scaled(raw, targets), scaled(raw, sources)
    found |= {
        "attributes": unit(raw) @ unit(raw).T,
        "scaled_attributes": ends @ ends.T,
        "targets_alike": unit(out @ of_targets) @ of_targets.T,
        "sources_alike": of_sources @ unit(back @ of_sources).T,
        "target_like_sources": unit(back @ ends) @ ends.T,
        "source_like_targets": ends @ unit(out @ ends).T,
        "ends_alike": unit(ends + unit(out @ ends)) @ unit(ends + unit(back @ ends)).T,
    }
    alike = most_similar(raw)
    found |= {
        "source_like_linked": np.log1p(alike @ out) / (1 + out.sum(axis=1))[:, None],
        "target_like_linked": np.log1p(out @ alike.T) / (1 + out.sum(axis=0))[None, :],
    }
    others = [dense(kind) for kind in ("F", "L", "R") if kind != pattern.type]
    joined = np.hstack([((each + each.T) > 0) * 1.0 for each in others])
    joined /= np.sqrt(np.maximum(joined.sum(axis=0), 1.0))
    by_target, by_source = np.zeros_like(joined), np.zeros_like(joined)
    by_target[targets], by_source[sources] = unit(joined[targets]), unit(joined[sources])
    found["targets_related"] = (
        out @ by_target @ by_target.T / np.sqrt(np.maximum(out.sum(axis=1), 1))[:, None]
    )
    found["sources_related"] = np.log1p(by_source @ (back @ by_source).T)
    return found | implied(pattern)


def implied(pattern: Pattern) -> dict[str, Array]:
    """Return what other relationships imply, by loops over all pairs and all pairs of kinds."""
    graph = made()[1]
    steps = [dense(kind) for kind in ("F", "L", "R")]
    steps += [step.T for step in steps]
    own = dense(pattern.type)
    place = ("F", "L", "R").index(pattern.type)
    may = np.outer(graph.labels[pattern.source], graph.labels[pattern.target])
    kinds = np.array([step for at, step in enumerate(steps) if at != place])
    u, v = np.nonzero(kinds.any(axis=0) & may)
    rate = own.sum() / (may.sum() + 1.0)
    truth, weight = own[u, v], np.ones(len(u) + 2)
    values = np.column_stack((np.full(len(u), 10.0), kinds[:, u, v].T))
    weight[-2:] = 2 * rate, 2 * (1 - rate)
    model = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-10, fit_intercept=False)
    nothing = np.zeros((2, values.shape[1]))
    nothing[:, 0] = 10.0
    model.fit(np.vstack((values, nothing)), np.append(truth, (1.0, 0.0)), sample_weight=weight)
    by_joins, by_paths = np.zeros((N, N)), np.zeros((N, N))
    by_joins[u, v] = model.decision_function(values) - np.log(rate / (1 - rate))
    asked = np.flatnonzero(graph.labels[pattern.source] & (own.sum(axis=1) > 0))
    is_target = graph.labels[pattern.target]
    rate = own[asked].sum() / (len(asked) * is_target.sum() + 1.0)
    for first in steps:
        for second in steps:
            paths = first @ second
            judged = paths[asked] * is_target * (asked[:, None] != np.arange(N))
            closed = min((np.sum(judged * own[asked]) + 2 * rate) / (judged.sum() + 2), 0.99)
            by_paths += paths * closed / (1 - closed) / rate
    return {"implied_by_joins": by_joins, "implied_by_paths": np.log1p(by_paths)}


@cache
def direction_twins(pattern: Pattern) -> dict[str, Array]:
    points, graph = made()
    out, links = dense(pattern.type), twins(pattern)
    n_out, n_in = out.sum(axis=1), out.sum(axis=0)
    steps = {"o": out, "i": out.T}
    of_nodes = {
        "ratio": np.log((n_out + 0.5) / (n_in + 0.5)),
        "out": np.log1p(n_out),
        "in": np.log1p(n_in),
        "degree": np.log1p(graph.degrees),
        "radius": radius(points),
    }
    ways = {name: path(*(steps[way] for way in name[-3:])) for name in DIRECTION if name.startswith("path")}
    ways |= {name: links[name] for name in ("chain", "targets_alike", "sources_alike")}
    return {
        **{name: values[:, None] - values[None, :] for name, values in of_nodes.items()},
        **{name: values - values.T for name, values in ways.items()},
    }


@cache
def of_patterns() -> dict[Pattern, Any]:
    shared = PairFeatures(*made())
    return {pattern: shared.of(pattern) for pattern in (RATED, FOLLOWS)}


PAIRS = np.array([(u, v) for u in range(N) for v in range(N) if u != v])
FIRST, SECOND = np.array([3, 40, 21, 22, 0]), np.array([43, 20, 25, 7])


def assert_is(feature, expected: Array, tolerance: float = 1e-9) -> None:
    """Compare a feature in all ways to ask for it; of a node with itself it may be anything."""
    u, v = PAIRS.T
    np.testing.assert_allclose(feature.pairs(PAIRS), expected[u, v], rtol=tolerance, atol=tolerance)
    rows, off = feature.rows(3, 9), np.arange(3, 9)[:, None] != np.arange(N)
    np.testing.assert_allclose(rows[off], expected[3:9][off], rtol=tolerance, atol=tolerance)
    back = feature.reversed()
    np.testing.assert_allclose(back.pairs(PAIRS), expected[v, u], rtol=tolerance, atol=tolerance)
    part, other = feature.between(FIRST, SECOND), back.between(SECOND, FIRST)
    wanted = expected[np.ix_(FIRST, SECOND)]
    np.testing.assert_allclose(part.rows(0, len(FIRST)), wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(other.rows(0, len(SECOND)), wanted.T, rtol=tolerance, atol=tolerance)
    assert (part.n_nodes, other.n_nodes) == (len(SECOND), len(FIRST))


@pytest.mark.parametrize("pattern", [RATED, FOLLOWS], ids=str)
@pytest.mark.parametrize("name", OF_TYPES)
def test_a_feature_of_links_is_what_the_twin_says(name: str, pattern: Pattern) -> None:
    features = of_patterns()[pattern].link
    assert list(features) == list(OF_TYPES)
    assert_is(features[name], twins(pattern)[name], 1e-7)
    assert np.ptp(twins(pattern)[name]) > 0.01


def test_sources_may_be_some_of_the_targets() -> None:
    points, graph = made()
    graph = replace(graph, labels={**graph.labels, "Node": np.ones(N, dtype=bool)})
    features = PairFeatures(points, graph).of(Pattern("User", "R", "Node")).link
    out, ends = dense("R"), scaled(graph.attributes, np.arange(N))
    of_sources = scaled(graph.attributes, np.flatnonzero(graph.labels["User"]))
    both = unit(ends + unit(out @ ends)) @ unit(ends + unit(out.T @ ends)).T
    assert_is(features["ends_alike"], both, 1e-7)
    assert_is(features["sources_alike"], of_sources @ unit(out.T @ of_sources).T, 1e-7)


@pytest.mark.parametrize("pattern", [RATED, FOLLOWS], ids=str)
@pytest.mark.parametrize("name", DIRECTION)
def test_a_feature_of_directions_is_what_the_twin_says_and_changes_its_sign(
    name: str, pattern: Pattern
) -> None:
    features = of_patterns()[pattern].direction
    assert set(features) == set(DIRECTION)
    assert_is(features[name], direction_twins(pattern)[name], 1e-7)
    there, back = features[name].pairs(PAIRS), features[name].pairs(PAIRS[:, ::-1])
    np.testing.assert_allclose(there, -back, rtol=0, atol=1e-12)
    assert np.ptp(there) > 0.01


@pytest.mark.parametrize("name", ["paths_by_degree", "linked_alike"])
def test_a_feature_of_a_graph_without_types_is_what_the_twin_says(name: str) -> None:
    points, graph = made()
    words = np.where(np.arange(graph.n_attributes) % 6 < 2, 0.0, graph.attributes)  # fewer than all have each
    plain = Graph(adjacency=graph.adjacency, attributes=sparse.csr_array(words))
    links = graph.adjacency.toarray() > 0
    degree = links.sum(axis=1)
    if name == "paths_by_degree":
        expected = np.log1p(longer(links)) * np.add.outer(np.log1p(degree), np.log1p(degree))
    else:
        alike = most_similar(words)
        expected = np.log1p(alike @ links + (alike @ links).T)
    features = PairFeatures(points, plain).of(None).link
    assert_is(features[name], expected, 1e-7)
    assert np.ptp(expected) > 0.01


def test_a_graph_without_attributes_or_other_types_has_no_features_of_these() -> None:
    points, graph = made()
    source, target = graph.relationships.of("F")
    joined = sparse.coo_array((np.ones(len(source)), (source, target)), shape=(N, N))
    plain = Graph(
        adjacency=sparse.csr_array(joined),
        labels=dict(graph.labels),
        relationships=Relationships.from_pairs({"F": (source, target)}),
    )
    features = PairFeatures(points, plain).of(FOLLOWS).link
    gone = {name for name in OF_TYPES if "alike" in name or "related" in name or "like" in name}
    gone |= {"attributes", "scaled_attributes", "implied_by_paths"}
    assert set(features) == set(OF_TYPES) - gone
    assert set(PairFeatures(points, plain).of(FOLLOWS).direction) == set(DIRECTION) - gone


def test_sparse_attributes_give_the_same_features() -> None:
    points, graph = made()
    parts = {name: getattr(graph, name) for name in ("adjacency", "labels", "relationships")}
    other = Graph(attributes=sparse.csr_array(graph.attributes), **parts)
    for name in ("attributes", "scaled_attributes", "targets_alike", "ends_alike"):
        whole, same = (
            PairFeatures(points, each).of(RATED).link[name].pairs(PAIRS) for each in (graph, other)
        )
        np.testing.assert_allclose(same, whole, atol=1e-12)


# The search for similar nodes uses sparse columns alone.
OF_ATTRIBUTES = [
    name for name in OF_TYPES if ("like" in name and "like_linked" not in name) or "attributes" in name
]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_many_dense_columns_give_the_same_features_in_float32(kind: str) -> None:
    points, graph = made()
    times = DENSE_COLUMNS  # repeated columns change no cosine
    repeated = np.tile(graph.attributes, times)
    parts = {name: getattr(graph, name) for name in ("adjacency", "labels", "relationships")}
    many = Graph(attributes=repeated if kind == "dense" else sparse.csr_array(repeated), **parts)
    for pattern in (RATED, FOLLOWS):
        few, same = (PairFeatures(points, each).of(pattern).link for each in (graph, many))
        for name in OF_ATTRIBUTES:
            expected = few[name].pairs(PAIRS)
            np.testing.assert_allclose(same[name].pairs(PAIRS), expected, atol=5e-5, err_msg=name)
            np.testing.assert_allclose(same[name].rows(3, 20), few[name].rows(3, 20), atol=5e-5)
            assert np.ptp(expected) > 0.01


def test_the_age_of_a_node_is_the_time_since_its_latest_relationship() -> None:
    draw, n = np.random.default_rng(0), 60
    graph = Graph(sparse.csr_array(np.triu(draw.random((n, n)) < 0.1, k=1).astype(float)))
    times = draw.integers(0, 50, graph.n_edges).astype(float)
    times[draw.random(len(times)) < 0.3] = np.nan
    found = ages(replace(graph, edge_times=times))
    now = np.nanquantile(times, 0.99)
    for node in range(n):
        own = times[(graph.edges.row == node) | (graph.edges.col == node)]
        known = own[~np.isnan(own)]
        assert found[node] == (max(now - known.max(), 0.0) if known.size else -1.0)
    assert (ages(graph) == -1.0).all()
    assert (ages(replace(graph, edge_times=np.full(graph.n_edges, np.nan))) == -1.0).all()
    late = np.append(times[:-1], 1e6)  # a wrong time
    assert np.median(ages(replace(graph, edge_times=late))) < 50.0
