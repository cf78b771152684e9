"""`Tools`: the questions that a language model may ask by MCP. To add one, add a method."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, islice
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field

from heat_neo4j.database.index.nearest import Among
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.database.statements import label_predicate
from heat_neo4j.database.store import Neo4jStore

MOST = 100
"""Maximum nodes or links in one request of a language model."""

Question = Annotated[str, Field(description="A question, or words to search for")]
Node = Annotated[str, Field(description="Key of a node, exactly as in the graph, or its element id")]
Count = Annotated[int, Field(description="How many", ge=1, le=MOST)]
Label = Annotated[str | None, Field(description="Only nodes with this label; all nodes if not given")]
Caption = Annotated[str | None, Field(description="Property with the names; the key if not given")]
Show = Annotated[
    list[str] | None,
    Field(description="Properties to show, such as a name and a text; the key if not given", max_length=20),
]
Compared = Annotated[
    list[str] | None, Field(description="Properties to compare, too, such as an address", max_length=20)
]
Unique = Annotated[
    list[str] | None,
    Field(description="Properties with one value per thing: pairs that differ are left out", max_length=20),
]
Property = Annotated[str, Field(description="A node property, such as a category, that some nodes lack")]
Kind = Annotated[
    Literal["class", "number"] | None,
    Field(description="Predict known values, or any number; more than 20 different ones are numbers"),
]
Type = Annotated[
    str | None,
    Field(description="Such as User-RATED->Movie; the likeliest possible one if not given"),
]


class Tools:
    """Every public method is a tool; a language model sees its docstring and the descriptions above.

    A method returns JSON data, except property values that JSON cannot represent, and raises a `HeatError` or
    ValueError whose message may be shown. The server bounds the answer and the time, and marks texts of the
    database as data. None writes, and none takes Cypher: a predicate invented by a model could send data
    elsewhere.
    """

    def __init__(self, store: Neo4jStore, model: str, fulltext_index: str | None = None) -> None:
        self._store, self._model, self._text_index = store, model, fulltext_index

    def search(
        self, question: Question, k: Count = 10, label: Label = None, show: Show = None
    ) -> dict[str, Any]:
        """Find nodes for a question in words, by full text, coordinates and predicted links; the best first.

        Start here if you do not know the key of a node. `ranks` says which lists a node was in. With a label,
        only nodes that have it are answers, but others lead to them: a country to its languages.
        """
        found = self._store.search(
            question,
            k,
            model=self._model,
            fulltext_index=self._text_index,
            labels=None if label is None else [label],
            show=show,
        )
        return _without_missing(found.to_dict())

    def nearest(self, node: Node, k: Count = 10, label: Label = None, show: Show = None) -> dict[str, Any]:
        """List the nodes most closely related to one, the nearest first."""
        return self._near(node, k, label, show, "all")

    def more_general(
        self, node: Node, k: Count = 10, label: Label = None, show: Show = None
    ) -> dict[str, Any]:
        """List nodes that are probably above one in a hierarchy, the likeliest first."""
        return self._near(node, k, label, show, "more_general")

    def more_specific(
        self, node: Node, k: Count = 10, label: Label = None, show: Show = None
    ) -> dict[str, Any]:
        """List nodes that are probably below one in a hierarchy, the likeliest first."""
        return self._near(node, k, label, show, "more_specific")

    def likeliest_links(self, node: Node, k: Count = 10) -> dict[str, Any]:
        """List the predicted relationships of a node, the likeliest first.

        `leaves` is true if the relationship starts at the node, false if it ends there.
        """
        element_id = self._store.find_node(node, model=self._model)
        links = self._store.links_of([element_id], k=k, model=self._model)[element_id]
        return {
            "element_id": element_id,
            "model": self._model,
            "links": [link.to_dict() for link in links],
        }

    def explain(self, source: Node, target: Node, pattern: Type = None) -> dict[str, Any]:
        """Explain why one node would be linked to another: the parts of the probability, and what both share.

        `alternatives` are the other possible patterns. It reads the whole graph, which takes long for a large
        one.
        """
        from heat_neo4j.pipeline.link_questions import explain  # half of the time that a start takes

        return explain(self._store, source, target, pattern=pattern, model=self._model).to_dict()

    def classify(
        self,
        property: Property,
        k: Count = 10,
        label: Label = None,
        kind: Kind = None,
        caption: Caption = None,
    ) -> dict[str, Any]:
        """Predict a property of the nodes that lack it, from the nodes that have it; the surest first.

        Numbers lie between `low` and `high` for 80 % of nodes. `figures` says how good it was on nodes whose
        value was hidden. It reads the whole graph, which takes long for a large one.
        """
        from heat_neo4j.pipeline.class_questions import classify

        asked = classify(self._store, property, label=label, kind=kind, caption=caption, model=self._model)
        found = asked.to_dict()
        return {**found, "predicted": found["predicted"][:k], "count": len(found["predicted"])}

    def clusters(self, k: Count = 10, caption: Caption = None) -> dict[str, Any]:
        """List the largest groups of nodes on each of two or three levels, with names and telling values.

        `parent` is the group on the level above. It reads the whole graph, which takes long for a large one.
        """
        from heat_neo4j.pipeline.cluster_questions import clusters

        found = clusters(self._store, caption=caption, model=self._model)
        levels = groupby(found.clusters, attrgetter("level"))
        return {
            "model": self._model,
            "clusters": [each._asdict() for _, level in levels for each in islice(level, k)],
            "counts": dict(Counter(each.level for each in found.clusters)),
            "notes": list(found.notes),
        }

    def duplicates(
        self,
        k: Count = 10,
        label: Label = None,
        caption: Caption = None,
        properties: Compared = None,
        unique: Unique = None,
    ) -> dict[str, Any]:
        """List pairs of nodes that are probably the same thing, the likeliest first, with reasons.

        `distance` is the hyperbolic one. It reads the whole graph, which takes long for a large one.
        """
        from heat_neo4j.pipeline.duplicate_questions import duplicates

        found = duplicates(
            self._store,
            k=k,
            label=label,
            caption=caption,
            properties=properties or (),
            unique=unique or (),
            model=self._model,
        )
        return {"model": self._model, **found.found.to_dict()}

    def published_runs(self) -> dict[str, Any]:
        """List the models that are published in this database, and the runs that computed them."""
        return {"asked": self._model, "published": self._store.query("published")}

    def _near(
        self, node: str, k: int, label: str | None, show: list[str] | None, among: Among
    ) -> dict[str, Any]:
        node_filter = None if label is None else label_predicate([label])
        found = self._store.neighbours(
            node, k=k, model=self._model, node_filter=node_filter, show=show, among=among
        )
        if label is not None and not found.nodes:  # perhaps because it is misspelt
            require_names(self._store, [label], ())
        return _without_missing(found.to_dict())


def _without_missing(answer: dict[str, Any]) -> dict[str, Any]:
    """Remove from an answer the properties that a node lacks, such as the keys of other labels."""
    for node in answer.get("nodes", ()):
        if properties := node.get("properties"):
            node["properties"] = {name: each for name, each in properties.items() if each is not None}
    return answer
