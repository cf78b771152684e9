"""What README.md and the pages of docs/ state is compared with the code."""

import re
import shlex
import tomllib
from importlib.util import find_spec

import click
import pytest

from heat_neo4j.cli import heat
from heat_neo4j.cli.config import read_config
from heat_neo4j.database.query_files import list_queries
from tests.docs.pages import PAGES, page_blocks
from tests.docs.reference import PARTS, columns, written
from tests.docs.tables import first_column
from tests.support.documents import ROOT

DOCUMENTS = (*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "cypher/README.md", "docker/README.md")
CONNECTION = {"NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"}


def test_documented_heat_toml_equals_the_options(tmp_path):
    (block,) = page_blocks("docs/command-line.md", "toml")
    (tmp_path / "heat.toml").write_text(block)
    values = read_config(tmp_path / "heat.toml")
    assert values["projection.labels"] == ["Paper"]
    assert values["heat.random_state"] == 0


@pytest.mark.parametrize("name", PARTS)
def test_the_reference_matches_the_code(name):
    page, _ = PARTS[name]
    assert PAGES[page] == written(name, PAGES[page]), "`python -m tests.docs.reference` writes it"


def test_the_reference_explains_every_column_of_a_query():
    given = {name for query in list_queries() for name in columns(query)}
    assert first_column(PAGES["docs/reference/queries.md"], "## Columns") == given


def test_queries_about_nodes_need_a_property_and_those_with_a_value_a_label():
    for query in list_queries():
        taken = {parameter.name for parameter in query.parameters}
        assert ("label" in query.names) == bool(taken & {"value", "values"}), query.name
        assert ("property" in query.names) == (query.name not in {"compare_runs", "history", "published"})


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_exists(page):
    flags, commands = {"--help"}, set(heat.list_commands(None))
    for command in walk(heat):
        flags |= {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    # Commands of Python and of Dask have options of their own.
    text = re.sub(r"`python -m[^`]*`|^dask .*$", "", PAGES[page], flags=re.MULTILINE)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= flags
    assert set(re.findall(r"(?:^|`|bin/)heat ([a-z]+)", text, re.MULTILINE)) <= commands


def walk(command):
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name))


@pytest.mark.parametrize("page", PAGES)
def test_programs_and_goals_of_bash_blocks_exist(page):
    """Blocks of the language `bash` install, build or connect, so no test runs them."""
    goals = make_goals()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in "".join(page_blocks(page, "bash")).splitlines():
        program, *arguments = shlex.split(line, comments=True)
        if program == "make":
            assert set(arguments) <= goals
        elif program == "pip":
            (named,) = re.findall(r"^\.\[(.*)\]$", arguments[-1])
            assert set(named.split(",")) == set(extras)
        elif "_HEAT_COMPLETE" in line:
            assert re.search(r"_HEAT_COMPLETE=(bash|zsh|fish)_source heat\b", line)  # run by tests/cli
        else:
            assert program == "export"
            assert arguments[0].split("=")[0] in CONNECTION


@pytest.mark.parametrize("document", DOCUMENTS)
def test_targets_of_documents_exist(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    folder = (ROOT / document).parent
    for target, anchor in re.findall(r"\]\((?!https?://)([^)#]*)#?([^)]*)\)", text):
        path = folder / target if target else ROOT / document
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= make_goals()
    modules = set(re.findall(r"python -m ((?:heat_neo4j|tests)[\w.]*)", text))
    assert [module for module in sorted(modules) if find_spec(module) is None] == []


def anchors(text):
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def make_goals():
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_every_source_file_that_a_page_names_is_there(page):
    sources = [
        path.as_posix() for folder in ("heat_neo4j", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    for name in re.findall(r"`([\w/]+\.py)`", (ROOT / page).read_text(encoding="utf-8")):
        assert any(f"/{source}".endswith(f"/{name}") for source in sources), name


def test_the_start_page_lists_every_page_once():
    """It is the navigation of the site, too."""
    listed = re.findall(r"^- .*\]\(([\w/-]+\.md)\)", PAGES["docs/index.md"], re.MULTILINE)
    pages = set(PAGES) - {"README.md", "docs/index.md"}
    assert sorted(listed) == sorted(page.removeprefix("docs/") for page in pages)


def test_nothing_is_installed_from_an_index_before_there_is_a_release():
    released = re.search(
        r"^## \[?\d+\.\d+\.\d+\]? .*\d{4}-\d\d-\d\d", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    notebooks = {path.name: path.read_text() for path in (ROOT / "docs/notebooks").glob("*.ipynb")}
    for name, text in {**PAGES, **notebooks}.items():
        command = re.search(r"""^[\s"]*pip install ["']?heat-neo4j""", text, re.MULTILINE)
        assert released or command is None, f"{name}: {command[0]}"
