"""`redacted` masks passwords. Everything that is printed, logged, raised or recorded passes through it."""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 8
"""Length of the shortest secret that is masked by its value: Neo4j's default minimum for a password.
A shorter secret may be part of ordinary words."""

_SCHEME = r"(?:neo4j|bolt)(?:\+s(?:sc)?)?"
_HOST = r"(?:[\w-]+(?:\.[\w-]+)*\.?|\[[0-9a-f:.]+(?:%\w+)?\])"
_SERVER = rf"({_SCHEME}://{_HOST}(?::([0-9]{{1,5}}))?)/?"
_QUERY = r"[\w.-]+=[\w.,:-]+"
_ADDRESS = re.compile(rf"{_SERVER}(\?{_QUERY}(?:&{_QUERY})*)?", re.IGNORECASE)
_SHOWN = re.compile(rf"{_SERVER}(?=$|[\s'\"`,;()]|[.:](?:$|\s))", re.IGNORECASE)
# A single slash after the scheme may belong to the path of a file.
_BEGIN = re.compile(rf"(?<!\w){_SCHEME}\s*(?:[:\\]|//|%3a|%2f|%5c)|(?<![\w/.-]){_SCHEME}/", re.IGNORECASE)
_QUERY_BEGIN = re.compile("[?#]")
# The user of any URL, as far as the colon before a password; a colon before a port is none.
_OTHER_USER = re.compile(r"(?<=[a-z0-9+.-])://[^/?#:@]*:(?!\d{1,5}(?:[/?#]|$))", re.IGNORECASE)

_kept: set[str] = set()
_servers: set[str] = set()  # well-formed addresses, which are shown as they are


def keep_secret(value: object) -> None:
    """Have `redacted` mask a password or token, from now on and wherever it is found."""
    if isinstance(value, str):
        _kept.add(value)


def redacted(text: str, secrets: Iterable[str] | None = None) -> str:
    """Return `text` with a mask in place of secrets, and of logins in addresses, however malformed.

    The time is linear in the length of the text, which may come from a database that others write.

    `secrets` are those of this process if not given: the kept ones, and the environment's NEO4J_PASSWORD.

    >>> print(redacted("cannot read neo4j:me:pass@word@host"))
    cannot read neo4j:***@host
    >>> print(redacted("wrong: 'tell no one'", ["tell no one"]))
    wrong: '***'
    """
    known = {*_kept, os.environ.get("NEO4J_PASSWORD", "")} if secrets is None else secrets
    for form in sorted({form for secret in known for form in _forms(secret)}, key=len, reverse=True):
        text = text.replace(form, MASK)
    if _BEGIN.search(text):
        text = "\n".join(map(_without_login, text.split("\n")))
    return re.sub(r"\S+", _without_other_login, text) if "@" in text and "://" in text else text


def redacted_data(value: Any) -> Any:
    """Return data for JSON whose texts are `redacted`.

    A number that is not finite becomes None; another value that JSON does not have becomes a text.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {redacted(str(key)): redacted_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_data(item) for item in value]
    return redacted(str(value))


def server_address(uri: object) -> str | None:
    """Return scheme, host and port of a server's address; None if it is malformed or holds anything else.

    Only ``neo4j:`` may have a query, its routing context.

    >>> server_address("neo4j://host:7687?policy=near")
    'neo4j://host:7687'
    """
    match = _ADDRESS.fullmatch(uri) if isinstance(uri, str) else None
    if match is None or int(match[2] or 0) > 65_535 or (match[3] and match[1].lower().startswith("bolt")):
        return None
    _servers.add(match[1])
    return match[1]


def _forms(secret: str) -> set[str]:
    """Return a secret as messages may repeat it."""
    forms = {
        secret,
        " ".join(secret.split()),
        repr(secret)[1:-1],
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    }
    forms |= {form(secret, errors="replace") for form in (quote, quote_plus)} | {
        quote(secret, "", errors="replace")
    }
    return {form for form in forms if len(form) >= SHORTEST}


def _without_login(line: str) -> str:
    """Mask what may be a login in an address of Neo4j: everything up to the last "@", and a query.

    The time is linear in the length of the line: no part of it is searched again for each address.
    """
    at = max(line.rfind("@"), line.rfind("%40"))
    head = ""
    if (place := next(_unknown_addresses(line), at + 1)) <= at:
        if _QUERY_BEGIN.search(line, place, at):  # a query may follow, and its password may hold an "@"
            return f"{line[:place]}{MASK}"
        after = line[at:].removeprefix("@").removeprefix("%40")
        head, line = f"{line[:place]}{MASK}@", _QUERY_BEGIN.split(after, maxsplit=1)[0]
        return f"{head}{line}{MASK if len(line) < len(after) else ''}"
    space = query = -1
    for place in _unknown_addresses(line):
        if query < place:
            match = _QUERY_BEGIN.search(line, place)
            if match is None:
                break
            query = match.start()
        if space < place:
            space = line.find(" ", place) % (len(line) + 1)  # the end if there is none
        if query < space:
            return f"{line[:place]}{MASK}"
    return line


def _unknown_addresses(line: str) -> Iterator[int]:
    """Yield where the schemes end that do not begin the address of a known server."""
    place = 0
    while begin := _BEGIN.search(line, place):
        whole = _SHOWN.match(line, begin.start())
        if whole and whole[1] in _servers:
            place = whole.end()
        else:
            place = begin.end()
            yield place


def _without_other_login(word: re.Match[str]) -> str:
    """Mask user and password of a URL in a text without blanks: everything up to the last "@"."""
    text = word[0]
    at = text.rfind("@")
    user = _OTHER_USER.search(text) if at >= 0 else None
    if user is None or user.end() > at:
        return text
    return f"{text[: user.start() + 3]}{MASK}{text[at:]}"
