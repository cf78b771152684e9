"""`Projection`: which part of a property graph becomes a `Graph`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from numbers import Real
from typing import Any, Self

from heat_neo4j._utils.validation import check_choice, check_integer, to_float
from heat_neo4j.attributes.table import Attribute
from heat_neo4j.database.documents import check_document
from heat_neo4j.database.keys import Key, NodeKeys
from heat_neo4j.database.statements import check_identifier

AGGREGATIONS = ("sum", "min", "max", "count", "single")
RESERVED_PREFIX = "heat_"


@dataclass(frozen=True)
class Projection:
    """What to read: nodes, relationships, weights and attributes, by the names they have in Neo4j.

    Parameters
    ----------
    labels : str or sequence of str, default: all nodes
        Label of nodes to read. Without any, all nodes except this package's own bookkeeping are read.
    relationships : str or sequence of str, default: all but predicted links
        Type of relationships to read.
    weight : str, default: every relationship weighs 1
        Relationship property that holds the weight. It is a finite number of 0 or more.
    default_weight : float, at least 0, default 1.0
        Weight of a relationship that lacks the weight property. Such relationships are counted.
    aggregation : {"sum", "min", "max", "count", "single"}
        How weights of parallel relationships are combined. Relationships with the same source and target get
        the sum, minimum or maximum of their weights, their number, or 1. The last two ignore weights and
        refuse a `weight`. Opposite directions are always summed, by `Graph`.
    time : str, optional
        Relationship property with a date, datetime or number; probabilities come from the latest edges. A
        datetime without a zone is in UTC. If several join two nodes, the earliest is used; relationships
        without a time are counted.
    attributes : sequence of str
        Node property to use as attribute. It becomes columns: numbers, booleans, dates, times, durations,
        points, numeric lists of one length, strings, lists of strings.
    text : sequence of str
        Node property whose words to use. Its strings are texts, not categories. One that `label_attributes`
        does not name is an attribute of all nodes; `attributes` must not name it too.
    encode : sequence of str
        Node property whose texts become vectors, by an encoder on this machine. It needs the extra
        ``text``; `text` may name the property too, and `attributes` must not.
    label_attributes : mapping of str to sequence of str
        Attribute of nodes with this label only. In Python, properties by label: ``{"Paper": ["year"]}``.
    type_weights : mapping of str to float, default: 1
        Factor for the weights of this relationship type. It must be finite and above 0.
    key : str or mapping of str to str, optional
        Unique node property that identifies nodes, or those with a label. It is a whole number or a string,
        the same kind on every node. Rows are then sorted by it, so that a graph inserted anew gives the same
        rows; otherwise by the number in the element id. If labels have their own keys, e.g.
        ``{"Paper": "doi", "Author": "name"}``, rows are grouped by label in alphabetical order and sorted
        within each; a node with several of them belongs to the first. Nodes with none of these labels come
        last, sorted by the key of ``""`` if there is one.
    node_filter : str, optional
        Keep nodes n for which this holds, such as 'n.year > 2000'. The Cypher is sent as it is, in a
        transaction that cannot write.
    relationship_filter : str, optional
        Keep relationships r for which this holds, such as 'r.score > 0.5'. It is sent in the same way.
    filter_parameters : mapping of str to JSON data
        Values of the ``$parameters`` in the filters. Names starting with ``heat_`` are reserved.
    max_categories : int, at least 1, default 10,000
        Maximum number of columns for a property of strings; rarer values share one. That column is
        ``<property>:other``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range; the message names it.

    Examples
    --------
    >>> papers = Projection(labels=["Paper"], relationships=["CITES"], weight="weight", attributes=["year"])
    >>> papers.to_dict()["labels"]
    ['Paper']
    """

    labels: str | Sequence[str] | None = None
    relationships: str | Sequence[str] | None = None
    _: KW_ONLY
    weight: str | None = None
    default_weight: float = 1.0
    aggregation: str = "sum"
    time: str | None = None
    attributes: Sequence[str] = ()
    text: Sequence[str] = ()
    encode: Sequence[str] = ()
    label_attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    type_weights: Mapping[str, float] = field(default_factory=dict)
    key: Key | None = None
    node_filter: str | None = None
    relationship_filter: str | None = None
    filter_parameters: Mapping[str, Any] = field(default_factory=dict)
    max_categories: int = 10_000

    def __post_init__(self) -> None:
        for name in ("labels", "relationships"):
            names = getattr(self, name)
            if names is not None:
                names = [names] if isinstance(names, str) else names
                object.__setattr__(self, name, _checked_names(name, names, may_be_empty=False))
        for name in ("attributes", "text", "encode"):
            object.__setattr__(self, name, _checked_names(name, getattr(self, name), may_be_empty=True))
        for option in ("text", "encode"):
            twice = [name for name in getattr(self, option) if name in self.attributes]
            if twice:
                raise ValueError(
                    f"`{option}` and `attributes` both name {twice[0]!r}: leave it out of `attributes`"
                )
        object.__setattr__(self, "label_attributes", _checked_label_attributes(self.label_attributes))
        object.__setattr__(self, "type_weights", _checked_type_weights(self.type_weights, self.relationships))
        for name in ("weight", "time"):
            if getattr(self, name) is not None:
                _check_name(name, getattr(self, name))
        for name in ("node_filter", "relationship_filter"):
            if getattr(self, name) is not None:
                _check_text(name, getattr(self, name))
        object.__setattr__(self, "key", _checked_key(self.key))
        default_weight = _checked_number("default_weight", self.default_weight, may_be_zero=True)
        object.__setattr__(self, "default_weight", default_weight)
        check_integer("max_categories", self.max_categories, minimum=1)
        object.__setattr__(self, "filter_parameters", _checked_parameters(self.filter_parameters))
        check_choice("aggregation", self.aggregation, AGGREGATIONS)
        if self.aggregation in ("count", "single") and (self.weight is not None or self.type_weights):
            ignored = "`type_weights`" if self.weight is None else "`weight`"
            raise ValueError(f"aggregation {self.aggregation!r} ignores weights: leave out {ignored}")

    @property
    def all_attributes(self) -> tuple[Attribute, ...]:
        """Properties in the order of their columns, first those of all nodes, then those by label."""
        by_label = [(label, name) for label, names in self.label_attributes.items() for name in names]
        named = {name for _, name in by_label}
        return (
            *map(Attribute, self.attributes),
            *(Attribute(name, text=True) for name in self.text if name not in named),
            *(Attribute(name, encoded=True) for name in self.encode if name not in named),
            *(
                each
                for label, name in by_label
                for each in Attribute.readings(name, label, text=self.text, encode=self.encode)
            ),
        )

    @property
    def keys(self) -> NodeKeys:
        """The key, or those of the labels."""
        return NodeKeys.of(self.key)

    def to_dict(self) -> dict[str, Any]:
        """Return the projection as JSON data that `from_dict` takes."""
        data = {part.name: getattr(self, part.name) for part in fields(self)}
        data["label_attributes"] = {label: list(names) for label, names in self.label_attributes.items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the projection that `to_dict` described.

        Raises
        ------
        TypeError, ValueError
            If `data` has an unknown name or a value out of range.
        """
        unknown = sorted(set(data) - {part.name for part in fields(cls)})
        if unknown:
            raise ValueError(f"a projection has no {', '.join(map(repr, unknown))}")
        return cls(**data)


def _checked_names(name: str, values: Any, *, may_be_empty: bool) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list of names, got {values!r}")
    if not values and not may_be_empty:
        raise ValueError(f"{name} must name at least one, or be None for all")
    for value in values:
        _check_name(name, value)
    if len(set(values)) < len(values):
        raise ValueError(f"{name} has a name twice: {list(values)}")
    return tuple(values)


def _check_name(name: str, value: Any) -> None:
    """Raise an error for a value that is not a valid name in Neo4j, or cannot be quoted."""
    _check_text(name, value)
    check_identifier(name, value)


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must not be empty")


def _checked_key(value: Any) -> Key | None:
    """Return the key in canonical form: a string if all nodes share it, None if there is none."""
    if isinstance(value, Mapping) and not set(value) - {""}:
        value = value.get("")
    if not isinstance(value, Mapping):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"key must be a string, or a mapping of labels to strings, got {value!r}")
        if value is not None:
            _check_name("key", value)
        return value
    for label, name in value.items():
        if label != "":
            _check_name("key: a label", label)
        _check_name(f"key[{label!r}]", name)
    return dict(value)


def _checked_label_attributes(values: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(values, Mapping):
        raise TypeError(f"label_attributes must be a mapping of labels to lists of names, got {values!r}")
    checked = {}
    for label, names in values.items():
        _check_name("label_attributes: a label", label)
        checked[label] = _checked_names(f"label_attributes[{label!r}]", names, may_be_empty=True)
    return checked


def _checked_type_weights(values: Any, types: Sequence[str] | None) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise TypeError(f"type_weights must be a mapping of types to numbers, got {values!r}")
    checked = {}
    for name, value in values.items():
        _check_name("type_weights: a type", name)
        checked[name] = _checked_number(f"type_weights[{name!r}]", value, may_be_zero=False)
        if types is not None and name not in types:
            raise ValueError(f"type_weights names {name!r}, which is not among `relationships` {list(types)}")
    return checked


def _checked_number(name: str, value: Any, *, may_be_zero: bool) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = to_float(value)
    if not math.isfinite(number) or number < 0 or (number == 0 and not may_be_zero):
        bound = "0 or more" if may_be_zero else "above 0"
        raise ValueError(f"{name} must be finite and {bound}, got {value}")
    return number


def check_parameter_names(values: Any) -> None:
    """Raise an error for filter parameters with reserved names, which start with ``heat_``."""
    if not isinstance(values, Mapping):
        raise TypeError(f"filter_parameters must be a mapping, got {values!r}")
    for name in values:
        if not isinstance(name, str) or name.startswith(RESERVED_PREFIX):
            raise ValueError(
                f"filter_parameters: {name!r} is reserved, as are all names that start with heat_"
            )


def _checked_parameters(values: Any) -> dict[str, Any]:
    check_parameter_names(values)
    for name, value in values.items():
        try:
            check_document(value)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"filter_parameters[{name!r}] must be plain data that JSON can hold: {error}"
            ) from error
    return dict(values)
