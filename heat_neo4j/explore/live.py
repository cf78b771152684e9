"""A published model as a page asks for it, part by part, from its database."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from heat_neo4j._utils.display import display_text, printable
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.keys import Key
from heat_neo4j.database.published_nodes import damaged_links, is_sound_link
from heat_neo4j.database.runs import nothing_published
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.explore import page_data
from heat_neo4j.explore.page_data import Pairs
from heat_neo4j.explore.published import N_NEIGHBOURS, Picture, read_colours, read_picture
from heat_neo4j.geometry.hyperboloid import distance, pair_distances
from heat_neo4j.pipeline import published_model

_MOST_EDGES = 1_000_000  # that a browser is sent; those of a selected node are always all there
_LINKS_DRAWN = 10  # of a node, beside those of a selected node
_LISTED = 30  # links and relationships of a node
_LOOKED_AT = 200  # nodes whose properties can be chosen to colour by


class OutOfDateError(Exception):
    """What is asked for is of a version that has been replaced."""


class LiveModel:
    """The published version of a model, held in memory; what belongs to one node is read when asked for.

    Its methods may be called from several threads. They raise what `Neo4jStore` does, and those with `run`,
    the id of the run that the page shows, `OutOfDateError` if another has been read meanwhile.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    model : str
        Name of the model.
    caption : str or mapping of str to str, optional
        Property that names the nodes, or one for each label.
    color_by : str, optional
        Property to colour by at first; the labels if not given.
    n_threads : int, optional
        For a picture of a model of more than two dimensions.
    on_progress : callable
        Called with the stages of reading.
    """

    def __init__(
        self,
        store: Neo4jStore,
        model: str = "heat",
        *,
        caption: Key | None = None,
        color_by: str | None = None,
        n_threads: int | None = None,
        on_progress: Progress = no_progress,
    ) -> None:
        self._store, self._model, self._color_by = store, model, color_by
        self._options: dict[str, Any] = {
            "caption": caption, "n_threads": n_threads, "on_progress": on_progress,
        }  # fmt: skip
        self._lock = threading.Lock()
        self._held: _Held | None = None

    def heading(self) -> dict[str, str]:
        """Read the published version, if it is another than the last one; return its run and its origin."""
        picture, pairs = self._read()
        note = picture.note
        if len(pairs.source) > _MOST_EDGES:
            note += f"; the {_MOST_EDGES:,} shortest relationships are drawn, and all of a selected node"
        return {"run": picture.model.run.run_id, "note": note}

    def part(self, name: str, run: str) -> Any:
        """Return a part of the page's data, one of `page_data.PARTS`, as JSON values."""
        held = self._of(run)
        published = held.picture.model
        match name:
            case "nodes":
                nodes = page_data.nodes_part(held.picture.flat, published.graph)
                return nodes | self.colours(self._color_by, run)
            case "edges":
                return page_data.edges_part(_drawn(held), published.graph.n_nodes)
            case "names":
                return page_data.names_part(held.picture.names, published.graph.n_nodes)
            case "links":
                links = published_model.read_links(self._store, published)
                return page_data.links_part(links, published.graph, most_of_each=_LINKS_DRAWN)
            case "lists":
                return {"properties": [], "chosen": self._color_by, "choices": self._properties(held)}
            case "runs":
                return page_data.runs_part(self._store.runs(self._model), run)
            case _:
                raise KeyError(name)

    def colours(self, color_by: str | None, run: str) -> dict[str, Any]:
        """Return the colours of nodes by a property, or by the labels if it is None."""
        published = self._of(run).picture.model
        colours = read_colours(self._store, published, color_by)
        return page_data.colours_part(colours.groups, colours.scale, published.graph.n_nodes)

    def details(self, row: int, run: str) -> dict[str, Any]:
        """Return what belongs to the node of a row; its properties and links as they are now.

        ``newer`` says whether another version has been published, ``gone`` whether the node is no longer
        there. An IndexError if there is no such row.
        """
        held = self._of(run)
        graph = held.picture.model.graph
        if not 0 <= row < graph.n_nodes:
            raise IndexError(row)
        node = graph.node_ids[row]
        properties = self._store.properties_of([node]).get(node)
        links = self._links(held, node)
        now = self._store.published_run(self._model)
        newer = now is None or now.run_id != run  # then the links are others, perhaps
        relationships, count = _relationships(held, row)
        return {
            "gone": properties is None,
            "newer": newer,
            "properties": [
                [printable(name), display_text(value)] for name, value in (properties or {}).items()
            ],
            "neighbours": _neighbours(held, row),
            "links": [] if newer else links,
            "relationships": relationships,
            "relationshipCount": count,
        }

    def _read(self) -> _Held:
        with self._lock:
            published = self._store.published_run(self._model)
            if published is None:
                raise nothing_published(self._model, self._store.bookkeeping())
            if self._held is None or self._held.picture.model.run.run_id != published.run_id:
                picture = read_picture(self._store, self._model, color_by=self._color_by, **self._options)
                self._held = _Held(picture, page_data.joined_pairs(picture.model.graph))
            return self._held

    def _of(self, run: str) -> _Held:
        held = self._held
        if held is None or held.picture.model.run.run_id != run:
            raise OutOfDateError
        return held

    def _properties(self, held: _Held) -> list[str]:
        ids = held.picture.model.graph.node_ids
        some = np.linspace(0, len(ids) - 1, min(_LOOKED_AT, len(ids))).astype(np.int64).tolist()
        found = self._store.properties_of([ids[row] for row in some])
        return sorted({name for properties in found.values() for name in properties})

    def _links(self, held: _Held, node: str) -> list[dict[str, Any]]:
        ids = held.picture.model.graph.node_ids
        links = []
        for link in self._store.links_of([node], k=_LISTED, model=self._model)[node]:
            if link.element_id not in ids:  # it joined the graph later
                continue
            if not is_sound_link(link.rank, link.type, link.distance, link.probability):
                raise damaged_links(self._model)
            way = ("out" if link.leaves else "in") if link.type else ""
            links.append(
                {
                    "node": ids.index(link.element_id),
                    "type": printable(link.type),
                    "way": way,
                    "probability": link.probability,
                    "distance": link.distance,
                }
            )
        return links


class _Held(NamedTuple):
    """A version in memory."""

    picture: Picture
    pairs: Pairs


def _drawn(held: _Held) -> Pairs:
    pairs = held.pairs
    if len(pairs.source) <= _MOST_EDGES:
        return pairs
    apart = pair_distances(held.picture.flat, np.column_stack((pairs.source, pairs.target)))
    return pairs.at(np.sort(np.argpartition(apart, _MOST_EDGES)[:_MOST_EDGES]))


def _neighbours(held: _Held, row: int) -> list[dict[str, Any]]:
    points = held.picture.model.embedding
    apart = distance(points[row], points)
    apart[row] = np.inf
    near = np.argsort(apart, kind="stable")[: min(N_NEIGHBOURS, len(points) - 1)]
    return [{"node": int(other), "distance": float(apart[other])} for other in near]


def _relationships(held: _Held, row: int) -> tuple[list[dict[str, Any]], int]:
    """Return pairs of a row as the page lists them, the most connected nodes first, and how many it has."""
    source, target, kind = held.pairs
    graph = held.picture.model.graph
    own = np.flatnonzero((source == row) | (target == row))
    other = np.where(source[own] == row, target[own], source[own])
    order = np.lexsort((other, -graph.degrees[other]))[:_LISTED]
    names = page_data.type_names(graph)
    listed = []
    for pair, node in zip(own[order].tolist(), other[order].tolist(), strict=True):
        entry = {"node": node, "type": "", "way": ""}
        if kind is not None:
            both = kind[pair] & 1
            way = "both" if both else "out" if source[pair] == row else "in"
            entry |= {"type": names[kind[pair] >> 1], "way": way}
        listed.append(entry)
    return listed, len(own)
