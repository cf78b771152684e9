"""The notebooks of docs/notebooks, executed on a live server.

`python -m tests.docs.notebooks` executes them, or those named, and stores what they printed and drew: on the
server that NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD name, or else on one of its own.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from heat_neo4j.local_server.server import LocalServer
from tests.conftest import START_TIMEOUT, new_home
from tests.support.documents import ROOT
from tests.support.palette import with_palette

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
DATA = "data"  # tag of a cell that says of which version the graph is; of another, all figures are others
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
# What pandas puts into a table, which would look unlike the others of the site.
_LOOKS = re.compile(r"<style scoped>.*?</style>\n?| style=\"text-align: right;\"", re.DOTALL)
_TABLE = '<table border="1" class="dataframe">'


def read(name: str) -> NotebookNode:
    """Return a notebook as it is stored."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def execute(notebook: NotebookNode, environment: Mapping[str, str], folder: Path) -> NotebookNode:
    """Return a copy of a notebook as a kernel of its own, started in `folder`, leaves it.

    Nothing of the user's Jupyter and IPython is used, so that the kernel is of this Python.
    """
    executed = deepcopy(notebook)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as of_jupyter:
        for variable in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(variable, of_jupyter)
        client = NotebookClient(
            executed,
            timeout=300,
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute(env={**os.environ, **environment, "PYTHONPATH": path})
    return executed


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells of code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: NotebookNode) -> list[str]:
    """Return what a cell shows, as text: what it printed, then each result, where a picture is just that."""
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    results = [output.data for output in cell.outputs if "data" in output]
    return [printed, *("a picture" if "image/png" in data else data["text/plain"] for data in results)]


def version(notebook: NotebookNode) -> list[str]:
    """Return what the cells tagged "data" show."""
    tagged = [cell for cell in code_cells(notebook) if DATA in cell.metadata.get("tags", ())]
    return [text for cell in tagged for text in shown(cell)]


def stored(executed: NotebookNode) -> NotebookNode:
    """Return an executed notebook as it is kept: small pictures, plain tables, nothing of this machine."""
    kept = deepcopy(executed)
    kept.metadata = nbformat.from_dict(_METADATA)
    for cell in code_cells(kept):
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                small = with_palette(base64.b64decode(data["image/png"]))
                data["image/png"] = base64.b64encode(small).decode() + "\n"
                data["text/plain"] = "a picture"
            if "text/html" in data:
                table = _LOOKS.sub("", data["text/html"])
                data["text/html"] = table.replace(_TABLE, '<table class="docutils">')
    return kept


@contextmanager
def _server(folder: Path) -> Iterator[dict[str, str]]:
    """Give the variables that name a server: those of the environment, or of a server for this only."""
    if "NEO4J_URI" in os.environ:
        yield {}
        return
    local = LocalServer(name="notebooks", home=new_home(folder / "home"))
    try:
        local.start(START_TIMEOUT)
        names = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD")
        yield dict(zip(names, local.connection(), strict=True))
    finally:
        local.stop()


def main(names: list[str]) -> None:
    """Execute notebooks, all if none is named, and store what they showed."""
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder)) as environment:
        for name in names or NOTEBOOKS:
            executed = execute(read(name), environment, Path(folder))
            nbformat.write(stored(executed), FOLDER / f"{name}.ipynb")
            print(f"{name}.ipynb")


if __name__ == "__main__":
    main(sys.argv[1:])
