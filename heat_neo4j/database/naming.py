"""`WriteNames`: names of the properties, relationship types and indexes that are written to the graph."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

from heat_neo4j.database.statements import Each, check_identifier

_DUPLICATES = "-duplicates"  # ends the name of a model that holds the duplicates of another
_WORDS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])")
_COPIES: Mapping[str, str] = {"plain": "", "staged": "Staged", "previous": "Previous"}
_PROBABILITY, _INTERVAL = "Probability", ("Low", "High")  # ends of names beside a predicted value
MOST_LEVELS = 5
"""Levels of clusters that are written."""
_OF_LEVELS = tuple(f"{level}{end}" for level in range(1, MOST_LEVELS + 1) for end in ("", "Name"))


class PropertyNames(NamedTuple):
    """The node properties of one copy of the coordinates.

    Parameters
    ----------
    embedding : str
        Node property for the coordinates, a list of floats
    radius : str
        Node property for the radius, the hyperbolic distance from the centre
    run : str
        Node property for the id of the run that trained the coordinates
    vector : str
        Node property for points of the Poincaré ball, if hyperboloid or Klein coordinates are stored
    """

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

    They follow from the model's name alone, so no record in the database decides where a command writes.
    While a version is being published, it is also stored under names ending in ``Staged``; the replaced
    version is kept under names ending in ``Previous``.

    Parameters
    ----------
    model : str, default "heat"
        Name of the model, which is the ``name`` of the ``HeatModel`` node.
    values : tuple of str
        Node properties of a model that has these instead of coordinates and links: a table of values.

    Raises
    ------
    TypeError, ValueError
        If Neo4j cannot store the model's name, or `values` are none that this package writes.

    Examples
    --------
    >>> WriteNames().link_type
    'HEAT_PREDICTED'
    >>> WriteNames(model="open papers").previous.embedding
    'openPapersEmbeddingPrevious'
    """

    model: str = "heat"
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_identifier("model", self.model)
        usual = {self._prefix + end for end in ("", _PROBABILITY, *_INTERVAL, *_OF_LEVELS)}
        if len(usual.intersection(self.values)) < len(self.values):
            raise ValueError(f"model {self.model!r} writes no values {self.values}")

    @classmethod
    def of_classes(cls, model: str, property: str, *, numbers: bool = False) -> Self:
        """Return the names of the predicted classes or numbers of a property, a model beside `model`.

        >>> WriteNames.of_classes("heat", "section").own
        ('heatClassSection', 'heatClassSectionProbability', 'heatClassSectionRun')
        >>> WriteNames.of_classes("heat", "year", numbers=True).values
        ('heatClassYear', 'heatClassYearLow', 'heatClassYearHigh')
        """
        usual = cls(f"{model}-class-{property}")
        ends = _INTERVAL if numbers else (_PROBABILITY,)
        return cls(usual.model, values=tuple(usual._prefix + end for end in ("", *ends)))

    @classmethod
    def of_clusters(cls, model: str) -> Self:
        """Return the names of the clusters of nodes, a model beside `model`: by level, number and name.

        >>> WriteNames.of_clusters("heat").own[:3]
        ('heatCluster1', 'heatCluster1Name', 'heatCluster2')
        """
        usual = cls(f"{model}-cluster")
        return cls(usual.model, values=tuple(usual._prefix + end for end in _OF_LEVELS))

    def is_beside(self, model: str) -> bool:
        """Return whether these are names of classes or clusters of another model's nodes."""
        is_derived = self.model == f"{model}-cluster" or self.model.startswith(f"{model}-class-")
        return bool(self.values) and is_derived

    @classmethod
    def of_duplicates(cls, model: str) -> Self:
        """Return the names under which the duplicates of a model are written.

        >>> WriteNames.of_duplicates("heat").link_type
        'HEAT_SAME_AS'
        """
        return cls(f"{model}{_DUPLICATES}")

    @property
    def run(self) -> str:
        """Node property for the id of the run."""
        return self.plain.run

    @property
    def link_type(self) -> str:
        """Type of predicted relationships."""
        name = self.model.removesuffix(_DUPLICATES)
        ending = "PREDICTED" if name == self.model else "SAME_AS"
        return "_".join([*(word.upper() for word in _words(name)), ending])

    @cached_property
    def _prefix(self) -> str:
        first, *others = _words(self.model)
        return first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in others)

    @property
    def plain(self) -> PropertyNames:
        """The properties of the published version."""
        return PropertyNames(*(self._prefix + end for end in ("Embedding", "Radius", "Run", "Vector")))

    @property
    def staged(self) -> PropertyNames:
        """The properties of the version that is being published."""
        return PropertyNames(*(f"{name}Staged" for name in self.plain))

    @property
    def previous(self) -> PropertyNames:
        """The properties of the version that the last publication replaced."""
        return PropertyNames(*(f"{name}Previous" for name in self.plain))

    @property
    def runs(self) -> dict[str, str]:
        """The placeholders ``@run`` and ``@staged_run``."""
        return {"run": self.run, "staged_run": self.staged.run}

    def copy(self, copy: str) -> dict[str, str | Each]:
        """Return the placeholders ``@value`` and ``@run`` of a "plain", "staged" or "previous" copy."""
        end = _COPIES[copy]
        written = self.values or (self.plain.embedding, self.plain.radius, self.plain.vector)
        return {"value": Each(name + end for name in written), "run": self.run + end}

    def placeholders(self, *copies: str) -> dict[str, str | Each]:
        """Return the values of a statement's placeholders for several copies, as `copy` does for one.

        Those of staged and previous ones start with the copy's name, such as ``@staged_run``.
        """
        return {
            name if copy == "plain" else f"{copy}_{name}": value
            for copy in copies
            for name, value in self.copy(copy).items()
        }

    @property
    def own(self) -> tuple[str, ...]:
        """The node properties of the published version."""
        return (*self.values, self.run) if self.values else self.plain

    @property
    def properties(self) -> tuple[str, ...]:
        """All node properties."""
        return tuple(name + end for end in _COPIES.values() for name in self.own)

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
