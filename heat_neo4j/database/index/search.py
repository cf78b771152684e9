"""Nodes for a question in words: hits of an index, and nodes near them or joined by predicted links."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import neo4j

from heat_neo4j._utils.display import display_text
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.keys import Key
from heat_neo4j.database.projection import check_parameter_names
from heat_neo4j.database.published_nodes import Showing, ShownNode, VersionScope, links_part, read_scope
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.database.runs import nodes_with
from heat_neo4j.database.statements import Fragment, label_predicate, load_statement
from heat_neo4j.errors import ProjectionError

FULLTEXT, VECTOR, SPACE, LINKS = "fulltext", "vector", "space", "links"
SEEDS = 5
"""First hits whose neighbourhoods are searched; `python -m tests.benchmarks.questions` measures it."""
AROUND = 40
"""Nodes near each of these, and as many that predicted links join to it."""
CONSTANT, SPACE_CONSTANT = 10, 15
"""A node at place r of a list counts 1 / (constant + r), where that of the list "space" is the larger one."""
HIT_CONSTANT = 1
"""What is around a hit at place p counts 1 / (HIT_CONSTANT + p)."""
DEGREE_EXPONENT = 0.4
"""A node around the hits counts 1 / degree to this power, as hubs are around most hits."""
_HITS = 50
_FETCH = 500  # hits of an index; the filter, or nodes without coordinates, may leave few of them
_FETCH_AROUND, _FETCH_OF_LABELS = 100, 1_000
_ATTEMPTS = 3
_MOST_CHARACTERS, _MOST_WORDS = 4_000, 256  # of a question
_TOO_MANY = "maxClauseCount"
_SYNTAX = re.compile(r'[-+&|!(){}\[\]^"~*?:\\/]|\b(?=(?:AND|OR|NOT)\b)')


@dataclass(frozen=True, kw_only=True)
class FoundNode(ShownNode):
    """A node that a question leads to."""

    score: float  # sum of 1 / (constant + rank)
    ranks: Mapping[str, int]  # in each list: "fulltext", "vector" and, around their hits, "space" and "links"
    near: str | None  # name of the hit that it is nearest to; None if it is near none of the first
    distance: float | None  # hyperbolic, from that hit
    linked: str | None  # name of the hit with the likeliest predicted link to it; None if there is none
    link_type: str | None  # of that link
    probability: float | None  # of that link; None if the run has no probabilities


@dataclass(frozen=True)
class FoundNodes:
    """The nodes that a question leads to, the best first."""

    model: str
    nodes: tuple[FoundNode, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON data, except property values that JSON cannot represent."""
        return {"model": self.model, "nodes": tuple(node.to_dict() for node in self.nodes)}


@dataclass
class _Candidate:
    ranks: dict[str, int] = field(default_factory=dict)
    near: str | None = None  # element id of the hit that it is nearest to
    distance: float | None = None
    linked: str | None = None  # element id of the hit with the likeliest predicted link to it
    link_type: Any = None
    probability: float | None = None

    @property
    def score(self) -> float:
        constants = {SPACE: SPACE_CONSTANT}
        return sum(1.0 / (constants.get(name, CONSTANT) + rank) for name, rank in self.ranks.items())


class _Around(NamedTuple):
    """Nodes around a hit, each by its element id."""

    near: Sequence[Mapping[str, Any]]  # the nearest first, with their distances
    linked: Sequence[Mapping[str, Any]]  # the likeliest predicted link first


class _PublishedAnewError(Exception):
    """Another version was published between two statements."""


@dataclass(frozen=True)
class _Reading:
    """Statements about one published version."""

    connection: Connection
    scope: VersionScope
    fixed: Mapping[str, Any]  # parameters of every statement
    kept: Fragment  # predicate over a node n
    labels: Sequence[str] | None  # of the answers; None for any

    @property
    def answers(self) -> Fragment:
        """Predicate over a node n: whether it may be an answer, and not only lead to one."""
        return Fragment("true") if self.labels is None else label_predicate(self.labels)

    def rows(self, name: str, parts: Mapping[str, Any], **values: Any) -> list[neo4j.Record]:
        """Run a statement; raises _PublishedAnewError if its rows belong to another version."""
        statement = load_statement(name, **parts)
        rows = self.connection.read(statement, {**self.fixed, **values}, doing="searching")
        if rows and rows[0]["version"] != self.scope.version:
            raise _PublishedAnewError
        return rows

    def hits(self, part: str, index: str, question: Any) -> dict[str, bool]:
        """Return an index's hits by element id, the best first, and whether each may be an answer."""
        parts = {"search": Fragment(load_statement(part)), "node_filter": self.kept, "answers": self.answers}
        values = {"heat_index": index, "heat_question": question, "heat_k": _HITS, "heat_fetch": _FETCH}
        return {row["id"]: row["answers"] for row in self.rows("read/hits", parts, **values)}

    def hits_by_words(self, index: str, question: str) -> dict[str, bool]:
        """Return the hits of a full-text index, by fewer words if they are too many for it."""
        text = question[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()  # no lone surrogates
        words = text.split()[:_MOST_WORDS]
        while words:
            try:
                return self.hits("read/text_hits", index, lucene_literal(" ".join(words)))
            except ProjectionError as error:
                if _TOO_MANY not in str(error):
                    check_fulltext_index(self.connection, index)
                    raise
            words = words[: len(words) // 2]
        return {}

    def hits_by_vector(self, index: str, question: Sequence[float]) -> dict[str, bool]:
        """Return the hits of a vector index; none for zeros if the index refuses them, as by cosine."""
        try:
            return self.hits("read/vector_hits", index, question)
        except ProjectionError:
            if any(question):
                raise
        return {}

    def around(self, seeds: Sequence[str]) -> list[_Around]:
        """Return the nodes around each of some."""
        if self.scope.indexed:
            candidates = load_statement("read/around_index")
        else:
            candidates = load_statement("read/around_scan", labels=nodes_with(self.scope.labels))
        linked, filters = "RETURN [] AS linked", {"node_filter": self.kept, "answers": self.answers}
        if self.scope.link_type is not None:
            linked = load_statement("read/around_links", type=self.scope.link_type, **filters)
        parts = {"candidates": Fragment(candidates), "linked": Fragment(linked), **filters}
        values = {"heat_ids": list(seeds), "heat_k": AROUND, "heat_link_run": self.scope.link_run}
        fetch = _FETCH_AROUND if self.labels is None else _FETCH_OF_LABELS
        rows = self.rows("read/around", parts, heat_fetch=fetch, **values)
        found = {row["id"]: _Around(row["near"], row["linked"]) for row in rows}
        return [found.get(seed, _Around((), ())) for seed in seeds]


def search_nodes(
    connection: Connection,
    question: str,
    k: int = 10,
    *,
    model: str = "heat",
    fulltext_index: str | None = None,
    vector_index: str | None = None,
    vector: Sequence[float] | None = None,
    key: Key | None = None,
    labels: Sequence[str] | None = None,
    node_filter: str | None = None,
    filter_parameters: Mapping[str, Any] | None = None,
    show: Sequence[str] | None = None,
    max_links: int = 0,
) -> FoundNodes:
    """Return the nodes that a question in words leads to.

    A full-text index, a vector index or both find nodes. The first of these and the nodes near them in the
    space are a further list, and so are the first of these and the nodes that predicted links join to them.
    The lists are fused by reciprocal ranks [1]_: a node counts 1 / (constant + rank) for each list that it is
    in. Around the hits, hubs count less. Only nodes with coordinates of the model are found.

    Parameters
    ----------
    question : str
        Any text. Its words are searched; there is no query syntax.
    k : int, at least 1, default 10
        How many.
    model : str
        Name of the published model.
    fulltext_index : str, optional
        Name of a full-text index over nodes. If neither index is named, the only full-text index over nodes.
    vector_index : str, optional
        Name of a vector index over nodes, whose vectors come from the same model as `vector`.
    vector : sequence of float, optional
        Embedding of the question; needed for `vector_index`. An index that compares by cosine finds nothing
        for zeros, the embedding of a question without a known word.
    labels : sequence of str, optional
        Labels of the answers. Hits of other labels lead to those near or linked to them.
    key, node_filter, filter_parameters, show, max_links
        As for `find_neighbours`. Hits that the filter excludes lead nowhere.

    Returns
    -------
    FoundNodes
        The best first; none if no index finds anything.

    Raises
    ------
    ValueError
        If a number is out of range, a vector is missing, a name in `filter_parameters` is reserved, or
        `labels` is empty or has one that cannot be quoted.
    ProjectionError
        If the model is not published, there is no such index or label, or the server refuses the filter.

    References
    ----------
    .. [1] G. Cormack, C. Clarke and S. Buettcher, "Reciprocal rank fusion outperforms Condorcet and
       individual rank learning methods" (SIGIR 2009).
    """
    check_integer("k", k, minimum=1)
    check_integer("max_links", max_links, minimum=0)
    check_parameter_names(filter_parameters or {})
    if (vector_index is None) != (vector is None):
        raise ValueError("vector_index and vector belong together: give both or neither")
    if fulltext_index is None and vector_index is None:
        fulltext_index = _only_fulltext_index(connection)
    fixed = {**(filter_parameters or {}), "heat_model": model}
    kept = Fragment(node_filter or "true")
    for _ in range(_ATTEMPTS):
        reading = _Reading(connection, read_scope(connection, model), fixed, kept, labels)
        try:
            hits: dict[str, dict[str, bool]] = {}
            if fulltext_index is not None:
                hits[FULLTEXT] = reading.hits_by_words(fulltext_index, question)
            if vector_index is not None and vector is not None:
                hits[VECTOR] = reading.hits_by_vector(vector_index, list(map(float, vector)))
            found: dict[str, _Candidate] = {}
            for name, own in hits.items():
                _rank(found, name, list(own))
            seeds = _best(found)[:SEEDS]
            _rank_around(found, dict(zip(seeds, reading.around(seeds) if seeds else (), strict=True)))
            for each in {node for own in hits.values() for node, answers in own.items() if not answers}:
                del found[each]
            nodes = _described(reading, found, k, key, show, max_links)
            if not nodes:  # perhaps because a label is misspelt
                require_names(connection, labels or (), ())
            return FoundNodes(model, nodes)
        except _PublishedAnewError:
            continue
    raise ProjectionError(f"model {model!r} is republished repeatedly: retry later")


def lucene_literal(text: str) -> str:
    r"""Return the query of Lucene that has no syntax, only the words of a text.

    >>> print(lucene_literal('What is C++ (or "AND")?'))
    What is C\+\+ \(or \"\AND\"\)\?
    """
    return _SYNTAX.sub(lambda found: f"\\{found[0]}", text)


def fulltext_indexes(connection: Connection) -> list[str]:
    """Return the names of the full-text indexes over nodes."""
    rows = connection.read(load_statement("read/fulltext_indexes"), doing="looking for full-text indexes")
    return [str(row["name"]) for row in rows]


def check_fulltext_index(connection: Connection, name: str) -> None:
    """Raise a ProjectionError if no full-text index over nodes has the name."""
    names = fulltext_indexes(connection)
    if name not in names:
        listed = f"; there are {', '.join(map(repr, names))}" if names else ""
        raise ProjectionError(f"there is no full-text index {name!r} over nodes{listed}")


def _only_fulltext_index(connection: Connection) -> str:
    names = fulltext_indexes(connection)
    if len(names) == 1:
        return names[0]
    if names:
        listed = ", ".join(map(repr, names))
        raise ProjectionError(f"there are several full-text indexes over nodes: name one of {listed}")
    example = "CREATE FULLTEXT INDEX texts FOR (n:Paper) ON EACH [n.title, n.abstract]"
    raise ProjectionError(f"there is no full-text index over nodes; make one, such as {example}")


def _best(found: Mapping[str, _Candidate]) -> list[str]:
    """Return candidates by score; of equal ones that which came first."""
    return sorted(found, key=lambda each: -found[each].score)


def _rank(found: dict[str, _Candidate], name: str, ids: Sequence[str]) -> None:
    for place, each in enumerate(ids, 1):
        found.setdefault(each, _Candidate()).ranks[name] = place


def _rank_around(found: dict[str, _Candidate], around: Mapping[str, _Around]) -> None:
    """Add the list of the nodes near some hits, and that of the nodes linked to them.

    `around` is by hit, the best first. Each hit counts by its place.
    """
    _rank(found, SPACE, _after_hits({seed: own.near for seed, own in around.items()}))
    _rank(found, LINKS, _after_hits({seed: own.linked for seed, own in around.items()}))
    for seed, own in around.items():
        for row in own.near:
            node = found.get(row["id"])
            if node is not None and (node.distance is None or row["distance"] < node.distance):
                node.near, node.distance = seed, row["distance"]
        for row in own.linked:
            node, probability = found.get(row["id"]), _probability(row)
            if node is not None and (node.linked is None or (node.probability or 0.0) < (probability or 0.0)):
                node.linked, node.link_type, node.probability = seed, row["type"], probability


def _after_hits(around: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the hits, then the nodes around them by score; none if there is nothing around any hit.

    The score is the probability of the link, or else goes down with the rank; that of hubs is lowered.
    """
    score: dict[str, float] = {}
    for place, rows in enumerate(around.values(), 1):
        for rank, row in enumerate(rows, 1):
            value = (_probability(row) or 1.0 / (CONSTANT + rank)) / max(row["degree"], 1) ** DEGREE_EXPONENT
            score[row["id"]] = score.get(row["id"], 0.0) + value / (HIT_CONSTANT + place)
    others = sorted(score.keys() - around.keys(), key=lambda node: (-score[node], node))
    return [*around, *others][:_HITS] if score else []


def _probability(row: Mapping[str, Any]) -> float | None:
    """Return the probability of a link, if it has one; it may have been changed to something else."""
    probability = row.get("probability")
    return probability if isinstance(probability, float) else None


def _described(
    reading: _Reading,
    found: Mapping[str, _Candidate],
    k: int,
    key: Key | None,
    show: Sequence[str] | None,
    max_links: int,
) -> tuple[FoundNode, ...]:
    """Return the best candidates with what answers show of them."""
    showing, best = Showing.of(reading.scope.nodes.by(key), show, max_links), _best(found)[:k]
    links, values = links_part(reading.scope, showing.nodes, max_links)
    hits = (hit for each in best for hit in (found[each].near, found[each].linked) if hit is not None)
    asked = list(dict.fromkeys((*best, *hits)))
    values |= {"heat_ids": asked, "heat_show": showing.read}
    rows = reading.rows("read/described", {"links": links}, **values)
    by_id = {row["id"]: showing.of_row(row) for row in rows}

    def name(hit: str | None) -> str | None:
        return None if hit not in by_id else by_id[hit]["name"]

    def node(element_id: str) -> FoundNode:
        own = found[element_id]
        return FoundNode(
            **by_id[element_id],
            score=own.score,
            ranks=own.ranks,
            near=name(own.near),
            distance=own.distance,
            linked=name(own.linked),
            link_type=None if own.link_type is None else display_text(own.link_type),
            probability=own.probability,
        )

    return tuple(node(each) for each in best if each in by_id)  # the others were deleted meanwhile
