"""Nothing that came from a database or a file is a terminal's command, or breaks a line, page or picture."""

import ast
import base64
import io
import json
import logging
import re
import unicodedata
import zlib
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import click
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j import Graph, plots
from heat_neo4j._utils.display import display_text, printable, printable_json
from heat_neo4j.cli import heat
from heat_neo4j.cli.commands import clusters, explain, recommend
from heat_neo4j.cli.commands.serve import dated
from heat_neo4j.cli.group import Failure, HeatCommand, HeatGroup
from heat_neo4j.cli.options import common_options
from heat_neo4j.cli.output import Log, Reporter, facts, log_lines, print_json, print_line, print_lines, table
from heat_neo4j.cli.report import describe
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.errors import HeatError
from heat_neo4j.explore.facets import Groups
from heat_neo4j.explore.page import build_page
from heat_neo4j.geometry.hyperboloid import from_poincare
from heat_neo4j.linkpred.explanation import LinkExplanation, Precedent, SharedAttribute, Tie, Way
from heat_neo4j.linkpred.recommendation import Recommended
from heat_neo4j.patterns import Pattern

PACKAGE = Path(__file__).parents[2] / "heat_neo4j"
JOINERS = "\u200c\u200d"
UNSAFE = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp") and chr(code) not in JOINERS
]
SEQUENCES = (
    "\x1b[2J",
    "\x1b]0;owned\x07",
    "\x9b31m",
    "\x90q\x9c",
    "\r",
    "\n",
    "\x08",
    "\u202e",
    "\u2066",
    "\ud83d",
)
HOSTILE = st.lists(
    st.one_of(st.sampled_from(UNSAFE), st.sampled_from(SEQUENCES), st.text(max_size=3)), max_size=6
).map("".join)
EVERY = "a" + "".join(UNSAFE) + "z"


def unsafe_in(text):
    return {character for character in text if character in UNSAFE_SET}


UNSAFE_SET = frozenset(UNSAFE)


def run_of(text):
    """A run in which all that can be a text, or hold one, is hostile."""
    mapping = {text: text, "list": [text], "auroc": None, "mean": 0.5, "overlap": None, "nodes": 3}
    return RunRecord(
        run_id=text, model=text, parts=("embedding", "links"), status=text, embedding_property=text,
        radius_property=text, run_property=text, vector_property=text, link_type=text, indexes=(text, text),
        labels=(text,), coordinates=text, error=text, previous_run=text, decision=text, reason=text,
        pair_count=3, final_loss=0.5, seed=text, parameters=mapping, versions=mapping, projection=mapping,
        stage_seconds={text: 1.0}, quality=mapping, drift=mapping,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip


class Store:
    """A database in which every name and value is hostile."""

    def __init__(self, text):
        self.text = text
        self.server = SimpleNamespace(version=text, edition=text, address=text, database=text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def runs(self, model=None):
        return [run_of(self.text)]

    def bookkeeping(self, **_):
        return Bookkeeping([{"name": self.text}], (run_of(self.text),))

    def query(self, name, **values):
        return [{self.text: self.text, "values": [self.text, {self.text: self.text}]}]

    def rollback(self, model, **_):
        return self.text, self.text + "x"

    def drop_index(self, model, **_):
        return (self.text,)

    def index_status(self, model):
        each = SimpleNamespace(
            name=self.text, label=self.text, property=self.text, dimension=3, state=self.text, percent=1.0
        )
        return SimpleNamespace(indexes=[each], problems=[self.text], to_dict=lambda: {self.text: [self.text]})

    def neighbours(self, node, **_):
        each = SimpleNamespace(
            properties={self.text: self.text, "b": [self.text]}, element_id=self.text, distance=1.0,
            radius=1.0, labels=(self.text,), name=self.text,
        )  # fmt: skip
        return SimpleNamespace(nodes=[each], fetch=3, certified=True, to_dict=lambda: {self.text: self.text})

    def clear(self, **_):
        raise HeatError(f"model {self.text}\n{self.text} is not there")


COMMANDS = (
    ("runs",), ("runs", "show", "RUN"), ("cypher", "run", "runs"), ("neighbours", "RUN"), ("rollback",),
    ("index", "status"), ("index", "drop"), ("clear", "--all", "--yes"), ("-vv", "clear"),
)  # fmt: skip


def ask(text, *arguments):
    from heat_neo4j.cli import verbs
    from heat_neo4j.cli.commands import clear, cypher, runs

    given = [text if argument == "RUN" else argument for argument in arguments]
    if given[0] == "-vv":
        given = ["clear", "--all", "--yes", "-vv"]
    with pytest.MonkeyPatch.context() as patch:
        for module in (clear, cypher, runs, verbs):
            patch.setattr(module, "open_store", lambda _: Store(text))
        patch.setattr(verbs, "_function", lambda name, store: getattr(store, name))
        return CliRunner().invoke(heat, given)


def lines_of(stream_text, *, lines=None):
    assert not unsafe_in(stream_text) - {"\n"}, ascii(stream_text)
    if lines is not None:
        assert stream_text.count("\n") == lines, ascii(stream_text)
    return stream_text


@given(HOSTILE)
def test_a_printable_text_keeps_what_can_be_shown_and_is_so_only_once(text):
    shown = printable(text)
    assert not unsafe_in(shown)
    assert printable(shown) == shown
    assert [c for c in shown if c not in text] == [c for c in shown if c not in text and c.isascii()]
    shown.encode()
    if not unsafe_in(text):
        assert shown == text


def test_no_control_character_passes_and_no_script_suffers():
    assert not unsafe_in(printable(EVERY))
    for text in ("مرحبا بالعالم", "می\u200cخواهم", "👩\u200d👩\u200d👧", "né\u00a0à", "東京\u3000都", "क्‍ष"):
        assert printable(text) == text


@given(HOSTILE)
def test_json_has_no_control_character_and_says_the_same(text):
    document = json.dumps({text: [text]}, ensure_ascii=False, indent=2)
    shown = printable_json(document)
    assert not unsafe_in(shown) - {"\n"}
    assert json.loads(shown) == json.loads(re.sub("[\ud800-\udfff]", "\ufffd", document))
    shown.encode()


def tables(text):
    table(("A", text), [(text, "b"), ("c", text)])


def progress(text):
    with Reporter() as report:
        report(f"read {text}", 0, 2)
        report(f"read {text}", 2, 2)


def log(text):
    ours = logging.getLogger("heat_neo4j")
    ours.propagate = False  # pytest would report the raw text, and xdist cannot send lone surrogates
    try:
        with log_lines(), log_lines(Log(dated)):
            logging.getLogger("heat_neo4j.database").warning("lease of %s", text)
    finally:
        ours.propagate = True


def test_labels_of_hardly_any_member_are_not_shown():
    assert clusters._shares(SimpleNamespace(labels={"City": 999, "Region": 1}, size=1000)) == "City 100%"


def test_types_that_lead_the_same_way_are_one_arrow():
    both = (Tie("BORDERS", True), Tie("BORDERS", False))
    ways = [Way((1,), ((*both, Tie("IN", False)), (Tie("IN", False), Tie("OF", False))), (3,))]
    link = SimpleNamespace(source=0, target=2, names=["a", "b", "c"])
    shown = list(explain._ways(SimpleNamespace(link=link), ways, 1, "neighbour"))
    assert shown == ["a <-BORDERS-> <-IN- b <-IN, OF- c  (3 neighbours)"]


def links_of(text):
    """Links recommended and explained, where each name and type is hostile."""
    pattern, tie, names = Pattern(text, text, text), Tie(text, True), [text] * 3
    found = Recommended(pattern, False, np.array([1]), np.ones(1), np.ones(1), 3)
    recommend._print(SimpleNamespace(names=names, row=0), found)
    ways = [Way((2,), ((tie,), (tie,)), (3,))]
    link = LinkExplanation(
        pattern,
        0,
        1,
        0.5,
        (0.4, 0.6),
        0.0,
        (),
        0.5,
        1.0,
        1.0,
        1.0,
        (tie,),
        ways,
        2,
        (),
        0,
        [SharedAttribute(text, 2)],
        1,
        (Precedent(1, 2, 0.5, 1.0),),
        names,
        ((pattern, 0.5),),
    )
    explained = SimpleNamespace(link=link)
    for part in (explain._summary, explain._shared):
        facts(part(explained))


PRINTERS = {
    "links": (links_of, None),
    "line": (print_line, 1), "error line": (lambda text: print_line(text, err=True), 1),
    "facts": (lambda text: facts([(text, text)]), 1), "table": (tables, 3), "progress": (progress, 1),
    "json": (lambda text: print_json({text: [text, {"x": text}]}), None), "log": (log, 1),
    "failure": (lambda text: Failure(text, 3).show(), 1), 
    "run": (lambda text: facts(describe(run_of(text), stages=True)), None),
    "several lines": (print_lines, None), "value": (lambda t: print_line(display_text([t, {t: t}])), 1),
}  # fmt: skip


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("example", [EVERY, *SEQUENCES], ids=ascii)
def test_every_way_to_print_is_safe(printer, example, capsys):
    show, lines = PRINTERS[printer]
    show(example)
    lines_of("".join(capsys.readouterr()), lines=lines)


@given(HOSTILE)
def test_every_way_to_print_is_safe_for_any_text(text):
    for show, lines in PRINTERS.values():

        @click.command()
        def command(show=show):
            show(text)

        printed = CliRunner().invoke(command, [], catch_exceptions=False).output
        lines_of(printed, lines=lines)


@given(HOSTILE)
def test_bars_are_safe(text):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with Reporter(stream=stream) as report:
        report(text, 0, 2)
        report(text, 2, 2)
    assert not unsafe_in(stream.getvalue()) - {"\r", "\n"}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("json_too", [False, True])
def test_commands_print_hostile_databases_safely(arguments, json_too):
    for text in (EVERY, *SEQUENCES):
        shown = ask(text, *arguments, *(["--json"] if json_too else []))
        assert not unsafe_in(shown.output) - {"\n"}, ascii(shown.output)
        expected = (1,) if "clear" in arguments else (0, 2)  # a node that begins with "-" is none
        assert shown.exit_code in expected, (ascii(text), shown.output)
        if json_too and shown.exit_code == 0:
            json.loads(shown.stdout)


def test_help_shows_defaults_of_a_hostile_file(tmp_path):
    config = tmp_path / "heat.toml"
    config.write_text('[write]\nmodel = "\\u001b[2J\\u009b\\u202e"\n')
    shown = CliRunner().invoke(heat, ["embed", "--config", str(config), "--help"])
    assert shown.exit_code == 0
    lines_of(shown.output)


def test_an_error_in_a_hostile_file_is_one_line(tmp_path):
    config = tmp_path / "heat.toml"
    config.write_text('["\\u001b[2J"]\nx = 1\n')
    shown = CliRunner().invoke(heat, ["embed", "--config", str(config)])
    assert shown.exit_code == 2
    lines_of(shown.stderr, lines=1)


@given(HOSTILE)
def test_tracebacks_are_safe(text):
    @click.command(cls=HeatCommand, example="heat fail")
    @common_options
    def fail():
        raise ValueError(text)

    group = HeatGroup(lazy={})
    group.get_command = lambda context, name: fail
    lines_of(CliRunner().invoke(group, ["fail", "-vv"]).output)


SQUARE = Graph(adjacency=sparse.csr_array(np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1)))
CORNERS = from_poincare(0.5 * np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]]))


@pytest.mark.parametrize("text", [EVERY, *SEQUENCES, "</script><!--", "&<>'\""], ids=ascii)
def test_the_page_holds_no_control_character(text):
    page = build_page(
        CORNERS, SQUARE, names=[text] * 4, facets=[Groups(text, [text, "a", None, text])],
        properties={text: [text] * 4}, title=text, note=text,
    )  # fmt: skip
    page.encode()
    assert not unsafe_in(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)) - {"\n"}
    about = re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", page, re.DOTALL)[1]
    assert not unsafe_in(about) - {"\n"}
    parts = re.findall(r'<script type="text/plain" id="part-\w+">([^<]*)</script>', page)
    written = [zlib.decompress(base64.b64decode(part)).decode() for part in parts]
    assert not unsafe_in("".join(written))
    assert not unsafe_in("".join(json.loads(written[2])))


@pytest.mark.parametrize("text", [EVERY[:80], "".join(SEQUENCES), "--><script>", "$x$ & <b>"], ids=ascii)
@pytest.mark.filterwarnings("ignore:Glyph")
def test_pictures_are_whole_whatever_names_hold(text, tmp_path):
    axes = plots.plot_disk(CORNERS, SQUARE, names=[text] * 4, groups=[text, "a", None, text], title=text)
    for kind in ("svg", "pdf", "png"):
        plots.save_picture(axes, tmp_path / f"x.{kind}")
    written = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert not unsafe_in(written) - {"\n"}
    ElementTree.fromstring(written)  # valid XML


def test_all_that_is_printed_goes_through_the_functions_tested_here():
    printing = {
        "print",
        "click.echo",
        "click.secho",
        "click.echo_via_pager",
        "sys.stdout.write",
        "sys.stderr.write",
    }
    printing |= {"click.prompt", "click.confirm", "warnings.warn", "click.style", "click.progressbar"}
    found = {
        (path.relative_to(PACKAGE).as_posix(), ast.unparse(node.func))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and ast.unparse(node.func) in printing
    }
    assert found == {
        ("cli/__init__.py", "click.echo"),  # the help of the group, which has no values
        ("cli/commands/clear.py", "click.confirm"),  # counts
        ("cli/connection.py", "click.prompt"),  # `printable`
        ("cli/output.py", "click.echo"),
        ("heat.py", "warnings.warn"),  # counts
        ("inputs/properties.py", "warnings.warn"),  # names and values by `repr`
    }
