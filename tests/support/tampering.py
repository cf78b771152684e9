"""Edits every property of every bookkeeping node to odd values, and runs all commands.

Nothing that the database records may be run as Cypher, remove what is not ours, or end a command by an
internal error. `python -m tests.support.tampering` sweeps all of it on the server that NEO4J_URI names, and
replaces its graph.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import http.server
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import click
import neo4j.spatial
from click.testing import CliRunner, Result
from mcp.server.mcpserver.exceptions import ToolError

from heat_neo4j.cli import heat
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import common_options, setting_options
from heat_neo4j.errors import HeatError
from heat_neo4j.retrieval.mcp_server import build_server
from heat_neo4j.worker.loop import Worker
from tests.support.live_graph import EASY_GATE, Cypher, open_cypher

MODEL, LABEL, TYPE, FILTER = "tampered", "TamperedPaper", "TAMPERED_CITES", "n.key >= 0"
N = 24
EXPECTED = {0, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14}
"""Exit codes that are documented; 1 is an internal error."""
OPTIONS = (
    "--label", LABEL, "--relationship", TYPE, "--key", "key", "--attribute", "words", "--model", MODEL,
    "--n-components", "2", "--walks-per-node", "2", "--walk-length", "10", "--n-negatives", "2",
    "--n-threads", "1", "--random-state", "1", "--k", "1", "--node-filter", FILTER, "--no-index",
)  # fmt: skip
READING: tuple[tuple[str, ...], ...] = (
    ("verify", "--model", MODEL),
    ("explain", "1", "9", "--model", MODEL),
    ("recommend", "1", "--model", MODEL),
    ("classify", "kind", "--model", MODEL),
    ("clusters", "--model", MODEL),
    ("duplicates", "--model", MODEL),
    ("neighbours", "1", "--model", MODEL),
    ("cypher", "run", "most_general", "-p", f"model={MODEL}", "--property", "title"),
    ("cypher", "run", "published"),
    ("cypher", "show", "most_general", "--model", MODEL),
    ("explore", "--model", MODEL, "--output", "page.html"),
    ("plot", "degree", "--model", MODEL, "--output", "degree.png"),
    ("check", *OPTIONS[:10], "--model", MODEL),
    ("index", "status", "--model", MODEL),
    ("doctor",),
    ("runs",),
    ("runs", "show", "{run}"),
    ("links", "--model", MODEL, "--dry-run"),
    ("refresh", "--model", MODEL, "--dry-run"),
    ("rollback", "--model", MODEL, "--dry-run"),
    ("prune", "--model", MODEL, "--dry-run"),
    ("clear", "--all", "--dry-run"),
    ("evaluate", "links", *OPTIONS[:8], *OPTIONS[10:20], "--no-baselines"),
    ("mcp", "--model", MODEL),
)
WRITING: tuple[tuple[str, ...], ...] = (
    ("serve", *OPTIONS[:10], "--every", "1d"),
    ("refresh", "--model", MODEL, "--mode", "full"),
    ("links", "--model", MODEL, "--score", "distance"),
    ("rollback", "--model", MODEL),
    ("prune", "--model", MODEL, "--previous"),
    ("embed", *OPTIONS, "--no-links"),
)
LONG: tuple[tuple[str, ...], ...] = (
    ("estimate", *OPTIONS[:-1]),
    ("index", "create", "--model", MODEL),
    ("index", "drop", "--model", MODEL),
)
"""They take longer than all others: with another schema, the server plans every statement anew."""
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "nearest": {"node": "1"},
    "more_general": {"node": "1", "label": LABEL},
    "likeliest_links": {"node": "1"},
    "explain": {"source": "1", "target": "9"},
    "published_runs": {},
}
"""What ``heat mcp`` is asked."""
CLEARING: tuple[tuple[str, ...], ...] = (("clear", "--all", "--yes"),)


@click.command(cls=HeatCommand, example="heat mcp")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@setting_options("write.model", "connection")
@common_options
def as_asked(model: str, arguments: tuple[str, ...], **options: Any) -> None:
    """Ask the server of ``heat mcp`` everything; print its errors, raise a defect that it hides."""
    try:
        with open_store(options) as store:
            server = build_server(store, model)
            for tool, given in QUESTIONS.items():
                try:
                    asyncio.run(server.call_tool(tool, dict(given)))
                except ToolError as error:
                    if "internal error" in str(error):
                        raise RuntimeError(f"{tool}: {error.__cause__!r}") from error
                    click.echo(f"heat: {tool}: {error}", err=True)
    except HeatError as error:  # as the group of commands ends
        click.echo(f"heat: {error}", err=True)
        raise SystemExit(error.exit_code) from error


@contextmanager
def trap() -> Iterator[tuple[str, list[str]]]:
    """Listen on 127.0.0.1; give the address and the requests that arrived."""
    requests: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a\n")

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/stolen", requests
    finally:
        server.shutdown()
        server.server_close()


def attack(address: str) -> str:
    """Return a predicate that sends a request to `address` for each node."""
    return f"EXISTS {{ CALL {{ LOAD CSV FROM '{address}' AS row RETURN row }} RETURN row }}"


def odd_values(address: str) -> dict[str, Any]:
    """Return what a property is set to, by a name for it; a callable makes it of the value that is there."""

    def with_filter(value: Any) -> str:
        try:
            document = json.loads(value)
        except (TypeError, ValueError):
            document = {}
        document = document if isinstance(document, dict) else {}
        nested = {"projection": {**document.get("projection", {}), "node_filter": attack(address)}}
        return json.dumps(
            {**document, **nested, "node_filter": attack(address), "model": {"scheduler": address}}
        )

    return {
        "null": None,
        "true": True,
        "huge": 2**63 - 1,
        "negative": -1,
        "nan": float("nan"),
        "empty": "",
        "name": "title",
        "cypher": attack(address),
        "document": with_filter,
        "deep": "[" * 5_000,
        "numbers": [1, 2],
        "names": ["title", "words"],
        "date": datetime.date(2026, 1, 1),
        "point": neo4j.spatial.CartesianPoint((1.0, 2.0)),
    }


@dataclass(frozen=True)
class Edit:
    """One property of one bookkeeping node, and the odd value that it gets."""

    label: str
    node: int  # its place among the bookkeeping nodes
    name: str
    value: str


class Tampering:
    """A published model with a version before it, whose bookkeeping is edited and put back again."""

    def __init__(self, cypher: Cypher, environment: dict[str, str], folder: Path) -> None:
        self.cypher, self._environment, self._folder = cypher, environment, folder
        (folder / "heat.toml").write_text(EASY_GATE, encoding="utf-8")
        cypher(
            f"UNWIND range(0, $n - 1) AS i CREATE (:{LABEL} {{key: i, title: 'paper ' + i, "
            "words: ['w' + (i % 3)], kind: CASE WHEN i > 0 THEN 'k' + (i % 2) END, "
            "titleStaged: 'mine', vector: [0.1, 0.2]})",
            n=N,
        )
        cypher(
            f"MATCH (a:{LABEL}), (b:{LABEL}) WHERE (b.key - a.key + $n) % $n IN [1, 2, 5] "
            f"CREATE (a)-[:{TYPE}]->(b)",
            n=N,
        )
        for _ in range(2):
            done = self.run("embed", *OPTIONS)
            assert done.exit_code == 0, done.output
        self._kept = self._bookkeeping()
        self._written = cypher(f"MATCH (n:{LABEL}) RETURN elementId(n) AS id, properties(n) AS all")
        self._links = self._predicted()
        self.run_id = cypher(
            "MATCH (m:HeatModel {name: $m})-[:HEAT_PUBLISHED]->(r) RETURN r.runId AS r", m=MODEL
        )[0]["r"]
        self._user = self.of_the_user()

    def run(self, *arguments: str) -> Result:
        """Run a command in this process; ``serve`` stops where it would first wait."""
        arguments = tuple(each.format(run=getattr(self, "run_id", "")) for each in arguments)
        command = as_asked if arguments[0] == "mcp" else heat
        with chdir(self._folder), patch.object(Worker, "wait", lambda worker, *_: worker.stop()):
            return CliRunner().invoke(command, list(arguments), prog_name="heat", env=self._environment)

    def edits(self, address: str) -> list[Edit]:
        """Return every edit, in a fixed order."""
        return [
            Edit(row["labels"][0], place, name, value)
            for place, row in enumerate(self._kept["nodes"])
            for name in sorted(row["all"])
            for value in odd_values(address)
        ]

    def of_the_user(self) -> tuple[Any, ...]:
        """Return everything in the graph that is not ours."""
        nodes = self.cypher(f"MATCH (n:{LABEL}) RETURN properties(n) AS all")
        ties = self.cypher(
            f"MATCH (a:{LABEL})-[r:{TYPE}]->(b) RETURN a.key AS a, b.key AS b, properties(r) AS all"
        )
        own = [{name: row["all"][name] for name in sorted(row["all"]) if name[:8] != MODEL} for row in nodes]
        return sorted(map(str, own)), sorted((row["a"], row["b"], str(row["all"])) for row in ties)

    def is_untouched(self) -> bool:
        """Return whether everything of the user's is as it was."""
        return self.of_the_user() == self._user

    def make(self, edit: Edit, address: str) -> None:
        """Set the property."""
        node, value = self._kept["nodes"][edit.node], odd_values(address)[edit.value]
        if callable(value):
            value = value(node["all"][edit.name])
        self.cypher("MATCH (n) WHERE elementId(n) = $id SET n += $set", id=node["id"], set={edit.name: value})

    def restore(self) -> None:
        """Put back all that the package wrote, and the edited node with it."""
        there = {
            row["id"]
            for row in self.cypher("MATCH (n:HeatRun|HeatModel|HeatVersion) RETURN elementId(n) AS id")
        }
        if there == {row["id"] for row in self._kept["nodes"]}:
            self.cypher(
                "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.id SET n = row.all",
                rows=self._kept["nodes"],
            )
        else:
            self._make_again()
        self.cypher(
            "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.id SET n = row.all",
            rows=[dict(row) for row in self._written],
        )
        if self._predicted() != self._links:
            self.cypher("MATCH ()-[p]->() WHERE type(p) STARTS WITH 'TAMPERED_PREDICTED' DELETE p")
            for kind in {row["type"] for row in self._links}:
                self.cypher(
                    f"UNWIND $rows AS row MATCH (a:{LABEL} {{key: row.a}}), (b:{LABEL} {{key: row.b}}) "
                    f"CREATE (a)-[p:`{kind}`]->(b) SET p = row.all",
                    rows=[row for row in self._links if row["type"] == kind],
                )

    def remove(self) -> None:
        """Remove everything."""
        self.cypher(f"MATCH (n:{LABEL}|HeatRun|HeatModel|HeatVersion) DETACH DELETE n")

    def _bookkeeping(self) -> dict[str, list[dict[str, Any]]]:
        nodes = self.cypher(
            "MATCH (n:HeatRun|HeatModel|HeatVersion) "
            "RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS all"
        )
        ties = self.cypher(
            "MATCH (a:HeatRun|HeatModel)-[r]->(b:HeatRun|HeatModel) "
            "RETURN elementId(a) AS a, type(r) AS type, elementId(b) AS b, properties(r) AS all"
        )
        rows = sorted(
            map(dict, nodes), key=lambda row: (row["labels"], str(row["all"].get("runId")), row["id"])
        )
        return {"nodes": rows, "ties": [dict(row) for row in ties]}

    def _make_again(self) -> None:
        """Make the bookkeeping nodes anew, as some are gone."""
        self.cypher("MATCH (n:HeatRun|HeatModel|HeatVersion) DETACH DELETE n")
        ids: dict[str, str] = {}
        for row in self._kept["nodes"]:
            made = self.cypher(
                f"CREATE (n:{row['labels'][0]}) SET n = $all RETURN elementId(n) AS id", all=row["all"]
            )
            ids[row["id"]] = made[0]["id"]
        for tie in self._kept["ties"]:
            self.cypher(
                "MATCH (a), (b) WHERE elementId(a) = $a AND elementId(b) = $b "
                f"CREATE (a)-[r:{tie['type']}]->(b) SET r = $all",
                a=ids[tie["a"]], b=ids[tie["b"]], all=tie["all"],
            )  # fmt: skip
        for row in self._kept["nodes"]:
            row["id"] = ids[row["id"]]
        for tie in self._kept["ties"]:
            tie["a"], tie["b"] = ids[tie["a"]], ids[tie["b"]]

    def _predicted(self) -> list[dict[str, Any]]:
        rows = self.cypher(
            "MATCH (a)-[p]->(b) WHERE type(p) STARTS WITH 'TAMPERED_PREDICTED' "
            "RETURN a.key AS a, b.key AS b, type(p) AS type, properties(p) AS all"
        )
        return sorted(
            (dict(row) for row in rows), key=lambda row: (row["type"], row["a"], row["b"], str(row["all"]))
        )


def faults_of(
    tampering: Tampering,
    edit: Edit,
    address: str,
    requests: Sequence[str],
    commands: Sequence[tuple[str, ...]],
) -> list[str]:
    """Make an edit, run commands, put everything back; return what went wrong, a line each."""
    faults = []
    heard = len(requests)
    tampering.make(edit, address)
    for command in commands:
        began = time.monotonic()
        result = tampering.run(*command)
        where = f"{edit.label}.{edit.name} = {edit.value}: heat {' '.join(command[:2])}"
        told = [line for line in result.stderr.splitlines() if line.startswith("heat: ")]
        if result.exit_code not in EXPECTED:
            faults.append(f"{where}: code {result.exit_code}: {result.exception!r} {told[-1:]}")
        elif result.exit_code and command != ("doctor",) and not told:
            faults.append(f"{where}: code {result.exit_code} without a line: {result.stderr[-200:]!r}")
        if len(requests) > heard:
            faults.append(f"{where}: {len(requests) - heard} requests arrived")
            heard = len(requests)
        if not tampering.is_untouched():
            faults.append(f"{where}: something of the user's changed")
            break
        if (seconds := time.monotonic() - began) > 60:
            faults.append(f"{where}: took {seconds:.0f} s")
    tampering.restore()
    return faults


def in_rounds(edits: Sequence[Edit], generator: random.Random) -> list[Edit]:
    """Return the edits in a random order; every property has had n values before one has its next."""
    met: Counter[tuple[int, str]] = Counter()
    rounds = []
    for edit in generator.sample(edits, len(edits)):
        rounds.append((met[edit.node, edit.name], edit))
        met[edit.node, edit.name] += 1
    return [edit for _, edit in sorted(rounds, key=lambda each: each[0])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="how much of all edits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="edits whose label.property begins so")
    parser.add_argument("--part", type=int, nargs=2, default=(1, 1), metavar=("I", "N"), help="part I of N")
    parser.add_argument("--commands", choices=("reading", "writing", "long", "all"), default="all")
    options = parser.parse_args()
    names = {name: os.environ[f"NEO4J_{name.upper()}"] for name in ("uri", "username", "password")}
    server = SimpleNamespace(
        uri=names["uri"], user=names["username"], password=names["password"], database=None
    )
    environment = {f"NEO4J_{name.upper()}": value for name, value in names.items()}
    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    chosen = {"reading": READING, "writing": (*WRITING, *CLEARING), "long": (*LONG, *CLEARING)}
    chosen["all"] = (*READING, *WRITING, *LONG, *CLEARING)
    commands = chosen[options.commands]
    with open_cypher(server) as cypher, trap() as (address, requests):
        cypher("MATCH (n) DETACH DELETE n")
        tampering = Tampering(cypher, environment, folder)
        edits = [
            edit for edit in tampering.edits(address) if f"{edit.label}.{edit.name}".startswith(options.only)
        ]
        drawn = in_rounds(edits, random.Random(options.seed))[: round(options.share * len(edits))]
        first, step = options.part
        drawn = drawn[first - 1 :: step]
        print(f"{len(drawn)} of {len(edits)} edits, {len(commands)} commands each", flush=True)
        faults = 0
        for place, edit in enumerate(drawn):
            for line in faults_of(tampering, edit, address, requests, commands):
                faults += 1
                print(line, flush=True)
            if place % 50 == 49:
                print(f"{place + 1} edits, {faults} faults", flush=True)
        tampering.remove()
        print(f"{len(drawn)} edits, {len(commands)} commands each: {faults} faults")


if __name__ == "__main__":
    main()
