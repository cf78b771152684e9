"""`Connection`: the only access to the server; opens sessions and runs managed transactions with retries."""

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import neo4j
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError

from heat_neo4j._utils.closing import Closing
from heat_neo4j._utils.version import __version__
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.out_of_range import readable
from heat_neo4j.database.server_errors import checked_address, is_deleted_meanwhile, server_limit, translated
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.trust import Trust
from heat_neo4j.errors import (
    ConfigError,
    HeatError,
    ProjectionError,
    WriteFailed,
)
from heat_neo4j.errors.redaction import keep_secret

T = TypeVar("T")

Auth = tuple[str, str] | neo4j.Auth | None
Driver = neo4j.Driver
Record = neo4j.Record
Parameters = Mapping[str, Any]
Tracer = Callable[[str, Parameters], None]

_ATTEMPTS = 4
_TIMED_OUT_ATTEMPTS = 3
# Names that the database has not met are normal on a first run, or reported by us with a suggestion.
# Driver 5 knows the option by one name and warns about the other; driver 6 does the reverse.
_QUIET_OPTION = (
    "notifications_disabled_categories"
    if neo4j.__version__.startswith("5.")
    else "notifications_disabled_classifications"
)
_DEFAULTS = Limits()
_log = logging.getLogger(__name__)


class Patience:
    """Retries a transaction that failed because the server was lost or hit a limit, until a deadline.

    The deadline counts from the first failure of this work, regardless of concurrent successes, or from the
    moment the server was lost. After the deadline, clean-up such as releasing a lease is attempted once.
    """

    def __init__(
        self,
        address: str,
        limits: Limits = _DEFAULTS,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._address, self._limits = address, limits
        self._clock, self._sleep = clock, sleep
        self._lost_since: float | None = None

    def repeated(
        self, attempt: Callable[[], T], doing: str, *, divisible: bool = False, idempotent: bool = True
    ) -> T:
        """Return the result of `attempt`; retry after transient errors.

        `divisible` work is not retried after a limit of the server, because the caller makes it smaller.
        `idempotent` work is also retried if the connection broke during the commit, whose outcome is then
        unknown, or if another transaction deleted an entity between being matched and being locked.
        """
        pause, failures = self._limits.first_pause, 0
        failing_since: float | None = None
        while True:
            began = self._clock()
            try:
                result = attempt()
            except (DriverError, Neo4jError) as error:
                failures += 1
                if idempotent and failures < _ATTEMPTS and _is_unsettled(error):
                    continue
                if not _is_worth_repeating(error, failures, divisible=divisible):
                    raise
                now = self._clock()
                if failing_since is None:
                    failing_since = began if _is_silence(error) else now
                lost_since = self._lost_since
                since = failing_since if lost_since is None else min(failing_since, lost_since)
                if now - since >= self._limits.patience_seconds or server_limit(error) is None:
                    self._lost_since = since
                if now - since >= self._limits.patience_seconds:
                    raise
                if failures > 1 or isinstance(error, DriverError):  # one deadlock is nothing to report
                    _log.info("waiting for Neo4j at %s: %s, %.0f s", self._address, doing, now - since)
                self._sleep(pause * random.uniform(0.8, 1.2))
                pause = min(2.0 * pause, self._limits.longest_pause)
            else:
                self._lost_since = None
                return result


def _is_worth_repeating(error: BaseException | None, failures: int = 1, *, divisible: bool = False) -> bool:
    """Return whether a retry may help."""
    limit = server_limit(error)
    if limit is None:
        return isinstance(error, DriverError | Neo4jError) and error.is_retryable()
    if divisible:
        return False
    return limit.is_shared or (limit.is_time and failures < _TIMED_OUT_ATTEMPTS)


def _is_unsettled(error: BaseException | None) -> bool:
    """Return whether the outcome is unknown, or concurrent changes prevented the work."""
    return isinstance(error, IncompleteCommit) or is_deleted_meanwhile(error)


def _is_silence(error: BaseException) -> bool:
    """Return whether an error is a timeout, as opposed to a closed connection."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return True
        cause = cause.__cause__
    return False


@dataclass(frozen=True)
class ServerInfo:
    """The server, and the database in use.

    Parameters
    ----------
    version : str
        Such as "5.26.31".
    edition : str
        "community" or "enterprise".
    address : str
        The host and port that answered.
    database : str
        Name of the database.
    """

    version: str
    edition: str
    address: str
    database: str


class Transaction:
    """A running transaction, as passed to the work that a `Connection` runs.

    `send` runs a statement in the driver's transaction. `tracer` is called with each statement and its
    parameters before they are sent.
    """

    def __init__(self, send: Callable[[str, dict[str, Any]], neo4j.Result], tracer: Tracer | None) -> None:
        self._send = send
        self._tracer = tracer

    def run(self, statement: str, parameters: Parameters | None = None) -> neo4j.EagerResult:
        """Run `statement` to completion; return `readable` records, summary and keys."""
        result = self.stream(statement, parameters).to_eager_result()
        return result._replace(records=readable(result.records))

    def stream(self, statement: str, parameters: Parameters | None = None) -> neo4j.Result:
        """Run `statement`; return its records as an iterator, which the caller must exhaust."""
        if self._tracer is not None:
            self._tracer(statement, parameters or {})
        return self._send(statement, dict(parameters or {}))


class Connection(Closing):
    """A driver, one database of its server, and this package's rules for retries and errors.

    Transactions are managed: they may be retried, so the given work must have no effect outside the
    transaction before it returns. All methods raise `ConnectionFailed` if the server is lost or rejects the
    user. If it rejects a statement or a value, they raise `ProjectionError` when reading and `WriteFailed`
    when writing.

    `database` defaults to the user's home database; `address` is the server's name in messages.
    """

    def __init__(
        self,
        driver: neo4j.Driver,
        database: str | None = None,
        *,
        trusted: Sequence[str] = (),
        address: str = "the driver's address",
        owns_driver: bool = False,
        limits: Limits = _DEFAULTS,
    ) -> None:
        self._driver = driver
        self._database = database
        self.address = address
        self._owns_driver = owns_driver
        self.tracer: Tracer | None = None
        self.transaction = Transaction  # the class by which statements are sent
        self.trust = Trust(trusted)
        self.limits = limits
        # If the caller supplied the driver, its own retry policy applies; it has none for batches.
        self._batch_patience = Patience(address, limits)
        self._patience = (
            self._batch_patience if owns_driver else Patience(address, replace(limits, patience_seconds=0.0))
        )

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        auth: Auth,
        database: str | None = None,
        trusted: Sequence[str] = (),
        limits: Limits = _DEFAULTS,
    ) -> Self:
        """Open a driver on `uri` and check that the server and the database respond."""
        _keep_secrets(auth)
        address = checked_address(uri)
        driver = neo4j.GraphDatabase.driver(
            uri,
            auth=auth,
            user_agent=f"heat_neo4j/{__version__}",
            connection_timeout=limits.connect_seconds,
            # With the handshake: a server may accept a connection and then say nothing.
            connection_acquisition_timeout=limits.connect_seconds,
            max_transaction_retry_time=0.0,  # `Patience` repeats
        )
        connection = cls(driver, database, trusted=trusted, address=address, owns_driver=True, limits=limits)
        try:
            with translated(address, "connecting", database):
                driver.verify_connectivity()
            _ = connection.server
        except BaseException:
            connection.close()
            raise
        return connection

    def check_reachable(self) -> None:
        """Raise a `ConnectionFailed` at once if the server does not answer."""
        self.read_once("RETURN 1", doing="asking whether the server answers")

    def close(self) -> None:
        """Close the driver if this connection opened it."""
        if self._owns_driver:
            self._driver.close()

    @cached_property
    def server(self) -> ServerInfo:
        """The server's version, edition and address, and the database in use; queried once."""

        def ask(transaction: Transaction) -> ServerInfo:
            answer = transaction.run(load_statement("read/server"))
            record, summary = answer.records[0], answer.summary
            host, port = summary.server.address[:2]
            # The server's own name of the database: the given one may be an alias or differ in case.
            database = str(summary.database or self._database)
            return ServerInfo(record["version"], record["edition"], f"{host}:{port}", database)

        return self._transact(ask, neo4j.READ_ACCESS, self._database, "connecting")

    def read(
        self,
        statement: str,
        parameters: Parameters | None = None,
        *,
        doing: str = "reading",
        divisible: bool = False,
    ) -> list[neo4j.Record]:
        """Run one statement in a read transaction; return all its records.

        The first attempt uses `read_once`, which is faster; retries use `read_transaction`. For `divisible`
        see `Patience.repeated`.
        """
        try:
            return self.read_once(statement, parameters, doing=doing)
        except HeatError as error:
            may_help = _is_worth_repeating(error.__cause__, divisible=divisible)
            if not (may_help or _is_unsettled(error.__cause__)):
                raise
        return self.read_transaction(
            lambda current: current.run(statement, parameters).records, doing=doing, divisible=divisible
        )

    def read_once(
        self, statement: str, parameters: Parameters | None = None, *, doing: str = "reading"
    ) -> list[neo4j.Record]:
        """Run one statement like `read`, but without retries.

        The statement is an auto-commit transaction, which takes one round trip; `read_transaction` needs two
        more, to begin and to commit.
        """
        with self._translated(neo4j.READ_ACCESS, self.server.database, doing):
            return self._run_alone(neo4j.READ_ACCESS, statement, parameters or {}, doing)

    def read_transaction(
        self, work: Callable[[Transaction], T], *, doing: str = "reading", divisible: bool = False
    ) -> T:
        """Run `work` in a managed read transaction, in which the server rejects writes; return its result."""
        return self._transact(work, neo4j.READ_ACCESS, self.server.database, doing, divisible=divisible)

    def write_transaction(
        self, work: Callable[[Transaction], T], *, doing: str = "writing", **options: bool
    ) -> T:
        """Run `work` in a managed write transaction; return its result.

        `options` are those of `Patience.repeated`: all statements of this package are idempotent.
        """
        return self._transact(work, neo4j.WRITE_ACCESS, self.server.database, doing, **options)

    def write(
        self,
        statement: str,
        parameters: Parameters | None = None,
        *,
        doing: str = "writing",
        **options: bool,
    ) -> list[neo4j.Record]:
        """Run one statement in a managed write transaction; return all its records."""
        return self.write_transaction(
            lambda current: current.run(statement, parameters).records, doing=doing, **options
        )

    def explain(self, statement: str, parameters: Parameters) -> tuple[str, bool]:
        """Return the type of a statement, "r" if it only reads, and whether it commits batches.

        The result is ("", False) if the server cannot explain the statement, such as one that it refuses.
        """
        access, database = neo4j.READ_ACCESS, self.server.database
        refused = self._translated(access, database, "explaining")
        try:
            with refused, self._driver_session(access, database) as session:
                summary = session.run(f"EXPLAIN {statement}", dict(parameters)).consume()
        except ProjectionError:
            return "", False
        return summary.query_type or "", "Transaction" in "".join(_operators(summary.plan))

    def write_once(
        self, statement: str, parameters: Parameters, *, doing: str = "writing"
    ) -> list[neo4j.Record]:
        """Run an auto-commit statement, which the server may split into transactions, without retries."""
        with self._translated(neo4j.WRITE_ACCESS, self.server.database, doing):
            return self._run_alone(neo4j.WRITE_ACCESS, statement, parameters, doing)

    def run_batches(
        self, statement: str, parameters: Parameters, *, doing: str = "writing"
    ) -> list[neo4j.Record]:
        """Run a ``CALL ... IN TRANSACTIONS`` statement, which the server commits in batches.

        Retries start from the beginning, so they must continue from the state that earlier attempts left.
        """

        def attempt() -> list[neo4j.Record]:
            return self._run_alone(neo4j.WRITE_ACCESS, statement, parameters, doing)

        with self._translated(neo4j.WRITE_ACCESS, self.server.database, doing):
            return self._batch_patience.repeated(attempt, doing, divisible=True)

    def _run_alone(
        self, access: str, statement: str, parameters: Parameters, doing: str
    ) -> list[neo4j.Record]:
        """Send an auto-commit statement; the server may split it into several transactions."""

        def send(text: str, values: dict[str, Any]) -> neo4j.Result:
            query = neo4j.Query(text, metadata=_metadata(doing), timeout=self.limits.statement_seconds)
            return session.run(query, values)

        with self._driver_session(access, self.server.database) as session:
            return self.transaction(send, self.tracer).run(statement, parameters).records

    def _transact(
        self,
        work: Callable[[Transaction], T],
        access: str,
        database: str | None,
        doing: str,
        **options: bool,
    ) -> T:
        @neo4j.unit_of_work(metadata=_metadata(doing), timeout=self.limits.statement_seconds)
        def run(inner: neo4j.ManagedTransaction) -> T:
            try:
                return work(self.transaction(inner.run, self.tracer))
            except Neo4jError as error:
                if server_limit(error) is None:
                    raise
                raise _LimitReached(error) from error

        def attempt() -> T:
            with self._driver_session(access, database) as session:
                execute = session.execute_read if access == neo4j.READ_ACCESS else session.execute_write
                try:
                    return execute(run)
                except _LimitReached as carrier:
                    raise carrier.error from None

        with self._translated(access, database, doing):
            return self._patience.repeated(attempt, doing, **options)

    def _translated(self, access: str, database: str | None, doing: str) -> AbstractContextManager[None]:
        refusal = ProjectionError if access == neo4j.READ_ACCESS else WriteFailed
        return translated(self.address, doing, database, refusal)

    def _driver_session(self, access: str, database: str | None) -> neo4j.Session:
        quiet: dict[str, Any] = {_QUIET_OPTION: ["UNRECOGNIZED"]}
        return self._driver.session(
            database=database,
            default_access_mode=access,
            # Sessions read their predecessors' writes, also on a cluster.
            bookmark_manager=self._driver.execute_query_bookmark_manager,
            **quiet,
        )


def _operators(plan: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the names of the operators of a plan."""
    if plan:
        yield plan["operatorType"]
        for child in plan.get("children", ()):
            yield from _operators(child)


class _LimitReached(Exception):  # noqa: N818
    """Carries a limit error past the driver's own retries."""

    def __init__(self, error: Neo4jError) -> None:
        super().__init__(str(error))
        self.error = error


def _keep_secrets(auth: object) -> None:
    """Register the secrets of a login for masking; raises ConfigError if the login has an invalid type."""
    if isinstance(auth, neo4j.Auth):
        keep_secret(getattr(auth, "credentials", None))
    elif isinstance(auth, tuple) and len(auth) == 2 and all(isinstance(part, str) for part in auth):
        keep_secret(auth[1])
    elif auth is not None:
        raise ConfigError("auth must be (user name, password), both strings, a neo4j.Auth or None")


def _metadata(doing: str) -> dict[str, str]:
    """Return the metadata that ``SHOW TRANSACTIONS`` displays for our transactions."""
    return {"app": f"heat_neo4j/{__version__}", "doing": doing}
