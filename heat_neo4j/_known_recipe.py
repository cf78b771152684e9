"""The recipe of a published run, by which the next run encodes its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j._progress import Progress, no_progress
from heat_neo4j.attributes import Attribute, RecipeError
from heat_neo4j.database import Neo4jStore, Projection, RunRecord
from heat_neo4j.graph import Graph

__all__ = ["KnownRecipe", "known_recipe", "read_by_recipe"]


@dataclass(frozen=True)
class KnownRecipe:
    """The recipe of an earlier run, if there is one for what is to be read.

    Parameters
    ----------
    run : str, optional
        Id of the run whose recipe it is.
    entries : sequence of mappings, optional
        The recipe; None to learn one.
    notes : tuple of str
        Why it is learnt anew though a run is published, if that was not asked for.
    """

    run: str | None = None
    entries: Sequence[Mapping[str, Any]] | None = None
    notes: tuple[str, ...] = ()


def known_recipe(run: RunRecord | None, projection: Projection) -> KnownRecipe:
    """Return the recipe of the published run, if the projection reads the same attributes of the same labels.

    Parameters
    ----------
    run : RunRecord or None
        From `Neo4jStore.published_run`.
    projection : Projection
        What is to be read.
    """
    if run is None or not run.attribute_recipe or not projection.all_attributes:
        return KnownRecipe()
    if _decisive(projection) == _decisive(Projection.from_dict(run.projection)):
        return KnownRecipe(run.run_id, run.attribute_recipe)
    return KnownRecipe(notes=(f"attributes are encoded anew: those of run {run.run_id} were others",))


def read_by_recipe(
    store: Neo4jStore, projection: Projection, known: KnownRecipe, on_progress: Progress = no_progress
) -> tuple[Graph, tuple[str, ...]]:
    """Read a graph, its attributes encoded by a known recipe if they fit it.

    Returns
    -------
    graph : Graph
    notes : tuple of str
        What the user should know of the recipe.

    Raises
    ------
    ProjectionError, ConnectionFailed
        As for `Neo4jStore.read_graph`.
    """
    try:
        graph = store.read_graph(projection, known.entries, on_progress=on_progress)
    except RecipeError as error:
        note = f"attributes are encoded anew, not as in run {known.run}: {error}"
        return store.read_graph(projection, on_progress=on_progress), (note,)
    unknown = graph.provenance.counts.get("values_unknown_to_recipe", 0)
    if not unknown:
        return graph, known.notes
    what = "1 value of attributes is" if unknown == 1 else f"{unknown:,} values of attributes are"
    return graph, (f"{what} unknown to the recipe of run {known.run} and left out: --new-recipe learns anew",)


def _decisive(projection: Projection) -> tuple[set[str], set[Attribute], int]:
    """Return what a recipe is for."""
    return set(projection.labels or ()), set(projection.all_attributes), projection.max_categories
