"""JSON documents recorded by runs as text; untrusted, as database users can change them."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from numbers import Integral
from typing import Any

_DEEPEST = 50
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1  # of Neo4j's integers
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_document(text: Any) -> Any:
    """Parse a recorded JSON document; raises ValueError if `check_document` rejects it."""
    try:
        document = json.loads(text)
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"not a JSON document: {error}") from error
    check_document(document)
    return document


def check_document(document: Any) -> None:
    """Check that both JSON and Neo4j can represent some data.

    Raises
    ------
    TypeError
        If a value does not have a JSON type.
    ValueError
        If lists and mappings are nested more than 50 levels deep, an integer has more than 64 bits, a number
        is not finite, or a string contains a lone surrogate.
    """
    level = [document]
    for _ in range(_DEEPEST + 1):
        level = [item for value in level for item in _items(value)]
        if not level:
            return
    raise ValueError(f"it is nested more than {_DEEPEST} deep")


def storable_integer(value: Any) -> Any:
    """Return an integer as Neo4j can store it: as text if it has over 64 bits; None for other values."""
    if not isinstance(value, Integral):
        return None
    return value if _SMALLEST <= int(value) <= _LARGEST else str(value)


def _items(value: Any) -> Iterable[Any]:
    """Return the items of a list or mapping, or none; raises an error for a value that cannot be stored."""
    if isinstance(value, str):
        if _LONE_SURROGATE.search(value):
            raise ValueError(f"{value!r} holds a lone surrogate")
    elif isinstance(value, int):
        if not _SMALLEST <= value <= _LARGEST:
            raise ValueError("it holds an integer of more than 64 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"it holds {value}, which is not finite")
    elif isinstance(value, Mapping):
        return chain(value.keys(), value.values())
    elif isinstance(value, list | tuple):
        return value
    elif value is not None:
        raise TypeError(f"{value!r} is not JSON data")
    return ()
