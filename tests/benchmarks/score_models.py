"""What the link score could be instead: other models, and fewer features, on the same pairs.

::

    python -m tests.benchmarks.score_models [SET ...]

SET is one of `python -m tests.benchmarks.shelf`. A tenth of the edges of its training graph is held out, as
for the link score. Every model is fitted to the same pairs of one half of the sources, and ranks the
candidates of the other half: MRR, Hits@10 and the precision at as many pairs as the pattern has
relationships, means over the patterns with 10 held-out links.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from time import process_time

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from heat_neo4j import HEAT
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.linkpred.calibration import embed_without
from heat_neo4j.linkpred.features import FEATURES
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.logistic import DenseDesign, logistic
from heat_neo4j.linkpred.rankings import precision_at, rankings
from heat_neo4j.linkpred.samples import Sample, samples_of
from heat_neo4j.linkpred.splines import Splines
from tests.benchmarks.shelf.__main__ import add_sets, load
from tests.benchmarks.shelf.dataset import MissingDataError

__all__ = ["MODELS", "main"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Figures = tuple[float, float, float]
Model = Callable[[Sample, Mask], Array]
"""Fits to some rows of a sample; returns the scores of all."""

SETS = ("citeseer", "cora_ml", "ppi", "stdlib", "debian-6000")
FEWEST = 10
SOURCES_COMPARED = 2_000  # links whose source's pairs are compared, of a pairwise model

WITHOUT: Mapping[str, tuple[str, ...]] = {
    "distances": ("distance", "neighbourhood_distance"),
    "neighbours and paths": (
        "common_neighbours", "paths_of_three", "chain", "shared_target", "shared_source", "return_chain",
    ),
    "degrees": ("source_out", "source_in", "target_out", "target_in"),
    "tastes": ("taste_8", "taste_24", "taste_64"),
    "attributes": tuple(name for name in FEATURES if "like" in name or "attributes" in name),
    "other types": tuple(name for name in FEATURES if "related" in name or "implied" in name),
}  # fmt: skip
"""Groups of features that are left out."""


def standard(sample: Sample, rows: Mask) -> Array:
    """Return the features over their deviations, 0 where they are missing."""
    values = np.nan_to_num(sample.values)
    width = values[rows].std(axis=0)
    return np.asarray((values - values[rows].mean(axis=0)) / np.where(width > 0.0, width, 1.0))


def additive(sample: Sample, rows: Mask) -> Array:
    """Fit functions that are linear between knots, as the link score of one pattern."""
    splines = Splines.over(sample.values[rows], sample.is_link[rows])
    ridge = splines.ridge
    weights = logistic(
        splines.design(sample.values[rows]),
        sample.is_link[rows],
        ridge,
        np.zeros(len(ridge)),
        offset=sample.offset[rows],
    )
    return splines.design(sample.values).times(weights)


def linear(sample: Sample, rows: Mask) -> Array:
    """Fit a logistic regression."""
    values = np.column_stack((np.ones(len(rows)), standard(sample, rows)))
    ridge = np.ones(values.shape[1])
    nothing = np.zeros(values.shape[1])
    weights = logistic(
        DenseDesign(values[rows]), sample.is_link[rows], ridge, nothing, offset=sample.offset[rows]
    )
    return np.asarray(values @ weights)


def boosted(sample: Sample, rows: Mask, *, interactions: bool = False) -> Array:
    """Fit gradient boosting, each other pair as often as it stands for others."""
    weight = np.where(sample.is_link, 1.0, np.exp(sample.offset))[rows]
    model = HistGradientBoostingClassifier(
        interaction_cst=None if interactions else "no_interactions", random_state=0, early_stopping=False
    )
    values = sample.values[:, ~np.isnan(sample.values).all(axis=0)]
    model.fit(values[rows], sample.is_link[rows], sample_weight=weight)
    return np.asarray(model.decision_function(values))


def pairwise(sample: Sample, rows: Mask) -> Array:
    """Fit a logistic regression to differences of a link and other pairs of its source."""
    values, source = standard(sample, rows), sample.pairs[:, 0]
    links, others = np.flatnonzero(rows & sample.is_link), np.flatnonzero(rows & ~sample.is_link)
    order = others[np.argsort(source[others], kind="stable")]
    differences = []
    for link in links[:SOURCES_COMPARED]:
        low, high = np.searchsorted(source[order], (source[link], source[link] + 1))
        differences.append(values[link] - values[order[low:high]])
    whole = np.concatenate(differences)
    signs = np.where(np.arange(len(whole)) % 2 == 0, 1.0, -1.0)
    model = LogisticRegression(fit_intercept=False, max_iter=300).fit(whole * signs[:, None], signs > 0)
    return np.asarray(values @ model.coef_[0])


MODELS: Mapping[str, Model] = {
    "additive (the link score)": additive,
    "logistic regression": linear,
    "pairwise logistic regression": pairwise,
    "gradient boosting, additive": boosted,
    "gradient boosting": lambda sample, rows: boosted(sample, rows, interactions=True),
}
"""Models by the name that the table has."""


def figures(sample: Sample, model: Model) -> Figures:
    """Return MRR, Hits@10 and precision at the number of relationships, each half by the other."""
    scores = np.zeros(len(sample.pairs))
    for fold in (0, 1):
        scores[sample.fold == fold] = model(sample, sample.is_fitted & (sample.fold != fold))[
            sample.fold == fold
        ]
    own = sample.is_candidate
    ranked = rankings(
        sample.pairs[own, 0],
        sample.is_link[own],
        {"": scores[own]},
        sample.n_asked,
        sample.n_sources,
    )[""]
    precision = precision_at(sample.n_relationships, scores[own], sample.is_link[own], sample.weight[own])
    return ranked.mrr, ranked.hits_at_10, precision or 0.0


@one_blas_thread()
def show(name: str) -> None:
    """Print the rows of one data set."""
    graph = load(name, 0).graph
    held_out = embed_without(HEAT(random_state=0, n_threads=1), graph)
    samples = [each for each in samples_of(held_out, graph).values() if each.n_links >= FEWEST]
    for title, model in MODELS.items():
        start = process_time()
        found = np.mean([figures(sample, model) for sample in samples], axis=0)
        row(name, title, found, process_time() - start)
    for left_out, features in {"": (), **WITHOUT}.items():
        start = process_time()
        kept = tuple(each for each in FEATURES if each not in features)
        every = link_score([held_out], graph, kept).figures.values()
        found = np.mean(
            [
                (each.mrr, each.hits_at_10 or 0.0, each.precision_at_written or 0.0)
                for each in every
                if each.mrr is not None
            ],
            axis=0,
        )
        row(name, f"without {left_out}" if left_out else "patterns pooled", found, process_time() - start)


def row(name: str, title: str, found: Array, seconds: float) -> None:
    """Print one row."""
    print(f"{name:14}{title:34}" + "".join(f"{figure:10.3f}" for figure in found) + f"{seconds:8.1f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.score_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_sets(parser, SETS)
    heads = "".join(f"{head:>10}" for head in ("mrr", "hits@10", "p@written"))
    print(f"{'set':14}{'model':34}{heads}{'CPU s':>8}")
    for name in parser.parse_args().sets:
        try:
            show(name)
        except MissingDataError as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
