"""Ranges that are written at once share no node; every row is in one of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j.database.write.batches import conflict_free_rounds, equal_parts

parts = st.integers(1, 4)


@given(total=st.integers(0, 1000), parts=parts)
def test_equal_parts_cover_all_rows_once(total, parts):
    (ranges,) = equal_parts(total, parts)
    assert [row for begin, end in ranges for row in range(begin, end)] == list(range(total))
    lengths = [end - begin for begin, end in ranges]
    assert len(lengths) == parts
    assert max(lengths) - min(lengths) <= 1


@given(
    pairs=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=200, unique=True),
    parts=parts,
)
def test_no_two_ranges_of_a_round_share_a_node(pairs, parts):
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    order, rounds = conflict_free_rounds(source, target, parts)
    assert len(rounds) == 2 * parts - 1
    assert [begin for ranges in rounds for begin, _ in ranges[:1]][:1] == [0]
    written = []
    for ranges in rounds:
        assert len(ranges) == parts
        met = [set(np.append(source[order[b:e]], target[order[b:e]]).tolist()) for b, e in ranges]
        assert sum(map(len, met)) == len(set().union(*met))
        for begin, end in ranges:
            rows = order[begin:end].tolist()
            assert rows == sorted(rows)
            written += rows
    assert sorted(written) == list(range(len(pairs)))


def test_the_ranges_have_similar_lengths():
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 1000, size=(2, 60_000))
    _, rounds = conflict_free_rounds(source, target, 2)
    lengths = np.array([[end - begin for begin, end in ranges] for ranges in rounds])
    assert lengths[1:].max() <= 1.1 * lengths[1:].min()
    assert lengths[0].max() <= 1.1 * lengths[0].min()
