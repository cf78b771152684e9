"""Node classification: logistic regression of the classes of nodes on their coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from heat_neo4j.evaluation import EvaluationError
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError

__all__ = ["ClassScores", "NodeClasses", "attribute_svd", "class_scores", "classify", "split_nodes"]


Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]


class ClassScores(NamedTuple):
    """F1 averaged over decisions, and over classes, each in [0, 1]."""

    f1_micro: float
    f1_macro: float


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """Which node is of which of C classes: `member` has shape (N, C); a node of no class takes no part.

    An EvaluationError says that fewer than two classes have members, or that there are so many that there is
    nothing to learn.
    """

    names: tuple[str, ...]
    member: Flags

    def __post_init__(self) -> None:
        if self.member.ndim != 2 or self.member.shape[1] != len(self.names):
            raise ValueError(f"{len(self.names)} class names for members of shape {self.member.shape}")
        labelled = int(self.member.any(axis=1).sum())
        used = int(self.member.any(axis=0).sum())
        if used < 2:
            raise EvaluationError(f"classification takes two classes at least, the nodes have {used}")
        if used > labelled / 2:
            raise EvaluationError(f"{used} classes for {labelled} nodes: a class needs members to learn from")

    @property
    def several(self) -> bool:
        """Whether a node may be of several classes."""
        return _has_several(self.member)


def class_scores(features: Array, classes: NodeClasses, share: float, seed: int) -> ClassScores:
    """Learn the classes from the features of some nodes and score them on the others.

    Features, shape (N, d), are scaled to mean 0 and deviation 1 over all nodes. The share of the nodes with a
    class that is learnt from is in (0, 1); the seed decides which these are.
    """
    train, test = split_nodes(classes.member, share, seed)
    if features.shape[1]:
        features = StandardScaler().fit_transform(features)
    predicted, truth = classify(features, classes.member, train, test), classes.member[test]
    if not classes.several:
        predicted, truth = predicted.argmax(axis=1), truth.argmax(axis=1)
    averages = ("micro", "macro")
    return ClassScores(
        *(float(f1_score(truth, predicted, average=average, zero_division=0.0)) for average in averages)
    )


def split_nodes(member: Flags, share: float, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to learn from and the rows to test, of the nodes that have a class; each sorted.

    Where every node has one class, a class gives its share, one node at least, and keeps one at least to be
    tested (a class of one node gives none). Where nodes have several, the share of all nodes is drawn.
    """
    rng = np.random.default_rng([seed, round(share * 1e9)])
    labelled = np.flatnonzero(member.any(axis=1))
    groups = [labelled] if _has_several(member) else [np.flatnonzero(column) for column in member.T]
    chosen = [
        rng.choice(group, min(max(round(share * len(group)), 1), len(group) - 1), replace=False)
        for group in groups
        if len(group) > 1
    ]
    train = np.sort(np.concatenate(chosen))
    return train, np.setdiff1d(labelled, train)


def classify(features: Array, member: Flags, train: Rows, test: Rows) -> Flags:
    """Predict the classes of the test rows by logistic regression on the training rows.

    Features are scaled; without columns only the sizes of the classes in training count. Of the test rows,
    only how many classes each has is looked at, and only if some node has several.
    """
    if _has_several(member):
        counts = member[test].sum(axis=1)
        columns = member.T.astype(np.int64)
        scores = np.column_stack([_binary(features, column, train, test) for column in columns])
    else:
        counts = np.ones(len(test), dtype=np.int64)
        scores = _multinomial(features, member, train, test)
    order = np.argsort(-scores, axis=1, kind="stable")
    predicted = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(predicted, order, np.arange(scores.shape[1]) < counts[:, None], axis=1)
    return predicted


def _multinomial(features: Array, member: Flags, train: Rows, test: Rows) -> Array:
    """Return a score for each test row and class; -1 for a class that training does not have."""
    truth = member[train].argmax(axis=1)
    scores = np.full((len(test), member.shape[1]), -1.0)
    there, sizes = np.unique(truth, return_counts=True)
    if features.shape[1] == 0 or len(there) == 1:
        scores[:, there] = sizes / len(train)
    else:
        fit = LogisticRegression(max_iter=2000).fit(features[train], truth)
        scores[:, there] = fit.predict_proba(features[test])
    return scores


def _binary(features: Array, truth: NDArray[np.int64], train: Rows, test: Rows) -> Array:
    share = float(truth[train].mean())
    if features.shape[1] == 0 or share in {0.0, 1.0}:
        return np.full(len(test), share)
    fit = LogisticRegression(solver="newton-cholesky").fit(features[train], truth[train])
    return np.asarray(fit.predict_proba(features[test])[:, 1])


def _has_several(member: Flags) -> bool:
    return bool((member.sum(axis=1) > 1).any())


def attribute_svd(graph: Graph, n_components: int, seed: int) -> NDArray[np.float64]:
    """Return coordinates, shape (N, min(n_components, F)), of a truncated SVD of the attributes.

    A BaselineUnavailableError if the graph has no attributes.
    """
    if graph.attributes is None or graph.n_attributes == 0:
        raise BaselineUnavailableError("the graph has no attributes")
    k = min(n_components, graph.n_attributes)
    if k == graph.n_attributes:  # every direction is kept: the attributes, but for a rotation
        x = graph.attributes
        return np.asarray(x.toarray() if sparse.issparse(x) else x)
    svd = TruncatedSVD(n_components=k, random_state=seed)
    return np.asarray(svd.fit_transform(graph.attributes), dtype=np.float64)
