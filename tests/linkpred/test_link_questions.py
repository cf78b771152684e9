"""Recommendations and explanations of links, beside what slow Python makes of them."""

import tracemalloc
from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from heat_neo4j._utils.progress import no_progress
from heat_neo4j._utils.version import __version__
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.cli import heat, verbs
from heat_neo4j.cli.commands.explain import _print_contributions, _summary
from heat_neo4j.cli.output import format_probability
from heat_neo4j.database.read.node_lookup import AmbiguousNodeError
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.embedding.near_lists import Words
from heat_neo4j.errors import ProjectionError
from heat_neo4j.geometry.hyperboloid import lift, pair_distances, radius
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import embed_without
from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.explanation import FAMILIES, MEANINGS
from heat_neo4j.linkpred.features import AGES, APART, FEATURES, ISOLATED, NAMED
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.recommendation import likeliest_partners, patterns_at
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.patterns import Pattern
from heat_neo4j.pipeline import link_questions
from heat_neo4j.pipeline.fit import fit_link_model
from heat_neo4j.pipeline.job import LinkOptions
from heat_neo4j.pipeline.published_model import PublishedModel, read_score
from tests.support.explained import explain_pair
from tests.support.naive_links import candidate_pairs

RATED, FOLLOWS = Pattern("User", "RATED", "Movie"), Pattern("User", "FOLLOWS", "User")
USERS, MOVIES = 24, 16
N = USERS + MOVIES


@pytest.fixture(scope="module")
def graph():
    """Users of two tastes, who rate movies and follow each other; movies have a genre."""
    draw = np.random.default_rng(3)
    taste = draw.integers(0, 2, N)
    chance = np.where(taste[:, None] == taste, 0.5, 0.08)
    yes = draw.random((N, N)) < chance
    np.fill_diagonal(yes, False)
    rated, follows = np.zeros((N, N), bool), np.zeros((N, N), bool)
    rated[:USERS, USERS:] = yes[:USERS, USERS:]
    follows[:USERS, :USERS] = yes[:USERS, :USERS] & (draw.random((USERS, USERS)) < 0.4)
    is_movie = np.arange(N) >= USERS
    genres = np.column_stack((is_movie & (taste == 0), is_movie & (taste == 1), is_movie * 2.5))
    return Graph(
        sparse.csr_array((rated | follows).astype(float) + follows),  # what two follow weighs 2
        attributes=genres.astype(float),
        attribute_names=("genre=a", "genre=b", "long"),
        labels={"User": ~is_movie, "Movie": is_movie},
        relationships=Relationships.from_pairs({"RATED": rated.nonzero(), "FOLLOWS": follows.nonzero()}),
    )


@pytest.fixture(scope="module")
def model():
    return HEAT(n_components=3, walks_per_node=4, walk_length=20, random_state=0, n_threads=1)


@pytest.fixture(scope="module")
def points(model, graph):
    return model.fit(graph).embedding_


@pytest.fixture(scope="module")
def score(model, graph):
    return link_score([embed_without(model, graph)], graph)


def joined(graph, kind, a, b):
    source, target = graph.relationships.of(kind)
    return bool(((source == a) & (target == b)).any())


@pytest.mark.parametrize(
    ("pattern", "row", "reverse"), [(RATED, 2, False), (RATED, 30, True), (FOLLOWS, 5, True)]
)
@pytest.mark.parametrize("scored", [True, False])
def test_the_likeliest_partners_are_the_best_of_all_that_are_not_joined(
    graph, points, score, pattern, row, reverse, scored
):
    (found,) = likeliest_partners(
        points,
        graph,
        [pattern],
        row,
        6,
        reverse=reverse,
        scorers=score.scorers(points, graph) if scored else None,
    )
    end = int(reverse)
    pairs = np.array(sorted(pair for pair in candidate_pairs(graph, pattern) if pair[end] == row))
    distance = pair_distances(points, pairs)
    odds = score.scorers(points, graph)(pattern).pairs(pairs) if scored else -distance
    best = np.argsort(-odds, kind="stable")[:6]
    assert found.n_candidates == len(pairs) > 6
    assert found.partner.tolist() == pairs[best, 1 - end].tolist()
    np.testing.assert_allclose(found.distance, distance[best])
    if scored:
        scorer = score.scorers(points, graph)(pattern)
        np.testing.assert_allclose(found.probability, scorer.probability(odds[best]), rtol=1e-9)
    else:
        assert found.probability is None
        assert found.chance(0) is None


@pytest.mark.parametrize("backward", [False, True])
def test_of_rivals_for_a_nodes_one_link_only_the_likeliest_has_the_probability_of_its_score(backward):
    draw, films, n = np.random.default_rng(0), np.arange(300), 340
    directors = 300 + (films % 8) * 5 + draw.integers(0, 5, 300)
    is_known = draw.random(300) < 0.9
    ends = (films[is_known], directors[is_known])[:: -1 if backward else 1]
    labels = {"Film": np.arange(n) < 300, "Director": np.arange(n) >= 300}
    graph = Graph(
        sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n)),
        attributes=np.eye(8)[np.append(films % 8, np.arange(40) // 5)],
        labels=labels,
        relationships=Relationships.from_pairs({"BY": ends}),
    )
    pattern = Pattern(*(("Director", "BY", "Film") if backward else ("Film", "BY", "Director")))
    model = HEAT(n_components=3, walks_per_node=4, walk_length=20, random_state=0, n_threads=1).fit(graph)
    points, score = model.embedding_, link_score([embed_without(model, graph)], graph)
    scorers, rules = score.scorers(points, graph), learn_schema_rules(graph, [pattern])
    assert rules.allow_one(pattern) == (not backward, backward)
    film = int(films[~is_known][0])
    (found,) = likeliest_partners(
        points, graph, [pattern], film, 5, reverse=backward, scorers=scorers, rules=rules
    )
    pairs = np.column_stack((np.full(5, film), found.partner))[:, :: -1 if backward else 1]
    odds = scorers(pattern).pairs(pairs)
    first = scorers(pattern).probability(odds[0])
    assert found.probability[0] == first
    np.testing.assert_allclose(found.probability, first * np.exp(odds - odds[0]), rtol=1e-9)
    for pair, probability in zip(pairs, found.probability, strict=True):
        link = explain_pair(points, graph, pattern, tuple(pair), partial(score.scorers, points))
        assert link.probability == pytest.approx(probability)
        assert link.interval[0] <= link.probability <= link.interval[1]
    # Asked from the other end, a director's likeliest film can have likelier directors.
    (other,) = likeliest_partners(
        points,
        graph,
        [pattern],
        int(found.partner[1]),
        40,
        reverse=not backward,
        scorers=scorers,
        rules=rules,
    )
    (place,) = np.flatnonzero(other.partner == film)
    assert other.probability[place] == pytest.approx(found.probability[1])


def test_a_node_that_is_linked_with_all_has_no_recommendation(points, score, graph):
    every = np.arange(USERS, N)
    full = Relationships.from_pairs({"RATED": (np.zeros(MOVIES, int), every)})
    adjacency = sparse.csr_array((np.ones(MOVIES), (full.source, full.target)), shape=(N, N))
    full = Graph(adjacency, labels=graph.labels, relationships=full)
    (found,) = likeliest_partners(points, full, [RATED], 0, scorers=score.scorers(points, full))
    assert (len(found.partner), found.n_candidates, len(found.probability)) == (0, 0, 0)


def test_labels_say_which_patterns_a_node_allows(graph):
    assert patterns_at(graph, (RATED, FOLLOWS), 0) == (RATED, FOLLOWS)
    assert patterns_at(graph, (RATED, FOLLOWS), 0, reverse=True) == (FOLLOWS,)
    assert patterns_at(graph, (RATED, FOLLOWS), 30) == ()


@pytest.mark.parametrize("pattern", [RATED, FOLLOWS])
def test_what_the_features_add_is_the_log_odds(graph, points, score, pattern):
    pair = (2, 30 if pattern is RATED else 7)
    link = explain_pair(points, graph, pattern, pair, partial(score.scorers, points))
    base, *others = link.contributions
    assert base.feature == "base"
    sizes = [abs(part.log_odds) for part in others]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(part.log_odds for part in link.contributions) == pytest.approx(link.log_odds, abs=1e-12)
    scorer = score.scorers(points, graph)(pattern)
    assert link.probability == pytest.approx(float(scorer.probability(link.log_odds)))
    assert (link.direction is None) == (pattern is RATED)
    if link.direction is not None:
        back = explain_pair(points, graph, pattern, pair[::-1], partial(score.scorers, points))
        assert link.direction + back.direction == pytest.approx(1)
    assert [link.source_radius, link.target_radius] == radius(points[list(pair)]).tolist()
    assert set(MEANINGS) == {"base", *FEATURES, *NAMED, *ISOLATED, *AGES, APART, "direction"}


@pytest.mark.parametrize("pattern", [RATED, FOLLOWS, None])
def test_a_link_that_exists_is_explained_as_if_it_did_not(model, graph, points, score, pattern):
    weights, left, triples = graph.adjacency.toarray(), [], None
    if pattern is None:
        graph = replace(graph, relationships=None, labels={})
        score = link_score([embed_without(model, graph)], graph)
        pairs = np.column_stack((graph.edges.row, graph.edges.col))[:1]
    else:
        links = {kind: np.column_stack(graph.relationships.of(kind)) for kind in ("RATED", "FOLLOWS")}
        pairs = links[pattern.type][3:4]
        links[pattern.type] = np.delete(links[pattern.type], 3, axis=0)
        left = [set(each) for every in links.values() for each in every.tolist()]
        triples = Relationships.from_pairs({kind: tuple(ends.T) for kind, ends in links.items()})
    if set(pairs[0].tolist()) not in left:
        weights[tuple(pairs[0])] = weights[tuple(pairs[0][::-1])] = 0.0
    rest = replace(graph, adjacency=sparse.csr_array(weights), relationships=triples)
    link = explain_pair(points, graph, pattern, tuple(pairs[0].tolist()), partial(score.scorers, points))
    assert link.joined
    scorer = score.scorers(points, rest)(pattern)
    assert link.log_odds == pytest.approx(float(scorer.pairs(pairs)[0]))
    assert link.probability == pytest.approx(float(scorer.probability(link.log_odds)))
    assert link.log_odds != pytest.approx(float(score.scorers(points, graph)(pattern).pairs(pairs)[0]))


def test_few_families_of_features_are_printed_and_add_up(ask, graph, points, score, capsys):
    grouped = [feature for features in FAMILIES.values() for feature in features]
    assert len(grouped) == len(set(grouped))
    assert set(MEANINGS) - set(grouped) == {"base", APART, "direction"}
    link = explain_pair(points, graph, FOLLOWS, (2, 7), partial(score.scorers, points))
    (base, first), *others = link.families()
    values = {part.feature: part.log_odds for part in link.contributions}
    assert (base, first) == (MEANINGS["base"], values["base"])
    sums = dict(others)
    assert [abs(total) for total in sums.values()] == sorted(map(abs, sums.values()), reverse=True)
    tastes = "groups of nodes that link alike"
    assert sums[tastes] == pytest.approx(sum(values[name] for name in FAMILIES[tastes] if name in values))
    assert sums[MEANINGS["direction"]] == values["direction"]
    assert first + sum(sums.values()) == pytest.approx(link.log_odds, abs=1e-12)
    found = link_questions.explain(ask, "2", "7", pattern=FOLLOWS)
    _print_contributions(found)
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line]
    assert rows.pop(0) == ["LOG", "ODDS  FROM"]
    assert rows.pop() == [f"{found.link.log_odds:+.3f}", "together, before calibration"]
    assert sum(float(value) for value, _ in rows) == pytest.approx(found.link.log_odds, abs=0.005)
    small = [total for _, total in found.link.families() if abs(total) < 0.1]
    assert rows[-1][1] == f"{len(small)} others"
    assert len(rows) == len(found.link.families()) - len(small) + 1 < len(found.to_dict()["contributions"])
    assert tastes in found._repr_html_()


def arrows(graph, a, b, kinds=("FOLLOWS", "RATED")):
    ways = [(kind, f"-{kind}->", a, b) for kind in kinds] + [(kind, f"<-{kind}-", b, a) for kind in kinds]
    return {text for kind, text, first, second in ways if joined(graph, kind, first, second)}


def test_what_two_nodes_share_is_found_the_rarest_first(graph, points):
    n_shared = n_paths = 0
    rated = tuple(int(ends[0]) for ends in graph.relationships.of("RATED"))
    for pair in ((2, 30), (0, 25), (7, 3), (5, 30), rated):
        pattern = RATED if pair[1] >= USERS else FOLLOWS
        link = explain_pair(points, graph, pattern, pair)
        assert (link.probability, link.log_odds, link.contributions) == (None, None, ())
        near = [set(np.flatnonzero(graph.adjacency[[row]].toarray()[0])) for row in pair]
        common = sorted(near[0] & near[1], key=lambda row: (graph.degrees[row], row))
        assert [way.nodes for way in link.shared] == [(row,) for row in common[:10]]
        assert link.n_shared == len(common)
        assert {str(tie) for tie in link.joined} == arrows(graph, *pair)
        kinds = [pattern.type]
        degree = [
            sum(bool(arrows(graph, row, other, kinds)) for other in range(N) if other != row)
            for row in range(N)
        ]
        paths = [
            (degree[a] * degree[b], a, b)
            for a in range(N)
            for b in range(N)
            if len({*pair, a, b}) == 4
            and all(arrows(graph, *step, kinds) for step in ((pair[0], a), (a, b), (b, pair[1])))
        ]
        apart = []
        for _, a, b in sorted(paths):
            if not {a, b} & {node for path in apart for node in path}:
                apart.append((a, b))
        assert [way.nodes for way in link.paths] == apart[:10]
        assert link.n_paths == len(paths)
        n_shared, n_paths = n_shared + len(common), n_paths + len(paths)
        for ways, names in ((link.shared, ("FOLLOWS", "RATED")), (link.paths, kinds)):
            for way in ways:
                stops = (pair[0], *way.nodes, pair[1])
                for step, a, b in zip(way.steps, stops[:-1], stops[1:], strict=True):
                    assert {str(tie) for tie in step} == arrows(graph, a, b, names)
    assert min(n_shared, n_paths) > 3


def test_paths_of_other_types_are_listed_if_there_are_none_of_the_type(points):
    rated, follows = ([0, 1, 1, 2], [24, 24, 25, 26]), ([1], [2])
    ties = Relationships.from_pairs({"RATED": tuple(map(np.array, rated)), "FOLLOWS": follows})
    links = sparse.csr_array((np.ones(len(ties)), (ties.source, ties.target)), shape=(N, N))
    graph = Graph(
        links, labels={"User": np.arange(N) < USERS, "Movie": np.arange(N) >= USERS}, relationships=ties
    )
    assert [way.nodes for way in explain_pair(points, graph, RATED, (0, 25)).paths] == [(24, 1)]
    assert explain_pair(points, graph, RATED, (0, 26)).n_paths == 0
    (way,) = explain_pair(points, graph, RATED, (1, 26)).shared
    assert way.nodes == (2,)
    (way,) = explain_pair(points, graph, FOLLOWS, (24, 26)).paths
    assert way.nodes == (1, 2)
    assert [" ".join(map(str, step)) for step in way.steps] == ["<-RATED-", "-FOLLOWS->", "-RATED->"]


@pytest.mark.parametrize(("pattern", "pair"), [(RATED, (2, 30)), (FOLLOWS, (7, 3))])
@pytest.mark.parametrize("has_attributes", [True, False])
def test_precedents_are_links_of_the_most_similar_nodes(graph, points, score, pattern, pair, has_attributes):
    graph = graph if has_attributes else replace(graph, attributes=None, attribute_names=())
    link = explain_pair(points, graph, pattern, pair, partial(score.scorers, points))
    values = np.asarray(graph.attributes, dtype=float) if has_attributes else np.zeros((N, 1))
    own = values[np.logical_or(*ends_of(graph, pattern))]
    values = (values - own.mean(axis=0)) / np.maximum(own.std(axis=0), 1e-9)
    norms = np.maximum(np.linalg.norm(values, axis=1), 1e-9)
    cosines = (values @ values.T) / np.outer(norms, norms)
    links = list(zip(*map(np.ndarray.tolist, graph.relationships.of(pattern.type)), strict=True))
    expected = []
    for end, node in enumerate(pair):
        others = [each for each in links if each[1 - end] == pair[1 - end] and each[end] != node]
        alike = {each: cosines[node, each[end]] for each in others if cosines[node, each[end]] >= 0.1}
        away = {each: float(pair_distances(points, np.array([[node, each[end]]]))[0]) for each in others}
        cost = {each: -round(value, 9) for each, value in alike.items()} or away
        order = sorted(cost, key=lambda each: (cost[each], each))
        expected += [(*each, alike.get(each), away[each]) for each in order[:3]]
    assert len(expected) > 3
    for found, known in zip(link.precedents, expected, strict=True):
        assert found[:2] == known[:2]
        assert found.cosine == pytest.approx(known[2], abs=1e-4)
        assert found.distance == pytest.approx(known[3])


def test_links_of_nodes_that_are_hardly_alike_are_no_precedents(graph, points, score):
    values = np.eye(N)
    values[:, 0] += 1e-3
    values[0] = values[1] = values[2]
    alone = replace(graph, attributes=values, attribute_names=tuple(f"a{row}" for row in range(N)))
    link = explain_pair(points, alone, FOLLOWS, (0, 25), partial(score.scorers, points))
    assert all(each.cosine is None or each.cosine >= 0.1 for each in link.precedents)


def test_shared_attributes_are_those_with_the_same_value(graph, points):
    values = np.asarray(graph.attributes)
    one, other = (int(row) for row in np.flatnonzero(values[:, 0])[:2])
    link = explain_pair(points, graph, FOLLOWS, (one, other))
    counts = np.count_nonzero(values, axis=0)
    assert link.attributes == (("genre=a", counts[0], None), ("long", MOVIES, None))
    assert explain_pair(points, graph, RATED, (0, one)).attributes == ()


def with_attributes(graph, table):
    encoded = table.finish(np.arange(N))
    return replace(
        graph,
        attributes=encoded.matrix,
        attribute_names=encoded.names,
        provenance=Provenance(attribute_recipe=encoded.recipe),
    )


def test_values_that_two_nodes_lack_are_not_shared(graph, points):
    is_user = graph.labels["User"]
    attributes = [Attribute("age"), Attribute("born", "User"), Attribute("city")]
    table = AttributeTable(attributes, N, max_categories=9, labels=graph.labels)
    ages = np.where(np.arange(N) < 5, 30.0, 40.0)
    values = {
        "age": [age if row < 9 else None for row, age in enumerate(ages.tolist())],
        "born": [1980.0 if user else None for user in is_user],
        "city": [None] * (N - 9) + ["Graz"] * 9,
    }
    table.add(np.arange(N), values)
    told = with_attributes(graph, table)

    def shared(pattern, *pair):
        return explain_pair(points, told, pattern, pair).attributes

    assert shared(FOLLOWS, 0, 1) == (("age", 9, None), ("User.born", USERS, None))
    assert shared(FOLLOWS, 0, 8) == (("User.born", USERS, None),)
    assert shared(FOLLOWS, 10, 11) == (("User.born", USERS, None),)
    assert shared(RATED, 10, USERS) == ()


def test_texts_that_hardly_agree_share_nothing(graph, points):
    words = np.random.default_rng(0).integers(0, 200, (N, 20))
    table = AttributeTable([Attribute("plot", text=True)], N, max_categories=9, labels=graph.labels)
    table.add(np.arange(N), {"plot": [" ".join(f"w{word}" for word in text) for text in words]})
    told = with_attributes(graph, table)
    first, second = np.triu_indices(USERS, 1)
    cosines = Words.of(told.attributes).cosines(first, second)
    assert ((cosines > 0.0) & (cosines < 0.005)).any()
    for cosine, *pair in zip(cosines.tolist(), first.tolist(), second.tolist(), strict=True):
        found = explain_pair(points, told, FOLLOWS, tuple(pair)).attributes
        assert found == ((("plot", N, round(cosine, 4)),) if cosine >= 0.005 else ())


def books(linked, *runs):
    return SimpleNamespace(
        bookkeeping=lambda: SimpleNamespace(published=lambda model: linked, runs_of=lambda model: runs)
    )


def run(run_id, previous=None, **parameters):
    return RunRecord(
        run_id, "m", ("embedding",), "complete", previous_run=previous, parameters=parameters,
        projection={"key": "name"},
    )  # fmt: skip


def test_the_score_is_that_of_the_links_if_they_are_of_the_same_coordinates(score):
    known, other = score.to_dict(), {**score.to_dict(), "n_edges": -1}
    first = run("r1", link_score=known)
    published = PublishedModel(first, None, None)
    later = run("r2", previous="r1", link_score=other)
    assert read_score(books({"linkRun": "r1"}, first), published) == score
    assert read_score(books({"linkRun": "r2"}, later, first), published).n_edges == -1
    stale = run("r0", previous="r9", link_score=other)
    assert read_score(books({"linkRun": "r0"}, first, stale), published) == score
    assert read_score(books({}, first), PublishedModel(run("r1"), None, None)) is None
    for damaged in (3, {}, {**known, "figures": {"a": 3}}):
        with pytest.raises(ProjectionError, match=r"is damaged \(parameters\)"):
            read_score(books({}, first), PublishedModel(run("r1", link_score=damaged), None, None))


def published_model(graph, points, score=None):
    """A published model whose nodes have the numbers of their rows in their element ids."""
    parameters = HEAT().get_params() if score is None else {"link_score": score.to_dict()}
    ids = [f"4:a:{row}" for row in range(graph.n_nodes)]
    named = Graph(graph.adjacency, labels=graph.labels, relationships=graph.relationships, node_ids=ids)
    return PublishedModel(run("r", **parameters), named, points, ("older",))


@pytest.fixture
def store_of(monkeypatch):
    """Return a store of a published model, whose nodes are found by the number of their row."""

    def store_of(published):
        monkeypatch.setattr(link_questions, "read_published", lambda store, model, **_: published)
        return SimpleNamespace(
            find_node=lambda node, **_: f"4:a:{node}",
            read_property=lambda graph, name: [f"{name[0]}{row}" for row in range(graph.n_nodes)],
            bookkeeping=books({}, published.run).bookkeeping,
        )

    return store_of


@pytest.fixture
def ask(store_of, graph, points, score):
    return store_of(published_model(graph, points, score))


def test_a_question_needs_a_pattern_that_the_labels_allow(ask):
    recommend, explain = link_questions.recommend, link_questions.explain
    both = recommend(ask, "0").to_dict()
    assert [each["pattern"] for each in both["patterns"]] == [str(FOLLOWS), str(RATED)]
    assert both["notes"] == ["older"]
    assert [each["pattern"] for each in recommend(ask, "30", reverse=True).to_dict()["patterns"]] == [
        str(RATED)
    ]
    assert explain(ask, "0", "30").to_dict()["pattern"] == str(RATED)
    for question, message in (
        (
            lambda: recommend(ask, "30"),
            r"'30' \(Movie\) is not a source in any pattern of the model: ask with `reverse`",
        ),
        (lambda: recommend(ask, "0", patterns=[RATED], reverse=True), "is not a target in User-RATED->Movie"),
        (lambda: recommend(ask, "0", patterns=["User-RATES->Movie"]), "did you mean 'RATED'"),
        (lambda: recommend(ask, "99"), "node '99' has no coordinates of model 'm'"),
        (
            lambda: explain(ask, "30", "0"),
            r"leads from '30' \(Movie\) to '0' \(User\): give the nodes the oth",
        ),
        (
            lambda: explain(ask, "30", "31"),
            r"to '31' \(Movie\): the model has: User-FOLLOWS->User, User-RATED->Movie",
        ),
        (
            lambda: explain(ask, "0", "30", pattern="User-FOLLOWS->User"),
            r"no link of User-FOLLOWS->User leads .* to '30' \(Movie\): these allow it: User-RATED->Movie$",
        ),
        (lambda: explain(ask, "0", "0"), "are the same node"),
    ):
        with pytest.raises(ProjectionError, match=message):
            question()


def test_the_pattern_decides_between_nodes_with_the_same_key(ask):
    def find_node(node, **_):
        if node == "up":  # a user and two movies
            raise AmbiguousNodeError("several nodes like that", ["4:a:0", "4:a:30", "4:a:31", "4:b:0"])
        return f"4:a:{node}"

    def ends(found):
        return found.link.source, found.link.target

    ask.find_node = find_node
    recommend, explain = link_questions.recommend, link_questions.explain
    assert ends(explain(ask, "up", "32", pattern=RATED)) == (0, 32)
    assert ends(explain(ask, "1", "up", pattern=FOLLOWS)) == (1, 0)
    assert recommend(ask, "up", patterns=["User-*->*"]).row == 0
    for ambiguous in (
        lambda: explain(ask, "1", "up", pattern=RATED),
        lambda: recommend(ask, "up", patterns=[RATED], reverse=True),
        lambda: explain(ask, "up", "32"),
        lambda: recommend(ask, "up"),
    ):
        with pytest.raises(ProjectionError, match="several nodes like that"):
            ambiguous()


def test_nodes_with_few_neighbours_are_left_out_on_request(ask, graph):
    every, few, none = (
        link_questions.recommend(ask, "2", k=N, patterns=[FOLLOWS], min_degree=least).patterns[0]
        for least in (0, 9, N)
    )
    assert few.partner.tolist() == [row for row in every.partner.tolist() if graph.degrees[row] >= 9]
    assert 0 == none.n_candidates < few.n_candidates < every.n_candidates
    with pytest.raises(ValueError, match="min_degree must be"):
        link_questions.recommend(ask, "2", min_degree=-1)


def test_nodes_are_named_by_their_caption(ask):
    link = link_questions.recommend(ask, "0", caption="title").to_dict()["patterns"][1]["links"][0]
    assert link["name"] == link["element_id"].replace("4:a:", "t")
    link = link_questions.recommend(ask, "0", caption={"User": "title"}).to_dict()["patterns"][1]["links"][0]
    assert link["name"] == link["element_id"].replace("4:a:", "n"), "a movie is named by its key"
    shown = dict(_summary(link_questions.explain(ask, "0", "30", caption={"Movie": "title"})))
    assert shown["Link"].startswith("n0 -RATED-> t30: probability")
    with pytest.raises(ProjectionError, match="no node of the projection has the label 'Film'"):
        link_questions.explain(ask, "0", "30", caption={"Film": "title"})


def test_a_node_that_has_its_only_link_is_noted(store_of):
    films, directors = np.arange(100), 100 + np.arange(100) % 7
    is_film = np.arange(110) < 100
    graph = Graph(
        sparse.csr_array((np.ones(99), (films[1:], directors[1:])), shape=(110, 110)),
        labels={"Film": is_film, "Director": ~is_film},
        relationships=Relationships.from_pairs({"DIRECTED_BY": (films[1:], directors[1:])}),
    )
    ask = store_of(published_model(graph, np.column_stack((np.zeros((110, 2)), np.ones(110)))))
    notes = link_questions.recommend(ask, "5").notes
    assert notes[-1].startswith(
        "n5 has all the links allowed: each Film has at most one DIRECTED_BY to a Director (99 of 99 have one"
    )
    assert not any("allowed" in note for note in link_questions.recommend(ask, "0").notes)
    found = link_questions.recommend(ask, "101", reverse=True)  # all films but the first have a director
    ((only,),) = (each.partner for each in found.patterns)
    assert (only, found.patterns[0].n_candidates) == (0, 1)
    none_left = link_questions.recommend(ask, "101", reverse=True, min_degree=1)
    assert none_left.patterns[0].n_candidates == 0
    assert not any("to recommend for" in note for note in none_left.notes)  # the rules leave none
    every = link_questions.recommend(ask, "101", reverse=True, rules=False)
    assert not any("each Film" in note for note in every.notes)
    n_others = 99 - np.count_nonzero(directors[1:] == 101)
    assert every.patterns[0].n_candidates == 1 + n_others
    assert found.notes[-1].startswith(f"{n_others} Film nodes left out: each Film has at most one DIRECTED")


def test_patterns_of_which_a_node_has_all_links_are_recommended_only_by_name(store_of):
    films, is_film = np.arange(100), np.arange(110) < 100
    directed, casts = (films, 100 + films % 7), (np.tile(films, 2), 100 + np.append(3 * films, films + 1) % 7)
    ends = np.column_stack((directed, casts))
    graph = Graph(
        sparse.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(110, 110)),
        labels={"Film": is_film, "Person": ~is_film},
        relationships=Relationships.from_pairs({"DIRECTED_BY": directed, "WITH": casts}),
    )
    ask = store_of(published_model(graph, np.column_stack((np.zeros((110, 2)), np.ones(110)))))

    def recommended(**options):
        return [each.pattern.type for each in link_questions.recommend(ask, "5", **options).patterns]

    assert recommended() == ["WITH"]
    assert recommended(rules=False) == ["DIRECTED_BY", "WITH"]
    assert recommended(patterns=["Film-DIRECTED_BY->*"]) == ["DIRECTED_BY"]
    model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(graph)
    assert set(model.recommend(5).types) == {"WITH"}
    assert set(model.recommend(5, patterns=["*-*->*"]).types) == {"DIRECTED_BY", "WITH"}


def test_a_node_in_the_other_role_has_no_links_and_a_note_says_why(store_of):
    form, base = np.arange(40), 40 + np.arange(40) % 9  # no node is a form of one and has forms
    graph = Graph(
        sparse.csr_array((np.ones(40), (form, base)), shape=(60, 60)),
        relationships=Relationships.from_pairs({"FORM_OF": (form, base)}),
    )
    ask = store_of(published_model(graph, np.column_stack((np.zeros((60, 2)), np.ones(60)))))
    for node, reverse, note in (
        ("41", False, "no link of -FORM_OF-> leads from n41: it has incoming ones, and no node has both"),
        ("3", True, "no link of -FORM_OF-> leads to n3: it has outgoing ones, and no node has both"),
    ):
        found = link_questions.recommend(ask, node, reverse=reverse)
        (each,) = found.patterns
        assert (each.n_candidates, note in found.notes) == (0, True)
        assert not any("to recommend for" in line for line in found.notes)
        back = link_questions.recommend(ask, node, reverse=not reverse)
        assert not any("no node has both" in line for line in back.notes)
        assert back.patterns[0].n_candidates


def test_a_node_that_is_linked_to_every_possible_one_is_noted(store_of, monkeypatch):
    users, movies = np.maximum(np.arange(44) - 4, 0), 40 + np.arange(44) % 5  # the first rated all movies
    graph = Graph(
        sparse.csr_array((np.ones(44), (users, movies)), shape=(45, 45)),
        labels={"User": np.arange(45) < 40, "Movie": np.arange(45) >= 40},
        relationships=Relationships.from_pairs({"RATED": (users, movies)}),
    )
    ask = store_of(published_model(graph, np.column_stack((np.zeros((45, 2)), np.ones(45)))))
    found = link_questions.recommend(ask, "0", rules=False)
    note = "no link of User-RATED->Movie to recommend for n0: it is linked to every possible node"
    assert found.notes[-1] == note
    monkeypatch.setattr(verbs, "call", lambda *_, **__: found)
    assert CliRunner().invoke(heat, ["recommend", "0"]).output.splitlines() == [
        f"Note          {each}" for each in found.notes
    ]
    assert not any("recommend for" in line for line in link_questions.recommend(ask, "1", rules=False).notes)
    few = link_questions.recommend(ask, "1", rules=False, min_degree=30)
    assert few.notes[-1] == f"{note.replace('n0', 'n1')}, except those with fewer than 30 neighbours"


def test_links_that_the_rules_of_a_run_drop_are_not_recommended(store_of):
    draw, n = np.random.default_rng(0), 150
    later = np.repeat(np.arange(1, n), 3)
    earlier = (draw.random(len(later)) * later).astype(int)  # papers cite earlier ones: no cycles
    cites = sparse.csr_array((np.ones(len(later)), (later, earlier)), shape=(n, n))
    graph = Graph(cites, relationships=Relationships.from_pairs({"CITES": cites.nonzero()}))
    ask = store_of(published_model(graph, np.column_stack((np.zeros((n, 2)), np.ones(n)))))
    reach = np.linalg.matrix_power(cites.toarray() + np.eye(n), n) > 0.0
    citing = set(np.flatnonzero(reach[:, 9]).tolist())
    found = link_questions.recommend(ask, "9", k=n)
    (each,) = found.patterns
    assert not citing & set(each.partner.tolist())
    assert "forms no cycles (0 of" in found.notes[-1]
    every = link_questions.recommend(ask, "9", k=n, rules=False)
    dropped = set(every.patterns[0].partner.tolist()) - set(each.partner.tolist())
    assert dropped <= citing
    assert found.notes[-1].startswith(f"{len(dropped)} nodes left out: -CITES-> forms")
    assert every.notes == found.notes[:-1]
    assert every.patterns[0].n_candidates == each.n_candidates + len(dropped)


@pytest.fixture(scope="module")
def two_types(graph):
    """The graph with two types from users to movies: every third user likes, the others rate."""
    source, target = graph.relationships.of("RATED")
    likes = source % 3 == 0
    typed = Relationships.from_pairs(
        {
            "FOLLOWS": graph.relationships.of("FOLLOWS"),
            "RATED": (source[~likes], target[~likes]),
            "LIKES": (source[likes], target[likes]),
        }
    )
    return Graph(graph.adjacency, labels=graph.labels, relationships=typed)


def test_the_commonest_pattern_is_explained_without_a_score(store_of, two_types, points):
    likes = Pattern("User", "LIKES", "Movie")
    ask = store_of(published_model(two_types, points))
    for pattern, expected, others in (
        (None, RATED, [likes]),
        (likes, likes, []),
        ("*-*->Movie", RATED, [likes]),
    ):
        found = link_questions.explain(ask, "0", "30", pattern=pattern)
        told = found.to_dict()
        assert told["pattern"] == str(expected)
        assert told["alternatives"] == [{"pattern": str(each), "probability": None} for each in others]
        shown = list(_summary(found))
        assert (("Pattern", f"{RATED}; --predict chooses another") in shown) == bool(others)
        assert (("Others", str(likes)) in shown) == bool(others)


def test_the_likeliest_pattern_is_explained_as_heat_does(store_of, two_types, points):
    model = HEAT.from_points(two_types, points, random_state=0)
    model.explain(0, USERS)  # fits the link score
    ask = store_of(published_model(two_types, points, model.link_score_))
    reached = set()
    for source, target in product(range(8), range(USERS, USERS + 4)):
        found, own = link_questions.explain(ask, str(source), str(target)), model.explain(source, target)
        for name in ("pattern", "probability", "contributions", "alternatives"):
            assert found.to_dict()[name] == own.to_dict()[name]
        ((other, chance),) = own.alternatives
        assert chance <= own.probability
        assert ("Others", f"{other}: probability {format_probability(chance)}") in list(_summary(found))
        reached.add(own.pattern.type)
    assert reached == {"RATED", "LIKES"}


def test_a_model_without_probability_says_so(store_of, graph, points):
    ask = store_of(published_model(graph, points))
    found = link_questions.recommend(ask, "0").to_dict()
    assert found["notes"][-1].startswith("no link score: `heat links` fits one")
    assert found["patterns"][0]["links"][0]["probability"] is None
    why = link_questions.explain(ask, "0", "30").to_dict()
    assert (why["contributions"], why["notes"]) == ([], found["notes"])


def test_a_score_of_another_version_is_noted(store_of, graph, points, score):
    published = published_model(graph, points, score)
    for fitted_by, is_noted in ((__version__, False), ("0.0", True)):
        asked = store_of(replace(published, run=replace(published.run, versions={"heat_neo4j": fitted_by})))
        for found in (
            link_questions.recommend(asked, "0"),
            link_questions.explain(asked, "0", "30"),
        ):
            assert any("fitted by heat_neo4j 0.0" in note for note in found.notes) == is_noted


def test_a_model_of_too_few_links_is_not_told_to_fit_a_score(store_of, points, model):
    source, target = np.array([0, 1, 2]), np.array([USERS, USERS, USERS + 1])
    few = Graph(
        sparse.csr_array((np.ones(3), (source, target)), shape=(N, N)),
        relationships=Relationships.from_pairs({"RATED": (source, target)}),
    )
    link_model = fit_link_model(model, few, LinkOptions(), {}, no_progress)
    published = published_model(few, points)
    published.run.parameters.update(link_model.to_dict())
    ask = store_of(published)
    for notes in (link_questions.recommend(ask, "0").notes, link_questions.explain(ask, "0", "30").notes):
        assert notes == ("older", *link_model.notes)
    assert "at least 10 of each are needed" in notes[-1]
    assert notes[-1].endswith("run `heat links` when the graph has grown")


def test_an_explanation_takes_no_memory_for_types_that_do_not_join_the_two() -> None:
    n, n_types = 100_000, 200
    ends = np.arange(n_types), np.arange(n_types) + n_types
    pairs = {f"T{place}": (ends[0][[place]], ends[1][[place]]) for place in range(n_types)}
    graph = Graph(
        sparse.csr_array((np.ones(n_types), ends), shape=(n, n)),
        relationships=Relationships.from_pairs(pairs),
    )
    points = lift(np.zeros((n, 2)))
    tracemalloc.start()
    found = explain_pair(points, graph, Pattern("", "T7", ""), (7, n_types + 7))
    backward = explain_pair(points, graph, Pattern("", "T7", ""), (n_types + 7, 7))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert list(map(str, found.joined)) == ["-T7->"]
    assert list(map(str, backward.joined)) == ["<-T7-"]
    assert peak < 20_000_000
