"""`heat mcp`, asked by the SDK's own client over stdin and stdout."""

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from heat_neo4j._utils.display import printable
from heat_neo4j.cli import heat
from heat_neo4j.errors import ProjectionError
from heat_neo4j.retrieval import mcp_server
from tests.support.live_graph import snapshot
from tests.support.retrieval_toy import HOSTILE

live = pytest.mark.live
COMMAND = [sys.executable, "-m", "heat_neo4j", "mcp"]
TOOLS = {
    "nearest", "more_general", "more_specific", "likeliest_links", "explain", "published_runs",
}  # fmt: skip


def run(coroutine):
    """Run it in a thread of its own: tests in a browser leave a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@asynccontextmanager
async def client_of(server, toy, messages, **environment):
    variables = {**server.environment, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    program = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "--model", toy.model], env=variables
    )
    with messages.open("w") as errors:
        async with Client(stdio_client(program, errlog=errors)) as client:
            yield client


async def asked(client, tool, **arguments):
    answer = await client.call_tool(tool, arguments)
    (content,) = answer.content
    if answer.is_error:
        return content.text
    assert json.loads(content.text) == answer.structured_content
    return answer.structured_content


def check_tools(listed):
    assert {tool.name for tool in listed} == TOOLS
    for tool in listed:
        assert tool.annotations.read_only_hint is True
        assert tool.description
        assert "filter" not in json.dumps(tool.input_schema)


async def check_nearest(client, toy):
    nearest = await asked(client, "nearest", node="p50", k=4)
    assert [each["name"] for each in nearest["nodes"]] == list(map(toy.shown, toy.nearest("p50", 4)))
    assert (nearest["model"], nearest["certified"]) == (toy.model, True)
    beside = next(key for key in toy.keys if any("\n" in each for each in toy.nearest(key, 4)))
    found = await asked(client, "nearest", node=beside, k=4)
    assert [(each["key"], each["name"]) for each in found["nodes"]] == [
        (key, toy.shown(key)) for key in toy.nearest(beside, 4)
    ]
    links = await asked(client, "likeliest_links", node="p50", k=3)
    expected = sorted(toy.linked("p50"), key=lambda link: -link[2])[:3]
    assert [(each["name"], each["leaves"], each["probability"]) for each in links["links"]] == [
        (toy.shown(name), *rest) for name, *rest in expected
    ]
    text = await asked(client, "nearest", node=f"{HOSTILE[1]} not there")
    assert "Error executing tool nearest: there is no" in text
    assert text == printable(text)


async def check_others(client, toy):
    for tool, side in (("more_general", -1), ("more_specific", 1)):
        found = await asked(client, tool, node="p50", k=5)
        expected = list(map(toy.shown, toy.beyond("p50", 5, side)))
        assert [each["name"] for each in found["nodes"]] == expected
    runs = await asked(client, "published_runs")
    assert toy.model in [each["model"] for each in runs["published"]]


async def check_reasons(client):
    why = await asked(client, "explain", source="p50", target="p57")
    assert (why["source"]["name"], why["target"]["name"]) == ("p50", "p57")
    assert why["shared_neighbours"]["count"] == len({51, 52, 55} & {56, 55, 52})
    assert "are the same node" in await asked(client, "explain", source="p9", target="p9")


async def check_refusals(client, toy):
    for key in HOSTILE:
        found = await asked(client, "nearest", node=key, k=2)
        assert [each["key"] for each in found["nodes"]] == toy.nearest(key, 2)
        assert [each["name"] for each in found["nodes"]] == list(map(toy.shown, toy.nearest(key, 2)))
        text = await asked(client, "nearest", node=f"{key} not there")
        assert "Error executing tool nearest: there is no" in text
        assert text == printable(text)
    kept = await asked(client, "nearest", node="p9", k=3, label=toy.label)
    assert [each["name"] for each in kept["nodes"]] == list(map(toy.shown, toy.nearest("p9", 3)))
    for label in ("No`where", "x) OR true //", "n`) DETACH DELETE n //"):
        assert (await asked(client, "nearest", node="p9", label=label))["nodes"] == []
    assert "cannot be quoted safely" in await asked(client, "nearest", node="p9", label="\\u0060)")
    for arguments in ({"node": "p9", "k": 0}, {"node": "p9", "k": 101}, {}, {"node": ["p9"]}):
        assert "validation error" in await asked(client, "nearest", **arguments)
    gone = "4:00000000-0000-0000-0000-000000000000:1"
    assert (await asked(client, "likeliest_links", node=gone))["links"] == []
    assert "Unknown tool" in await asked(client, "remove", node="p9")


@live
def test_the_client_of_the_sdk_lists_the_tools_and_calls_each(server, toy, tmp_path, cypher):
    messages, before, called = tmp_path / "messages", snapshot(cypher), set()

    async def main():
        async with client_of(server, toy, messages) as client:
            plain = client.call_tool
            client.call_tool = lambda tool, arguments: (called.add(tool), plain(tool, arguments))[1]
            check_tools((await client.list_tools()).tools)
            await check_nearest(client, toy)
            await check_others(client, toy)
            await check_reasons(client)

    run(main())
    assert called == TOOLS
    said = messages.read_text()
    assert re.fullmatch(rf"heat: MCP server of model '{toy.model}' at \S+\n", said)
    assert server.password not in said
    assert snapshot(cypher) == before


@live
@pytest.mark.slow
def test_hostile_names_and_what_is_not_there(server, toy, tmp_path, cypher):
    messages, before = tmp_path / "messages", snapshot(cypher)

    async def main():
        async with client_of(server, toy, messages) as client:
            await check_refusals(client, toy)

    run(main())
    assert messages.read_text().count("\n") == 1
    assert snapshot(cypher) == before


@live
@pytest.mark.slow
def test_the_password_comes_from_a_file_and_stdout_has_the_protocol_alone(server, toy, tmp_path):
    password = tmp_path / "password"
    password.write_text(server.password)
    variables = {**os.environ, **server.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    del variables["NEO4J_PASSWORD"]
    program = [*COMMAND, "-vv", "--password-file", str(password), "--model", toy.model]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(program, input=b"no protocol\n", env=variables, timeout=120, check=False, **streams)
    assert done.returncode == 0
    for line in done.stdout.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert b"MCP server of model" in done.stderr
    assert server.password.encode() not in done.stdout + done.stderr
    running = subprocess.Popen(program, stdin=subprocess.PIPE, env=variables, **streams)
    try:
        while b"MCP server" not in running.stderr.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    finally:
        running.kill()
        running.communicate()


def test_a_defect_of_ours_is_told_by_its_kind_alone(caplog, monkeypatch):
    class Store:
        def published_run(self, model):
            return object()

        def query(self, name):
            raise KeyError("secret of the database")

    monkeypatch.setattr(logging.getLogger("heat_neo4j"), "propagate", True)
    built = mcp_server.build_server(Store())

    async def main():
        async with Client(built) as client:
            return await asked(client, "published_runs")

    assert run(main()) == "Error executing tool published_runs: internal error: KeyError"
    assert "secret of the database" in caplog.text


def test_an_error_does_not_repeat_a_huge_argument():
    class Store:
        def published_run(self, model):
            return object()

        def neighbours(self, node, **options):
            raise ProjectionError(f"there is no node {node!r} in database 'neo4j'")

    async def main():
        async with Client(mcp_server.build_server(Store())) as client:
            return await asked(client, "nearest", node="x" * 10**7)

    assert len(run(main())) < 600


def test_without_the_sdk_the_command_says_so_in_a_line(monkeypatch):
    monkeypatch.delitem(sys.modules, "heat_neo4j.retrieval.mcp_server")
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    done = CliRunner().invoke(heat, ["mcp", "--uri", "bolt://127.0.0.1:1"], prog_name="heat")
    assert done.exit_code == 2
    assert done.output == "heat: MCP needs its SDK, version 2: pip install 'heat-neo4j[mcp]'\n"


def test_a_server_that_does_not_answer_ends_the_command(tmp_path):
    password = tmp_path / "password"
    password.write_text("hunter2")
    given = ["mcp", "--uri", "bolt://127.0.0.1:1", "--password-file", str(password)]
    done = CliRunner().invoke(heat, given, prog_name="heat")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "no Neo4j answers at bolt://127.0.0.1:1" in done.stderr
    assert "hunter2" not in done.output
