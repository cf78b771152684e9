"""Short lists against slow twins: products of dense rows, and ranks added up one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._kernels.lists import NOBODY, best_of_rows, best_products, fused


def parts(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = sparse.csr_array(matrix)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data


def slow_best(total: np.ndarray, k: int) -> list[int]:
    """Return the places of the k largest positive numbers, ties by the lower place."""
    order = sorted(np.flatnonzero(total > 0).tolist(), key=lambda place: (-total[place], place))
    return (order + [NOBODY] * k)[:k]


def made(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return two matrices of small whole numbers, which columns suit, pairs that are joined, and rows."""
    rng = np.random.default_rng(seed)
    left, right = (
        np.where(rng.random(shape) < 0.3, rng.integers(-2, 9, shape), 0.0) for shape in ((15, 12), (12, 20))
    )
    return left, right, rng.random(20) < 0.7, rng.random((20, 20)) < 0.2, rng.permutation(15)[:9]


@pytest.mark.parametrize("k", [1, 4, 25])
@pytest.mark.parametrize("seed", range(3))
def test_lists_hold_the_largest_entries_of_the_product(seed: int, k: int) -> None:
    left, right, suits, joined, rows = made(seed)
    found, values = best_products(
        rows, *parts(left), *parts(right), suits, rows, *parts(joined)[:2], 10**6, k
    )
    for row, own, value in zip(rows, found.tolist(), values, strict=True):
        total = np.where(suits & ~joined[row], left[row] @ right, 0.0)
        total[row] = 0.0
        assert own == slow_best(total, k)
        there = [place for place in own if place != NOBODY]
        np.testing.assert_array_equal(value, total[there].tolist() + [0.0] * (k - len(there)))


@pytest.mark.parametrize("most", [0, 3, 9])
def test_the_largest_entries_come_first_and_rows_too_long_are_left_out(most: int) -> None:
    left, right, _, _, rows = made(5)
    everybody, nobody = np.ones(20, dtype=np.bool_), np.zeros(21, dtype=np.int64)
    found, _ = best_products(
        rows, *parts(left), *parts(right), everybody, np.full(9, -1), nobody, np.empty(0, np.int32), most, 20
    )
    for row, own in zip(rows, found.tolist(), strict=True):
        total, room = np.zeros(20), most
        for through in sorted(np.flatnonzero(left[row]), key=lambda place: (-abs(left[row, place]), place)):
            length = np.count_nonzero(right[through])
            if length <= room:
                total, room = total + left[row, through] * right[through], room - length
        assert own == slow_best(total, 20)


@pytest.mark.parametrize("seed", range(3))
def test_lists_are_put_together_by_the_places_in_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = np.stack([[rng.permutation(20)[:6] for _ in range(8)] for _ in range(3)]).astype(np.int32)
    lists[rng.random(lists.shape) < 0.3] = NOBODY
    suits = rng.random(20) < 0.8
    found = fused(lists, suits, 10.0, 5)
    for row, own in enumerate(found.tolist()):
        total = np.zeros(20)
        for each in lists[:, row]:
            for place, column in enumerate(each.tolist()):
                if column != NOBODY:
                    total[column] += 1.0 / (10.0 + place)
        assert own == slow_best(np.where(suits, total, 0.0), 5)


@pytest.mark.parametrize("most", [1, 3, 50])
def test_the_best_of_each_row_are_marked_ties_by_place(most: int) -> None:
    rng = np.random.default_rng(most)
    row, scores = np.sort(rng.integers(0, 9, 60)), rng.integers(-3, 4, 60).astype(float)
    found = best_of_rows(row, scores, most)
    for each in range(9):
        own = np.flatnonzero(row == each)
        best = own[np.argsort(-scores[own], kind="stable")[:most]]
        assert np.flatnonzero(found & (row == each)).tolist() == sorted(best.tolist())
    assert best_of_rows(row[:0], scores[:0], most).tolist() == []
