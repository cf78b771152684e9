"""What comes out of a database as plain JSON data, whoever wrote it."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from heat_neo4j._utils.display import display_text, printable

_LONGEST = 2_000
_LONGEST_LIST = 1_000


def plain_data(value: Any, exact: Collection[str] = ()) -> Any:
    r"""Return a value, of any type of the driver's, as JSON data for programs and language models.

    Texts are one printable line of 2,000 characters at most, and lists have 1,000 values at most. What JSON
    has not, such as a date, becomes text; a number that is not finite becomes None. Texts under the names in
    `exact` stay as they are.

    >>> plain_data({"name": "a\x1b[2J", "n": [1, 0.5, True, None, math.inf], "raw": b"\x01"})
    {'name': 'a\\x1b[2J', 'n': [1, 0.5, True, None, None], 'raw': '0x01'}
    """
    if isinstance(value, str):  # first: most are texts
        return display_text(value, _LONGEST)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            printable(str(key)): item if key in exact and isinstance(item, str) else plain_data(item, exact)
            for key, item in value.items()
        }
    if isinstance(value, list) or type(value) is tuple:  # points and durations are tuples too
        return [plain_data(item, exact) for item in value[:_LONGEST_LIST]]
    return display_text(value, _LONGEST)
