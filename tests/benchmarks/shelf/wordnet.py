"""WordNet 3.0's nouns from Debian's wordnet-base: HYPERNYM relationships, with glosses.

G. Miller, "WordNet: a lexical database for English" (CACM 1995).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.graph import Graph
from tests.benchmarks.shelf.dataset import (
    DataSet,
    MissingDataError,
    Pairs,
    attributed,
    cache_folder,
    held_out_at_random,
    linked,
    read_text,
    truth_by_pattern,
)

__all__ = ["Synset", "hypernyms", "new_terms", "nouns", "synsets"]

ANIMAL = "animal"
TERMS = 300
LABEL = "Synset"
HYPERNYM = "HYPERNYM"


class Synset(NamedTuple):
    """Words of one meaning."""

    offset: int  # in its file: WordNet's own number
    words: tuple[str, ...]
    hypernyms: tuple[int, ...]  # offsets, also of what it is an instance of
    gloss: str

    @property
    def text(self) -> str:
        """Its words and what they mean."""
        return f"{' '.join(self.words).replace('_', ' ')}: {self.gloss}"


@cache
def synsets(part: str) -> tuple[Synset, ...]:
    """Return the synsets of a part of speech: ``noun``, ``verb``, ``adj`` or ``adv``."""
    path = cache_folder() / "wordnet" / "usr" / "share" / "wordnet" / f"data.{part}"
    if not path.exists():
        raise MissingDataError(f"no file {path}: python -m tests.benchmarks.shelf fetch")
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):  # the licence
            continue
        data, _, gloss = line.partition(" | ")
        fields = data.split()
        n_words = int(fields[3], 16)
        words = tuple(fields[4 + 2 * place] for place in range(n_words))
        start = 5 + 2 * n_words
        pointers = [
            fields[start + 4 * place : start + 4 * place + 3] for place in range(int(fields[start - 1]))
        ]
        hypernyms = tuple(
            int(target) for kind, target, pos in pointers if kind in {"@", "@i"} and pos == fields[2]
        )
        found.append(Synset(int(fields[0]), words, hypernyms, gloss.strip()))
    return tuple(found)


def nouns(seed: int) -> DataSet:
    """Return the nouns without a random 15 % of the hypernyms."""
    every = synsets("noun")
    train, test = held_out_at_random({HYPERNYM: _hypernyms()}, len(every), seed)
    return _data_set(every, train[HYPERNYM], test[HYPERNYM])


def new_terms(seed: int, *, only_animals: bool = False, ways: Collection[str] = ("words",)) -> DataSet:
    """Return the nouns where 300 leaves under *animal* lost all links: only their glosses place them.

    If `only_animals`, the graph is of the 4,017 synsets at and under *animal*.
    """
    every, edges = synsets("noun"), _hypernyms()
    children, parents = edges.T
    below = _at_and_under(ANIMAL)
    leaves = np.setdiff1d(np.flatnonzero(below), parents)
    gone = np.isin(children, np.random.default_rng(seed).choice(leaves, TERMS, replace=False))
    if not only_animals:
        return _data_set(every, edges[~gone], edges[gone], ways)
    row_of, inside = np.cumsum(below) - 1, below[parents] & below[children]
    animals = [every[row] for row in np.flatnonzero(below)]
    return _data_set(animals, row_of[edges[inside & ~gone]], row_of[edges[inside & gone]], ways)


def hypernyms(top: str | None = None) -> Graph:
    """Return all hypernyms of nouns, without texts; or those at and under the first synset of a word."""
    every, edges = synsets("noun"), _hypernyms()
    inside = np.ones(len(every), dtype=np.bool_) if top is None else _at_and_under(top)
    row_of, joins = np.cumsum(inside) - 1, inside[edges].all(axis=1)
    rows = np.flatnonzero(inside)
    return _data_set([every[row] for row in rows], row_of[edges[joins]], edges[:0], ()).graph


def _at_and_under(word: str) -> NDArray[np.bool_]:
    """Return a mask of the first synset of a word, and all under it."""
    every, (children, parents) = synsets("noun"), _hypernyms().T
    below = np.zeros(len(every), dtype=np.bool_)
    below[next(row for row, each in enumerate(every) if each.words[0] == word)] = True
    while (more := below[parents] & ~below[children]).any():
        below[children[more]] = True
    return below


def _hypernyms() -> Pairs:
    every = synsets("noun")
    row_of = {each.offset: row for row, each in enumerate(every)}
    return np.array([(row_of[each.offset], row_of[other]) for each in every for other in each.hypernyms])


def _data_set(
    every: Sequence[Synset], train: Pairs, test: Pairs, ways: Collection[str] = ("words",)
) -> DataSet:
    senses: Counter[str] = Counter()
    keys = []
    for each in every:
        senses[each.words[0]] += 1
        keys.append(f"{each.words[0]}.{senses[each.words[0]]}")
    labels = {LABEL: np.ones(len(every), dtype=np.bool_)}
    texts = {"text": [each.text for each in every]}
    attributes = attributed(read_text("text", ways), texts, len(every), labels) if ways else None
    graph = linked(len(every), {HYPERNYM: train}, labels=labels, keys=keys, attributes=attributes)
    return DataSet(graph, truth_by_pattern(graph, {HYPERNYM: test}))
