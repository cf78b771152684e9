"""The short transactions of a run: claiming a slot at its start, and the flip at its end.

A model node tells the number of the published version, and is the lock under which runs start, publish and
are condemned. A version is a node of its own that never changes, made in a transaction before the flip: so
the flip changes one number, and whoever reads that number has all of a version. (Neo4j keeps no snapshots: of
several properties that one transaction changes, a reader can see some old and some new.)

Every batch of a run locks one of the run's lanes, relationships from its node to itself, so that as many
batches go on at once. Whoever takes a run's right to write away deletes its lanes, so no batch is under way
when they have it, and none comes after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.index.vector_indexes import refuse_foreign_indexes
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import lock_model, make_model
from heat_neo4j.database.runs import EMBEDDING, LINKS, RunRecord, read_address, read_bookkeeping
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.database.versions import (
    Address,
    previous_address,
    published,
    rolled_back,
    runs_of,
    version_of,
    without_runs,
)
from heat_neo4j.database.write.batches import LANES, taken_over
from heat_neo4j.database.write.refusals import refuse_foreign_values, refuse_taken_names
from heat_neo4j.errors import ProjectionError, WriteFailed, WriteRefused

__all__ = [
    "Claim",
    "condemn",
    "note_error",
    "note_rejected",
    "publish",
    "roll_back",
    "survey_and_claim",
    "turn",
]

_ATTEMPTS = 5
_LOOKS = 3


class _Overtaken(WriteFailed):
    """Others turned the model between the two transactions of a turn."""


@dataclass(frozen=True)
class Claim:
    """What a run asks for when it starts.

    Parameters
    ----------
    names : WriteNames
        Names to write under.
    parts : tuple of str
        "embedding", "links" or both.
    overwrite : bool
        Whether values of the same names from elsewhere may be overwritten.
    record : RunRecord
        What is known of the run before its slot is.
    """

    names: WriteNames
    parts: tuple[str, ...]
    overwrite: bool
    record: RunRecord


def survey_and_claim(connection: Connection, claim: Claim, *, dry_run: bool = False) -> RunRecord:
    """See that nothing of others is in the way, then register the run; return it with the slot it got.

    Unfinished runs of the same model lose their right to write here.

    Raises
    ------
    WriteRefused
        If names are taken, or the user may not write. No run node is left then.
    WriteFailed
        If other runs of the model kept starting and publishing at the same moment.
    """
    model = claim.names.model
    for attempt in range(_ATTEMPTS):
        book = read_bookkeeping(connection)
        refuse_taken_names(book, claim.names, claim.parts)
        try:
            if not claim.overwrite:
                refuse_foreign_values(connection, book, claim.names, claim.parts)
            if EMBEDDING in claim.parts:
                refuse_foreign_indexes(connection, claim.names, claim.record.labels)
        except WriteRefused:
            # Perhaps values of a run that started after the runs were read: a user's own are there again.
            if attempt < _LOOKS - 1:
                continue
            raise
        before = book.published(model).get("run")
        record = replace(_placed(claim, book.free_slot(model)), previous_run=before)
        if dry_run or _register(connection, claim, record):
            return record
    raise WriteFailed(
        f"other runs of model {model!r} started at the same time, again and again: repeat later"
    )


def _placed(claim: Claim, slot: int) -> RunRecord:
    """Return the run's record with the names it writes under."""
    record = replace(claim.record, slot=slot)
    if EMBEDDING in claim.parts:
        names = claim.names.slot(slot)
        record = replace(
            record,
            embedding_property=names.embedding,
            radius_property=names.radius,
            run_property=names.run,
            vector_property=names.vector,
        )
    return replace(record, link_type=claim.names.link_type) if LINKS in claim.parts else record


def _register(connection: Connection, claim: Claim, record: RunRecord) -> bool:
    """Make the run node and abandon unfinished runs; False if the model changed since it was surveyed."""
    model, run = {"model": record.model}, {"run": record.run_id}
    properties = record.to_node()

    def register(transaction: Transaction) -> bool:
        if not lock_model(transaction, record.model):
            return False
        book = read_bookkeeping(transaction)
        if book.free_slot(record.model) != record.slot:
            return False
        refuse_taken_names(book, claim.names, claim.parts)
        transaction.run(load_statement("write/runs_abandon"), {**model, **run})
        transaction.run(load_statement("write/run_create"), {**run, "properties": properties, "lanes": LANES})
        transaction.run(load_statement("write/run_previous"), run)
        return True

    make_model(connection, record.model, doing="starting a run")
    return write(connection, register, doing="starting a run")


def turn(
    connection: Connection,
    model: str,
    change: Callable[[Address], Address],
    work: Callable[[Transaction, str | None], object],
    *,
    doing: str,
) -> None:
    """Turn readers of a model to another version, whose node is made beforehand.

    Parameters
    ----------
    connection : Connection
        Where.
    model : str
        Whose.
    change : callable
        Returns the properties of the version to come, from those of the published one; called in both
        transactions. What it raises ends all.
    work : callable
        What else belongs into the transaction that turns readers; called with the element id of the model's
        (locked) node, None if it has none. Done without a turn if nothing changes.
    doing : str
        What for, in messages.

    Raises
    ------
    WriteFailed
        If others turned the model, again and again.
    """
    for _ in range(_ATTEMPTS):
        asked = {"model": model, "token": uuid4().hex}
        write(connection, partial(_prepare, asked=asked, change=change), doing=doing)
        with suppress(_Overtaken):
            return write(connection, partial(_flip, asked=asked, change=change, work=work), doing=doing)
    raise WriteFailed(f"model {model!r} was changed by others, again and again: repeat later")


def publish(connection: Connection, record: RunRecord, address: Address) -> None:
    """Flip the model to the run, in one small transaction.

    Parameters
    ----------
    connection : Connection
        Where to.
    record : RunRecord
        The run, as its node shall have it.
    address : mapping of str to property value
        What the run sends readers to.

    Raises
    ------
    WriteFailed
        If the run was taken over or cleared.
    """
    asked = {"run": record.run_id, "outcome": record.to_node()}

    def finish(transaction: Transaction, node: str | None) -> None:
        if not transaction.run(load_statement("write/publish"), {**asked, "node": node}).records:
            raise taken_over(record.model)

    change = partial(published, parts=address)
    turn(connection, record.model, change, finish, doing="publishing")


def roll_back(connection: Connection, model: str) -> tuple[str | None, str | None]:
    """Let readers see the version before instead of the published one, which is kept in its place.

    Returns
    -------
    tuple of str or None
        The runs whose coordinates and whose links are published now.

    Raises
    ------
    ProjectionError
        If no version before is kept.
    WriteFailed
        If another run was published, or that version was removed, meanwhile.
    """
    target = runs_of(previous_address(read_address(connection, model)))
    if not any(target):
        raise ProjectionError(f"model {model!r} has no version before the published one in this database")

    def change(version: Address) -> Address:
        if runs_of(version) == target:
            return version_of(version)  # another went back meanwhile
        if runs_of(previous_address(version)) != target:
            raise WriteFailed(
                f"another run of model {model!r} was published, or the version before was removed, "
                "meanwhile: nothing was rolled back"
            )
        return rolled_back(version)

    def note(transaction: Transaction, node: str | None) -> None:
        transaction.run(load_statement("write/rollback"), {"node": node})

    turn(connection, model, change, note, doing="rolling back")
    return target


def condemn(connection: Connection, runs: Sequence[RunRecord]) -> None:
    """Take `runs` out of publication, and from whoever still writes them, so that they can be removed."""
    for model in sorted({run.model for run in runs}):
        chosen = [run.run_id for run in runs if run.model == model]

        def note(transaction: Transaction, _: str | None, chosen: Sequence[str] = chosen) -> None:
            transaction.run(load_statement("write/runs_condemn"), {"runs": chosen})

        turn(connection, model, partial(without_runs, runs=chosen), note, doing="clearing")


def note_rejected(connection: Connection, record: RunRecord) -> None:
    """Make the node of a run that did not pass the quality gate and wrote nothing."""
    run = {"run": record.run_id}

    def note(transaction: Transaction) -> None:
        properties = {"properties": record.to_node()}
        transaction.run(load_statement("write/run_rejected"), {**run, **properties})
        transaction.run(load_statement("write/run_previous"), run)

    write(connection, note, doing="recording a rejected run")


def note_error(connection: Connection, run_id: str, error: str) -> None:
    """Write on the node of an unfinished run why it stopped."""
    parameters = {"run": run_id, "error": error}
    write(
        connection,
        lambda noted: noted.run(load_statement("write/run_error"), parameters),
        doing="noting an error",
    )


def _prepare(
    transaction: Transaction, *, asked: Mapping[str, Any], change: Callable[[Address], Address]
) -> None:
    """Make the node of the version that `change` asks for, if that is another than the published one."""
    node = {"node": lock_model(transaction, asked["model"])}
    version = read_address(transaction, asked["model"])
    properties = change(version)
    if properties != version_of(version):
        # Also those of others that were made for the same number; and of a repetition after a commit.
        transaction.run(load_statement("write/versions_forget"), node)
        made = {**node, "token": asked["token"], "properties": properties}
        transaction.run(load_statement("write/version_create"), made)


def _flip(
    transaction: Transaction,
    *,
    asked: Mapping[str, Any],
    change: Callable[[Address], Address],
    work: Callable[[Transaction, str | None], object],
) -> None:
    """Turn readers to the version that was made, unless others turned the model in between."""
    node = lock_model(transaction, asked["model"])
    version = read_address(transaction, asked["model"])
    if version.get("token") == asked["token"]:
        return  # by a commit of which no answer came
    work(transaction, node)
    turned = change(version) != version_of(version)
    made = {"node": node, "token": asked["token"]}
    if turned and not transaction.run(load_statement("write/version_turn"), made).records:
        raise _Overtaken
    for statement in ("write/runs_supersede", "write/published_unlink", "write/published_link"):
        transaction.run(load_statement(statement), {"node": node})
