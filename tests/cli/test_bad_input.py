"""Bad input at the command line: the exact line, the exit code, and an unchanged graph.

The last tests take the server away in the middle of a run.
"""

import json
import re
from functools import partial
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat, verbs
from heat_neo4j.cli.output import Reporter
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.store import Neo4jStore
from tests.cli.bad_inputs import CASES, EMBED, GRAPH, READER_TWINS, SMALL
from tests.support.live_graph import open_cypher, snapshot

pytestmark = pytest.mark.live

ELEMENT_ID = re.compile(r"\d+:[0-9a-f-]{36}:\d+")
WAITING = r"(?:heat: waiting for Neo4j at URI: [^\n]*, \d+ s\n)*"
CLEAN = """
MATCH (n) WHERE n:BadPaper OR (n:HeatRun|HeatVersion AND n.model = 'bad') OR (n:HeatModel AND n.name = 'bad')
DETACH DELETE n
"""


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        run(GRAPH)
        yield run
        run(CLEAN)


def command(server, *arguments, **environment):
    variables = {**server.environment, **environment}
    return CliRunner().invoke(heat, [*arguments, "--json"], prog_name="heat", env=variables)


def line_of(result, server):
    """Return what is on stderr, the server's address and element ids made constant."""
    return ELEMENT_ID.sub("ID", result.stderr.replace(server.uri, "URI"))


def held(cypher):
    """Return all that the database holds, as text (in which NaN is like NaN)."""
    return json.dumps(snapshot(cypher), sort_keys=True, default=repr)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] * (case.name in READER_TWINS))
        for case in CASES
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(case, server, cypher):
    if case.graph:
        cypher(case.graph)
    before = held(cypher)
    result = command(server, *case.arguments, **case.environment)
    assert line_of(result, server) == f"heat: {case.line}\n"
    assert result.exit_code == case.code
    assert result.stdout == ""
    assert held(cypher) == before


def test_there_are_enough_cases_and_none_twice():
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert {case.code for case in CASES} == {2, 3, 4, 5}


def test_hostile_names_that_exist_are_just_names(server, cypher):
    """Backticks, quotes, spaces and Cypher in every name: the run works and touches nothing else."""
    label, kind, weight, words = "Bad `) //", "A`]->() \"'", "w` //", "x\"'`{}"
    cypher(f"UNWIND range(1, 12) AS i CREATE (:{quoted(label)} {{key: i, {quoted(words)}: ['a', 't' + i]}})")
    cypher(
        f"MATCH (a:{quoted(label)}) MATCH (b:{quoted(label)}) WHERE b.key = a.key % 12 + 1 "
        f"CREATE (a)-[:{quoted(kind)} {{{quoted(weight)}: 2.0}}]->(b)"
    )
    before = held(cypher)
    arguments = [*("--label", label, "--relationship", kind, "--weight", weight, "--attribute", words)]
    arguments += ["--model", "m`'\"\\"]
    result = command(
        server, "embed", *arguments, *SMALL[:-2], "--k", "1", "--score", "distance", "--no-index"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(cypher("MATCH ()-[r:M_PREDICTED]->() RETURN r")) > 0
    assert command(server, "clear", "--model", "m`'\"\\", "--yes").exit_code == 0
    assert held(cypher) == before
    cypher(f"MATCH (n:{quoted(label)}) DETACH DELETE n")


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def test_equal_attributes_beside_relationships_are_no_mistake(server, cypher):
    result = command(server, *EMBED, "--attribute", "same")
    assert (result.exit_code, result.stderr) == (0, "")
    assert command(server, "clear", "--model", "bad", "--yes").exit_code == 0


class _Killer(Reporter):
    """A reporter that takes the server away when a stage has begun."""

    stage = ""
    kill = staticmethod(lambda: None)

    def __call__(self, stage, done, total):
        super().__call__(stage, done, total)
        if stage == self.stage and done > 0:
            type(self).stage = ""
            self.kill()


@pytest.fixture
def doomed(throwaway_server, monkeypatch):
    """A server with a published embedding of the graph, and a way to kill it at a stage."""
    uri, user, password = throwaway_server.connection()
    environment = {"NEO4J_URI": uri, "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password}
    server = SimpleNamespace(uri=uri, user=user, password=password, database=None, environment=environment)
    with open_cypher(server) as run:
        run(GRAPH)
    assert command(server, *EMBED, "--random-state", "1").exit_code == 0

    def kill_at(stage):
        import psutil

        process = psutil.Process(throwaway_server.status().pid)
        kill = staticmethod(lambda: (process.kill(), process.wait(30)))
        monkeypatch.setattr(verbs, "Reporter", type("_", (_Killer,), {"stage": stage, "kill": kill}))
        impatient = partial(Neo4jStore.open, limits=Limits(patience_seconds=2.0))
        monkeypatch.setattr(Neo4jStore, "open", impatient)

    server.kill_at, server.restart = kill_at, throwaway_server.start
    return server


def whole(server):
    with open_cypher(server) as run:
        return snapshot(run)


@pytest.mark.slow
def test_a_server_killed_while_it_is_read(doomed):
    before = whole(doomed)
    doomed.kill_at("reading nodes")
    result = command(doomed, *EMBED, "--random-state", "2")
    assert re.fullmatch(
        WAITING
        + r"heat: Neo4j at URI was lost while reading \w+( \([^)]*\))?: check that it runs, then retry\n",
        line_of(result, doomed),
    )
    assert result.exit_code == 3
    doomed.restart()
    assert without_lease(whole(doomed)) == before  # which could not be given back, and expires


def without_lease(graph):
    lease, locks = {"leaseHolder", "leaseUntil"}, "HEAT_WRITE_LOCK"
    nodes = {
        node: (labels, {name: value for name, value in properties.items() if name not in lease})
        for node, (labels, properties) in graph["nodes"].items()
    }
    relationships = {each: found for each, found in graph["relationships"].items() if locks not in found}
    return {**graph, "nodes": nodes, "relationships": relationships}


@pytest.mark.slow
def test_a_server_killed_while_it_is_written_to(doomed):
    before = whole(doomed)
    doomed.kill_at("write coordinates")
    result = command(doomed, *EMBED, "--random-state", "2")
    line = line_of(result, doomed)
    run_id = re.search(r"heat clear --run (\S+)`", line)[1]
    assert re.fullmatch(
        WAITING + r"heat: Neo4j at URI was lost while [^:]*: check that it runs, then retry; "
        r"run (\S+) is incomplete and what was published before is untouched: "
        r"repeat, or remove the rest with `heat clear --run \1`\n",
        line,
    )
    assert result.exit_code == 6
    doomed.restart()
    after = whole(doomed)
    assert after != before  # the unfinished run is there, and says so
    runs = [properties for labels, properties in after["nodes"].values() if labels == ["HeatRun"]]
    assert sorted(run["status"] for run in runs) == ["complete", "incomplete"]
    assert command(doomed, "clear", "--run", run_id, "--yes").exit_code == 0
    assert whole(doomed) == before
