"""New nodes placed among old ones by attributes and first links: how high their other links rank.

::

    python -m tests.benchmarks.new_nodes [debian citeseer ...] [--shares 0 .3] [--packages 6000] [--new 600]
        [--seed 0]

``debian``: bookworm's packages, and those that are new in trixie and depend on them. Of another set of the
shelf a tenth of the nodes with links counts as new. A new node has its attributes and a share of its links;
the others are hidden. Those to old nodes are ranked among all nodes; at most 2,000 new nodes are asked.

placed: by `fit_local`, as a refresh does; all old nodes keep their points. warm: by `fit_warm`. refit: a full
training of old and new nodes together. MRR and Hits@10 are means over hidden links.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from time import process_time

import numpy as np
from numpy.typing import NDArray

from heat_neo4j import HEAT
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.warm_start import fit_local, fit_warm
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from tests.benchmarks.shelf.__main__ import load
from tests.benchmarks.shelf.dataset import DataSet, Pairs, attributes_of, linked, truth_by_pattern, without
from tests.benchmarks.shelf.debian import debian_grown
from tests.benchmarks.shelf.figures import Figures, evaluate
from tests.benchmarks.shelf.methods import METHODS, by_distance, by_link_score

Mask = NDArray[np.bool_]
NEW = 0.1  # of the nodes of other sets
ROW = "{:>10} {:>5} {:>9} {:>22} {:>7} {:>7} {:>7} {:>8}"
BASELINES = ("popularity", "attribute neighbours", "stack")


def grown(name: str, seed: int, most_packages: int, most_new: int) -> tuple[Graph, Mask]:
    """Return a whole graph, and which of its nodes count as new."""
    if name == "debian":
        return debian_grown(most_packages=most_packages or None, most_new=most_new or None)
    graph = load(name, seed).graph
    linked_nodes = np.flatnonzero(graph.degrees)
    new = np.zeros(graph.n_nodes, dtype=np.bool_)
    new[np.random.default_rng(seed).choice(linked_nodes, round(NEW * len(linked_nodes)), replace=False)] = (
        True
    )
    return graph, new


def hidden(graph: Graph, new: Mask, share: float, seed: int) -> DataSet:
    """Return the graph in which new nodes have a share of their links, and the hidden ones as the truth."""
    random = np.random.default_rng(seed)

    def split(pairs: Pairs) -> Mask:
        return new[pairs].any(axis=1) & (random.random(len(pairs)) >= share)

    if graph.relationships is None:
        pairs = np.column_stack(graph.edges.coords).astype(np.int64)
        gone = pairs[split(pairs)]
        return DataSet(without(graph, None, gone), {None: gone})
    visible, truth, among_new = {}, {}, {}
    for kind in graph.relationships.types:
        pairs = np.column_stack(graph.relationships.of(kind)).astype(np.int64)
        out = split(pairs)
        # What a new node points at: its maintainer, say, points at the node.
        visible[kind], truth[kind] = pairs[~out], pairs[out & new[pairs[:, 0]] & ~new[pairs[:, 1]]]
        among_new[kind] = pairs[out & new[pairs].all(axis=1)]
    attributes = attributes_of(graph)
    train = linked(graph.n_nodes, visible, labels=graph.labels, keys=graph.keys, attributes=attributes)
    found = truth_by_pattern(train, truth)
    return DataSet(train, found, {pattern: among_new[pattern.type] for pattern in found if pattern})


def models(graph: Graph, new: Mask, seed: int) -> Iterator[tuple[str, HEAT, float]]:
    """Yield each way to place the new nodes, its model of the whole graph, and its CPU seconds."""
    heat = HEAT(random_state=seed)
    old = heat.fit(graph.among(np.flatnonzero(~new)))
    points = np.zeros((graph.n_nodes, old.embedding_.shape[1]))
    points[~new] = old.embedding_
    ways: Mapping[str, Callable[[], HEAT]] = {
        "placed": lambda: fit_local(HEAT(random_state=seed), graph, points, new),
        "warm": lambda: fit_warm(HEAT(random_state=seed), graph, points, new),
        "refit": lambda: HEAT(random_state=seed).fit(graph),
    }
    for name, way in ways.items():
        began = process_time()
        model = way()
        yield name, model, process_time() - began


def show(
    name: str, share: float, method: str, scored: str, figures: Mapping[str, Figures], cpu: float
) -> None:
    """Print the means over all hidden links."""
    each = list(figures.values())
    weights = [one.links for one in each]
    mrr, hits = (
        np.average([getattr(one, figure) for one in each], weights=weights) for figure in ("mrr", "hits")
    )
    row = ROW.format(
        name, f"{share:g}", method, scored, sum(weights), f"{mrr:.4f}", f"{hits:.4f}", f"{cpu:.1f}"
    )
    print(row, flush=True)


@one_blas_thread()
def main() -> None:
    """Print a row for each way to place and to score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["debian", "citeseer"])
    parser.add_argument("--shares", nargs="+", type=float, default=[0.0, 0.3])
    parser.add_argument("--packages", type=int, default=6_000, help="of bookworm; 0 for all")
    parser.add_argument("--new", type=int, default=600, help="of trixie; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(ROW.format("graph", "share", "placed by", "scored by", "links", "MRR", "Hits@10", "CPU s"))
    for name in options.sets:
        graph, new = grown(name, options.seed, options.packages, options.new)
        for share in options.shares:
            data = hidden(graph, new, share, options.seed)
            for way, model, cpu in models(data.graph, new, options.seed):
                scores = {"distance": by_distance(model), "link score": by_link_score(model, data.graph)}
                for scored, fitted in scores.items():
                    show(name, share, way, scored, evaluate(data, fitted, options.seed), cpu)
            for baseline in BASELINES:
                began = process_time()
                try:
                    figures = evaluate(data, METHODS[baseline](data.graph, options.seed), options.seed)
                except BaselineUnavailableError:  # too few links of a type
                    continue
                show(name, share, "-", baseline, figures, process_time() - began)


if __name__ == "__main__":
    main()
