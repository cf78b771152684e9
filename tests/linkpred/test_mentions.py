"""Names of nodes in the texts of others: features and candidates of link scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.candidates import candidate_pairs
from heat_neo4j.linkpred.features import FEATURES, NAMED, PairFeatures, features_of
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.mentions import Mentions
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.patterns import Pattern

MENTIONS = Pattern("Page", "MENTIONS", "Thing")
PAGES, THINGS, UNLINKED = 150, 40, 5
N = PAGES + THINGS
WORDS = [
    f"{first}{last}"
    for first in ("ba", "de", "fi", "go", "lu")
    for last in ("ran", "sel", "tim", "von", "zak")
]


def corpus(*, names: bool, keys: Sequence[str | int] | None = None) -> tuple[list[set[str]], Graph]:
    """Return the words of each text or name, and pages that mention things; the last things have no link."""
    rng = np.random.default_rng(0)
    pairs = [f"{WORDS[i]} {WORDS[j]}" for i in range(25) for j in range(i)]
    things = [pairs[place] for place in rng.choice(len(pairs), THINGS, replace=False)]
    about = rng.integers(0, THINGS, size=(PAGES, 2))
    fillers = rng.choice(["one", "two", "six", "ten", "who", "but"], size=(PAGES, 12))
    texts = [" ".join((*fillers[row], *(things[each] for each in about[row]))) for row in range(PAGES)]
    mentions = np.unique(np.column_stack((np.repeat(np.arange(PAGES), 2), PAGES + about.ravel())), axis=0)
    source, target = mentions[mentions[:, 1] < N - UNLINKED].T
    labels = {"Page": np.arange(N) < PAGES, "Thing": np.arange(N) >= PAGES}
    values = {"text": [*texts, *[None] * THINGS], "name": [*[None] * PAGES, *things]}
    chosen = ["text", "name"] if names else ["text"]
    read = [Attribute(each, text=True) for each in chosen]
    table = AttributeTable(read, N, max_categories=9, labels=labels)
    table.add(np.arange(N), {each: values[each] for each in chosen})
    encoded = table.finish(np.arange(N))
    both = (np.ones(2 * len(source)), (np.r_[source, target], np.r_[target, source]))
    graph = Graph(
        sparse.csr_array(both, shape=(N, N)),
        encoded.matrix,
        keys=[f"page{row}" for row in range(PAGES)] + [each.replace(" ", "_") for each in things]
        if keys is None
        else keys,
        labels=labels,
        relationships=Relationships.from_pairs({"MENTIONS": (source, target)}),
        provenance=Provenance(attribute_recipe=encoded.recipe),
    )
    return [set(text.split()) for text in (*texts, *things)], graph


@pytest.mark.parametrize("names", [True, False])
def test_a_mention_counts_by_the_share_of_the_name_and_the_rarity_of_its_words(names: bool) -> None:
    words, graph = corpus(names=names)
    mentions = Mentions.of(graph)
    assert mentions is not None
    has_text = [row < PAGES or names for row in range(N)]
    n_with = {
        word: sum(word in each for each, has in zip(words, has_text, strict=True) if has)
        for word in set().union(*words)
    }
    pairs = np.array([(row, PAGES + row % THINGS) for row in range(PAGES)] + [(3, PAGES), (PAGES, PAGES + 1)])
    expected = []
    for page, thing in pairs:
        weights = {word: log((1 + N) / (1 + n_with[word])) + 1 for word in words[thing]}
        found = sum(weights[word] for word in words[thing] & words[page] if has_text[page])
        expected.append(found / sqrt(sum(weights.values())))
    np.testing.assert_allclose(mentions.of_targets().pairs(pairs), expected, rtol=1e-12)
    assert max(expected) > 1.0  # of a whole name of rare words


def test_graphs_without_texts_or_names_do_not_have_the_features() -> None:
    _, graph = corpus(names=True)
    assert features_of(graph) == (*FEATURES, *NAMED)
    _, by_number = corpus(names=False, keys=list(range(N)))
    plain = Graph(graph.adjacency, labels=graph.labels, relationships=graph.relationships, keys=graph.keys)
    assert features_of(plain) == FEATURES
    points = lift(np.random.default_rng(2).normal(size=(N, 3)))
    assert set(NAMED) <= set(PairFeatures(points, graph).of(MENTIONS).link)
    assert not set(NAMED) & set(PairFeatures(points, by_number).of(MENTIONS).link)


@pytest.mark.parametrize("names", [True, False])
def test_a_thing_without_links_is_linked_from_the_pages_that_name_it(names: bool) -> None:
    words, graph = corpus(names=names)
    model = HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=1).fit(graph)
    candidates = candidate_pairs(graph, MENTIONS)
    listed = Surroundings(model.embedding_, graph).of(candidates, candidates)
    found = {tuple(pair) for pair in listed.pairs(0, len(candidates.sources)).tolist()}
    scorer = fit_link_score(model, graph).scorers(model.embedding_, graph)(MENTIONS)
    ranks = []
    for page in range(PAGES):
        others = np.setdiff1d(np.arange(PAGES, N), graph.adjacency[[page]].indices)
        scores = scorer.pairs(np.column_stack((np.full(len(others), page), others)))
        for thing in range(N - UNLINKED, N):
            if words[thing] <= words[page]:
                assert (page, thing) in found
                ranks.append(1 + np.count_nonzero(scores > scores[others == thing]))
    assert len(ranks) > 10
    assert np.mean(1.0 / np.array(ranks)) > 0.5
