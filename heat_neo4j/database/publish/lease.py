"""The lease of a model: only one process at a time writes to it, until it finishes or the lease expires."""

import hashlib
import logging
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from heat_neo4j._utils.validation import LONGEST_LEASE
from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.statements import Fragment, is_identifier, load_statement
from heat_neo4j.errors import ConfigError, HeatError, LeaseHeld, WriteFailed

WRITE_LOCKS = 2
"""Write locks of a lease, which is the number of concurrent batches. With four, relationships deadlock and
the gain is lost."""

LEASE_SECONDS = 60.0
"""Lifetime of a lease without renewal."""

_ATTEMPTS = 5
_BATCHES = 50  # transactions per statement
_RENEWALS = 3  # renewals per lifetime of a lease
_TAKING = "taking the lease"
_log = logging.getLogger(__name__)
_NONCE = secrets.token_hex(8)
_PROCESS_ID = re.compile(r"[0-9]{1,10}")
_ours: set[str] = set()  # holders of active leases in this process


@contextmanager
def renewing(renew: Callable[[], bool], seconds: float) -> Iterator[None]:
    """Call `renew` periodically during the context, until it returns False.

    Ignores an unreachable server, because the work itself will fail.
    """
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            try:
                if not renew():
                    return
            except HeatError as error:
                _log.debug("not renewed: %s", error)

    thread = threading.Thread(target=repeat, name="heat renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Lease:
    """The exclusive right to write versions of a model, held during the context and renewed by a thread.

    Times are the server's. A process that dies stops renewing. The next one takes over when the lease
    expires, or at once if the holder certainly ran on this machine and has ended. The holder's name is a
    fencing token: each statement that starts a run, publishes or removes checks it while it locks the model's
    node, and each batch holds a write lock, a relationship from that node to itself. Taking over deletes the
    write locks, which waits for running batches. So the database rejects late writes of a previous holder.

    Entering creates the model's node if it does not exist. Raises LeaseHeld if another process holds the
    lease, WriteFailed if others repeatedly remove the node, and ConfigError if `seconds` exceeds
    `LONGEST_LEASE`.
    """

    def __init__(self, connection: Connection, model: str, seconds: float = LEASE_SECONDS) -> None:
        if not 0 < seconds <= LONGEST_LEASE:
            raise ConfigError(
                f"a lease lasts more than 0 and at most {LONGEST_LEASE:,.0f} seconds: got {seconds}"
            )
        self.connection, self.model, self._seconds = connection, model, seconds
        self.staging: str | None = None  # run of a publication in progress when the lease was acquired
        self._node = ""
        self.holder = f"{_this_process()}:{secrets.token_hex(4)}"
        self._renewal = renewing(self._hold, seconds / _RENEWALS)

    def __enter__(self) -> Self:
        _ours.add(self.holder)  # first, so that other threads of this process do not consider it dead
        try:
            self._take_over()
        except BaseException:
            _ours.discard(self.holder)
            raise
        self._renewal.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._renewal.__exit__(None, None, None)
        try:
            self._run("write/lease_release", doing="giving the lease back")
        except HeatError as failure:
            # It expires by itself, and an error that ended the work is more important.
            level = logging.WARNING if error is None else logging.DEBUG
            _log.log(level, "the lease of model %r lasts until it expires: %s", self.model, failure)
        finally:
            _ours.discard(self.holder)

    def check(self) -> None:
        """Renew the lease; raises LeaseHeld if it is lost."""
        if not self._hold():
            raise self._lost()

    def write(self, name: str, *, doing: str, **parameters: Any) -> Mapping[str, Any]:
        """Run one statement with the model's node locked, in its own transaction; return its first row.

        Raises LeaseHeld if there is no row, because the lease was lost.
        """
        return self._first_row(self._run(name, doing=doing, **parameters))

    def run(self, transaction: Transaction, name: str, **parameters: Any) -> Mapping[str, Any]:
        """Run one statement like `write`, within an existing transaction."""
        return self._first_row(transaction.run(*self._held(name, parameters)).records)

    def _first_row(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        if not rows:
            raise self._lost()
        return rows[0]

    def _lost(self) -> LeaseHeld:
        return LeaseHeld(
            f"the lease of model {self.model!r} expired while this process was held up, and was taken over: "
            "nothing was published"
        )

    @property
    def locks(self) -> dict[str, str]:
        """The parameters that identify the lease's locks in statements of `batch`."""
        return {"model": self.model, "holder": self.holder}

    def batch(self, name: str, **identifiers: str | Sequence[str]) -> str:
        """Return a statement that writes a batch while it holds a write lock of the lease."""
        return load_statement(name, lock=_fragment("lock_hold"), **identifiers)

    def write_all(
        self,
        name: str,
        *,
        doing: str,
        identifiers: Mapping[str, str | Sequence[str]],
        **parameters: Any,
    ) -> int:
        """Run a statement in batches on the server until nothing is left; return the number written.

        The statement finds only unchanged nodes or links, at most ``most``, and changes ``rows`` of them per
        transaction. Raises LeaseHeld if the lease is lost.
        """
        statement, total = self.batch(name, **identifiers), 0

        def attempt(rows: int) -> bool:
            nonlocal total
            params = {**self.locks, "lock": 0, "rows": rows, "most": rows * _BATCHES, **parameters}
            batches = self.connection.run_batches(statement, params, doing=doing)
            found, written = (sum(int(batch[column]) for batch in batches) for column in ("found", "written"))
            total += written
            if any(batch["written"] == 0 for batch in batches):  # a retry, or the lock was lost
                self.check()
            is_done: bool = found < params["most"]
            if not (is_done or written):
                raise WriteFailed(f"no progress while {doing}: {found:,} left")
            return is_done

        BatchSize(self.connection.limits.rows).until_done(attempt)
        return total

    def _take_over(self) -> None:
        """Acquire the lease, from a dead holder if necessary."""
        params: dict[str, Any] = {"model": self.model, "holder": self.holder, "dead": None}
        params |= {"seconds": self._seconds, "longest": LONGEST_LEASE, "locks": WRITE_LOCKS}
        statement = load_statement("write/lease_take")
        for _ in range(_ATTEMPTS):
            rows = self.connection.write(statement, params, doing=_TAKING)
            if not rows:
                _make_model(self.connection, self.model)
                continue
            (row,) = rows
            if row["free"]:
                self.staging, self._node = row["staging"], row["node"]
                return
            if not _is_dead(row["holder"]):
                until = f"{row['until'].to_native():%Y-%m-%d %H:%M:%S %Z}"
                who = ":".join(str(row["holder"]).split(":")[:2])  # host and process
                raise LeaseHeld(
                    f"model {self.model!r} is being written by {who}, whose lease lasts until "
                    f"{until} unless it is renewed: nothing was done"
                )
            params["dead"] = row["holder"]
        raise WriteFailed(f"model {self.model!r} was removed by others repeatedly: retry later")

    def _hold(self) -> bool:
        """Renew the lease; return False if it is no longer ours."""
        return bool(self._run("write/lease_check", doing="renewing the lease", seconds=self._seconds))

    def _run(self, name: str, *, doing: str, **parameters: Any) -> Sequence[Mapping[str, Any]]:
        return self.connection.write(*self._held(name, parameters), doing=doing)

    def _held(self, name: str, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a statement that checks the lease while it locks the model's node, and its parameters."""
        statement = load_statement(name, lease=_fragment("lease_hold"))
        return statement, {"node": self._node, "holder": self.holder, **parameters}


def _fragment(name: str) -> Fragment:
    return Fragment(load_statement(f"write/{name}"))


def _is_dead(holder: object) -> bool:
    """Return whether a holder has certainly ended, in this process or another one of this machine."""
    process, _, _ = str(holder).rpartition(":")
    if process == _this_process():
        return holder not in _ours
    rest, _, started = process.rpartition(":")
    here, _, machine = rest.rpartition(":")
    _, _, pid = here.rpartition(":")
    # Without a machine id, nothing is certain.
    if not machine or machine != _machine() or not _PROCESS_ID.fullmatch(pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    now = _started(int(pid))
    return bool(started and now) and started != now  # the process id was reused


def _this_process() -> str:
    """Return a unique name of this process: host, process id, machine, start time."""
    return f"{socket.gethostname()}:{os.getpid()}:{_machine()}:{_started(os.getpid()) or _NONCE}"


def _machine() -> str:
    """Return an id of the set of processes that can see each other; empty if unknown.

    It combines the boot id of the kernel, which is unique per host, and the namespaces of process ids and
    start times, because containers can share a host's name and kernel.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        spaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "time")]
    except (OSError, UnicodeDecodeError):  # not Linux
        return ""
    return hashlib.blake2b(" ".join([boot, *spaces]).encode(), digest_size=8).hexdigest()


def _started(pid: int) -> str:
    """Return the start time of a process, in ticks since boot; empty if unknown."""
    try:
        # A /proc of another namespace would describe another process.
        if os.readlink("/proc/self") != str(os.getpid()):
            return ""
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return str(int(fields[19]))
    except (OSError, ValueError, IndexError):
        return ""


def _make_model(connection: Connection, model: str) -> None:
    """Create the node of `model` if it does not exist, and delete duplicates.

    Two processes can create it concurrently, as neither sees the other's node before the commit. So it is
    committed first and then locked: that sees both nodes, and keeps one.
    """
    connection.write(load_statement("write/model_create"), {"model": model}, doing=_TAKING)
    connection.write_transaction(partial(lock_models, model=model), doing=_TAKING)


def lock_models(transaction: Transaction, model: str) -> list[Mapping[str, Any]]:
    """Lock all model nodes until the transaction ends, delete duplicates of `model`; return their properties.

    All are locked, so that two models cannot claim the same property names concurrently.
    """
    records = transaction.run(load_statement("write/models_lock")).records
    rows = [row for row in records if is_identifier(row["model"].get("name"))]  # other nodes are not ours
    mine = [dict(row) for row in rows if row["model"]["name"] == model]
    mine.sort(key=lambda row: -len(row["model"].keys() & {"version", "leaseHolder"}))
    if len(mine) > 1:
        transaction.run(load_statement("write/models_delete"), {"ids": [row["id"] for row in mine[1:]]})
    return [row["model"] for row in rows]
