"""What the page shows of a published model, read from its database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.keys import Key
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.explore.facets import ColourScale, Facet, Groups, facet_of
from heat_neo4j.explore.page import build_page
from heat_neo4j.explore.page_data import runs_part
from heat_neo4j.geometry.search import Neighbours, nearest_neighbours
from heat_neo4j.pipeline import published_model
from heat_neo4j.pipeline.cluster_questions import find_clusters
from heat_neo4j.pipeline.published_model import PublishedModel

N_NEIGHBOURS = 10
_FEWEST_LISTED, _MOST_LISTED = 3, 160_000  # neighbours in a file: of a node, and of all
_LONGEST_TEXT = 240


@dataclass(frozen=True, eq=False)
class PageData:
    """A published model, ready to become a page; see `build_page`."""

    model: PublishedModel
    flat: NDArray[np.float64]  # (N, 3): points of the plane, the published ones or a second embedding
    names: Sequence[str]
    keys: Sequence[str]  # identify nodes in URLs; empty: their names
    facets: Sequence[Facet]  # ways to colour nodes; first: default
    neighbours: Neighbours  # by the published coordinates, in all their dimensions
    links: StoredLinks | None
    duplicates: StoredLinks | None
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
            keys=self.keys,
            facets=self.facets,
            properties=self.properties,
            neighbours=self.neighbours,
            space=model.embedding if self.trained else None,
            predicted=self.links,
            most_of_each=None if whole else k,
            duplicates=self.duplicates,
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
    clusters: bool = False,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> PageData:
    """Read a published model and its nodes' properties; embed its graph in the plane if need be.

    `caption` is the property that names the nodes, `color_by` the one to colour by at first, and `show` are
    properties to list; published classes and clusters are listed too. With `clusters`, unpublished ones are
    computed, and they colour the nodes unless `color_by` is given. Errors are those of `read_published`,
    `node_names` and `read_property`.
    """
    published = published_model.read_published(store, model, on_progress=on_progress)
    links = published_model.read_links(store, published)
    names = published_model.node_names(store, published, caption, _LONGEST_TEXT)
    keys = published_model.node_names(store, published, None, _LONGEST_TEXT) if caption else []
    wanted = dict.fromkeys([*([] if color_by is None else [color_by]), *show])
    properties = {name: store.read_property(published.graph, name) for name in wanted}
    derived = read_derived(store, published)
    of_clusters = [name for name in WriteNames.of_clusters(model).values if name in derived]
    if clusters and not of_clusters:
        found = cluster_columns(published, names, n_threads=n_threads)
        of_clusters, derived = list(found), found | derived
    first = of_clusters[0] if clusters and color_by is None else color_by
    properties |= derived
    neighbours = nearest_neighbours(
        published.embedding, listed(published.graph.n_nodes), n_threads=n_threads, on_progress=on_progress
    )
    flat = published_model.embed_in_plane(published, n_threads=n_threads, on_progress=on_progress)
    return PageData(
        model=published,
        flat=flat,
        names=names,
        keys=keys,
        facets=page_facets(published_model.label_groups(published.graph), properties, derived, first),
        neighbours=neighbours,
        links=links,
        duplicates=store.read_links(published.graph, WriteNames.of_duplicates(model).model),
        properties=properties,
        runs=store.runs(model),
    )


def page_facets(
    labels: Sequence[str | None],
    properties: Mapping[str, Sequence[Any]],
    always: Collection[str] = (),
    first: str | None = None,
) -> list[Facet]:
    """Return the facets to colour by; the property `first` or the labels lead.

    Properties of too many different values are left out, unless they are `always` of interest.
    """
    facets = [facet_of(name, values) for name, values in properties.items()]
    found = [
        facet
        for facet in facets
        if facet.name in (*always, first) or isinstance(facet, ColourScale) or facet.is_telling
    ]
    return sorted([Groups("labels" if labels else "", labels), *found], key=lambda facet: facet.name != first)


def read_derived(store: Neo4jStore, published: PublishedModel) -> dict[str, list[Any]]:
    """Return the published classes and clusters of the nodes of a model, by their properties.

    A cluster is called by its number and its name.
    """
    books, model = store.bookkeeping(), published.run.model
    tables = [books.names(node["name"]) for node in books.models]
    found: dict[str, list[Any]] = {}
    for table in tables:
        if table.is_beside(model):
            columns = store.read_values(published.graph, table.model) or {}
            found |= {
                name: values for name, values in columns.items() if any(value is not None for value in values)
            }
    usual = WriteNames.of_clusters(model).values
    for number, name in zip(usual[::2], usual[1::2], strict=True):
        if number in found:
            called = found.pop(name, found[number])
            found[number] = [
                None if own is None else f"{own} {title}"
                for own, title in zip(found[number], called, strict=True)
            ]
    return found


def cluster_columns(
    published: PublishedModel, names: Sequence[str], *, n_threads: int | None = None
) -> dict[str, list[str]]:
    """Return the cluster of each node on each level, by its number, name and telling values."""
    found = find_clusters(published, names, n_threads=n_threads)
    called = {
        (each.level, each.cluster): f"{each.cluster} {each.name}"
        + (f" ({', '.join(each.words)})" if each.words else "")
        for each in found.clusters
    }
    return {
        f"clusters {level}": [called[level, number] for number in column.tolist()]
        for level, column in enumerate(found.groups.T, start=1)
    }
