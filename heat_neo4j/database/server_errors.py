"""What the driver raises, turned into this package's errors in one place, each as one clear line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from neo4j import exceptions as driver_errors

from heat_neo4j.errors import ConnectionFailed, HeatError, ServerUnreachable

__all__ = ["checked_address", "is_deleted_meanwhile", "one_line", "translated"]

_SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
_MESSAGE_CHARACTERS = 300
_POSITION = re.compile(r"\s*\(line \d+, column \d+.*\)\s*$")
_REASON = re.compile(r"\(reason (?:\[Errno [^]]*\] )?(.*?)\)*$", re.DOTALL)


def checked_address(uri: str) -> str:
    """Return `uri` if it is an address that the driver understands and that holds no password."""
    advice = "give one such as neo4j://localhost:7687 (bolt:// for a single server, neo4j+s:// for Aura)"
    try:
        parts = urlsplit(uri)
        host, scheme, _ = parts.hostname, parts.scheme, parts.port
    except (TypeError, ValueError, AttributeError) as error:
        raise ConnectionFailed(f"the server address is malformed: {advice}") from error
    if parts.username is not None or parts.password is not None:
        raise ConnectionFailed("the server address must not hold a user name or password: give them apart")
    if scheme not in _SCHEMES or not host:
        raise ConnectionFailed(f"{uri!r} is not the address of a Neo4j server: {advice}")
    return uri


@contextmanager
def translated(
    address: str, doing: str, database: str | None = None, refusal: type[HeatError] = ConnectionFailed
) -> Iterator[None]:
    """Raise the driver's errors as ours: as `refusal` if the server refuses a statement or gives up on it.

    `doing` says what was going on, e.g. ``"reading nodes"``.
    """
    where = f"Neo4j at {address}"
    try:
        yield
    except driver_errors.AuthError as error:
        advice = "check user name and password (NEO4J_USERNAME, NEO4J_PASSWORD)"
        raise ConnectionFailed(f"{where} refused the login: {advice}") from error
    except driver_errors.Forbidden as error:
        raise ConnectionFailed(f"{where} does not permit this user {doing}: {one_line(error)}") from error
    except (driver_errors.ServiceUnavailable, driver_errors.SessionExpired, OSError) as error:
        raise ServerUnreachable(_unreachable(address, doing, error)) from error
    except driver_errors.ClientError as error:
        raise _refused(where, doing, database, refusal, error) from error
    except driver_errors.TransientError as error:
        raise refusal(f"{where} gave up while {doing}: {one_line(error)}") from error
    except (driver_errors.DatabaseError, driver_errors.DriverError) as error:
        raise ConnectionFailed(f"{where} failed while {doing}: {one_line(error)}") from error


def is_deleted_meanwhile(error: HeatError) -> bool:
    """Return whether a statement was refused because another transaction deleted what it was reading."""
    return str(getattr(error.__cause__, "code", "")).endswith(".EntityNotFound")


def one_line(error: BaseException) -> str:
    """Return what the driver or the server said as one line, shortened, without positions in a statement."""
    text = str(getattr(error, "message", None) or error).strip() or type(error).__name__
    line = _POSITION.sub("", text.splitlines()[0])
    return line if len(line) <= _MESSAGE_CHARACTERS else f"{line[:_MESSAGE_CHARACTERS]}..."


def _unreachable(address: str, doing: str, error: Exception) -> str:
    match = _REASON.search(str(error).strip())
    reason = f" ({match[1].strip()})" if match else ""
    if doing == "connecting":
        advice = "check the address, or start a local server with `heat server start`"
        return f"no Neo4j answers at {address}{reason}: {advice}"
    return f"Neo4j at {address} was lost while {doing}{reason}: see that it runs, then repeat"


def _refused(
    where: str, doing: str, database: str | None, refusal: type[HeatError], error: driver_errors.ClientError
) -> HeatError:
    code = str(error.code)
    if "DatabaseNotFound" in code:
        return ConnectionFailed(f"{where} has no database {database!r}: SHOW DATABASES lists them")
    if code.endswith("AuthenticationRateLimit"):
        advice = "wait some seconds, then check the password"
        return ConnectionFailed(f"{where} refuses logins after several wrong passwords: {advice}")
    if code.endswith("AccessMode"):
        return refusal(f"{where} refused to write while {doing}: a filter may only read")
    return refusal(f"{where} refused a statement while {doing}: {one_line(error)}")
