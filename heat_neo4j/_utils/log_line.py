"""`LogLine`: a log line for people, with structured fields for programs."""

from typing import Self


class LogLine(str):
    """A string with an event, a level, and further `fields` for structured logs.

    >>> line = LogLine("published, run r1", event="finished", run="r1", outcome=None)
    >>> print(line, line.level, line.event, line.fields)
    published, run r1 info finished {'run': 'r1'}
    """

    event: str
    level: str
    fields: dict[str, str]

    def __new__(cls, text: str, *, event: str, level: str = "info", **fields: str | None) -> Self:
        line = super().__new__(cls, text)
        line.event, line.level = event, level
        line.fields = {name: value for name, value in fields.items() if value is not None}
        return line
