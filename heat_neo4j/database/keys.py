"""Keys: the property that identifies and names a node, one for all nodes or one per label."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text

Key = str | Mapping[str, str]
"""A property for all nodes, or one per label; the label "" stands for nodes with none of the labels."""


@dataclass(frozen=True)
class NodeKeys:
    """One property per label: the key of a `Projection`, or the caption of a picture.

    A node with several of the labels uses the property of the alphabetically first one.
    """

    by_label: Mapping[str, str]  # sorted by label; "", for nodes with none of the labels, comes last

    @classmethod
    def of(cls, key: Key | None) -> Self:
        """Convert the key of a `Projection` or of its record."""
        by_label = {} if key is None else {"": key} if isinstance(key, str) else key
        return cls(
            {label: by_label[label] for label in sorted(by_label, key=lambda label: (not label, label))}
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that have their own property."""
        return tuple(filter(None, self.by_label))

    @property
    def properties(self) -> tuple[str, ...]:
        """The distinct properties."""
        return tuple(dict.fromkeys(self.by_label.values()))

    def value_of(self, labels: Collection[str], values: Mapping[str, Any]) -> Any:
        """Return the value of a node's key property, or None."""
        own = (name for label, name in self.by_label.items() if label in labels or not label)
        return values.get(next(own, ""))

    def places(self, masks: Mapping[str, NDArray[np.bool_]], n_nodes: int) -> NDArray[np.int64]:
        """Return the index in `by_label` of each node's property, -1 if it has none.

        `masks`, shape (N,), mark the nodes with each label; no node has a missing label.
        """
        places = np.full(n_nodes, len(self.labels) if "" in self.by_label else -1)
        for place, label in reversed(list(enumerate(self.labels))):
            if label in masks:
                places[masks[label]] = place
        return places

    def values(self, columns: Mapping[str, Sequence[Any]], places: NDArray[np.int64]) -> list[Any]:
        """Return each node's key value, given the values of all nodes for each property."""
        own = [columns[name] for name in self.by_label.values()]
        return [own[place][i] if place >= 0 else None for i, place in enumerate(places.tolist())]


def name_of(
    value: Any, labels: Collection[str], element_id: str, *, first: Sequence[str] = (), longest: int = 240
) -> str:
    """Return a node's name on one line: its key value, otherwise a label and the number in its element id.

    The label is the first one of `first` that the node has, otherwise the alphabetically first.

    >>> name_of("Alien", ["Movie"], "4:59cf:4752")
    'Alien'
    >>> name_of(None, ["Entity", "Movie"], "4:59cf:4752", first=["Movie"])
    'Movie 4752'
    """
    label = next((label for label in first if label in labels), None) or min(labels, default="node")
    return display_text(value, longest) or display_text(f"{label} {element_id.rpartition(':')[2]}", longest)
