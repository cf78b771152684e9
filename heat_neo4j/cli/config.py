"""Read heat.toml, the file with default values of options.

Flags override environment variables, which override heat.toml. The file must not hold a password.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j.cli import COMMANDS
from heat_neo4j.cli.settings import HEADINGS, settings_of
from heat_neo4j.errors import ConfigError

_OR_AUTO = ' or "auto"'
_TABLE_OF = {
    "a table of lists of texts": "a list of texts",
    "a table of numbers": "a number",
    "text or a table of texts": "text",
}
_EXAMPLES = {
    "a table of lists of texts": '{ Paper = ["year", "pages"] }',
    "a table of numbers": "{ CITES = 2.0 }",
    "text or a table of texts": '"id" or { Paper = "id" }',
}

CONFIG_NAME = "heat.toml"

SECTIONS: Mapping[str, Mapping[str, str]] = {
    section: {setting.name: setting.kind for setting in settings_of(section)} for section in HEADINGS
}
"""Every section and key of heat.toml with the kind of its value."""


def read_config(path: Path | None = None) -> dict[str, Any]:
    """Read and check a file, or heat.toml of the working directory if there is one.

    Returned are values by dotted key, such as ``{"heat.alpha": 0.2}``. Raises `ConfigError` if the file is
    unreadable, not TOML, holds a password, or has an unknown section or key or a value of the wrong kind.
    """
    source = path if path is not None else Path(CONFIG_NAME)
    if path is None and not source.exists():
        return {}
    values: dict[str, Any] = {}
    for section, entries in _parse(source).items():
        if section not in SECTIONS:
            no_settings = f"options of `heat {section}` cannot be set here" if section in COMMANDS else None
            suggestion = no_settings or _suggestion(section, SECTIONS)
            raise ConfigError(f"{source}: unknown section [{section}]; {suggestion}")
        if not isinstance(entries, dict):
            raise ConfigError(f"{source}: [{section}] must be a section{_got(section, entries)}")
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
    # Before anything else, so that a password never reaches a message.
    if section == "connection" and key == "password":
        advice = "no password belongs in this file; give password_file, or set NEO4J_PASSWORD"
        raise ConfigError(f"{source}: [connection] password: {advice}")
    if key not in SECTIONS[section]:
        suggestion = _suggestion(key, SECTIONS[section])
        raise ConfigError(f"{source}: unknown key {key!r} in [{section}]; {suggestion}")
    kind = SECTIONS[section][key]
    if not _is_kind(value, kind):
        example = f", such as {_EXAMPLES[kind]}" if kind in _EXAMPLES else ""
        raise ConfigError(f"{source}: [{section}] {key} must be {kind}{example}{_got(section, value)}")
    return value


def _got(section: str, value: Any) -> str:
    """Return the end of a message that repeats a value, unless it may hold a password."""
    return "" if section == "connection" else f", got {value!r}"


def _is_kind(value: Any, kind: str) -> bool:
    if kind.endswith(_OR_AUTO):
        return value == "auto" or _is_kind(value, kind.removesuffix(_OR_AUTO))
    if kind in _TABLE_OF and not (isinstance(value, str) and kind.startswith("text")):
        return isinstance(value, dict) and all(_is_kind(item, _TABLE_OF[kind]) for item in value.values())
    if kind == "a list of texts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == "true or false" or kind.startswith("text"):
        return isinstance(value, str if kind.startswith("text") else bool)
    if isinstance(value, bool):  # bool is an int to isinstance
        return False
    return isinstance(value, int if kind == "a whole number" else int | float)


def _suggestion(name: str, choices: Iterable[str]) -> str:
    return did_you_mean(name, choices).removeprefix(": ") or f"known: {', '.join(choices)}"
