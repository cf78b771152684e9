"""How options are declared, and those of every command: connection, projection, verbosity.

Names, keys of heat.toml and defaults are those of the Python API. A test keeps them so, because the API
is not imported here: ``heat embed --help`` must not wait for numba.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from heat_neo4j.cli.group import VERBOSITY, Option
from heat_neo4j.config import read_config

__all__ = [
    "AGGREGATIONS",
    "Count",
    "Decorator",
    "Duration",
    "Number",
    "common_options",
    "connection_options",
    "json_option",
    "option",
    "projection_options",
    "stack",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

HEADINGS = {
    "connection": "Connection",
    "projection": "Projection",
    "heat": "Embedding",
    "choose": "Embedding",
    "refresh": "Refreshing",
    "serve": "Serving",
    "limits": "Embedding",
    "write": "Writing",
    "links": "Predicted links",
}
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_LONGEST = 3_650 * 86_400.0  # a date so far from now there still is
_SMALLEST, _LARGEST = 1e-12, 1e12
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
AGGREGATIONS = ("sum", "min", "max", "count", "single")


def option(*names: str, key: str | None, heading: str = "General", **settings: Any) -> Decorator[Function]:
    """Declare an option; one with a `key` in heat.toml stands under the heading of its section."""
    if key is not None:
        heading = HEADINGS[key.split(".")[0]]
    return click.option(*names, cls=Option, heading=heading, key=key, **settings)


def stack(*decorators: Decorator[Function]) -> Decorator[Function]:
    """Return one decorator that lists the options in the order given."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _use_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Make the values of heat.toml the defaults of the command's options."""
    values = read_config(path)
    context.default_map = {
        parameter.name: _as_given(values[parameter.key])
        for parameter in context.command.params
        if isinstance(parameter, Option) and parameter.key in values and parameter.name is not None
    }
    return path


def _as_given(value: Any) -> Any:
    """Return a value of heat.toml as the command line would give it: a table as pairs, one an option."""
    if not isinstance(value, Mapping):
        return value
    lists = {name: item if isinstance(item, list) else [item] for name, item in value.items()}
    return [(name, item) for name, items in lists.items() for item in items]


class _Pair(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on only
    """A name and a value with a "=" between them, the first of several."""

    name = "pair"

    def __init__(self, value_type: click.ParamType[Any]) -> None:
        self._value_type = value_type

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return name and value."""
        name, equals, rest = value.partition("=") if isinstance(value, str) else (value[0], "=", value[1])
        if not (name and equals and rest != ""):
            self.fail(f"{value!r} is not a name and a value with = between them", param, ctx)
        return name, self._value_type.convert(rest, param, ctx)


class Count(click.IntRange):
    """A whole number in a range, of a size that can be reckoned with."""

    def __init__(self, min: int, max: int | None = None, *, largest: int | None = 2**31 - 1) -> None:
        super().__init__(min, max)
        self._largest = largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if self._largest is not None and number > self._largest:
            self.fail(f"it must be at most {self._largest:,}", param, ctx)
        return number


class Number(click.FloatRange):
    """A finite number in a range, 1e12 at most; above 0, it is at least 1e-12."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(_number(value), param, ctx)
        if not math.isfinite(number):  # not-a-number is in every range
            self.fail(f"{number!r} is not a finite number", param, ctx)
        if number != 0 and not _SMALLEST <= abs(number) <= _LARGEST:
            self.fail(f"{number!r} is not in the range {_SMALLEST:g}<=x<={_LARGEST:g}", param, ctx)
        return number


def _number(value: Any) -> Any:
    """Return a number of heat.toml that no float can hold as an infinite one."""
    if isinstance(value, int) and abs(value) > 10**300:
        return math.inf if value > 0 else -math.inf
    return value


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90s, 15m, 2h or 1d, above 0; in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, int | float):
            return float(value)
        found = _DURATION.fullmatch(value.strip())
        if found is None or not float(found[1]):
            self.fail(f"{value!r} is not a time such as 90s, 15m, 2h or 1d", param, ctx)
        seconds = float(found[1]) * _UNIT_SECONDS[found[2]]
        if not _SMALLEST <= seconds <= _LONGEST:
            self.fail("it must be at most 3650d", param, ctx)
        return seconds


def _use_verbosity(context: click.Context, _: click.Parameter, count: int) -> int:
    context.meta[VERBOSITY] = count
    return count


common_options: Decorator[Any] = stack(
    option(
        "--config",
        key=None,
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="HEAT_CONFIG",
        is_eager=True,
        expose_value=False,
        callback=_use_config,
        help="Defaults for these options.  [env: HEAT_CONFIG; default: heat.toml, if there is one]",
    ),
    option(
        "-v",
        "--verbose",
        key=None,
        count=True,
        is_eager=True,
        callback=_use_verbosity,
        help="Say more: -v the times of all stages, -vv also the traceback of an error.",
    ),
)
json_option: Decorator[Any] = option(
    "--json", "as_json", key=None, is_flag=True, help="Print one JSON document on stdout."
)

connection_options: Decorator[Any] = stack(
    option(
        "--uri",
        key="connection.uri",
        metavar="URI",
        envvar="NEO4J_URI",
        help="Address, such as neo4j://localhost:7687.  [env: NEO4J_URI; default: the local server]",
    ),
    option(
        "--username",
        key="connection.username",
        metavar="NAME",
        envvar="NEO4J_USERNAME",
        help="Database user.  [env: NEO4J_USERNAME; default: neo4j]",
    ),
    option(
        "--password-file",
        key="connection.password_file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File that holds the password, and nothing else.  [env: NEO4J_PASSWORD, the password itself]",
    ),
    option(
        "--database",
        key="connection.database",
        metavar="NAME",
        envvar="NEO4J_DATABASE",
        help="Database name.  [env: NEO4J_DATABASE; default: the user's home database]",
    ),
)

projection_options: Decorator[Any] = stack(
    option(
        "--labels",
        key="projection.labels",
        multiple=True,
        metavar="LABEL",
        help="Nodes with this label; repeat for more.  [default: all nodes]",
    ),
    option(
        "--relationships",
        key="projection.relationships",
        multiple=True,
        metavar="TYPE",
        help="Relationships of this type; repeat for more.  [default: all but predicted links]",
    ),
    option(
        "--weight",
        key="projection.weight",
        metavar="PROPERTY",
        help="Relationship property that holds the weight.  [default: every relationship weighs 1]",
    ),
    option(
        "--default-weight",
        key="projection.default_weight",
        type=Number(min=0),
        metavar="X",
        default=1.0,
        show_default=True,
        help="Weight of a relationship that lacks the weight property.",
    ),
    option(
        "--aggregation",
        key="projection.aggregation",
        type=click.Choice(AGGREGATIONS),
        default="sum",
        show_default=True,
        help="What parallel relationships make together.",
    ),
    option(
        "--time",
        key="projection.time",
        metavar="PROPERTY",
        help="Relationship property with a date, datetime or number, for evaluation on the latest edges.",
    ),
    option(
        "--attributes",
        key="projection.attributes",
        multiple=True,
        metavar="PROPERTY",
        help="Node property to use as attribute; repeat for more.",
    ),
    option(
        "--text",
        key="projection.text",
        multiple=True,
        metavar="PROPERTY",
        help="Node property that holds text, to use the words of; repeat for more.",
    ),
    option(
        "--label-attributes",
        key="projection.label_attributes",
        multiple=True,
        type=_Pair(click.STRING),
        metavar="LABEL=PROPERTY",
        help="Property that is an attribute of the nodes with this label only; repeat for more.",
    ),
    option(
        "--type-weight",
        "type_weights",
        key="projection.type_weights",
        multiple=True,
        type=_Pair(Number(min=0, min_open=True)),
        metavar="TYPE=X",
        help="Factor on the weight of relationships of this type; repeat for more.  [default: 1]",
    ),
    option(
        "--max-categories",
        key="projection.max_categories",
        type=Count(min=1),
        metavar="N",
        default=10_000,
        show_default=True,
        help="Most columns that one property of strings may become; rarer values share one.",
    ),
    option(
        "--key",
        key="projection.key",
        metavar="PROPERTY",
        help="Unique node property to order nodes by, so that a re-imported graph gives the same bits.",
    ),
    option(
        "--node-filter",
        key="projection.node_filter",
        metavar="CYPHER",
        help="Keep nodes n for which this holds, such as 'n.year > 2000'.",
    ),
    option(
        "--relationship-filter",
        key="projection.relationship_filter",
        metavar="CYPHER",
        help="Keep relationships r for which this holds, such as 'r.score > 0.5'.",
    ),
)
