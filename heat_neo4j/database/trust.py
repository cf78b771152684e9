"""`Trust`: filters recorded in the database that the operator has approved.

A user who can edit our bookkeeping nodes must not be able to make the operator run Cypher.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from heat_neo4j._utils.display import display_text
from heat_neo4j.errors import ConfigError, LocalServerError
from heat_neo4j.local_server.folders import heat_home, hold_lock, private_file

FILTERS = ("node_filter", "relationship_filter")
"""Fields of a `Projection` that hold Cypher."""
TRUSTED_FILE = "trusted"
"""Name of the operator's file in `heat_home()`: one digest per line."""
_MOST_DIGESTS = 10_000
_LOCK_SECONDS = 10.0
_LONGEST = 200  # characters of a filter in messages


class Trust:
    """Filters that the operator has supplied, in this process or earlier on this machine.

    Digests of used texts are stored in a private file that database users cannot write.

    Parameters
    ----------
    texts : iterable of str
        Filters that records in the database may repeat.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = frozenset(texts)

    def require_filter(self, run_id: str, name: str, text: str) -> None:
        """Raise ConfigError for a recorded filter that the operator did not supply; `name` is its field."""
        if text in self._texts or _digest(text) in _read(_file()):
            return
        option = f"--{name.replace('_', '-')}"
        raise ConfigError(
            f"the {name} that run {run_id} records is not run, because this machine does not know it: "
            f"'{display_text(text, _LONGEST)}'; if you trust it, pass the same text as {option} "
            "(in Python: connect(trusted=[...]))"
        )

    def remember_filters(self, *texts: str | None) -> None:
        """Record filters that the operator has run."""
        file, new = _file(), [_digest(text) for text in texts if text is not None]
        if set(new) <= set(_read(file) if new else ()):
            return
        # Without the file, the operator must supply the texts again.
        with suppress(OSError, LocalServerError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = file.with_name(f"{file.name}.lock")
            with hold_lock(lock, what="recording trusted texts", timeout=_LOCK_SECONDS):
                known = _read(file)
                added = [digest for digest in dict.fromkeys(new) if digest not in known]
                private_file(file, "\n".join([*known, *added][-_MOST_DIGESTS:]) + "\n")


def _file() -> Path:
    return heat_home() / TRUSTED_FILE


def _read(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
