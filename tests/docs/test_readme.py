"""README.md can be read in a minute: it is short, and has one of each thing that a stranger looks for."""

import re

from heat_neo4j.local_server.releases import RELEASES
from tests.docs.pages import PAGES
from tests.support.documents import ROOT, all_blocks, blocks, section

README = PAGES["README.md"]
MOST_BYTES = 8192


def test_the_readme_is_short():
    assert len(README.encode()) <= MOST_BYTES


def test_two_commands_do_all_the_set_up():
    assert blocks(section(README, "Two commands"), "bash") == ["make demo\nmake test\n"]


def test_the_readme_has_one_picture_one_python_block_and_one_statement():
    assert re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README) == ["docs/demo-disk.png"]
    assert [language for language, _ in all_blocks(README)] == ["bash", "python", "cypher"]


def test_the_readme_leads_to_the_list_of_all_pages_and_to_the_first_of_them():
    linked = set(re.findall(r"\(docs/([\w/-]+)\.md\)", README))
    assert linked >= {
        "index",
        "tour",
        "command-line",
        "figures",
        "guarantees",
        "how-to/python",
        "how-to/deploy",
    }


def test_the_releases_and_versions_are_those_that_are_tested():
    names = [release.version.rsplit(".", 1)[0] for release in RELEASES.values()]
    tested = f"on Neo4j Community {' and '.join(names)}"
    assert all(tested in " ".join(text.split()) for text in (README, PAGES["docs/guarantees.md"]))
    (python,) = re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert f"Python {python} or newer" in README
