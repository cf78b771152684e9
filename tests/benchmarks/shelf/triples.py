"""Knowledge graphs with official splits: WN18RR, UMLS and Kinships.

Kinships: W. Denham (1973); UMLS: A. McCray (2003); both as packed by PyKEEN. WN18RR: T. Dettmers et al.,
"Convolutional 2D Knowledge Graph Embeddings" (AAAI 2018).
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from typing import Any

import numpy as np

from heat_neo4j.attributes.table import Attribute
from tests.benchmarks.shelf.dataset import (
    DataSet,
    MissingDataError,
    Pairs,
    attributed,
    linked,
    truth_by_pattern,
    wheel_member,
)
from tests.benchmarks.shelf.wordnet import synsets
from tests.support.datasets import dataset_folder

__all__ = ["packed_triples", "wn18rr"]

PARTS = ("train", "valid", "test")
Rows = list[list[str]]


def packed_triples(name: str) -> DataSet:
    """Return UMLS or Kinships, whose files PyKEEN packs."""
    return _data_set(
        [_rows(wheel_member("pykeen", f"pykeen/datasets/{name}/{part}.txt").decode()) for part in PARTS]
    )


def wn18rr(*, glosses: bool) -> DataSet:
    """Return WN18RR, whose entities are synsets by their offset in WordNet 3.0; with glosses as a text."""
    folder = dataset_folder() / "wn18rr"
    if not folder.exists():
        raise MissingDataError(f"no folder {folder}: name the data sets' in HEAT_DATASETS")
    parts = []
    for part in PARTS:
        with gzip.open(folder / f"{part}.tsv.gz", "rt") as file:
            parts.append(_rows(file.read()))
    texts: dict[str, str] = {}
    if glosses:
        for part in ("noun", "verb", "adj", "adv"):
            # The same offset may be in two files; the first is right for all but a few hundred.
            texts |= {f"{each.offset:08}": each.text for each in synsets(part)} | texts
    return _data_set(parts, texts)


def _rows(text: str) -> Rows:
    return [line.split("\t") for line in text.splitlines()]


def _data_set(parts: list[Rows], texts: dict[str, str] | None = None) -> DataSet:
    """Return the data set of (head, relation, tail) of training, validation and test."""
    keys = sorted({row[end] for part in parts for row in part for end in (0, 2)})
    row_of = {key: row for row, key in enumerate(keys)}
    train, valid, test = (_by_type(part, row_of) for part in parts)
    labels = {"Entity": np.ones(len(keys), dtype=np.bool_)}
    given: dict[str, Any] = {}
    if texts:
        values = {"gloss": [texts.get(key) for key in keys]}
        given["attributes"] = attributed([Attribute("gloss", text=True)], values, len(keys), labels)
    graph = linked(len(keys), train, labels=labels, keys=keys, **given)
    return DataSet(graph, truth_by_pattern(graph, test), truth_by_pattern(graph, valid), both_sides=True)


def _by_type(rows: Rows, row_of: dict[str, int]) -> dict[str, Pairs]:
    by_type = defaultdict(list)
    for head, relation, tail in rows:
        by_type[relation].append((row_of[head], row_of[tail]))
    return {name: np.array(pairs, dtype=np.int64) for name, pairs in by_type.items()}
