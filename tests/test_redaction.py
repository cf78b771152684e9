"""No message, log, record or traceback repeats a password, however malformed the address that holds it."""

import json
import traceback
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j import connect
from heat_neo4j.cli import heat
from heat_neo4j.database.connection import ServerInfo
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.publish.writer import Run
from heat_neo4j.errors import ConfigError, ConnectionFailed, redaction
from heat_neo4j.errors.redaction import SHORTEST, keep_secret, redacted, redacted_data, server_address
from heat_neo4j.graph import Graph
from heat_neo4j.worker.loop import perform

SERVER = "127.0.0.1:1"
# Each is refused, or names a server that does not answer.
MALFORMED = [
    "neo4j:{}@" + SERVER,
    "neo4j:me:{}@" + SERVER,
    "neo4j//me:{}@" + SERVER,
    "neo4j:///me:{}@" + SERVER,
    "neo4j://me:{}@" + SERVER,
    "neo4j+s://me:{}@[::1]:1",
    "bolt:/me:{}@" + SERVER,
    "bolt:\\\\me:{}@" + SERVER,
    "bolt://me:{}@" + SERVER + "#there",
    "bolt://me:{}@" + SERVER + "/neo4j?a=b",
    "bolt://me@here:{}@" + SERVER,
    "bolt:// me : {} @" + SERVER,
    "BOLT+SSC:me:{}@" + SERVER,
    "bolt://" + SERVER + "?password={}",
    "neo4j://" + SERVER + "?password={}",
    "bolt://" + SERVER + "#{}",
]
UNLIKE_ADDRESSES = [
    "me:{}@" + SERVER,
    "{}@" + SERVER,
    "neo4j/{}",
    "neo4j://" + SERVER + ":{}",
    "neo4j://" + SERVER + "/{}",
    "http://me:{}@" + SERVER,
    " bolt://me:{}@" + SERVER + " ",
    "bolt:me:{}",
]
SECRETS = st.text(min_size=SHORTEST, max_size=20).filter(lambda text: len(text.strip()) >= SHORTEST)
LINES = SECRETS.map(lambda text: " ".join(text.split())).filter(lambda text: len(text) >= SHORTEST)
TYPED = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=SHORTEST, max_size=20).filter(
    lambda text: len(text.strip()) >= SHORTEST
)


@settings(max_examples=450, deadline=None)
@given(LINES)
@example("pass@word?#/:%40")
@example("p w @ h?x")
@example("expected")
def test_no_login_is_left_of_an_address(secret):
    """24 addresses each, 10,800 in all."""
    for form in (*MALFORMED, *UNLIKE_ADDRESSES):
        address = form.format(secret)
        assume(secret not in form.format("another secret"))
        assert secret not in (server_address(address) or "")
    line = "Error: Got unexpected extra argument ({})"
    assume(secret not in line)
    for form in MALFORMED:
        assert secret not in redacted(line.format(form.format(secret)), ())


@settings(max_examples=300, deadline=None)
@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
@example("a'b\\c\"d\n\u202e é", "x", "y")
def test_a_secret_is_masked_however_a_message_repeats_it(secret, before, after):
    forms = (secret, repr(secret), json.dumps(secret), quote(secret, "", errors="replace"), secret.strip())
    assume(secret not in f"{before}***{after}")
    for form in forms:
        assert secret not in redacted(f"{before}{form}{after}", [secret])
    keep_secret(secret)
    assert secret not in str(redacted_data({secret: [1, None, {before: (f"{before}{secret}",)}]}))
    redaction._kept.clear()


def ends_of(error):
    """Return all that a program may print of an error."""
    return f"{error}{error!r}{error.args}{''.join(traceback.format_exception(error))}"


@settings(max_examples=12, deadline=None)
@given(LINES)
@example("hunter2SECRET")
def test_python_repeats_no_login(secret):
    redaction._kept.clear()
    for password in ("another secret", secret):
        for form in (*MALFORMED, *UNLIKE_ADDRESSES):
            assume(secret not in form.format("another secret"))
            with pytest.raises(ConnectionFailed) as caught:
                connect(form.format(secret), ("neo4j", password))
            assert secret not in ends_of(caught.value)


def run(*arguments, folder, toml="", **environment):
    (folder / "heat.toml").write_text(toml, encoding="utf-8")
    names = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE", "HEAT_LOG_JSON")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(heat, arguments, env=dict.fromkeys(names) | environment, prog_name="heat")


@settings(max_examples=12, deadline=None, suppress_health_check=["function_scoped_fixture"])
@given(TYPED, st.sampled_from([*MALFORMED, *UNLIKE_ADDRESSES]))
@example("hunter2SECRET", MALFORMED[0])
@example("hunter 2@SECRET", "bolt://" + SERVER + "?password={}")
def test_the_command_line_repeats_no_login(tmp_path, secret, form):
    assume(secret not in form.format("another secret"))
    address, quoted = form.format(secret), json.dumps(form.format(secret), ensure_ascii=False)
    known = {"NEO4J_PASSWORD": secret, "NEO4J_USERNAME": "neo4j"}
    command = ("runs", "-vv")
    results = [
        run(*command, folder=tmp_path, NEO4J_URI=address, **known),
        run(*command, f"--uri={address}", folder=tmp_path, **known),
        run("refresh", "--log-json", "-vv", f"--uri={address}", folder=tmp_path, **known),
        run("doctor", "--json", folder=tmp_path, NEO4J_URI=address, **known),
        run("server", "start", folder=tmp_path, NEO4J_URI=address),
        run(*command, folder=tmp_path, toml=f"[connection]\nuri = {quoted}\n", **known),
        run(*command, folder=tmp_path, toml=f"[connection]\nuri = [{quoted}]\n"),
        run(*command, folder=tmp_path, toml=f"connection = {quoted}\n"),
        run(*command, f"--password-file={secret}", f"--uri={address}", folder=tmp_path, **known),
    ]
    if form in MALFORMED:
        results += [run(f"-{address}", folder=tmp_path), run(address, folder=tmp_path)]
        results += [
            run(*command, "--", address, folder=tmp_path),
            run(*command, f"-{address}", folder=tmp_path),
        ]
    for result in results:
        assert secret not in result.output
        assert result.exit_code in (0, 2, 3, 14)


@pytest.mark.parametrize(
    "auth", [("neo4j", "hunter2SECRET", "more", 1), ("neo4j", b"hunter2SECRET"), {"p": "hunter2SECRET"}]
)
def test_a_login_of_another_form_is_not_repeated(auth):
    with pytest.raises(ConfigError, match="auth must be") as caught:
        connect("bolt://" + SERVER, auth)
    assert "hunter2SECRET" not in ends_of(caught.value)


def test_what_a_worker_says_of_a_failure_holds_no_login():
    def fail(*_, **__):
        raise RuntimeError("cannot reach neo4j:me:hunter2SECRET@host")

    lines = []
    answer = perform(None, None, on_progress=lambda *_: None, log=lines.append, task=fail)
    assert answer.message == "internal error: RuntimeError: cannot reach neo4j:***@host"


def test_what_is_recorded_of_a_run_that_failed_holds_no_login():
    recorded = []
    server = SimpleNamespace(
        server=ServerInfo("5.26.31", "community", "there:7687", "neo4j"),
        write=lambda statement, parameters, **_: recorded.append(parameters),
        limits=Limits(),
    )
    run = Run(server, Graph(sparse.csr_array((1, 1)), node_ids=["4:a:0"]), parts=["embedding"])
    error = RuntimeError(f"{'x' * 400} cannot reach neo4j:me:hunter2SECRET@host{'x' * 400}")
    run.__exit__(RuntimeError, error, None)
    (parameters,) = recorded
    assert parameters["run"] == run.record.run_id
    assert f"RuntimeError: {'x' * 400} cannot reach neo4j:***@host" in parameters["error"]
    assert len(parameters["error"]) == 500


def test_messages_name_a_server_that_is_well_formed():
    assert server_address("neo4j+s://db.example.org:7687/") == "neo4j+s://db.example.org:7687"
    line = "Neo4j at neo4j+s://db.example.org:7687 refused 'me@example.org', mailto:me@example.org and a/b@c"
    assert redacted(line, ()) == line


@pytest.mark.parametrize(
    ("before", "piece", "after", "masked"),
    [
        ("", "a.", "@", None),
        ("", "bolt: ", "", None),
        ("", "bolt:", " ?", None),
        ("", "a://", " @", None),
        ("bolt://", "a.", "", None),
        ("", "bolt: @", "", "bolt:***@"),
    ],
)
def test_a_long_text_of_a_database_is_redacted_in_linear_time(before, piece, after, masked):
    """With quadratic time the 500 kB would take minutes."""
    text = before + piece * (500_000 // len(piece)) + after
    assert redacted(text, ()) == (masked or text)
