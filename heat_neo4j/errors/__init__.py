"""Every error a user can meet, with the exit code the command line gives it.

::

    HeatError                    1   base; never raised itself
    ├── ConfigError              2   an option, environment value or heat.toml entry is wrong
    ├── ConnectionFailed         3   no server there, wrong address, wrong password, server lost
    ├── ProjectionError          4   the graph cannot be read as asked: unknown names, bad values, no match
    ├── WriteRefused             5   writing would overwrite the user's data, or the values are not finite
    ├── WriteFailed              6   writing stopped half-way; the run node says "incomplete"
    ├── LocalServerError         7   the local Neo4j did not install, start or stop
    ├── MemoryExceeded           8   the run would need more memory than it may use; nothing was started
    ├── LeaseHeld                9   another process writes versions of the model; nothing was published
    ├── QualityRejected         10   the new version did not pass the quality gate; the old one stays
    ├── OutputFailed            11   the work is done, but its output cannot be written to stdout
    ├── CoordinatesDiffer       12   repeating a training gave bits that differ from the graph
    ├── NotVerifiable           13   a run cannot be trained again: its graph or its record is incomplete
    └── NotReady                14   the installation or the server has a problem

Exit code 0 is success, 2 is also click's usage error, 130 an interrupt (Ctrl-C).
A message is one line that says what is wrong, where, and what to do about it.
"""

from heat_neo4j.errors.redaction import redacted

__all__ = [
    "ConfigError",
    "ConnectionFailed",
    "CoordinatesDiffer",
    "HeatError",
    "LeaseHeld",
    "LocalServerError",
    "MemoryExceeded",
    "NotReady",
    "NotVerifiable",
    "OutputFailed",
    "ProjectionError",
    "QualityRejected",
    "ServerUnreachable",
    "WriteFailed",
    "WriteRefused",
]


class HeatError(Exception):
    """Base of every error this package raises for causes outside the code.

    Passwords in the message are masked.
    """

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*(redacted(each) if isinstance(each, str) else each for each in args))


class ConfigError(HeatError):
    """An option, an environment value or an entry of heat.toml is wrong."""

    exit_code = 2


class ConnectionFailed(HeatError):
    """The server could not be reached, refused the login, or was lost during the work."""

    exit_code = 3


class ServerUnreachable(ConnectionFailed):
    """No server answers now, or it was lost; a later attempt may succeed."""


class ProjectionError(HeatError):
    """The graph cannot be read as the projection or the files require."""

    exit_code = 4


class WriteRefused(HeatError):
    """Nothing was written: writing would overwrite your data, or the values cannot be stored."""

    exit_code = 5


class WriteFailed(HeatError):
    """Writing stopped half-way; what was published before is untouched."""

    exit_code = 6


class LocalServerError(HeatError):
    """The local Neo4j server could not be installed, started or stopped."""

    exit_code = 7


class MemoryExceeded(HeatError):
    """The run would need more memory than it may use; nothing was started."""

    exit_code = 8


class LeaseHeld(HeatError):
    """Another process writes versions of the model; nothing was published."""

    exit_code = 9


class QualityRejected(HeatError):
    """The new version did not pass the quality gate: it was recorded, and the old one stays published."""

    exit_code = 10


class OutputFailed(HeatError):
    """The output cannot be written to stdout, for instance on a full disk; the work itself is done."""

    exit_code = 11


class CoordinatesDiffer(HeatError):
    """Repeating a run's training gave bits that differ from the coordinates in the graph."""

    exit_code = 12


class NotVerifiable(HeatError):
    """A run cannot be trained again: its graph has changed, or its record is incomplete."""

    exit_code = 13


class NotReady(HeatError):
    """The installation or the server has a problem; `heat doctor` lists it."""

    exit_code = 14
