"""`Trust`: filters and names recorded in the database that the operator has approved.

A user who can edit our bookkeeping nodes must not be able to make the operator run Cypher or overwrite other
users' data.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from heat_neo4j._utils.display import display_text
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import ConfigError, LocalServerError
from heat_neo4j.local_server.folders import heat_home, hold_lock, private_file

FILTERS = ("node_filter", "relationship_filter")
"""Fields of a `Projection` that hold Cypher."""
TRUSTED_FILE = "trusted"
"""Name of the operator's file in `heat_home()`: one digest per line."""
_MOST_DIGESTS = 10_000
_LOCK_SECONDS = 10.0
_LONGEST = 200  # characters of a filter or name in messages
_PROPERTY_SETTINGS = {
    "embedding": "write_property",
    "radius": "radius_property",
    "run": "run_property",
    "vector": "vector_property",
}


class Trust:
    """Texts that the operator has supplied, in this process or earlier on this machine.

    Digests of used texts are stored in a private file that database users cannot write.

    Parameters
    ----------
    texts : iterable of str
        Filters, names of node properties and a type of predicted links that records in the database may
        repeat.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = frozenset(texts)

    def require_filter(self, run_id: str, name: str, text: str) -> None:
        """Raise ConfigError for a recorded filter that the operator did not supply; `name` is its field."""
        if self._accepts("filter", text):
            return
        option = f"--{name.replace('_', '-')}"
        raise ConfigError(
            f"the {name} that run {run_id} records is not run, because this machine does not know it: "
            f"'{display_text(text, _LONGEST)}'; if you trust it, pass the same text as {option} "
            "(in Python: connect(trusted=[...]))"
        )

    def require_names(self, names: WriteNames) -> WriteNames:
        """Return recorded names to write to; raises ConfigError if the operator did not supply them."""
        for setting, name in _own_names(names).items():
            if self._accepts(_name_of(names.model), name):
                continue
            kind = "relationship type" if setting == "link_type" else "node property"
            raise ConfigError(
                f"model {display_text(names.model, _LONGEST)!r} is recorded as written to the {kind} "
                f"{display_text(name, _LONGEST)!r}, which this machine does not know: if it is yours to "
                f"overwrite, set {setting} under [write] in heat.toml (in Python: connect(trusted=[...]))"
            )
        return names

    def remember_filters(self, *texts: str | None) -> None:
        """Record filters that the operator has run."""
        self._remember(_digest("filter", text) for text in texts if text is not None)

    def remember_names(self, names: WriteNames) -> None:
        """Record the names that the operator writes a model to."""
        self._remember(_digest(_name_of(names.model), name) for name in _own_names(names).values())

    def _accepts(self, kind: str, text: str) -> bool:
        return text in self._texts or _digest(kind, text) in _read(_file())

    def _remember(self, digests: Iterable[str]) -> None:
        file, new = _file(), list(dict.fromkeys(digests))
        if set(new) <= set(_read(file) if new else ()):
            return
        # Without the file, the operator must supply the texts again.
        with suppress(OSError, LocalServerError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = file.with_name(f"{file.name}.lock")
            with hold_lock(lock, what="recording trusted texts", timeout=_LOCK_SECONDS):
                known = _read(file)
                added = [digest for digest in new if digest not in known]
                private_file(file, "\n".join([*known, *added][-_MOST_DIGESTS:]) + "\n")


def _file() -> Path:
    return heat_home() / TRUSTED_FILE


def _read(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def _own_names(names: WriteNames) -> dict[str, str]:
    """Return the names that differ from the model's defaults, by setting."""
    usual = WriteNames(names.model)
    found = {
        setting: getattr(names.plain, part)
        for part, setting in _PROPERTY_SETTINGS.items()
        if getattr(names.plain, part) != getattr(usual.plain, part)
    }
    found |= {f"values ({name})": name for name in names.unusual_values}
    return found if names.link_type == usual.link_type else {**found, "link_type": names.link_type}


def _name_of(model: str) -> str:
    return f"name of {model}"


def _digest(kind: str, text: str) -> str:
    """Return the digest of a text; different kinds have different digests."""
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
