"""Names of things, in the forms in which two of them are compared: words, n-grams of letters, initials."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from heat_neo4j._kernels.sparse import sparse_products
from heat_neo4j._utils.csr import CsrParts

_WORD = re.compile(r"[^\W_]+[+#]*")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z]\w)")
_NO_SPACE = re.compile(r"(?<=\D) | (?=\D)")
_UMLAUT = re.compile("([aou]\u0308|ø)")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"})
_AND = frozenset(("and", "und", "et"))
_SMALL_WORDS = frozenset(("a", "an", "and", "by", "de", "for", "in", "of", "on", "or", "the", "to", "with"))
_ERRORS_FROM = (6, 10)  # letters that allow one error, and two
_INITIALS = 2  # letters of the shortest acronym
_GENERIC, _GENERIC_SHARE = 3, 0.002  # names, at least, that begin or end with a generic word
_UNSEEN = 0.5  # uses of a word, besides those that are counted
_MOST_NAMESAKES = 10  # others of a name that may be the same thing; more are chance


@dataclass(frozen=True, eq=False)
class Names:
    """The names of M nodes; an empty text where a node has none."""

    texts: Sequence[str]

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        """Lower-case words of each name without accents, in order; "mueller" too if a name has "müller"."""
        own = [_words(text) for text in self.texts]
        long_forms = [_words(text, long_umlauts=True) for text in self.texts]
        spelled = {
            long: short
            for row, words in enumerate(long_forms)
            for long, short in zip(words, own[row], strict=True)
            if long != short
        }
        return [tuple(spelled.get(word, word) for word in words) for words in own]

    @cached_property
    def letters(self) -> list[str]:
        """Each name without the spaces, other than those between numbers."""
        return [_NO_SPACE.sub("", " ".join(words)) for words in self.words]

    @cached_property
    def sorted_words(self) -> list[str]:
        """The words of each name in alphabetical order."""
        return [" ".join(sorted(words)) for words in self.words]

    @cached_property
    def solid(self) -> list[str]:
        """Each name in one piece if it may be an acronym, such as "dgia" for "D.G.I.A."; otherwise empty.

        Generic last words are left out if one word remains, such as "ibm" of "IBM Corp.".
        """
        cores = [self._cores(words)[-1] for words in self.words]
        return [
            "".join(core)
            if len(core) == 1
            else "".join(word for word in words if len(word) == 1)
            if all(len(word) == 1 or word == "and" for word in words)
            else ""
            for words, core in zip(self.words, cores, strict=True)
        ]

    @cached_property
    def initials(self) -> list[tuple[str, ...]]:
        """Acronyms of each name of several words: with all words, without small ones or generic last ones."""
        return [tuple(sorted(set().union(*map(_initials, self._cores(words))))) for words in self.words]

    def _cores(self, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return a name with and without its generic last words, such as "Acme Foods Inc." and "Acme"."""
        cores = [words]
        while len(cores[-1]) > 1 and cores[-1][-1] in self.generic:
            cores.append(cores[-1][:-1])
        return cores

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

    def acronym_chance(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how often another name has the initials by chance; NaN if neither name is an acronym."""
        solid, initials, n = self.solid, self.initials, len(self.texts)
        letters = Counter(word[0] for words in self.words for word in words)
        lengths = Counter(len(forms[-1]) for forms in initials if forms)
        uses = Counter(form for forms in initials for form in forms)
        is_solid = np.array([bool(text) for text in solid], dtype=np.bool_)
        found = np.full(len(pairs), np.nan)
        for one, other in ((0, 1), (1, 0)):
            for place in np.flatnonzero(is_solid[pairs[:, one]]).tolist():
                text = solid[pairs[place, one]]
                if text in initials[pairs[place, other]]:
                    drawn = lengths[len(text)] * prod(letters[each] / letters.total() for each in text)
                    found[place] = max(drawn, uses[text] - 1.0) / n
        return found

    def same_words(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether both names have the same words, in any order."""
        return _have_same(self.sorted_words, pairs) & self.known[pairs].all(axis=1)

    def same_letters(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether two names have the same letters in the same order, however they are spaced."""
        return _have_same(self.letters, pairs) & self.known[pairs].all(axis=1)

    def same_core(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether one name is the other between generic words, such as "Acme" and "Acme Inc.".

        If many names are one between generic words, these tell them apart: "Gujarati digit seven" is not
        "digit seven".
        """
        cores = [" ".join(word for word in words if word not in self.generic) for words in self.words]
        names_of = Counter(core for _, core in set(zip(self.words, cores, strict=True)))
        found = _have_same(cores, pairs)
        found &= np.array([names_of[core] <= _MOST_NAMESAKES for core in cores])[pairs[:, 0]]
        for place in np.flatnonzero(found).tolist():
            short, long = sorted((self.words[row] for row in pairs[place].tolist()), key=len)
            n = len(short)
            found[place] = any(
                long[at : at + n] == short and self.generic.issuperset(long[:at] + long[at + n :])
                for at in range(len(long) - n + 1)
            )
        return found

    @cached_property
    def generic(self) -> frozenset[str]:
        """Words without digits that many names begin or end with, and that are no name on their own.

        A word that is usually inside a name, such as "tomato" in "omelette with tomato and ham", tells things
        apart.
        """
        names = [words for words in set(self.words) if len(words) > 1]
        uses = Counter(word for words in names for word in {words[0], words[-1]})
        inside = Counter(word for words in names for word in set(words[1:-1]) - {words[0], words[-1]})
        least = max(_GENERIC, _GENERIC_SHARE * len(set(self.words)))
        alone = {words[0] for words in self.words if len(words) == 1}
        return frozenset(
            word
            for word, count in uses.items()
            if count >= max(least, inside[word]) and word.isalpha() and word not in alone
        )

    @cached_property
    def chance(self) -> NDArray[np.float64]:
        """How often another thing has the same words by chance, shape (M,).

        As many words are drawn from those of all names but two of this name, so rare words are no chance. If
        names with the same words are rarer than that, as where each name comes once, so is the chance.
        """
        uses = Counter(word for words in self.words for word in words)
        lengths, namesakes, n = Counter(map(len, self.words)), Counter(self.sorted_words), len(self.words)
        total = uses.total() + _UNSEEN * len(uses)
        of_word = {word: (max(count - 2, 0) + _UNSEEN) / total for word, count in uses.items()}
        drawn = [lengths[len(words)] * prod(of_word[word] for word in words) for words in self.words]
        others = np.array([namesakes[text] - 1 for text in self.sorted_words])
        found = others[self.known].sum() / max(np.array(drawn)[self.known].sum(), _UNSEEN)
        return np.asarray(np.maximum(np.array(drawn) * min(1.0, found), others - _MOST_NAMESAKES) / n)

    def have_unknown_words(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether two names share a word and one has a word that no other name has, such as a typo.

        Names that differ in words of others, such as "mutable" and "immutable", differ on purpose, and short
        ones, such as "massage" and "message", are alike by chance.
        """
        words = [set(own) for own in self.words]
        shared = [bool(words[a] & words[b]) for a, b in pairs.tolist()]
        return _differ_in_unknown(words, pairs) & np.array(shared, dtype=np.bool_)

    def have_unknown_order(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether one of two names has two words in an order that no other has.

        The order "int long map" may differ from "long int map" on purpose if other names have it, too.
        """
        return _differ_in_unknown([set(pairwise(words)) for words in self.words], pairs)

    def spelled_alike(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether names differ in a few letters only, and not in digits; spaces do not count.

        Of the words that only one has, six letters allow one error, and ten two.
        """
        letters = self.letters
        lengths, most = np.array([len(text) for text in letters]), len(_ERRORS_FROM)
        found = _have_same(["".join(filter(str.isdigit, text)) for text in letters], pairs)
        found &= np.abs(lengths[pairs[:, 0]] - lengths[pairs[:, 1]]) <= most
        places = np.flatnonzero(found)
        bags = [Counter(words) for words in self.words]
        ends = [
            ["".join((bags[a] - bags[b]).elements()) for a, b in pairs[places][:, order].tolist()]
            for order in ([0, 1], [1, 0])
        ]
        errors = process.cpdist(*ends, scorer=OSA.distance, score_cutoff=most, workers=1)
        shorter = np.min([[len(text) for text in texts] for texts in ends], axis=0)
        found[places] = errors <= np.searchsorted(_ERRORS_FROM, shorter, side="right")
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


def _have_same(texts: Sequence[str], pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    code = np.unique(np.array(texts), return_inverse=True)[1]
    return np.asarray(code[pairs[:, 0]] == code[pairs[:, 1]])


def _differ_in_unknown(parts: Sequence[set[Any]], pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether one row of a pair has a part that no other row has."""
    uses = Counter(part for own in parts for part in own)
    differ = (parts[a] ^ parts[b] for a, b in pairs.tolist())
    return np.array([any(uses[part] == 1 for part in own) for own in differ], dtype=np.bool_)


def _words(text: str, *, long_umlauts: bool = False) -> tuple[str, ...]:
    letters = unicodedata.normalize("NFKD", _HUMP.sub(" ", text)).casefold().replace("&", " and ")
    if long_umlauts:
        letters = _UMLAUT.sub(r"\1e", letters)
    plain = "".join(letter for letter in letters.translate(_LETTERS) if not unicodedata.combining(letter))
    return tuple("and" if word in _AND else word for word in _WORD.findall(plain))


def _initials(words: tuple[str, ...]) -> tuple[str, ...]:
    forms = (words, tuple(word for word in words if word not in _SMALL_WORDS))
    found = {"".join(word[0] for word in form) for form in forms if len(form) >= _INITIALS}
    return tuple(sorted(found))
