"""Short texts read as words, as vectors of the encoder of the extra ``text``, and as both.

::

    python -m tests.benchmarks.texts [animal-terms debian-6000 icd] [--seeds 1 2]
        [--ways words encoded both svd] [--links]

MRR, Hits@10 and AUROC of the shelf's graphs by distance, with ``--links`` by the link score too: means over
held-out links and seeds. ``svd``: the 128 largest singular vectors of the vectors, a column each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.decomposition import TruncatedSVD

from heat_neo4j._utils.threads import one_blas_thread
from tests.benchmarks.shelf.dataset import DataSet
from tests.benchmarks.shelf.debian import debian
from tests.benchmarks.shelf.figures import Figures, evaluate
from tests.benchmarks.shelf.icd import icd
from tests.benchmarks.shelf.methods import distance, link_score_method
from tests.benchmarks.shelf.wordnet import new_terms

SETS: Mapping[str, Callable[..., DataSet]] = {
    "animal-terms": partial(new_terms, only_animals=True),
    "debian-6000": lambda seed, ways: debian(most_packages=6_000, ways=ways),
    "icd": icd,
}
WAYS = {"words": ["words"], "encoded": ["encoded"], "both": ["words", "encoded"], "svd": ["encoded"]}
SVD = 128
ROW = "{:>14} {:>8} {:>11} {:>7} {:>8} {:>7}"


def with_svd(data: DataSet) -> DataSet:
    """Return the data with singular vectors in the place of vectors, as columns without names."""
    graph = data.graph
    columns = TruncatedSVD(SVD, random_state=0).fit_transform(graph.attributes)
    provenance = replace(graph.provenance, attribute_recipe=[])
    graph = replace(graph, attributes=columns, attribute_names=(), provenance=provenance)
    return replace(data, graph=graph)


@one_blas_thread()
def main() -> None:
    """Print a row for each graph, way and score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["animal-terms"], help=", ".join(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--links", action="store_true", help="also by the link score")
    options = parser.parse_args()
    methods = {"distance": distance, **({"link score": link_score_method} if options.links else {})}
    print(ROW.format("graph", "text as", "score", "MRR", "Hits@10", "AUROC"))
    for name in options.sets:
        for way in options.ways:
            for score, method in methods.items():
                found: list[Figures] = []
                for seed in options.seeds:
                    data = SETS[name](seed, ways=WAYS[way])
                    data = with_svd(data) if way == "svd" else data
                    found += evaluate(data, method(data.graph, seed)).values()
                links = [each.links for each in found]
                means = (
                    np.average([getattr(each, figure) for each in found], weights=links)
                    for figure in ("mrr", "hits", "auroc")
                )
                print(ROW.format(name, way, score, *(f"{mean:.4f}" for mean in means)), flush=True)


if __name__ == "__main__":
    main()
