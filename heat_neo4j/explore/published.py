"""What the page shows of a published model, read from its database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.keys import Key
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.explore.colour_scale import ColourScale, colour_scale
from heat_neo4j.explore.page import build_page
from heat_neo4j.explore.page_data import runs_part
from heat_neo4j.geometry.search import Neighbours, nearest_neighbours
from heat_neo4j.pipeline import published_model
from heat_neo4j.pipeline.published_model import PublishedModel

N_NEIGHBOURS = 10
_FEWEST_LISTED, _MOST_LISTED = 3, 160_000  # neighbours in a file: of a node, and of all
_LONGEST_TEXT = 240


@dataclass(frozen=True, eq=False)
class Colours:
    """What colours the nodes: groups, or a scale in their place."""

    groups: Sequence[str | None]
    scale: ColourScale | None
    values: Sequence[Any] | None  # of the property they are of; None for labels


@dataclass(frozen=True, eq=False)
class PageData:
    """A published model, ready to become a page; see `build_page`."""

    model: PublishedModel
    flat: NDArray[np.float64]  # (N, 3): points of the plane, the published ones or a second embedding
    names: Sequence[str]
    colours: Colours
    neighbours: Neighbours  # by the published coordinates, in all their dimensions
    links: StoredLinks | None
    properties: Mapping[str, Sequence[Any]]
    runs: Sequence[RunRecord]

    @property
    def trained(self) -> bool:
        """Whether `flat` was trained for the page, because the published embedding has more dimensions."""
        return self.flat is not self.model.embedding

    @property
    def note(self) -> str:
        """The origin of the picture."""
        run = self.model.run
        origin = f"Model {run.model}, run {run.run_id}"
        if self.trained:
            origin = (
                f"Drawn in 2 dimensions, trained for this page; neighbours and links are those of model "
                f"{run.model} in {self.model.embedding.shape[1] - 1} dimensions"
            )
        return "; ".join((origin, *self.model.notes))

    def page(self, title: str = "") -> str:
        """Return the page as HTML; errors as of `build_page`."""
        model, note = self.model, self.note
        k = listed(model.graph.n_nodes)
        whole = k == N_NEIGHBOURS
        if not whole:
            note += f"; of each node {k} neighbours and {k} links"
        return build_page(
            self.flat,
            model.graph,
            names=self.names,
            groups=self.colours.groups,
            scale=self.colours.scale,
            properties=self.properties,
            neighbours=self.neighbours,
            predicted=self.links,
            most_of_each=None if whole else k,
            runs=runs_part(self.runs, model.run.run_id),
            title=title or f"Model {model.run.model}",
            note=note,
        )


def listed(n_nodes: int) -> int:
    """Return how many neighbours and likeliest links of each node a file lists: fewer of a large graph."""
    return min(N_NEIGHBOURS, max(_FEWEST_LISTED, _MOST_LISTED // max(n_nodes, 1)))


def read_page_data(
    store: Neo4jStore,
    model: str = "heat",
    *,
    caption: Key | None = None,
    color_by: str | None = None,
    show: Sequence[str] = (),
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> PageData:
    """Read a published model and its nodes' properties; embed its graph in the plane if need be.

    `caption` is the property that names the nodes, `color_by` the one to colour by, and `show` are
    properties to list. Errors are those of `read_published`, `node_names` and `read_colours`.
    """
    published = published_model.read_published(store, model, on_progress=on_progress)
    links = published_model.read_links(store, published)
    names = published_model.node_names(store, published, caption, _LONGEST_TEXT)
    colours = read_colours(store, published, color_by)
    properties = {} if colours.values is None else {str(color_by): colours.values}
    for name in show:
        if name not in properties:
            properties[name] = store.read_property(published.graph, name)
    neighbours = nearest_neighbours(
        published.embedding, listed(published.graph.n_nodes), n_threads=n_threads, on_progress=on_progress
    )
    flat = published_model.embed_in_plane(published, n_threads=n_threads, on_progress=on_progress)
    return PageData(
        model=published,
        flat=flat,
        names=names,
        colours=colours,
        neighbours=neighbours,
        links=links,
        properties=properties,
        runs=store.runs(model),
    )


def read_colours(store: Neo4jStore, published: PublishedModel, color_by: str | None) -> Colours:
    """Return the colours of nodes by a property, or by their labels if it is None.

    Its values make a scale, as of `colour_scale`, or else groups. Errors are those of
    `read_property`.
    """
    if color_by is None:
        return Colours(published_model.label_groups(published.graph), None, None)
    values = store.read_property(published.graph, color_by)
    scale = colour_scale(color_by, values)
    groups = published_model.texts(values, _LONGEST_TEXT) if scale is None else []
    return Colours(groups, scale, values)
