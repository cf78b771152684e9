"""What the link score must reach on the shelf: figures of its own, and figures of other methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.benchmarks.shelf.figures import Figures

__all__ = ["LINK_SCORE", "missed"]

LINK_SCORE = "link score"

LEAST: Mapping[str, Mapping[str, float]] = {
    "citeseer": {"auroc": 0.98, "hits": 0.50},
    "movielens": {"ndcg": 0.45},
    "wn18rr": {"mrr": 0.45},
    "umls": {"mrr": 0.85},
    "kinships": {"mrr": 0.80},
    "animal-terms": {"mrr_at_10": 0.70},
}
"""Figures by themselves."""

UNTYPED = {"cora_ml", "citeseer", "ppi", "gds-cora", "stdlib"}
BY_TIME = {"debian", "debian-6000", "debian-dated", "debian-6000-dated"}
TIMES_STACK = 1.15  # of the stack's MRR
FEWEST = 10  # held-out links that say something
UNDER = 0.002  # that the AUROC may be under another's


def missed(name: str, found: Mapping[str, Figures]) -> Iterator[str]:
    """Yield the bars that the link score misses on one pattern of a data set, as lines.

    `found` has the figures of each method; a bar that needs a method which is not there is not judged, nor
    is a pattern with fewer than 10 held-out links.
    """
    if LINK_SCORE not in found or found[LINK_SCORE].links < FEWEST:
        return
    own = found[LINK_SCORE]
    for figure, least in LEAST.get(name, {}).items():
        if getattr(own, figure) < least:
            yield f"{figure} {getattr(own, figure):.3f} is under {least}"
    if name in UNTYPED:
        if "stack" in found and own.mrr < TIMES_STACK * found["stack"].mrr:
            yield f"mrr {own.mrr:.3f} is under {TIMES_STACK} times the stack's {found['stack'].mrr:.3f}"
        for other in ("distance", "stack"):
            if other in found and own.auroc < found[other].auroc - UNDER:
                yield f"auroc {own.auroc:.3f} is under that of {other}, {found[other].auroc:.3f}"
    if name in BY_TIME:
        for other in ("stack", "popularity"):
            for figure in ("mrr", "precision") if other in found else ():
                if getattr(own, figure) <= (least := getattr(found[other], figure)):
                    yield f"{figure} {getattr(own, figure):.3f} is not above that of {other}, {least:.3f}"
