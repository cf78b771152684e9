"""Which labels indexes are made over, and which indexes find nearest points."""

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j.database.index.vector_indexes import (
    MOST_INDEXES,
    IndexPlan,
    VectorIndex,
    build_indexes,
    label_cover,
    read_cover,
)
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import WriteFailed, WriteRefused

NAMES = WriteNames(model="papers")
PLAN = IndexPlan(
    run=NAMES.run,
    property=NAMES.plain.embedding,
    own=(NAMES.plain.embedding, NAMES.plain.vector),
    space="run 1",
    dimension=10,
    name_of=NAMES.index_of,
    labels=("Paper",),
    model="papers",
)
GOOD = VectorIndex(
    name="papers_Paper",
    label="Paper",
    property="papersEmbedding",
    state="ONLINE",
    percent=100.0,
    dimension=10,
    similarity="EUCLIDEAN",
    quantized=False,
    failure="",
)
LABELS = st.sets(st.sampled_from("ABCDE"), max_size=3)
SETS = st.lists(st.tuples(LABELS, st.integers(1, 50)), max_size=6)


@pytest.mark.parametrize(
    ("label_sets", "cover"),
    [
        ([], ()),
        ([(["A"], 5)], ("A",)),
        ([(["A"], 1), (["B"], 5)], ("B", "A")),
        ([(["A", "B"], 5), (["B"], 1)], ("B",)),
        ([(["A"], 3), (["A", "B"], 3), (["B"], 3)], ("A", "B")),  # a tie: by name
        ([(["B", "A"], 3)], ("A",)),
        # B has most nodes; of those left, D has more than C, though C has more of all.
        ([(["B", "C"], 9), (["B"], 1), (["C"], 1), (["D"], 2)], ("B", "D", "C")),
        ([([], 1)], ()),
        ([(["A"], 50), ([], 1)], ()),
    ],
)
def test_the_label_of_most_nodes_comes_first(label_sets, cover):
    assert label_cover(label_sets) == cover


def smallest_cover(label_sets):
    """Return how many labels are needed at least, by trying all choices; None if there is no cover."""
    labels = sorted(set().union(*(held for held, _ in label_sets)))
    for size in range(len(labels) + 1):
        for chosen in combinations(labels, size):
            if all(held & set(chosen) for held, _ in label_sets):
                return size
    return None


@given(SETS)
def test_every_node_has_a_label_of_the_cover_if_there_is_one(label_sets):
    cover = label_cover(label_sets)
    least = smallest_cover(label_sets)
    if least is None:
        assert cover == ()
        return
    assert all(held & set(cover) for held, _ in label_sets)
    assert len(set(cover)) == len(cover)
    assert len(cover) >= least
    assert (len(cover) == least) or least > 1
    assert label_cover([(sorted(held, reverse=True), count) for held, count in label_sets[::-1]]) == cover


@given(SETS)
def test_no_label_of_the_cover_comes_too_late_to_be_of_use(label_sets):
    cover = label_cover(label_sets)
    for i, label in enumerate(cover):
        assert any(label in held and not held & set(cover[:i]) for held, _ in label_sets)


def test_an_index_serves_the_coordinates_that_it_is_over():
    assert GOOD.serves(PLAN)
    assert replace(GOOD, state="POPULATING", percent=3.0).serves(PLAN)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"label": "Author"},  # then its name would be another
        {"name": "_papersStaged_Paper"},  # it is of the version that is being published
        {"property": "papersEmbeddingStaged"},
        {"property": "papersEmbedding,year"},
        {"dimension": 11},
        {"dimension": None, "similarity": None},
        {"similarity": "COSINE"},
        {"quantized": True},
        {"state": "FAILED", "failure": "the disk is full"},
    ],
)
def test_an_index_that_is_otherwise_does_not_serve(change):
    assert not replace(GOOD, **change).serves(PLAN)


def test_an_index_that_makes_no_progress_is_given_up():
    settings = {"vector.dimensions": 10, "vector.similarity_function": "EUCLIDEAN"}
    record = {
        "name": GOOD.name, "labels": ["Paper"], "properties": [GOOD.property], "state": "POPULATING",
        "percent": 3.0, "failure": "", "settings": {**settings, "vector.quantization.enabled": False},
    }  # fmt: skip
    connection = SimpleNamespace(read=lambda *arguments, **options: [record])
    with pytest.raises(WriteFailed, match=r"is stuck at 3%: check the server's log"):
        build_indexes(connection, PLAN, (("Paper",), 5), check_lease=lambda: None, stalled_seconds=0.0)


@pytest.mark.parametrize("n_labels", [MOST_INDEXES, MOST_INDEXES + 1, 5_000])
def test_thousands_of_labels_get_no_thousands_of_indexes(n_labels):
    rows = [{"labels": [f"L{number}"], "nodes": 1} for number in range(n_labels)]
    connection = SimpleNamespace(read=lambda *_, **__: rows)
    plan = SimpleNamespace(run="heatRun", space="a", labels=())
    if n_labels <= MOST_INDEXES:
        cover, found = read_cover(connection, plan, ["A"])
        assert (len(cover), found) == (n_labels, n_labels)
        return
    with pytest.raises(WriteRefused, match=r"more than 50 labels are needed .* give the nodes one label"):
        read_cover(connection, plan, ["A"])
