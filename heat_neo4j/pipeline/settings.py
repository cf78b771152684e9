"""The recipe of a published run, by which the next run encodes its attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.attributes.table import Attribute
from heat_neo4j.attributes.values import RecipeError
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.publishing import LinkOptions

__all__ = [
    "KnownRecipe",
    "difference",
    "known_recipe",
    "read_by_recipe",
    "settings_of",
]

_NO_MATTER = ("n_threads", "random_state", "time_limit")  # another seed is no other wish


def settings_of(
    projection: Projection,
    parameters: Mapping[str, Any],
    links: LinkOptions | None,
    coordinates: str,
    choose: Sequence[str],
) -> dict[str, Any]:
    """Return all that decides a version beside the graph and the seed, as JSON data.

    Parameters
    ----------
    projection : Projection
        What is read.
    parameters : mapping
        Of the estimator, before any is chosen.
    links : LinkOptions, optional
        Which links are predicted; None for none.
    coordinates : str
        What is stored.
    choose : sequence of str
        Parameters that are chosen for the graph.
    """
    told = {name: "auto" if name in choose else value for name, value in parameters.items()}
    settings = {
        "projection": projection.to_dict(),
        "model": {name: value for name, value in sorted(told.items()) if name not in _NO_MATTER},
        "links": None if links is None else {**asdict(links), "score": links.score or "distance"},
        "coordinates": coordinates,
    }
    # As it will be read back: tuples become lists, scalars of numpy numbers.
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=np.generic.item))
    return plain


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first setting that differs, in words; None if none does."""
    for part, wanted in now.items():
        known = before.get(part)
        if known == wanted:
            continue
        if not (isinstance(known, Mapping) and isinstance(wanted, Mapping)):
            return f"{part} was {_shown(known)} and is {_shown(wanted)}"
        for name in dict.fromkeys((*wanted, *known)):
            if known.get(name) != wanted.get(name):
                return f"{name} was {_shown(known.get(name))} and is {_shown(wanted.get(name))}"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "on"
    return "off" if value is None else str(value)


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
