"""Names of things, in the forms in which two of them are compared: words, n-grams of letters, initials."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from heat_neo4j._kernels.sparse import sparse_products
from heat_neo4j._utils.csr import CsrParts

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SMALL_WORDS = frozenset(("a", "an", "and", "by", "de", "for", "in", "of", "on", "or", "the", "to", "with"))
_LETTERS_PER_ERROR, _MOST_ERRORS = 6, 2
_INITIALS = 2  # letters of the shortest acronym


@dataclass(frozen=True, eq=False)
class Names:
    """The names of M nodes; an empty text where a node has none."""

    texts: Sequence[str]

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        """Lower-case words of each name without accents, in order."""
        return [_words(text) for text in self.texts]

    @cached_property
    def sorted_words(self) -> list[str]:
        """The words of each name in alphabetical order."""
        return [" ".join(sorted(words)) for words in self.words]

    @cached_property
    def solid(self) -> list[str]:
        """Each name in one piece if it may be an acronym, such as "dgia" for "D.G.I.A."; otherwise empty."""
        return [
            "".join(words) if len(words) == 1 or all(len(word) == 1 for word in words) else ""
            for words in self.words
        ]

    @cached_property
    def initials(self) -> list[tuple[str, ...]]:
        """Acronyms of each name of several words: with all words, and without the small ones."""
        return [_initials(words) for words in self.words]

    @cached_property
    def grams(self) -> sparse.csr_array:
        """TF-IDF of the n-grams of two and three letters inside words, rows of length 1; shape (M, F)."""
        plain = [" ".join(words) for words in self.words]
        if not any(plain):
            return sparse.csr_array((len(plain), 1))
        weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), sublinear_tf=True).fit_transform(
            plain
        )
        return sparse.csr_array(weights)

    def cosine(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosines of the n-grams of pairs of rows, shape (m, 2)."""
        return np.minimum(row_products(self.grams, pairs), 1.0)

    def acronym_length(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the length of the name that is an acronym of the other; 0 if neither is one."""
        solid, initials = self.solid, self.initials
        is_solid = np.array([bool(text) for text in solid], dtype=np.bool_)
        found = np.zeros(len(pairs), dtype=np.int64)
        for one, other in ((0, 1), (1, 0)):
            for place in np.flatnonzero(is_solid[pairs[:, one]]).tolist():
                text = solid[pairs[place, one]]
                if text in initials[pairs[place, other]]:
                    found[place] = len(text)
        return found

    def same_words(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether both names have the same words, in any order."""
        code = np.unique(np.array(self.sorted_words), return_inverse=True)[1]
        return np.asarray((code[pairs[:, 0]] == code[pairs[:, 1]]) & self.known[pairs].all(axis=1))

    def same_order(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether two names have the same words in the same order."""
        words = self.words
        return np.array([words[a] == words[b] for a, b in pairs.tolist()], dtype=np.bool_)

    @cached_property
    def namesakes(self) -> NDArray[np.int64]:
        """How many other nodes have the same words in any order, shape (M,)."""
        _, code, counts = np.unique(np.array(self.sorted_words), return_inverse=True, return_counts=True)
        return np.asarray(counts[code] - 1, dtype=np.int64)

    def have_unknown_words(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether one of two names has a word that no other name has, such as a typo.

        Names that differ in words of others, such as "mutable" and "immutable", differ on purpose.
        """
        return _differ_in_unknown([set(words) for words in self.words], pairs)

    def have_unknown_order(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether one of two names has two words in an order that no other has.

        The order "int long map" may differ from "long int map" on purpose if other names have it, too.
        """
        return _differ_in_unknown([set(pairwise(words)) for words in self.words], pairs)

    def spelled_alike(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether names differ in a few letters only, and not in digits; spaces do not count.

        One error is allowed for each six letters, and two at most.
        """
        letters = ["".join(words) for words in self.words]
        digits = np.unique(["".join(filter(str.isdigit, text)) for text in letters], return_inverse=True)[1]
        lengths = np.array([len(text) for text in letters])
        allowed = np.minimum(lengths[pairs].min(axis=1) // _LETTERS_PER_ERROR, _MOST_ERRORS)
        found: NDArray[np.bool_] = (digits[pairs[:, 0]] == digits[pairs[:, 1]]) & (allowed > 0)
        found &= np.abs(lengths[pairs[:, 0]] - lengths[pairs[:, 1]]) <= _MOST_ERRORS
        places = np.flatnonzero(found)
        ends = ([letters[row] for row in pairs[places, end].tolist()] for end in (0, 1))
        errors = process.cpdist(*ends, scorer=OSA.distance, score_cutoff=_MOST_ERRORS, workers=1)
        found[places] = errors <= allowed[places]
        return found

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether a name has a letter or digit, shape (M,)."""
        return np.array([bool(words) for words in self.words], dtype=np.bool_)

    def among(self, rows: NDArray[np.int64]) -> Names:
        """Return the names of some rows."""
        return Names([self.texts[row] for row in rows.tolist()])


def row_products(rows: sparse.csr_array, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the products of pairs of rows, shape (m,); the cost is that of the shorter."""
    own = CsrParts.of(rows)
    no_hubs = (np.full(rows.shape[0], -1, dtype=np.int32), np.empty((0, rows.shape[1])))
    return np.asarray(sparse_products(*own, *own, *no_hubs, pairs[:, 0].copy(), pairs[:, 1].copy()))


def plain_text(text: str) -> str:
    """Return the words of a text in small letters without accents.

    >>> plain_text("Peña, José")
    'pena jose'
    """
    return " ".join(_words(text))


def _differ_in_unknown(parts: Sequence[set[Any]], pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether one row of a pair has a part that no other row has."""
    uses = Counter(part for own in parts for part in own)
    differ = (parts[a] ^ parts[b] for a, b in pairs.tolist())
    return np.array([any(uses[part] == 1 for part in own) for own in differ], dtype=np.bool_)


def _words(text: str) -> tuple[str, ...]:
    letters = unicodedata.normalize("NFKD", _HUMP.sub(" ", text))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return tuple(_WORD.findall(plain.casefold()))


def _initials(words: tuple[str, ...]) -> tuple[str, ...]:
    forms = (words, tuple(word for word in words if word not in _SMALL_WORDS))
    found = {"".join(word[0] for word in form) for form in forms if len(form) >= _INITIALS}
    return tuple(sorted(found))
