"""A line of the log as a JSON object."""

import json
from datetime import UTC, datetime
from typing import Any

from heat_neo4j._utils.display import printable_json
from heat_neo4j._utils.log_line import LogLine
from heat_neo4j.redaction import redacted_data


def json_line(line: str, **fields: Any) -> str:
    """Return one line: time (UTC), level, event, what else is known, and the message; None is left out.

    A `LogLine` brings its own level, event and fields, which `fields` replace; any other text is of level
    "info" and event "log".
    """
    known: dict[str, Any] = {"level": "info", "event": "log"}
    if isinstance(line, LogLine):
        known = {"level": line.level, "event": line.event, **line.fields}
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document = {"time": now, **known, **fields, "message": str(line)}
    document = {name: value for name, value in document.items() if value is not None}
    return printable_json(json.dumps(redacted_data(document), ensure_ascii=False, allow_nan=False))
