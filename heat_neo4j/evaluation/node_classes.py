"""Node classification: logistic regression of the classes of nodes on their coordinates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.errors import ProjectionError
from heat_neo4j.evaluation.methods import (
    HEAT_ROW,
    SEEDS,
    EvaluationError,
    Features,
    check_seeds,
    described,
    feature_methods,
    fit_heat,
    sizes_of,
)
from heat_neo4j.evaluation.report import Evaluation, Trials, comparison_notes
from heat_neo4j.geometry.hyperboloid import to_klein
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError

LABEL_SHARES = (0.02, 0.04, 0.06, 0.08, 0.1)

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


def classes_from_values(values: Sequence[Any], name: str = "class") -> NodeClasses:
    """Return classes from one value per node of the property `name`.

    A string, whole number or boolean is one class; a list of these several; None and [] are none. A value of
    another type is a `ProjectionError`.
    """
    binarizer = MultiLabelBinarizer()
    member = binarizer.fit_transform([_classes_of(value, name) for value in values])
    return NodeClasses(tuple(binarizer.classes_.tolist()), member.astype(np.bool_))


def classes_from_labels(graph: Graph) -> NodeClasses:
    """Return the labels that some nodes of the graph carry and others do not."""
    names = sorted(name for name, mask in graph.labels.items() if mask.any() and not mask.all())
    member = np.array([graph.labels[name] for name in names], dtype=np.bool_)
    return NodeClasses(tuple(names), member.reshape(len(names), graph.n_nodes).T)


def evaluate_classes(
    graph: Any,
    model: Embedder,
    classes: NodeClasses,
    *,
    shares: Sequence[float] = LABEL_SHARES,
    seeds: Sequence[int] = SEEDS,
    methods: Mapping[str, Features] | None = None,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Predict the classes of most nodes from those of a few, by logistic regression on coordinates.

    Coordinates are learnt from the whole graph, whose attributes must not tell the classes, and know no
    classes: HEAT's are those of the Klein ball. Every method's are scaled to mean 0 and deviation 1 over all
    nodes. One class per node: multinomial regression. Several: one regression for each class, and a node is
    given as many of the likeliest classes as it truly has, the usual protocol (Perozzi et al.).

    `shares` are those of the nodes with a class to learn from, each in (0, 1). There is one row per method
    and share, which is its `Row.at`, with the metrics ``f1_micro`` and ``f1_macro`` as scikit-learn has them
    (a class that is neither there nor predicted counts 0 where nodes have several). Other parameters and
    errors are those of `evaluate_links`.

    References
    ----------
    B. Perozzi et al., "DeepWalk: Online Learning of Social Representations" (KDD 2014).
    """
    graph = as_graph(graph)
    if len(classes.member) != graph.n_nodes:
        raise ValueError(
            f"classes have {plural(len(classes.member), 'row')} for {plural(graph.n_nodes, 'node')}"
        )
    if not shares or not all(0.0 < share < 1.0 for share in shares) or len(set(shares)) < len(shares):
        raise ValueError(f"shares must lie between 0 and 1, each once, got {list(shares)}")
    baselines = feature_methods(model.n_components, on_progress) if methods is None else methods

    def heat(graph: Graph, seed: int) -> Array:
        return to_klein(fit_heat(model, graph, seed, on_progress))

    methods = {HEAT_ROW: heat, **baselines}
    trials = {(name, share): Trials() for name in methods for share in shares}
    for seed in check_seeds(seeds):
        for name, method in methods.items():
            if trials[name, shares[0]].missing:
                continue
            start = perf_counter()
            try:
                with one_blas_thread():
                    features = method(graph, seed)
            except BaselineUnavailableError as error:
                for share in shares:
                    trials[name, share].missing = str(error)
                continue
            seconds = perf_counter() - start
            on_progress(f"seed {seed}: {name} classes", 0, len(shares))
            for done, share in enumerate(shares, start=1):
                with one_blas_thread():
                    scores = class_scores(features, classes, share, seed)
                trials[name, share].metrics.append(scores._asdict())
                trials[name, share].seconds.append(seconds)
                on_progress(f"seed {seed}: {name} classes", done, len(shares))
    rows = tuple(each.row(name, share, is_ours=name == HEAT_ROW) for (name, share), each in trials.items())
    labelled = classes.member.any(axis=1)
    settings = {
        "classes": len(classes.names),
        "nodes_with_a_class": int(labelled.sum()),
        "several_classes_per_node": classes.several,
        "shares": list(shares),
        **described(model),
    }
    notes: list[str] = []
    for share in shares:
        at_share = [row for row in rows if row.at == share]
        notes += comparison_notes(at_share, ClassScores._fields, f" at {share:.3g} of the classes")
    if not labelled.all():
        without = int((~labelled).sum())
        have = (
            "1 node has no class and takes" if without == 1 else f"{without:,} nodes have no class and take"
        )
        notes.append(f"{have} no part")
    if classes.several:
        notes.append("nodes have several classes: each is given as many as it truly has, the likeliest")
    return Evaluation("classes", rows, tuple(seeds), sizes_of(graph), settings, tuple(notes))


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


def _classes_of(value: Any, name: str) -> list[str]:
    if value is None:
        return []
    several = value if isinstance(value, list) else [value]
    for one in several:
        if not isinstance(one, str | int):
            raise ProjectionError(
                f"class property {name!r} holds {value!r}: a class must be a text or a whole number, "
                "or a list of these"
            )
    return sorted({str(one) for one in several})
