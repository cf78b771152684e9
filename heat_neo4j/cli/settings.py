"""Every setting: options, heat.toml and the reference in docs/settings.md come from here.

A setting is a parameter of the Python API: its signature gives type and default, its docstring range and
help. This module adds flags, placeholders, help levels, and settings that only commands have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import click

from heat_neo4j.cli.signatures import FILE, Source, source_of, verb
from heat_neo4j.cli.values import Count, Duration, Keyed, Number, OrAuto, Pair, Size

Level = Literal["common", "more", "file"]
"""Where a setting is shown: by --help, by --help-all only, or nowhere, as only heat.toml sets it."""

HEADINGS = {
    "connection": "Connection",
    "projection": "Projection",
    "heat": "Embedding",
    "refresh": "Refreshing",
    "serve": "Serving",
    "log": "Logging",
    "limits": "Embedding",
    "write": "Model",
    "links": "Predicted links",
}
"""The sections of heat.toml, each with its heading in the help."""
_METAVARS = {
    "labels": "LABEL", "relationships": "TYPE", "label_attributes": "LABEL=PROPERTY",
    "type_weights": "TYPE=X", "key": "[LABEL=]PROPERTY", "node_filter": "CYPHER",
    "relationship_filter": "CYPHER", "patterns": "PATTERN", "scratch": "FOLDER", "scheduler": "ADDRESS",
    "model": "NAME", "run_id": "RUN", "target_labels": "LABEL", "pattern": "PATTERN",
    "hierarchy": "TYPE", "caption": "[LABEL=]PROPERTY", "label": "LABEL",
}  # fmt: skip
FLAGS = {
    "labels": "--label", "relationships": "--relationship", "attributes": "--attribute",
    "label_attributes": "--label-attribute", "type_weights": "--type-weight", "patterns": "--predict",
    "pattern": "--predict", "target_labels": "--target-label", "reverse": "--to", "run_id": "--run",
    "everything": "--all", "label_shares": "--label-share", "alphas": "--alpha", "properties": "--property",
}  # fmt: skip
"""Options not named after their parameters, mostly because they can be repeated."""


def flag_of(name: str) -> str:
    """Return the option of a parameter."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def metavar_of(name: str, values: "click.ParamType[Any]") -> str | None:
    """Return the placeholder of a value in the help."""
    values = values.numbers if isinstance(values, OrAuto) else values
    if isinstance(values, click.Choice | click.Path | Size) and name not in _METAVARS:
        return "SIZE" if isinstance(values, Size) else None
    if isinstance(values, Count | Number):
        return "N" if isinstance(values, Count) else "X"
    return _METAVARS.get(name, "PROPERTY")


@dataclass(frozen=True)
class Setting:
    """One setting, and the option that sets it."""

    key: str  # section and name in heat.toml, such as "heat.alpha"
    type: "click.ParamType[Any]"
    level: Level
    help: str  # it says the default if `default` does not
    default: Any = None
    flag: str = ""  # "--" and the name if not given
    parameter: str = ""  # what a command calls the value; the name if not given
    multiple: bool = False  # whether it may be repeated: heat.toml has a list or a table
    metavar: str | None = None
    envvar: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameter", self.parameter or self.name)
        object.__setattr__(self, "flag", self.flag or f"--{self.name.replace('_', '-')}")

    @property
    def section(self) -> str:
        """The section of heat.toml."""
        return self.key.split(".")[0]

    @property
    def name(self) -> str:
        """The key within the section."""
        return self.key.split(".")[1]

    @property
    def kind(self) -> str:
        """What heat.toml must have for it."""
        if isinstance(self.type, OrAuto):
            return f'{_kind(self.type.numbers)} or "auto"'
        if isinstance(self.type, Pair):
            return f"a table of {'numbers' if isinstance(self.type.value_type, Number) else 'lists of texts'}"
        if isinstance(self.type, Keyed):
            return "text or a table of texts"
        return "a list of texts" if self.multiple else _kind(self.type)


def _kind(values: "click.ParamType[Any]") -> str:
    if isinstance(values, Count):
        return "a whole number"
    if isinstance(values, Number):
        return "a number"
    return "true or false" if values is click.BOOL else "text"


def _from(
    section: str,
    source: Source,
    names: Mapping[str, str] | None = None,
    *,
    common: str = "",
    file: str = "",
) -> Iterator[Setting]:
    """Yield a setting for each parameter of a class or function, or for those that have `names` in heat.toml.

    `common` and `file` list names by level.
    """
    for own, given in source.parameters.items():
        if (names is not None and own not in names) or given.annotation == "Mapping[str, Any]":
            continue  # the command line has no way to give values of any kind
        name = own if names is None else names[own]
        values = Size() if own == "memory_limit" else given.values
        text = given.help
        if isinstance(values, Size):
            text = f"{text.rstrip('.')}, such as 4GB or 500MB.  [default: what is free]"
        level: Level = "common" if own in common.split() else "file" if own in file.split() else "more"
        yield Setting(
            f"{section}.{name}",
            values,
            level,
            text,
            given.default if given.default not in ((), "") else None,
            flag=flag_of(own if source is _EMBED or own in FLAGS else name),
            parameter=own if source is _EMBED else "",
            multiple=given.multiple,
            metavar=metavar_of(own, values),
        )


_EMBED = verb("embed")
_JOB = source_of("pipeline.job", "Job")
SETTINGS = (
    Setting("connection.uri", click.STRING, "common", metavar="URI", envvar="NEO4J_URI",
            help="Address, such as neo4j://localhost:7687.  [env: NEO4J_URI; default: the local server]"),
    Setting("connection.username", click.STRING, "more", metavar="NAME", envvar="NEO4J_USERNAME",
            help="Database user.  [env: NEO4J_USERNAME; default: neo4j]"),
    Setting("connection.password_file", FILE, "more",
            help="File that contains only the password.  "
                 "[env: NEO4J_PASSWORD, the password itself]"),
    Setting("connection.database", click.STRING, "more", metavar="NAME", envvar="NEO4J_DATABASE",
            help="Database name.  [env: NEO4J_DATABASE; default: the user's home database]"),
    *_from("projection", source_of("database.projection", "Projection"),
           common="labels relationships weight attributes text key"),
    *_from("heat", source_of("heat", "HEAT"), common="n_components alpha hierarchy",
           file="forward type_balance batch_size n_parts"),
    *_from("refresh", source_of("pipeline.job", "Limits"), {"local": "local_limit", "warm": "warm_limit"},
           file="local warm"),
    *_from("refresh", source_of("pipeline.gate", "Gate"),
           file="max_auroc_drop max_below_degree min_overlap max_move"),
    *_from("refresh", _JOB, {"lease_seconds": "lease_seconds", "records": "records"}, file="lease_seconds"),
    Setting("serve.every", Duration(), "common", metavar="TIME",
            help="Refresh now, and every TIME: 90s, 15m, 2h, 1d."),
    Setting("serve.cron", click.STRING, "common", metavar="EXPRESSION",
            help="Refresh by a cron expression of five fields, in local time (TZ)."),
    Setting("serve.give_up_after", Duration(), "file", "How long to wait for an unreachable server.", "1d"),
    Setting("serve.health_file", FILE, "common", metavar="FILE",
            help="Write a heartbeat there every few seconds."),
    Setting("serve.metrics_file", FILE, "file", metavar="FILE",
            help="Write metrics there, for node_exporter, which reads names that end in .prom."),
    Setting("serve.metrics_port", Count(min=1, max=65_535), "file",
            "Serve Prometheus metrics at this port of 127.0.0.1.", metavar="N"),
    Setting("log.json", click.BOOL, "more", flag="--log-json", parameter="log_json", envvar="HEAT_LOG_JSON",
            help="Log to stderr as JSON, one object per line.  [env: HEAT_LOG_JSON]", default=False),
    *_from("limits", _EMBED, {"memory_limit": "memory"}),
    *_from("write", source_of("database.naming", "WriteNames"), {"model": "model"}, common="model"),
    *_from("write", _EMBED, {"coordinates": "coordinates", "index": "index"}),
    Setting("links.enabled", click.BOOL, "common", flag="--links", parameter="links",
            help="Predict links and write them too.", default=True),
    *_from("links", source_of("pipeline.job", "LinkOptions"), common="patterns"),
)  # fmt: skip
"""All settings, in the order of the help."""


def settings_of(*names: str) -> list[Setting]:
    """Return the settings of the sections or keys, in the order given; KeyError if unknown."""
    chosen = [
        (name, setting) for name in names for setting in SETTINGS if name in (setting.section, setting.key)
    ]
    if missing := set(names) - {name for name, _ in chosen}:
        raise KeyError(*missing)
    return [setting for _, setting in chosen]
