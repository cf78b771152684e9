"""Read a published version back: its run, its attribute recipe, and data for pictures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import did_you_mean, display_text, plural
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.attributes.kinds import RecipeError
from heat_neo4j.attributes.table import Attribute
from heat_neo4j.database.keys import Key, NodeKeys, name_of
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.embedding.fitting import RUNTIME_PARAMETERS, NothingToLearnError
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.link_score import LinkScore

Array = NDArray[np.float64]

_WALKS_OF_A_PICTURE = (
    50_000  # of all nodes; AUROC of edges in the plane at 40,000: .984 by one each, .986 by ten
)


def model_of(run: RunRecord) -> HEAT:
    """Return an unfitted estimator with the parameters and the seed of a run, for this machine.

    Raises ProjectionError if the run's node holds invalid parameters.
    """
    names = [name for name in signature(HEAT).parameters if name not in RUNTIME_PARAMETERS]
    parameters = {name: run.parameters[name] for name in names if name in run.parameters}
    with run.reading("parameters"):
        model = HEAT(**{**parameters, "random_state": None if run.seed is None else int(run.seed)})
        model.check_parameters()
    return model


@dataclass(frozen=True)
class Recipe:
    """The encoding of properties as attributes."""

    run: str | None = None  # the run that learned it
    entries: Sequence[Mapping[str, Any]] | None = None  # None to learn a new recipe
    notes: tuple[str, ...] = ()  # why a new recipe is learned although a run is published


def matching_recipe(projection: Projection, run: RunRecord | None) -> Recipe:
    """Return the recipe of the published run if it covers the same attributes of the same labels."""
    if run is None or not run.attribute_recipe or not projection.all_attributes:
        return Recipe()
    if _encoded(projection) == _encoded(run.unfiltered_projection):
        return Recipe(run.run_id, run.attribute_recipe)
    return Recipe(notes=(f"attributes are encoded anew: they differ from run {run.run_id}",))


def _encoded(projection: Projection) -> tuple[set[str], set[Attribute], int]:
    """Return the parts of a projection that a recipe depends on."""
    return set(projection.labels or ()), set(projection.all_attributes), projection.max_categories


def read_by_recipe(
    store: Neo4jStore,
    projection: Projection,
    recipe: Recipe,
    on_progress: Progress = no_progress,
    *,
    scratch: str | Path | None = None,
    with_keys: bool = False,
) -> tuple[Graph, tuple[str, ...]]:
    """Read a graph with attributes encoded by a recipe if possible; return it with notes for the user."""
    read = partial(
        store.read_graph, projection, scratch=scratch, with_keys=with_keys, on_progress=on_progress
    )
    try:
        graph = read(recipe.entries)
    except RecipeError as error:
        note = f"attributes are encoded anew, not as in run {recipe.run}: {error}"
        return read(), (note,)
    unknown = graph.provenance.counts.get("values_unknown_to_recipe", 0)
    if not unknown:
        return graph, recipe.notes
    values = "1 value of attributes is" if unknown == 1 else f"{unknown:,} values of attributes are"
    note = f"{values} unknown to the recipe of run {recipe.run} and left out: --new-recipe learns anew"
    return graph, (note,)


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """A published embedding, with the current graph of its run's projection.

    Nodes newer than the run have no coordinates; they are left out, with their relationships.
    """

    run: RunRecord  # the run that wrote the coordinates
    graph: Graph  # the current graph, with attributes encoded by the run's recipe
    embedding: Array  # points on the hyperboloid, shape (N, d + 1), rows as in `graph`
    notes: tuple[str, ...] = ()  # differences since the run, one line each

    @property
    def origin(self) -> dict[str, Any]:
        """The names of the model and of its run, as JSON data."""
        return {"model": self.run.model, "run": self.run.run_id}


def read_published(
    store: Neo4jStore, model: str = "heat", *, with_keys: bool = False, on_progress: Progress = no_progress
) -> PublishedModel:
    """Read the published coordinates of a model, and the current graph by its run's projection and recipe.

    Raises ProjectionError if the model has no published coordinates, the graph cannot be read, no node of the
    run is left, or another run is published concurrently.
    """
    run = store.required_run(model)
    projection = run.trusted_projection(store.trust)
    recipe = matching_recipe(projection, run)
    graph, notes = read_by_recipe(store, projection, recipe, on_progress, with_keys=with_keys)
    stored = store.read_stored(graph, model)
    _check_still_published(store, run)
    if stored is None or not stored.found.any():
        raise ProjectionError(
            f"no node of run {run.run_id} is left in the graph: `heat refresh` trains the new one"
        )
    rows = np.flatnonzero(stored.found)
    notes += tuple(_changes(run, graph, len(rows)))
    if len(rows) == graph.n_nodes:
        return PublishedModel(run, graph, stored.points(), notes)
    return PublishedModel(run, graph.among(rows), stored.points()[rows], notes)


def _changes(run: RunRecord, graph: Graph, n_found: int) -> Iterator[str]:
    """Yield the differences from the embedded graph, of which `n_found` nodes are left."""
    new, gone = graph.n_nodes - n_found, run.nodes_written - n_found
    if new:
        are = "1 node is" if new == 1 else f"{new:,} nodes are"
        yield f"{are} newer than run {run.run_id} and left out"
    if gone:
        are = "is" if gone == 1 else "are"
        yield f"{gone:,} of the {run.nodes_written:,} nodes of run {run.run_id} {are} no longer in the graph"
    if graph.n_edges != run.edge_count:
        edges = plural(graph.n_edges, "edge")
        yield f"the graph has {edges} now and had {run.edge_count:,} when it was embedded"


def read_links(store: Neo4jStore, published: PublishedModel) -> StoredLinks | None:
    """Read the published predicted links of a model, likeliest first; None if it has none.

    Raises ProjectionError if another run is published concurrently.
    """
    stored = store.read_links(published.graph, published.run.model)
    _check_still_published(store, published.run)
    return stored


def read_predicted(store: Neo4jStore, published: PublishedModel, most: int) -> NDArray[np.int64]:
    """Read at most `most` predicted links, likeliest first, as rows of the graph, shape (m, 2).

    Also raises ProjectionError if the model has no published links.
    """
    links = read_links(store, published)
    if links is None or not links.source.size:
        raise ProjectionError(f"model {published.run.model!r} has no predicted links: run `heat links`")
    return np.stack((links.source, links.target), axis=1)[:most]


def read_score(store: Neo4jStore, published: PublishedModel) -> LinkScore | None:
    """Return the link score of a published model; None if no run has fitted one.

    Raises ProjectionError if the run's node is damaged.
    """
    run = scored_run(store, published)
    return None if run is None else score_of(run)


def scored_run(store: Neo4jStore, published: PublishedModel) -> RunRecord | None:
    """Return the run that fitted the link score of a published model; None if none did.

    Prefers the run whose links are published, if it predicted them from these coordinates.
    """
    return next((each for each in _link_runs(store, published) if "link_score" in each.parameters), None)


def score_of(run: RunRecord) -> LinkScore:
    """Return the link score that a run fitted; raises ProjectionError if the run's node is damaged."""
    with run.reading("parameters"):
        return LinkScore.from_dict(run.parameters["link_score"])


def why_no_score(store: Neo4jStore, published: PublishedModel) -> str | None:
    """Return why a published model has no link score; None if no run tried to fit one."""
    reasons = (each.parameters.get("no_link_score") for each in _link_runs(store, published))
    return next((str(reason) for reason in reasons if reason), None)


def _link_runs(store: Neo4jStore, published: PublishedModel) -> Iterator[RunRecord]:
    """Yield the runs that may have fitted the link score of a published model, the preferred one first."""
    books, run = store.bookkeeping(), published.run
    of_links = (books.published(run.model).get("linkRun"), run.run_id)
    yield from (each for each in books.runs_of(run.model) if (each.run_id, each.previous_run) == of_links)
    yield run


def embed_in_plane(
    published: PublishedModel, *, n_threads: int | None = None, on_progress: Progress = no_progress
) -> Array:
    """Return points of the hyperbolic plane, shape (N, 3), rows as in the model's graph.

    If the model has two dimensions, these are the published points. Otherwise they come from a new training
    with the run's parameters and seed, two components and, for a large graph, fewer walks: one per node is
    enough from 50,000 nodes. Raises ProjectionError if the graph cannot be embedded.
    """
    if published.embedding.shape[1] == 3:
        return published.embedding
    model = model_of(published.run)
    walks = min(model.walks_per_node, max(1, _WALKS_OF_A_PICTURE // published.graph.n_nodes))
    model.set_params(n_components=2, n_threads=n_threads, walks_per_node=walks)
    with errors_as(ProjectionError, NothingToLearnError, prefix="no picture: "):
        return model.fit(published.graph, on_progress=on_progress).embedding_


def label_groups(graph: Graph) -> list[str | None]:
    """Return each node's labels as one string, None without labels; an empty list if all are the same."""
    groups = [":".join(labels) or None for labels in labels_of(graph)]
    return groups if len(set(groups)) > 1 else []


def node_names(
    store: Neo4jStore,
    published: PublishedModel,
    caption: Key | None = None,
    longest: int = 240,
    *,
    with_keys: bool = False,
) -> list[str]:
    """Return a name for each node, one line with at most `longest` characters.

    The name is the value of the property `caption`, which may depend on the label; by default of the run's
    key. A node without a value is named by the key, or by its label and the number in its element id. With
    `with_keys`, captions that several nodes share are followed by the key in brackets. Raises ProjectionError
    if no node has a label of `caption`, or no node of that label has the property.
    """
    graph, projection = published.graph, published.run.unfiltered_projection
    values = name_values(store, published, caption)
    if caption:
        by_key = name_values(store, published)
        if with_keys:
            values = _with_keys(values, by_key)
        values = [key if value is None else value for value, key in zip(values, by_key, strict=True)]
    return [
        name_of(value, labels, element_id, first=projection.labels or (), longest=longest)
        for value, labels, element_id in zip(values, labels_of(graph), graph.node_ids, strict=True)
    ]


def _with_keys(values: Sequence[Any], keys: Sequence[Any]) -> list[Any]:
    """Return values, those that come several times with the node's key, if it has one, in brackets."""
    texts = [None if value is None else display_text(value) for value in values]
    uses = Counter(texts)
    return [
        f"{text} ({key})" if text is not None and key is not None and uses[text] > 1 else value
        for text, key, value in zip(texts, keys, values, strict=True)
    ]


def name_values(store: Neo4jStore, published: PublishedModel, caption: Key | None = None) -> list[Any]:
    """Return the property that names each node, as it is stored; None where a node lacks it.

    `caption` and errors are as for `node_names`.
    """
    graph = published.graph
    keys = NodeKeys.of(caption) if caption else published.run.unfiltered_projection.keys
    places = keys.places(graph.labels, graph.n_nodes)
    values = keys.values({name: store.read_property(graph, name) for name in keys.properties}, places)
    if caption:
        _check_captions(graph, keys, places, values)
    return values


def names_of_rows(
    store: Neo4jStore, graph: Graph, projection: Projection, rows: Sequence[int]
) -> dict[int, str]:
    """Return the names of some nodes of a graph, in the form of `node_names`."""
    ids = {row: graph.node_ids[row] for row in rows}
    keys = projection.keys.properties
    properties = store.properties_of(list(ids.values()), keys) if keys else {}
    names = {}
    for row, element_id in ids.items():
        labels = graph.labels_at(row)
        value = projection.keys.value_of(labels, properties.get(element_id, {}))
        names[row] = name_of(value, labels, element_id, first=projection.labels or ())
    return names


def _check_captions(graph: Graph, keys: NodeKeys, places: NDArray[np.int64], values: Sequence[Any]) -> None:
    named = np.array([value is not None for value in values])
    for place, label in enumerate(keys.labels):
        if label not in graph.labels:
            hint = did_you_mean(label, graph.labels) or f": there are {', '.join(graph.labels) or 'none'}"
            raise ProjectionError(f"no node of the projection has the label {label!r}{hint}")
        own = places == place
        if own.any() and not named[own].any():
            name = keys.by_label[label]
            raise ProjectionError(f"no node of label {label!r} has the property {name!r} to be named by")


def labels_of(graph: Graph) -> list[list[str]]:
    """Return the labels of each node."""
    labels: list[list[str]] = [[] for _ in range(graph.n_nodes)]
    for label, carries in graph.labels.items():
        for row in np.flatnonzero(carries).tolist():
            labels[row].append(label)
    return labels


def texts(values: Sequence[Any], longest: int = 40) -> list[str | None]:
    """Return property values as one-line strings of at most `longest` characters; None if missing."""
    return [display_text(value, longest) or None for value in values]


def _check_still_published(store: Neo4jStore, run: RunRecord) -> None:
    if store.required_run(run.model).run_id != run.run_id:
        raise ProjectionError(f"model {run.model!r} was republished while it was read: read again")
