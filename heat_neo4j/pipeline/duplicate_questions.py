"""Duplicates in a published model: nodes for the same thing, and relationships between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.database.keys import Key
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.runs import LINKS, RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.duplicates.search import Duplicates, NothingToCompareError, find_duplicates
from heat_neo4j.errors import ProjectionError
from heat_neo4j.pipeline.published_model import name_values, read_published

SAME_AS = "SAME_AS"
_NO_NAMES = "names are not compared, because the model has no key: `caption` chooses the property"


@dataclass(frozen=True, eq=False, repr=False)
class FoundDuplicates(Result):
    """Pairs of nodes of a published model that are probably the same thing, likeliest first.

    Parameters
    ----------
    found : Duplicates
        The pairs.
    names : WriteNames
        Names under which the pairs are written.
    run : RunRecord, optional
        Run that wrote the pairs; None if nothing was written.
    """

    found: Duplicates
    names: WriteNames
    run: RunRecord | None

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        return repr(self.found)

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs, and what was written, as JSON data."""
        written = {} if self.run is None else {"model": self.run.model, "run": self.run.run_id}
        return {**self.found.to_dict(), **written, "link_type": self.names.link_type}

    def _columns(self) -> dict[str, Any]:
        return self.found._columns()


@dataclass(frozen=True, eq=False)
class _Links:
    """Duplicates as links that can be written, from the first node to the second."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    distance: NDArray[np.float64]
    probability: NDArray[np.float64]
    reasons: Sequence[str]

    @property
    def types(self) -> Sequence[str]:
        return [SAME_AS] * len(self.source)

    @property
    def rank(self) -> NDArray[np.int64]:
        return np.arange(1, len(self.source) + 1, dtype=np.int64)

    pattern_rank = rank


def duplicates(
    store: Neo4jStore,
    *,
    label: str | None = None,
    caption: Key | None = None,
    properties: Sequence[str] = (),
    unique: Sequence[str] = (),
    k: int = 100,
    min_probability: float = 0.5,
    write: bool = False,
    model: str = "heat",
    on_progress: Progress | bool = False,
) -> FoundDuplicates:
    """List pairs of nodes that are probably the same thing, and why; nothing is written by default.

    Names are compared by letters, by words in any order and as acronyms. Neighbours, coordinates, vectors and
    the properties that you name are compared, too. If each node has one relationship of a type, such as a
    city to its country, different targets count against a pair. Two nodes are compared only if
    they have the given label, or else the same labels, and no relationship joins them. Your nodes are never
    merged or changed.

    Parameters
    ----------
    label : str, optional
        Compare nodes with this label only.
    caption : str, or mapping of str to str, default: the projection's key
        Node property with the name to compare, of all nodes or of those with a label.
    properties : sequence of str
        Another node property to compare, such as an address.
    unique : sequence of str
        Node property with one value per thing, such as a birthday; pairs that differ in it are left out.
    k : int, at least 1
        Number of pairs.
    min_probability : float in [0, 1]
        Leave out pairs that are less likely.
    write : bool
        Write the pairs as relationships of type HEAT_SAME_AS, replacing earlier ones; heat clear removes
        them.
    model : str
        Name of the published model.
    on_progress : callable or bool
        Called with the stages of reading and writing.

    Returns
    -------
    FoundDuplicates
        Nodes are named by their keys, or without a key by their element ids.

    Raises
    ------
    ValueError
        If `k` or `min_probability` is out of range.
    ProjectionError
        If the model is not published, its graph cannot be read, or there is no such label or property.
    WriteRefused
        If the type has relationships that no run wrote.

    Notes
    -----
    Pairs are links of the model ``heat-duplicates``; pass that name to `clear` and `rollback`. Probabilities
    assume how similar duplicates usually are; see `HEAT.duplicates`.
    """
    progress = as_progress(on_progress)
    published = read_published(store, model, with_keys=True, on_progress=progress)
    graph = published.graph
    compared = dict.fromkeys((*properties, *unique))
    with errors_as(ProjectionError, NothingToCompareError):
        found = find_duplicates(
            published.embedding,
            graph,
            names := name_values(store, published, caption),
            {name: store.read_property(graph, name) for name in compared},
            label=label,
            unique=unique,
            k=k,
            min_probability=min_probability,
        )
    nameless = () if any(name is not None for name in names) else (_NO_NAMES,)
    found = replace(found, notes=(*published.notes, *nameless, *found.notes))
    own, run = WriteNames.of_duplicates(model), None
    if write:
        links = _Links(found.first, found.second, found.distance, found.probability, found.reasons)
        how = {"label": label, "properties": list(properties), "unique": list(unique), "k": k}
        parameters = {"embedding_run": published.run.run_id, "duplicates": how}
        with store.start_run(
            graph, parts=[LINKS], names=own, parameters=parameters, on_progress=progress
        ) as writer:
            writer.write_links(links)
            run = writer.publish()
    return FoundDuplicates(found, own, run)
