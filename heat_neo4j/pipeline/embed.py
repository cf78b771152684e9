"""The main job as one call: read a projection, embed it, predict links, write both and publish them.

This is what ``heat embed`` and ``heat links`` run, and the unit that a scheduler runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord, nothing_published
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import COORDINATES
from heat_neo4j.embedding.compiling import begin_compiling
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.pipeline.checkpoint import Checkpoint
from heat_neo4j.pipeline.estimate import check_memory, run_size
from heat_neo4j.pipeline.fingerprint import fingerprint
from heat_neo4j.pipeline.publishing import LinkOptions, Result, RunReport, Target
from heat_neo4j.pipeline.settings import KnownRecipe, known_recipe, read_by_recipe, settings_of
from heat_neo4j.pipeline.stages import Clock, fit_law, known_law, learn, notes_on, recorded_links

__all__ = ["LinkOptions", "RunReport", "embed", "model_of", "predict", "published_run"]

_DEFAULT_NAMES = WriteNames()
_DEFAULT_LINKS = LinkOptions()


def embed(
    store: Neo4jStore,
    projection: Projection,
    model: HEAT,
    *,
    names: WriteNames = _DEFAULT_NAMES,
    coordinates: str = "poincare",
    links: LinkOptions | None = _DEFAULT_LINKS,
    choose: Sequence[str] = (),
    choose_seconds: float | None = None,
    memory_limit: int | None = None,
    checkpoint: Path | None = None,
    new_recipe: bool = False,
    overwrite: bool = False,
    index: bool = True,
    dry_run: bool = False,
    on_progress: Progress = no_progress,
) -> RunReport:
    """Embed a projection of the database and publish coordinates and predicted links together.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    projection : Projection
        What to read.
    model : HEAT
        The estimator; it is fitted here, with the chosen parameters if some are to be chosen.
    names : WriteNames
        Names to write under.
    coordinates : {"poincare", "hyperboloid", "klein"}
        What to store.
    links : LinkOptions, optional
        Which links to predict; None for none. Earlier predicted links of the model then stay published.
    choose : sequence of str
        Parameters to choose by `choose_parameters`; the run records what was tried. Where nothing can be
        chosen the model's own values are taken, and a note says why.
    choose_seconds : float, optional
        Time to spend on that.
    memory_limit : int, optional
        Bytes that this process may use: a run that is estimated to need more is refused before it begins.
    checkpoint : Path, optional
        A file that keeps what was computed until it is published. Another attempt on the same graph with the
        same parameters goes on from there; one on another graph, or with others, replaces it.
    new_recipe : bool
        Learn anew how properties become attributes. Otherwise the recipe of the model's published run is
        applied if it is for the same attributes and the values fit it; a note says if it is not.
    overwrite : bool
        Whether values of the same names that no run wrote may be overwritten.
    index : bool
        Whether a vector index is made over the coordinates, for queries of nearest nodes.
    dry_run : bool
        Do everything but write.
    on_progress : callable
        Told about the stages of reading, training, predicting and writing.

    Returns
    -------
    RunReport

    Raises
    ------
    ValueError
        If `coordinates` is none of the three, or a parameter of the model is out of range.
    ConfigError
        If the checkpoint cannot be written, or is another kind of file.
    ProjectionError
        If the projection cannot be read, or there is nothing in it to learn from.
    MemoryExceeded
        If the run would not fit.
    LeaseHeld
        If another process writes versions of the model; found out before anything is read.
    WriteRefused
        If writing would be refused; found out before training.
    WriteFailed, ConnectionFailed
        If the server was lost; what was published before is untouched.
    """
    if coordinates not in COORDINATES:
        raise ValueError(f"coordinates must be one of {', '.join(COORDINATES)}, got {coordinates!r}")
    kept = Checkpoint(checkpoint)
    begin_compiling()
    asked = model.get_params()
    if memory_limit is not None:
        check_memory(run_size(store, projection, model, links), memory_limit)
    clock = Clock()
    with nullcontext() if dry_run else store.lease(names.model) as lease:
        recipe = KnownRecipe() if new_recipe else known_recipe(store.published_run(names.model), projection)
        graph, told = read_by_recipe(store, projection, recipe, on_progress)
        clock.lap("read")
        parts = ("embedding",) if links is None else ("embedding", "links")
        target = Target(store, graph, parts, names, overwrite, index, lease, on_progress)
        target.check(links)
        learnt = learn(
            model,
            graph,
            links,
            kept,
            clock,
            choose=choose,
            choose_seconds=choose_seconds,
            on_progress=on_progress,
        )
        notes = (*told, *learnt.notes)
        recorded: dict[str, Any] = {} if learnt.choice is None else {"choice": learnt.choice.to_dict()}
        found = None
        if links is not None:
            law = learnt.law.arguments
            found = predict_links(
                model, graph, n_threads=model.n_threads, on_progress=on_progress, **law, **links.search()
            )
            clock.lap("links")
            recorded.update(recorded_links(links, found, law))
            notes += notes_on(found)
        facts = {
            "decision": "full",
            "reason": "asked for",
            "settings": settings_of(projection, asked, links, coordinates, choose),
            "fingerprint": fingerprint(graph).to_dict(),
        }
        report = target.write(
            Result(model, coordinates, found, recorded, learnt.choice, notes, facts), clock.seconds
        )
    if not dry_run:
        kept.remove()
    return report


def predict(
    store: Neo4jStore,
    model: str = "heat",
    *,
    links: LinkOptions = _DEFAULT_LINKS,
    link_type: str | None = None,
    n_threads: int | None = None,
    memory_limit: int | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: Progress = no_progress,
) -> RunReport:
    """Predict links from the published coordinates of a model and publish them in place of the last ones.

    The projection is that of the run that wrote the coordinates, with its recipe for attributes, and so is
    the probability of a link at a given distance, or the combined score; if that run fitted none, it is
    fitted now with that run's parameters.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    model : str
        Name of the model whose published coordinates are used.
    links : LinkOptions
        Which links to predict.
    link_type : str, optional
        Relationship type to write; the type of the model's last links if not given.
    n_threads : int, optional
        Threads to use; all cores when None.
    memory_limit : int, optional
        Bytes that a training for the probabilities may use, if there is to be one; no limit when None.
    overwrite, dry_run, on_progress
        As for `embed`.

    Returns
    -------
    RunReport

    Raises
    ------
    ProjectionError
        If the model has no published coordinates, or nodes without them, or its run's node is damaged.
    MemoryExceeded
        If a training would need more memory than `memory_limit`.
    LeaseHeld, WriteRefused, WriteFailed, ConnectionFailed
        As for `embed`.
    """
    clock = Clock()
    with nullcontext() if dry_run else store.lease(model) as lease:
        source = published_run(store, model)
        twin = model_of(source).set_params(n_threads=n_threads)
        names = _names_for_links(store.runs(model), model, link_type)
        recipe = KnownRecipe(source.run_id, source.attribute_recipe or None)
        projection = Projection.from_dict(source.projection)
        graph, told = read_by_recipe(store, projection, recipe, on_progress)
        target = Target(store, graph, ("links",), names, overwrite, False, lease, on_progress)
        target.check(links)
        points = store.read_embedding(graph, names=names)
        clock.lap("read")
        if links.score is None and "link_score" in source.parameters:
            if links.probability:
                links = replace(links, score="combined")
            else:
                why = "links are ranked by distance: the combined score of the run comes with probabilities"
                told = (*told, why)
        try:
            known = known_law(links, source.parameters)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise source.damage("parameters") from error
        if known is None and memory_limit is not None:
            check_memory(run_size(store, projection, twin, links), memory_limit)
        law, notes, _ = known or fit_law(twin, graph, links, on_progress)
        clock.lap("calibrate")
        found = predict_links(
            points, graph, n_threads=n_threads, on_progress=on_progress, **law, **links.search()
        )
        clock.lap("links")
        recorded = {**recorded_links(links, found, law), "embedding_run": source.run_id}
        told = (*told, *notes, *notes_on(found))
        return target.write(Result(links=found, parameters=recorded, notes=told), clock.seconds)


def published_run(store: Neo4jStore, model: str) -> RunRecord:
    """Return the run whose coordinates are published.

    Raises
    ------
    ProjectionError
        If none is.
    """
    run = store.published_run(model)
    if run is None:
        raise nothing_published(model)
    return run


def model_of(run: RunRecord) -> HEAT:
    """Return an unfitted estimator with the parameters and the seed of a run.

    Raises
    ------
    ProjectionError
        If the run's node has been changed, and says what no run could have had.
    """
    known = {name: run.parameters[name] for name in signature(HEAT).parameters if name in run.parameters}
    try:
        model = HEAT(**{**known, "random_state": None if run.seed is None else int(run.seed)})
        model.check_parameters()
    except (TypeError, ValueError) as error:
        raise run.damage("parameters") from error
    return model


def _names_for_links(runs: Sequence[RunRecord], model: str, link_type: str | None) -> WriteNames:
    """Return names with `link_type`, or else the type that the model's links last had."""
    known = [run.link_type for run in runs if run.link_type is not None]
    return WriteNames(model=model, link_type=link_type or (known[0] if known else ""))
