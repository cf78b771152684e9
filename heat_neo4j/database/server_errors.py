"""Translates errors of the driver into errors of this package, each with a one-line message."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from neo4j import exceptions as driver_errors

from heat_neo4j.errors import ConnectionFailed, HeatError, ServerUnreachable, WriteFailed, WriteRefused
from heat_neo4j.errors.redaction import server_address

_MESSAGE_CHARACTERS = 300
_POSITION = re.compile(r"\s*\(line \d+, column \d+.*\)\s*$")
_REASON = re.compile(r"\(reason (?:\[Errno [^]]*\] )?(.*?)\)*$", re.DOTALL)
_LIMITS = {
    "MemoryPoolOutOfMemoryError": "db.memory.transaction.max",
    "TransactionOutOfMemoryError": "db.memory.transaction.max",
    "TransactionMemoryLimit": "db.memory.transaction.max",
    "OutOfMemoryError": "server.memory.heap.max_size",
    "TransactionTimedOut": "db.transaction.timeout",
    "TransactionTimedOutClientConfiguration": "db.transaction.timeout",
    "ExecutionTimeout": "db.transaction.timeout",
    "LockClientStopped": "db.transaction.timeout",  # of a transaction that took too long, at its next lock
    "Terminated": None,  # a limit only if the message names the setting: a user may end a transaction, too
}
_READ_ONLY = ("WriteOnReadOnlyAccessDatabase", "ForbiddenOnReadOnlyDatabase")
_MAY_NOT_WRITE = "use a user who may write to this database, or grant this one the right"
_NOBODY_MAY = "make the database writable, or use another one"
_SETTING = re.compile(r"\bdb(?:ms)?\.(?:memory\.)?transaction\.[a-z.]*[a-z]")


@dataclass(frozen=True)
class ServerLimit:
    """A limit of the server that ended a transaction."""

    setting: str

    @property
    def is_time(self) -> bool:
        """Whether the transaction took too long, rather than too much memory."""
        return self.setting.endswith(".timeout")

    @property
    def is_shared(self) -> bool:
        """Whether all transactions share the memory, so that it may become free when others end."""
        return ".total." in self.setting or self.setting.startswith("server.")


def server_limit(error: BaseException | None) -> ServerLimit | None:
    """Return the server limit that caused an error of the driver or of this package, if any."""
    while error is not None:
        code = str(getattr(error, "code", "")).rsplit(".", 1)[-1]
        if code in _LIMITS:
            named = _SETTING.search(str(getattr(error, "message", None) or error))
            setting = named[0] if named else _LIMITS[code]
            return None if setting is None else ServerLimit(setting)
        error = error.__cause__
    return None


def checked_address(uri: object) -> str:
    """Return the server's name for messages; raises ConnectionFailed, without the URI, if it is malformed."""
    address = server_address(uri)
    if address is not None:
        return address
    fault = "is malformed"
    if isinstance(uri, str) and "@" in uri:
        fault = "must not hold a user name or password, which are given separately"
    elif isinstance(uri, str) and uri.lower().startswith(("http:", "https:")):
        fault = "is one for a browser"
    advice = "give one such as neo4j://localhost:7687 (bolt:// for a single server, neo4j+s:// for Aura)"
    raise ConnectionFailed(f"the server address {fault}: {advice}")


@contextmanager
def translated(
    address: str, doing: str, database: str | None = None, refusal: type[HeatError] = ConnectionFailed
) -> Iterator[None]:
    """Translate the driver's errors; raises `refusal` if the server rejects or aborts a statement.

    `doing` describes the operation, e.g. ``"reading nodes"``.
    """
    where = f"Neo4j at {address}"
    try:
        yield
    except driver_errors.AuthError as error:
        advice = "check user name and password (NEO4J_USERNAME, NEO4J_PASSWORD)"
        raise ConnectionFailed(f"{where} refused the login: {advice}") from error
    except (driver_errors.ServiceUnavailable, driver_errors.SessionExpired, OSError) as error:
        raise ServerUnreachable(_unreachable(address, doing, error)) from error
    except driver_errors.Neo4jError as error:
        is_read_only = str(error.code).endswith(_READ_ONLY)
        if is_read_only or isinstance(error, driver_errors.Forbidden):
            denied = f"{where} denied permission while {doing}: {one_line(error)}"
            if refusal is WriteFailed:
                raise WriteRefused(f"{denied}; {_NOBODY_MAY if is_read_only else _MAY_NOT_WRITE}") from error
            raise ConnectionFailed(denied) from error
        if (limit := server_limit(error)) is None:
            raise _server_error(where, doing, database, refusal, error) from error
        advice = f"raise {limit.setting} of the server"
        raise refusal(f"{where} reached a limit while {doing}: {advice} ({one_line(error)})") from error
    except driver_errors.DriverError as error:
        raise ConnectionFailed(f"{where} failed while {doing}: {one_line(error)}") from error


def violates_constraint(error: BaseException | None) -> bool:
    """Return whether an error was caused by a violated database constraint."""
    while error is not None:
        if str(getattr(error, "code", "")).endswith(".ConstraintValidationFailed"):
            return True
        error = error.__cause__
    return False


def is_deleted_meanwhile(error: BaseException | None) -> bool:
    """Return whether the driver's error says that another transaction deleted an entity that was read."""
    return str(getattr(error, "code", "")).endswith(".EntityNotFound")


def one_line(error: BaseException) -> str:
    """Return the message of the driver or server as one short line, without statement positions."""
    text = str(getattr(error, "message", None) or error).strip() or type(error).__name__
    line = _POSITION.sub("", text.splitlines()[0]).removesuffix(".")
    return line if len(line) <= _MESSAGE_CHARACTERS else f"{line[:_MESSAGE_CHARACTERS]}..."


def _unreachable(address: str, doing: str, error: Exception) -> str:
    match = _REASON.search(str(error).strip())
    reason = f" ({match[1].strip()})" if match else ""
    if doing == "connecting":
        advice = "check the address, or start a local server with `heat server start`"
        return f"no Neo4j answers at {address}{reason}: {advice}"
    return f"Neo4j at {address} was lost while {doing}{reason}: check that it runs, then retry"


def _server_error(
    where: str, doing: str, database: str | None, refusal: type[HeatError], error: driver_errors.Neo4jError
) -> HeatError:
    code = str(error.code)
    if isinstance(error, driver_errors.TransientError):
        return refusal(f"{where} gave up while {doing}: {one_line(error)}")
    if not isinstance(error, driver_errors.ClientError):
        return ConnectionFailed(f"{where} failed while {doing}: {one_line(error)}")
    if "DatabaseNotFound" in code:
        return ConnectionFailed(f"{where} has no database {database!r}: SHOW DATABASES lists them")
    if code.endswith("AuthenticationRateLimit"):
        advice = "wait some seconds, then check the password"
        return ConnectionFailed(f"{where} refuses logins after several wrong passwords: {advice}")
    if code.endswith("AccessMode"):
        return refusal(f"{where} refused to write while {doing}: a filter may only read")
    return refusal(f"{where} refused a statement while {doing}: {one_line(error)}")
