"""Why a server did not start, from its logs."""

import json

import pytest

from heat_neo4j.local_server.launch import LogMarks

PLAIN = """\
2026-11-21 00:39:02.974+0000 ERROR [o.n.d.d.DatabaseLifecycles] Failed to start DatabaseId{78a95c42[neo4j]}
java.lang.RuntimeException: Something went wrong
\tat org.neo4j.Some.method(Some.java:1)
Caused by: java.lang.IllegalStateException: Failed to load data
\t... 12 more
2026-11-21 00:39:03.000+0000 INFO  Stopping...
"""
STRUCTURED = json.dumps(
    {
        "time": "2026-11-21 00:40:28.995+0000",
        "level": "ERROR",
        "message": "Failed to start DatabaseId{00000000[system]}",
        "stacktrace": "java.lang.RuntimeException: outer\n\tat x.Y\n"
        "Caused by: java.io.IOException: inner\n\t... 1 more\n",
    }
)
HEAP = "Error occurred during initialization of VM\nCould not reserve enough space for 900GB object heap\n"
IN_USE = (
    "2026-11-21 00:00:00.000+0000 ERROR Failed to start Neo4j on 127.0.0.1:1. "
    "Address 127.0.0.1:1 is already in use, cannot bind to it."
)


@pytest.mark.parametrize(
    ("text", "innermost"),
    [
        (PLAIN, "Failed to load data"),
        (STRUCTURED, "inner"),
        (HEAP, "Could not reserve"),
        (
            "2026-11-21 00:00:00.0+0000 ERROR   Odd thing\n2026-11-21 00:00:01.0+0000 INFO  Bye",
            "Odd thing",
        ),
        ("jvm arguments: -XX:+ExitOnOutOfMemoryError", "jvm arguments"),
        ("{not json", "{not json"),
        ("", "it gave no reason; its last log line is: nothing"),
    ],
)
def test_the_reason_is_found_in_the_log(folder, text, innermost):
    logs = LogMarks(folder)
    folder.debug_log.write_text(text)
    assert innermost in logs.innermost_cause()
    assert "\n" not in logs.innermost_cause()


def test_only_lines_of_this_start_count_even_after_a_rotation(folder):
    folder.debug_log.write_text(PLAIN)
    logs = LogMarks(folder)
    assert "Failed to load" not in logs.text()
    with folder.debug_log.open("a") as file:
        file.write(IN_USE)
    assert logs.port_taken()
    folder.debug_log.write_text(STRUCTURED[:400])
    assert logs.innermost_cause() == "inner"
