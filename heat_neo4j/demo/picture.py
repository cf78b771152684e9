"""The demo's picture: the library in the Poincare disk."""

from __future__ import annotations

from pathlib import Path

from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.demo.stdlib import ImportGraph
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.graph import Graph
from heat_neo4j.plots import plot_disk, save_picture

__all__ = ["draw_modules"]

CAPTION = """\
A dot is a module, larger the more modules it is connected to; an arc is an import, drawn as hyperbolic space's straight line.
HEAT placed the modules by imports and by words of docstrings and names; colours are top-level packages, which it was not told.
Rings mark hyperbolic distances from the centre: general modules lie inside, special ones outside; the rim is infinitely far.
This is an embedding in 2 dimensions, trained for the picture; the one in the database has more."""  # noqa: E501


def draw_modules(
    imports: ImportGraph, graph: Graph, path: Path, model: HEAT, *, on_progress: Progress = no_progress
) -> None:
    """Embed `graph` in the hyperbolic plane and save a picture of it.

    Parameters
    ----------
    imports : ImportGraph
        The modules, for names and packages.
    graph : Graph
        The same modules, row by row.
    path : Path
        Where to; the ending decides about the format (png, svg, pdf).
    model : HEAT
        How to embed; a copy of it with two components is fitted.
    on_progress : callable
        Told about the stages of training.
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
