"""Keys: which property tells a node apart and names it, one for all nodes or one for each label."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text

Key = str | Mapping[str, str]
"""A property of all nodes, or one for each label, where that of "" is for nodes with none of the labels."""


@dataclass(frozen=True)
class NodeKeys:
    """One property for each label: what a `Projection` calls its key, or what a picture is captioned by.

    A node with several of the labels has the property of the one that comes first in the alphabet.
    """

    by_label: Mapping[str, str]  # by the alphabet; that of "", for nodes with none of the labels, comes last

    @classmethod
    def of(cls, key: Key | None) -> Self:
        """Return the keys that a `Projection` or its record has."""
        by_label = {} if key is None else {"": key} if isinstance(key, str) else key
        return cls(
            {label: by_label[label] for label in sorted(by_label, key=lambda label: (not label, label))}
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels with a property of their own."""
        return tuple(filter(None, self.by_label))

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties, each once."""
        return tuple(dict.fromkeys(self.by_label.values()))

    def value_of(self, labels: Collection[str], values: Mapping[str, Any]) -> Any:
        """Return one node's value of its own property, None if it has none."""
        own = (name for label, name in self.by_label.items() if label in labels or not label)
        return values.get(next(own, ""))

    def places(self, masks: Mapping[str, NDArray[np.bool_]], n_nodes: int) -> NDArray[np.int64]:
        """Return where in `by_label` each node's property is, -1 if it has none.

        `masks`, of shape (N,), say which nodes carry a label; none does if a label is not there.
        """
        places = np.full(n_nodes, len(self.labels) if "" in self.by_label else -1)
        for place, label in reversed(list(enumerate(self.labels))):
            if label in masks:
                places[masks[label]] = place
        return places

    def values(self, columns: Mapping[str, Sequence[Any]], places: NDArray[np.int64]) -> list[Any]:
        """Return each node's value of its own property, of the values that all have of each."""
        own = [columns[name] for name in self.by_label.values()]
        return [own[place][i] if place >= 0 else None for i, place in enumerate(places.tolist())]


def name_of(
    value: Any, labels: Collection[str], element_id: str, *, first: Sequence[str] = (), longest: int = 240
) -> str:
    """Return a node's name on one line: the value of its key, else a label and the number in its element id.

    The label is one of `first` if the node has one of them, and the first in the alphabet if not.

    >>> name_of("Alien", ["Movie"], "4:59cf:4752")
    'Alien'
    >>> name_of(None, ["Entity", "Movie"], "4:59cf:4752", first=["Movie"])
    'Movie 4752'
    """
    label = next((label for label in first if label in labels), None) or min(labels, default="node")
    return display_text(value, longest) or display_text(f"{label} {element_id.rpartition(':')[2]}", longest)
