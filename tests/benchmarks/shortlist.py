"""How many held-out links are among the candidates, by each list and together, and what the lists cost.

::

    python -m tests.benchmarks.shortlist [SET ...]

A tenth of the edges is held out, as for the link score; SET is one of `python -m tests.benchmarks.shelf`. Of
each pattern: sources with a held-out link, 3,000 at most; their held-out links; recall of the candidates and
of all lists together; CPU microseconds for a source, the nearest nodes apart; recall of each list.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time
from typing import Any

import numpy as np

from heat_neo4j import HEAT
from heat_neo4j.linkpred.calibration import HeldOut, embed_without
from heat_neo4j.linkpred.candidates import candidate_pairs, patterns_of, relationships_of
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.linkpred.splits import joins_held_out
from heat_neo4j.patterns import Pattern
from tests.benchmarks.shelf.__main__ import add_sets, load
from tests.benchmarks.shelf.dataset import MissingDataError

__all__ = ["main"]

SETS = ("citeseer", "cora_ml", "stdlib", "debian-6000", "debian")
MOST = 3_000


def show(name: str) -> None:
    """Print a line for each pattern of a data set, and one for its lists."""
    graph = load(name, 0).graph
    held_out = embed_without(HEAT(random_state=0, n_threads=1), graph)
    surroundings = Surroundings(held_out.embedding, held_out.split.train)
    for pattern in (None,) if graph.relationships is None else patterns_of(graph):
        edges: np.ndarray[Any, Any] = np.column_stack(
            graph.adjacency.nonzero() if pattern is None else relationships_of(graph, pattern)
        )
        links = edges[joins_held_out(held_out.split, edges)]
        if len(links):
            show_pattern(name, held_out, surroundings, pattern, links)


def show_pattern(
    name: str, held_out: HeldOut, surroundings: Surroundings, pattern: Pattern | None, links: np.ndarray
) -> None:
    """Print the figures of one pattern, of its held-out links."""
    train = held_out.split.train
    candidates = candidate_pairs(train, pattern)
    linked = np.unique(links[:, 0])
    asked = np.sort(np.random.default_rng(0).permutation(linked)[:MOST])
    left_out = np.ones(train.n_nodes, dtype=np.bool_)
    left_out[asked] = False
    nobody = np.zeros(train.n_nodes, dtype=np.bool_)
    lists = surroundings.of(candidates, candidates.without(left_out, nobody))
    links = links[np.isin(links[:, 0], lists.sources)]
    lists.pairs(0, 1)  # compiles
    began = process_time()
    pairs = lists.pairs(0, len(lists.sources))
    each = 1e6 * (process_time() - began) / len(lists.sources)
    row = np.searchsorted(lists.sources, links[:, 0])
    found = {
        key: (own[row] == links[:, [1]]).any(axis=1)
        for key, own in lists.lists(0, len(lists.sources)).items()
    }
    recall = np.isin(links @ (train.n_nodes, 1), pairs @ (train.n_nodes, 1)).mean()
    together = np.any(list(found.values()), axis=0).mean()
    what = f"{name} {pattern or ''}: {len(lists.sources):,} sources, {len(links):,} links"
    print(f"{what}: {recall:.3f} ({together:.3f}), {each:.0f} us")
    print("    " + ", ".join(f"{key} {own.mean():.3f}" for key, own in found.items()), flush=True)


def main() -> int:
    """Read the command line, and print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.shortlist",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_sets(parser, SETS)
    for name in parser.parse_args().sets:
        try:
            show(name)
        except MissingDataError as error:
            print(f"{name}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
