"""The notebooks of docs/notebooks are executed on a live server, and show what they print."""

import ast
import re

import pytest

from tests.docs.notebooks import FOLDER, NOTEBOOKS, code_cells, execute, read, shown, version
from tests.docs.pages import PAGES
from tests.support.documents import ROOT
from tests.support.live_graph import open_cypher, snapshot

MOST_BYTES = 300_000
PUBLIC = {
    "heat_neo4j",
    "heat_neo4j.demo",
    "heat_neo4j.evaluation",
    "heat_neo4j.inputs.files",
    "heat_neo4j.plots",
}


def remove_all_but(before, cypher):
    """Remove what a notebook that failed has left; others find the server as it was."""
    cypher("MATCH (n) WHERE NOT elementId(n) IN $ids DETACH DELETE n", ids=[*before["nodes"]])
    for kind, found in (("CONSTRAINT", "constraints"), ("INDEX", "indexes")):
        for name in set(snapshot(cypher)[found]) - set(before[found]):
            cypher(f"DROP {kind} `{name}`")


@pytest.mark.live
@pytest.mark.slow  # half a minute each
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_shows_what_it_prints_and_leaves_the_server_as_it_was(server, tmp_path, name):
    notebook = read(name)
    with open_cypher(server) as cypher:
        before = snapshot(cypher)
        try:
            executed = execute(notebook, server.environment, tmp_path)
            assert snapshot(cypher) == before
        finally:
            remove_all_but(before, cypher)
    for cell, fresh in zip(code_cells(notebook), code_cells(executed), strict=True):
        assert not [output for output in fresh.outputs if output.get("name") == "stderr"], fresh.source
        if version(executed) == version(notebook):
            assert shown(fresh) == shown(cell), f"`make notebooks` stores it anew: {cell.source}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_stored_as_the_command_stores_it(name):
    assert (FOLDER / f"{name}.ipynb").stat().st_size < MOST_BYTES
    notebook = read(name)
    assert 10 <= len(notebook.cells) <= 25
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == [*range(1, len(counts) + 1)]
    assert notebook.cells[0].source.startswith("# ")
    assert "db.clear(model=" in notebook.cells[-1].source
    pictures = [text for cell in code_cells(notebook) for text in shown(cell) if text == "a picture"]
    assert 1 <= len(pictures) <= 2


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_uses_what_users_may_import_and_names_every_seed(name):
    source = "\n".join(cell.source for cell in code_cells(read(name)))
    source = re.sub(r"^%.*$", "", source, flags=re.MULTILINE)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("heat_neo4j"):
            assert node.module in PUBLIC
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "HEAT":
            seeded = {keyword.arg for keyword in node.keywords} >= {"random_state"}
            assert seeded or "evaluate_links" in source  # which seeds its copies


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_a_notebook_points_to_is_there(name):
    text = "\n".join(cell.source for cell in read(name).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (FOLDER / target).exists(), target


def test_every_notebook_is_on_the_site_and_has_its_line():
    assert len(NOTEBOOKS) == 4
    for name in NOTEBOOKS:
        assert f"(notebooks/{name}.ipynb)" in PAGES["docs/index.md"]


def test_only_graphs_of_what_is_installed_have_a_cell_that_says_of_which_version():
    assert {name for name in NOTEBOOKS if version(read(name))} == {"standard-library", "class-graph"}


def test_a_command_stores_them_anew():
    assert "-m tests.docs.notebooks" in (ROOT / "Makefile").read_text(encoding="utf-8")
