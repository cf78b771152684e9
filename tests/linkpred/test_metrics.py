"""Metrics against slow twins, scikit-learn and what must hold at their ends. (AUROC: test_evaluation.py)"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as theirs

from heat_neo4j.linkpred import metrics
from tests.support import naive_evaluation


def draw(seed: int, decimals: int, m: int = 60, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(0.5, 1, m), decimals), np.round(rng.normal(0, 1, n), decimals)


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_average_precision_equals_the_twin_and_scikit_learn(decimals: int) -> None:
    edges, others = draw(decimals, decimals)
    truth, scores = np.repeat([1, 0], [60, 90]), np.concatenate((edges, others))
    result = metrics.average_precision(edges, others)
    slow = naive_evaluation.average_precision(edges.tolist(), others.tolist())
    assert result == pytest.approx(slow, abs=1e-12)
    assert result == pytest.approx(theirs.average_precision_score(truth, scores), abs=1e-12)


@pytest.mark.parametrize("decimals", [0, 8])
def test_node_ranking_equals_the_twin(decimals: int) -> None:
    partners, others = draw(3, decimals, 5, 12)
    scores = [*partners, *others]
    slow = naive_evaluation.rankings(
        lambda u, v: -1e9 if min(u, v) else scores[max(u, v) - 1], 18, set(), {(0, v) for v in range(1, 6)}
    )
    fast = metrics.node_ranking(others, partners)
    naive = [1 + sum(o > p for o in others) + 0.5 * sum(o == p for o in others) for p in partners]
    np.testing.assert_array_equal(fast.ranks, naive)
    precision = naive_evaluation.average_precision(partners.tolist(), others.tolist())
    assert fast.average_precision == pytest.approx(precision, abs=1e-12)
    assert slow["mean_rank"] > 0  # the twin of a whole graph is compared in test_evaluation_ranking.py


def test_node_ranking_extremes() -> None:
    best = metrics.node_ranking([1.0, 2.0], [3.0, 4.0])
    assert best.ranks.tolist() == [1.0, 1.0]
    assert best.average_precision == 1.0
    worst = metrics.node_ranking([1.0, 2.0], [0.0])
    assert (worst.ranks.tolist(), worst.average_precision) == ([3.0], 1 / 3)
    tied = metrics.node_ranking([1.0, 1.0], [1.0])
    assert (tied.ranks.tolist(), tied.average_precision) == ([2.0], 1 / 3)
    assert metrics.node_ranking([], [0.0]).average_precision == 1.0
    with pytest.raises(ValueError, match="needs at least one partner"):
        metrics.node_ranking([1.0], [])
    for others, partners in (([np.nan], [1.0]), ([1.0], [np.nan])):
        with pytest.raises(ValueError, match="without NaN"):
            metrics.node_ranking(others, partners)


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_the_areas_under_the_curves_are_the_figures(decimals: int) -> None:
    edges, others = draw(decimals + 10, decimals, 300, 400)
    false, true = metrics.roc_curve(edges, others)
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert theirs.auc(false, true) == pytest.approx(metrics.auroc(edges, others), abs=1e-12)


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    edges, others = draw(1, 12, 5000, 5000)
    false, true = metrics.roc_curve(edges, others)
    assert len(false) == len(true) == metrics.CURVE_POINTS
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert theirs.auc(false, true) == pytest.approx(metrics.auroc(edges, others), abs=1e-3)
    x = np.arange(3.0)
    assert metrics.thinned(x, x)[0] is x


@pytest.mark.parametrize("function", ["average_precision", "roc_curve"])
def test_empty_and_nan_input_is_refused(function: str) -> None:
    for edges, others in (([], [1.0]), ([1.0], [])):
        with pytest.raises(ValueError, match="needs edges and non-edges"):
            getattr(metrics, function)(edges, others)
    with pytest.raises(ValueError, match="without NaN"):
        getattr(metrics, function)([1.0], [np.nan])


@pytest.mark.parametrize("n_bins", [1, 4, 15])
def test_calibration_error_equals_the_twin(n_bins: int) -> None:
    rng = np.random.default_rng(n_bins)
    p = np.concatenate((rng.random(200), [0.0, 1.0, 0.25, 0.5]))
    true = rng.random(204) < p**2
    fast = metrics.expected_calibration_error(p, true, n_bins)
    slow = naive_evaluation.calibration_error(p.tolist(), true.tolist(), n_bins)
    assert fast == pytest.approx(slow, abs=1e-12)


def test_calibration_error_at_its_ends() -> None:
    assert metrics.expected_calibration_error([0.0, 1.0], [False, True]) == 0.0
    assert metrics.expected_calibration_error([0.0, 1.0], [True, False]) == 1.0
    assert metrics.expected_calibration_error([0.5, 0.5], [True, False]) == 0.0


def test_calibration_error_refuses_nonsense() -> None:
    for p, true in (([], []), ([0.5], [True, False])):
        with pytest.raises(ValueError, match="probabilities for"):
            metrics.expected_calibration_error(p, true)
    for p in ([1.5], [-0.1], [np.nan]):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            metrics.expected_calibration_error(p, [True])
