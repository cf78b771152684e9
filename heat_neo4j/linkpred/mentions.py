"""Mentions: how much of one node's name is in another node's texts, and how rare that is.

A text says what a node is about by naming other nodes. Names are short texts, or else the keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.elementwise import log
from heat_neo4j.attributes.columns import HASHED, hashed_words, word_hasher
from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.scorers import SparseProductScorer

_LONGEST_NAME = 6.0  # words of the texts that are names, on average
_NO_WORD = re.compile(r"[\W\d_]+")


class Mentions(NamedTuple):
    """Words of texts and of names, such that the product of a text and a name is how much it mentions it.

    That is the root of: the share of the name that is there, times the rarity of those words. So "king snake"
    mentions the king snake more than the snake.
    """

    texts: sparse.csr_array  # (N, words of texts)
    names: sparse.csr_array  # (N, words of texts)

    @classmethod
    def of(cls, graph: Graph) -> Self | None:
        """Return the texts and names of a graph; None if it has no texts or no names."""
        words = [_words(graph, *block) for block in graph.attribute_blocks() if is_text(block[0])]
        lengths = [each.nnz / max(int(np.count_nonzero(np.diff(each.indptr))), 1) for each in words]
        if min(lengths, default=np.inf) <= _LONGEST_NAME:
            names = words[int(np.argmin(lengths))]
        elif words and graph.keys and isinstance(graph.keys[0], str):
            names = _hashed(graph.keys)
        else:
            return None
        texts = sparse.csr_array(sum(words[1:], start=words[0]))
        texts.data[:] = 1.0
        n_texts_with = np.bincount(texts.indices, minlength=HASHED)
        rarity = log((1.0 + graph.n_nodes) / (1.0 + n_texts_with)) + 1.0
        whole = np.maximum(names @ rarity, 1.0)  # 1 is the least weight of a word
        used = np.flatnonzero(n_texts_with)
        return cls(
            sparse.csr_array(texts[:, used] @ sparse.diags_array(rarity[used])),
            sparse.csr_array(sparse.diags_array(whole**-0.5) @ names[:, used]),
        )

    def of_targets(self) -> SparseProductScorer:
        """Return the scorer: how much the source's texts mention the target, at least 0."""
        return SparseProductScorer(self.texts, self.names)


def _words(graph: Graph, entry: Mapping[str, Any], columns: slice, _: Any) -> sparse.csr_array:
    """Return the hashed words of a text attribute, shape (N, H): 1 for each word of a text."""
    attributes: Any = graph.attributes
    text = sparse.coo_array(attributes[:, columns])
    places = text.row, hashed_words(entry)[text.col]
    return sparse.csr_array((np.ones(text.nnz), places), shape=(graph.n_nodes, HASHED))


def _hashed(keys: Sequence[Any]) -> sparse.csr_array:
    """Return the hashed words of keys, shape (N, H): 1 for each word of a key."""
    names = sparse.csr_array(word_hasher().transform(_NO_WORD.sub(" ", str(key)) for key in keys))
    names.data[:] = 1.0
    return names
