"""The short transactions of a run: claiming a slot at its start, and switching readers to it at its end.

A model node tells the number of the published version, and is the lock under which runs start, publish and
are marked for removal, each by the holder of the model's lease. A version is a node of its own that never
changes, made in a transaction before the switch: so the switch changes one number, and whoever reads that
number has all of a version. (Neo4j keeps no snapshots: of several properties that one transaction changes, a
reader can see some old and some new.)

Every batch of a run locks one of the run's lanes, relationships from its node to itself, so that as many
batches go on at once. Whoever takes a run's right to write away deletes its lanes, so no batch is under way
when they have it, and none comes after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.index.vector_indexes import refuse_foreign_indexes
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import Lease
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
from heat_neo4j.database.write.batches import LANES, lease_lost
from heat_neo4j.database.write.refusals import refuse_foreign_values, refuse_taken_names
from heat_neo4j.errors import ProjectionError, WriteRefused

__all__ = [
    "Claim",
    "claim_slot",
    "condemn",
    "note_error",
    "note_rejected",
    "publish",
    "roll_back",
    "survey",
    "switch_version",
]

_LOOKS = 3


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


def survey(connection: Connection, claim: Claim) -> RunRecord:
    """See that nothing of others is in the way; return the run's record with the slot it would get.

    Raises
    ------
    WriteRefused
        If names are taken.
    """
    for look in range(1, _LOOKS + 1):
        book = read_bookkeeping(connection)
        refuse_taken_names(book, claim.names, claim.parts)
        try:
            if not claim.overwrite:
                refuse_foreign_values(connection, book, claim.names, claim.parts)
            if EMBEDDING in claim.parts:
                refuse_foreign_indexes(connection, claim.names, claim.record.labels)
        except WriteRefused:
            # Without the lease: perhaps of a run that started after the runs were read. A user's stay there.
            if look == _LOOKS:
                raise
        else:
            break
    model = claim.names.model
    return replace(_placed(claim, book.free_slot(model)), previous_run=book.published(model).get("run"))


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


def claim_slot(connection: Connection, lease: Lease, claim: Claim) -> RunRecord:
    """See that nothing of others is in the way, then register the run; return it with the slot it got.

    Raises
    ------
    WriteRefused
        If names are taken, or the user may not write. No run node is left then.
    LeaseHeld
        If the lease is another's by now.
    """
    record = survey(connection, claim)
    run, properties = {"run": record.run_id}, record.to_node()

    def register(transaction: Transaction) -> None:
        lease.lock(transaction)
        refuse_taken_names(read_bookkeeping(transaction), claim.names, claim.parts)
        transaction.run(load_statement("write/run_create"), {**run, "properties": properties, "lanes": LANES})
        transaction.run(load_statement("write/run_previous"), run)

    write(connection, register, doing="starting a run")
    return record


def switch_version(
    connection: Connection,
    lease: Lease,
    change: Callable[[Address], Address],
    work: Callable[[Transaction, str], object],
    *,
    doing: str,
) -> None:
    """Switch readers of a model to another version, whose node is made beforehand.

    Parameters
    ----------
    connection : Connection
        Where.
    lease : Lease
        Of the model.
    change : callable
        Returns the properties of the version to come, from those of the published one. What it raises ends
        all.
    work : callable
        What else belongs into the transaction that switches readers; called with the element id of the
        model's (locked) node. Done without a switch if nothing changes.
    doing : str
        What for, in messages.

    Raises
    ------
    LeaseHeld
        If the lease is another's by now.
    """
    token = uuid4().hex

    def prepare(transaction: Transaction) -> None:
        node = {"node": lease.lock(transaction)}
        version = read_address(transaction, lease.model)
        properties = change(version)
        if properties != version_of(version):
            # Versions that nobody was switched to: of the dead, or of this transaction, if it is repeated.
            transaction.run(load_statement("write/versions_forget"), node)
            made = {**node, "token": token, "properties": properties}
            transaction.run(load_statement("write/version_create"), made)

    def switch(transaction: Transaction) -> None:
        node = lease.lock(transaction)
        version = read_address(transaction, lease.model)
        if version.get("token") == token:
            return  # by a commit of which no answer came
        work(transaction, node)
        if change(version) != version_of(version):
            made = {"node": node, "token": token}
            if not transaction.run(load_statement("write/version_switch"), made).records:
                raise lease_lost(lease.model)
        for statement in ("write/runs_supersede", "write/published_unlink", "write/published_link"):
            transaction.run(load_statement(statement), {"node": node})

    write(connection, prepare, doing=doing)
    write(connection, switch, doing=doing)


def publish(connection: Connection, lease: Lease, record: RunRecord, address: Address) -> None:
    """Switch the model to the run, in one small transaction.

    Parameters
    ----------
    connection : Connection
        Where to.
    lease : Lease
        Of the model.
    record : RunRecord
        The run, as its node shall have it.
    address : mapping of str to property value
        What the run sends readers to.

    Raises
    ------
    LeaseHeld
        If the lease is another's by now.
    """
    outcome = {"run": record.run_id, "outcome": record.to_node()}

    def finish(transaction: Transaction, node: str) -> None:
        if not transaction.run(load_statement("write/publish"), {**outcome, "node": node}).records:
            raise lease_lost(record.model)

    change = partial(published, parts=address)
    switch_version(connection, lease, change, finish, doing="publishing")


def roll_back(connection: Connection, lease: Lease) -> tuple[str | None, str | None]:
    """Let readers see the version before instead of the published one, which is kept in its place.

    Returns
    -------
    tuple of str or None
        The runs whose coordinates and whose links are published now.

    Raises
    ------
    ProjectionError
        If no version before is kept.
    LeaseHeld
        If the lease is another's by now.
    """
    target = runs_of(previous_address(read_address(connection, lease.model)))
    if not any(target):
        raise ProjectionError(
            f"model {lease.model!r} has no version before the published one in this database"
        )

    def note(transaction: Transaction, node: str) -> None:
        transaction.run(load_statement("write/rollback"), {"node": node})

    switch_version(connection, lease, rolled_back, note, doing="rolling back")
    return target


def condemn(connection: Connection, lease: Lease, runs: Sequence[RunRecord]) -> None:
    """Take `runs` of the lease's model out of publication, so that they can be removed."""
    chosen = [run.run_id for run in runs]

    def note(transaction: Transaction, _: str) -> None:
        transaction.run(load_statement("write/runs_condemn"), {"runs": chosen})

    switch_version(connection, lease, partial(without_runs, runs=chosen), note, doing="clearing")


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
