"""Link prediction on real graphs: one table of every method's figures.

::

    python -m tests.benchmarks.shelf fetch                   # download what the loaders read, once
    python -m tests.benchmarks.shelf [SET ...] [--seeds 0 1 2 3 4] [--methods "link score" stack]

Data are read from where packages install them, from the cache folder that ``fetch`` fills, and from the
folder that HEAT_DATASETS names. A set that is not there is left out with a line that says how to get it.

mrr, hits: rank of a held-out partner among all nodes that its pattern allows and that the source is not
linked to. seen, unseen: MRR by whether training has a link of the type to the partner. ndcg, recall: at 10
over sources. p@100: share of held-out links among the 100 best pairs. Means over seeds. The CPU seconds of a
method are those of training and of scoring. The exit code is 1 if the link score misses a bar.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from time import process_time

import numpy as np

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from tests.benchmarks.shelf.bars import missed
from tests.benchmarks.shelf.code import classes, standard_library
from tests.benchmarks.shelf.dataset import DataSet, MissingDataError
from tests.benchmarks.shelf.debian import debian
from tests.benchmarks.shelf.fetch import fetch
from tests.benchmarks.shelf.figures import Figures, evaluate
from tests.benchmarks.shelf.flights import flights
from tests.benchmarks.shelf.gds import cora, imdb, lastfm
from tests.benchmarks.shelf.hpo import hpo
from tests.benchmarks.shelf.icd import icd
from tests.benchmarks.shelf.methods import METHODS
from tests.benchmarks.shelf.movielens import movielens
from tests.benchmarks.shelf.plain import plain_graph
from tests.benchmarks.shelf.triples import packed_triples, wn18rr
from tests.benchmarks.shelf.wordnet import new_terms, nouns

Load = Callable[[int], DataSet]

SEEDED: Mapping[str, Load] = {
    **{name: partial(plain_graph, name) for name in ("cora_ml", "citeseer", "ppi")},
    "gds-cora": cora,
    "gds-imdb": imdb,
    "gds-lastfm": lastfm,
    "stdlib": standard_library,
    "icd": icd,
    "hpo": hpo,
    "flights": flights,
    "classes": classes,
    "wordnet": nouns,
    "wordnet-terms": new_terms,
    "animal-terms": partial(new_terms, only_animals=True),
}
"""Sets that are cut by the seed."""

OFFICIAL: Mapping[str, Callable[[], DataSet]] = {
    "umls": partial(packed_triples, "umls"),
    "kinships": partial(packed_triples, "kinships"),
    "wn18rr": partial(wn18rr, glosses=False),
    "wn18rr-glosses": partial(wn18rr, glosses=True),
    "movielens": partial(movielens, by_time=False),
    "movielens-time": partial(movielens, by_time=True),
    "debian": debian,
    "debian-6000": partial(debian, most_packages=6_000),
    "debian-dated": partial(debian, is_dated=True),
    "debian-6000-dated": partial(debian, most_packages=6_000, is_dated=True),
}
"""Sets with one split, of which the seed is that of the method."""

PUBLISHED: Mapping[str, str] = {
    "umls": "mrr: DistMult .878, ComplEx-N3 .838, MultiHop .94",
    "kinships": "mrr: ComplEx-N3 .823, ConvE .833, MultiHop .878",
    "wn18rr": "mrr: RotH d32 .473, MuRP d40 .477, ComplEx .475, SAFRAN .502, NBFNet .551",
    "wn18rr-glosses": "mrr: SimKGC about .67 (text)",
    "animal-terms": "mrr@10: the 10 most alike by TF-IDF of all words .63",
    "movielens": "ndcg / recall: BPR .442 / .213, BiVAE .475 / .219, LightGCN .420 / .144, SAR .382 / .176",
}
"""Figures of other methods under the same protocol."""

HEADS = {
    "links": "links", "mrr": "mrr", "hits": "hits@10", "mrr_at_10": "mrr@10", "mrr_seen": "seen",
    "mrr_unseen": "unseen", "unseen": "share", "ndcg": "ndcg@10", "recall": "rec@10", "precision": "p@100",
    "auroc": "auroc",
}  # fmt: skip


def load(name: str, seed: int) -> DataSet:
    """Return a data set by its name. A `MissingDataError` says how to get it."""
    return SEEDED[name](seed) if name in SEEDED else OFFICIAL[name]()


def add_sets(parser: argparse.ArgumentParser, default: Sequence[str], also: Sequence[str] = ()) -> None:
    """Let a command take names of sets, or else `default`, which argparse's `choices` would refuse."""
    names = (*SEEDED, *OFFICIAL, *also)

    def known(name: str) -> str:
        if name not in names:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(names)}")
        return name

    parser.add_argument("sets", nargs="*", type=known, default=list(default), metavar="SET")


@one_blas_thread()
def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.shelf",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_sets(parser, [*SEEDED, *OFFICIAL], ["fetch"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    options = parser.parse_args()
    if "fetch" in options.sets:
        fetch()
        return 0
    print(f"{'':24} " + " ".join(f"{head:>8}" for head in HEADS.values()) + f" {'CPU s':>7}")
    reached = True
    for name in options.sets:
        try:
            reached &= show(name, options.seeds, options.methods)
        except MissingDataError as error:
            print(f"{name}: {error}")
    return int(not reached)


def show(name: str, seeds: Sequence[int], methods: Sequence[str]) -> bool:
    """Print the rows of one data set; return whether its bars are reached."""
    found: dict[str, dict[str, list[Figures]]] = {}
    seconds: dict[str, list[float]] = {}
    for seed in seeds:
        data = load(name, seed)
        print(f"{name} {seed}: {data.graph}", file=sys.stderr)
        for method in methods:
            start = process_time()
            try:
                measured = evaluate(data, METHODS[method](data.graph, seed))
            except BaselineUnavailableError as error:
                print(f"{name}: no {method}: {error}", file=sys.stderr)
                continue
            seconds.setdefault(method, []).append(process_time() - start)
            for pattern, figures in measured.items():
                found.setdefault(pattern, {}).setdefault(method, []).append(figures)
    reached = True
    for pattern, of_methods in found.items():
        print(f"{name} {pattern}")
        means = {method: mean(each) for method, each in of_methods.items()}
        for method, figures in means.items():
            cells = " ".join(f"{getattr(figures, key):8.{0 if key == 'links' else 3}f}" for key in HEADS)
            print(f"  {method:22} {cells} {np.mean(seconds[method]):7.1f}", flush=True)
        for line in missed(name, means):
            print(f"  missed: {line}")
            reached = False
    if name in PUBLISHED:
        print(f"  published: {PUBLISHED[name]}")
    return reached


def mean(of_seeds: Sequence[Figures]) -> Figures:
    """Return the means of each figure."""
    return Figures(*np.mean([astuple(each) for each in of_seeds], axis=0).tolist())


if __name__ == "__main__":
    sys.exit(main())
