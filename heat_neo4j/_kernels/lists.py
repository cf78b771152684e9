"""Short lists: top-k columns of the rows of a sparse matrix product, and rank fusion of lists.

Each row is accumulated in a dense scratch row, so the full product is never in memory. Results of a row do
not depend on other rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

NOBODY = -1

Places = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.float64]


@njit(cache=True, nogil=True)
def best_products(
    rows: Places, indptr: Places, indices: Columns, weights: Values, right_indptr: Places,
    right_indices: Columns, right_values: Values, suits: NDArray[np.bool_], own: Places,
    closed_indptr: Places, closed_indices: Columns, most: int, k: int,
) -> tuple[Columns, Values]:  # fmt: skip
    """Return the top k columns of rows of left @ right, in descending order, and their values, (m, k).

    Ties go to the lower column; missing entries are `NOBODY`. Columns with `suits` False are excluded, and so
    are, for row i, `own[i]` and the columns in that row of the closed matrix. Entries of a row of `left` are
    visited by descending magnitude, as long as their rows of `right` have at most `most` entries in total;
    rows that are too long are skipped. So common words and hubs cost no more than others.
    """
    m, n = rows.shape[0], suits.shape[0]
    found, values = np.full((m, k), NOBODY, dtype=np.int32), np.zeros((m, k))
    total, is_touched, touched = np.zeros(n), np.zeros(n, np.bool_), np.empty(n, np.int32)
    for i in range(m):
        begin, end = indptr[rows[i]], indptr[rows[i] + 1]
        order = np.argsort(-np.abs(weights[begin:end]), kind="mergesort")
        left, n_touched = most, 0
        for place in order:
            through, weight = indices[begin + place], weights[begin + place]
            first, last = right_indptr[through], right_indptr[through + 1]
            if last - first > left:
                continue
            left -= last - first
            for j in range(first, last):
                column = right_indices[j]
                if not is_touched[column]:
                    is_touched[column] = True
                    touched[n_touched] = column
                    n_touched += 1
                total[column] += weight * right_values[j]
        if own[i] >= 0:
            total[own[i]] = 0.0
            for j in range(closed_indptr[own[i]], closed_indptr[own[i] + 1]):
                total[closed_indices[j]] = 0.0
        _take_best(total, is_touched, touched, n_touched, suits, found[i], values[i])
    return found, values


@njit(cache=True, nogil=True)
def fused(lists: Any, suits: NDArray[np.bool_], rank: float, k: int) -> Columns:
    """Merge several ranked lists per row, shape (L, m, w), into the top k by reciprocal rank fusion, (m, k).

    The score of an entry is the sum of 1 / (`rank` + position) over its lists. Entries with `suits` False are
    excluded. Ties and padding as in `best_products`. G. Cormack, C. Clarke and S. Buettcher, "Reciprocal rank
    fusion", SIGIR (2009).
    """
    n_lists, m, width = lists.shape
    n = suits.shape[0]
    found, values = np.full((m, k), NOBODY, dtype=np.int32), np.zeros((m, k))
    total, is_touched, touched = np.zeros(n), np.zeros(n, np.bool_), np.empty(n, np.int32)
    for i in range(m):
        n_touched = 0
        for each in range(n_lists):
            for place in range(width):
                column = lists[each, i, place]
                if column == NOBODY:
                    continue
                if not is_touched[column]:
                    is_touched[column] = True
                    touched[n_touched] = column
                    n_touched += 1
                total[column] += 1.0 / (rank + place)
        _take_best(total, is_touched, touched, n_touched, suits, found[i], values[i])
    return found


@njit(cache=True)
def offer(values: Values, items: Any, size: int, value: float, item: int) -> int:
    """Offer an item to a list of those with the largest values, best first; return the list's size.

    Ties go to the lower item.
    """
    k = values.shape[0]
    if size == k and (value < values[k - 1] or (value == values[k - 1] and item > items[k - 1])):
        return size
    at = size if size < k else k - 1
    while at > 0 and (values[at - 1] < value or (values[at - 1] == value and items[at - 1] > item)):
        values[at], items[at] = values[at - 1], items[at - 1]
        at -= 1
    values[at], items[at] = value, item
    return min(size + 1, k)


@njit(cache=True, nogil=True)
def best_of_rows(row: Places, scores: Values, most: int) -> NDArray[np.bool_]:
    """Return a mask of the `most` best entries of each row; ties go to the first. `row` is sorted."""
    is_best, begin = np.zeros(row.shape[0], np.bool_), 0
    k = min(most, row.shape[0])
    best, best_scores = np.empty(k, np.int64), np.empty(k)
    while begin < row.shape[0]:
        end, count = begin, 0
        while end < row.shape[0] and row[end] == row[begin]:
            count = offer(best_scores, best, count, scores[end], end)
            end += 1
        for place in range(count):
            is_best[best[place]] = True
        begin = end
    return is_best


@njit(cache=True, nogil=True)
def _take_best(
    total: Values, is_touched: NDArray[np.bool_], touched: Columns, n_touched: int,
    suits: NDArray[np.bool_], found: Columns, values: Values,
) -> None:  # fmt: skip
    """Fill `found` and `values` with the largest positive totals, and clear the scratch rows."""
    count = 0
    for place in range(n_touched):
        column = touched[place]
        value = total[column]
        total[column], is_touched[column] = 0.0, False
        if value > 0.0 and suits[column]:
            count = offer(values, found, count, value, column)
