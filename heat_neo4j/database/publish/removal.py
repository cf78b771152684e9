"""Remove the data of runs: published and kept copies, indexes, and run nodes.

All nodes are scanned for coordinates, so nothing is left on nodes that have lost their labels.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.index.vector_indexes import drop_indexes, own_indexes
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import Lease
from heat_neo4j.database.publish.publication import await_readers, finish, switch_version, write_lease
from heat_neo4j.database.publish.reach import EVERYWHERE
from heat_neo4j.database.runs import DAMAGED, Bookkeeping, RunRecord, nodes_with, read_bookkeeping
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.versions import RUN_ID, Version, previous_of, runs_of, without_previous, without_runs
from heat_neo4j.errors import WriteRefused

RECORDS = 100
"""Number of earlier run nodes that a model keeps."""


@dataclass(frozen=True, repr=False)
class ClearReport(Result):
    """Result of `clear`: removed data, or data that would be removed.

    Parameters
    ----------
    runs : tuple of str
        Ids of the cleared runs.
    models : tuple of str
        Models that were removed completely.
    nodes : int
        Number of nodes that lost coordinates or other values, counted once per version and model.
    links : int
        Number of removed links.
    dry_run : bool
        Whether nothing was removed.
    others : tuple of str
        Other runs whose version is removed too, published or kept for a rollback, as it shares cleared data.
    """

    runs: tuple[str, ...]
    models: tuple[str, ...]
    nodes: int
    links: int
    dry_run: bool
    others: tuple[str, ...] = ()


def clear(
    connection: Connection,
    *,
    run_id: str | None = None,
    model: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    on_progress: Progress | bool = False,
) -> ClearReport:
    """Remove what runs have written, and only that.

    Removes coordinates, radii, run ids, predicted links and run nodes, and a model's node with its last run;
    with a model also the classes and clusters made from it. A published run is unpublished first. If a local
    refresh made it, the previous version goes too, because both share nodes; roll back first to keep it.
    Your own nodes, relationships and properties stay.

    Parameters
    ----------
    run_id : str, optional
        Clear one run; `heat runs` lists them.
    model : str, optional
        Clear all runs of a model. An unknown model is ignored.
    everything : bool
        Clear all runs of all models.
    dry_run : bool
        Only report what would be removed.
    on_progress : callable or bool
        Called with ("remove", 0 or 1, 1) for each model; True draws bars.

    Returns
    -------
    ClearReport
        What was removed, or would be.

    Raises
    ------
    ValueError
        Unless exactly one of `run_id`, `model` and `everything` is given.
    WriteRefused
        If there is no such run, or the user may not write.
    """
    on_progress = as_progress(on_progress)
    if (run_id is not None) + (model is not None) + bool(everything) != 1:
        raise ValueError("clear needs exactly one of run_id, model and everything=True")
    book = read_bookkeeping(connection, history=True)
    chosen = [
        run
        for run in book.runs
        if everything
        or run_id == run.run_id
        or (model is not None and (model == run.model or _is_beside(run, model)))
    ]
    if run_id is not None and not chosen:
        raise WriteRefused(f"there is no run {run_id!r} in this database: `heat runs` lists them")
    names = {node["name"] for node in book.models if everything or node["name"] == model}
    names |= {run.model for run in chosen}
    removed = []
    for name in sorted(names):
        if dry_run:
            removed.append(_count(connection, book, name, chosen))
        else:
            with Lease(connection, name) as lease:
                removed.append(_clear_model(lease, chosen, on_progress))
    if dry_run:
        remaining = {run.model for run in book.runs if run not in chosen}
    else:  # the node of a model without runs was removed with its lease
        remaining = {node["name"] for node in read_bookkeeping(connection).models}
    return ClearReport(
        runs=tuple(run.run_id for run in chosen),
        models=tuple(sorted(names - remaining)),
        nodes=sum(each.nodes for each in removed),
        links=sum(each.links for each in removed),
        dry_run=dry_run,
        others=tuple(run for each in removed for run in each.others),
    )


class _Removed(NamedTuple):
    """Numbers of changed nodes (once per copy) and links, and the other runs that were removed."""

    nodes: int
    links: int
    others: tuple[str, ...]


def _is_beside(run: RunRecord, model: str) -> bool:
    """Return whether a run wrote classes, clusters or duplicates of a model's nodes."""
    is_same_as = run.model == WriteNames.of_duplicates(model).model and "duplicates" in run.parameters
    return is_same_as or run.names.is_beside(model)


def _clear_model(lease: Lease, chosen: list[RunRecord], on_progress: Progress) -> _Removed:
    """Remove the data of the chosen runs of the lease's model."""
    runs = [run.run_id for run in chosen if run.model == lease.model]
    book = read_bookkeeping(lease.connection, history=True)
    is_interrupted = lease.staging is not None
    if is_interrupted and not _are_all(book, lease.model, runs):
        finish(lease, damaged_too=True)
        book, is_interrupted = read_bookkeeping(lease.connection, history=True), False
    version = book.remains(lease.model)
    after = _without(book, lease.model, runs)
    names = book.names(lease.model)
    on_progress("remove", 0, 1)
    is_other = runs_of(after) != runs_of(version) or previous_of(after) != previous_of(version)
    if is_other or version.get(DAMAGED):
        if after:
            switch_version(lease, after, doing="clearing")
        else:
            lease.write("write/version_drop", doing="clearing")
        await_readers(lease.connection)
    if "run" not in after:
        indexes = [index.name for index in own_indexes(lease.connection, names) if index.is_made_here()]
        drop_indexes(lease.connection, indexes, lease.check)
    removed = {"coordinates": 0, "links": 0}
    for copy in _unread_copies(book, lease.model, names, after):
        removed[copy.kind] += _remove(lease, copy)
    if is_interrupted:
        _remove(lease, _node_copy(names, "staged", spaces=[""], run_id=RUN_ID))
        _remove(lease, _link_copy(names.links.staged))
        lease.write("write/staging_end", doing="clearing")
    lease.write("write/runs_delete", doing="clearing", runs=runs)
    on_progress("remove", 1, 1)
    return _Removed(removed["coordinates"], removed["links"], _others_lost(version, after, runs))


def _are_all(book: Bookkeeping, model: str, runs: Collection[str]) -> bool:
    """Return whether some runs are all runs of a model."""
    return all(run.run_id in runs for run in book.runs_of(model))


def _without(book: Bookkeeping, model: str, runs: Collection[str]) -> Version:
    """Return the version without some runs; empty if these are all runs of the model."""
    return {} if _are_all(book, model, runs) else without_runs(book.remains(model), runs)


def _others_lost(version: Version, after: Version, runs: Collection[str]) -> tuple[str, ...]:
    """Return the runs used by `version` but not by `after`, except `runs`."""
    lost = _parts_of(version) - _parts_of(after)
    return tuple(sorted({run for _, run in lost if run is not None and run not in runs}))


def _parts_of(version: Version) -> set[tuple[int, str | None]]:
    """Return the (part number, run) pairs of a version and of the version it is rolled back to."""
    return {part for each in (version, previous_of(version)) for part in enumerate(runs_of(each))}


def _count_needless(book: Bookkeeping, model: str, records: int, previous: bool) -> int:
    """Return the number of run nodes that `prune` deletes: those without data, except the last `records`."""
    kept = {*runs_of(version := book.published(model)), version.get("space")}
    idle = [run for run in book.runs_of(model) if run.status in ("superseded", "rejected")]
    return max(sum(not run.stored or (previous and run.run_id not in kept) for run in idle) - records, 0)


def prune(
    connection: Connection,
    model: str = "heat",
    *,
    records: int = RECORDS,
    previous: bool = False,
    dry_run: bool = False,
    lease: Lease | None = None,
    on_progress: Progress | bool = False,
) -> int:
    """Remove what no reader needs: leftovers of crashed runs, versions nobody can go back to, old run nodes.

    First completes or undoes an interrupted publication, then removes the oldest records of runs. The
    published version stays, and so does the previous one, unless you remove it too.

    Parameters
    ----------
    model : str
        Name of the model.
    records : int
        Number of latest run nodes to keep that have no other data in the graph, at least 0.
    previous : bool
        Also remove the previous version; no rollback is possible then.
    dry_run : bool
        Only count; remove nothing.
    lease : Lease, optional
        The model's lease, if the caller holds it; taken here if not given.
    on_progress : callable or bool
        Called with ("remove old version", 0 or 1, 1); True draws bars.

    Returns
    -------
    int
        How many run nodes were deleted, or would be.

    Raises
    ------
    ProjectionError
        If there is no such model.
    """
    check_integer("records", records, minimum=0)
    if lease is None:
        read_bookkeeping(connection, history=True).check_model(model)
    if dry_run:
        return _count_needless(read_bookkeeping(connection, history=True), model, records, previous)
    with nullcontext(lease) if lease else write_lease(connection, model) as held:
        return _prune(held, records, previous, as_progress(on_progress))


def _prune(lease: Lease, records: int, previous: bool, on_progress: Progress) -> int:
    if previous:
        book = read_bookkeeping(lease.connection, history=True)
        version = book.published(lease.model)
        names = book.names(lease.model)
        on_progress("remove old version", 0, 1)
        after = without_previous(version)
        if previous_of(version):
            switch_version(lease, after, doing="pruning")
        for copy in _unread_copies(book, lease.model, names, after):
            _remove(lease, copy)
        on_progress("remove old version", 1, 1)
    return int(lease.write("write/runs_forget", doing="pruning", records=records)["forgotten"])


class _Copy(NamedTuple):
    """One copy of coordinates or links, with the parameters of its statements."""

    kind: str
    identifiers: Mapping[str, str | Sequence[str]]
    parameters: Mapping[str, Any]


def _unread_copies(book: Bookkeeping, model: str, names: WriteNames, version: Version) -> list[_Copy]:
    """Return the copies of a model that no reader of `version` needs, existing or not."""
    now, before = book.remains(model), previous_of(version)
    # The node of a run may have been deleted.
    runs = [*(run.run_id for run in book.runs_of(model)), *filter(None, (*runs_of(now), now.get("space")))]
    copies = []
    if "run" not in version:
        copies.append(_node_copy(names, "plain", spaces=runs, run_id=None))
    if "run" not in before:
        copies.append(_node_copy(names, "previous", spaces=[], run_id=RUN_ID))
    if "linkRun" not in version:
        copies.append(_link_copy(names.links.plain, runs))
    if "linkRun" not in before:
        copies.append(_link_copy(names.links.previous))
    return copies


def _node_copy(names: WriteNames, copy: str, **parameters: Any) -> _Copy:
    return _Copy("coordinates", {"labels": nodes_with(EVERYWHERE), **names.copy(copy)}, parameters)


def _link_copy(link_type: str, runs: Sequence[str] | None = None) -> _Copy:
    return _Copy("links", {"type": link_type}, {"runs": runs, "kept": None, "run_id": RUN_ID})


def _remove(lease: Lease, copy: _Copy) -> int:
    """Remove a copy from the graph; return the number of changed nodes or links."""
    statement = f"write/{copy.kind}_remove"
    doing = "removing what a run wrote"
    return lease.write_all(statement, doing=doing, identifiers=copy.identifiers, **copy.parameters)


def _count(connection: Connection, book: Bookkeeping, model: str, chosen: list[RunRecord]) -> _Removed:
    """Return the data of the chosen runs of a model."""
    version, runs = book.remains(model), [run.run_id for run in chosen]
    after = _without(book, model, runs)
    lost = {"coordinates": 0, "links": 0}
    for copy in _unread_copies(book, model, book.names(model), after):
        wanted = ("labels", "run", "type")
        identifiers = {name: copy.identifiers[name] for name in wanted if name in copy.identifiers}
        statement = load_statement(f"read/{copy.kind}_count", **identifiers)
        (row,) = connection.read(statement, copy.parameters, doing="counting what a run wrote")
        lost[copy.kind] += row["found"]
    return _Removed(lost["coordinates"], lost["links"], _others_lost(version, after, runs))
