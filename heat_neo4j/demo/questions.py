"""The demo's graph in the database, its picture, and questions, each a file of ``cypher/query``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.loader import LoadNames, LoadReport, make_room
from heat_neo4j.demo.stdlib import ImportGraph
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.plots import plot_disk, save_picture

FAMILY = "heat demo"
LOAD_NAMES = LoadNames(label="Module", relationship="IMPORTS", key="name", weight="weight")
PROJECTION = Projection(
    labels=["Module"], relationships=["IMPORTS"], weight="weight", attributes=["words"], key="name"
)
MODEL = "stdlib"
"""A model of the demo's own, so that an embedding published as "heat" in the same database stays."""

CAPTION = """\
A dot is a module, larger the more modules it is connected to; an arc is an import, drawn as hyperbolic space's straight line.
HEAT placed the modules by imports and by words of docstrings and names; colours are top-level packages, which it did not see.
Rings mark hyperbolic distances from the centre: modules with many imports lie inside, those with few outside; the rim is infinitely far.
This is an embedding in 2 dimensions, trained for the picture; the one in the database has more."""  # noqa: E501

_MODULE = {"label": "Module", "property": "name"}


def load_modules(store: Neo4jStore, graph: ImportGraph, *, on_progress: Progress = no_progress) -> LoadReport:
    """Load the import graph; replace one of another Python version.

    Raises `WriteRefused` if there are nodes of label ``Module`` from elsewhere.
    """
    origin = f"{FAMILY}, Python {graph.version}"
    make_room(store, LOAD_NAMES.label, family=FAMILY, origin=origin)
    marked = replace(graph, modules=[{**module, "origin": origin} for module in graph.modules])
    return store.load_graph(marked, LOAD_NAMES, overwrite=True, on_progress=on_progress)


def draw_modules(
    imports: ImportGraph, graph: Graph, path: Path, model: HEAT, *, on_progress: Progress = no_progress
) -> None:
    """Embed `graph`, whose rows are the modules of `imports`, in the hyperbolic plane, and save a picture.

    A copy of `model` with two components is fitted; the ending of `path` is png, svg or pdf.
    """
    flat = clone(model).set_params(n_components=2).fit(graph, on_progress=on_progress)
    picture = plot_disk(
        flat.embedding_,
        graph,
        names=imports.keys,
        groups=[module["package"] for module in imports.modules],
        title=f"The standard library of Python {imports.version} in the hyperbolic plane",
        caption=CAPTION,
    )
    save_picture(picture, path)


@dataclass(frozen=True)
class Question:
    """A question in words, and the query that answers it with these parameters and the model."""

    text: str
    query: str
    parameters: Mapping[str, Any]

    @property
    def file(self) -> str:
        """Path of the query in the repository."""
        return f"cypher/query/{self.query}.cypher"

    def ask(self, store: Neo4jStore) -> Answer:
        """Run the query."""
        return Answer(self, store.query(self.query, model=MODEL, **self.parameters))


@dataclass(frozen=True)
class Answer:
    """A question and the rows of its query."""

    question: Question
    rows: Sequence[Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"question": self.question.text, "query": self.question.file, "rows": list(self.rows)}


QUESTIONS = (
    Question("Which modules are nearest to asyncio?", "nearest", {**_MODULE, "value": "asyncio", "k": 8}),
    Question(
        "Which are nearest to it outside its own package?",
        "nearest_elsewhere",
        {**_MODULE, "value": "asyncio", "group": "package", "k": 8},
    ),
    Question(
        "Which modules are nearest to the centre, as much imported ones are?",
        "most_general",
        {"property": "name", "k": 8},
    ),
    Question(
        "Which imports are likeliest missing, and what do the two modules share already?",
        "missing_links",
        {"property": "name", "attributes": ["words"], "k": 8},
    ),
    Question(
        "What is pathlib likeliest to be tied to next?", "links_of", {**_MODULE, "value": "pathlib", "k": 8}
    ),
)
