"""Lists of nodes with similar texts: recall and CPU seconds by the number of nodes visited for each.

::

    python -m tests.benchmarks.near_texts [wordnet debian] [--visited 4096 8192 16384 32768 65536]

Recall of the 10 and 100 most similar nodes, and of the weight of the list (cubes of cosines), against lists
that visit all nodes with a word in common: means over 3,000 nodes. CPU seconds are those of all nodes, on one
thread.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.embedding.near_lists import Words
from tests.benchmarks.shelf.__main__ import add_sets, load

ROW = "{:>10} {:>12} {:>9} {:>8} {:>8} {:>8} {:>8}"
JUDGED = 3_000


def main() -> None:
    """Print a row for each text and number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_sets(parser, ("wordnet", "debian"))
    parser.add_argument("--visited", nargs="+", type=int, default=[4_096, 8_192, 16_384, 32_768, 65_536])
    options = parser.parse_args()
    print(ROW.format("graph", "text", "visited", "CPU s", "at 10", "at 100", "weight"))
    for name in options.sets:
        graph = load(name, 0).graph
        assert graph.attributes is not None
        for entry, columns, _ in graph.attribute_blocks():
            if not is_text(entry):
                continue
            words = Words.of(graph.attributes[:, columns])
            every, _ = lists(words, graph.n_nodes * words.n_words)
            for visited in options.visited:
                found, seconds = lists(words, visited)
                figures = (f"{figure:.3f}" for figure in recalls(every, found))
                row = ROW.format(name, str(entry["property"]), f"{visited:,}", f"{seconds:.1f}", *figures)
                print(row, flush=True)


def lists(words: Words, visited: int) -> tuple[tuple[NDArray[np.int32], NDArray[np.float32]], float]:
    """Return the lists of all nodes, and their CPU seconds."""
    began = process_time()
    found = words.near_lists(exact=0, visited=visited)
    return found, process_time() - began


def recalls(
    every: tuple[NDArray[np.int32], NDArray[np.float32]], found: tuple[NDArray[np.int32], NDArray[np.float32]]
) -> tuple[float, float, float]:
    """Return the share of the first 10 and of all nodes that are found, and of the weight of all."""
    has_text = np.flatnonzero(every[1][:, -1] > 0.0)
    judged = np.random.default_rng(0).permutation(has_text)[:JUDGED]
    shares = []
    for row in judged.tolist():
        weights = np.diff(every[1][row], prepend=0.0)
        there = np.isin(every[0][row], found[0][row])
        shares.append((there[:10].mean(), there.mean(), weights[there].sum() / weights.sum()))
    at_10, at_100, weight = np.mean(shares, axis=0)
    return float(at_10), float(at_100), float(weight)


if __name__ == "__main__":
    main()
