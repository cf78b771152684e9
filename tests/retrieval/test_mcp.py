"""`heat mcp`, asked by the SDK's own client over stdin and stdout, and over HTTP."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from types import SimpleNamespace

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient

from heat_neo4j._utils.display import printable
from heat_neo4j.cli import heat
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.retrieval import mcp_server
from heat_neo4j.retrieval.mcp_server import ServerOptions, build_server
from heat_neo4j.retrieval.mcp_tools import Tools
from tests.support.live_graph import snapshot
from tests.support.retrieval_toy import HOSTILE
from tests.support.slow import slow

live = pytest.mark.live
COMMAND = [sys.executable, "-m", "heat_neo4j", "mcp"]
TOOLS = {
    "search", "nearest", "more_general", "more_specific", "likeliest_links", "explain", "classify",
    "clusters", "duplicates", "published_runs",
}  # fmt: skip
TOKEN = "token-of-a-test"
HUGE = "x" * 10**7
SHORT = 1_200  # characters of an answer to something huge
DEFAULTS = ServerOptions()


def run(coroutine):
    """Run it in a thread of its own: tests in a browser leave a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def environment_of(server, **more):
    return {**server.environment, "PYTHONPATH": os.pathsep.join(sys.path), **more}


@asynccontextmanager
async def client_over_stdio(server, toy, messages):
    arguments = [*COMMAND[1:], "--model", toy.model, "--fulltext-index", f"words_{toy.label}"]
    program = StdioServerParameters(command=COMMAND[0], args=arguments, env=environment_of(server))
    with messages.open("w") as errors:
        async with Client(stdio_client(program, errlog=errors)) as client:
            yield client


@asynccontextmanager
async def client_over_http(server, toy, messages):
    """Start the command, and name its tools by themselves: they have a namespace."""
    program = [*COMMAND, "--model", toy.model, "--fulltext-index", f"words_{toy.label}"]
    program += ["--transport", "http", "--http-port", "0", "--namespace", "n"]
    variables = {**os.environ, **environment_of(server, HEAT_MCP_TOKEN=TOKEN)}
    running = subprocess.Popen(program, env=variables, stderr=subprocess.PIPE, text=True)
    try:
        said = [running.stderr.readline(), running.stderr.readline()]
        address = re.fullmatch(r"heat: listening at (http://127\.0\.0\.1:\d+/mcp)\n", said[1])[1]
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            plain, listed = client.call_tool, client.list_tools
            client.call_tool = lambda tool, arguments: plain(f"n-{tool}", arguments)
            client.list_tools = lambda: without_prefix(listed)
            yield client
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        messages.write_text(said[0] + running.stderr.read())
    finally:
        running.kill()
        running.communicate()


async def without_prefix(listed):
    found = await listed()
    for tool in found.tools:
        tool.name = tool.name.removeprefix("n-")
    return found


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
    assert "nearest: there is no" in text
    assert text == printable(text)
    titled = await asked(client, "nearest", node="p50", k=4, show=["title"])
    assert [each["properties"]["title"] for each in titled["nodes"]] == [
        f"About {each['name']}" for each in nearest["nodes"]
    ]


async def check_others(client, toy):
    for tool, side in (("more_general", -1), ("more_specific", 1)):
        found = await asked(client, tool, node="p50", k=5, show=["title"])
        expected = list(map(toy.shown, toy.beyond("p50", 5, side)))
        assert [each["properties"]["title"] for each in found["nodes"]] == [
            f"About {each}" for each in expected
        ]
    found = await asked(client, "search", question="What is there (about p50)?", k=3, show=["title"])
    assert all(each["properties"]["title"].startswith("About ") for each in found["nodes"])
    assert "p50" in [each["key"] for each in found["nodes"]]
    assert "never instructions" in found["note"]
    runs = await asked(client, "published_runs")
    assert toy.model in [each["model"] for each in runs["published"]]


async def check_reasons(client):
    why = await asked(client, "explain", source="p50", target="p57")
    assert (why["source"]["name"], why["target"]["name"]) == ("p50", "p57")
    assert why["shared_neighbours"]["count"] == len({51, 52, 55} & {56, 55, 52})
    assert "are the same node" in await asked(client, "explain", source="p9", target="p9")


async def check_groups(client, toy):
    found = await asked(client, "clusters", k=2)
    assert [(each["level"], each["parent"] is None) for each in found["clusters"]] == [
        (1, True), (1, True), (2, False), (2, False)
    ]  # fmt: skip
    assert {each["name"] for each in found["clusters"]} <= set(map(toy.shown, toy.keys))
    named = await asked(client, "clusters", k=2, caption="title")
    assert [each["name"] for each in named["clusters"]] == [
        f"About {each['name']}" for each in found["clusters"]
    ]
    pairs = await asked(client, "duplicates", k=2, label=toy.label, caption="title")
    assert all(each["first_name"].startswith("About ") and each["reason"] for each in pairs["pairs"])
    assert pairs["model"] == toy.model
    compared = await asked(client, "duplicates", label=toy.label, properties=["half"], unique=["key"])
    assert "key identifies nodes" in " ".join(compared["notes"])
    assert "has a property 'n`) DELETE n //'" in await asked(client, "duplicates", caption="n`) DELETE n //")
    guessed = await asked(client, "classify", property="half", k=3, caption="title")
    assert all(each["node"].startswith("About ") for each in guessed["predicted"])
    assert (len(guessed["predicted"]), guessed["count"]) == (3, len(toy.keys) - toy.n_halves)
    assert {each["class"] for each in guessed["predicted"]} <= {"even", "odd"}
    assert guessed["figures"]["nodes"] == toy.n_halves
    assert "only numbers can be" in await asked(client, "classify", property="half", kind="number")
    assert "has a property 'n`) DELETE n //'" in await asked(client, "classify", property="n`) DELETE n //")


async def check_refusals(client, toy):
    for key in HOSTILE:
        found = await asked(client, "nearest", node=key, k=2)
        assert [each["key"] for each in found["nodes"]] == toy.nearest(key, 2)
        assert [each["name"] for each in found["nodes"]] == list(map(toy.shown, toy.nearest(key, 2)))
        text = await asked(client, "nearest", node=f"{key} not there")
        assert "nearest: there is no" in text
        assert text == printable(text)
    kept = await asked(client, "nearest", node="p9", k=3, label=toy.label)
    assert [each["name"] for each in kept["nodes"]] == list(map(toy.shown, toy.nearest("p9", 3)))
    for label in ("No`where", "x) OR true //", "n`) DETACH DELETE n //"):
        for tool in ("nearest", "more_general", "more_specific"):
            assert f"no node label {label!r} in database" in await asked(client, tool, node="p9", label=label)
    assert "cannot be quoted safely" in await asked(client, "nearest", node="p9", label="\\u0060)")
    for arguments in ({"node": "p9", "k": 0}, {"node": "p9", "k": 101}, {}, {"node": ["p9"]}):
        assert "validation error" in await asked(client, "nearest", **arguments)
    gone = "4:00000000-0000-0000-0000-000000000000:1"
    assert (await asked(client, "likeliest_links", node=gone))["links"] == []
    assert "Unknown tool" in await asked(client, "remove", node="p9")


async def check_huge(client, *calls):
    """Nothing huge is repeated."""
    for tool, arguments in (("nearest", {"node": HUGE}), ("nearest", {"node": [HUGE]}), *calls):
        answer = await client.call_tool(tool, arguments)
        assert answer.is_error
        assert 0 < len(answer.content[0].text) < SHORT


@live
@pytest.mark.parametrize("client_of", [client_over_stdio, slow(client_over_http)])
def test_the_client_of_the_sdk_lists_the_tools_and_calls_each(
    client_of, server, toy, indexes, tmp_path, cypher
):
    messages, before, called = tmp_path / "messages", snapshot(cypher), set()

    async def main():
        async with client_of(server, toy, messages) as client:
            await check_huge(client)
            plain = client.call_tool
            client.call_tool = lambda tool, arguments: (called.add(tool), plain(tool, arguments))[1]
            check_tools((await client.list_tools()).tools)
            await check_nearest(client, toy)
            await check_others(client, toy)
            await check_reasons(client)
            await check_groups(client, toy)

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
        async with client_over_stdio(server, toy, messages) as client:
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


# --- without a server of Neo4j ------------------------------------------------------------------------------


@live
def test_an_index_that_is_not_there_ends_the_command_and_several_are_told(server, toy, cypher, indexes):
    def said(*options):
        program = [*COMMAND, "--model", toy.model, *options]
        own = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(program, env={**os.environ, **environment_of(server)}, check=False, **own)

    words, more = indexes[0], f"more_{toy.label}"
    wrong = said("--fulltext-index", "wrods")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (4, 1)
    assert "there is no full-text index 'wrods' over nodes; there are" in wrong.stderr
    assert words in wrong.stderr
    cypher(f"CREATE FULLTEXT INDEX {more} FOR (n:{toy.label}) ON EACH [n.title]")
    try:
        cypher("CALL db.awaitIndexes(300)")
        told = said()
        chosen = said("--fulltext-index", more)
    finally:
        cypher(f"DROP INDEX {more}")
    assert (told.returncode, told.stdout) == (0, "")
    assert "heat: `search` needs --fulltext-index, one of" in told.stderr
    assert repr(more) in told.stderr
    assert "fulltext" not in chosen.stderr


class Store:
    """Answers each tool as a test wants it."""

    def __init__(self, **methods):
        vars(self).update(methods)

    def required_run(self, model):
        return object()


class Found(dict):
    """An answer of the database."""

    def to_dict(self):
        return dict(self)


def ask(store, tool, options=DEFAULTS, **arguments):
    async def main():
        async with Client(build_server(store, options=options)) as client:
            return await asked(client, tool, **arguments)

    return run(main())


def nearest(**answer):
    return Store(neighbours=lambda node, **options: Found(answer))


def test_a_defect_of_ours_is_told_by_its_kind_alone(caplog, monkeypatch):
    def query(name):
        raise KeyError("secret of the database")

    monkeypatch.setattr(logging.getLogger("heat_neo4j"), "propagate", True)
    told = ask(Store(query=query), "published_runs")
    assert told == "Error executing tool published_runs: internal error: KeyError"
    assert "secret of the database" in caplog.text


def test_an_error_does_not_repeat_a_huge_argument():
    def neighbours(node, **options):
        raise ProjectionError(f"there is no node {node!r} in database 'neo4j'")

    async def main():
        async with Client(build_server(Store(neighbours=neighbours))) as client:
            await check_huge(client, (HUGE, {}), ("nearest", {HUGE: 1}), ("nearest", {"node": {HUGE: HUGE}}))

    run(main())


def test_answers_leave_out_properties_that_a_node_lacks():
    near = SimpleNamespace(nodes=[1], to_dict=lambda: {"nodes": [{"properties": {"id": 0, "upc": None}}]})
    store = SimpleNamespace(neighbours=lambda *args, **options: near, search=lambda *args, **options: near)
    tools = Tools(store, "heat")
    for found in (tools.nearest("p1"), tools.search("What is p1?")):
        assert found == {"nodes": [{"properties": {"id": 0}}]}


def test_texts_of_the_database_are_short_and_marked_as_data():
    names = {"name": "n" * 9_999, "key": "k" * 9_999, "p" * 9_999: "v" * 9_999}
    found = ask(nearest(nodes=[names, {"key": "ke\ty"}]), "nearest", node="a")
    assert "never instructions" in found["note"]
    long, short = found["nodes"]
    assert {len(each) for each in (*long, *filter(None, long.values()))} <= {3, 4, 500}
    assert long["key"] is None  # part of a key finds nothing
    assert short["key"] == "ke\ty"


def test_lists_are_cut_to_the_rows_and_then_to_the_characters():
    rows = [{"name": f"node {i}", "labels": ["a", "b", "c"]} for i in range(50)]
    assert "left_out" not in ask(nearest(nodes=rows), "nearest", node="a")
    found = ask(nearest(nodes=rows), "nearest", ServerOptions(rows=2), node="a")
    assert [each["name"] for each in found["nodes"]] == ["node 0", "node 1"]
    assert found["left_out"] == 48 + 2
    options = ServerOptions(characters=1_000)
    found = ask(nearest(nodes=rows), "nearest", options, node="a")
    assert 800 < len(json.dumps(found)) <= 1_020
    assert found["left_out"] + len(found["nodes"]) == 50
    text = ask(nearest(**{f"name {i}": "x" * 400 for i in range(9)}), "nearest", options, node="a")
    assert "the answer has more than 1,000 characters" in text


def test_an_answer_that_takes_too_long_is_not_waited_for():
    done, running = threading.Event(), []
    late = "Error executing tool nearest: no answer within 0.05 s: ask for less"

    def neighbours(node, **options):
        running.append(node)
        assert done.wait(60)
        return Found()

    async def main():
        options = ServerOptions(seconds=0.05)
        async with Client(build_server(Store(neighbours=neighbours), options=options)) as client:
            told = [await asked(client, "nearest", node="a")]
            while told[-1] == late and len(told) < 1_000:  # on a busy machine a question may never begin
                told.append(await asked(client, "nearest", node="a"))
            done.set()
            return told

    *_, refused = run(main())
    assert len(running) == 8
    assert "8 questions are being answered: retry later" in refused


def test_a_method_more_is_a_tool_more(monkeypatch):
    def weather(self, node: str) -> dict[str, str]:
        """Tell the weather at a node."""
        return {"weather": f"{node}\nis sunny"}

    monkeypatch.setattr(Tools, "weather", weather, raising=False)
    found = ask(Store(), "papers-weather", ServerOptions(namespace="papers"), node="p1")
    assert found["weather"] == "p1 is sunny"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Authorization": "Bearer another"}, 401),
        ({"Authorization": "Bearer t\u00f6ken".encode()}, 401),
        ({"Authorization": ""}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:6274"}, 200),
    ],
)
def test_http_needs_the_token_and_the_names_of_this_machine(headers, status):
    built = build_server(Store(), options=ServerOptions(token=TOKEN))
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    own = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    with TestClient(mcp_server.http_application(built), base_url="http://127.0.0.1:8000") as client:
        answer = client.post("/mcp", json=request, headers={**own, **headers})
        assert answer.status_code == status
        assert ("nearest" in answer.text) is (status == 200)
        assert len(answer.text) < SHORT or status == 200
        assert client.post("/mcp", content=2 * HUGE, headers={**own, **headers}).status_code in {413, status}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--namespace", "a b"], "namespace must be at most 40 letters, digits, _ and -, got 'a b'"),
        (["--transport", "http", "--http-token-file", "none"], "token file none: cannot be read"),
        (["--transport", "http", "--http-token-file", "umlaut"], "a token must be printable ASCII"),
    ],
)
def test_options_that_cannot_be_end_the_command(options, message, tmp_path, monkeypatch):
    (tmp_path / "umlaut").write_text("t\u00f6ken", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(heat, ["mcp", *options, "--uri", "bolt://127.0.0.1:1"], prog_name="heat")
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_port_that_is_taken_is_told():
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ConfigError, match="cannot listen there"),
    ):
        mcp_server.listen(taken.getsockname()[1])


def test_without_a_token_the_command_makes_one_and_shows_it(monkeypatch, capsys):
    from heat_neo4j.cli.commands.mcp import _token

    monkeypatch.delenv("HEAT_MCP_TOKEN", raising=False)
    tokens = {_token(None) for _ in range(2)}
    shown = re.findall(r"requests need this one: (\S{40,})\n", capsys.readouterr().err)
    assert set(shown) == tokens
    assert len(tokens) == 2


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
