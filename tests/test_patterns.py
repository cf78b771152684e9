"""Patterns: which a graph has, and which a user's words choose."""

from itertools import compress, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.patterns import NO_LABEL, Pattern, chosen_patterns, observed_patterns

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
        ("Movie-RATED->User", "no relationship of the projection is of this pattern; it has"),
        ("User RATED Movie", "write User-RATED->Movie"),
        ("Movie<-RATED-User", "write User-RATED->Movie"),
        ("", "write User-RATED->Movie"),
        (("User", "Movie"), "a source label, a type and a target label"),
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
