"""Clusters: adjusted mutual information with known classes, beside other methods; and what refreshes change.

::

    python -m tests.benchmarks.clusters [SET ...] [--seeds 0 1 2]

Classes are the topics of papers, the packages of modules of the standard library (those of five modules or
more), and the sections of Debian's packages. HEAT does not see them. Every method makes as many clusters as
there are classes; Leiden and HDBSCAN find their own number, and "HEAT, level" are the usual ones. A tenth of
the nodes comes in ten refreshes: printed is the share of the other nodes that have changed their cluster on
the last level. The exit code is 1 if HEAT is below Leiden on the graph or k-means of the attributes on a set,
or the refreshes change more than one node in a hundred.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from unittest import mock

import igraph
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize

from heat_neo4j import HEAT
from heat_neo4j._utils.threads import one_thread
from heat_neo4j.clusters.grouping import smoothed_directions, usual_levels
from heat_neo4j.geometry.hyperboloid import to_poincare
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.files import read_graph_files
from tests.benchmarks.node_classes import attribute_svd
from tests.benchmarks.shelf import debian as packages
from tests.benchmarks.shelf.code import standard_library
from tests.benchmarks.shelf.dataset import MissingDataError
from tests.benchmarks.shelf.gds import _table, cora
from tests.support.datasets import dataset_folder

Labels = NDArray[np.int64]
Classes = list[str | None]

REFRESHES = 10
MOST_CHANGED = 0.01
NEAREST = 30
FEWEST = 5  # members of a package that is a class
OURS, LEIDEN, ATTRIBUTES = "HEAT, clusters", "Leiden, graph", "k-means, attributes"


def authors(name: str) -> tuple[Graph, Classes]:
    """Return one of the graphs of the HEAT authors, with the topics of papers."""
    folder = dataset_folder() / name
    if not folder.exists():
        raise MissingDataError(f"no folder {folder}: name the data sets' in HEAT_DATASETS")
    files = read_graph_files(*(folder / f"{part}.gz" for part in ("edgelist.tsv", "feats.csv", "labels.csv")))
    return files.to_graph(), [found[0] if found else None for found in files.labels or ()]


def gds_cora() -> tuple[Graph, Classes]:
    """Return Cora as Graph Data Science has it, without 15 % of its links."""
    return cora(0).graph, [str(subject) for subject in _table("cora", "cora_nodes")["subject"]]


def stdlib() -> tuple[Graph, Classes]:
    """Return the imports of the standard library, without 15 %, and the packages of modules."""
    graph = standard_library(0).graph
    names = [key.partition(".")[0] for key in graph.keys]
    sizes = Counter(names)
    return graph, [name if sizes[name] >= FEWEST else None for name in names]


def debian() -> tuple[Graph, Classes]:
    """Return 6,000 packages without their sections, and the sections."""
    others = [each for each in packages.ATTRIBUTES if each.key != "section"]
    with mock.patch.object(packages, "ATTRIBUTES", others):
        graph = packages.debian(most_packages=6_000).graph
    known = packages._packages("bookworm")
    return graph, [known[key].get("Section") if key in known else None for key in graph.keys]


SETS: Mapping[str, Callable[[], tuple[Graph, Classes]]] = {
    "cora_ml": partial(authors, "cora_ml"),
    "citeseer": partial(authors, "citeseer"),
    "gds-cora": gds_cora,
    "stdlib": stdlib,
    "debian-6000": debian,
}


def leiden(weights: sparse.csr_array) -> Labels:
    """Return communities by modularity; seed 0."""
    edges = sparse.coo_array(sparse.triu(weights, 1))
    graph = igraph.Graph(n=weights.shape[0], edges=np.column_stack((edges.row, edges.col)).tolist())
    random.seed(0)
    found = graph.community_leiden("modularity", weights=edges.data.tolist(), n_iterations=-1)
    return np.array(found.membership)


def near(embedding: NDArray[np.float64]) -> sparse.csr_array:
    """Return which nodes are among the nearest of each other."""
    n, partner = len(embedding), nearest_neighbours(embedding, NEAREST).partner
    ends = (np.repeat(np.arange(n), NEAREST), partner.ravel())
    mine = sparse.csr_array((np.ones(partner.size), ends), shape=(n, n))
    return sparse.csr_array(mine + mine.T)


def rivals(graph: Graph, model: HEAT, k: int, seed: int) -> Mapping[str, Callable[[], Labels]]:
    """Return the other methods by name."""
    ball, neighbours = to_poincare(model.embedding_), near(model.embedding_)
    directions = smoothed_directions(model.embedding_, graph.adjacency)
    means = KMeans(k, n_init=10, random_state=seed)

    def of_attributes() -> Labels:
        return np.asarray(means.fit_predict(normalize(attribute_svd(graph, 64, seed))))

    return {
        ATTRIBUTES: of_attributes,
        LEIDEN: lambda: leiden(graph.adjacency),
        "Leiden, near in space": lambda: leiden(neighbours),
        "k-means, Poincare": lambda: means.fit_predict(ball),
        "Ward, near in space": lambda: AgglomerativeClustering(k, connectivity=neighbours).fit_predict(ball),
        "HDBSCAN, directions": lambda: HDBSCAN(min_cluster_size=20, copy=True).fit_predict(directions),
        "k-means, directions": lambda: means.fit_predict(directions),
    }


def changed_by_refreshes(graph: Graph, seed: int) -> float:
    """Return the share of nodes that ten refreshes, each with a hundredth of new nodes, move elsewhere."""
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    *late, first = np.split(order, np.arange(1, REFRESHES + 1) * (graph.n_nodes // 100))
    nodes = np.sort(first)
    model = HEAT(random_state=seed).fit(graph.among(nodes))
    begun = found = model.clusters()
    for new in late:
        nodes = np.sort(np.concatenate((nodes, new)))
        grown = graph.among(nodes)
        model = HEAT.from_points(grown, model.transform(grown), random_state=seed)
        found = model.clusters(previous=found)
    old = np.isin(nodes, first)
    return float(np.mean(found.groups[old, -1] != begun.groups[:, -1]))


@one_thread()
def main() -> int:
    """Print a table for each set; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.clusters",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    reached = True
    for name in options.sets:
        try:
            reached &= show(name, options.seeds)
        except MissingDataError as error:
            print(f"{name}: {error}")
    return int(not reached)


def show(name: str, seeds: list[int]) -> bool:
    """Print the figures of a set, means over seeds; return whether the bars are reached."""
    graph, classes = SETS[name]()
    graph = replace(graph, keys=list(graph.names))  # by which nodes are known after a refresh
    known = np.array([each is not None for each in classes])
    truth = np.array(classes, dtype=object)[known].astype(str)
    k, n = len(set(truth.tolist())), graph.n_nodes
    found: dict[str, list[tuple[float, int]]] = {}

    def note(method: str, labels: Labels) -> None:
        figure = float(adjusted_mutual_info_score(truth, labels[known]))
        found.setdefault(method, []).append((figure, len(np.unique(labels))))

    for seed in seeds:
        model = HEAT(random_state=seed).fit(graph)
        note(OURS, model.clusters((k, max(k + 1, usual_levels(n)[-1]))).groups[:, 0])
        for level, column in enumerate(model.clusters().groups.T, start=1):
            note(f"HEAT, level {level}", column)
        for method, labels in rivals(graph, model, k, seed).items():
            note(method, labels())
    print(f"{name}: {graph}, {k} classes of {known.sum():,} nodes")
    for method, figures in found.items():
        mean, spread = np.mean([each[0] for each in figures]), np.std([each[0] for each in figures])
        clusters = np.mean([each[1] for each in figures])
        print(f"  {method:<22} AMI {mean:.3f} +- {spread:.3f}  {clusters:6.0f} clusters", flush=True)
    changed = [changed_by_refreshes(graph, seed) for seed in seeds]
    print(f"  changed by ten refreshes: {', '.join(f'{share:.4f}' for share in changed)}", flush=True)
    ours = np.mean([each[0] for each in found[OURS]])
    least = max(np.mean([each[0] for each in found[method]]) for method in (LEIDEN, ATTRIBUTES))
    return bool(ours >= least and max(changed) <= MOST_CHANGED)


if __name__ == "__main__":
    sys.exit(main())
