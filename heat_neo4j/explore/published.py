"""The page of a published model, read from its database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.keys import Key
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.explore.colour_scale import ColourScale, colour_scale
from heat_neo4j.explore.page import build_page
from heat_neo4j.geometry.search import Neighbours, nearest_neighbours
from heat_neo4j.pipeline import published_model
from heat_neo4j.pipeline.published_model import PublishedModel

__all__ = ["N_NEIGHBOURS", "PageData", "read_page_data"]

N_NEIGHBOURS = 10
_LONGEST_TEXT = 240


@dataclass(frozen=True, eq=False)
class PageData:
    """A published model, ready to become a page; see `build_page`."""

    model: PublishedModel
    flat: NDArray[np.float64]  # (N, 3): points of the plane, the published ones or a second embedding
    neighbours: Neighbours  # by the published coordinates, in all their dimensions
    links: StoredLinks | None
    names: Sequence[str]
    groups: Sequence[str | None]
    scale: ColourScale | None  # in place of groups
    properties: Mapping[str, Sequence[Any]]

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
        return build_page(
            self.flat,
            self.model.graph,
            names=self.names,
            groups=self.groups,
            scale=self.scale,
            properties=self.properties,
            neighbours=self.neighbours,
            predicted=self.links,
            title=title or f"Model {self.model.run.model}",
            note=self.note,
        )


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

    `caption` is the property that names the nodes, as of `node_names`; the values of `color_by` make a scale,
    as of `colour_scale`, or else the groups, which by default are the labels. Errors are those of
    `read_published`, `node_names` and `Neo4jStore`.
    """
    published = published_model.read_published(store, model, on_progress=on_progress)
    links = published_model.read_links(store, published)
    names = published_model.node_names(store, published, caption, _LONGEST_TEXT)
    columns = {
        name: store.read_property(published.graph, name)
        for name in dict.fromkeys((color_by, *show))
        if name is not None
    }
    neighbours = nearest_neighbours(
        published.embedding, N_NEIGHBOURS, n_threads=n_threads, on_progress=on_progress
    )
    flat = published_model.embed_in_plane(published, n_threads=n_threads, on_progress=on_progress)
    scale = None if color_by is None else colour_scale(color_by, columns[color_by])
    groups: list[str | None] = []
    if color_by is None:
        groups = published_model.label_groups(published.graph)
    elif scale is None:
        groups = published_model.texts(columns[color_by], _LONGEST_TEXT)
    return PageData(
        model=published,
        flat=flat,
        neighbours=neighbours,
        links=links,
        names=names,
        groups=groups,
        scale=scale,
        properties=columns,
    )
