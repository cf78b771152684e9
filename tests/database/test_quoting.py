"""Whatever a name holds, quoted it is one identifier and nothing else."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j.database.statements import Fragment, load_statement, quote_identifier

# What could end an identifier, a string, a comment or a statement, and unicode escapes.
PIECES = st.sampled_from(
    ["`", "``", "\\", "\\u0060", "\\uu0060", "'", '"', "/*", "*/", "//", ";", "\n", ")", "}", "$x", "@x"]
)
NAMES = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=8).map("".join)


def decode(text: str) -> str:
    """What Cypher 5 does to a statement before anything else: unicode escapes become characters."""
    return re.sub(r"\\u+([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)


def scan_identifier(text: str) -> tuple[str, str]:
    """A slow twin of the server's scanner: the identifier that `text` begins with, and the rest."""
    assert text[0] == "`"
    name, place = "", 1
    while text[place] != "`" or text[place + 1 : place + 2] == "`":
        name += text[place]
        place += 2 if text[place] == "`" else 1
    return name, text[place + 1 :]


def quotable(name: str) -> bool:
    return bool(name) and "\0" not in name and "\\u" not in name and not re.search("[\ud800-\udfff]", name)


@given(NAMES)
def test_a_quoted_name_reads_back_as_the_name(name):
    if not quotable(name):
        try:
            quote_identifier(name)
        except ValueError:
            return
        raise AssertionError(f"{name!r} was quoted")
    for text in (quote_identifier(name), decode(quote_identifier(name))):
        assert scan_identifier(text + " rest") == (name, " rest")


@given(st.lists(NAMES.filter(quotable), min_size=1, max_size=3))
def test_names_in_a_statement_stay_where_they_belong(names):
    statement = decode(load_statement("read/node_count", labels=names, node_filter=Fragment("true")))
    rest = statement.removeprefix("MATCH (n:")
    for place, name in enumerate(names):
        found, rest = scan_identifier(rest)
        assert found == name
        assert rest.startswith("|" if place + 1 < len(names) else ")")
        rest = rest[1:]
    assert rest == "\nWHERE (\n  true\n)\nRETURN count(n) AS nodes"
