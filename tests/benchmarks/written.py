"""How many predicted links are held-out relationships, by the least probability that is written.

::

    python -m tests.benchmarks.written [SET ...] [--seed 0] [--floors 0 .01 .02 .05 .1 .2]

Sets are those of ``python -m tests.benchmarks.shelf``. Links are predicted from the training part with the
defaults of `predict_links`, but for the floor. For each pattern and floor: links written, and for each
relationship; their mean probability, the share that are held-out relationships and the expected calibration
error; and the share of held-out relationships that are written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from heat_neo4j import HEAT
from heat_neo4j.linkpred.candidates import counted_patterns
from heat_neo4j.linkpred.metrics import expected_calibration_error
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.patterns import Pattern
from tests.benchmarks.shelf.__main__ import OFFICIAL, SEEDED
from tests.benchmarks.shelf.dataset import DataSet, MissingDataError

__all__ = ["Written", "main", "written"]

FLOORS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Written:
    """Links of a pattern with at least the probability of a floor."""

    links: int
    probability: float  # mean; NaN without links
    precision: float  # share of held-out relationships; NaN without links
    recall: float  # share of the held-out relationships
    error: float  # expected calibration error


def written(
    links: PredictedLinks, data: DataSet, pattern: Pattern | None, floors: Sequence[float]
) -> Iterator[Written]:
    """Yield the links that each floor keeps of a pattern."""
    assert links.probability is not None
    own = np.ones(len(links.source), np.bool_)
    if links.pattern is not None and pattern is not None:
        own = links.pattern == links.patterns.index(pattern)
    true = _is_truth(np.column_stack((links.source, links.target))[own], data, pattern)
    probability, truth = links.probability[own], len(data.truth.get(pattern, ()))
    for floor in floors:
        kept = probability >= floor
        count = int(kept.sum())
        yield Written(
            count,
            float(probability[kept].mean()) if count else np.nan,
            float(true[kept].mean()) if count else np.nan,
            float(true[kept].sum() / truth) if truth else np.nan,
            expected_calibration_error(probability[kept], true[kept]) if count else np.nan,
        )


def _is_truth(pairs: NDArray[np.int64], data: DataSet, pattern: Pattern | None) -> NDArray[np.bool_]:
    """Return which pairs are held-out relationships."""
    truth, n = np.asarray(data.truth.get(pattern, np.empty((0, 2), np.int64))), data.graph.n_nodes
    if pattern is None:
        pairs, truth = np.sort(pairs, axis=1), np.sort(truth, axis=1)
    return np.isin(pairs[:, 0] * n + pairs[:, 1], truth[:, 0] * n + truth[:, 1])


def main() -> int:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=["citeseer"], choices=[*SEEDED, *OFFICIAL], metavar="SET")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--floors", nargs="+", type=float, default=FLOORS)
    options = parser.parse_args()
    loads: dict[str, Callable[[], DataSet]] = {
        **{name: partial(load, options.seed) for name, load in SEEDED.items()},
        **OFFICIAL,
    }
    print(f"{'':50}{'floor':>7}{'links':>9}{'per rel.':>9}{'prob.':>8}{'true':>8}{'recall':>8}{'error':>8}")
    for name in options.sets:
        try:
            data = loads[name]()
        except MissingDataError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        model = HEAT(random_state=options.seed).fit(data.graph)
        links = model.predict_links(min_probability=0.0)
        counts, _ = counted_patterns(data.graph, ())
        for pattern in links.patterns or (None,):
            title = f"{name} {pattern or ''}"
            related = data.graph.n_edges if pattern is None else counts[pattern]
            for floor, row in zip(options.floors, written(links, data, pattern, options.floors), strict=True):
                print(
                    f"{title:50.50}{floor:7g}{row.links:9,}{row.links / related:9.2f}"
                    f"{row.probability:8.3f}{row.precision:8.3f}{row.recall:8.3f}{row.error:8.3f}",
                    flush=True,
                )
                title = ""
    return 0


if __name__ == "__main__":
    sys.exit(main())
