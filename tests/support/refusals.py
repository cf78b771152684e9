"""An error of the server as the driver raises it, with any code."""

from neo4j.exceptions import Neo4jError

__all__ = ["NOT_ENOUGH", "OUT_OF_MEMORY", "TIMED_OUT", "RefusalError"]

OUT_OF_MEMORY = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"
NOT_ENOUGH = (
    "The allocation of an extra 2.0 MiB would use more than the limit 24.0 MiB. Currently using 23.0 MiB. "
)


class RefusalError(Neo4jError):
    """What the driver raises, with a code and a message of ours."""

    def __init__(self, code: str, message: str = f"{NOT_ENOUGH}db.memory.transaction.max threshold reached"):
        super().__init__(message)
        self._given, self._said = code, message

    @property
    def code(self) -> str:
        return self._given

    @property
    def message(self) -> str:
        return self._said

    def is_retryable(self) -> bool:
        return ".TransientError." in self._given
