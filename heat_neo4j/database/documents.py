"""The JSON documents that runs record as text: anybody who may write to the database can change them."""

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
    """Return the data of a recorded JSON document; a ValueError if `check_document` refuses it."""
    try:
        document = json.loads(text)
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"not a JSON document: {error}") from error
    check_document(document)
    return document


def check_document(document: Any) -> None:
    """Check that both JSON and Neo4j can hold some data.

    Raises
    ------
    TypeError
        If a value has no type of JSON.
    ValueError
        If lists and mappings are nested more than 50 deep, an integer has more than 64 bits, a number is not
        finite, or a text holds a lone surrogate.
    """
    level = [document]
    for _ in range(_DEEPEST + 1):
        level = [item for value in level for item in _items(value)]
        if not level:
            return
    raise ValueError(f"it is nested more than {_DEEPEST} deep")


def storable_integer(value: Any) -> Any:
    """Return an integer that Neo4j can store, another one as text; None for what is no integer."""
    if not isinstance(value, Integral):
        return None
    return value if _SMALLEST <= int(value) <= _LARGEST else str(value)


def _items(value: Any) -> Iterable[Any]:
    """Return the items of a list or mapping, none of another value; refuse a value that cannot be held."""
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
        raise TypeError(f"{value!r} has no type of JSON")
    return ()
