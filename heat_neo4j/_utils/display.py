"""Format property values and sizes for people, and make texts safe to print on a terminal."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_LONGEST_LIST = 12
_MOST_CHARACTERS, _MOST_ITEMS = 2_000, 1_000  # of texts and lists in JSON data

# Control and format characters (but not the two joiners that scripts and emoji need), separators of lines and
# paragraphs, and surrogates.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890-\\u0891\\u08e2\\u180e\\u200b\\u200e-\\u200f"
    "\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff\\ufeff\\ufff0-\\ufffb\\U000110bd\\U000110cd"
    "\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e007f]"
)


def printable(text: str) -> str:
    r"""Return untrusted text as one line without control sequences.

    >>> print(printable("ok\x1b[2J\n\u202e"))
    ok\x1b[2J\n\u202e
    """
    return text if text.isprintable() else _UNPRINTABLE.sub(_escaped, text)


def printable_json(document: str) -> str:
    r"""Return the JSON document with everything escaped that `printable` escapes.

    A lone surrogate, which readers of JSON refuse, becomes U+FFFD.

    >>> print(printable_json('{\n"name": "\x9b2J"}'))
    {
    "name": "\u009b2J"}
    """
    return _UNPRINTABLE.sub(_json_escaped, document)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def _json_escaped(match: re.Match[str]) -> str:
    if match[0] == "\n":  # between values: within a text it is escaped already
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    if len(units) == 2 and 0xD8 <= units[0] <= 0xDF:
        return "\\ufffd"
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def display_text(value: Any, longest: int = 240) -> str:
    """Return a property's value, of any type of the driver's, as one printable line; "" for None.

    It has at most `longest` characters (30 or more); longer texts and lists of more than twelve values end in
    an ellipsis.

    >>> display_text(["a", True, 0.1 + 0.2])
    'a, yes, 0.3'
    >>> display_text(list(range(2000)), 30)
    '0, 1, 2, 3,…, … (2,000 in all)'
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return _cut(f"0x{value[:longest].hex()}", longest)
    if isinstance(value, list) or type(value) is tuple:  # points and durations are tuples too
        more = f", … ({len(value):,} in all)" if len(value) > _LONGEST_LIST else ""
        shown = ", ".join(display_text(item, longest) for item in value[:_LONGEST_LIST])
        return _cut(shown, longest - len(more)) + more
    return _cut(printable(" ".join(str(value).split())), longest)


def display_name(name: Any, longest: int = 60) -> str:
    """Return a node's name as one printable line of at most `longest` characters, without its middle if long.

    Long names, such as those of classes and files, often differ at the end.

    >>> display_name("org.neo4j.kernel.impl.index.schema.RangeIndexProvider", 30)
    'org.neo4j.kerne…eIndexProvider'
    """
    text = display_text(name)
    end = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - end]}…{text[-end:]}"


def format_bytes(count: float) -> str:
    """Return a size for people, in powers of 1024: ``"3.2 GiB"``."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def display_number(value: float, digits: int = 6) -> str:
    """Return a number with the given significant digits, and without an exponent below 1e15."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:.{digits}g}"


def plural(count: int, noun: str) -> str:
    """Return ``"1 node"``, ``"2,995 nodes"``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Iterable[str], word: str = "and") -> str:
    """Return names in one line, with `word` before the last."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def did_you_mean(name: str, others: Iterable[str]) -> str:
    """Suggest the closest of other names, ignoring case; "" if none is close.

    >>> did_you_mean("YAER", ["title", "year"])
    ": did you mean 'year'?"
    >>> did_you_mean("year", ["title", "year"])
    ''
    """
    folded = {other.casefold(): other for other in sorted(others) if other != name}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f": did you mean {folded[close[0]]!r}?" if close else ""


def plain_data(value: Any, exact: Collection[str] = (), longest: int = _MOST_CHARACTERS) -> Any:
    r"""Return a value, of any type of the driver's, as JSON data for programs and language models.

    Texts are one printable line of `longest` characters at most, and lists have 1,000 values at most. What
    JSON has not, such as a date, becomes text; a number that is not finite becomes None. Texts under the
    names in `exact` stay as they are; if they are too long they become None.

    >>> plain_data({"name": "a\x1b[2J", "n": [1, 0.5, True, None, math.inf], "raw": b"\x01"})
    {'name': 'a\\x1b[2J', 'n': [1, 0.5, True, None, None], 'raw': '0x01'}
    """
    if isinstance(value, str):  # first: most are texts
        return display_text(value, longest)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            _cut(printable(str(key)), longest): _exact(item, longest)
            if key in exact and isinstance(item, str)
            else plain_data(item, exact, longest)
            for key, item in value.items()
        }
    if isinstance(value, list) or type(value) is tuple:  # points and durations are tuples too
        return [plain_data(item, exact, longest) for item in value[:_MOST_ITEMS]]
    return display_text(value, longest)


def _exact(text: str, longest: int) -> str | None:
    return text if len(text) <= longest else None
