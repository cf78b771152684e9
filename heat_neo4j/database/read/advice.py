"""Suggest a key and a time property to a projection that names none, and labels of its attributes."""

from collections.abc import Collection, Iterable, Mapping
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.scope import property_keys
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

_LONGEST = 80
_SHOWN = 5
_LABELS = 20  # whose keys are shown: all, so that the options can be copied
_TYPES = 20  # relationship types looked at
_WITHOUT = 3  # labels named that have no value of an attribute


def key_advice(
    connection: Connection, projection: Projection, labels: Collection[str], *, is_wrong: bool = False
) -> tuple[str, ...]:
    """Return one line on the keys that a projection could have; none if it has a key or there are none.

    `labels` are those of its nodes; with `is_wrong`, the key that it has cannot be used.
    """
    if projection.key is not None and not is_wrong:
        return ()
    try:
        rows = connection.read(load_statement("read/unique_properties"), doing="reading constraints")
    except ProjectionError:  # the user may not see them
        return ()
    unique: dict[str, str] = {}
    for row in rows:
        if row["label"] in labels:
            unique.setdefault(row["label"], row["property"])
    shown = _shown((f"--key {quote(f'{label}={name}')}" for label, name in unique.items()), _LABELS)
    if not shown:
        return ()
    problem = "" if is_wrong else "nodes have no key, so results show numbers; "
    return (f"{problem}unique here: {' '.join(shown)}",)


def time_advice(connection: Connection, projection: Projection, types: Collection[str]) -> tuple[str, ...]:
    """Return one line on relationship properties with dates; none if `time` is set or there are none.

    `types` are those of its relationships.
    """
    if projection.time is not None:
        return ()
    keys = property_keys(connection, "read/relationship_times", "types", list(types)[:_TYPES])
    shown = _shown(f"--time {quote(key)}" for key in keys)
    if not shown:
        return ()
    return (f"relationships have dates; for the probability of links to come: {' or '.join(shown)}",)


def label_advice(key: str, present: NDArray[np.bool_], masks: Mapping[str, NDArray[np.bool_]]) -> str | None:
    """Return a line on the labels to read an attribute from if nodes of others never have it, else None.

    `present`, shape (N,), marks the nodes with a value; `masks`, shape (N,) each, those with a label.
    """
    without = [label for label, mask in masks.items() if not present[mask].any()]
    if not without:
        return None
    never = np.any([masks[label] for label in without], axis=0)
    left, own = present.copy(), list[str]()
    for label in sorted(masks, key=lambda label: (-int(masks[label].sum()), label)):
        if left[masks[label]].any() and not (masks[label] & never).any():
            own.append(label)
            left &= ~masks[label]
    options = _shown((f"--label-attribute {quote(f'{label}={key}')}" for label in sorted(own)), _LABELS)
    if left.any() or len(options) < len(own):
        return None
    labels = [display_text(label, _LONGEST) for label in sorted(without)]
    more = [plural(len(labels) - _WITHOUT, "other label")] if len(labels) > _WITHOUT else []
    *first, last = [*labels[:_WITHOUT], *more]
    named = f"{', '.join(first)} or {last}" if first else last
    key = display_text(key, _LONGEST)
    return f"{key} is on no node of {named} and counts as missing there: read it with {' '.join(options)}"


def _shown(options: Iterable[str], most: int = _SHOWN) -> list[str]:
    """Return the first options that a line can show whole, as they are to be copied."""
    return [each for each in options if display_text(each, _LONGEST) == each][:most]
