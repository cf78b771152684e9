"""Read heat.toml: the place for options that do not change from run to run.

::

    [connection]
    uri = "neo4j://localhost:7687"
    password_file = "/run/secrets/neo4j"

    [projection]
    labels = ["Paper"]
    relationships = ["CITES"]
    attributes = ["year", "words"]

    [heat]
    alpha = 0.2

A flag wins over an environment variable, and that over heat.toml. A password has no place in the file.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from heat_neo4j.errors import ConfigError

__all__ = ["CONFIG_NAME", "SECTIONS", "read_config"]

_OR_AUTO = ' or "auto"'
_TABLE_OF = {"a table of lists of texts": "a list of texts", "a table of numbers": "a number"}

CONFIG_NAME = "heat.toml"

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "connection": {"uri": "text", "username": "text", "password_file": "text", "database": "text"},
    "projection": {
        "labels": "a list of texts",
        "relationships": "a list of texts",
        "weight": "text",
        "default_weight": "a number",
        "aggregation": "text",
        "time": "text",
        "attributes": "a list of texts",
        "text": "a list of texts",
        "label_attributes": "a table of lists of texts",
        "type_weights": "a table of numbers",
        "max_categories": "a whole number",
        "key": "text",
        "node_filter": "text",
        "relationship_filter": "text",
    },
    "heat": {
        "n_components": "a whole number",
        "alpha": 'a number or "auto"',
        "attribute_neighbours": "a whole number",
        "sigma": 'a number or "auto"',
        "walks_per_node": "a whole number",
        "walk_length": "a whole number",
        "window_size": 'a whole number or "auto"',
        "n_negatives": "a whole number",
        "negative_exponent": 'a number or "auto"',
        "learning_rate": 'a number or "auto"',
        "batch_size": "a whole number",
        "n_epochs": "a whole number",
        "refine": "true or false",
        "time_limit": "a number",
        "n_threads": "a whole number",
        "random_state": "a whole number",
    },
    "choose": {"seconds": "a number"},
    "refresh": {
        "local_limit": "a number",
        "warm_limit": "a number",
        "max_auroc_drop": "a number",
        "max_below_degree": "a number",
        "min_overlap": "a number",
        "max_move": "a number",
        "lease_seconds": "a number",
        "records": "a whole number",
    },
    "serve": {
        "every": "text",
        "cron": "text",
        "poll_seconds": "a number",
        "give_up_after": "text",
        "health_file": "text",
    },
    "limits": {"memory": "text"},
    "write": {
        "model": "text",
        "coordinates": "text",
        "write_property": "text",
        "radius_property": "text",
        "run_property": "text",
        "vector_property": "text",
        "index": "true or false",
        "link_type": "text",
    },
    "links": {
        "enabled": "true or false",
        "k": "a whole number",
        "top": "a whole number",
        "source_label": "text",
        "target_label": "text",
        "min_degree": "a whole number",
        "max_degree": "a whole number",
        "probability": "true or false",
        "score": "text",
    },
}
"""Every section and key of heat.toml with the kind of its value."""


def read_config(path: Path | None = None) -> dict[str, Any]:
    """Read and check a configuration file.

    Parameters
    ----------
    path : Path, optional
        The file. Without it, heat.toml of the working directory is read if there is one.

    Returns
    -------
    dict
        Values by dotted key, such as ``{"heat.alpha": 0.2}``; empty when there is no file.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not TOML, holds a password, or has an unknown section or key
        or a value of the wrong kind.
    """
    source = path if path is not None else Path(CONFIG_NAME)
    if path is None and not source.exists():
        return {}
    values: dict[str, Any] = {}
    for section, entries in _parse(source).items():
        if section not in SECTIONS:
            raise ConfigError(f"{source}: unknown section [{section}]; {_known(section, SECTIONS)}")
        if not isinstance(entries, dict):
            raise ConfigError(f"{source}: [{section}] must be a section, got {entries!r}")
        for key, value in entries.items():
            values[f"{section}.{key}"] = _checked(source, section, key, value)
    return values


def _parse(source: Path) -> dict[str, Any]:
    try:
        if source.exists() and not source.is_file():  # to open a named pipe could take for ever
            raise ConfigError(f"{source}: cannot be read: it is not a regular file")
        with source.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{source}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: is not UTF-8 text") from error
    except RecursionError as error:
        raise ConfigError(f"{source}: is nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"{source}: is not TOML: {error}") from error


def _checked(source: Path, section: str, key: str, value: Any) -> Any:
    # Asked before the value is looked at, so that a password never reaches a message.
    if section == "connection" and key == "password":
        raise ConfigError(
            f"{source}: [connection] password: no password belongs in this file; "
            "give password_file, or set NEO4J_PASSWORD"
        )
    if key not in SECTIONS[section]:
        raise ConfigError(f"{source}: unknown key {key!r} in [{section}]; {_known(key, SECTIONS[section])}")
    kind = SECTIONS[section][key]
    if not _is_kind(value, kind):
        raise ConfigError(f"{source}: [{section}] {key} must be {kind}, got {value!r}")
    return value


def _is_kind(value: Any, kind: str) -> bool:
    if kind.endswith(_OR_AUTO):
        return value == "auto" or _is_kind(value, kind.removesuffix(_OR_AUTO))
    if kind in _TABLE_OF:
        return isinstance(value, dict) and all(_is_kind(item, _TABLE_OF[kind]) for item in value.values())
    if kind == "a list of texts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind in ("text", "true or false"):
        return isinstance(value, str if kind == "text" else bool)
    if isinstance(value, bool):  # bool is an int to isinstance
        return False
    return isinstance(value, int if kind == "a whole number" else int | float)


def _known(name: str, choices: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(choices), n=1)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(choices)
