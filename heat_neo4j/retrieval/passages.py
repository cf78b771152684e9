"""Nodes as passages, near a node or for a question: a text for a language model, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from heat_neo4j._utils.display import display_text, plain_data, printable
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.index.nearest import Among, Neighbour, Neighbours
from heat_neo4j.database.index.search import LINKS, SPACE, FoundNode, FoundNodes
from heat_neo4j.database.keys import Key
from heat_neo4j.database.published_nodes import NodeLink, UnknownNodeError
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ProjectionError

_LONGEST = 2_000  # characters of a property
_NO_INDEX = "without fulltext_index or vector_index, a text is a node's key: name an index to ask questions"


class Embedder(Protocol):
    """Makes a vector from a question, as embedders of neo4j-graphrag and LangChain do."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""


@dataclass(frozen=True)
class Passage:
    """A node near another one, or a node found for a question."""

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
    fulltext_index: str | None = None
    vector_index: str | None = None
    embedder: Embedder | None = None

    def __post_init__(self) -> None:
        check_integer("max_links", self.max_links, minimum=0)
        if (self.vector_index is None) != (self.embedder is None):
            raise ValueError("vector_index and embedder belong together: give both or neither")
        for name in ("labels", "properties"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names, got {getattr(self, name)!r}")

    @property
    def takes_questions(self) -> bool:
        """Whether a text is a question, and not the key of a node."""
        return self.fulltext_index is not None or self.vector_index is not None

    @property
    def _options(self) -> dict[str, Any]:
        common = ("model", "key", "node_filter", "filter_parameters", "max_links")
        return {name: getattr(self, name) for name in common} | {"show": tuple(self.properties) or None}

    def answers(self, store: Neo4jStore, question: str, k: int) -> tuple[Passage, ...]:
        """Return the nodes that a question leads to, the best first; errors are those of `search_nodes`."""
        found = store.search(
            question,
            k,
            fulltext_index=self.fulltext_index,
            vector_index=self.vector_index,
            vector=None if self.embedder is None else self.embedder.embed_query(question),
            labels=self.labels,
            **self._options,
        )
        return tuple(_answer(found, question, each) for each in found.nodes)

    def passages(self, store: Neo4jStore, node: str, k: int, among: Among) -> tuple[Passage, ...]:
        """Return the nodes nearest to one, nearest first; errors are those of `Database.neighbours`."""
        try:
            found = store.neighbours(node, k, labels=self.labels, among=among, **self._options)
        except UnknownNodeError as error:
            if self.takes_questions:
                raise
            raise ProjectionError(f"{error}; {_NO_INDEX}") from error
        return tuple(_passage(found, node, each) for each in found.nodes)


def _passage(found: Neighbours, asked: str, node: Neighbour) -> Passage:
    near = f"at distance {node.distance:.4g} from {display_text(asked)}, {node.radius:.4g} from the centre"
    facts = {"distance": node.distance, "near": asked, "model": found.model, "certified": found.certified}
    return _described(node, near, facts)


def _answer(found: FoundNodes, question: str, node: FoundNode) -> Passage:
    ways = [f"hit {rank} by {name}" for name, rank in node.ranks.items() if name not in (SPACE, LINKS)]
    if node.near is not None:
        ways.append(f"at distance {node.distance:.4g} from {node.near}")
    if node.linked is not None:
        ways.append(f"predicted {node.link_type} link with {node.linked}{_likely(node.probability)}")
    facts = {"question": question, "score": node.score, "ranks": node.ranks}
    names = ("distance", "near", "linked", "link_type", "probability")
    facts |= {**{name: getattr(node, name) for name in names}, "model": found.model}
    return _described(node, f"{', '.join(ways)}, {node.radius:.4g} from the centre", facts)


def _described(node: Neighbour | FoundNode, where: str, facts: Mapping[str, Any]) -> Passage:
    links = node.links or ()
    properties = {name: value for name, value in node.properties.items() if value is not None}
    own = {"name": node.name, "element_id": node.element_id, "labels": node.labels, "radius": node.radius}
    labels = f" ({', '.join(map(printable, node.labels))})" if node.labels else ""
    lines = [f"{node.name}{labels}, {where}"]
    # The name is that of a key: it need not come twice.
    shown = {name: display_text(value, _LONGEST) for name, value in properties.items()}
    lines += [f"{printable(name)}: {text}" for name, text in shown.items() if text != node.name]
    if links:
        lines.append(f"predicted links: {'; '.join(_arrow(node.name, link) for link in links)}")
    data = {
        "node": _findable(node),
        **plain_data({**own, **facts, "properties": properties}),
        "links": [{**plain_data(link.to_dict()), "key": _findable(link)} for link in links],
    }
    return Passage("\n".join(lines), data)


def _findable(node: Neighbour | FoundNode | NodeLink) -> str:
    """Return the text by which a search finds a node again: its key, unchanged, or else its element id."""
    found_by_key = isinstance(node.key, str | int) and not isinstance(node.key, bool)
    return str(node.key) if found_by_key else node.element_id


def _arrow(name: str, link: NodeLink) -> str:
    """Return a predicted link as Cypher would write it, with its probability."""
    source, target = (name, link.name) if link.leaves else (link.name, name)
    return f"{source} -{display_text(link.type)}-> {target}{_likely(link.probability)}"


def _likely(probability: object) -> str:
    """Return the probability of a link in brackets; nothing if it is no number: it may have been changed."""
    return f" (probability {probability:.2g})" if isinstance(probability, float) else ""
