"""`WriteNames`: what the properties and the relationship type written into the graph are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from heat_neo4j.database.statements import quote_identifier

__all__ = ["SLOTS", "SlotNames", "WriteNames"]

SLOTS = (1, 2, 3)
_WORDS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])")


class SlotNames(NamedTuple):
    """The node properties of one slot."""

    embedding: str
    radius: str
    run: str
    vector: str

    def index_of(self, label: str) -> str:
        """Return the name of the vector index over the nodes of one label."""
        return f"{self.vector}_{label}"


@dataclass(frozen=True)
class WriteNames:
    """Names of what a model writes into the graph.

    Three versions of a model can be in the graph at once, the published one, the one before it and the one
    being written, so every node property exists in three *slots*: its name here, followed by ``1``, ``2`` or
    ``3``. Readers ask the model's published version, a ``HeatVersion`` node, which slot it is in.

    Parameters
    ----------
    model : str
        The model's name: the ``name`` of its ``HeatModel`` node.
    embedding : str
        Node property with the coordinates, a list of floats; ``<model>Embedding`` if empty.
    radius : str
        Node property with the hyperbolic distance from the origin; ``<model>Radius`` if empty.
    run : str
        Node property with the id of the run that wrote the others; ``<model>Run`` if empty.
    link_type : str
        Relationship type of predicted links; ``<MODEL>_PREDICTED`` if empty.
    vector : str
        Node property that the vector index holds; ``<model>Vector`` if empty.

    Raises
    ------
    TypeError, ValueError
        If a name is not a string that Neo4j can store, or two properties have the same name.

    Examples
    --------
    >>> WriteNames().link_type
    'HEAT_PREDICTED'
    >>> WriteNames(model="open papers").slot(2).embedding
    'openPapersEmbedding2'
    """

    model: str = "heat"
    embedding: str = ""
    radius: str = ""
    run: str = ""
    link_type: str = ""
    vector: str = ""

    def __post_init__(self) -> None:
        _check_name("model", self.model)
        words = _WORDS.findall(_HUMPS.sub("_", self.model)) or ["heat"]
        camel = words[0].lower() + "".join(word[:1].upper() + word[1:].lower() for word in words[1:])
        upper = "_".join(word.upper() for word in words)
        defaults = {
            "embedding": f"{camel}Embedding",
            "radius": f"{camel}Radius",
            "run": f"{camel}Run",
            "vector": f"{camel}Vector",
            "link_type": f"{upper}_PREDICTED",
        }
        for field, default in defaults.items():
            if getattr(self, field) == "":
                object.__setattr__(self, field, default)
            _check_name(field, getattr(self, field))
        if len(set(self.properties)) < len(self.properties):
            raise ValueError(
                f"the property names must differ, also with 1, 2 or 3 at the end: {self.properties}"
            )

    @property
    def properties(self) -> tuple[str, ...]:
        """All node properties of all slots."""
        return tuple(name for number in SLOTS for name in self.slot(number))

    def slot(self, number: int) -> SlotNames:
        """Return the node properties of slot `number`, 1, 2 or 3.

        Raises
        ------
        ValueError
            If there is no such slot.
        """
        if number not in SLOTS:
            raise ValueError(f"a slot is 1, 2 or 3, got {number!r}")
        return SlotNames(
            *(f"{name}{number}" for name in (self.embedding, self.radius, self.run, self.vector))
        )


def _check_name(field: str, value: str) -> None:
    try:
        quote_identifier(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{field}: {error}") from error
