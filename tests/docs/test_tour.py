"""docs/tour.md is followed to the letter on a live server, and prints what the page shows."""

import re

import pytest

from tests.docs.pages import COMMAND, PageReader
from tests.support.documents import ROOT, all_blocks, section
from tests.support.live_graph import open_cypher, snapshot

TOUR = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
TITLES = re.findall(r"^## (.*)$", TOUR, re.MULTILINE)
ANSWERS = "4. Five answers"
CHANGING = ("Server", "Database", "Run", "Time")  # lines of another server, another run
NUMBER = re.compile(r"-?\d+\.(\d+)")


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        assert not run("MATCH (n) RETURN n LIMIT 1"), "the tour begins with an empty Neo4j"
        yield run
        run("MATCH (n) WHERE n:Item OR n:HeatRun OR n:HeatModel OR n:HeatVersion DETACH DELETE n")
        run("DROP CONSTRAINT heat_load_Item_name IF EXISTS")
        run("DROP INDEX heat_Item IF EXISTS")


def assert_shown(shown, printed):
    """Compare what the page shows with what was printed: words exactly, numbers to the digits shown."""
    lines = [(one.split(), other.split()) for one, other in zip(shown, printed, strict=True)]
    for wanted, found in lines:
        if wanted and wanted[0] in CHANGING:
            assert found[0] == wanted[0]
            continue
        assert len(found) == len(wanted), f"shown {wanted}, printed {found}"
        for word, other in zip(wanted, found, strict=True):
            number = NUMBER.fullmatch(word)
            if number and NUMBER.fullmatch(other):
                assert float(other) == pytest.approx(float(word), abs=1.01 * 0.1 ** len(number[1])), lines
            else:
                assert other == word, f"shown {wanted}, printed {found}"


def assert_same_rows(rows, shown):
    """Compare the rows of a statement with the columns of the same names in a table of the page."""
    header, *lines = (re.split(r" {2,}", line) for line in shown)
    assert len(rows) == len(lines) > 0
    for row, cells in zip(rows, lines, strict=True):
        table = dict(zip(header, cells, strict=False))  # a last cell may be empty
        for name, value in row.items():
            cell = table[name.upper()]
            assert (
                cell == str(value)
                if not isinstance(value, float)
                else float(cell) == pytest.approx(value, rel=1e-4)
            )


def run(reader, content):
    """Run a block, which has only ``heat`` commands; return what it printed."""
    assert COMMAND.sub("", content).strip() == ""
    return "".join(map(reader.run_command, COMMAND.findall(content)))


def follow(title, reader, cypher):
    """Run the blocks of a section in order; return how many outputs were compared."""
    printed, shown, compared = "", "", 0
    for language, content in all_blocks(section(TOUR, title)):
        if language == "sh":
            printed = run(reader, content)
        elif language == "text":
            shown = content
            assert_shown(shown.splitlines(), printed.splitlines())
            compared += 1
        elif language == "cypher":
            rows = cypher(content)
            if title == ANSWERS:
                assert_same_rows(rows, shown.splitlines())
                compared += 1
    return compared


@pytest.mark.live
def test_the_tour_from_beginning_to_end(server, cypher, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "shop").symlink_to(ROOT / "docs" / "shop")  # the reader is in the checkout
    reader = PageReader(tmp_path, server, ())
    empty = snapshot(cypher)
    compared = {}
    for title in TITLES:
        before = snapshot(cypher)
        compared[title[0]] = follow(title, reader, cypher)
        after = snapshot(cypher)
        if title == ANSWERS:
            assert after == before, "an answer wrote something"
    assert compared == {"1": 0, "2": 1, "3": 2, "4": 7, "5": 1}
    assert snapshot(cypher) == empty, "the tour left something behind"


def test_every_command_of_the_answers_shows_what_it_prints():
    languages = [language for language, _ in all_blocks(section(TOUR, ANSWERS)) if language != "cypher"]
    assert languages == ["sh", "text"] * (len(languages) // 2)
    assert len(re.findall(r"^### What|^### Which", section(TOUR, ANSWERS), re.MULTILINE)) == 5


def test_the_examples_of_the_files_are_lines_of_them():
    for name, example in re.findall(r"^\| \[.*?\]\((shop/.*?)\) \|.*\| `(.*?)`", TOUR, re.MULTILINE):
        assert example in (ROOT / "docs" / name).read_text().splitlines()


def test_no_block_is_of_a_language_that_nobody_runs():
    assert {language for language, _ in all_blocks(TOUR)} == {"sh", "text", "cypher"}
