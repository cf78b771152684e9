"""The lease of a model: one process at a time works on it, until it is done or its lease expires."""

import hashlib
import logging
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from heat_neo4j._utils.validation import LONGEST_LEASE
from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection, Transaction, write, write_batches
from heat_neo4j.database.statements import Fragment, is_identifier, load_statement
from heat_neo4j.errors import ConfigError, HeatError, LeaseHeld, WriteFailed

WRITE_LOCKS = 2
"""Write locks of a lease: batches that are written at once, each of which locks one. With four, relationships
deadlock and the gain is lost."""

LEASE_SECONDS = 60.0
"""How long a lease lasts that its holder does not renew."""

_ATTEMPTS = 5
_BATCHES = 50  # transactions of a statement
_RENEWALS = 3  # in the time that a lease lasts
_TAKING = "taking the lease"
_log = logging.getLogger(__name__)
_NONCE = secrets.token_hex(8)
_PROCESS_ID = re.compile(r"[0-9]{1,10}")
_ours: set[str] = set()  # holders of this process whose leases are held now


class Renewal:
    """Calls `renew` every so many seconds while the context lasts, until it returns False.

    A server that is away does not end it: the work itself will meet that.
    """

    def __init__(self, renew: Callable[[], bool], seconds: float) -> None:
        self._renew, self._seconds = renew, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="heat renewal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._over.wait(self._seconds):
            try:
                if not self._renew():
                    return
            except HeatError as error:
                _log.debug("not renewed: %s", error)


class Lease:
    """The right to write versions of a model, held while the context lasts and renewed by a thread.

    Times are the server's. A process that dies stops renewing: the next one takes over when the time is up,
    or at once if it is certain that the holder ran on this machine and is no more. The holder's name is a
    fencing token: each statement that starts a run, publishes or removes looks whose the lease is while it
    locks the model's node, and each batch holds a write lock, a relationship from that node to itself. Who
    takes over deletes the write locks, which waits for batches under way: so a late write of an older holder
    is refused by the database.

    On entering, the model's node is made if there is none, and there is a LeaseHeld if another process holds
    the lease, or a WriteFailed if others removed the node, again and again. `seconds` is at most
    `LONGEST_LEASE`, else there is a ConfigError.
    """

    def __init__(self, connection: Connection, model: str, seconds: float = LEASE_SECONDS) -> None:
        if not 0 < seconds <= LONGEST_LEASE:
            raise ConfigError(
                f"a lease lasts more than 0 and at most {LONGEST_LEASE:,.0f} seconds: got {seconds}"
            )
        self.connection, self.model, self._seconds = connection, model, seconds
        self.staging: str | None = None  # the run whose publication was under way when the lease was taken
        self._node = ""
        self.holder = f"{_this_process()}:{secrets.token_hex(4)}"
        self._renewal = Renewal(self._hold, seconds / _RENEWALS)

    def __enter__(self) -> Self:
        _ours.add(self.holder)  # first: other threads of this process must not take it for dead
        try:
            self._take_over()
        except BaseException:
            _ours.discard(self.holder)
            raise
        self._renewal.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._renewal.__exit__(kind, error, traceback)
        try:
            self._run("write/lease_release", doing="giving the lease back")
        except HeatError as failure:
            # It expires by itself; an error that ended the work says more.
            level = logging.WARNING if error is None else logging.DEBUG
            _log.log(level, "the lease of model %r lasts until it expires: %s", self.model, failure)
        finally:
            _ours.discard(self.holder)

    def check(self) -> None:
        """Ask the server whether the lease is still ours, and renew it; a LeaseHeld if it is lost."""
        if not self._hold():
            raise self._lost()

    def write(self, name: str, *, doing: str, **parameters: Any) -> Mapping[str, Any]:
        """Run one statement with the model's node locked, in a transaction of its own; return its first row.

        A LeaseHeld if there is no row, as the lease is another's by now.
        """
        return self._first_row(self._run(name, doing=doing, **parameters))

    def run(self, transaction: Transaction, name: str, **parameters: Any) -> Mapping[str, Any]:
        """Do as `write`, within a transaction."""
        statement = load_statement(name, lease=_fragment("lease_hold"))
        return self._first_row(transaction.run(statement, {**self._parameters, **parameters}).records)

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
        """The parameters by which the statements of `batch` find the locks of the lease."""
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
        """Run a statement that goes over the graph in batches on the server; return how much it wrote.

        The statement finds only what it has not changed yet, and takes ``most`` nodes or links, ``rows`` of
        them in a transaction: it is sent until nothing is left. A LeaseHeld if the lease is lost.
        """
        statement, total = self.batch(name, **identifiers), 0

        def attempt(rows: int) -> bool:
            nonlocal total
            params = {**self.locks, "lock": 0, "rows": rows, "most": rows * _BATCHES, **parameters}
            batches = write_batches(self.connection, statement, params, doing=doing)
            found, written = (sum(int(batch[column]) for batch in batches) for column in ("found", "written"))
            total += written
            if any(batch["written"] == 0 for batch in batches):  # it was repeated, or the lock was lost
                self.check()
            is_done: bool = found < params["most"]
            if not (is_done or written):
                raise WriteFailed(f"no progress while {doing}: {found:,} left")
            return is_done

        BatchSize(self.connection.limits.rows).until_done(attempt)
        return total

    def _take_over(self) -> None:
        """Take the lease, from a dead holder if need be."""
        params: dict[str, Any] = {"model": self.model, "holder": self.holder, "dead": None}
        params |= {"seconds": self._seconds, "longest": LONGEST_LEASE, "locks": WRITE_LOCKS}
        statement = load_statement("write/lease_take")
        for _ in range(_ATTEMPTS):
            rows = write(self.connection, partial(_run, statement, params), doing=_TAKING)
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
        raise WriteFailed(f"model {self.model!r} was removed by others, again and again: repeat later")

    def _hold(self) -> bool:
        """Renew the lease; False if it is not ours any more."""
        return bool(self._run("write/lease_check", doing="renewing the lease", seconds=self._seconds))

    @property
    def _parameters(self) -> dict[str, Any]:
        return {"node": self._node, "holder": self.holder}

    def _run(self, name: str, *, doing: str, **parameters: Any) -> Sequence[Mapping[str, Any]]:
        statement = load_statement(name, lease=_fragment("lease_hold"))
        params = {**self._parameters, **parameters}
        return write(self.connection, partial(_run, statement, params), doing=doing)


def _fragment(name: str) -> Fragment:
    return Fragment(load_statement(f"write/{name}"))


def _is_dead(holder: object) -> bool:
    """Return whether it is certain that a holder is no more, be it of this process or of one beside it."""
    process, _, _ = str(holder).rpartition(":")
    if process == _this_process():
        return holder not in _ours
    rest, _, started = process.rpartition(":")
    here, _, machine = rest.rpartition(":")
    _, _, pid = here.rpartition(":")
    # On a machine without a name of its own, nothing is certain.
    if not machine or machine != _machine() or not _PROCESS_ID.fullmatch(pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    now = _started(int(pid))
    return bool(started and now) and started != now  # another process has the number by now


def _this_process() -> str:
    """Return what no other process is called: host, process id, machine, start."""
    return f"{socket.gethostname()}:{os.getpid()}:{_machine()}:{_started(os.getpid()) or _NONCE}"


def _machine() -> str:
    """Return what tells apart the sets of processes that see each other, nothing if that is not known.

    It is of the running kernel, which no two hosts share whatever their names, and of the namespaces in which
    process ids and times of start are counted: containers may share a host's name and kernel.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        spaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "time")]
    except (OSError, UnicodeDecodeError):  # not Linux
        return ""
    return hashlib.blake2b(" ".join([boot, *spaces]).encode(), digest_size=8).hexdigest()


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the boot; nothing if that is not known."""
    try:
        # A /proc of other namespaces would tell of another process.
        if os.readlink("/proc/self") != str(os.getpid()):
            return ""
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return str(int(fields[19]))
    except (OSError, ValueError, IndexError):
        return ""


def _make_model(connection: Connection, model: str) -> None:
    """Make the node of `model` if there is none, and drop all but one of several.

    Neo4j keeps no two processes from making it at the same moment, as neither sees the other's before the
    commit. So it is committed first and locked next: that sees both, and leaves one.
    """
    statement = load_statement("write/model_create")
    write(connection, partial(_run, statement, {"model": model}), doing=_TAKING)
    write(connection, partial(lock_models, model=model), doing=_TAKING)


def _run(
    statement: str, parameters: Mapping[str, Any], transaction: Transaction
) -> Sequence[Mapping[str, Any]]:
    return transaction.run(statement, parameters).records


def lock_models(transaction: Transaction, model: str) -> list[Mapping[str, Any]]:
    """Lock all model nodes until the transaction ends, drop duplicates of `model`; return their properties.

    All of them, so that two models cannot claim the same property names at the same time.
    """
    records = transaction.run(load_statement("write/models_lock")).records
    rows = [row for row in records if is_identifier(row["model"].get("name"))]  # others have none of ours
    mine = [dict(row) for row in rows if row["model"]["name"] == model]
    mine.sort(key=lambda row: -len(row["model"].keys() & {"version", "leaseHolder"}))
    if len(mine) > 1:
        transaction.run(load_statement("write/models_delete"), {"ids": [row["id"] for row in mine[1:]]})
    return [row["model"] for row in rows]
