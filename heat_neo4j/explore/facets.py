"""Facets: what the page colours and filters nodes by, such as their labels, a property or their cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j._utils.display import display_text
from heat_neo4j.explore.colour_scale import ColourScale, colour_scale

N_GROUPS = 10  # most groups with a colour of their own
_TELLING = 0.5  # of the nodes with a value, the share that these groups must hold
_LONGEST_TEXT = 240


@dataclass(frozen=True, eq=False)
class Groups:
    """A property of N nodes as groups.

    Parameters
    ----------
    name : str
        The property.
    values : sequence of str or None
        The group of each node, None for none; empty if the nodes are not told apart.
    """

    name: str
    values: Sequence[str | None]

    @property
    def is_telling(self) -> bool:
        """Whether the groups with a colour hold at least half of the nodes that have a value."""
        counts = Counter(filter(None, self.values))
        largest = sum(count for _, count in counts.most_common(N_GROUPS))
        return len(counts) > 1 and largest >= _TELLING * counts.total()


Facet = Groups | ColourScale


def facet_of(name: str, values: Sequence[Any]) -> Facet:
    """Return a property, one value or None per node, as `colour_scale` makes of it, or else as groups."""
    return colour_scale(name, values) or Groups(
        name, [display_text(value, _LONGEST_TEXT) or None for value in values]
    )
