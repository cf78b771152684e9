"""Patterns: which a graph has, and which a user's words choose."""

from itertools import compress, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.patterns import (
    NO_LABEL,
    Pattern,
    chosen_patterns,
    common_patterns,
    link_limits,
    observed_patterns,
    rare_patterns_note,
)

FILMS = {
    (("User",), "RATED", ("Movie",)): 50,
    (("Flagged", "User"), "RATED", ("Movie",)): 3,
    (("Actor", "Person"), "ACTED_IN", ("Movie",)): 20,
    (("Actor", "Director", "Person"), "ACTED_IN", ("Movie",)): 2,
    (("User",), "LINKS", ("Movie",)): 4,
    (("Movie",), "LINKS", ("Genre",)): 6,
    ((), "SEEN-AT", ("Movie",)): 1,
}
NODES = {"User": 100, "Flagged": 5, "Movie": 60, "Actor": 20, "Person": 30, "Director": 5, "Genre": 4}
LABELS, TYPES = "ABC", "RS"
SETS = [tuple(compress(LABELS, mask)) for mask in product((0, 1), repeat=3)]
SCHEMAS = st.dictionaries(
    st.tuples(st.sampled_from(SETS), st.sampled_from(TYPES), st.sampled_from(SETS)), st.integers(1, 9)
)


def test_a_node_counts_under_the_rarest_label_that_all_carry_or_the_commonest_of_the_rest():
    assert observed_patterns(FILMS, NODES) == {
        ("Actor", "ACTED_IN", "Movie"): 22,
        ("Movie", "LINKS", "Genre"): 6,
        ("User", "LINKS", "Movie"): 4,
        ("User", "RATED", "Movie"): 53,
        (NO_LABEL, "SEEN-AT", "Movie"): 1,
    }


CITIES = (("City", "Place"), "PART_OF", ("Place", "State"))
STATES = (("Place", "State"), "PART_OF", ("Country", "Place"))
REGIONS = (("Region",), "PART_OF", ("Country", "Place"))
PLACES = {"Place": 90, "City": 40, "State": 20, "Country": 30, "Region": 5, "Village": 3}


def test_levels_of_a_hierarchy_are_patterns_of_their_own():
    assert observed_patterns({CITIES: 40, STATES: 20, REGIONS: 5}, PLACES) == {
        ("City", "PART_OF", "State"): 40,
        ("State", "PART_OF", "Country"): 20,
        ("Region", "PART_OF", "Country"): 5,
    }


@pytest.mark.parametrize(
    ("others", "nodes"),
    [
        ({}, {"Place": 80}),  # three in four sources, and targets, stay
        ({}, {"State": 10, "Country": 81}),  # more targets than before
        ({(CITIES[0], "PART_OF", STATES[2]): 9}, {}),  # cities are in states and in countries
        ({(("Place", "Village"), "PART_OF", CITIES[2]): 3}, {}),  # too few to learn from
    ],
)
def test_levels_stay_together(others, nodes):
    schema = {CITIES: 40, STATES: 20, **others}
    expected = {("Place", "PART_OF", "Place"): sum(schema.values())}
    assert observed_patterns(schema, PLACES | {"Country": 40} | nodes) == expected


@given(SCHEMAS, st.fixed_dictionaries({label: st.integers(1, 9) for label in LABELS}))
def test_every_relationship_is_of_one_pattern_whose_labels_its_ends_carry(schema, nodes):
    observed = observed_patterns(schema, nodes)
    assert sum(observed.values()) == sum(schema.values())
    for source, kind, target in schema:
        assert any(
            (pattern.source in source if source else pattern.source == NO_LABEL)
            and pattern.type == kind
            and (pattern.target in target if target else pattern.target == NO_LABEL)
            for pattern in observed
        )


def naive_labels(ends, carriers):
    """Return the label under which each set of labels counts, found anew for what is left each time."""
    under = {labels: NO_LABEL for labels in ends if not labels}
    while rest := {labels: count for labels, count in ends.items() if labels not in under}:
        covered = {
            label: sum(count for labels, count in rest.items() if label in labels)
            for label in set().union(*rest)
        }
        best = min(covered, key=lambda label: (-covered[label], carriers.get(label, 0), label))
        under |= {labels: best for labels in rest if best in labels}
    return under


def naive_counts(own, sources, targets):
    counts = {}
    for (source, kind, target), count in own.items():
        pattern = Pattern(sources[source], kind, targets[target])
        counts[pattern] = counts.get(pattern, 0) + count
    return counts


def is_better(narrow, shared, nodes):
    """Return whether patterns leave nodes out and have one partner a label, and none is too rare."""
    labels = [[{pattern[end] for pattern in each} for end in (0, 2)] for each in (narrow, shared)]
    now, before = ([sum(map(nodes.get, of_end)) for of_end in each] for each in labels)
    fewest = min(sum(shared.values()) / 10, *shared.values())
    return (
        now[0] <= before[0]
        and now[1] <= before[1]
        and any(3 * few <= 2 * many > 0 for few, many in zip(now, before, strict=True))
        and len(narrow) <= max(map(len, labels[0]))
        and min(narrow.values()) >= fewest
    )


@given(SCHEMAS, st.fixed_dictionaries({label: st.integers(1, 9) for label in LABELS}))
def test_labels_are_chosen_as_by_the_naive_search(schema, nodes):
    naive = {}
    for kind in TYPES:
        own = {triple: count for triple, count in schema.items() if triple[1] == kind}
        under = []
        for end in (0, 2):
            ends = {}
            for triple, count in own.items():
                ends[triple[end]] = ends.get(triple[end], 0) + count
            under.append(naive_labels(ends, nodes))
        rarest = {labels: min(labels, key=lambda label: (nodes[label], label)) for labels in SETS[1:]}
        rarest[()] = NO_LABEL
        shared, narrow = naive_counts(own, *under), naive_counts(own, rarest, rarest)
        naive |= narrow if own and is_better(narrow, shared, {NO_LABEL: 0} | nodes) else shared
    assert observed_patterns(schema, nodes) == naive


def test_twenty_thousand_patterns_of_five_thousand_labels_are_found_and_are_rare():
    # The naive search takes minutes here.
    rng = np.random.default_rng(0)
    names = [f"L{number}" for number in range(5000)]
    schema = {((names[a],), "T", (names[b],)): 1 for a, b in rng.integers(0, 5000, (20_000, 2)).tolist()}
    observed = observed_patterns(schema, dict.fromkeys(names, 4))
    assert len(observed) == len(schema) > 19_900
    assert common_patterns(observed) == {}
    assert f"{len(schema):,} patterns have fewer than 10 relationships (" in rare_patterns_note(observed)


@pytest.mark.parametrize(
    ("counts", "common"),
    [([10, 9, 500], [10, 500]), ([9, 3, 8], [9, 3, 8]), ([2, 3, 40], [40]), ([1, 1, 1], [1, 1, 1]), ([], [])],
)
def test_a_pattern_is_rare_below_ten_relationships_and_a_tenth_of_all(counts, common):
    observed = {Pattern("A", f"T{place}", "B"): count for place, count in enumerate(counts)}
    assert list(common_patterns(observed).values()) == common
    note = rare_patterns_note(observed)
    assert (note is None) == (common == counts)


def test_a_note_names_rare_patterns_and_counts_their_types():
    observed = {Pattern("A", "T", "B"): 500} | {Pattern("A", f"R{place}", "B"): 1 for place in range(1000)}
    assert rare_patterns_note(observed) == (
        "no links are predicted for rare patterns: 1,000 patterns have fewer than 10 relationships of 1,000 "
        "relationship types (A-R0->B, A-R1->B, A-R2->B, ...); name one in `patterns` to predict it anyway"
    )


def test_where_more_patterns_share_than_there_are_links_none_gets_more_than_it_has():
    few = {Pattern("A", f"T{place}", "A"): 40 for place in range(3)}
    many = {Pattern("A", f"T{place}", "A"): 40 for place in range(30)}
    assert link_limits(10, few) == [4] * 3
    assert link_limits(10, many) == [1] * 30


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("User-RATED->Movie", ["User-RATED->Movie"]),
        ("(User)-[RATED]->(Movie)", ["User-RATED->Movie"]),
        (" (:User)-[:RATED]->(:Movie) ", ["User-RATED->Movie"]),
        (("User", "RATED", "Movie"), ["User-RATED->Movie"]),
        ("*-*->Genre", ["Movie-LINKS->Genre"]),
        ("*-L*->*", ["Movie-LINKS->Genre", "User-LINKS->Movie"]),
        ("Person-ACTED_IN->Movie", ["Person-ACTED_IN->Movie"]),
        ("Flagged-*->*", ["Flagged-RATED->Movie"]),
        ("-`SEEN-AT`->Movie", ["-`SEEN-AT`->Movie"]),
    ],
)
def test_words_choose_patterns(spec, found):
    chosen = chosen_patterns([spec], FILMS, NODES)
    assert list(map(str, chosen)) == found
    for pattern in chosen:
        assert list(chosen_patterns([str(pattern)], FILMS, NODES)) == [pattern]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("User-RATD->Movie", "no relationship type 'RATD': did you mean 'RATED'"),
        ("Usr-RATED->Movie", "no label 'Usr': did you mean 'User'"),
        ("Movie-RATED->User", "the graph has no relationship of this pattern; it has"),
        ("User RATED Movie", "write User-RATED->Movie"),
        ("Movie<-RATED-User", "write User-RATED->Movie"),
        ("", "write User-RATED->Movie"),
        (("User", "Movie"), "a source label, a type and a target label"),
        ("RATED", r"write User-RATED->Movie, with \* for any name, such as \*-RATED->\*, and"),
        ("User->Movie", r"with \* for any name, and names"),
    ],
)
def test_words_that_choose_nothing_are_refused(spec, why):
    with pytest.raises(ValueError, match=why):
        chosen_patterns([spec], FILMS, NODES)


@pytest.mark.parametrize("name", ["a`b", "a-b", "a->b", "(a)", "a*", "?", "`", "ü ß"])
def test_odd_names_are_read_as_they_are_written(name):
    schema = {((name,), name, ("A",)): 1, (("aXb",), "aXb", ("A",)): 1}
    pattern = Pattern(name, name, "A")
    assert list(chosen_patterns([str(pattern)], schema, {name: 1, "aXb": 1, "A": 1})) == [pattern]


def test_a_graph_counts_its_relationships_by_labels_and_type():
    graph = Graph(
        sparse.csr_array(([1.0, 1.0, 1.0], ([0, 1, 0], [2, 2, 3])), shape=(4, 4)),
        labels={"User": np.array([1, 1, 0, 0], bool), "Movie": np.array([0, 0, 1, 0], bool)},
        relationships=Relationships.from_pairs(
            {"RATED": (np.array([1, 0, 0, 2]), np.array([2, 2, 2, 2])), "SAW": (np.array([0]), np.array([3]))}
        ),
    )
    assert graph.schema() == {(("User",), "RATED", ("Movie",)): 2, (("User",), "SAW", ()): 1}
    among = graph.among(np.array([1, 2]))
    assert among.schema() == {(("User",), "RATED", ("Movie",)): 1}
    assert among.relationships.matrix("RATED", 2).toarray().tolist() == [[0, 1], [0, 0]]


def test_relationships_of_rows_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="rows 0 to 1"):
        Graph(
            sparse.csr_array((2, 2)),
            relationships=Relationships.from_pairs({"R": (np.array([0]), np.array([2]))}),
        )
