"""`to_neo4j_viz`: a model in the Poincare disk as a graph of the library neo4j-viz (extra ``viz``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._utils.display import display_text, printable
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.keys import Key
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.store import store_of
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import radius, to_poincare
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.published_model import (
    embed_in_plane,
    label_groups,
    labels_of,
    node_names,
    read_links,
    read_published,
)
from heat_neo4j.plots.style import COLOURS, REST

if TYPE_CHECKING:
    from neo4j_viz import Relationship, VisualizationGraph

_DISK = 1_000.0  # pixels from the centre to the rim
_SMALLEST, _GROWTH = 4.0, 3.0  # pixels of a node's radius
_PREDICTED, _PREDICTED_WIDTH = COLOURS[3], 2.0
_LONGEST_NAME = 40  # characters in the picture


def to_neo4j_viz(
    source: Any,
    model: str = "heat",
    *,
    caption: Key | None = None,
    max_links: int = 100,
    on_progress: Progress | bool = False,
) -> VisualizationGraph:
    """Return a model as a graph that neo4j-viz draws, each node where it lies in the Poincare disk.

    Draw with ``graph.render(layout="free")``, which is its ``Layout.COORDINATE``.

    Parameters
    ----------
    source : Database or HEAT
        The database of a published model, or an estimator that is fitted with ``n_components=2``.
    model : str
        Name of the published model; one of more than two dimensions is embedded once more, in the plane.
    caption : str or mapping of str to str, optional
        Property that names the nodes of a published model, or one for each label; its key if not given.
    max_links : int
        Maximum predicted links of a published model to draw, likeliest first; 0 or more.
    on_progress : callable or bool
        Called with the stages of the work; True draws bars.

    Returns
    -------
    neo4j_viz.VisualizationGraph
        Nodes carry their element ids, or the rows of a graph that came from no database, and ``labels`` and
        ``radius`` as properties. They are larger the more neighbours they have, and have a colour for each
        set of labels. Relationships have their types as captions; predicted links are thick and red, and have
        their probability in the caption.

    Raises
    ------
    ConfigError
        If neo4j-viz is not installed.
    ProjectionError, ConnectionFailed
        If the model is not published, or its graph or the caption cannot be read.
    ValueError
        If the estimator is not 2-dimensional, or `max_links` is below 0.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    Examples
    --------
    ::

        with connect() as db:
            to_neo4j_viz(db).render(layout="free")
    """
    try:
        from neo4j_viz import Node, Relationship, VisualizationGraph
    except ImportError as error:
        raise ConfigError("to_neo4j_viz needs neo4j-viz: pip install 'heat-neo4j[viz]'") from error
    check_integer("max_links", max_links, minimum=0)
    graph, points, names, links = _placed(source, model, caption, as_progress(on_progress))
    ids: Sequence[str | int] = graph.node_ids or range(graph.n_nodes)
    groups = label_groups(graph)
    largest = sorted(Counter(filter(None, groups)).items(), key=lambda entry: (-entry[1], entry[0]))
    legend = dict(zip((group for group, _ in largest), COLOURS, strict=False))
    colours = [legend.get(group or "", REST) for group in groups] or [COLOURS[0]] * graph.n_nodes
    sizes = _SMALLEST + _GROWTH * np.sqrt(np.sqrt(graph.degrees))
    columns = (ids, names, colours, (_DISK * to_poincare(points)).tolist(), sizes.tolist())
    radii = radius(points).tolist()
    nodes = [
        Node(
            id=identity,
            caption=name,
            color=colour,
            x=x,
            y=y,
            size=size,
            properties={"labels": list(map(printable, own)), "radius": apart},
        )
        for (identity, name, colour, (x, y), size), own, apart in zip(
            zip(*columns, strict=True), labels_of(graph), radii, strict=True
        )
    ]
    ties = [
        Relationship(id=place, source=ids[a], target=ids[b], caption=printable(kind) or None)
        for place, (a, kind, b) in enumerate(_relationships(graph))
    ]
    predicted = [] if links is None else _predicted(links, max_links, ids, len(ties))
    drawn = VisualizationGraph(nodes=nodes, relationships=[*ties, *predicted])
    if legend:
        drawn.set_legend(nodes={printable(group): colour for group, colour in legend.items()})
    if predicted:
        drawn.set_legend(relationships={"predicted": _PREDICTED})
    return drawn


def _placed(
    source: Any, model: str, caption: Key | None, on_progress: Progress
) -> tuple[Graph, NDArray[np.float64], list[str], StoredLinks | None]:
    """Return a graph, points of the plane, shape (N, 3), the names of its nodes and its predicted links."""
    if not isinstance(source, HEAT):
        store = store_of(source)
        published = read_published(store, model, on_progress=on_progress)
        names = node_names(store, published, caption, _LONGEST_NAME)
        links = read_links(store, published)
        return published.graph, embed_in_plane(published, on_progress=on_progress), names, links
    check_is_fitted(source, "embedding_")
    if source.embedding_.shape[1] != 3:
        raise ValueError(
            f"only 2 dimensions can be drawn, got {source.embedding_.shape[1] - 1}: HEAT(n_components=2)"
        )
    names = [display_text(name, _LONGEST_NAME) for name in source.graph_.names]
    return source.graph_, source.embedding_, names, None


def _relationships(graph: Graph) -> Iterator[tuple[int, str, int]]:
    """Yield source, type and target of each; edges of a graph without types have an empty one."""
    if graph.relationships is None:
        for a, b in zip(graph.edges.row.tolist(), graph.edges.col.tolist(), strict=True):
            yield a, "", b
        return
    for kind in graph.relationships.types:
        for a, b in zip(*(ends.tolist() for ends in graph.relationships.of(kind)), strict=True):
            yield a, kind, b


def _predicted(links: StoredLinks, most: int, ids: Sequence[str | int], first: int) -> list[Relationship]:
    """Return the likeliest predicted links as they are drawn, numbered from `first`."""
    from neo4j_viz import Relationship

    drawn = []
    for row, kind in enumerate(islice(links.types, most)):
        caption, properties = printable(kind) or "predicted", {"distance": float(links.distance[row])}
        if links.probability is not None:
            properties["probability"] = float(links.probability[row])
            caption = f"{caption} {properties['probability']:.2g}"
        drawn.append(
            Relationship(
                id=first + row,
                source=ids[links.source[row]],
                target=ids[links.target[row]],
                caption=caption,
                color=_PREDICTED,
                width=_PREDICTED_WIDTH,
                properties={"predicted": True, **properties},
            )
        )
    return drawn
