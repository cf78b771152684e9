"""Removing what runs wrote, in batches: exactly that, and in any order of kills and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.index.vector_indexes import drop_indexes
from heat_neo4j.database.publish.lease import Lease
from heat_neo4j.database.publish.publication import condemn, switch_version
from heat_neo4j.database.runs import EMBEDDING, LINKS, RunRecord, read_bookkeeping
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.database.versions import without_previous
from heat_neo4j.errors import WriteRefused

__all__ = ["RECORDS", "ClearReport", "clear", "prune", "sweep"]

RECORDS = 100
"""Nodes of earlier runs that a model keeps."""

# Ids are found by a scan of the graph (or of the type), so many at a time, and removed a batch at a time.
_IDS_PER_SCAN = 200_000
_BATCH = 10_000


@dataclass(frozen=True)
class ClearReport:
    """What `clear` removed, or would remove.

    Parameters
    ----------
    runs, models : tuple of str
        Ids of the runs, and names of the models of which nothing is left.
    nodes, links : int
        Nodes that lost coordinates, once for each version of them, and predicted links deleted.
    dry_run : bool
        Whether nothing was removed.
    """

    runs: tuple[str, ...]
    models: tuple[str, ...]
    nodes: int
    links: int
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }


def clear(
    connection: Connection,
    *,
    run_id: str | None = None,
    model: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    on_progress: Progress = no_progress,
) -> ClearReport:
    """Remove what one run, one model or all of our runs wrote; see `Neo4jStore.clear`."""
    if (run_id is not None) + (model is not None) + bool(everything) != 1:
        raise ValueError("clear needs exactly one of run_id, model and everything=True")
    book = read_bookkeeping(connection, history=True)
    chosen = [run for run in book.runs if everything or model == run.model or run_id == run.run_id]
    if run_id is not None and not chosen:
        raise WriteRefused(f"there is no run {run_id!r} in this database: `heat runs` lists them")
    names = {node["name"] for node in book.models if everything or node["name"] == model}
    names |= {run.model for run in chosen}
    counts = {(run.run_id, part): _count(connection, run, part) for run in chosen for part in run.stored}
    if dry_run:
        kept = {run.model for run in book.runs if run not in chosen}
        return _report(chosen, names - kept, counts, dry_run=True)
    progress = _Counter(on_progress, "remove", sum(counts.values()))
    for name in sorted(names):
        with Lease(connection, name) as lease:
            of_model = [run for run in chosen if run.model == name]
            condemn(connection, lease, of_model)
            for run in of_model:
                for part in run.stored:
                    counts[run.run_id, part] = _remove(connection, lease, run, part, progress)
                _delete_run(connection, run)
    progress.finish()
    # With its lease went the node of a model of which no run is left.
    gone = names - {node["name"] for node in read_bookkeeping(connection).models}
    return _report(chosen, gone, counts, dry_run=False)


def sweep(connection: Connection, lease: Lease, on_progress: Progress = no_progress) -> None:
    """Remove what dead runs of a model left, their nodes included, and versions that are not kept."""
    book = read_bookkeeping(connection)
    parts = list(book.leftovers(lease.model))
    progress = _Counter(on_progress, "remove old version", sum(_count(connection, *each) for each in parts))
    for run, part in parts:
        _remove(connection, lease, run, part, progress)
    for run in book.runs_of(lease.model):
        if run.status == "removing":
            _delete_run(connection, run)

    def forget(transaction: Transaction) -> None:
        node = lease.lock(transaction)
        transaction.run(load_statement("write/versions_forget"), {"node": node})

    write(connection, forget, doing="forgetting old versions")
    progress.finish()


def prune(
    connection: Connection,
    lease: Lease,
    *,
    records: int = RECORDS,
    previous: bool = False,
    on_progress: Progress = no_progress,
) -> int:
    """Remove what no reader needs; return how many run nodes were forgotten. See `Neo4jStore.prune`."""

    def forget(transaction: Transaction) -> int:
        lease.lock(transaction)
        parameters = {"model": lease.model, "records": records}
        return int(transaction.run(load_statement("write/runs_forget"), parameters).records[0]["forgotten"])

    if previous:
        switch_version(connection, lease, without_previous, lambda _, __: None, doing="pruning")
    sweep(connection, lease, on_progress)
    return write(connection, forget, doing="pruning")


class _Counter:
    """Progress over several removals; it ends at its total even if a user removed some of it meanwhile."""

    def __init__(self, on_progress: Progress, stage: str, total: int) -> None:
        self._on_progress, self._stage, self._total, self._done = on_progress, stage, total, 0
        if total:
            on_progress(stage, 0, total)

    def add(self, count: int) -> None:
        done = min(self._done + count, self._total)
        if done > self._done:
            self._done = done
            self._on_progress(self._stage, done, self._total)

    def finish(self) -> None:
        self.add(self._total - self._done)


def _count(connection: Connection, run: RunRecord, part: str) -> int:
    if not _is_named(run, part):
        return 0
    found = connection.read(
        _statement(run, part, "count"), {"run": run.run_id}, doing="counting what a run wrote"
    )
    return int(found[0]["found"])


def _remove(connection: Connection, lease: Lease, run: RunRecord, part: str, progress: _Counter) -> int:
    """Remove one part of a run's values; return how many nodes or relationships lost them."""
    noted = _held(lease, run, part, load_statement("write/part_removed"), {"run": run.run_id, "part": part})
    if not _is_named(run, part):
        write(connection, noted, doing="removing what a run wrote")
        return 0
    if (
        part == EMBEDDING
        and write(connection, _held(lease, run, part), doing="removing what a run wrote") == 0
    ):
        drop_indexes(connection, run)  # first: values under an index take longer to remove
    find, remove = _statement(run, part, "of_run"), _statement(run, part, "remove")
    removed = 0
    while True:
        limited = {"run": run.run_id, "limit": _IDS_PER_SCAN}
        ids = connection.read(find, limited, doing="looking for what a run wrote")[0]["ids"]
        for begin in range(0, len(ids), _BATCH):
            batch = {"run": run.run_id, "ids": ids[begin : begin + _BATCH]}
            count = write(
                connection, _held(lease, run, part, remove, batch), doing="removing what a run wrote"
            )
            if count is None:
                return removed
            removed += count
            progress.add(count)
        if len(ids) < _IDS_PER_SCAN:
            break
    write(connection, noted, doing="removing what a run wrote")
    return removed


def _is_named(run: RunRecord, part: str) -> bool:
    """Return whether the run's node still says under which names the part lies in the graph."""
    names = (run.run_property, run.embedding_property, run.radius_property)
    return all(names) if part == EMBEDDING else bool(run.link_type)


def _held(
    lease: Lease,
    run: RunRecord,
    part: str,
    statement: str | None = None,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[Transaction], int | None]:
    """Return work that runs `statement` with the run's node locked; None if the part must stay."""

    def work(transaction: Transaction) -> int | None:
        hold = {"run": run.run_id, "part": part, "holder": lease.holder}
        if not transaction.run(load_statement("write/removal_hold"), hold).records:
            return None
        records = [] if statement is None else transaction.run(statement, parameters).records
        return int(records[0]["removed"]) if records else 0

    return work


def _statement(run: RunRecord, part: str, action: str) -> str:
    if part == EMBEDDING:
        identifiers = {"run": run.run_property or ""}
        if action == "remove":
            embedding = run.embedding_property or ""
            identifiers |= {"embedding": embedding, "radius": run.radius_property or ""}
            identifiers["vector"] = run.vector_property or embedding  # runs of early versions have none
        return load_statement(f"write/coordinates_{action}", **identifiers)
    return load_statement(f"write/links_{action}", type=run.link_type or "")


def _delete_run(connection: Connection, run: RunRecord) -> None:
    parameters = {"run": run.run_id}
    write(
        connection,
        lambda deleted: deleted.run(load_statement("write/run_delete"), parameters),
        doing="clearing",
    )


def _report(
    chosen: list[RunRecord], models: set[str], counts: dict[tuple[str, str], int], *, dry_run: bool
) -> ClearReport:
    nodes, links = (
        sum(count for (_, part), count in counts.items() if part == wanted) for wanted in (EMBEDDING, LINKS)
    )
    return ClearReport(tuple(run.run_id for run in chosen), tuple(sorted(models)), nodes, links, dry_run)
