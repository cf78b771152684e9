"""What to call a group of nodes: its most central node, its labels, and the values that set it apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from heat_neo4j.graph import Graph

Rows = NDArray[np.int64]

_MISSING = ":missing"
_LEAST_LIFT = 1.5
_LEAST_SHARE = 0.05  # of the members
_WORD = r"(?u)\b[^\W\d_]{3,}\b"


def centre_of(graph: Graph, radii: NDArray[np.float64], members: Rows) -> int:
    """Return the most central of the rows `members`, ascending.

    It has the most relationships to other members, weighted by their share of its relationships, so that a
    hub of the whole graph does not represent a group. Ties go to the node nearest the origin.
    """
    own = graph.adjacency[members]
    is_member = np.zeros(graph.n_nodes)
    is_member[members] = 1.0
    joined = sparse.csr_array((np.ones(own.nnz), own.indices, own.indptr), shape=own.shape)
    inside = joined @ is_member
    score = inside * inside / np.maximum(graph.degrees[members], 1)
    return int(members[np.lexsort((radii[members], -score))[0]])


def label_counts(graph: Graph, groups: Sequence[Rows]) -> list[dict[str, int]]:
    """Return the label counts of each group, most frequent first.

    A node with several labels counts for the rarest. If all nodes count for the same label, or have none, the
    result is empty.
    """
    sizes = {label: int(carries.sum()) for label, carries in graph.labels.items()}
    by_rarity = sorted(filter(sizes.__getitem__, sizes), key=lambda label: (sizes[label], label))
    rarest = np.full(graph.n_nodes, len(by_rarity))
    for place, label in reversed(list(enumerate(by_rarity))):
        rarest[graph.labels[label]] = place
    if len(np.unique(rarest)) < 2:
        return [{}] * len(groups)
    counts = [np.bincount(rarest[members], minlength=len(by_rarity))[: len(by_rarity)] for members in groups]
    orders = [np.argsort(-each, kind="stable").tolist() for each in counts]
    return [
        {by_rarity[place]: int(each[place]) for place in order if each[place]}
        for each, order in zip(counts, orders, strict=True)
    ]


def telling_values(
    graph: Graph, groups: Sequence[Rows], k: int = 3, *, texts: Sequence[str] = ()
) -> list[tuple[str, ...]]:
    """Return at most k values of attributes that set each of several groups of nodes apart, the best first.

    A value is present or absent: a category, an item of a list, a flag, or a word of `texts`, which has one
    text for each node. Numbers, vectors and hashed words have no name to show. Values are ranked by
    p log(p / q), with p their share of the members and q that of all nodes; p is at least 1.5 q, and 0.05.
    """
    has, values = _flags(graph)
    if any(texts):
        counter = CountVectorizer(binary=True, stop_words="english", token_pattern=_WORD)
        try:
            words = counter.fit_transform(texts)
        except ValueError:  # there is no word
            words = sparse.csr_array((graph.n_nodes, 0))
        else:
            values += counter.get_feature_names_out().tolist()
        has = sparse.csr_array(sparse.hstack([has, words]))
    short, usual, found = np.array(values, dtype=object), _shares(has), []
    for members in groups:
        own = _shares(has[members])
        lift = own / usual
        tells = (lift >= _LEAST_LIFT) & (own >= _LEAST_SHARE)
        told = np.where(tells, own * np.log(np.maximum(lift, 1.0)), 0.0)
        best = np.argsort(-told, kind="stable")[: 2 * k]  # two columns may have the same value
        found.append(tuple(dict.fromkeys(short[best[told[best] > 0]].tolist()))[:k])
    return found


def _flags(graph: Graph) -> tuple[sparse.csr_array, list[str]]:
    """Return which node has which value, and the values."""
    if graph.attributes is None or not graph.attribute_names:
        return sparse.csr_array((graph.n_nodes, 0)), []
    named = np.array([not name.endswith(_MISSING) for name in graph.attribute_names])
    columns = np.flatnonzero(named & _is_flag(graph.attributes))
    values = [_shown(graph.attribute_names[column]) for column in columns.tolist()]
    return sparse.csr_array(graph.attributes[:, columns]), values


def _shown(column: str) -> str:
    """Return the value of a column such as "spin=5/2", with the property if the value has no letter."""
    _, _, value = column.partition("=")
    return value if any(map(str.isalpha, value)) else column


def _shares(has: sparse.csr_array) -> NDArray[np.float64]:
    return np.asarray(has.sum(axis=0), dtype=np.float64).ravel() / max(has.shape[0], 1)


def _is_flag(attributes: sparse.csr_array | NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which columns hold 0 and 1 alone, and both."""
    if not sparse.issparse(attributes):
        ones = attributes == 1
        return np.asarray((ones | (attributes == 0)).all(axis=0) & ones.any(axis=0) & ~ones.all(axis=0))
    n, width = attributes.shape
    stored = sparse.csr_array(attributes)
    ones = np.bincount(stored.indices[stored.data == 1], minlength=width)
    others = np.bincount(stored.indices[(stored.data != 1) & (stored.data != 0)], minlength=width)
    return np.asarray((others == 0) & (ones > 0) & (ones < n))
