"""Which movie a user rates next, which interface a class implements: the link score beside recommenders.

::

    python -m tests.benchmarks.recommend [--graph films] [--seeds 0 1 2 3 4] [--ablation]
    python -m tests.benchmarks.recommend --graph classes --seeds 0

A tenth of the relationships of one pattern is held out such that each end keeps one of them; what else joins
such a pair goes too. MRR and Hits@10 of each: its rank among the targets that its source does not have,
targets by their own label. ``films`` is made (`films.films`): its oracle knows how likely each rating was,
so no method can do better in the mean. ``classes`` are those of Neo4j's jars, of which 1,500 are asked.

Implicit ALS is the usual recommender, of 32 factors; its regularisation, confidence and iterations are chosen
for each seed by MRR, on relationships cut out of the training ones (it needs ``pip install implicit``; the
row is left out without it). Ours are the defaults. Bars of films: MRR and Hits@10 of the link score above
tuned ALS and above popularity, in the mean of the seeds; of classes: Hits@10 above popularity and the SVD.
``--ablation`` adds rows without each group of features. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.evaluation.baselines import item_neighbours
from heat_neo4j.evaluation.link_figures import HeldOutLinks, Limits, held_out_links, measure_links
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred import calibration
from heat_neo4j.linkpred.baselines import popularity, truncated_svd
from heat_neo4j.linkpred.candidates import ends_of, relationships_of
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.scorers import DirectedScorer, DistanceScorer, SparseProductScorer, VectorScorer
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from heat_neo4j.patterns import Pattern
from tests.benchmarks.class_graph import TYPES, class_graph
from tests.benchmarks.dirlink import variants
from tests.benchmarks.films import Films, films
from tests.support.leaks import count_leaks

OURS, ALS, ORACLE = "link score", "implicit ALS, tuned", "oracle"
PATTERNS = {
    "films": Pattern("User", "RATED", "Movie"),
    "classes": Pattern("Class", "IMPLEMENTS", "Interface"),
}
BARS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "films": (("mean_reciprocal_rank", "hits_at_10"), (ALS, "popularity")),
    "classes": (("hits_at_10",), ("popularity", "SVD 32")),
}
FIGURES = {"mean_reciprocal_rank": "MRR", "hits_at_10": "Hits@10"}
SHARE = 0.1
FACTORS = 32
REGULARISATION = (3.0, 10.0, 20.0, 30.0, 50.0, 80.0, 150.0, 300.0)
CONFIDENCE = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
ITERATIONS = (15, 30)

Find = Callable[[], DirectedScorer]


def films_graph(made: Films) -> Graph:
    """Return users, movies, persons and genres as the product reads them, attributes encoded."""
    n = sum(made.counts.values())
    starts = dict(zip(made.counts, np.cumsum([0, *made.counts.values()]).tolist(), strict=False))
    labels = {label: np.zeros(n, dtype=np.bool_) for label in made.counts}
    for label, mask in labels.items():
        mask[starts[label] : starts[label] + made.counts[label]] = True
    attributes, values = [], dict[str, list[object]]()
    for label, properties in made.properties.items():
        for name, own in properties.items():
            if name != "name":  # of a genre: a value that no other node shares
                attributes.append(Attribute(name, label))
                values[name] = [None] * n
                values[name][starts[label] : starts[label] + len(own)] = own
    table = AttributeTable(attributes, n, max_categories=1000, labels=labels)
    table.add(np.arange(n), values)
    encoded = table.finish(np.arange(n))
    u, v = np.concatenate(list(made.relationships.values()), axis=1)
    return Graph(
        sparse.csr_array((np.ones(len(u)), (u, v)), shape=(n, n)),
        encoded.matrix,
        labels=labels,
        attribute_names=encoded.names,
        relationships=Relationships.from_pairs(
            {name: (ends[0], ends[1]) for name, ends in made.relationships.items()}
        ),
    )


def classes_graph() -> Graph:
    """Return classes and interfaces with directions and types, each pair joined once for each type."""
    classes = class_graph()
    pairs = {
        name: (classes.source[classes.type == place], classes.target[classes.type == place])
        for place, name in enumerate(TYPES)
    }
    return replace(classes.to_graph(), relationships=Relationships.from_pairs(pairs))


def hold_out(graph: Graph, pattern: Pattern, seed: int) -> EdgeSplit:
    """Hold out relationships of a pattern such that each end keeps one, with all that joins such a pair."""
    n, ends = graph.n_nodes, relationships_of(graph, pattern)
    held = split_edges(Graph(sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))), SHARE, seed)
    assert graph.relationships is not None
    u, v = held.test_edges.T
    kept = graph.adjacency.tolil()
    kept[u, v] = kept[v, u] = 0.0
    train = replace(
        graph,
        adjacency=sparse.csr_array(kept),
        relationships=graph.relationships.without(held.test_edges, n),
    )
    split = replace(held, train=train)
    assert count_leaks(split) == 0
    return split


def ours(train: Graph, pattern: Pattern, seed: int, *, ablation: bool) -> Iterator[tuple[str, Find]]:
    """Yield the link score, at the defaults, that without each group of features, and the distance."""
    model = HEAT(random_state=seed).fit(train)
    held_out = calibration.hold_out(model, train)

    def combined(features: Sequence[str]) -> DirectedScorer:
        return link_score(held_out, train, features).scorers(model.embedding_, train)(pattern)

    for name, features in variants(ablation=ablation).items():
        yield name.replace("all features", OURS), partial(combined, features)
    yield "HEAT distance", lambda: DistanceScorer(model.embedding_)


def tuned_als(train: Graph, pattern: Pattern, seed: int) -> DirectedScorer:
    """Return implicit ALS as it ranks best what is cut out of the training relationships once more."""
    inner = hold_out(train, pattern, seed + 77)
    held_out = held_out_links(train, inner, pattern, seed)
    assert held_out is not None

    def reached(choice: tuple[float, float, int]) -> float:
        return measure_links(als(inner.train, pattern, *choice), held_out).metrics["mean_reciprocal_rank"]

    best = max(product(REGULARISATION, CONFIDENCE, ITERATIONS), key=reached)
    print(f"  ALS: regularisation {best[0]:g}, confidence {best[1]:g}, {best[2]} iterations", file=sys.stderr)
    return als(train, pattern, *best)


def als(
    train: Graph, pattern: Pattern, regularisation: float, confidence: float, iterations: int
) -> DirectedScorer:
    """Return implicit ALS of the relationships of a pattern."""
    from implicit.als import AlternatingLeastSquares  # type: ignore[import-not-found, unused-ignore]

    sources, targets = (np.flatnonzero(ends) for ends in ends_of(train, pattern))
    assert train.relationships is not None
    own = train.relationships.matrix(pattern.type, train.n_nodes)[sources][:, targets]
    model = AlternatingLeastSquares(
        factors=FACTORS,
        regularization=regularisation,
        alpha=confidence,
        iterations=iterations,
        random_state=0,
        num_threads=1,
    )
    model.fit(sparse.csr_matrix(own, dtype=np.float32), show_progress=False)
    of_source, of_target = np.zeros((2, train.n_nodes, FACTORS))
    of_source[sources], of_target[targets] = model.user_factors, model.item_factors
    return VectorScorer(of_source, other=of_target)


def oracle(made: Films) -> DirectedScorer:
    """Return the log odds by which ratings were drawn."""
    n, users, movies = sum(made.counts.values()), made.counts["User"], made.counts["Movie"]
    of_user = sparse.csr_array((np.ones(users), (np.arange(users), np.arange(users))), shape=(n, users))
    of_movie = np.zeros((n, users))
    of_movie[users : users + movies] = made.affinity.T
    return SparseProductScorer(of_user, sparse.csr_array(of_movie))


def measure(
    name: str, seed: int, *, with_als: bool, ablation: bool
) -> dict[str, tuple[NDArray[np.float64], float]]:
    """Return the figures of each method, in the order of `FIGURES`, and its CPU seconds."""
    pattern, made = PATTERNS[name], films(seed) if name == "films" else None
    graph = classes_graph() if made is None else films_graph(made)
    split = hold_out(graph, pattern, seed)
    held_out = held_out_links(graph, split, pattern, seed, Limits(exact_nodes=5_000, nodes=1_500))
    assert held_out is not None
    print(f"{name} {seed}: {graph}, {len(held_out.pairs):,} {pattern} held out", file=sys.stderr, flush=True)
    start = process_time()
    methods: dict[str, Find] = dict(ours(split.train, pattern, seed, ablation=ablation))
    trained = process_time() - start
    methods |= {
        "popularity": lambda: popularity(split.train, pattern),
        "SVD 32": lambda: truncated_svd(split.train, pattern),
        "item-based neighbours": lambda: item_neighbours(split.train, pattern),
    }
    if made is not None:
        methods = {ORACLE: lambda: oracle(made), **methods}
    if with_als:
        methods[ALS] = lambda: tuned_als(split.train, pattern, seed)
    return {method: _measured(find, held_out, trained * (method == OURS)) for method, find in methods.items()}


def _measured(find: Find, held_out: HeldOutLinks, before: float) -> tuple[NDArray[np.float64], float]:
    start = process_time()
    scorer = find()
    seconds = before + process_time() - start
    metrics = measure_links(scorer, held_out).metrics
    return np.array([metrics[figure] for figure in FIGURES]), seconds


@one_blas_thread()
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.recommend",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--graph", choices=list(PATTERNS), default="films")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--ablation", action="store_true", help="also without each group of features")
    parser.add_argument("--no-als", action="store_true", help="without the row that takes longest")
    options = parser.parse_args(arguments)
    with_als = not options.no_als
    if with_als and find_spec("implicit") is None:
        print("no row of implicit ALS: pip install implicit")
        with_als = False
    found = [
        measure(options.graph, seed, with_als=with_als, ablation=options.ablation) for seed in options.seeds
    ]
    print(f"{PATTERNS[options.graph]} of {options.graph}, seeds {options.seeds}, mean and standard deviation")
    print(f"{'':27}" + "".join(f"{head:>17}" for head in FIGURES.values()) + f"{'CPU s':>8}")
    means = {}
    for method in found[0]:
        figures = np.array([each[method][0] for each in found])
        means[method] = dict(zip(FIGURES, figures.mean(axis=0), strict=True))
        cells = [f"{mean:.4f}" for mean in figures.mean(axis=0)]
        if len(found) > 1:
            cells = [
                f"{cell} ± {sd:.4f}" for cell, sd in zip(cells, figures.std(axis=0, ddof=1), strict=True)
            ]
        seconds = np.mean([each[method][1] for each in found])
        print(f"{method:27}" + "".join(f"{cell:>17}" for cell in cells) + f"{seconds:8.1f}")
    names, others = BARS[options.graph]
    missed = [
        f"{FIGURES[name]} is not above {other}"
        for name in names
        for other in others
        if other in means and means[OURS][name] <= means[other][name]
    ]
    print("\n".join(missed) or "all bars are reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
