"""The nodes near a node as passages: a text for a language model, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heat_neo4j._utils.display import display_text, plain_data, printable
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.index.nearest import Among, Neighbour, Neighbours
from heat_neo4j.database.keys import Key
from heat_neo4j.database.published_nodes import NodeLink
from heat_neo4j.database.store import Neo4jStore

_LONGEST = 2_000  # characters of a property


@dataclass(frozen=True)
class Passage:
    """One of the nodes near another."""

    content: str
    metadata: dict[str, Any]  # JSON data


@dataclass(frozen=True, kw_only=True)
class Search:
    """How retrievers search near a node; `HeatRetriever` documents the parameters."""

    model: str = "heat"
    key: Key | None = None
    labels: Sequence[str] | None = None
    node_filter: str | None = None
    filter_parameters: Mapping[str, Any] = field(default_factory=dict)
    properties: Sequence[str] = ()
    max_links: int = 3

    def __post_init__(self) -> None:
        check_integer("max_links", self.max_links, minimum=0)
        for name in ("labels", "properties"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names, got {getattr(self, name)!r}")

    def passages(self, store: Neo4jStore, node: str, k: int, among: Among) -> tuple[Passage, ...]:
        """Return the nodes nearest to one, nearest first; errors are those of `Database.neighbours`."""
        found = store.neighbours(
            node,
            k=k,
            model=self.model,
            labels=self.labels,
            key=self.key,
            node_filter=self.node_filter,
            filter_parameters=self.filter_parameters,
            show=tuple(self.properties) or None,
            among=among,
            max_links=self.max_links,
        )
        return tuple(_passage(found, node, each) for each in found.nodes)


def _passage(found: Neighbours, asked: str, node: Neighbour) -> Passage:
    links = node.links or ()
    properties = {name: value for name, value in node.properties.items() if value is not None}
    metadata = {
        "name": node.name,
        "element_id": node.element_id,
        "labels": node.labels,
        "distance": node.distance,
        "radius": node.radius,
        "near": asked,
        "model": found.model,
        "certified": found.certified,
        "properties": properties,
    }
    labels = f" ({', '.join(map(printable, node.labels))})" if node.labels else ""
    near = f"at distance {node.distance:.4g} from {display_text(asked)}, {node.radius:.4g} from the centre"
    lines = [f"{node.name}{labels}, {near}"]
    # The name is that of a key: it need not come twice.
    shown = {name: display_text(value, _LONGEST) for name, value in properties.items()}
    lines += [f"{printable(name)}: {text}" for name, text in shown.items() if text != node.name]
    if links:
        lines.append(f"likely links: {'; '.join(_arrow(node.name, link) for link in links)}")
    data = {
        "node": _findable(node),
        **plain_data(metadata),
        "links": [{**plain_data(link.to_dict()), "key": _findable(link)} for link in links],
    }
    return Passage("\n".join(lines), data)


def _findable(node: Neighbour | NodeLink) -> str:
    """Return the text by which a search finds a node again: its key, unchanged, or else its element id."""
    found_by_key = isinstance(node.key, str | int) and not isinstance(node.key, bool)
    return str(node.key) if found_by_key else node.element_id


def _arrow(name: str, link: NodeLink) -> str:
    """Return a predicted link as Cypher would write it, with its probability."""
    source, target = (name, link.name) if link.leaves else (link.name, name)
    arrow = f"{source} -{display_text(link.type)}-> {target}"
    known = isinstance(link.probability, float)  # somebody may have changed it
    return f"{arrow} (probability {link.probability:.2g})" if known else arrow
