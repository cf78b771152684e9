"""`WriteNames`: names of the properties, relationship types and indexes that are written to the graph."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

from heat_neo4j.database.statements import check_identifier

_WORDS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])")


class PropertyNames(NamedTuple):
    """The node properties of one copy of the coordinates."""

    embedding: str
    radius: str
    run: str
    vector: str

    def indexed(self, coordinates: str) -> str:
        """Return the property with points of the Poincare ball, which distances and indexes use."""
        return self.embedding if coordinates == "poincare" else self.vector


class LinkTypes(NamedTuple):
    """The relationship types of the three copies of predicted links."""

    plain: str
    staged: str
    previous: str

    @classmethod
    def of(cls, plain: str) -> Self:
        """Derive the types of the copies from that of the published links."""
        return cls(plain, f"{plain}_STAGED", f"{plain}_PREVIOUS")


@dataclass(frozen=True)
class WriteNames:
    """Names of the data that a model writes to the graph.

    The published version is stored under the names given here. While a version is being published, it is
    also stored under names ending in ``Staged``; the replaced version is kept under names ending in
    ``Previous``.

    Parameters
    ----------
    model : str, default "heat"
        Name under which the embedding is published. It is the ``name`` of the ``HeatModel`` node.
    embedding : str, default: <model>Embedding
        Node property for the coordinates, a list of floats.
    radius : str, default: <model>Radius
        Node property for the radius, the hyperbolic distance from the origin.
    run : str, default: <model>Run
        Node property for the id of the run whose training gave the others.
    link_type : str, default: <MODEL>_PREDICTED
        Type of predicted relationships.
    vector : str, default: <model>Vector
        Node property for points of the Poincare ball, if `embedding` holds other coordinates.

    Raises
    ------
    TypeError, ValueError
        If a name is not a string that Neo4j can store, or two properties have the same name.

    Examples
    --------
    >>> WriteNames().link_type
    'HEAT_PREDICTED'
    >>> WriteNames(model="open papers").previous.embedding
    'openPapersEmbeddingPrevious'
    """

    model: str = "heat"
    embedding: str = ""
    radius: str = ""
    run: str = ""
    link_type: str = ""
    vector: str = ""

    def __post_init__(self) -> None:
        check_identifier("model", self.model)
        camel = self._prefix
        defaults = {
            "embedding": f"{camel}Embedding",
            "radius": f"{camel}Radius",
            "run": f"{camel}Run",
            "vector": f"{camel}Vector",
            "link_type": "_".join(word.upper() for word in _words(self.model)) + "_PREDICTED",
        }
        for field, default in defaults.items():
            if getattr(self, field) == "":
                object.__setattr__(self, field, default)
            check_identifier(field, getattr(self, field))
        if len(set(self.properties)) < len(self.properties):
            raise ValueError(
                f"the property names must differ, also with Staged or Previous at the end: {self.properties}"
            )

    @cached_property
    def _prefix(self) -> str:
        first, *others = _words(self.model)
        return first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in others)

    @property
    def plain(self) -> PropertyNames:
        """The properties of the published version."""
        return PropertyNames(self.embedding, self.radius, self.run, self.vector)

    @property
    def staged(self) -> PropertyNames:
        """The properties of the version that is being published."""
        return PropertyNames(*(f"{name}Staged" for name in self.plain))

    @property
    def previous(self) -> PropertyNames:
        """The properties of the version that the last publication replaced."""
        return PropertyNames(*(f"{name}Previous" for name in self.plain))

    def placeholders(self, *copies: str) -> dict[str, str]:
        """Return the values of a statement's placeholders for "plain", "staged" or "previous" copies.

        Placeholders of the last two start with the copy's name, such as ``@staged_run``.
        """
        return {
            name if copy == "plain" else f"{copy}_{name}": value
            for copy in copies
            for name, value in getattr(self, copy)._asdict().items()
        }

    @property
    def properties(self) -> tuple[str, ...]:
        """All node properties."""
        return (*self.plain, *self.staged, *self.previous)

    @property
    def links(self) -> LinkTypes:
        """The relationship types of predicted links."""
        return LinkTypes.of(self.link_type)

    def index_of(self, label: str) -> str:
        """Return the name of the vector index over the published coordinates of nodes of one label."""
        return f"{self._prefix}_{label}"

    def staged_index_of(self, label: str) -> str:
        """Return the name of the index over staged coordinates; its prefix is unique to staged indexes."""
        return f"_{self._prefix}Staged_{label}"


def _words(model: str) -> list[str]:
    return _WORDS.findall(_HUMPS.sub("_", model)) or ["heat"]
