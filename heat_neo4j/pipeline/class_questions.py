"""Predicted values of a property, from a published model, and their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from heat_neo4j._utils.display import did_you_mean, display_text
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.frames import Result, Rows, column_of
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.classes.prediction import ClassificationError, predict_property
from heat_neo4j.classes.results import PredictedClasses, PredictedNumbers
from heat_neo4j.database.keys import Key
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.runs import VALUES
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ProjectionError
from heat_neo4j.inputs.values import plain_name
from heat_neo4j.pipeline.published_model import (
    PublishedModel,
    labels_of,
    model_of,
    node_names,
    read_published,
)

_IN_COORDINATES = (
    "{0} is an attribute of the model, so its coordinates reflect it and are not used here: a model without "
    "{0} may predict it better"
)


@dataclass(frozen=True, eq=False, repr=False)
class Classification(Result):
    """Predicted values of a property, for the nodes that lack it, the surest first.

    Parameters
    ----------
    published : PublishedModel
        The model, its run and its graph.
    property : str
        The predicted property.
    names : sequence of str
        Names of all nodes of the graph.
    found : PredictedClasses or PredictedNumbers
        The predictions, with figures of held-out nodes.
    notes : tuple of str
        Differences from the published run, one line each.
    written : str, optional
        Id of the run that wrote them.
    """

    published: PublishedModel
    property: str
    names: Sequence[str]
    found: PredictedClasses | PredictedNumbers
    notes: tuple[str, ...]
    written: str | None = None

    def __repr__(self) -> str:
        return repr(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def explain(self, node: str) -> Rows:
        """Return the evidence for a node, by its name; see `PredictedClasses.explain`.

        Raises ProjectionError if the node was not predicted.
        """
        try:
            return self.found.explain(node)
        except ValueError as error:
            hint = did_you_mean(node, map(str, self.found.node)) or ""
            raise ProjectionError(f"{display_text(str(error))}{hint}") from None

    def _columns(self) -> dict[str, Any]:
        return {"element_id": column_of(self._element_ids()), **self.found._columns()}

    def _element_ids(self) -> list[str]:
        return [self.published.graph.node_ids[row] for row in self.found.rows.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return all predictions, the figures and the weights of the views as JSON data."""
        data = self.found.to_dict()
        labels = labels_of(self.published.graph)
        each = zip(self._element_ids(), self.found.rows.tolist(), data["predicted"], strict=True)
        predicted = [{"element_id": own, "labels": labels[row], **rest} for own, row, rest in each]
        origin = {**self.published.origin, "property": self.property}
        return {**origin, **data, "predicted": predicted, "notes": list(self.notes), "written": self.written}


def classify(
    store: Neo4jStore,
    property: str,
    *,
    label: str | None = None,
    kind: Literal["class", "number"] | None = None,
    caption: Key | None = None,
    write: bool = False,
    model: str = "heat",
    on_progress: Progress | bool = False,
) -> Classification:
    """Predict a property of the nodes that lack it, such as a category.

    It learns from nodes that have the property: from their published coordinates, attributes, neighbours'
    attributes, relationships, and neighbours' values. Its accuracy on held-out nodes is reported. Every
    node gets one of the known values: if some nodes may have none, first give a few of these a value such as
    "none".

    Parameters
    ----------
    property : str
        Property to predict: strings, numbers or booleans.
    label : str, default: labels of nodes that have the property
        Predict nodes of this label only.
    kind : {"class", "number"}, default: number if there are more than 20 different ones
        Predict one of the known values, or any number between them.
    caption : str, or mapping of str to str, default: the projection's key
        Node property that names nodes, or those with a label.
    write : bool
        Publish the predictions as node properties, replacing earlier ones. They form a separate model, such
        as "heat-class-topic", for `rollback` and `clear`.
    model : str
        Name of the published model.
    on_progress : callable or bool
        Called with the stages of reading, "classify", and the stages of writing.

    Returns
    -------
    Classification

    Raises
    ------
    ProjectionError
        If the model is not published, fewer than 20 of its nodes have the property, its values cannot be
        learned, or no node has the label.
    WriteRefused
        If `write` is true and foreign values exist under the names of the predictions.
    """
    progress = as_progress(on_progress)
    published = read_published(store, model, with_keys=write, on_progress=progress)
    graph, seed = published.graph, model_of(published.run).random_state
    values = [plain_name(value) for value in store.read_property(graph, property)]  # NaN is no value
    is_attribute = any(entry["property"] == property for entry in graph.provenance.attribute_recipe)
    with errors_as(ProjectionError, ClassificationError, prefix=f"{property} cannot be predicted: "):
        found = predict_property(
            graph,
            None if is_attribute else published.embedding,
            values,
            kind=kind,
            label=label,
            seed=seed % 2**32 if isinstance(seed, int) else 0,
            without=property,
            on_progress=progress,
        )
    names = node_names(store, published, caption)
    notes = (*published.notes, *found.notes)
    if is_attribute:
        notes = (*notes, _IN_COORDINATES.format(property))
    written = _write(store, published, property, label, found, progress) if write else None
    return Classification(published, property, names, found.surest_first(names), notes, written)


def _write(
    store: Neo4jStore,
    published: PublishedModel,
    property: str,
    label: str | None,
    found: PredictedClasses | PredictedNumbers,
    on_progress: Progress,
) -> str:
    """Publish the predictions; return the id of the run."""
    are_numbers = isinstance(found, PredictedNumbers)
    names = WriteNames.of_classes(published.run.model, property, numbers=are_numbers)
    recorded = {**published.origin, "property": property, "label": label}
    with store.start_run(
        published.graph,
        parts=[VALUES],
        names=names,
        parameters={**recorded, "weights": dict(found.weights)},
        facts={"quality": found.figures.to_dict()},
        on_progress=on_progress,
    ) as writer:
        writer.send_values(found.rows, dict(zip(names.values, found.written(), strict=True)))
        return writer.publish().run_id
