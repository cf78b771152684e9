"""Directed link prediction on Cora-ML and CiteSeer, by the protocols of two papers.

::

    python -m tests.benchmarks.dirlink [--graphs cora_ml citeseer] [--splits 10] [--ablation]
    python -m tests.benchmarks.dirlink --protocol graph2gauss --splits 5

``dirlink``: DirLinkBench's own ten splits (arXiv 2502.05724). Their validation edges were used to choose what
the score is made of, their test edges are only measured. ``graph2gauss``: 5 % of the edges are left out for
validation, which ours does not need, and 10 % for the test, such that every node keeps an edge; as many other
ordered pairs are drawn (Bojchevski and Guennemann, ICLR 2018).

The score is fitted on edges cut out of a split's training edges. Hits@k: share of test
edges that score higher than the k-th best test non-edge. Direction: share of the test edges that nothing
answers whose likelier way is theirs. Means over the splits, beside the best published figure. ``--ablation``
adds the figures without each group of features, on the same embeddings, to be compared with each other: then
no bar is judged. Else the exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator, Mapping, Sequence
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.calibration import hold_out
from heat_neo4j.linkpred.candidates import relationships_of
from heat_neo4j.linkpred.features import FEATURES
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.patterns import Pattern
from tests.support.datasets import dataset_folder, load_graph

FOLDER = dataset_folder()
CITES = Pattern("Paper", "CITES", "Paper")
FIGURES = ("Hits@100", "Hits@20", "AUROC", "direction")
BARS = {
    "dirlink": {"cora_ml": (0.975, 0.855, 0.988, 0.890), "citeseer": (0.992, 0.945, 0.990, 0.905)},
    "graph2gauss": {"cora_ml": (0.0, 0.0, 0.980, 0.0), "citeseer": (0.0, 0.0, 0.961, 0.0)},
}
PUBLISHED = {
    "dirlink": {"cora_ml": "Hits@100 0.9037", "citeseer": "Hits@100 0.9369"},
    "graph2gauss": {"cora_ml": "AUROC 0.9800", "citeseer": "AUROC 0.9610"},
}
"""Best figures of the papers."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "both distances": ("distance", "neighbourhood_distance"),
    "degrees": ("source_out", "source_in", "target_out", "target_in"),
    "common neighbours, paths": ("common_neighbours", "paths_of_three"),
    "the same by the type": ("chain", "shared_target", "shared_source", "return_chain"),
    "tastes": ("taste_8", "taste_24", "taste_64"),
    "attributes of the ends": ("attributes", "scaled_attributes"),
    "attributes of their links": (
        "targets_alike", "sources_alike", "target_like_sources", "source_like_targets", "ends_alike",
    ),
    "relations of other types": ("targets_related", "sources_related"),
    "what relationships imply": ("implied_by_joins", "implied_by_paths"),
}  # fmt: skip
"""Features that are left out together."""

Pairs = NDArray[np.int64]
Figures = NDArray[np.float64]
Case = tuple[Graph, Pairs, Pairs]
"""The training graph, test edges and other pairs."""


def variants(*, ablation: bool) -> dict[str, tuple[str, ...]]:
    """Return the features of the score, and if asked those without each group."""
    left = {f"- {name}": set(FEATURES) - set(group) for name, group in GROUPS.items()}
    chosen = {"all features": set(FEATURES), **(left if ablation else {})}
    return {name: tuple(each for each in FEATURES if each in own) for name, own in chosen.items()}


def directed_graph(edges: Pairs, attributes: sparse.csr_array) -> Graph:
    """Return papers that cite papers: rows (source, target) of shape (m, 2)."""
    n = attributes.shape[0]
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Graph(
        sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)),
        attributes=attributes,
        labels={"Paper": np.ones(n, dtype=np.bool_)},
        relationships=Relationships.from_pairs({"CITES": (edges[:, 0], edges[:, 1])}),
    )


def dirlink_cases(name: str, splits: int) -> Iterator[Case]:
    """Yield DirLinkBench's splits."""
    with np.load(FOLDER / "dirlink" / f"{name}.npz") as data:
        attributes = sparse.csr_array(
            (data["x_data"], data["x_indices"], data["x_indptr"]), shape=tuple(data["x_shape"])
        )
        for split in range(splits):
            graph = directed_graph(data[f"graph{split}"].T.astype(np.int64), attributes)
            yield graph, data[f"pos{split}"].astype(np.int64), data[f"neg{split}"].astype(np.int64)


def graph2gauss_cases(name: str, splits: int) -> Iterator[Case]:
    """Yield splits as Graph2Gauss draws them."""
    whole = load_graph(name)
    assert whole.attributes is not None
    attributes, n = sparse.csr_array(whole.attributes), whole.n_nodes
    with gzip.open(FOLDER / name / "edgelist.tsv.gz", "rt") as file:
        edges = np.loadtxt(file)[:, :2].astype(np.int64)
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    for seed in range(splits):
        random = np.random.default_rng(seed)
        order = random.permutation(len(edges))
        kept = covering(edges[order], n)
        order = np.concatenate((order[~kept], order[kept]))
        test, validation = len(edges) // 10, len(edges) // 20
        drawn = random.integers(0, n, size=(3 * test, 2))
        is_other = (drawn[:, 0] != drawn[:, 1]) & ~np.isin(drawn @ (n, 1), edges @ (n, 1))
        others = drawn[is_other][:test]
        yield directed_graph(edges[order[test + validation :]], attributes), edges[order[:test]], others


def covering(edges: Pairs, n: int) -> NDArray[np.bool_]:
    """Mark edges that keep every node: first those that join two new nodes, then one for each node left."""
    seen, kept = np.zeros(n, dtype=np.bool_), np.zeros(len(edges), dtype=np.bool_)
    for wanted in (2, 1):
        for place, ends in enumerate(edges):
            if np.count_nonzero(~seen[ends]) >= wanted:
                kept[place] = seen[ends] = True
    return kept


def measure(case: Case, seed: int, features: Mapping[str, Sequence[str]]) -> tuple[Figures, float]:
    """Return the `FIGURES` of test edges, a row for each choice of features, and the first's CPU seconds."""
    graph, edges, others = case
    start = process_time()
    model = HEAT(random_state=seed).fit(graph)
    held_out = hold_out(model, graph)
    found, seconds = [], 0.0
    for chosen in features.values():
        scorer = link_score(held_out, graph, chosen).scorers(model.embedding_, graph)(CITES)
        links, non_links = scorer.pairs(edges), scorer.pairs(others)
        seconds = seconds or process_time() - start
        hits = [float(np.mean(links > np.sort(non_links)[-k])) for k in (100, 20)]
        n, known = graph.n_nodes, np.column_stack(relationships_of(graph, CITES))
        answered = np.isin(edges[:, ::-1] @ (n, 1), np.concatenate((known, edges)) @ (n, 1))
        ways = scorer.direction_log_odds(edges[~answered])
        assert ways is not None
        found.append([*hits, auroc(links, non_links), float(np.mean(ways > 0))])
    return np.array(found), seconds


def main() -> int:
    """Print the figures of each graph; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protocol", default="dirlink", choices=list(BARS))
    parser.add_argument("--graphs", nargs="+", default=list(BARS["dirlink"]), choices=list(BARS["dirlink"]))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--ablation", action="store_true", help="also without each group of features")
    options = parser.parse_args()
    cases = dirlink_cases if options.protocol == "dirlink" else graph2gauss_cases
    chosen = variants(ablation=options.ablation)
    missed = False
    print(f"{'':38} " + " ".join(f"{head:>9}" for head in FIGURES) + f" {'CPU s':>7}  best published")
    for name in options.graphs:
        figures, seconds = [], []
        for seed, case in enumerate(cases(name, options.splits)):
            found, cpu = measure(case, seed, chosen)
            figures.append(found)
            seconds.append(cpu)
            print(f"{name} {seed}: " + " ".join(f"{each:.4f}" for each in found[0]), file=sys.stderr)
        mean, bars = np.mean(figures, axis=0), BARS[options.protocol][name]
        missed |= not options.ablation and bool((mean[0] < bars).any())
        best = f" {np.mean(seconds):7.1f}  {PUBLISHED[options.protocol][name]}"
        for row, title in zip(mean, chosen, strict=True):
            print(f"{f'{name}, {title}':38} " + " ".join(f"{each:9.4f}" for each in row) + best)
            best = ""
        if not options.ablation:
            print(f"{'  bar':38} " + " ".join(f"{each:9.4f}" if each else f"{'-':>9}" for each in bars))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
