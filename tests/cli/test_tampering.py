"""Whoever may edit our bookkeeping can make commands fail in one line, and do nothing else with them."""

import json
import random

import pytest

from tests.support.tampering import (
    CLEARING,
    FILTER,
    LABEL,
    LONG,
    MODEL,
    READING,
    WRITING,
    Tampering,
    attack,
    faults_of,
    trap,
)

pytestmark = [pytest.mark.live, pytest.mark.one_release]
GATED = (
    "verify",
    "explain",
    "recommend",
    "classify",
    "clusters",
    "duplicates",
    "explore",
    "plot",
    "links",
    "mcp",
)
"""Commands that read the graph of a published model again."""
LASTING = ("serve", "mcp")
"""Commands that outlive an error: they print it, and go on."""


@pytest.fixture(scope="module")
def caught():
    with trap() as listening:
        yield listening


@pytest.fixture
def tampering(server, cypher, tmp_path, heat_home_folder):
    tampering = Tampering(cypher, server.environment | {"HEAT_HOME": str(heat_home_folder)}, tmp_path)
    yield tampering
    tampering.remove()


def set_filter(tampering, text):
    (row,) = tampering.cypher(
        "MATCH (r:HeatRun {runId: $run}) RETURN r.projection AS p", run=tampering.run_id
    )
    projection = json.dumps({**json.loads(row["p"]), "node_filter": text})
    tampering.cypher("MATCH (r:HeatRun {model: $m}) SET r.projection = $p", m=MODEL, p=projection)


def test_a_filter_that_only_the_database_holds_is_never_run(tampering, caught, heat_home_folder):
    address, requests = caught
    commands = [each for each in READING if each[0] in GATED]
    commands += [("refresh", "--model", MODEL, "--dry-run"), WRITING[0]]
    for command in commands:
        result = tampering.run(*command)  # with the text that this machine has run
        assert result.exit_code == 0, (command, result.output)
        assert "--node-filter" not in result.stderr
    tampering.restore()
    text = attack(address)
    set_filter(tampering, text)
    for command in commands:
        result = tampering.run(*command)
        assert result.exit_code == (0 if command[0] in LASTING else 2), (command, result.output)
        (line,) = [each for each in result.stderr.splitlines() if f"'{text}'" in each]
        assert "--node-filter" in line
        assert line.startswith("heat: ") or command[0] == "serve"
    assert requests == []
    tampering.cypher(f"MATCH (n:{LABEL}) WHERE {text} RETURN n")
    assert requests  # the trap works
    tampering.restore()
    (heat_home_folder / "trusted").unlink()  # another machine
    assert tampering.run(*commands[1]).exit_code == 2
    assert tampering.run(*commands[1], "--node-filter", FILTER).exit_code == 0
    assert tampering.run(*commands[2]).exit_code == 0  # remembered


def test_a_recorded_property_of_the_users_is_neither_removed_nor_replaced(tampering):
    """Names follow from the model's name, whatever a run's node says."""
    for command in (*WRITING, *CLEARING):
        tampering.cypher(
            "MATCH (r:HeatRun {model: $m}) SET r.embeddingProperty = 'vector', r.radiusProperty = 'score'",
            m=MODEL,
        )
        result = tampering.run(*command)
        assert tampering.is_untouched(), command
        assert result.exit_code == 0, (command, result.output)
        tampering.restore()


@pytest.mark.slow
def test_every_command_survives_odd_bookkeeping(tampering, caught):
    address, requests = caught
    edits = random.Random(20).sample(tampering.edits(address), 1)
    faults = [
        line
        for edit in edits
        for line in faults_of(tampering, edit, address, requests, (*READING, *WRITING, *LONG, *CLEARING))
    ]
    assert faults == []
